"""Tiles fit the unified buffer, whatever they contain, and are as large as it allows."""

from __future__ import annotations

import math

import pytest
from xdsl.dialects.builtin import f32

from mlirad.targets.ascend.soc import for_soc
from mlirad.targets.ascend.tiles.nest import BufferKind, Loops, Nest
from mlirad.targets.ascend.tiles.sizes import TileSizes, sizes_of

SOC = for_soc("Ascend910B1")


def nest(*strides: tuple[int, ...], extents: tuple[int, ...], reduced: tuple[bool, ...]) -> Nest:
    dims = tuple((dim,) for dim in range(len(extents)))
    return Nest(Loops(extents, reduced, dims, strides).simplified())


@pytest.mark.parametrize("bytes_each", [4, 13, 90])
@pytest.mark.parametrize("extents", [(1, 1), (7, 5), (1000, 1000), (3, 10**7), (10**7, 3), (65537, 33)])
@pytest.mark.parametrize("reduced", [(False, False), (False, True), (True, False)])
def test_tiles_fit(extents: tuple[int, int], reduced: tuple[bool, bool], bytes_each: int) -> None:
    columns = extents[1]
    written = {(False, False): (columns, 1), (False, True): (1, 0), (True, False): (0, 1)}[reduced]
    found = nest((columns, 1), (0, 1), written, extents=extents, reduced=reduced)

    def fits(sizes: TileSizes) -> bool:
        return bytes_each * math.prod(sizes.shape(BufferKind.TILE, found.tiling.rows is not None, f32)) <= SOC.ub_bytes

    sizes = sizes_of(found, 4, SOC, fits)
    assert fits(sizes)
    assert 1 <= sizes.columns <= math.prod(extents) and 1 <= sizes.rows <= math.prod(extents)


def test_loops_along_which_everything_is_contiguous_are_one() -> None:
    assert nest((30, 1), (30, 1), extents=(20, 30), reduced=(False, False)).loops.extents == (600,)
    assert nest((30, 1), (0, 1), extents=(20, 30), reduced=(False, False)).loops.extents == (20, 30)
    assert nest((30, 1), (0, 0), extents=(20, 30), reduced=(True, True)).loops.extents == (600,)


def test_a_product_of_matrices_runs_along_contiguous_elements() -> None:
    """c[i, j] += a[i, k] b[k, j]: a column of a is a column of the tile of b."""
    found = nest((5, 0, 1), (0, 1, 7), (7, 1, 0), extents=(3, 7, 5), reduced=(False, False, True))
    assert (found.tiling.rows, found.tiling.columns) == (2, 1)
    assert found.kinds == [BufferKind.COLUMN, BufferKind.TILE, BufferKind.ROW]
