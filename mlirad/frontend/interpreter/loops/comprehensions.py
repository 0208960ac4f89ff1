"""Comprehensions: unrolled if their lengths are known, or else loops that fill a list.

Reads: ast and the state. Writes: ops, through expressions. Leaves: lists, dicts and the results of functions that
consume generators.

If the length or the elements of x are known only at run time, `[f(v) for v in x if v > 0]` is interpreted as:

    def listcomp(items):
        filled = []
        for v in items:
            if v > 0:
                filled.append(f(v))
        return filled
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from mlirad.errors import CompileError
from mlirad.frontend.interpreter import attempts, consuming, dispatch, iteration, storage, variables
from mlirad.frontend.interpreter.calls import inlining
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.dispatch import answers, visits
from mlirad.frontend.interpreter.expressions import conditions, expressions
from mlirad.frontend.interpreter.statements import assigning
from mlirad.frontend.join.list_elements import NumberElement, element_of, leaves
from mlirad.frontend.values import known_facts
from mlirad.frontend.values.poison import PoisonUsed
from mlirad.frontend.values.traced import NeedStatic, Traced
from mlirad.frontend.values.value_parts import inside
from mlirad.frontend.values.values import Entry, Lazy, Object, Static, Tuple, Value
from mlirad.xdsl_support.once_per_object import once

# Longer lists of numbers are filled by loops.
MANY = 200
_ITEMS, _FILLED = "$items", "$filled"

NodeT = TypeVar("NodeT", bound=ast.AST)
Listing = ast.ListComp | ast.GeneratorExp


class _NeedsLoop(Exception):
    """The length of the list is known only at run time, or it is long."""


@visits(ast.ListComp)
def visit_listcomp(context: Context, node: ast.ListComp) -> Value:
    made = listed_by(context, node)
    return made if isinstance(made, Object) else context.new_list(made.items)


@visits(ast.GeneratorExp)
def visit_generatorexp(context: Context, node: ast.GeneratorExp) -> Value:
    return Lazy(iter, (listed_by(context, node),))  # pyright: ignore[reportArgumentType]  # `iter` is no class


def require_no_walrus(context: Context, node: Listing) -> None:
    if any(isinstance(each, ast.NamedExpr) for each in ast.walk(node)):
        raise context.refusal(":= inside a comprehension is not compiled", "write a loop")


@visits(ast.SetComp)
def visit_setcomp(context: Context, node: ast.SetComp) -> Value:
    return expressions.set_of(context, comprehension(context, node, [lambda: dispatch.expression(context, node.elt)]))


@visits(ast.DictComp)
def visit_dictcomp(context: Context, node: ast.DictComp) -> Value:
    flat = comprehension(
        context,
        node,
        [lambda: dispatch.expression(context, node.key), lambda: dispatch.expression(context, node.value)],
    )
    keys = [storage.static(context, key, "a key of a dict") for key in flat[::2]]
    items = dict(zip(keys, flat[1::2], strict=True))
    return context.new_object(Entry(dict, tuple(items), tuple(items.values())))


def listed_by(context: Context, node: Listing) -> Tuple | Object:
    """The items of a comprehension, or a list that a loop has filled with them."""
    first = node.generators[0].iter
    iterable = dispatch.expression(context, first)
    with context.at(first):
        consuming.require_no_generator(context, iterable)
        iterable = consuming.opened(context, iterable)
        context.push(iterable)
        length = None if iteration.is_running(iterable) else iteration.length_of(context, iterable)
    attempt = attempts.begin(context)

    def begin_again() -> Value:
        attempts.begin_again(context, attempt)
        return context.pop()

    if isinstance(length, int):
        try:
            with known_facts.trial():
                return Tuple(unrolled_items(context, node, context.pop(), length > MANY))
        except _NeedsLoop:
            iterable = begin_again()
    else:
        context.pop()
    require_no_walrus(context, node)
    try:
        with known_facts.trial():
            filled = inlining.run_comprehension(context, as_function(node), iterable)
    except (CompileError, NeedStatic, PoisonUsed):
        # Elements of several types stay separate values, if their number is known.
        if not isinstance(length, int) or length <= MANY:
            raise
        return Tuple(unrolled_items(context, node, begin_again()))
    assert isinstance(filled, Object)
    return filled


def unrolled_items(context: Context, node: Listing, iterable: Value, is_long: bool = False) -> tuple[Value, ...]:
    """Raises _NeedsLoop if the length is known only at run time, or if is_long and the items are unknown numbers."""

    def element() -> Value:
        made = dispatch.expression(context, node.elt)
        if is_long and any(isinstance(each, Traced | Object) for each in inside(made)):
            kind = element_of(made, context.as_is)
            if kind is not None and all(isinstance(leaf, NumberElement) for leaf in leaves(kind)):
                raise _NeedsLoop
        return made

    with context.at(node.generators[0].iter):
        items = consuming.consumed(context, iterable)
    variables.enter(context, node)
    values = context.pop_many(_generate(context, node.generators, items, [element]))
    variables.leave(context)
    return values


def comprehension(
    context: Context, node: ast.DictComp | ast.SetComp, parts: Sequence[Callable[[], Value]]
) -> tuple[Value, ...]:
    """The items of a comprehension, unrolled; its names are in a frame of their own."""
    try:
        first = gone_through(context, node.generators[0].iter)
        variables.enter(context, node)
        made = _generate(context, node.generators, first, parts)
    except _NeedsLoop:
        what = "keys this dict" if isinstance(node, ast.DictComp) else "elements this set"
        why = f"which {what} has would depend on data, or on a generator"
        raise context.refusal(why, "use arrays, or write a loop") from None
    values = context.pop_many(made)
    variables.leave(context)
    return values


def _generate(
    context: Context, generators: Sequence[ast.comprehension], iterable: Value, parts: Sequence[Callable[[], Value]]
) -> int:
    """Push the values of the innermost bodies, in order; returns their number."""
    generator = generators[0]
    count = 0
    context.push(iterable)
    position = len(context.state.temps) - 1
    for index in range(known_length(context, iterable, generator.iter)):
        assigning.assign(
            context, generator.target, iteration.element(context, context.state.temps[position], Static(index))
        )
        if not all(map(partial(known_condition, context), generator.ifs)):
            continue
        if len(generators) > 1:
            count += _generate(context, generators[1:], gone_through(context, generators[1].iter), parts)
            continue
        for part in parts:
            context.push(part())
            count += 1
    kept = context.pop_many(count)
    context.pop()
    context.push(*kept)
    return count


def known_condition(context: Context, node: ast.expr) -> bool:
    truth = conditions.condition(context, node)
    if isinstance(truth, Traced):
        raise _NeedsLoop
    return truth


def known_length(context: Context, iterable: Value, node: ast.expr) -> int:
    with context.at(node):
        length = iteration.length_of(context, iterable)
        if isinstance(length, Traced):
            if isinstance(context.frame.scope.node, ast.DictComp | ast.SetComp):
                raise NeedStatic(length.origins, "the length of a comprehension")
            raise _NeedsLoop
        return length


def gone_through(context: Context, node: ast.expr) -> Value:
    """The iterable of a comprehension."""
    iterable = dispatch.expression(context, node)
    with context.at(node):
        consuming.require_no_generator(context, iterable)
        iterable = consuming.opened(context, iterable)
        if iteration.is_running(iterable):
            raise _NeedsLoop
        return consuming.consumed(context, iterable)


def generator(context: Context, node: ast.GeneratorExp) -> Value:
    """A generator that a for statement consumes: it runs while the loop does."""
    first = node.generators[0].iter
    iterable = dispatch.expression(context, first)
    with context.at(first):
        consuming.require_no_generator(context, iterable)
    require_no_walrus(context, node)
    function = as_generator(node)
    return consuming.generator(context, function, context.frame.source, context.frame.number, {_ITEMS: iterable})


@answers(dispatch.quantified)
def quantified(context: Context, node: ast.GeneratorExp, is_any: bool) -> Value:
    first = node.generators[0].iter
    iterable = dispatch.expression(context, first)
    with context.at(first):
        consuming.require_no_generator(context, iterable)
    return inlining.run_comprehension(context, as_any(node) if is_any else as_all(node), iterable)


# The functions.


@once
def as_function(node: Listing) -> ast.FunctionDef:
    """The function equivalent to a comprehension."""
    append = _placed(ast.Attribute(_name(_FILLED, ast.Load(), node.elt), "append", ast.Load()), node.elt)
    body = _loops(node, _placed(ast.Expr(_placed(ast.Call(append, [node.elt], []), node.elt)), node.elt))
    begin = _placed(ast.Assign([_name(_FILLED, ast.Store(), node.elt)], _placed(ast.List([], ast.Load()), node)), node)
    end = _placed(ast.Return(_name(_FILLED, ast.Load(), node.elt)), node)
    return _placed(ast.FunctionDef("listcomp", _ITEMS_ONLY, [begin, body, end], []), node)


@once
def as_generator(node: ast.GeneratorExp) -> ast.FunctionDef:
    """The function with `yield` equivalent to a generator expression."""
    body = _loops(node, _placed(ast.Expr(_placed(ast.Yield(node.elt), node.elt)), node.elt))
    return _placed(ast.FunctionDef("genexpr", _ITEMS_ONLY, [body], []), node)


@once
def as_any(node: ast.GeneratorExp) -> ast.FunctionDef:
    """The function equivalent to any() of a generator: it stops at the first element that decides."""
    return _searching(node, node.elt, True)


@once
def as_all(node: ast.GeneratorExp) -> ast.FunctionDef:
    """The same for all()."""
    return _searching(node, _placed(ast.UnaryOp(ast.Not(), node.elt), node.elt), False)


def _searching(node: ast.GeneratorExp, test: ast.expr, found: bool) -> ast.FunctionDef:
    stop, end = (_placed(ast.Return(_placed(ast.Constant(value), node)), node) for value in (found, not found))
    body = _loops(node, _placed(ast.If(test, [stop], []), node.elt))
    return _placed(ast.FunctionDef("genexpr", _ITEMS_ONLY, [body, end], []), node)


_ITEMS_ONLY = ast.arguments(posonlyargs=[], args=[ast.arg(_ITEMS)], kwonlyargs=[], kw_defaults=[], defaults=[])


def _placed(made: NodeT, at: ast.AST) -> NodeT:
    return ast.copy_location(made, at)


def _name(text: str, use: ast.expr_context, at: ast.AST) -> ast.expr:
    return _placed(ast.Name(text, use), at)


def _loops(node: Listing, body: ast.stmt) -> ast.stmt:
    """The loops and conditions of a comprehension, around the statements for each element."""
    for number, generator in reversed(list(enumerate(node.generators))):
        for condition in reversed(generator.ifs):
            body = _placed(ast.If(condition, [body], []), condition)
        items = generator.iter if number else _name(_ITEMS, ast.Load(), node.elt)
        body = _placed(ast.For(generator.target, items, [body], []), generator.iter)
    return body
