"""How a forward value can be had again in the reverse sweep, and what that costs.

A value is visible there, or rebuilt from the reverse counter, or recomputed from others, or stored. The cheapest choice
for all of them together is one minimum cut: bytes times trips against the cost of recomputation times trips.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import inf, prod

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from mlirad.autodiff.carries import Loop, block_of, constant_value
from mlirad.autodiff.cut import Network
from mlirad.autodiff.final import FinalArrays
from mlirad.autodiff.linear import induction
from mlirad.dialect import types
from mlirad.dialect.bounds import element_bound
from mlirad.dialect.expr import Expr, emit, insert
from mlirad.dialect.indexing import ExtractOp
from mlirad.dialect.op import Generic, NdOp
from mlirad.errors import DifferentiationError

Build = Callable[[Sequence[SSAValue], SSAValue | None], SSAValue]

COST_OF_SLOT, COST_OF_BYTE = 2.0, 0.25
"""Storing eight bytes costs as much as four additions: they are written, and read again later."""
UNKNOWN_TRIPS = 100
UNKNOWN_SIZE = 1000
ROUNDED_EXACTLY = 5
"""Ops that cost no more than this (+ - * / sqrt) give the same bits on every code path."""


@dataclass(frozen=True)
class Way:
    """A way to have a value again: `build(operands, counter)`, at a cost, from operands that are to be had first.

    counter: that of the reverse block, if the value belongs to a loop's body.
    """

    operands: tuple[SSAValue, ...]
    cost: float
    build: Build


@dataclass
class Recovery:
    """The ways to recover the values of one function, whose own block is `entry`."""

    entry: Block
    final: FinalArrays = field(init=False)
    _ways: dict[SSAValue, Way | None] = field(default_factory=dict)
    _exact: dict[SSAValue, bool] = field(default_factory=dict)
    _trips: dict[Block, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.final = FinalArrays(self.entry)

    def is_visible(self, value: SSAValue) -> bool:
        return block_of(value) is self.entry

    def way(self, value: SSAValue) -> Way | None:
        """How `value` is recomputed; None if it can only be stored."""
        if value not in self._ways:
            way = self._argument(value) if isinstance(value, BlockArgument) else self._result(value)
            home = None if way is not None and way.cost <= 1 else self.final.home(value)
            if home is not None and (way is None or self.is_visible(home[0])):
                way = Way(home, 1.0, lambda given, _: emit(ExtractOp, *given).value)
            self._ways[value] = way
        return self._ways[value]

    def stored(self, needed: Iterable[SSAValue]) -> set[SSAValue]:
        """Which values to store so that the needed ones can be had, at the least cost."""
        network = Network("source", "sink")
        pending = [value for value in dict.fromkeys(needed) if not self._is_free(value)]
        for value in pending:
            network.edge((value, "out"), "sink", inf)
        seen = set(pending)
        while pending:
            value = pending.pop()
            way = None if self.is_visible(value) else self.way(value)
            network.edge("source", (value, "in"), inf if way is None else way.cost * self.trips(block_of(value)))
            network.edge((value, "in"), (value, "out"), self._price(value))
            for operand in () if way is None else way.operands:
                if self._is_free(operand):
                    continue
                network.edge((operand, "out"), (value, "in"), inf)
                if operand not in seen:
                    seen.add(operand)
                    pending.append(operand)
        side = network.cut()
        if side is None:
            raise _not_recoverable(seen)
        return {value for value in seen if (value, "in") in side and (value, "out") not in side}

    def trips(self, block: Block) -> float:
        """How often a block runs, as far as is known."""
        if block not in self._trips:
            op, times = block.parent_op(), 1.0
            if block is not self.entry and op is not None:
                outer = op.parent
                assert outer is not None
                times = self.trips(outer)
                if isinstance(op, scf.ForOp):
                    known = constant_value(op.ub)
                    times *= UNKNOWN_TRIPS if known is None else max(known, 0)
                elif isinstance(op, scf.WhileOp):
                    times *= UNKNOWN_TRIPS
            self._trips[block] = times
        return self._trips[block]

    def _is_free(self, value: SSAValue) -> bool:
        return self.is_visible(value) and not _is_overwritten(value)

    def _price(self, value: SSAValue) -> float:
        """What it costs to store a value; of a visible array that is overwritten later, the copy that keeps it."""
        elements: float | None = element_bound(value)
        if elements is None:
            if not self.is_visible(value):
                return inf  # there is no telling how long its slots should be
            elements = prod(UNKNOWN_SIZE if size < 0 else size for size in types.shape(value.type))
        cost = COST_OF_SLOT + types.itemsize(value.type) * COST_OF_BYTE
        return elements * cost * self.trips(block_of(value))

    # --- the ways -----------------------------------------------------------------------------------------------

    def _argument(self, value: BlockArgument) -> Way | None:
        op = value.block.parent_op()
        if not isinstance(op, scf.ForOp | scf.WhileOp):
            return None
        loop = Loop(op)
        if value.block is not loop.body:
            return None
        if isinstance(op, scf.ForOp) and value.index == 0:
            return Way((), 0.0, lambda _, counter: _given(counter))
        return _induction(value)

    def _result(self, value: SSAValue) -> Way | None:
        op = value.owner
        assert isinstance(op, Operation)
        if op.regions or not self._may_recompute(op):
            return None
        operands = list(op.operands)
        if (moved := self.final.array(op)) is not None:
            place, array = moved
            operands[place] = array
        return Way(tuple(operands), _cost(op), lambda given, _: _again(op, given))

    def _may_recompute(self, op: Operation) -> bool:
        if isinstance(op, NdOp):
            if op.memory.overwrites is not None:
                return False
            if not is_side_effect_free(op) and type(op).recomputed is NdOp.recomputed:
                return False
        elif not is_side_effect_free(op):
            return False
        # What decides (a predicate, an index) is computed again only where the bits are sure to be the same.
        decides = not types.is_float(op.results[0].type) and any(types.is_float(v.type) for v in op.operands)
        return not decides or all(self._is_exact(operand) for operand in op.operands)

    def _is_exact(self, value: SSAValue) -> bool:
        """Whether recomputing a value, from whatever is stored, gives the same bits as the forward sweep."""
        if not self._exact:
            for op in self.entry.walk():  # definitions come before uses
                exact = self._rounds_exactly(op)
                self._exact.update((result, exact) for result in op.results)
        return self._exact.get(value, True)

    def _rounds_exactly(self, op: Operation) -> bool:
        if op.parent is self.entry or op.regions or not any(types.is_float(result.type) for result in op.results):
            return True  # visible, or stored, or a decision that is stored unless it is exact itself
        return _cost(op) <= ROUNDED_EXACTLY and all(self._exact.get(operand, True) for operand in op.operands)


def _given(counter: SSAValue | None) -> SSAValue:
    assert counter is not None, "a loop's body has a counter"
    return counter


def _again(op: Operation, operands: Sequence[SSAValue]) -> SSAValue:
    """The op once more, on the operands as the reverse sweep has them."""
    if isinstance(op, NdOp):
        return op.recomputed(*operands).value
    return insert(op.clone(dict(zip(op.operands, operands, strict=True)))).results[0]


def _induction(value: BlockArgument) -> Way | None:
    """A carry to which each trip adds a constant."""
    found = induction(value)
    if found is None:
        return None
    init, by = found
    starts_at_0 = constant_value(init) == 0

    def build(operands: Sequence[SSAValue], counter: SSAValue | None) -> SSAValue:
        moved = Expr(_given(counter)) if by == 1 else Expr(_given(counter)) * by
        return moved.value if starts_at_0 else (Expr(operands[0]) + moved).value

    return Way(() if starts_at_0 else (init,), 0.0, build)


def _cost(op: Operation) -> float:
    """What it costs to run the op once, an addition being 1. Arithmetic on indices and conditions is free."""
    values = [*op.operands, *op.results]
    if not any(types.is_float(value.type) or types.is_tensor(value.type) for value in values):
        return 0.0
    if not isinstance(op, NdOp):
        return 1.0
    if not op.operands:
        return 0.0
    # A reduction reads all of its operands, an element read one element.
    touched = values if isinstance(op.loops(), Generic) else op.results
    elements = max(prod(UNKNOWN_SIZE if size < 0 else size for size in types.shape(value.type)) for value in touched)
    return op.memory.cost * elements


def _is_overwritten(value: SSAValue) -> bool:
    """Whether a visible array's buffer is given to an update or a loop, so that reading it later costs a copy."""
    if not types.is_tensor(value.type) or isinstance(value.owner, Block):
        return False  # the caller's arrays are never overwritten
    for use in value.uses:
        op = use.operation
        if isinstance(op, NdOp) and op.memory.overwrites == use.index:
            return True
        if isinstance(op, scf.ForOp | scf.WhileOp) and value in Loop(op).inits:
            return True
    return False


def _not_recoverable(values: Iterable[SSAValue]) -> DifferentiationError:
    owners = [value.owner for value in values if not types.is_static(value.type)]
    ops = [owner for owner in owners if isinstance(owner, Operation)]
    names = ", ".join(sorted({op.name for op in ops}))
    place = types.from_location(ops[0].location) if ops else None
    return DifferentiationError(
        f"the reverse of a loop needs an array again whose size has no bound that is known before the call, of {names}",
        place,
        "take a slice of an array whose shape is known",
    )
