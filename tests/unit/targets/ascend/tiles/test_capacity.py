"""Tiles that fit the unified buffer: Huawei's planner agrees, and a tile that does not fit is refused at its line."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import StringIO
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.printer import Printer

import mlirad
from mlirad.dialect.core.expr import located
from mlirad.errors import TargetError
from mlirad.pipeline import run
from mlirad.targets.ascend.emit.virtual import KernelWriter
from mlirad.targets.ascend.soc import LINE, for_soc
from mlirad.targets.ascend.tiles.tile_plan import plan_of
from mlirad.xdsl_support.traversal import find

SOC = for_soc("Ascend910B1")
IS_FULL = bool(os.environ.get("MLIRAD_FULL"))


def of(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.ones(shape, dtype)


LONG, HALF, ROWS = of(1 << 20), of(1 << 20, dtype=np.float16), of(5000, 300)
KERNELS: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "2 buffers": (lambda a: np.exp(a), (LONG,)),
    "3 buffers": (lambda a, b: np.exp(a + b), (LONG,) * 2),
    "5 buffers": (lambda a, b, c, d: (a * b + c) * np.exp(d) + c, (LONG,) * 4),
    "6 buffers": (lambda a, b, c, d, e: (a * b + c) * np.exp(d) + c * e, (LONG,) * 5),
    "f16 in f32": (lambda a, b: np.exp(a + b), (HALF,) * 2),
    "selections": (lambda a, b: np.where(a > b, 2 - a, 3 / b), (LONG,) * 2),
    "booleans": (lambda a, b: (a > b) & (a < 3), (LONG,) * 2),
    "sums of rows": (lambda a: np.sum(a, axis=1), (ROWS,)),
    "maxima of rows of f16": (lambda a: np.max(a, axis=1), (of(5000, 300, dtype=np.float16),)),
    "products of rows": (lambda a: np.prod(a, axis=1), (of(4096, 40),)),
    "sums of columns": (lambda a: np.sum(a, axis=0), (ROWS,)),
    "a whole sum": (lambda a: np.sum(np.exp(a)), (LONG,)),
    "a sum of a part": (lambda a: np.sum(a[:, :200] * 2), (ROWS,)),
    "a column": (lambda a, b: a - b[:, None], (ROWS, of(5000))),
    "a row": (lambda a, b: a - b, (ROWS, of(300))),
    "a transpose": (lambda a: a.T * 2, (ROWS,)),
}


def kernels_of(function: Callable[..., Any], args: tuple[np.ndarray, ...]) -> list[func.FuncOp]:
    """Kernels as loops that are not yet divided into tiles."""
    lowered = mlirad.jit(function, target="ascend").lower(*args)
    module = next(value for name, value in run(lowered.module.clone(), lowered.target) if name == "ascend-kernels")
    return [each for each in module.ops if isinstance(each, func.FuncOp) and "hacc.entry" in each.attributes]


def tiles_around_the_limit(kernel: func.FuncOp) -> Iterator[tuple[int, ...]]:
    """The largest that fits and the smallest that does not; in the full tier one more of each."""
    (op,) = find(kernel, GenericOp)
    solved = plan_of(op, SOC, ())
    columns = -(-solved.sizes.columns // LINE) * LINE

    def tile(count: int) -> tuple[int, ...]:
        return (count, columns) if solved.has_rows else (count * LINE,)

    def fits(count: int) -> bool:
        plan = plan_of(op, SOC, tile(count))
        return plan.fits(plan.sizes)

    low, high = 1, 20_000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return (tile(count) for count in range(max(1, low - 1), low + 3) if IS_FULL or low <= count <= low + 1)


def printed(kernel: func.FuncOp) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=True).print_op(ModuleOp([kernel]))
    return stream.getvalue()


def test_huaweis_planner_agrees_on_what_fits(plan_memory: Callable[..., tuple[str, int, int] | None]) -> None:
    """To the byte: on both sides of the limit, for 16 kernels, with their double buffers and scratch."""
    judged, fitting = 0, 0
    cases = [(name, each) for name, given in KERNELS.items() for each in kernels_of(*given)]
    for name, kernel in cases:
        for tile in tiles_around_the_limit(kernel):
            copy = kernel.clone()
            (op,) = find(copy, GenericOp)
            plan = plan_of(op, SOC, tile)
            with located(copy.location):
                KernelWriter(copy, plan).write()
            needed = plan.bytes_needed(plan.sizes)
            assert plan_memory(printed(copy)) == (("ub", needed, SOC.ub_bytes) if needed > SOC.ub_bytes else None), (
                name,
                tile,
            )
            judged, fitting = judged + 1, fitting + (needed <= SOC.ub_bytes)
    assert fitting >= len(KERNELS) and judged - fitting >= len(KERNELS)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def test_tiles_that_do_not_fit_are_refused_with_all_else_at_their_lines() -> None:
    x = of(300, 700)
    with pytest.raises(TargetError) as caught:
        mlirad.jit(lambda x: (np.exp(x), x @ x.T, np.float64(2) * x.astype(np.float64)), target="ascend", tile=65536)(x)
    text = str(caught.value)
    assert text.count("does not fit") == 1 and "no f64" in text
    assert "2 buffers x 2 (double) x 65536 x 4 B = 1,048,576 B > 196,608 B" in text
    assert "np.exp(x)" in text and "the largest that fits this kernel is tile=12288" in text
    with pytest.raises(
        TargetError, match=r"\+ 1 buffer x 1,024 B \+ 1 buffer x 8192 x 4 B \+ 32 B of scratch = 230,432 B"
    ):
        mlirad.jit(lambda x, y: np.where(x > y, np.exp(x - y), x), target="ascend", tile=8192)(LONG, LONG)
    with pytest.raises(TargetError) as caught:
        mlirad.jit(softmax, target="ascend", tile=8192)(x)
    problems = [caught.value, *caught.value.others]
    assert [each.lineno for each in problems] == [first_line := softmax.__code__.co_firstlineno + 1, first_line + 1]
    assert all("B of scratch = 217,536 B" in each.message for each in problems)
    hint = str(caught.value.hint)
    tile = int(hint.rpartition("=")[2])
    assert tile % LINE == 0
    mlirad.jit(softmax, target="ascend", tile=tile).lower(x).as_text("hivm-physical")


def test_a_kernel_that_no_tile_fits_is_refused() -> None:
    (kernel,) = kernels_of(lambda x, y: np.where(x > y, np.exp(x - y), x), (LONG, LONG))
    (op,) = find(kernel, GenericOp)
    problem = plan_of(op, replace(SOC, ub_bytes=128), ()).problem()
    assert problem is not None and "+ 32 B of scratch" in problem[0] and "> 128 B" in problem[0]
    for bytes in (1024, 4096, SOC.ub_bytes):  # as small as necessary
        assert plan_of(op, replace(SOC, ub_bytes=bytes), ()).problem() is None


@pytest.mark.parametrize("tile", [32, 4096, (5, 96), (1, 10_016)])
def test_numbers_do_not_depend_on_the_tile(tile: int | tuple[int, int]) -> None:
    x = np.random.default_rng(0).standard_normal((37, 41)).astype(np.float32)
    np.testing.assert_allclose(mlirad.jit(softmax, target="ascend", tile=tile)(x), softmax(x), rtol=1e-5)


@pytest.mark.parametrize("tile", [0, -32, 33, (0, 32), (4, 31)])
def test_lines_of_a_tile_begin_at_multiples_of_32_bytes(tile: Any) -> None:
    with pytest.raises(ValueError, match="a positive multiple of 32"):
        mlirad.jit(softmax, target="ascend", tile=tile)


@pytest.mark.parametrize("tile", [(), (32,), (1, 2, 32), 32.0, True, "32", (1, 32.0)])
def test_a_tile_is_one_number_or_two(tile: Any) -> None:
    with pytest.raises(TypeError, match="tile is a number of elements, or a tuple of rows and columns"):
        mlirad.jit(softmax, target="ascend", tile=tile)
