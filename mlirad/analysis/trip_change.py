"""The change of a carried i64 in one trip of a loop, if it depends only on the branches taken.

Reads: scf and nd. Writes: nothing. Gives: bounds that hold if no addition on the way wraps.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from mlirad.analysis.integers import constant_added, constant_interval, integer_of
from mlirad.analysis.loops import Carries, trip_count
from mlirad.dialect.core import types
from mlirad.dialect.core.intervals import HIGHEST, Interval
from mlirad.dialect.ops.check import EffectOp
from mlirad.dialect.ops.overflow import FitsOp

# How many values a counter may pass through in a trip: it bounds the time of a proof.
_EFFORT = 64


@dataclass(frozen=True)
class TripChange:
    """net: the change. reach: all partial sums of the changes on the way, including 0.

    is_checked: whether every addition on the way has a check, so that none wraps, whatever the start is.
    """

    net: Interval
    reach: Interval
    is_checked: bool = True

    def then(self, step: int, is_checked: bool) -> TripChange:
        net = Interval(self.net.low + step, self.net.high + step)
        return TripChange(net, self.reach.hull(net), self.is_checked and is_checked)

    def either(self, other: TripChange) -> TripChange:
        return TripChange(self.net.hull(other.net), self.reach.hull(other.reach), self.is_checked and other.is_checked)

    def repeated(self, trips: Interval, each: TripChange) -> TripChange:
        """This change, followed by `each`, repeated `trips` times."""
        ends = [count * end for count in (trips.low, trips.high) for end in (each.net.low, each.net.high)]
        total = Interval(min(ends), max(ends))
        net = Interval(self.net.low + total.low, self.net.high + total.high)
        met = Interval(min(net.low, self.net.low) + each.reach.low, max(net.high, self.net.high) + each.reach.high)
        return TripChange(net, self.reach.hull(met), self.is_checked and each.is_checked)


_NONE = TripChange(Interval(0, 0), Interval(0, 0))


def trip_change(yielded: SSAValue, carried: SSAValue) -> TripChange | None:
    """The difference between `yielded` and `carried`; None if it is not known."""
    return _Search(carried).of(yielded) if carried.type == types.I64 else None


@dataclass
class _Search:
    carried: SSAValue
    known: dict[SSAValue, TripChange | None] = field(default_factory=dict)

    def of(self, value: SSAValue) -> TripChange | None:
        if value is self.carried:
            return _NONE
        if value not in self.known:
            if len(self.known) >= _EFFORT:
                return None
            self.known[value] = None
            self.known[value] = self._computed(value)
        return self.known[value]

    def _computed(self, value: SSAValue) -> TripChange | None:
        match op := value.owner:
            case scf.IfOp():
                sides = [yielded[op.results.index(value)] for yielded in Carries(op).yielded]
                return self._either(*sides) if len(sides) == 2 else None
            case scf.ForOp():
                return self._loop(op, op.results.index(value))
            case Operation():
                choices = integer_of(op, constant_interval).choices
                return self._either(*(op.operands[place] for place in choices)) if choices else self._sum(op)
        return None

    def _sum(self, op: Operation) -> TripChange | None:
        addition = constant_added(op)
        start = None if addition is None else self.of(addition[0])
        return None if start is None or addition is None else start.then(addition[1], _is_checked(op))

    def _either(self, x: SSAValue, y: SSAValue) -> TripChange | None:
        first, second = self.of(x), self.of(y)
        return None if first is None or second is None else first.either(second)

    def _loop(self, op: scf.ForOp, number: int) -> TripChange | None:
        (args,), (yielded,) = Carries(op).region_args, Carries(op).yielded
        start, each = self.of(op.iter_args[number]), trip_change(yielded[number], args[number])
        if start is None or each is None:
            return None
        trips = trip_count(op)
        return start.repeated(Interval(0, HIGHEST) if trips is None else Interval(trips, trips), each)


def _is_checked(op: Operation) -> bool:
    """Whether a check in the same block ensures that this addition does not wrap."""
    predicates = [use.operation for use in op.operands[0].uses if isinstance(use.operation, FitsOp)]
    checks = [
        use.operation
        for fits in predicates
        if fits.OF is op.__class__ and tuple(fits.operands) == tuple(op.operands)
        for use in fits.result.uses
    ]
    return any(isinstance(check, EffectOp) and check.parent is op.parent for check in checks)
