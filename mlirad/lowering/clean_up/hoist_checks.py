"""Runs the trips of a loop that pass its checks of indices without these checks.

Reads: an `scf.for` whose checks are all made in every trip, of indices that move by the same step in each trip.
Writes: before it, a loop without checks, of the trips before the first one that fails; after that, the checks of the
trip that fails. Leaves: loops with other checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from mlirad.analysis.constants import constant_int
from mlirad.analysis.loops import is_outside
from mlirad.analysis.trip_forms import Form, Opaque, Term, Trip, is_at_least, linear, of_term
from mlirad.dialect.core import types
from mlirad.dialect.core.control import branch
from mlirad.dialect.core.expr import Expr, apply, building, constant, insert, located, where
from mlirad.dialect.core.op import NdOp, written_subset
from mlirad.dialect.ops.check import EffectOp
from mlirad.lowering.rewriting import erase, in_place_of, replace
from mlirad.xdsl_support.effects import has_no_effect
from mlirad.xdsl_support.traversal import ops_inside, ops_of

LONGEST_STEP = 1 << 31
"""Larger steps of indices might overflow."""


@dataclass(frozen=True)
class _MovingCheck:
    """A check of the index `start + step * trip`, which is equal to `moving`."""

    op: EffectOp
    index: SSAValue
    size_value: SSAValue
    moving: Form
    start: Form
    step: int

    @property
    def length(self) -> SSAValue | int:
        known = constant_int(self.size_value)
        return self.size_value if known is None else known

    @property
    def size(self) -> Expr:
        length = self.length
        return constant(length, types.I64) if isinstance(length, int) else Expr(length)

    def passed(self, trips: Expr) -> Expr:
        """How many trips pass before the first one that fails; any number above `trips` if none does."""
        start, size = value_of(self.start), self.size
        if not self.step:
            return where((start >= -size) & (start < size), trips, 0)
        # Neither difference overflows if the first trip passes.
        distance = size - 1 - start if self.step > 0 else start + size
        passed = distance + 1 if abs(self.step) == 1 else apply(np.floor_divide, distance, abs(self.step)) + 1
        passed = where(start >= -size if self.step > 0 else start < size, passed, 0)
        # No more can pass, whatever the start is. As a constant this tells which places of an array no trip reaches.
        if isinstance(self.length, int):
            indices = self.length if is_at_least(self.moving, 0, {}) else 2 * self.length
            passed = apply(np.minimum, passed, -(-indices // abs(self.step)))
        return passed

    def wrapped(self, index: Expr) -> Expr:
        """The index of a trip that passes, made non-negative."""
        if is_at_least(self.moving, 0, {}):
            return index
        if is_at_least(self.moving.scaled(-1), 1, {}):
            return index + self.size
        return where(index < 0, index + self.size, index)


def value_of(form: Form) -> Expr:
    """The number that a form equals, which may contain counters of loops around this place."""
    total = constant(form.constant, types.I64)
    for term, factor in form.terms.items():
        if isinstance(term, Opaque):
            total = total + Expr(term.value) * factor
        else:
            assert isinstance(term.loop, scf.ForOp)
            total = total + Expr(term.loop.body.block.args[0]) * factor
    return total


def stays(term: Term, loop: scf.ForOp) -> bool:
    """Whether a term is known before the loop."""
    if isinstance(term, Trip):
        return isinstance(term.loop, scf.ForOp) and term.loop is not loop and term.loop.is_ancestor(loop)
    return term.axis is None and is_outside(term.value, loop)


@dataclass(frozen=True)
class HoistedChecks:
    """unchecked: the trips that pass, as a loop before `loop`. made: the ops between the two."""

    loop: scf.ForOp
    unchecked: scf.ForOp
    checks: Sequence[_MovingCheck]
    made: Sequence[Operation]

    @classmethod
    def of(cls, loop: scf.ForOp) -> HoistedChecks | None:
        """None if the loop has no checks, or other ones."""
        found = [_moving(op, loop) for op in ops_inside(loop) if isinstance(op, NdOp) and not has_no_effect(op)]
        checks = [check for check in found if check is not None]
        if not checks or len(checks) < len(found) or _writes_before_failing(loop, checks):
            return None
        before, copies = Block(), dict[SSAValue, SSAValue]()
        with building(before), located(loop.location):
            wanted = apply(np.maximum, Expr(loop.ub), 0)
            trips = wanted
            for check in {(check.moving, check.length): check for check in checks}.values():
                trips = apply(np.minimum, trips, check.passed(wanted))
            trips = apply(np.maximum, trips, 0)
            unchecked = insert(loop.clone(copies))
        unchecked.operands = [unchecked.lb, trips.value, *tuple(unchecked.operands)[2:]]
        for check in checks:
            copy = copies[check.op.results[0]].owner
            assert isinstance(copy, Operation)
            with in_place_of(copy):
                replace(copy, [check.wrapped(Expr(copies.get(check.index, check.index))).value])
        made = ops_of(before)
        assert loop.parent is not None
        for op in made:
            op.detach()
            loop.parent.insert_op_before(op, loop)
        return cls(loop, unchecked, checks, made)

    def accept(self) -> None:
        """Replace the loop by the one without checks, and by the checks of the first trip that fails, if one does."""
        wanted, trips = Expr(self.loop.ub), Expr(self.unchecked.ub)

        def fail() -> tuple[Expr, ...]:
            for check in self.checks:
                with located(check.op.location):
                    index = value_of(check.start) + trips * check.step
                    insert(check.op.clone({check.index: index.value, check.size_value: check.size.value}))
            return ()

        with in_place_of(self.loop):
            branch(trips < wanted, fail, lambda: ())
        replace(self.loop, self.unchecked.results)

    def reject(self) -> None:
        """Remove what was made."""
        for op in reversed(self.made):
            erase(op)


def _writes_before_failing(loop: scf.ForOp, checks: Sequence[_MovingCheck]) -> bool:
    """Whether a trip may write to an array before one of its checks fails: the caller may see what it wrote."""
    at: dict[Operation, _MovingCheck] = {check.op: check for check in checks}
    passed, has_written = set[tuple[Form, SSAValue | int]](), False
    for op in ops_of(loop.body.block):
        if (check := at.get(op)) is not None:
            if has_written and (check.moving, check.length) not in passed:
                return True
            passed.add((check.moving, check.length))
        has_written |= written_subset(op) is not None
    return False


def _moving(op: Operation, loop: scf.ForOp) -> _MovingCheck | None:
    """The check, if it is made in every trip of the loop, and its index moves by the same step."""
    checked = op.checked_index if isinstance(op, EffectOp) else None
    if checked is None or op.parent is not loop.body.block:
        return None
    index, size = checked
    moving, own = linear(index), Trip(loop)
    start, step = moving.plus(of_term(own), -moving.terms.get(own, 0)), moving.terms.get(own, 0)
    is_known = constant_int(size) is not None or is_outside(size, loop)
    assert isinstance(op, EffectOp)
    if not is_known or not all(stays(term, loop) for term in start.terms) or abs(step) >= LONGEST_STEP:
        return None
    return _MovingCheck(op, index, size, moving, start, step)
