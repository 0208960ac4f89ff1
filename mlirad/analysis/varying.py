"""Which values of a function may differ between executions whose arguments differ.

Reads: func, scf, nd and ad ops. Writes: nothing. Gives: the values that depend on some arguments, by data or control.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects import func, scf
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import SymbolTable

from mlirad.analysis.loops import yields
from mlirad.dialect.core.op import NdOp
from mlirad.xdsl_support.traversal import ops_of


def varying(block: Block, start: Iterable[SSAValue], callers: frozenset[Block] = frozenset()) -> set[SSAValue]:
    """The values in a block, regions included, that depend on those of `start`. callers: whose calls lead to it."""
    found = set(start)
    size = -1
    while size < len(found):  # what loops carry needs more than one round
        size = len(found)
        _spread(block, found, callers | {block})
    return found


def _spread(block: Block, found: set[SSAValue], callers: frozenset[Block]) -> None:
    for op in ops_of(block):
        for inner in op.regions:
            for each in inner.blocks:
                _spread(each, found, callers)
        match op:
            case func.CallOp():
                found.update(_of_call(op, found, callers))
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


def _of_call(op: func.CallOp, found: set[SSAValue], callers: frozenset[Block]) -> Iterable[SSAValue]:
    """The results of a call that depend on what is found."""
    if found.isdisjoint(op.operands):
        return ()
    callee = _callee(op)
    if not isinstance(callee, func.FuncOp) or callee.is_declaration or callee.body.block in callers:
        return op.results
    block = callee.body.block
    inside = varying(block, [arg for arg, x in zip(block.args, op.operands, strict=True) if x in found], callers)
    return (result for result, value in zip(op.results, yields(block), strict=True) if value in inside)


def _callee(op: func.CallOp) -> Operation | None:
    """The function that is called; None where the code does not stand in a module yet."""
    table = op.parent_op()
    while table is not None and not table.has_trait(SymbolTable):
        table = table.parent_op()
    return None if table is None else SymbolTable.lookup_symbol(table, op.callee)


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
