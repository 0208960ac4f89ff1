"""Which values of a function may differ between executions whose arguments differ.

Reads: func, scf, nd and ad ops. Writes: nothing. Gives: the values that depend on some arguments, by data or control.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from mlirad.analysis.loops import yields
from mlirad.dialect.core.op import NdOp
from mlirad.xdsl_support.traversal import ops_of


def varying(block: Block, start: Iterable[SSAValue]) -> set[SSAValue]:
    """The values in a block, regions included, that depend on those of `start`."""
    found = set(start)
    size = -1
    while size < len(found):  # what loops carry needs more than one round
        size = len(found)
        _spread(block, found)
    return found


def _spread(block: Block, found: set[SSAValue]) -> None:
    for op in ops_of(block):
        for inner in op.regions:
            for each in inner.blocks:
                _spread(each, found)
        match op:
            case scf.IfOp():
                sides = [yields(region.block) for region in op.regions if region.blocks]
                _reach(found, [op.results], sides, [op.cond])
            case scf.ForOp():
                counter, *args = op.body.block.args
                _reach(found, [op.results, args], [op.iter_args, yields(op.body.block)], [op.lb, op.ub, op.step])
                if not found.isdisjoint([op.lb, op.step]):
                    found.add(counter)
            case scf.WhileOp():
                before, after = op.before_region.block, op.after_region.block
                condition, *passed = yields(before)
                _reach(found, [before.args], [op.arguments, yields(after)], [])
                _reach(found, [op.results, after.args], [passed], [condition])
            case _:
                if any(each in found for each in _read(op)):
                    found.update(op.results)


def _read(op: Operation) -> Iterable[SSAValue]:
    """The operands whose contents count: executions have arrays of the same shapes."""
    unread = op.memory.shape_only if isinstance(op, NdOp) else frozenset()
    return (operand for number, operand in enumerate(op.operands) if number not in unread)


def _reach(
    found: set[SSAValue],
    targets: Sequence[Sequence[SSAValue]],
    sources: Sequence[Sequence[SSAValue]],
    control: Sequence[SSAValue],
) -> None:
    """Let the targets depend on what their own sources do, and on what decides among these."""
    for number, each in enumerate(zip(*targets, strict=True)):
        if not found.isdisjoint((*control, *(values[number] for values in sources))):
            found.update(each)
