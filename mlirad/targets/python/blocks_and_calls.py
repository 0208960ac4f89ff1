"""Loops, branches, calls and returns as statements.

Reads: scf and func; a `FunctionWriter` writes their blocks. Writes: statements. Leaves: the variables of arrays that
loops and branches change in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.dialects import func, scf
from xdsl.ir import Block, Operation, OpResult, SSAValue

from mlirad.analysis.constants import constant_int
from mlirad.analysis.loops import Carries, Loop, yields
from mlirad.analysis.memory import is_tensor, memory_of, ties
from mlirad.dialect.core import types
from mlirad.dialect.core.numpy_source import NumpyText, called, text, typed
from mlirad.targets.python.arrays_in_place import is_in_place, stays
from mlirad.targets.python.python_statements import (
    Assign,
    AssignAll,
    For,
    If,
    Return,
    SourceLine,
    Statement,
    While,
    values_in,
)
from mlirad.targets.python.writer import FunctionWriter, copied, is_exact_type, python_name
from mlirad.xdsl_support.traversal import blocks_around, defining_block


def _enter(writer: FunctionWriter, op: scf.ForOp | scf.WhileOp, shift: int) -> list[int]:
    """Assign a loop's initial carries. Returns the numbers of the carries that its body assigns at its end."""
    loop = Loop(op)
    numbers: list[int] = []
    pairs: list[tuple[SSAValue, NumpyText]] = []
    exact = _exact_carries(writer, op)
    for number, init in enumerate(loop.inits):
        first = loop.region_args[0][number]
        given = writer.take(op, number + shift, exact[number])
        is_variable = given.parts == (writer.variable(init),)
        in_place = is_in_place(writer.moves, op, number)
        if in_place and is_variable:
            writer.objects[first] = writer.variable(init)
        else:
            pairs.append((first, given))
        if not in_place:
            numbers.append(number)
        for value in (*(args[number] for args in loop.region_args[1:]), op.results[number]):
            writer.objects[value] = first
        writer.texts[first] = writer.in_variable(first, exact[number])
    for number, args in enumerate(zip(*loop.region_args, strict=True)):
        for value in (*args[1:], op.results[number]):
            writer.texts[value] = writer.in_variable(value, exact[number])
    writer.flush()
    _copy_all(writer, pairs, op)
    return numbers


def _exact_carries(writer: FunctionWriter, op: scf.ForOp | scf.WhileOp) -> list[bool]:
    """Which of the numbers that a loop carries are certainly NumPy numbers."""
    values = Loop(op).region_args[0]
    return [is_exact_type(value.type) or not writer.is_small(value) for value in values]


def _copy_all(writer: FunctionWriter, pairs: Sequence[tuple[SSAValue, NumpyText]], op: Operation) -> None:
    if pairs:
        writer.statements.append(AssignAll(list(pairs), types.from_location(op.location)))


def _leave(writer: FunctionWriter, end: Operation, targets: Sequence[SSAValue], numbers: Sequence[int]) -> None:
    """Assign the results of a block to variables."""
    pairs = [(targets[number], writer.take(end, number, writer.texts[targets[number]].is_numpy)) for number in numbers]
    for operand in end.operands:
        writer.pending.pop(operand, None)
    writer.flush()
    _copy_all(writer, pairs, end)


def _for(writer: FunctionWriter, op: scf.ForOp) -> None:
    bounds = [writer.form(op.lb), writer.form(op.ub)]
    counter = writer.counting.counter(op)
    step = constant_int(op.step)
    if step == 1:
        first, end = (bound.scaled(counter.sign).plus(counter.offset) for bound in bounds)
        if counter.sign < 0:
            first, end = end.shifted(1), first.shifted(1)
        start = writer.rendered(first)
        items = [writer.rendered(end)] if start.literal == 0 else [start, writer.rendered(end)]
        span = called("range", *items)
        span = called("reversed", span) if counter.sign < 0 else span
    else:
        span = called("range", *map(writer.rendered, bounds), writer.peek(op.step))
    for value in (op.lb, op.ub, op.step):
        writer.pending.pop(value, None)
    index = op.body.block.args[0]
    assigned = _enter(writer, op, 3)
    writer.texts[counter.value] = NumpyText((counter.value,), is_new=False, is_numpy=False)
    if counter.value is not index:
        writer.texts[index] = writer.rendered(writer.counting.forms[index])
    made = For(counter.value, span, location=types.from_location(op.location))
    end_op = op.body.block.last_op
    assert end_op is not None
    targets = Loop(op).args
    made.body = writer.inside(op.body.block, lambda: _leave(writer, end_op, targets, assigned))
    writer.statements.append(made)


def _while(writer: FunctionWriter, op: scf.WhileOp) -> None:
    before, after = op.before_region.block, op.after_region.block
    assigned = _enter(writer, op, 0)
    condition: list[NumpyText] = []
    last, end = before.last_op, after.last_op
    assert last is not None and end is not None

    def leave_head() -> None:
        pairs: list[tuple[SSAValue, NumpyText]] = []
        for number, (inside, result) in enumerate(zip(after.args, op.results, strict=True)):
            if last.operands[number + 1] is before.args[number]:
                continue
            is_exact = writer.texts[inside].is_numpy
            pairs.append((inside, writer.take(last, number + 1, is_exact)))
            del writer.objects[inside]
            writer.objects[result] = inside
            writer.texts[inside] = writer.texts[result] = writer.in_variable(inside, is_exact)
        condition.append(writer.peek(last.operands[0]))
        writer.pending.pop(last.operands[0], None)
        writer.flush()
        _copy_all(writer, pairs, last)

    head = writer.inside(before, leave_head)
    body = writer.inside(after, lambda: _leave(writer, end, before.args, assigned))
    writer.statements.append(While(head, condition[0], body, types.from_location(op.location)))


