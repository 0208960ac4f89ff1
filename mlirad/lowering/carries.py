"""The values that a loop carries and a branch yields, behind one interface for scf.for, scf.while and scf.if.

Reads: one region op. Writes: the same op, in place, with fewer carried values. Leaves: its other values valid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, Operation, SSAValue, SSAValues

from mlirad.lowering.rewriting import terminator

StructuredOp = scf.ForOp | scf.WhileOp | scf.IfOp


def is_structured(op: Operation) -> bool:
    """Whether op is a for, an if, or a while in its normal form: the condition region forwards its own arguments."""
    kind = op.__class__  # asked of every op, and to ask xDSL's abstract classes is slow
    if kind is scf.WhileOp:
        assert isinstance(op, scf.WhileOp)
        before = op.before_region.block
        return tuple(terminator(before).operands[1:]) == tuple(before.args)
    return kind is scf.ForOp or kind is scf.IfOp


@dataclass(frozen=True)
class Carries:
    """The carried values of a structured op, number k at place k of every list.

    inits: before a loop. args: in each of its regions. yielded: at the end of each region that passes values on.
    """

    op: StructuredOp

    @property
    def count(self) -> int:
        return len(self.op.results)

    @property
    def _offset(self) -> int:
        """The operands before the carried ones: bounds and step, or the condition of an if."""
        return {scf.ForOp: 3, scf.WhileOp: 0, scf.IfOp: 1}[type(self.op)]

    @property
    def inits(self) -> Sequence[SSAValue]:
        return tuple(self.op.operands)[self._offset :]

    @property
    def args(self) -> Sequence[Sequence[BlockArgument]]:
        match self.op:
            case scf.ForOp():
                return (self.op.body.block.args[1:],)
            case scf.WhileOp():
                return (self.op.before_region.block.args, self.op.after_region.block.args)
        return ()

    @property
    def yields(self) -> Sequence[Operation]:
        """The terminators that pass the values on: one for each region, for a while only the body's."""
        if isinstance(self.op, scf.WhileOp):
            return (terminator(self.op.after_region.block),)
        return tuple(terminator(region.block) for region in self.op.regions if region.blocks)

    @property
    def yielded(self) -> Sequence[Sequence[SSAValue]]:
        return tuple(tuple(end.operands) for end in self.yields)

    @property
    def controls(self) -> Sequence[SSAValue]:
        """What decides how often the regions run."""
        if isinstance(self.op, scf.WhileOp):
            return (terminator(self.op.before_region.block).operands[0],)
        return tuple(self.op.operands)[: self._offset]

    def values(self, number: int) -> list[SSAValue]:
        """All values that belong to carry `number`: if one is needed, all are."""
        found = [self.op.results[number], *(yielded[number] for yielded in self.yielded)]
        if not isinstance(self.op, scf.IfOp):
            found += [self.inits[number], *(args[number] for args in self.args)]
        return found

    def keep(self, is_kept: Callable[[int], bool]) -> None:
        """Drop all other carries. Nothing may use their results, and only they may use their arguments."""
        kept = [number for number in range(self.count) if is_kept(number)]
        if len(kept) == self.count:
            return
        dropped = sorted(set(range(self.count)) - set(kept), reverse=True)
        ends = list(self.yields)
        if isinstance(self.op, scf.WhileOp):
            before = terminator(self.op.before_region.block)
            before.operands = [before.operands[0], *(before.operands[number + 1] for number in kept)]
        for end in ends:
            end.operands = [end.operands[number] for number in kept]
        for args in self.args:
            for number in dropped:
                args[number].block.erase_arg(args[number])
        if not isinstance(self.op, scf.IfOp):
            inits = self.inits
            self.op.operands = [*tuple(self.op.operands)[: self._offset], *(inits[number] for number in kept)]
        _keep_results(self.op, kept)


def _keep_results(op: Operation, kept: Sequence[int]) -> None:
    results = [op.results[number] for number in kept]
    for index, result in enumerate(results):
        result.index = index
    op.results = SSAValues(results)


def carry_of(block: Block, arg: BlockArgument) -> int | None:
    """The number of the carry that an argument of `block` is; None for an induction variable."""
    return arg.index - 1 if isinstance(block.parent_op(), scf.ForOp) else arg.index
