"""Finds the values of a function that may differ between executions with different arguments.

Reads: func, scf, nd and ad ops. Writes: nothing. Gives: the values that depend on some arguments, by data or control.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import func, scf
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import SymbolTable

from mlirad.analysis.loops import yields
from mlirad.dialect.core.op import NdOp
from mlirad.xdsl_support.traversal import ops_of


@dataclass(frozen=True)
class _Call:
    """A call that is being followed: the arguments that vary, and the results known so far to vary."""

    given: frozenset[int]
    gives: set[int] = field(default_factory=set)


_Callers = Mapping[Block, _Call]


def varying(block: Block, start: Iterable[SSAValue]) -> set[SSAValue]:
    """The values in a block, regions included, that depend on those of `start`."""
    return _varying(block, start, {})


def _varying(block: Block, start: Iterable[SSAValue], callers: _Callers) -> set[SSAValue]:
    found = set(start)
    size = -1
    while size < len(found):  # loop-carried values need more than one round
        size = len(found)
        _spread(block, found, callers)
    return found


def _spread(block: Block, found: set[SSAValue], callers: _Callers) -> None:
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


def _of_call(op: func.CallOp, found: set[SSAValue], callers: _Callers) -> Iterable[SSAValue]:
    """The results of a call that depend on values in `found`."""
    if found.isdisjoint(op.operands):
        return ()
    callee = _callee(op)
    if not isinstance(callee, func.FuncOp) or callee.is_declaration:
        return op.results
    block = callee.body.block
    call = _Call(frozenset(number for number, operand in enumerate(op.operands) if operand in found))
    if block in callers:  # a fixed point: a recursive call returns only what is known so far
        around = callers[block]
        return (op.results[number] for number in around.gives) if call.given <= around.given else op.results
    while True:
        inside = _varying(block, [block.args[number] for number in call.given], {**callers, block: call})
        gives = {number for number, value in enumerate(yields(block)) if value in inside}
        if gives <= call.gives:
            return [op.results[number] for number in gives]
        call.gives.update(gives)


def _callee(op: func.CallOp) -> Operation | None:
    """The called function; None if the code is not in a module yet."""
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
    """Make the targets depend on their own sources, and on the values that select among these."""
    for number, each in enumerate(zip(*targets, strict=True)):
        if not found.isdisjoint((*control, *(values[number] for values in sources))):
            found.update(each)
