"""The loops of a matmul's kernel over tiles of C, and the parts of A, B and C in global memory that a tile needs.

Reads: a matmul and its tiles. Writes: arith, scf and memref. Leaves: what is done with a tile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType, StridedLayoutAttr
from xdsl.ir import Block, SSAValue

from mlirad.dialect.core.expr import building, insert
from mlirad.dialect.ops.elementwise import number
from mlirad.targets.ascend.cube.matmul_tiles import Matmul, MatmulTiles, require_tiles
from mlirad.targets.ascend.hivm.synchronisation import GetBlockIdxOp
from mlirad.targets.ascend.soc import Soc

INDEX = IndexType()
Size = SSAValue | int
SizeT = TypeVar("SizeT", bound=SSAValue | int)
"""An index: a value of the kernel, or a number that is known while compiling."""


@dataclass(frozen=True)
class GlobalMatrix:
    """The matrices of a buffer in global memory: rows `row_stride` elements apart, columns next to one another.

    batch_strides: between the matrices of each batch axis; 0 where all share one. offset: of the first element.
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
    """A tile of C: its number on this core, which C it is of, where it begins and how large it is."""

    trip: SSAValue
    batch: tuple[Size, ...]
    row: Size
    column: Size
    rows: Size
    columns: Size


@dataclass(frozen=True)
class MatmulKernel:
    """What is emitted into the body of a kernel. batch_shape: of the axes that A, B and C are batches along.

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
        """Emit what a core does with each of its tiles, every `blocks`-th one."""
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
        """The part of A, as the buffer holds it, for a tile and `depths` of k from `depth` on."""
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


@contextmanager
def loop(lower: Size, upper: Size, step: int) -> Iterator[SSAValue]:
    """Emit the body of a loop without results; gives its counter."""
    bounds = value(lower), value(upper), value(step)
    block = Block(arg_types=[INDEX])
    with building(block):
        yield block.args[0]
        insert(scf.YieldOp())
    insert(scf.ForOp(*bounds, [], block))


def split(count: SSAValue, shape: Sequence[int]) -> list[Size]:
    """The indices of an element that `count` others come before, in an array of that shape."""
    indices: list[Size] = []
    for axis in reversed(range(len(shape))):
        if shape[axis] == 1:
            indices.append(0)
        elif all(size == 1 for size in shape[:axis]):
            indices.append(count)
        else:
            size = value(shape[axis])
            indices.append(insert(arith.RemUIOp(count, size)).result)
            count = insert(arith.DivUIOp(count, size)).result
    return indices[::-1]


def length(extent: int, step: int, start: Size) -> Size:
    """Of a part of an axis, from `start` on: less than a step at its end."""
    if extent <= step:
        return extent
    if extent % step == 0:
        return step
    left = insert(arith.SubiOp(value(extent), value(start))).result
    return insert(arith.MinUIOp(left, value(step))).result


def turned(pair: tuple[SizeT, SizeT]) -> tuple[SizeT, SizeT]:
    """Rows and columns of the transpose."""
    return pair[1], pair[0]


def value(size: Size) -> SSAValue:
    return number(size, INDEX) if isinstance(size, int) else size


def static(size: Size) -> int:
    return size if isinstance(size, int) else DYNAMIC_INDEX


def add(first: Size, second: Size) -> Size:
    if isinstance(first, int) and isinstance(second, int):
        return first + second
    if 0 in (first, second):
        return second if first == 0 else first
    return insert(arith.AddiOp(value(first), value(second))).result


def multiply(size: Size, by: int) -> Size:
    if isinstance(size, int):
        return size * by
    return size if by == 1 else 0 if by == 0 else insert(arith.MuliOp(size, value(by))).result


def quotient(size: Size, by: int) -> Size:
    """How many parts of `by` elements there are, the last one perhaps not whole."""
    if isinstance(size, int):
        return -(-size // by)
    return insert(arith.DivUIOp(insert(arith.AddiOp(size, value(by - 1))).result, value(by))).result
