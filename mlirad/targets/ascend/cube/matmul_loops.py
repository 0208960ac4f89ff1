"""The loops of a matmul's kernel over tiles of C, and the parts of A, B and C in global memory that a tile needs.

Reads: a matmul and its tiles. Writes: arith, scf and memref. Leaves: the computation of a tile to the caller.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import MemRefType, StridedLayoutAttr
from xdsl.ir import SSAValue

from mlirad.dialect.core.expr import insert
from mlirad.targets.ascend.cube.matmul_tiles import Matmul, MatmulTiles, require_tiles
from mlirad.targets.ascend.hivm.synchronisation import GetBlockIdxOp
from mlirad.targets.ascend.soc import Soc
from mlirad.targets.ascend.tiles.index_loops import (
    INDEX,
    Size,
    add,
    length,
    loop,
    multiply,
    split,
    static,
    turned,
    value,
)


@dataclass(frozen=True)
class GlobalMatrix:
    """The matrices of a buffer in global memory: rows are `row_stride` elements apart, columns are adjacent.

    batch_strides: between the matrices of each batch axis; 0 if all share one matrix. offset: of the first element.
    """

    buffer: SSAValue
    row_stride: int
    batch_strides: tuple[int, ...] = ()
    offset: SSAValue | None = None

    def window(self, batch: Sequence[Size], row: Size, column: Size, rows: Size, columns: Size) -> SSAValue:
        """A part of one matrix."""
        place: Size = 0 if self.offset is None else self.offset
        for start, stride in zip((*batch, row, column), (*self.batch_strides, self.row_stride, 1), strict=True):
            place = add(place, multiply(start, stride))
        type = self.buffer.type
        assert isinstance(type, MemRefType)
        layout = StridedLayoutAttr([self.row_stride, 1], None)
        sizes = [rows, columns]
        shown = MemRefType(type.element_type, list(map(static, sizes)), layout, type.memory_space)
        made = memref.ReinterpretCastOp.from_dynamic(self.buffer, [value(place)], sizes, [self.row_stride, 1], shown)
        return insert(made).result


@dataclass(frozen=True)
class Place:
    """A tile of C: its number on this core, the C that it belongs to, its first row and column, and its size."""

    trip: SSAValue
    batch: tuple[Size, ...]
    row: Size
    column: Size
    rows: Size
    columns: Size


@dataclass(frozen=True)
class MatmulKernel:
    """The data for a kernel's body. batch_shape: the axes along which A, B and C are batched.

    Raises CompileError for tiles that do not fit, with the arithmetic.
    """

    matmul: Matmul
    tiles: MatmulTiles
    soc: Soc
    a: GlobalMatrix
    b: GlobalMatrix
    c: GlobalMatrix
    batch_shape: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        require_tiles(self.tiles, self.matmul, self.soc)

    @property
    def blocks(self) -> int:
        return self.tiles.blocks(self.matmul, self.soc)

    @contextmanager
    def each_tile(self) -> Iterator[Place]:
        """Emit the loop over a core's tiles, every `blocks`-th one; yields the tile."""
        matmul, tiles, blocks = self.matmul, self.tiles, self.blocks
        first = insert(arith.IndexCastOp(insert(GetBlockIdxOp()).result, INDEX)).result
        with loop(first, tiles.tiles(matmul), blocks) as count:
            passed = insert(arith.SubiOp(count, first)).result
            trip = insert(arith.DivUIOp(passed, value(blocks))).result
            *batch, down, across = split(count, (*self.batch_shape, *tiles.counts(matmul)))
            row, column = multiply(down, tiles.rows), multiply(across, tiles.columns)
            rows, columns = length(matmul.m, tiles.rows, row), length(matmul.n, tiles.columns, column)
            yield Place(trip, tuple(batch), row, column, rows, columns)

    def a_window(self, place: Place, depth: Size, depths: Size) -> SSAValue:
        """The part of A, in the buffer's layout, for a tile and `depths` indices of k from `depth` on."""
        where, size = (place.row, depth), (place.rows, depths)
        if self.matmul.a_transposed:
            where, size = turned(where), turned(size)
        return self.a.window(place.batch, *where, *size)

    def b_window(self, place: Place, depth: Size, depths: Size) -> SSAValue:
        where, size = (depth, place.column), (depths, place.columns)
        if self.matmul.b_transposed:
            where, size = turned(where), turned(size)
        return self.b.window(place.batch, *where, *size)

    def c_window(self, place: Place) -> SSAValue:
        return self.c.window(place.batch, place.row, place.column, place.rows, place.columns)
