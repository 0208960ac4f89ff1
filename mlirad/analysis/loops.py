"""Loops and branches: their carried values, and how often they run.

Reads: scf.for, scf.while and scf.if. Writes: the same op, in place, with more or fewer carries. Leaves: its other
values valid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue, SSAValues

from mlirad.analysis.constants import constant_int

LoopOp = scf.ForOp | scf.WhileOp
StructuredOp = LoopOp | scf.IfOp


def is_structured(op: Operation) -> bool:
    """Whether op is a for, an if, or a while in its normal form: the condition region forwards its own arguments."""
    kind = op.__class__  # called for every op; checks against xDSL's abstract classes are slow
    if kind is scf.WhileOp:
        assert isinstance(op, scf.WhileOp)
        before = op.before_region.block
        return yields(before)[1:] == tuple(before.args)
    return kind is scf.ForOp or kind is scf.IfOp


# --- blocks -----------------------------------------------------------------------------------------------------


def block_of(value: SSAValue) -> Block:
    """The block in which a value is defined."""
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    assert block is not None
    return block


def is_outside(value: SSAValue, op: Operation) -> bool:
    """Whether a value is defined outside of an op's regions."""
    around = block_of(value).parent_op()
    return around is None or not op.is_ancestor(around)


def terminator(block: Block) -> Operation:
    """The yield, condition or return that ends a block."""
    last = block.last_op
    assert last is not None
    return last


def yields(block: Block) -> tuple[SSAValue, ...]:
    """The operands of a block's terminator."""
    return tuple(terminator(block).operands)


def add_yields(block: Block, values: Sequence[SSAValue]) -> None:
    end = terminator(block)
    end.operands = [*end.operands, *values]


def add_results(op: Operation, values: Sequence[SSAValue]) -> tuple[SSAValue, ...]:
    """Add a result to op for each value, with the value's type."""
    return add_results_of(op, [value.type for value in values])


def add_results_of(op: Operation, types: Sequence[Attribute]) -> tuple[SSAValue, ...]:
    """Add results of these types to op."""
    count = len(op.results)
    added = tuple(OpResult(type, op, count + index) for index, type in enumerate(types))
    op.results = SSAValues((*op.results, *added))
    return added


def branches(op: scf.IfOp) -> tuple[Block, Block]:
    """The two branches; an absent else becomes an empty one."""
    if not op.false_region.blocks:
        op.false_region.add_block(Block([scf.YieldOp()]))
    return op.true_region.block, op.false_region.block


# --- carries ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Carries:
    """The carried values of a structured op; carry k has index k in every list.

    They are read from the op each time: carries are added and dropped in place.
    """

    op: StructuredOp

    @property
    def count(self) -> int:
        return len(self.op.results)

    @property
    def _offset(self) -> int:
        """The number of operands before the carried ones: bounds and step, or the condition of an if."""
        return {scf.ForOp: 3, scf.WhileOp: 0, scf.IfOp: 1}[type(self.op)]

    @property
    def inits(self) -> tuple[SSAValue, ...]:
        """The values before a loop."""
        return tuple(self.op.operands)[self._offset :]

    @property
    def region_args(self) -> tuple[Sequence[BlockArgument], ...]:
        """The arguments in each region of a loop."""
        match self.op:
            case scf.ForOp():
                return (self.op.body.block.args[1:],)
            case scf.WhileOp():
                return (self.op.before_region.block.args, self.op.after_region.block.args)
        return ()

    @property
    def terminators(self) -> tuple[Operation, ...]:
        """The terminators that pass the values on: one for each region, for a while only the body's."""
        if isinstance(self.op, scf.WhileOp):
            return (terminator(self.op.after_region.block),)
        return tuple(terminator(region.block) for region in self.op.regions if region.blocks)

    @property
    def yielded(self) -> tuple[Sequence[SSAValue], ...]:
        """The values at the end of each region that passes them on."""
        return tuple(tuple(end.operands) for end in self.terminators)

    @property
    def controls(self) -> tuple[SSAValue, ...]:
        """The operands that decide how often the regions run."""
        if isinstance(self.op, scf.WhileOp):
            return yields(self.op.before_region.block)[:1]
        return tuple(self.op.operands)[: self._offset]

    def values(self, number: int) -> list[SSAValue]:
        """All values that belong to carry `number`: if one is needed, all are."""
        found = [self.op.results[number], *(yielded[number] for yielded in self.yielded)]
        if not isinstance(self.op, scf.IfOp):
            found += [self.inits[number], *(args[number] for args in self.region_args)]
        return found

    def keep(self, is_kept: Callable[[int], bool]) -> None:
        """Drop all other carries. Nothing may use their results, and only they may use their arguments."""
        kept = [number for number in range(self.count) if is_kept(number)]
        if len(kept) == self.count:
            return
        dropped = sorted(set(range(self.count)) - set(kept), reverse=True)
        ends = self.terminators
        if isinstance(self.op, scf.WhileOp):
            before = terminator(self.op.before_region.block)
            before.operands = [before.operands[0], *(before.operands[number + 1] for number in kept)]
        for end in ends:
            end.operands = [end.operands[number] for number in kept]
        for args in self.region_args:
            for number in dropped:
                args[number].block.erase_arg(args[number])
        if not isinstance(self.op, scf.IfOp):
            inits = self.inits
            self.op.operands = [*tuple(self.op.operands)[: self._offset], *(inits[number] for number in kept)]
        results = [self.op.results[number] for number in kept]
        for index, result in enumerate(results):
            result.index = index
        self.op.results = SSAValues(results)


