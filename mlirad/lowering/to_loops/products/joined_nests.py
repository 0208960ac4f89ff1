"""Finds the elementwise nests beside a product that its tiles can compute: no array is then written and read again.

Reads: nests on memrefs. Writes: their bodies, on the vectors of a tile. Leaves: nests with functions, gathers or other
types of elements, whose vectors are best chosen for themselves.

A nest *before* a product fills an array that only the product reads, as its first factor. A nest *after* it changes the
result in place, or another array if nothing else reads the result, as in `out += (a @ b) * w`. Products are computed
where the nest is: between the two, other nests may use other memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import AnyFloat, IntegerAttr, IntegerType, MemRefType
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import FillOp, GenericOp, YieldOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineMap

from mlirad.analysis.loops import yields
from mlirad.lowering.loop_body import SCALAR_ONLY, body_of, evaluate
from mlirad.lowering.loop_builder import Index, LoopBuilder, vector_of
from mlirad.lowering.to_buffers.plan_arena import OFFSET
from mlirad.lowering.to_buffers.row_nests import MEMREF_VIEWS, base_of, bytes_of_memref, loads_elsewhere
from mlirad.lowering.to_loops.loop_nest import Operand, nest_of
from mlirad.lowering.to_loops.products.shared_tiles import is_product

_CHEAP = 16
"""With a costlier body, a tile is long, and reading and writing an array costs little beside it."""


@dataclass(frozen=True)
class JoinedNest:
    """A nest whose points are computed in a product's tiles.

    along: the product's dimension along which a tile has vectors. inputs and output: in the product's dimensions; None
    for the array between the two.
    """

    op: GenericOp
    along: int
    inputs: tuple[Operand | None, ...]
    output: Operand | None

    def vector(
        self,
        builder: LoopBuilder,
        here: Mapping[int, Index],
        lanes: int,
        mask: SSAValue | None,
        element: SSAValue | None = None,
    ) -> SSAValue:
        """The results at the points from `here` on. element: of the array between the nest and the product."""

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
        old = block.args[-1]
        values = [*map(read, self.inputs), read(self.output) if old.first_use is not None else old]
        (result,) = evaluate(builder, block, values, _without_index, lanes)
        wide = vector_of(block.args[-1].type, lanes)
        return result if result.type == wide else builder.splat(result, lanes)

    @property
    def adds(self) -> bool:
        """Whether the nest adds a multiple of the array between it and the product to what its output was before."""
        block = self.op.body.block
        sum = yields(block)[0]
        if self.output is None or not isinstance(sum.owner, arith.AddfOp):
            return False
        changed = [number for number, each in enumerate(self.inputs) if each is not None and each == self.output]
        old = [block.args[-1], *(block.args[number] for number in changed)]
        between = block.args[self.inputs.index(None)]
        terms = [each for each in sum.owner.operands if each not in old]
        return len(terms) == 1 and _is_multiple(terms[0], between)


def _is_multiple(value: SSAValue, factor: SSAValue) -> bool:
    """Whether a number is the product of a factor and others."""
    if value is factor:
        return True
    op = value.owner
    if isinstance(op, arith.NegfOp | arith.DivfOp):
        return _is_multiple(op.operands[0], factor)
    return isinstance(op, arith.MulfOp) and any(_is_multiple(each, factor) for each in op.operands)


@dataclass(frozen=True)
class NestsBeside:
    """The nests that a product may compute as well, if any."""

    before: GenericOp | None = None
    after: GenericOp | None = None

    @property
    def left(self) -> NestsBeside:
        """Those that no other product has computed."""
        before, after = (each if each is not None and each.parent else None for each in (self.before, self.after))
        return NestsBeside(before, after)


def joined(nest: GenericOp | None, operand: Operand, along: int, builder: LoopBuilder) -> JoinedNest | None:
    """The nest in the dimensions of a product; `operand` is the product's array between the two. None if there is no
    nest, or if its operands are not contiguous along the tile's vectors."""
    if nest is None or operand.value not in nest.operands:
        return None
    found: list[Operand | None] = []
    loops = nest_of(nest, builder)
    for each in (*loops.inputs, *loops.outputs):
        if each.value is operand.value:
            found.append(None)
            continue
        each = replace(each, subscripts=tuple([s.put(lambda d: operand.subscripts[d]) for s in each.subscripts]))
        if along in each.dimensions and not each.is_unit(along):
            return None
        found.append(each)
    *inputs, output = found
    return JoinedNest(nest, along, tuple(inputs), output)


