"""Builds the loops of a sum with terms that are zero at most points, and skips these points.

Reads: nests that only add to their outputs, with terms that a condition makes zero. Example: the adjoint of a minimum
over an axis, where the cotangent goes only to the elements that are the minimum. Writes: loops that evaluate the
condition in vectors, and the loops of the nest for the points where it does not hold. Leaves: the linalg op, which the
caller erases.

    before                                              after
    for i, j, a:                                        for i, j:
        d[j, a] += 0 if low[i] < x[i, j] else f(...)        if not low[i] < x[i, j]:
                                                                for a: d[j, a] += f(...)

A condition is expected to hold at most points if it compares a value that lacks a loop with one that has it, such as
the extreme of a row with its elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from mlirad.lowering.loop_body import Body, evaluate
from mlirad.lowering.loop_builder import Index, LoopBuilder
from mlirad.lowering.to_loops.lanes import in_all_lanes
from mlirad.lowering.to_loops.loop_nest import Nest, Operand, loops_around
from mlirad.lowering.to_loops.loop_schedule import schedule_of
from mlirad.lowering.to_loops.vectorize import NestEmitter

_LEAST = 4
"""The fewest numbers that must be skipped with a point: reading the condition again costs as much."""
_MOST_OPS = 8
"""The most ops of a condition, which is computed once for a vector and once more for a point."""
_FEW_STEPS = 64
"""The most steps of a sum of narrow numbers that is accumulated one by one."""
_STRICT = (2, 4)
"""ogt and olt: an extreme is beyond all other elements, and nothing is beyond nan."""
_EQUAL = 1


@dataclass(frozen=True)
class ZeroTerms:
    """condition: computes from the inputs whether the terms of a point are zero. inputs: the numbers of these inputs.

    dimensions: the loops that it depends on; `along` fills vectors.
    """

    condition: Block
    inputs: tuple[int, ...]
    dimensions: tuple[int, ...]
    along: int


def zero_terms_of(nest: Nest, body: Body) -> ZeroTerms | None:
    """A condition under which a nest adds nothing, if it has one that is worth testing."""
    count = len(nest.inputs)
    if not body.is_vectorizable or not nest.outputs:
        return None
    terms: list[SSAValue] = []
    for place in range(len(nest.outputs)):
        combiner = body.combiner(place, count + place)
        is_sum = combiner is not None and combiner.op_class is arith.AddfOp
        if not is_sum or nest.outputs[place].dimensions >= frozenset(nest.live):
            return None
        sum = body.results[place].owner
        assert isinstance(sum, Operation)
        (term,) = [each for each in sum.operands if each is not body.block.args[count + place]]
        terms.append(term)
    for op in body.block.ops:
        if isinstance(op, arith.SelectOp) and isinstance(compared := op.cond.owner, arith.CmpfOp):
            guard = _guard(nest, body, compared)
            if guard is not None and all(_facts(body.block, op.cond).get(term) is _Fact.ZERO for term in terms):
                return guard
    return None


def _guard(nest: Nest, body: Body, compared: arith.CmpfOp) -> ZeroTerms | None:
    """The comparison as a guard, if it consists of few ops on inputs, and is rarely false."""
    cone = _cone(body.block, compared)
    if cone is None or compared.predicate.value.data not in _STRICT:
        return None
    ops, arguments = cone
    sides = [_dimensions(nest, body.block, side) & frozenset(nest.live) for side in compared.operands]
    everywhere = sides[0] | sides[1]
    if everywhere not in sides or not 0 < min(map(len, sides)) < len(everywhere):
        return None
    skipped = [nest.sizes[d] for d in nest.live if d not in everywhere]
    if not skipped or not _is_at_least(skipped, _LEAST):
        return None
    operands = [nest.inputs[place] for place in arguments]
    along = [d for d in everywhere if all(d not in each.dimensions or each.is_unit(d) for each in operands)]
    if not along or _is_narrow_sum(nest, body, everywhere):
        return None
    block = Block(arg_types=[body.block.args[place].type for place in arguments])
    values: dict[SSAValue, SSAValue] = dict(
        zip((body.block.args[place] for place in arguments), block.args, strict=True)
    )
    for op in ops:
        block.add_op(op.clone(values))
    block.add_op(YieldOp(values[compared.result]))
    dimensions = tuple(d for d in nest.live if d in everywhere)
    return ZeroTerms(block, arguments, dimensions, max(along, key=dimensions.index))


def _cone(block: Block, compared: Operation) -> tuple[list[Operation], tuple[int, ...]] | None:
    """The ops that compute a comparison, in order, and their arguments; None if there are too many."""
    needed = {compared}
    arguments: dict[int, None] = {}
    ops: list[Operation] = []
    op = compared
    while op is not None:
        if op in needed:
            ops.insert(0, op)
            for operand in op.operands:
                if isinstance(operand, BlockArgument) and operand.block is block:
                    arguments[operand.index] = None
                elif isinstance(operand.owner, Operation) and operand.owner.parent is block:
                    needed.add(operand.owner)
        op = op.prev_op
    is_plain = all(each.name.startswith("arith.") for each in ops)
    return (ops, tuple(sorted(arguments))) if is_plain and len(ops) <= _MOST_OPS else None


def _dimensions(nest: Nest, block: Block, value: SSAValue) -> frozenset[int]:
    """The loops along which a value in a body varies."""
    if isinstance(value, BlockArgument):
        return nest.operands[value.index].dimensions if value.block is block else frozenset()
    if isinstance(value.owner, Block) or value.owner.parent is not block:
        return frozenset()
    return frozenset().union(*[_dimensions(nest, block, operand) for operand in value.owner.operands])


def _is_at_least(sizes: Sequence[Index], count: int) -> bool:
    """Whether loops have at least `count` points; sizes known only at run time count as large."""
    known = [size for size in sizes if isinstance(size, int)]
    return len(known) < len(sizes) or prod(known) >= count


def _is_narrow_sum(nest: Nest, body: Body, dimensions: frozenset[int]) -> bool:
    """Whether many numbers of float32 would be accumulated one by one."""
    for place, out in enumerate(nest.outputs):
        combiner = body.combiner(place, len(nest.inputs) + place)
        steps = [nest.sizes[d] for d in dimensions if d not in out.dimensions]
        is_long = _is_at_least(steps, _FEW_STEPS + 1)
        if combiner is not None and combiner.widened is not combiner and is_long:
            return True
    return False


class _Fact(Enum):
    """A fact about a value in a body, if a condition holds."""

    ZERO = auto()
    ZERO_OR_NAN = auto()
    TRUE = auto()


def _facts(block: Block, condition: SSAValue) -> dict[SSAValue, _Fact]:
    """The facts about the values in a body, if a condition that is computed in it holds."""
    facts = {condition: _Fact.TRUE}
    for op in block.ops:
        if len(op.results) != 1 or op.results[0] in facts:
            continue
        found = [facts.get(operand) or _of_constant(operand) for operand in op.operands]
        fact = _of_op(op, found)
        if fact is not None:
            facts[op.results[0]] = fact
    return facts


_SUMS = (arith.AddfOp, arith.SubfOp)


def _of_op(op: Operation, found: Sequence[_Fact | None]) -> _Fact | None:
    zeros = (_Fact.ZERO, _Fact.ZERO_OR_NAN)
    if isinstance(op, arith.SelectOp):
        condition, first, second = found
        return first if condition is _Fact.TRUE or first is second else None
    if isinstance(op, arith.NegfOp | arith.ExtFOp | arith.TruncFOp):
        return found[0]
    if isinstance(op, _SUMS):
        return max(found, key=zeros.index) if all(each in zeros for each in found) else None
    if isinstance(op, arith.MulfOp):
        return (
            _Fact.ZERO
            if all(each is _Fact.ZERO for each in found)
            else _Fact.ZERO_OR_NAN
            if any(each in zeros for each in found)
            else None
        )
    if isinstance(op, arith.CmpfOp) and op.predicate.value.data == _EQUAL:
        return _Fact.TRUE if all(each is _Fact.ZERO for each in found) else None
    if isinstance(op, arith.AndIOp):
        return _Fact.TRUE if all(each is _Fact.TRUE for each in found) else None
    return None


def _of_constant(value: SSAValue) -> _Fact | None:
    owner = value.owner
    is_zero = isinstance(owner, arith.ConstantOp) and isinstance(owner.value, FloatAttr) and not owner.value.value.data
    return _Fact.ZERO if is_zero else None


@dataclass
class GuardedNest:
    """Builds one nest. `subscripts` holds the loops of the condition that are open."""

    nest: Nest
    body: Body
    zeros: ZeroTerms
    vector_bytes: int
    builder: LoopBuilder

    def __post_init__(self) -> None:
        self.subscripts: dict[int, Index] = {d: 0 for d in range(len(self.nest.sizes)) if d not in self.nest.live}

    def emit(self) -> None:
        others = [d for d in self.zeros.dimensions if d != self.zeros.along]
        loops_around(self.builder, self.nest.sizes, others, self.subscripts, self._row)

    def _row(self) -> None:
        """Go along vectors of points, skipping those at which nothing is added; then along the remaining points."""
        builder, along = self.builder, self.zeros.along
        size, lanes = self.nest.sizes[along], self.vector_bytes // self.body.bytes
        main = builder.round_down(size, lanes)

        def body(start: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self.subscripts[along] = start
            builder.either(
                in_all_lanes(builder, self._is_zero(lanes)),
                (),
                lambda: (),
                lambda: self._points(start, builder.add(start, lanes)),
            )
            return ()

        builder.loop(0, main, lanes, (), body)
        self._points(main, size)

    def _points(self, start: Index, end: Index) -> Sequence[SSAValue]:
        def body(index: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self.subscripts[self.zeros.along] = index
            self.builder.either(self._is_zero(None), (), lambda: (), self._inside)
            return ()

        self.builder.loop(start, end, 1, (), body)
        return ()

    def _is_zero(self, lanes: int | None) -> SSAValue:
        """Whether nothing is added at a point, or at all points of a vector."""
        arguments = [self._read(self.nest.inputs[place], lanes) for place in self.zeros.inputs]
        (found,) = evaluate(self.builder, self.zeros.condition, arguments, _no_index, lanes)
        return found

    def _read(self, operand: Operand, lanes: int | None) -> SSAValue:
        if not operand.is_memref:
            return operand.value
        wide = lanes if self.zeros.along in operand.dimensions else None
        return self.builder.load(operand.value, operand.place(self.builder, self.subscripts), wide)

    def _inside(self) -> Sequence[SSAValue]:
        """The loops that the condition does not depend on."""
        sizes = tuple(1 if d in self.zeros.dimensions else size for d, size in enumerate(self.nest.sizes))
        inner = replace(self.nest, sizes=sizes)
        emitter = NestEmitter(inner, schedule_of(inner, self.body, self.vector_bytes), self.body, self.builder)
        emitter.subscripts.update(self.subscripts)
        emitter.emit()
        return ()


def _no_index(d: int) -> SSAValue:
    raise AssertionError(f"a condition counts loop {d}")
