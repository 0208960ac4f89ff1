"""Bounds of integers, and of sizes known only at run time; memory is planned with them.

Reads: scf, nd and arith; at stage `linalg`, the bounds noted on memory; at stage `loops`, the sizes of memory. Writes:
`mlirad.bound` on memory of unknown size. Leaves: intervals of 64-bit values, and upper bounds of sizes, which hold if
no earlier check has failed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import memref, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from mlirad.analysis.constants import constant_int
from mlirad.analysis.integers import constant_interval, has_64_bits, integer_of
from mlirad.analysis.loops import Carries, LoopOp, StructuredOp, carry_number
from mlirad.analysis.memory import is_view, overwritten_by
from mlirad.dialect.core import types
from mlirad.dialect.core.intervals import LARGEST_SIZE, Interval, LinearForm, Sum, Values
from mlirad.dialect.core.op import NdOp

Axis = tuple[SSAValue, int]

BOUND = "mlirad.bound"
"""On a `tensor.empty` of unknown size, and later on its alloc: an upper bound for its number of elements."""

_LARGEST = 1 << 26
"""In bytes. Larger memory is not reserved: it comes from the call's growable segments, in its actual size."""

_EFFORT = 200
"""How many values one query may visit."""


def size_bounds(array: SSAValue) -> list[int | None]:
    """An upper bound for the size of every axis; None if there is none."""
    return [_Search().bound(array, axis) for axis in range(len(types.shape(array.type)))]


def element_bound(array: SSAValue) -> int | None:
    """An upper bound for the number of elements of an array."""
    return _Search().elements(array)


def interval_of(value: SSAValue) -> Interval:
    """The interval that contains a number."""
    return _Search().interval(value)