# --- neighbours -------------------------------------------------------------------------------------------------------


def nests_beside(product: Operation) -> NestsBeside | None:
    """None if there is no nest beside it, or if it is no product."""
    if not isinstance(product, GenericOp) or not is_product(product):
        return None
    before = _nest_before(product)
    found = NestsBeside(before, _nest_after(product, before))
    return found if found.before is not None or found.after is not None else None


def _nest_after(product: GenericOp, before: GenericOp | None) -> GenericOp | None:
    """The next nest to use memory, if it changes a product's result in place, or is the only one to read it. before: a
    nest that moves with the product."""
    result, reads = product.outputs[0], (*product.inputs, *(before.inputs if before is not None else ()))
    nest = _next(product.next_op, lambda op: op.next_op)
    while isinstance(nest, GenericOp | FillOp) and result not in nest.operands and _may_come_first(nest, reads, result):
        nest = _next(nest.next_op, lambda op: op.next_op)
    if not isinstance(nest, GenericOp) or not _is_elementwise(nest):
        return None
    (output,) = nest.outputs
    if output is not result and not (_is_read_once(result, product, nest) and _are_all_apart(product.inputs, output)):
        return None
    memory = _viewed(result)
    for value, map in zip(nest.inputs, nest.indexing_maps, strict=False):
        is_same = value is result and _is_identity(map.data)
        if not is_same and isinstance(value.type, MemRefType) and _viewed(value) is memory:
            return None
    return nest


def _may_come_first(other: GenericOp | FillOp, reads: Sequence[SSAValue], result: SSAValue) -> bool:
    """Whether a product that reads and writes these arrays may be computed after a nest that follows it."""
    is_apart = all(_are_all_apart(reads, output) for output in other.outputs)
    return is_apart and _are_all_apart(other.operands, result) and not loads_elsewhere(other)


def _is_read_once(result: SSAValue, product: GenericOp, nest: GenericOp) -> bool:
    """Whether only this nest reads an array: one of its own, which only the product and a fill before it write."""
    users = {use.operation for use in result.uses}
    is_its_own = isinstance(result.owner, memref.AllocOp) and result in nest.inputs
    return is_its_own and all(op in (product, nest) or isinstance(op, FillOp) for op in users)


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
    return nest if _are_all_apart(nest.inputs, result) else None


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


def _are_all_apart(values: Sequence[SSAValue], other: SSAValue) -> bool:
    return all(_are_apart(value, other) for value in values if isinstance(value.type, MemRefType))


def _are_apart(one: SSAValue, other: SSAValue) -> bool:
    """Whether two memrefs are known to have no bytes in common, even if one is no longer read."""
    return all(_are_bases_apart(base_of(a), base_of(b)) for a in _sources(one) for b in _sources(other))


def _sources(value: SSAValue) -> list[SSAValue]:
    """The memrefs that a value may be: more than one after a branch."""
    value = _viewed(value)
    if not (isinstance(value, OpResult) and isinstance(value.op, scf.IfOp)):
        return [value]
    return [source for region in value.op.regions for source in _sources(yields(region.block)[value.index])]


def _are_bases_apart(one: SSAValue | None, other: SSAValue | None) -> bool:
    if one is None or other is None or one is other:
        return False
    places = [_bytes_in_arena(base) for base in (one, other) if isinstance(base.owner, memref.AllocOp)]
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
