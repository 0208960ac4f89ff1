"""How a forward value can be recovered without storing it, and the costs of recovering and storing it.

Reads: the forward sweep. Writes: nothing. Gives: for each value the best recovery plan other than storing. A value is
counted from the reverse counter, recomputed from others, read from a final array, or re-read from an array whose writes
are undone. Storing costs bytes times trips; recomputing costs the op's cost times trips.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from math import inf, prod

from xdsl.dialects import func, scf
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import SymbolTable

from mlirad.analysis import cost
from mlirad.analysis.call_graph import written_by
from mlirad.analysis.constants import constant_int, contents_of
from mlirad.analysis.loops import Carry, Loop
from mlirad.analysis.trip_forms import induction
from mlirad.autodiff.final import FinalArrays
from mlirad.autodiff.tape.decision.forward_values import ForwardValue, defining_block, elements_of
from mlirad.autodiff.tape.decision.live_versions import Reading
from mlirad.autodiff.tape.decision.plans import Count, FromLaterTrip, ReadFinal, Recompute, Reread, Unstored
from mlirad.autodiff.updates import places_of
from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Generic
from mlirad.dialect.core.effect_table import Rule, Verb, rule
from mlirad.dialect.core.op import NdOp, read_subset, written_subset

UNKNOWN_TRIPS = 100
UNKNOWN_SIZE = 1000
_LONG_ARRAY = 64
"""Arrays of at least this many elements are computed and stored as vectors, and wait for memory; numbers do not."""
ROUNDED_EXACTLY = 5
"""Ops of at most this cost (+ - * / sqrt) give the same bits on every code path."""


@dataclass(frozen=True)
class Recovery:
    """The recovery plans of one function, whose own block is `entry`. readings: the values that can be re-read.

    The fields with names that begin with `_` are caches.
    """

    entry: Block
    final: FinalArrays
    readings: Mapping[SSAValue, Reading]
    _plans: dict[SSAValue, Unstored | None] = field(default_factory=dict)
    _exact: dict[SSAValue, bool] = field(default_factory=dict)
    _trips: dict[Block, float] = field(default_factory=dict)

    def is_visible(self, value: ForwardValue) -> bool:
        """Whether the reverse sweep can use the value itself."""
        return defining_block(value) is self.entry

    def plan(self, value: SSAValue) -> Unstored | None:
        """How `value` is recovered if it is not stored; None if it must be stored."""
        if value not in self._plans:
            self._plans[value] = self._plan(value)
        return self._plans[value]

    def without(self, values: Collection[SSAValue]) -> Recovery:
        """The plans if these values must not be re-read."""
        readings = {value: reading for value, reading in self.readings.items() if value not in values}
        return replace(self, readings=readings, _plans={})

    def carrying(self, carried: Mapping[SSAValue, Carry]) -> Recovery:
        """The plans if these values are recovered from the arguments of the carries in the next trip."""
        return replace(self, _plans={**self._plans, **{value: FromLaterTrip(each) for value, each in carried.items()}})

    def _plan(self, value: SSAValue) -> Unstored | None:
        plan = self._argument(value) if isinstance(value, BlockArgument) else self._result(value)
        reading, reads = self.readings.get(value), read_subset(value.owner) is not None
        if plan is not None and (self.is_visible(plan.operands[0]) if reads else plan.cost <= 1):
            return plan
        home = None if reads else self.final.home(value)
        if home is not None and (self.is_visible(home[1]) or (plan is None and reading is None)):
            written, final = home
            return ReadFinal(written, (final, *written.places))
        if reading is None or (reading.access is None and plan is not None):
            return plan
        if reading.access is None:
            return Reread(reading.version, None, (), float(_elements(value)))
        assert isinstance(reading.read, NdOp)
        return Reread(reading.version, reading.read, tuple(places_of(reading.read)), float(_elements(value)))

    def trips(self, block: Block) -> float:
        """How often a block runs; a guess if that is unknown."""
        if block not in self._trips:
            op, times = block.parent_op(), 1.0
            if block is not self.entry and op is not None:
                outer = op.parent
                assert outer is not None
                times = self.trips(outer)
                if isinstance(op, scf.ForOp):
                    known = constant_int(op.ub)
                    times *= UNKNOWN_TRIPS if known is None else max(known, 0)
                elif isinstance(op, scf.WhileOp):
                    times *= UNKNOWN_TRIPS
            self._trips[block] = times
        return self._trips[block]

    def is_free(self, value: ForwardValue) -> bool:
        return isinstance(value, SSAValue) and self.is_visible(value) and not _is_overwritten(value)

    def price(self, value: ForwardValue) -> float:
        """The cost of storing a value. For a visible array that is overwritten later: the cost of copying it."""
        elements: float | None = elements_of(value)
        if elements is None:
            if not self.is_visible(value):
                return inf  # its tape entry would have no fixed size
            elements = _elements(value)
        size, count = types.itemsize(value.type), elements * self.trips(defining_block(value))
        is_far = elements >= _LONG_ARRAY and size * count > cost.CACHE
        return count * (cost.STORED + size * (cost.STORED_BYTE_FAR if is_far else cost.STORED_BYTE))

    def is_counted(self, value: SSAValue) -> bool:
        """Whether an integer is arithmetic on visible values and counters."""
        if self.is_visible(value):
            return True
        plan = self.plan(value)
        return plan is not None and plan.cost == 0 and all(self.is_counted(operand) for operand in plan.operands)

    # --- the plans ----------------------------------------------------------------------------------------------

    def _argument(self, value: BlockArgument) -> Count | None:
        op = value.block.parent_op()
        if not isinstance(op, scf.ForOp | scf.WhileOp):
            return None
        loop = Loop(op)
        if value.block is not loop.body:
            return None
        if isinstance(op, scf.ForOp) and value.index == 0:
            return Count((), 1)
        return _induction(value)

    def _result(self, value: SSAValue) -> Recompute | None:
        op = value.owner
        assert isinstance(op, Operation)
        if op.regions or not self._may_recompute(op, value):
            return None
        operands = list(op.operands)
        if (moved := self.final.array(op)) is not None:
            place, array = moved
            operands[place] = array
        return Recompute(op, tuple(operands), _cost(op))

    def _may_recompute(self, op: Operation, value: SSAValue) -> bool:
        if isinstance(op, NdOp) and op.memory.overwrites is not None and not self._is_made_here(op):
            return False
        allowed = rule(op, Verb.RECOMPUTE)
        is_answered = isinstance(op, NdOp) and type(op).recomputed is not NdOp.recomputed
        if allowed is not Rule.ALLOWED and not (allowed is Rule.WITHOUT_EFFECT and is_answered):
            return False
        # A value that decides something (a predicate, an index) is recomputed only if its bits are sure to be the same.
        decides = not types.is_inexact(value.type) and any(types.is_inexact(v.type) for v in op.operands)
        return not decides or all(self._is_exact(operand) for operand in op.operands)

    def _is_made_here(self, op: NdOp) -> bool:
        """Whether an op writes into an array created in its block: one of equal elements, or a copy of a visible
        one."""
        made, array = op, op.results[0]
        while isinstance(made, NdOp) and made.parent is op.parent and made.memory.overwrites is not None:
            array = made.operands[made.memory.overwrites]
            made = array.owner
        return op.parent is not self.entry and (self.is_visible(array) or contents_of(array) is not None)

    def _is_exact(self, value: SSAValue) -> bool:
        """Whether recomputing a value, whichever values are stored, gives the same bits as the forward sweep."""
        if not self._exact:
            for op in self.entry.walk():  # definitions come before uses
                exact = self._rounds_exactly(op)
                self._exact.update((result, exact) for result in op.results)
        return self._exact.get(value, True)

    def _rounds_exactly(self, op: Operation) -> bool:
        if op.parent is self.entry or op.regions or not any(types.is_inexact(result.type) for result in op.results):
            return True  # visible, or stored, or a decision, which is stored unless it is exact
        return _cost(op) <= ROUNDED_EXACTLY and all(self._exact.get(operand, True) for operand in op.operands)


def _induction(value: BlockArgument) -> Count | None:
    """A carry that is incremented by a constant in each trip."""
    found = induction(value)
    if found is None:
        return None
    init, by = found
    return Count(() if constant_int(init) == 0 else (init,), by)


def _cost(op: Operation) -> float:
    """The cost of running the op once. Arithmetic on indices and conditions is free."""
    values = [*op.operands, *op.results]
    if not any(types.is_inexact(value.type) or types.is_tensor(value.type) for value in values):
        return 0.0
    if not isinstance(op, NdOp):
        return 1.0
    if not op.operands:
        return 0.0
    subset = written_subset(op)
    if subset is not None:
        is_copied = subset.array.uses.get_length() > 1
        return cost.of_op(op) * _elements(subset.part) + (_elements(subset.array) if is_copied else 0)
    # A reduction reads all of its operands; an element read reads one element.
    touched = values if isinstance(op.loops(), Generic | tuple) else op.results
    return cost.of_op(op) * max(_elements(value) for value in touched)


def _elements(value: ForwardValue) -> int:
    """The number of elements of a value: an upper bound, or a guess."""
    bound = elements_of(value)
    return prod(UNKNOWN_SIZE if size < 0 else size for size in types.shape(value.type)) if bound is None else bound


def _is_overwritten(value: SSAValue) -> bool:
    """Whether an update, a loop or a call takes over a visible array's buffer, so that reading it later costs a
    copy."""
    if not types.is_tensor(value.type):
        return False
    if isinstance(value, BlockArgument):
        # The caller's arrays are overwritten only if a called function returns them changed.
        function = value.block.parent_op()
        return isinstance(function, func.FuncOp) and value.index in written_by(function)
    for use in value.uses:
        op = use.operation
        if isinstance(op, NdOp) and op.memory.overwrites == use.index:
            return True
        if isinstance(op, scf.ForOp | scf.WhileOp) and value in Loop(op).inits:
            return True
        if isinstance(op, func.CallOp) and isinstance(callee := SymbolTable.lookup_symbol(op, op.callee), func.FuncOp):
            if use.index in written_by(callee):
                return True
    return False