@dataclass(frozen=True)
class Carry:
    """One carried value of a loop: before it, in its body, at the body's end, and after the loop."""

    init: SSAValue
    arg: BlockArgument
    yielded: SSAValue
    result: SSAValue


@dataclass(frozen=True)
class Loop(Carries):
    """A loop, carry by carry."""

    op: LoopOp

    @property
    def body(self) -> Block:
        return self.op.body.block if isinstance(self.op, scf.ForOp) else self.op.after_region.block

    @property
    def args(self) -> tuple[BlockArgument, ...]:
        return tuple(self.region_args[-1])

    @property
    def carries(self) -> list[Carry]:
        """The carries that are complete: one that was added just now is not, until the body yields for it."""
        parts = zip(self.inits, self.args, yields(self.body), self.op.results, strict=False)
        return [Carry(*part) for part in parts]

    def carry(self, number: int) -> Carry:
        return Carry(self.inits[number], self.args[number], yields(self.body)[number], self.op.results[number])

    def add(self, inits: Sequence[SSAValue]) -> tuple[tuple[SSAValue, ...], tuple[SSAValue, ...]]:
        """Add carries. Returns their arguments in the body and their results. The body must `add_yields` for them."""
        op = self.op
        op.operands = [*op.operands, *inits]
        if isinstance(op, scf.WhileOp):
            before = op.before_region.block
            add_yields(before, [before.insert_arg(init.type, len(before.args)) for init in inits])
        args = tuple(self.body.insert_arg(init.type, len(self.body.args)) for init in inits)
        return args, add_results(op, inits)


def carry_number(arg: BlockArgument) -> int:
    """The number of the carry, in the loop around its block, that an argument belongs to; -1: the induction
    variable."""
    return arg.index - isinstance(arg.block.parent_op(), scf.ForOp)


def carry_of(value: SSAValue) -> tuple[Loop, Carry] | None:
    """The loop in whose body `value` is a carried argument, and the carry."""
    if not isinstance(value, BlockArgument):
        return None
    op = value.block.parent_op()
    if not isinstance(op, LoopOp) or (number := carry_number(value)) < 0 or value.block is not (loop := Loop(op)).body:
        return None
    return loop, loop.carry(number)


# --- trips ------------------------------------------------------------------------------------------------------


def counts_from_zero(op: scf.ForOp) -> bool:
    """Whether a loop counts 0, 1, 2, ..."""
    return constant_int(op.lb) == 0 and constant_int(op.step) == 1


def trip_count(op: scf.ForOp) -> int | None:
    """How often a loop runs each time; None if it is known only at run time."""
    if op.lb is op.ub:
        return 0
    first, end, step = map(constant_int, (op.lb, op.ub, op.step))
    if first is None or end is None or step is None or step < 1:
        return None
    return max(0, -((first - end) // step))  # len(range(first, end, step)), even where Python raises OverflowError


def loops_around(block: Block | None, outside: Block | None = None) -> list[Loop]:
    """The loops around a block, outermost first, up to the block `outside`."""
    found: list[Loop] = []
    while block is not None and block is not outside:
        op = block.parent_op()
        if isinstance(op, LoopOp):
            found.insert(0, Loop(op))
        block = block.parent_block()
    return found