def _if(writer: FunctionWriter, op: scf.IfOp) -> None:
    condition = writer.peek(op.cond)
    writer.pending.pop(op.cond, None)
    writer.flush()
    numbers: list[int] = []
    ends = [region.block.last_op for region in op.regions if region.blocks]
    for number, result in enumerate(op.results):
        start = _common_object(writer, result, [end for end in ends if end is not None])
        if start is None:
            numbers.append(number)
        else:
            writer.objects[result] = start
    for result in op.results:
        writer.texts[result] = writer.in_variable(result, is_exact_type(result.type) or not writer.is_small(result))
    sides: list[list[Statement]] = [[], []]
    for side, (region, end) in enumerate(zip(op.regions, ends, strict=False)):
        if end is not None:
            sides[side] = writer.inside(region.block, lambda end=end: _leave(writer, end, op.results, numbers))
    writer.statements.append(If(condition, sides[0], sides[1], types.from_location(op.location)))


def _common_object(writer: FunctionWriter, result: OpResult, ends: Sequence[Operation]) -> SSAValue | None:
    """The array from before a branch that is this result on both sides, changed in place."""
    if not is_tensor(result):
        return None
    found: SSAValue | None = None
    value = ends[0].operands[result.index]
    while found is None:
        if _is_before(value, result.op) and writer.texts.get(value, NumpyText(())).parts == (writer.variable(value),):
            found = value
            break
        source = next((op_value for op_value in _sources(value)), None)
        if source is None:
            return None
        value = source
    return writer.variable(found) if stays(writer.moves, result, found) else None


def _sources(value: SSAValue) -> Sequence[SSAValue]:
    """The arrays from which an op, which may change them in place, computes a value."""
    op = value.owner
    if not isinstance(value, OpResult) or isinstance(op, Block):
        return ()
    if isinstance(op, scf.ForOp | scf.WhileOp):
        return (Carries(op).inits[value.index],)
    if isinstance(op, scf.IfOp):
        return (yields(op.true_region.block)[value.index],)
    return tuple(op.operands[place] for place, result in ties(op) if result is value)


# --- functions ----------------------------------------------------------------------------------------------


def _call(writer: FunctionWriter, op: func.CallOp) -> None:
    taken = {place for place, _ in ties(op)}
    arguments: list[NumpyText] = []
    for index, operand in enumerate(op.operands):
        found = writer.take(op, index) if index in taken else writer.peek(operand)
        arguments.append(typed(found, operand.type) if is_exact_type(operand.type) else found)
    writer.flush([each for place in taken for each in memory_of(op.operands[place])])
    made = called(python_name(op.callee.string_value()), *arguments)
    place = types.from_location(op.location)
    if not op.results:
        writer.statements.append(SourceLine(made, place))
        return
    writer.statements.append(Assign(tuple(op.results), made, place, is_call=True))
    for result in op.results:
        writer.texts[result] = writer.in_variable(result, is_exact_type(result.type))


def _return(writer: FunctionWriter, op: func.ReturnOp) -> None:
    given = [writer.take(op, index) for index in range(len(op.operands))]
    writer.flush()
    place = types.from_location(op.location)
    if writer.is_public:
        for index, number in writer.written.items():
            argument = writer.function.body.block.args[index]
            if given[number].parts != (argument,):
                _write_back(writer, argument, given, number, op)
    writer.statements.append(Return(given, place))


def _write_back(
    writer: FunctionWriter, argument: SSAValue, given: list[NumpyText], number: int, op: func.ReturnOp
) -> None:
    """Write a result into the caller's array. If the array's old contents are also returned, they are copied first."""
    place = types.from_location(op.location)
    for other, found in enumerate(given):
        if other != number and any(writer.shares(value, [argument]) for value in values_in(found)):
            (kept,) = Block(arg_types=[op.operands[other].type]).args
            kept.name_hint = op.operands[other].name_hint
            writer.assign(kept, found if found.is_new else copied(found), place)
            given[other] = writer.texts[kept]
    writer.statements.append(SourceLine(text(argument, "[...] = ", given[number]), place))
    given[number] = NumpyText((argument,), is_new=False)


def _end(writer: FunctionWriter, op: Operation) -> None:
    """Nothing: the op that enters a block assigns its results."""


VISITS: Mapping[type[Operation], Callable[[FunctionWriter, Any], None]] = {
    scf.ForOp: _for,
    scf.WhileOp: _while,
    scf.IfOp: _if,
    scf.YieldOp: _end,
    scf.ConditionOp: _end,
    func.CallOp: _call,
    func.ReturnOp: _return,
}


def _is_before(value: SSAValue, op: Operation) -> bool:
    """Whether a value is defined outside the regions of an op."""
    return all(block.parent_op() is not op for block in blocks_around(defining_block(value)))
