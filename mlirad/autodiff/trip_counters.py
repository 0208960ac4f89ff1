"""The trip counts of differentiated loops: every while counts its trips, so that they can be undone.

Reads: scf.for and scf.while. Writes: a trip counter in each while that has none. Leaves: the loops.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects import scf
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.analysis.constants import constant_int
from mlirad.analysis.integers import increment
from mlirad.analysis.loops import Carry, Loop, LoopOp, add_yields, counts_from_zero, is_structured, terminator
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, apply, building, constant, located
from mlirad.errors import DifferentiationError


def require_canonical(op: LoopOp) -> None:
    """Raises DifferentiationError unless a for counts 0, 1, ..., and a while's condition forwards its arguments."""
    if isinstance(op, scf.ForOp):
        is_canonical = counts_from_zero(op)
        reason = "a loop is differentiated when it counts from 0 by 1"
    else:
        is_canonical = is_structured(op)
        reason = "a while is differentiated when its condition region forwards its arguments unchanged"
    if not is_canonical:
        raise DifferentiationError(f"{op.name}: {reason}", types.from_location(op.location))


def trip_counter(loop: Loop) -> Carry | None:
    """The carry that counts the trips of a while: 0 before the loop, incremented at each end of its body."""
    counters = (
        each for each in loop.carries if constant_int(each.init) == 0 and increment(each.yielded, each.arg) == 1
    )
    return next(counters, None)


def counter_of(loop: Loop) -> Carry:
    """The trip counter of a differentiated while."""
    counter = trip_counter(loop)
    assert counter is not None, "every while that is differentiated counts its trips"
    return counter


def count_trips(op: scf.WhileOp) -> None:
    """Give a while a trip counter unless it has one."""
    loop = Loop(op)
    if trip_counter(loop) is not None:
        return
    with located(op.location):
        with building(InsertPoint.before(op)):
            zero = constant(0, types.I64)
        (count,), _ = loop.add([zero.value])
        with building(InsertPoint.before(terminator(loop.body))):
            add_yields(loop.body, [(Expr(count) + 1).value])


def trips_of(loop: Loop) -> Expr:
    """How many trips a loop makes, computed where its bounds (for a while: its results) are visible."""
    if not isinstance(loop.op, scf.ForOp):
        return Expr(counter_of(loop).result)
    return not_negative(loop.op.ub)


def not_negative(bound: SSAValue) -> Expr:
    """The trip count of a loop that counts from 0 to `bound`."""
    known = constant_int(bound)
    return apply(np.maximum, Expr(bound), 0) if known is None or known < 0 else Expr(bound)
