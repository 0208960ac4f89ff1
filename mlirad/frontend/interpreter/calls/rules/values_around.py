"""Turns the floats that a function takes from outside into arguments: `library/implicit/surroundings.py`.

Reads: a function value, and what it can see. Writes: nothing. Leaves: these values; the result of a call with other
values in their place.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.analysis.call_graph import ordered_value_in
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, insertion_point
from mlirad.frontend.interpreter import dispatch
from mlirad.frontend.interpreter.calls.outlining import call_changes, outline, plain_results, value_trees
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.numpy.declarations import interprets
from mlirad.frontend.values.state import Reached, reached
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.value_parts import inside, with_leaves
from mlirad.frontend.values.values import Ref, Static, Tuple, Value
from mlirad.library.implicit.surroundings import called_with, evaluated, values_around


@dataclass(frozen=True)
class Around:
    """The floats that a function sees: numbers, by SSA value, and the cells of arrays of known size."""

    seen: Reached
    numbers: dict[SSAValue, Traced]
    cells: tuple[int, ...]


def _around(context: Context, function: Value) -> Around:
    state, seen = context.state, _seen(context, function)
    numbers: dict[SSAValue, Traced] = {}
    for held in (function, *_names(context, seen), *(each for n in seen.objects for each in state.heap[n].items)):
        for value in inside(held):
            if isinstance(value, Traced) and types.is_inexact(value.expr.type) and not value.expr.is_tensor:
                numbers.setdefault(value.expr.value, value)
    cells = (cell for cell in sorted(seen.cells) if types.is_inexact(state.store[cell].type))
    return Around(seen, numbers, tuple(cell for cell in cells if types.is_static(state.store[cell].type)))


def _seen(context: Context, function: Value) -> Reached:
    found = reached(context.state, [function], context.seen_by)
    if context.live is not None:
        held = {
            name for each in inside(function) if isinstance(each, Static) for name in context.live.held_by(each.value)
        }
        more = reached(context.state, [context.state.frames[0][name] for name in sorted(held)], context.seen_by)
        return Reached(found.cells | more.cells, found.objects | more.objects, found.captured | {0: held})
    return found


def _names(context: Context, seen: Reached) -> Iterator[Value]:
    for number, names in sorted(seen.captured.items()):
        yield from (context.state.frames[number][name] for name in sorted(names))


@interprets(values_around)
def found_around(context: Context, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    (function,) = (*args, *kwargs.values())
    around = _around(context, context.use(function))
    arrays = (context.new_array(context.state.store[cell]) for cell in around.cells)
    return Tuple((*around.numbers.values(), *arrays))


@interprets(evaluated)
def evaluate(context: Context, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    point = insertion_point()
    before = point.block.last_op if point.insert_before is None else point.insert_before.prev_op
    result = call_with(context, args, kwargs)
    _require_no_draw(context, context.use(args[0]), point, before)
    return result


def _require_no_draw(context: Context, function: Value, point: InsertPoint, before: Operation | None) -> None:
    """Refuse a call if an op after `before` draws random numbers: each evaluation, even in derivatives, would be a
    different equation."""
    made: list[Operation] = []
    op = point.block.first_op if before is None else before.next_op
    while op is not None and op is not point.insert_before:
        made.append(op)
        op = op.next_op
    if ordered_value_in({each.sym_name.data: each for each in context.functions}, *made) is not None:
        what = (
            f"the equation of a solution is differentiated, and {outline.name_of_value(function)} draws random numbers"
        )
        hint = "draw before it, and pass the numbers as parameters"
        raise context.refusal(f"{what}: each evaluation would be a different equation", hint)


@interprets(called_with)
def call_with(context: Context, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    function, values, *given = (context.use(arg) for arg in args)
    assert isinstance(values, Tuple)
    if not values.items:
        return dispatch.call(context, function, given, kwargs)
    around = _around(context, function)
    now = [context.use(each) for each in values.items]
    saved = context.state
    context.state = saved.fork()
    try:
        function = _replace(context, around, function, now)
        before = context.state.fork()
        result = plain_results.plain_result(context, dispatch.call(context, function, given, kwargs))
        if not call_changes.is_unchanged(before, context.state):
            what = f"{outline.name_of_value(function)} changes an array, a list or a name of the code around it"
            raise context.refusal(f"the equation of a solution is differentiated, and {what}", "return its result")
        leaves = [value_trees.contents(context, leaf) for leaf in plain_results.result_leaves(context, result)]
    finally:
        context.state = saved
    return plain_results.rebuilt(context, result, iter(leaves))


def _replace(context: Context, around: Around, function: Value, now: Sequence[Value]) -> Value:
    """Replace the values that the function sees in the state; returns the function, which may itself contain some."""
    assert len(now) == len(around.numbers) + len(around.cells), "they were found in the same state"
    exprs: dict[SSAValue, Expr] = {}
    for value, number in zip(now, around.numbers, strict=False):
        assert isinstance(value, Traced)
        exprs[number] = value.expr
    state = context.state
    for value, cell in zip(now[len(around.numbers) :], around.cells, strict=True):
        assert isinstance(value, Ref)
        state.store[cell] = context.read(value).contents

    def other(leaf: Value) -> Value:
        if isinstance(leaf, Traced) and leaf.expr.value in exprs:
            return dataclasses.replace(leaf, expr=exprs[leaf.expr.value])
        return leaf

    for number, names in around.seen.captured.items():
        state.frames[number] |= {name: with_leaves(state.frames[number][name], other) for name in names}
    for number in around.seen.objects:
        entry = state.heap[number]
        state.heap[number] = dataclasses.replace(entry, items=tuple(with_leaves(each, other) for each in entry.items))
    return with_leaves(function, other)