def most_trips(loop: scf.ForOp) -> int | None:
    """An upper bound for the trip count of a loop, even if it runs to an outer counter; None if unknown."""
    search = _Search()
    step = search.interval(loop.step).number
    return None if step is None or step < 1 else max(0, -(-search.most_ahead(loop.ub, loop.lb) // step))


def note_bound(memory: tensor.EmptyOp, bound: int | None) -> None:
    """Note an upper bound for the number of elements; not if it is unknown, or too large to be reserved."""
    if bound is not None and bound * types.itemsize(memory.tensor.type) <= _LARGEST:
        memory.attributes[BOUND] = IntegerAttr(bound, types.I64)


def noted_bound(memory: Operation) -> int | None:
    bound = memory.attributes.get(BOUND)
    return bound.value.data if isinstance(bound, IntegerAttr) else None


@dataclass
class _Search:
    """One query. `assumed`: carried arrays whose bound is being computed; they do not raise it themselves."""

    left: int = _EFFORT
    known: dict[SSAValue, Interval] = field(default_factory=dict)
    assumed: set[Axis] = field(default_factory=set)

    # --- sizes --------------------------------------------------------------------------------------------------

    def bound(self, array: SSAValue, axis: int) -> int | None:
        size = types.shape(array.type)[axis]
        if size >= 0:
            return size
        if (array, axis) in self.assumed:
            return 0
        self.left -= 1
        if self.left < 0:
            return None
        if isinstance(array, OpResult) and isinstance(array.op, NdOp):
            return self._of_op(array.op, axis, array.index)
        sources = _sources(array)
        self.assumed.add((array, axis))
        found = [bound for source in sources if (bound := self.bound(source, axis)) is not None]
        self.assumed.discard((array, axis))
        return max(found) if sources and len(found) == len(sources) else None

    def _of_op(self, op: NdOp, axis: int, result: int) -> int | None:
        source, whole = op.size_source(axis, result), op.part_of(axis)
        if isinstance(source, SSAValue):
            high = self.interval(source).high
            bounds = [None if high >= LARGEST_SIZE else max(high, 0)]
        else:
            bounds = [None if source is None else self.bound(*source)]
        if whole is not None:
            array, place, stride = whole
            size = self.elements(array) if place is None else self.bound(array, place)
            bounds.append(None if size is None else -(-size // stride))
        return min((bound for bound in bounds if bound is not None), default=None)

    def _of_memory(self, op: memref.DimOp) -> Interval:
        """The size of memory or of a view along an axis. The op that makes it takes the unknown sizes, in order."""
        made, axis, type = op.source.owner, constant_int(op.index), op.source.type
        if axis is None or not isinstance(made, memref.SubviewOp | memref.AllocOp) or not isinstance(type, MemRefType):
            return Interval()
        shape = type.get_shape()
        if shape[axis] != DYNAMIC_INDEX:
            return Interval(shape[axis], shape[axis])
        sizes = made.sizes if isinstance(made, memref.SubviewOp) else made.dynamic_sizes
        return Interval(0, max(self._most(self._exact(sizes[shape[:axis].count(DYNAMIC_INDEX)])), 0))

    def elements(self, array: SSAValue) -> int | None:
        bounds = [self.bound(array, axis) for axis in range(len(types.shape(array.type)))]
        known = [bound for bound in bounds if bound is not None]
        if len(known) == len(bounds):
            return prod(known)
        if isinstance(array.owner, tensor.EmptyOp):
            return noted_bound(array.owner)
        memory = _memory_before(array)
        return None if memory is None else self.elements(memory)

    # --- numbers ------------------------------------------------------------------------------------------------

    def interval(self, value: SSAValue) -> Interval:
        if not has_64_bits(value.type):
            return constant_interval(value)
        if value not in self.known:
            self.left -= 1
            if self.left < 0:
                return constant_interval(value)
            self.known[value] = Interval()
            self.known[value] = self._interval(value).wrapped
        return self.known[value]

    def _interval(self, value: SSAValue) -> Interval:
        if isinstance(value, BlockArgument):
            return self._counter(value)
        assert isinstance(value, OpResult)
        if isinstance(value.op, memref.DimOp):
            return self._of_memory(value.op)
        operands, answer = value.op.operands, integer_of(value.op, self.interval)
        if answer.sum is not None:
            return answer.sum.interval(lambda place: self.interval(operands[place]))
        bound = None
        if not self.assumed:  # an assumption about an array does not bound numbers computed from its size
            if answer.size is not None:
                bound = self.bound(operands[answer.size[0]], answer.size[1])
            elif answer.counted is not None:
                bound = self.elements(answer.counted)
        return answer.interval if bound is None else Interval(0, bound)

    def most_ahead(self, upper: SSAValue, lower: SSAValue) -> int:
        """An upper bound of upper - lower: 16 for min(i + 16, n) - i, whatever i is."""
        apart = self.interval(upper).high - self.interval(lower).low
        return min(apart, self._most(self._exact(upper) - self._exact(lower)))

    def _exact(self, value: SSAValue) -> Values:
        """A value as a linear form of others. Sums that may exceed 64 bits are not taken apart."""
        self.left -= 1
        if self.left < 0 or not isinstance(value, OpResult) or not has_64_bits(value.type):
            return LinearForm.of(value)
        operands, sum_ = value.op.operands, integer_of(value.op, self.interval).sum
        if sum_ is None or not sum_.interval(lambda place: self.interval(operands[place])).fits:
            return LinearForm.of(value)
        return self._of_operands(value.op, sum_)

    def _of_operands(self, op: Operation, sum_: Sum) -> Values:
        return sum_.put(lambda place: self._exact(op.operands[place]))

    def _most(self, total: Values) -> int:
        """An upper bound of a form, also with each of its values replaced by a bound of it."""
        most = total.interval(self.interval).high
        for value, factor in total.terms.items():
            self.left -= 1
            if self.left < 0:
                break
            if isinstance(value, OpResult) and has_64_bits(value.type):
                answer = integer_of(value.op, self.interval)
                for bound in answer.above if factor > 0 else answer.below:
                    instead = self._of_operands(value.op, bound) - LinearForm.of(value)
                    most = min(most, self._most(total.plus(instead, factor)))
        return most

    def _counter(self, value: BlockArgument) -> Interval:
        loop = value.block.parent_op()
        if not isinstance(loop, scf.ForOp) or value.index != 0:
            return Interval()
        low, high = self.interval(loop.lb).low, self.interval(loop.ub).high
        return Interval(low, max(high - 1, low))


def _memory_before(array: SSAValue) -> SSAValue | None:
    """For an array of stage `linalg`: the array, at least as large, that contains its memory."""
    if isinstance(array.owner, Block | NdOp):
        return None
    return array.owner.operands[0] if is_view(array) else overwritten_by(array)


def _sources(array: SSAValue) -> list[SSAValue]:
    """The arrays that a loop's carry, or the result of an `if`, may be."""
    if isinstance(array, OpResult):
        op, number = array.op, array.index
    else:
        assert isinstance(array, BlockArgument)
        op, number = array.block.parent_op(), carry_number(array)
    if not isinstance(op, StructuredOp) or not op.regions[-1].blocks:
        return []
    carries = Carries(op)
    before = [carries.inits[number]] if isinstance(op, LoopOp) else []
    return [*before, *(yielded[number] for yielded in carries.yielded)]
