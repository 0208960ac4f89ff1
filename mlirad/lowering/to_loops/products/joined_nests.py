"""Finds the elementwise nests beside a product that its tiles can compute: no array is then written and read again.

Reads: nests on memrefs. Writes: their bodies, on the vectors of a tile. Leaves: nests with functions, gathers or other
types of elements, whose vectors are best chosen for themselves.

A nest *before* a product fills an array that only the product reads, as its first factor. A nest *after* it changes the
result in place. Between the two nothing reads or writes memory, but a fill with zeros that the product needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from xdsl.dialects import memref
from xdsl.dialects.builtin import AnyFloat, IntegerAttr, IntegerType, MemRefType
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import FillOp, GenericOp, YieldOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from mlirad.lowering.loop_body import SCALAR_ONLY, body_of, evaluate
from mlirad.lowering.loop_builder import Index, LoopBuilder, vector_of
from mlirad.lowering.to_buffers.plan_arena import OFFSET
from mlirad.lowering.to_buffers.row_nests import MEMREF_VIEWS, base_of, bytes_of_memref
from mlirad.lowering.to_loops.loop_nest import Operand, nest_of
from mlirad.lowering.to_loops.products.shared_tiles import is_product

_CHEAP = 16
"""With a costlier body, a tile is long, and reading and writing an array costs little beside it."""


@dataclass(frozen=True)
class JoinedNest:
    """A nest whose points are computed in a product's tiles.

    along: the product's dimension along which a tile has vectors. inputs: in the product's dimensions; None for the
    array that need not be stored.
    """

    op: GenericOp
    along: int
    inputs: tuple[Operand | None, ...]

    def vector(
        self,
        builder: LoopBuilder,
        here: Mapping[int, Index],
        lanes: int,
        mask: SSAValue | None,
        element: SSAValue | None = None,
    ) -> SSAValue:
        """The results at the points from `here` on. element: of the array that is not stored."""

        def read(operand: Operand | None) -> SSAValue:
            if operand is None:
                assert element is not None
                return element
            if not operand.is_memref:
                return operand.value
            place = operand.place(builder, here)
            if self.along not in operand.dimensions:
                return builder.load(operand.value, place)
            return builder.load(operand.value, place, lanes, mask)

        block = self.op.body.block
        old = block.args[-1] if element is None else element
        (result,) = evaluate(builder, block, [*map(read, self.inputs), old], _without_index, lanes)
        wide = vector_of(block.args[-1].type, lanes)
        return result if result.type == wide else builder.splat(result, lanes)


@dataclass(frozen=True)
class NestsBeside:
    """The nests that a product may compute as well, if any."""

    before: GenericOp | None = None
    after: GenericOp | None = None


def joined(nest: GenericOp | None, operand: Operand, along: int, builder: LoopBuilder) -> JoinedNest | None:
    """The nest in the dimensions of a product; `operand` is the product's array between the two. None if there is no
    nest, or if its operands are not contiguous along the tile's vectors."""
    if nest is None or operand.value is not nest.outputs[0]:
        return None
    inputs: list[Operand | None] = []
    for each in nest_of(nest, builder).inputs:
        if each.value is operand.value:
            inputs.append(None)
            continue
        each = replace(each, subscripts=tuple([s.put(lambda d: operand.subscripts[d]) for s in each.subscripts]))
        if along in each.dimensions and not each.is_unit(along):
            return None
        inputs.append(each)
    return JoinedNest(nest, along, tuple(inputs))


# --- neighbours -------------------------------------------------------------------------------------------------------


def nests_beside(product: Operation) -> NestsBeside | None:
    """None if there is no nest beside it, or if it is no product."""
    if not isinstance(product, GenericOp) or not is_product(product):
        return None
    found = NestsBeside(_nest_before(product), _nest_after(product))
    return found if found.before is not None or found.after is not None else None


