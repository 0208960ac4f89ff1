"""Nests over rows that may run by blocks of rows: the requirements, and the memory that each touches.

Reads: ops on memrefs of static size. Writes: nothing. Leaves: nests that cannot be cut into rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from mlirad.dialect.core.answers import Dims
from mlirad.dialect.core.types import itemsize
from mlirad.lowering.loop_body import Combiner, body_of
from mlirad.lowering.rewriting import erase

_SMALL_FACTOR = 1 << 14
"""Bytes: what a product may read again for each block of rows."""
SMALL = 1 << 15
"""Bytes: a nest on whole sums that touches no more may wait for the end of the run, and need not share rows itself."""


@dataclass(frozen=True)
class RowAccess:
    """An operand of a nest. base: the memory that contains it. axis: the axis along the rows, if any.

    rows_of: identifies the rows: two operands with the same value have the same rows.
    """

    value: SSAValue
    base: SSAValue
    axis: int | None
    rows_of: SSAValue

    @property
    def row_bytes(self) -> int:
        type = self.value.type
        assert isinstance(type, MemRefType) and self.axis is not None
        shape = type.get_shape()
        return prod(shape) // shape[self.axis] * itemsize(type.element_type)


@dataclass(frozen=True)
class RowNest:
    """A nest over rows. combiners: for each output without rows, the combiner of its reduction. is_product: whether it
    is one of matrices."""

    op: GenericOp | FillOp
    rows: int
    inputs: tuple[RowAccess, ...]
    outputs: tuple[RowAccess, ...]
    combiners: Mapping[int, Combiner]
    is_product: bool


def nest_of(op: Operation) -> RowNest | None:
    """The nest of an op; None if it cannot be cut into rows, or reads a large array by columns: alone, it changes the
    order of its loops."""
    if isinstance(op, FillOp):
        maps: list[Dims | None] = [(), tuple(range(len(shape_of(op.outputs[0]))))]
        if not maps[1]:
            return None
    elif isinstance(op, GenericOp):
        maps = [dims_of(attribute.data) for attribute in op.indexing_maps.data]
    else:
        return None
    accesses: list[RowAccess] = []
    rows = 0
    for value, dims in zip(op.operands, maps, strict=True):
        if dims is None:
            return None
        if not isinstance(value.type, MemRefType):
            continue
        base, shape = base_of(value), shape_of(value)
        if base is None or DYNAMIC_INDEX in shape:
            return None
        axis = dims.index(0) if 0 in dims else None
        if axis and axis == len(dims) - 1 and bytes_of_memref(value.type) > SMALL:
            return None
        rows = rows if axis is None else shape[axis]
        accesses.append(RowAccess(value, base, axis, base if _has_rows_of(value, base) else value))
    count = len(op.outputs)
    inputs, outputs = accesses[:-count], accesses[-count:]
    combiners: dict[int, Combiner] = {}
    is_product = isinstance(op, GenericOp) and _is_product(op)
    if isinstance(op, GenericOp):
        is_whole = is_product and _bytes_of_factor(op) > _SMALL_FACTOR
        found = None if is_whole else _combiners(op, outputs)
        if found is None:
            return None
        combiners = found
    return RowNest(op, rows, tuple(inputs), tuple(outputs), combiners, is_product) if rows > 1 else None


def _is_product(op: GenericOp) -> bool:
    loops, first = len(op.iterator_types.data), len(op.inputs)
    reads = [each.data.results for each in op.indexing_maps.data[:first]]
    return body_of(op.body.block).is_multiply_add and any(len(read) < loops for read in reads)


def _combiners(op: GenericOp, outputs: Sequence[RowAccess]) -> dict[int, Combiner] | None:
    """The combiners of outputs without rows; None if the nest cannot be split into rows."""
    body, first = body_of(op.body.block), len(op.inputs)
    combiners: dict[int, Combiner] = {}
    for inner in op.body.block.ops:
        counts_rows = isinstance(inner, IndexOp) and inner.dim.value.data == 0
        if inner.regions or isinstance(inner, memref.LoadOp) or counts_rows:
            return None
    for place, out in enumerate(outputs):
        if out.axis is None:
            combiner = body.combiner(place, first + place)
            if combiner is None or combiner.is_in_order:
                return None
            combiners[place] = combiner
    return combiners


def _bytes_of_factor(op: GenericOp) -> int:
    """Of what a product reads for each row: it would be read from memory for each block."""
    found = [0]
    for value, map in zip(op.operands, op.indexing_maps.data, strict=True):
        type, rows = value.type, AffineDimExpr(0)
        if isinstance(type, MemRefType) and rows not in map.data.results:
            found.append(prod(type.get_shape()) * itemsize(type.element_type))
    return max(found)


def shape_of(value: SSAValue) -> tuple[int, ...]:
    return value.type.get_shape() if isinstance(value.type, MemRefType) else ()


def dims_of(map: AffineMap) -> Dims | None:
    """The loops along which the axes of an operand run, each along its own."""
    dims = [each.position for each in map.results if isinstance(each, AffineDimExpr)]
    return tuple(dims) if len(dims) == len(map.results) == len(set(dims)) else None


RESHAPES = (memref.CollapseShapeOp, memref.ExpandShapeOp)
MEMREF_VIEWS = (memref.SubviewOp, memref.CastOp, *RESHAPES)


def _has_rows_of(value: SSAValue, base: SSAValue) -> bool:
    """Whether value is the whole memory, with each row at most reshaped."""
    rows = shape_of(base)[:1]
    while value is not base and isinstance(value.owner, RESHAPES) and shape_of(value)[:1] == rows:
        value = value.owner.operands[0]
    return value is base


def base_of(value: SSAValue) -> SSAValue | None:
    """The memory of a memref, if it is known to be disjoint from all other memory: allocated here, or an argument."""
    while isinstance(value.owner, MEMREF_VIEWS):
        value = value.owner.operands[0]
    if isinstance(value, BlockArgument):
        parent = value.owner.parent_op()
        return value if isinstance(parent, func.FuncOp) else None
    return value if isinstance(value.owner, memref.AllocOp | memref.GetGlobalOp) else None


def bases_of(values: Sequence[SSAValue]) -> set[SSAValue | None]:
    return {base_of(value) for value in values if isinstance(value.type, MemRefType)}


def loads_elsewhere(op: GenericOp | FillOp) -> bool:
    """Whether a nest reads memory that is not an operand."""
    return isinstance(op, GenericOp) and any(isinstance(each, memref.LoadOp) for each in op.body.block.ops)


def bytes_of(op: Operation) -> int:
    """Of all memory that an op has as operands, of static size."""
    return sum(bytes_of_memref(value.type) for value in op.operands if isinstance(value.type, MemRefType))


def bytes_of_memref(type: MemRefType) -> int:
    return prod(map(abs, type.get_shape())) * itemsize(type.element_type)


def read_by(op: Operation) -> Iterator[SSAValue]:
    """The values that an op and the ops in its regions read."""
    yield from op.operands
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield from read_by(inner)


def loop_sizes(op: GenericOp) -> dict[int, int]:
    """The sizes of the loops of a nest over arrays of static size: of those along an axis of an operand."""
    sizes: dict[int, int] = {}
    for value, attribute in zip(op.operands, op.indexing_maps.data, strict=True):
        for each, size in zip(attribute.data.results, shape_of(value), strict=False):
            if isinstance(each, AffineDimExpr):
                sizes[each.position] = size
    return sizes


def work_of(op: Operation) -> int:
    """The cost of a nest of static size."""
    if isinstance(op, GenericOp):
        return body_of(op.body.block).cost_of_point(len(op.operands)) * prod(loop_sizes(op).values())
    return prod(shape_of(op.operands[-1]))


def blocks_of(op: Operation) -> list[Block]:
    """The blocks in an op, without the bodies of linalg ops, collected before any of them changes."""
    found: list[Block] = []
    for region in op.regions:
        for block in region.blocks:
            found.append(block)
            for inner in block.ops:
                if inner.regions and not isinstance(inner, GenericOp | FillOp):
                    found += blocks_of(inner)
    return found


def fills_before(op: Operation) -> dict[SSAValue, RowNest]:
    """The fills directly before an op, by the memory that they fill."""
    fills: dict[SSAValue, RowNest] = {}
    before = op.prev_op
    while isinstance(before, memref.AllocOp | arith.ConstantOp | FillOp):
        if isinstance(before, FillOp) and (nest := nest_of(before)) is not None:
            fills.setdefault(nest.outputs[0].base, nest)
        before = before.prev_op
    return fills


def move_behind(ops: Sequence[Operation], last: Operation) -> None:
    """Move the ops that come before the last nest of a run directly behind it, in program order."""
    behind = set(_from(last))
    for op in reversed(ops):
        if op not in behind:
            op.detach()
            assert last.parent is not None
            last.parent.insert_op_after(op, last)


def _from(op: Operation | None) -> Iterator[Operation]:
    """An op, and the ops after it in its block."""
    while op is not None:
        yield op
        op = op.next_op


def erase_memory(value: SSAValue) -> None:
    """Erase the op that allocates memory, and the views of it."""
    for use in list(value.uses):
        erase_memory(use.operation.results[0])
    assert isinstance(value.owner, Operation)
    erase(value.owner)
