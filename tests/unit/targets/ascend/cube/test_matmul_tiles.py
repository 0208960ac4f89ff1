"""Tiles of matmuls fit into the cube core's buffers, cover the product, and keep the cores busy."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from ascend_matmuls import kernel

from mlirad.errors import CompileError
from mlirad.targets.ascend.cube import matmul_loops
from mlirad.targets.ascend.cube.matmul_tiles import (
    Matmul,
    MatmulTiles,
    check_tiles,
    modelled_cycles,
    require_tiles,
    solve,
)
from mlirad.targets.ascend.soc import for_soc

SOC = for_soc("Ascend910B1")


def test_solved_tiles_fit() -> None:
    generator = random.Random(3)
    for _ in range(60):
        m, n, k = (generator.choice([1, 7, 16, 33, 100, 257, 1024, 5000]) for _ in range(3))
        matmul = Matmul(generator.choice([1, 5]), m, n, k, generator.choice(["f16", "f32"]))
        tiles = solve(matmul, SOC)
        assert 2 * (tiles.rows + tiles.columns) * tiles.l1_depth * matmul.itemsize <= 512 * 1024
        assert 2 * tiles.rows * tiles.l0_depth * matmul.itemsize <= 64 * 1024
        assert 2 * tiles.columns * tiles.l0_depth * matmul.itemsize <= 64 * 1024
        assert 2 * tiles.rows * tiles.columns * 4 <= 128 * 1024
        assert all(part % 512 == 0 for part in tiles.l0_bytes(matmul.itemsize))
        down, across = tiles.counts(matmul)
        assert down * tiles.rows >= m > (down - 1) * tiles.rows and across * tiles.columns >= n
        assert 1 <= tiles.blocks(matmul, SOC) <= 24


def test_large_products_have_large_tiles_on_all_cores() -> None:
    matmul = Matmul(1, 4096, 4096, 4096, "f16")
    tiles = solve(matmul, SOC)
    assert tiles.blocks(matmul, SOC) == 24 and tiles.rows * tiles.columns == 128 * 128
    assert tiles.l0_depth == 128 and tiles.l1_depth == 512
    assert modelled_cycles(tiles, matmul, SOC) < modelled_cycles(replace(tiles, rows=16), matmul, SOC)


def test_small_products_are_divided_between_cores() -> None:
    matmul = Matmul(1, 384, 256, 64, "f32")
    assert solve(matmul, SOC).blocks(matmul, SOC) >= 12


def test_refusals_show_the_arithmetic() -> None:
    matmul = Matmul(1, 1024, 1024, 1024, "f32")
    problems = check_tiles(MatmulTiles(256, 128, 512, 128), matmul, SOC)
    assert "L0C: 2 buffers x 256 x 128 x 4 B = 262144 B > 131072 B" in problems
    assert "L0A: 2 buffers x 256 x 128 x 4 B = 262144 B > 65536 B" in problems
    assert "L1: 2 buffers x (256 + 128) x 512 x 4 B = 1572864 B > 524288 B" in problems
    assert check_tiles(MatmulTiles(100, 128, 64, 48), matmul, SOC) == [
        "rows = 100 is no positive multiple of a fractal's 16",
        "l1_depth = 64 is no multiple of l0_depth = 48",
    ]
    with pytest.raises(CompileError, match="L0B: 2 buffers x 128 x 128 x 4 B = 131072 B > 65536 B") as caught:
        require_tiles(MatmulTiles(128, 128, 256, 128), matmul, SOC)
    assert "l0_depth = 64" in str(caught.value)
    require_tiles(MatmulTiles(128, 128, 256, 64), matmul, SOC)


@pytest.fixture
def without_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matmul_loops, "require_tiles", lambda *_: None)


@pytest.mark.usefixtures("without_refusals")
def test_huaweis_planner_agrees_on_l1_and_l0c(plan_memory: Callable[..., tuple[str, int, int] | None]) -> None:
    """To the byte, for L1 with its double buffers. In L0C it keeps one tile, we keep two. It does not plan L0A and
    L0B."""
    fitting = []
    for element, rows, columns in (
        ("f16", 128, 128),
        ("f16", 32, 256),
        ("f16", 16, 16),
        ("f32", 64, 64),
        ("f32", 48, 80),
    ):
        matmul = Matmul(1, 2048, 2048, 16384, element)
        limit = SOC.l1_bytes // (2 * (rows + columns) * matmul.itemsize) // 16 * 16
        for depth in range(limit - 16, limit + 33, 16):
            tiles = MatmulTiles(rows, columns, depth, 16)
            needed = 2 * sum(tiles.l1_bytes(matmul.itemsize))
            fitting.append(needed <= SOC.l1_bytes)
            judged = plan_memory(kernel(matmul, tiles, is_virtual=True)[0], "--enable-auto-multi-buffer=true")
            assert judged == (None if fitting[-1] else ("cbuf", needed, SOC.l1_bytes))
            assert fitting[-1] == (not [each for each in check_tiles(tiles, matmul, SOC) if each.startswith("L1:")])
    assert fitting.count(True) == fitting.count(False) == 10
    matmul = Matmul(1, 2048, 2048, 2048, "f16")
    for rows, columns, one_fits in ((128, 128, True), (128, 256, True), (144, 256, False), (512, 80, False)):
        tiles = MatmulTiles(rows, columns, 16, 16)
        needed = tiles.l0_bytes(matmul.itemsize)[2]
        judged = plan_memory(kernel(matmul, tiles, is_virtual=True)[0], "--enable-auto-multi-buffer=true")
        assert judged == (None if one_fits else ("cc", needed, SOC.l0c_bytes))
        assert (2 * needed <= SOC.l0c_bytes) == (
            not [each for each in check_tiles(tiles, matmul, SOC) if "L0C" in each]
        )
