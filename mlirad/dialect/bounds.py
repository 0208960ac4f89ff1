"""Upper bounds of sizes that are known only at run time, by which memory is planned.

Reads: scf and nd. Writes: nothing. Gives: intervals of i64 values, and upper bounds of sizes, which hold if no earlier
check has failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, BlockArgument, OpResult, SSAValue

from mlirad.dialect.core import types
from mlirad.dialect.core.attributes import ints
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.ops.check import CheckIndexOp
from mlirad.dialect.ops.choice import MaximumOp, MinimumOp, SelectOp
from mlirad.dialect.ops.compare import CastOp
from mlirad.dialect.ops.constant import ConstantOp
from mlirad.dialect.ops.elementwise import AddOp, MulOp, NegOp, SubOp
from mlirad.dialect.ops.indexing import ExtractSliceOp, WrapIndexOp
from mlirad.dialect.ops.movement import DimOp
from mlirad.dialect.ops.overflow import HIGHEST, LOWEST
from mlirad.dialect.ops.places import FlatNonzeroOp
from mlirad.dialect.ops.reduction import SumOp

Interval = tuple[int, int]
Axis = tuple[SSAValue, int]

_ANYTHING: Interval = (LOWEST, HIGHEST)
_EFFORT = 200
"""How many values one question may look at."""


def size_bounds(array: SSAValue) -> list[int | None]:
    """An upper bound for the size of every axis; None where there is none."""
    return [_Search().bound(array, axis) for axis in range(len(types.shape(array.type)))]


def element_bound(array: SSAValue) -> int | None:
    """How many elements an array can have."""
    return _Search().elements(array)


@dataclass
class _Search:
    """One question. `assumed`: carried arrays whose bound is being looked for; they do not raise it themselves."""

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
        match array.owner:
            case ExtractSliceOp() as op:
                return self._slice(op, axis)
            case FlatNonzeroOp(mask=mask):
                return self.elements(mask)
            case NdOp() as op:
                source = op.size_source(axis)
                if source is None:
                    return None
                return self._number(source) if isinstance(source, SSAValue) else self.bound(*source)
        sources = list(_sources(array))
        self.assumed.add((array, axis))
        found = [bound for source in sources if (bound := self.bound(source, axis)) is not None]
        self.assumed.discard((array, axis))
        return max(found) if sources and len(found) == len(sources) else None

    def _slice(self, op: ExtractSliceOp, axis: int) -> int | None:
        """A slice is in range: it is no longer than its array."""
        whole, stride = self.bound(op.t, axis), abs(ints(op.strides)[axis])
        length = self._number(op.lengths[ints(op.sizes)[:axis].count(-1)])
        known = [bound for bound in (length, None if whole is None else -(-whole // stride)) if bound is not None]
        return min(known, default=None)

    def elements(self, array: SSAValue) -> int | None:
        bounds = [self.bound(array, axis) for axis in range(len(types.shape(array.type)))]
        known = [bound for bound in bounds if bound is not None]
        return prod(known) if len(known) == len(bounds) else None

    def _number(self, size: SSAValue) -> int | None:
        high = self.interval(size)[1]
        return None if high >= HIGHEST else max(high, 0)

    # --- numbers ------------------------------------------------------------------------------------------------

    def interval(self, value: SSAValue) -> Interval:
        if value not in self.known:
            self.left -= 1
            if self.left < 0:
                return _ANYTHING
            self.known[value] = _ANYTHING
            low, high = self._interval(value)
            # What an i64 cannot hold has wrapped.
            self.known[value] = (low, high) if low >= LOWEST and high <= HIGHEST else _ANYTHING
        return self.known[value]

    def _interval(self, value: SSAValue) -> Interval:
        if isinstance(value, BlockArgument):
            return self._counter(value)
        match value.owner:
            case ConstantOp(value=IntegerAttr() as number):
                return number.value.data, number.value.data
            case AddOp(x=x, y=y):
                (a, b), (c, d) = self.interval(x), self.interval(y)
                return a + c, b + d
            case SubOp(x=x, y=y):
                (a, b), (c, d) = self.interval(x), self.interval(y)
                return a - d, b - c
            case NegOp(x=x):
                low, high = self.interval(x)
                return -high, -low
            case MulOp(x=x, y=y):
                (a, b), (c, d) = self.interval(x), self.interval(y)
                corners = (a * c, a * d, b * c, b * d)
                return min(corners), max(corners)
            case MinimumOp(x=x, y=y):
                (a, b), (c, d) = self.interval(x), self.interval(y)
                return min(a, c), min(b, d)
            case MaximumOp(x=x, y=y):
                (a, b), (c, d) = self.interval(x), self.interval(y)
                return max(a, c), max(b, d)
            case SelectOp(x=x, y=y):
                (a, b), (c, d) = self.interval(x), self.interval(y)
                return min(a, c), max(b, d)
            case CheckIndexOp(size=size):
                return 0, max(self.interval(size)[1] - 1, 0)
            case WrapIndexOp(index=index, size=size):
                return _wrapped(self.interval(index), self.interval(size))
            case SumOp(x=OpResult(op=CastOp(x=x))) if types.is_bool(types.element_type(x.type)):
                bound = None if self.assumed else self.elements(x)
                return 0, HIGHEST if bound is None else bound
            case DimOp(x=x, axis=axis):
                # An assumption about the array says nothing about what is computed from its size.
                bound = None if self.assumed else self.bound(x, axis.value.data)
                return 0, HIGHEST if bound is None else bound
        return _ANYTHING

    def _counter(self, value: BlockArgument) -> Interval:
        loop = value.block.parent_op()
        if not isinstance(loop, scf.ForOp) or value.index != 0:
            return _ANYTHING
        low, high = self.interval(loop.lb)[0], self.interval(loop.ub)[1]
        return low, max(high - 1, low)


def _wrapped(index: Interval, size: Interval) -> Interval:
    """What is negative is counted from the end; nothing is cut off."""
    from_start = [(max(index[0], 0), index[1])] if index[1] >= 0 else []
    from_end = [(index[0] + size[0], min(index[1], -1) + size[1])] if index[0] < 0 else []
    lows, highs = zip(*from_start, *from_end, strict=True)
    return min(lows), max(highs)


def _sources(array: SSAValue) -> Iterator[SSAValue]:
    """The arrays that a loop's carry, or the result of an `if`, can be."""
    if isinstance(array, OpResult):
        op, index = array.op, array.index
        if isinstance(op, scf.IfOp):
            for region in op.regions:
                yield _end(region.block)[index]
        elif isinstance(op, scf.ForOp | scf.WhileOp):
            yield from _carried(op, index)
        return
    assert isinstance(array, BlockArgument)
    loop = array.block.parent_op()
    if isinstance(loop, scf.ForOp):
        yield from _carried(loop, array.index - 1)
    elif isinstance(loop, scf.WhileOp):
        yield from _carried(loop, array.index)


def _carried(loop: scf.ForOp | scf.WhileOp, index: int) -> Iterator[SSAValue]:
    inits = loop.iter_args if isinstance(loop, scf.ForOp) else loop.operands
    yield inits[index]
    yield _end(loop.regions[-1].block)[index]


def _end(block: Block) -> tuple[SSAValue, ...]:
    end = block.last_op
    assert end is not None
    return tuple(end.operands)
