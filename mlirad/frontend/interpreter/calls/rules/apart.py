"""Interprets functions apart: in a private func.func, on copies of values that they may not write.

Reads: values. Writes: a func.func. Leaves: the state as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building
from mlirad.errors import UnsupportedSyntaxError
from mlirad.frontend.interpreter import storage
from mlirad.frontend.interpreter.calls.outlining import call_changes, outline, value_trees
from mlirad.frontend.interpreter.calls.outlining.call_changes import Mutables
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.join.join_columns import discard
from mlirad.frontend.values import known_facts
from mlirad.frontend.values.poison import Poison
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Object, Owner, Ref, Tuple, Value
from mlirad.requests.python_functions import name_of
from mlirad.requests.request import definition_of


@dataclass(frozen=True, eq=False)
class Copies:
    """Copies of the arguments of a function. values: the arguments; arrays: the arrays in them, initially `starts`,
    which have a name in frame 0."""

    values: tuple[Value, ...]
    starts: tuple[SSAValue, ...]
    name: str


def function_apart(
    context: Context,
    function: Any,
    given: Sequence[Attribute],
    body: Callable[[list[Expr]], list[Expr]],
    plain_functions: frozenset[int] = frozenset(),
) -> tuple[func.FuncOp, list[SSAValue]]:
    """A private function with arguments of the types `given`, followed by the values that it takes from outside, which
    are returned. body: gives its results, and may not change the state. function: the function that it is made from."""
    name, place = name_of(function), definition_of(function)
    if place is not None:
        context.returned[name] = place  # for a lambda there is nothing else
    block = Block(arg_types=given)
    saved, before, active = context.state, context.state.fork(), context.active
    # The callers of the function do not call its rule: a call of them inside the rule is no recursion.
    context.state, context.active = context.state.fork(), []
    plain, context.calling.plain = context.calling.plain, plain_functions
    try:
        with building(block), known_facts.scope():
            results = body([Expr(arg) for arg in block.args])
        if not call_changes.is_unchanged(before, context.state):
            what = "changes an array, a list or a name of the code around it"
            raise context.refusal(f"{name} belongs to a derivative rule, and {what}", "return its result instead")
    except BaseException:
        discard(block)
        raise
    finally:
        context.state, context.active, context.calling.plain = saved, active, plain
    made, captured = outline.callee_of(context, name, block, results)
    if place is not None:
        made.location = types.to_location(place)
    return made, captured


def copies_of(context: Context, values: Sequence[Value], contents: Iterator[Expr]) -> Copies:
    """Copies of values with these contents: one for each array and traced number in them."""
    arrays: list[Ref] = []

    def copied(leaf: Value) -> Value:
        made = value_trees.copy_of(context, leaf, next(contents)) if isinstance(leaf, Ref | Traced) else leaf
        if isinstance(made, Ref):
            arrays.append(made)
        return made

    def owner(value: Object) -> Owner:
        kind = storage.entry_of(context, value).kind.__name__
        return Owner(f"a {kind} that is passed to a function with a derivative rule", is_shared=True)

    made = tuple(value_trees.mapped(context, value, copied, owner) for value in values)
    objects = [each for value in made for each in value_trees.objects_in(context, value)]
    starts = tuple(context.state.store[each.alternatives[0].cell].value for each in arrays)
    return Copies(made, starts, call_changes.keep_copies(context, arrays, objects))


def require_unwritten(context: Context, copies: Copies, function: str) -> None:
    """Refuse a function that has written one of its arguments, at the place of the write."""
    held = context.state.frames[0][copies.name]
    assert isinstance(held, Tuple)
    for position, (copy, start) in enumerate(zip(Mutables.of(_with_none(held)).arrays, copies.starts, strict=True)):
        if (copies.name, position) not in context.reached_by_writes:
            continue
        now = None if isinstance(copy, Poison) else call_changes.whole(context, copy).value
        if now is not start:
            writer = None if now is None else now.owner
            place = types.from_location(writer.location) if isinstance(writer, Operation) else None
            raise UnsupportedSyntaxError(
                f"{function} belongs to a derivative rule, and writes an array that is passed to it",
                place or context.location,
                "write in a copy of it: x = x.copy()",
            )


def _with_none(held: Tuple) -> Tuple:
    return Tuple((*held.items, Tuple(())))


def inputs_first(function: func.FuncOp, own: Sequence[SSAValue], captured: Sequence[SSAValue], place: int) -> None:
    """Let a function take `captured` from its argument `place` on. own: the values that it takes as its last arguments
    so far."""
    block = function.body.block
    last = dict(zip(own, block.args[len(block.args) - len(own) :], strict=True))
    for number, value in enumerate(captured):
        made = block.insert_arg(value.type, place + number)
        if (arg := last.pop(value, None)) is not None:
            made.name_hint = arg.name_hint
            arg.replace_all_uses_with(made)
            block.erase_arg(arg)
    assert not last, "all that it takes is captured"
    inputs, outputs = [arg.type for arg in block.args], function.function_type.outputs.data
    function.function_type = FunctionType.from_lists(inputs, outputs)
