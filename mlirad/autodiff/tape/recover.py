"""How a forward value can be had again in the reverse sweep, and what that costs.

A value is visible there, or rebuilt from the reverse counter, or recomputed from others, or read again of an array
whose writes are taken back, or stored: bytes times trips against the cost of recomputation times trips.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, prod

from xdsl.dialects import func, scf
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import SymbolTable

from mlirad.autodiff.callees import written_by
from mlirad.autodiff.carries import Carry, Loop, block_of, constant_value
from mlirad.autodiff.final import FinalArrays
from mlirad.autodiff.linear import induction
from mlirad.autodiff.tape.history import Look
from mlirad.autodiff.updates import READS, places_of
from mlirad.dialect.bounds import element_bound
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, emit, insert
from mlirad.dialect.core.op import Generic, NdOp
from mlirad.dialect.ops.indexing import ExtractOp
from mlirad.xdsl_support.effects import has_no_effect

Build = Callable[[Sequence[SSAValue], SSAValue | None], SSAValue]

COST_OF_SLOT, COST_OF_BYTE = 2.0, 0.5
"""Storing eight bytes costs as much as six additions: they are written, and read again from far away."""
UNKNOWN_TRIPS = 100
UNKNOWN_SIZE = 1000
ROUNDED_EXACTLY = 5
"""Ops that cost no more than this (+ - * / sqrt) give the same bits on every code path."""


@dataclass(frozen=True)
class Way:
    """A way to have a value again: `build(operands, counter)`, at a cost, from operands that are to be had first.

    counter: that of the reverse block, if the value belongs to a loop's body. look: the array of which the value is
    read again, once the writes that came after are taken back; the operands are the indices.
    """

    operands: tuple[SSAValue, ...]
    cost: float
    build: Build
    look: Look | None = None


@dataclass
class Recovery:
    """The ways to recover the values of one function, whose own block is `entry`."""

    entry: Block
    looks: dict[SSAValue, Look] = field(default_factory=dict)
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
            self._ways[value] = self._way(value)
        return self._ways[value]

    def forbid(self, values: Iterable[SSAValue]) -> None:
        """These are not to be read again of arrays whose writes are taken back."""
        for value in values:
            del self.looks[value]
        self._ways.clear()

    def carry(self, values: Mapping[SSAValue, Carry]) -> None:
        """These are had from the carries' arguments, as they were a trip later."""
        self._ways.update((value, Way((carry.arg,), 0.0, _not_built)) for value, carry in values.items())

    def _way(self, value: SSAValue) -> Way | None:
        way = self._argument(value) if isinstance(value, BlockArgument) else self._result(value)
        look, reads = self.looks.get(value), isinstance(value.owner, READS)
        if way is not None and (self.is_visible(way.operands[0]) if reads else way.cost <= 1):
            return way
        home = None if reads else self.final.home(value)
        if home is not None and (self.is_visible(home[0]) or (way is None and look is None)):
            return Way(home, 1.0, lambda given, _: emit(ExtractOp, *given).value)
        if look is None or (look.access is None and way is not None):
            return way
        starts = () if look.access is None else tuple(places_of(look.read))
        return Way(starts, float(_elements(value)), _not_built, look)

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

    def is_free(self, value: SSAValue) -> bool:
        return self.is_visible(value) and not _is_overwritten(value)

    def price(self, value: SSAValue) -> float:
        """What it costs to store a value; of a visible array that is overwritten later, the copy that keeps it."""
        elements: float | None = element_bound(value)
        if elements is None:
            if not self.is_visible(value):
                return inf  # there is no telling how long its slots should be
            elements = _elements(value)
        cost = COST_OF_SLOT + types.itemsize(value.type) * COST_OF_BYTE
        return elements * cost * self.trips(block_of(value))

    def is_counted(self, value: SSAValue) -> bool:
        """Whether an integer is arithmetic on what is visible, and on counters."""
        if self.is_visible(value):
            return True
        way = self.way(value)
        return way is not None and way.cost == 0 and all(self.is_counted(operand) for operand in way.operands)

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
            if not has_no_effect(op) and type(op).recomputed is NdOp.recomputed:
                return False
        elif not has_no_effect(op):
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
    return op.memory.cost * max(_elements(value) for value in touched)


def _elements(value: SSAValue) -> int:
    """How many elements a value has: as many as there can be, or a guess."""
    shape = types.shape(value.type)
    bound = element_bound(value) if -1 in shape else None
    return prod(UNKNOWN_SIZE if size < 0 else size for size in shape) if bound is None else bound


def _not_built(*_: object) -> SSAValue:
    raise AssertionError("what is read again, or carried, is not built where it is asked for")


def _is_overwritten(value: SSAValue) -> bool:
    """Whether a visible array's buffer is given to an update, loop or call, so that reading it later costs a copy."""
    if not types.is_tensor(value.type):
        return False
    if isinstance(value, BlockArgument):
        # The caller's arrays are never overwritten, but for those that a function which is called returns changed.
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