def _nest_after(product: GenericOp) -> GenericOp | None:
    """The nest that changes a product's result in place, if it is the next to use memory."""
    nest, result = _next(product.next_op, lambda op: op.next_op), product.outputs[0]
    if not isinstance(nest, GenericOp) or not _is_elementwise(nest) or nest.outputs[0] is not result:
        return None
    memory = _viewed(result)
    for value, map in zip(nest.inputs, nest.indexing_maps, strict=False):
        is_same = value is result and _is_identity(map.data)
        if not is_same and isinstance(value.type, MemRefType) and _viewed(value) is memory:
            return None
    return nest


def _nest_before(product: GenericOp) -> GenericOp | None:
    """The nest that fills a factor of a product which nothing else reads, if it is the last to use memory."""
    result = product.outputs[0]

    def previous(op: Operation) -> Operation | None:
        before = op.prev_op
        return previous(before) if isinstance(before, FillOp) and before.outputs[0] is result else before

    nest = _next(previous(product), previous)
    if not isinstance(nest, GenericOp) or not _is_elementwise(nest):
        return None
    (factor,) = nest.outputs
    is_its_own = isinstance(factor.owner, memref.AllocOp) and factor.uses.get_length() == 2
    if not is_its_own or factor not in product.inputs or nest.body.block.args[-1].uses.get_length():
        return None
    reads = [value for value in nest.inputs if isinstance(value.type, MemRefType)]
    return nest if all(_are_apart(value, result) for value in reads) else None


def _next(op: Operation | None, step: Callable[[Operation], Operation | None]) -> Operation | None:
    """The first op, from this one on, that may use memory."""
    while isinstance(op, (*MEMREF_VIEWS, memref.AllocOp, memref.GetGlobalOp)) or (op and op.name.startswith("arith.")):
        op = step(op)
    return op


def _is_elementwise(nest: GenericOp) -> bool:
    """Whether it computes each element of one array by arithmetic that is cheap and needs no more than its elements."""
    if len(nest.outputs) != 1 or any(kind.data != IteratorType.PARALLEL for kind in nest.iterator_types):
        return False
    type, block = nest.outputs[0].type, nest.body.block
    if not isinstance(type, MemRefType) or not isinstance(type.element_type, AnyFloat):
        return False
    if not _is_identity(nest.indexing_maps.data[-1].data) or any(each.type != type.element_type for each in block.args):
        return False
    return body_of(block).cost <= _CHEAP and all(map(_is_arithmetic, block.ops))


def _is_arithmetic(op: Operation) -> bool:
    if isinstance(op, YieldOp):
        return True
    is_of_numbers = all(isinstance(value.type, AnyFloat | IntegerType) for value in (*op.operands, *op.results))
    return op.name.startswith("arith.") and is_of_numbers and not isinstance(op, SCALAR_ONLY)


def _is_identity(map: AffineMap) -> bool:
    return map == AffineMap.identity(map.num_dims)


def _viewed(value: SSAValue) -> SSAValue:
    """What a memref is a view of."""
    while isinstance(value.owner, MEMREF_VIEWS):
        value = value.owner.operands[0]
    return value


def _are_apart(one: SSAValue, other: SSAValue) -> bool:
    """Whether two memrefs are known to have no bytes in common, even if one is no longer read."""
    bases = base_of(one), base_of(other)
    if None in bases or bases[0] is bases[1]:
        return False
    places = [_bytes_in_arena(base) for base in bases if base is not None and isinstance(base.owner, memref.AllocOp)]
    if len(places) < 2:
        return None not in places
    first, second = places
    return first is not None and second is not None and (first.stop <= second.start or second.stop <= first.start)


def _bytes_in_arena(base: SSAValue) -> range | None:
    """None if its place in memory is not known."""
    assert isinstance(base.owner, memref.AllocOp) and isinstance(base.type, MemRefType)
    offset = base.owner.attributes.get(OFFSET)
    if not isinstance(offset, IntegerAttr):
        return None
    return range(offset.value.data, offset.value.data + bytes_of_memref(base.type))


def _without_index(_: int) -> SSAValue:
    raise AssertionError("the body of a joined nest has no linalg.index")
