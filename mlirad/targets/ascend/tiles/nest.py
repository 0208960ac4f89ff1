"""The loops of a kernel, and the layout of its buffers along them.

Reads: `linalg.generic` on memrefs. Writes: a `Nest`. Leaves: the op unchanged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from itertools import permutations

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, StridedLayoutAttr, i1
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineDimExpr


class BufferKind(Enum):
    """The layout of a buffer relative to a tile of rows and columns."""

    TILE = "tile"
    ROW = "row"  # the same for all rows
    COLUMN = "column"  # the same for all columns; each element at an aligned address
    PACKED = "packed"  # a column in the form that reductions write: adjacent elements
    ONE = "one"  # one element
    TURNED = "turned"  # columns and rows exchanged
    OTHER = "other"  # no transfer can read it directly


@dataclass(frozen=True)
class Loops:
    """extents: of each loop. reduced: whether it is a reduction. dims: the loops of the op that it represents,
    innermost last. strides: in elements, of each buffer along each loop."""

    extents: tuple[int, ...]
    reduced: tuple[bool, ...]
    dims: tuple[tuple[int, ...], ...]
    strides: tuple[tuple[int, ...], ...]

    def simplified(self) -> Loops:
        """Drop loops of one trip, and merge two loops if all buffers run along them as along a single one."""
        loops = self._without([dim for dim, extent in enumerate(self.extents) if extent == 1])
        while (pair := loops._mergeable()) is not None:
            outer, inner = pair
            extents, dims = list(loops.extents), list(loops.dims)
            extents[inner] *= extents[outer]
            dims[inner] = dims[outer] + dims[inner]
            loops = replace(loops, extents=tuple(extents), dims=tuple(dims))._without([outer])
        if not loops.extents:  # one element: a loop of one trip, along which all buffers are contiguous
            loops = Loops((1,), (False,), ((),), tuple((1,) for _ in loops.strides))
        return loops

    def _without(self, dims: list[int]) -> Loops:
        kept = [dim for dim in range(len(self.extents)) if dim not in dims]
        return Loops(
            tuple(self.extents[dim] for dim in kept),
            tuple(self.reduced[dim] for dim in kept),
            tuple(self.dims[dim] for dim in kept),
            tuple(tuple(each[dim] for dim in kept) for each in self.strides),
        )

    def _mergeable(self) -> tuple[int, int] | None:
        for outer, inner in permutations(range(len(self.extents)), 2):
            same = self.reduced[outer] == self.reduced[inner]
            if same and all(each[outer] == each[inner] * self.extents[inner] for each in self.strides):
                return outer, inner
        return None


@dataclass(frozen=True)
class Tiling:
    """rows: the loop of a tile's rows, if it has rows. columns: the loop of its columns."""

    rows: int | None
    columns: int


@dataclass(frozen=True)
class Nest:
    """The simplified loops of an op; its last buffer is its output.

    has_masks: whether its tiles are single lines, because the bits of a mask must be adjacent.
    """

    loops: Loops
    has_masks: bool = False

    def kind(self, buffer: int, tiling: Tiling) -> BufferKind:
        """The layout of a buffer as a transfer sees it."""
        strides = self.loops.strides[buffer]
        along = strides[tiling.columns]
        if tiling.rows is None:
            return {1: BufferKind.TILE, 0: BufferKind.ONE}.get(along, BufferKind.OTHER)
        down = strides[tiling.rows]
        match down, along:
            case 0, 0:
                return BufferKind.ONE
            case 0, 1:
                return BufferKind.ROW
            case 1, 0:
                return BufferKind.COLUMN
            case _, 1:
                return BufferKind.TILE if down > 0 else BufferKind.OTHER
            case 1, _ if along > 0 and not self.is_accumulator(buffer):
                return BufferKind.TURNED
            case _:
                return BufferKind.OTHER

    def is_accumulator(self, buffer: int) -> bool:
        return buffer == len(self.loops.strides) - 1 and any(self.loops.reduced)

    @cached_property
    def tiling(self) -> Tiling:
        """The loops of a tile: those with the fewest buffers to copy first, then the fewest tiles."""
        dims = range(len(self.loops.extents))
        candidates = [Tiling(None, each) for each in dims]
        if not self.has_masks:
            candidates += [Tiling(rows, columns) for rows, columns in permutations(dims, 2)]
        return min(candidates, key=self._cost)

    def _cost(self, tiling: Tiling) -> tuple[int, int, int, int]:
        kinds = [self.kind(buffer, tiling) for buffer in range(len(self.loops.strides))]
        outer = [extent for dim, extent in enumerate(self.loops.extents) if dim not in (tiling.rows, tiling.columns)]
        return kinds.count(BufferKind.OTHER), math.prod(outer), kinds.count(BufferKind.TURNED), tiling.rows is not None

    @property
    def kinds(self) -> list[BufferKind]:
        return [self.kind(buffer, self.tiling) for buffer in range(len(self.loops.strides))]


def loops_of(op: GenericOp) -> Loops:
    """The loops of an op, unchanged."""
    reduced = tuple(each.data is IteratorType.REDUCTION for each in op.iterator_types)
    extents = [1] * len(reduced)
    strides: list[tuple[int, ...]] = []
    for operand, map in zip(op.operands, op.indexing_maps, strict=True):
        along = [0] * len(reduced)
        for expression, size, stride in zip(
            map.data.results, shape_of(operand.type), strides_of(operand.type), strict=True
        ):
            assert isinstance(expression, AffineDimExpr)
            extents[expression.position] = size
            along[expression.position] += stride
        strides.append(tuple(along))
    return Loops(tuple(extents), reduced, tuple((dim,) for dim in range(len(reduced))), tuple(strides))


def nest_of(op: GenericOp) -> Nest:
    has_masks = any(result.type == i1 for each in op.body.block.ops for result in each.results)
    return Nest(loops_of(op).simplified(), has_masks)


def shape_of(type: Attribute) -> tuple[int, ...]:
    return type.get_shape() if isinstance(type, MemRefType) else ()


def strides_of(type: Attribute) -> tuple[int, ...]:
    """The strides in elements; an unknown stride becomes one that nothing else has."""
    if not isinstance(type, MemRefType):
        return ()
    if isinstance(type.layout, StridedLayoutAttr):
        found = type.layout.get_strides()
        return tuple(DYNAMIC_INDEX if each is None or each == DYNAMIC_INDEX else int(each) for each in found)
    shape = type.get_shape()
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
