"""The functions of the module operator: each applies the operator that it is named after.

Reads: values. Writes: ops; the state, by in-place operators. Leaves: values.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from mlirad.frontend.interpreter import dispatch, range_values, storage
from mlirad.frontend.interpreter.calls import methods
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.expressions import comparisons, expressions, item_access
from mlirad.frontend.interpreter.expressions.comparisons import COMPARE
from mlirad.frontend.interpreter.expressions.expressions import BINARY, UNARY
from mlirad.frontend.interpreter.statements import assigning, augmented
from mlirad.frontend.numpy.declarations import declare
from mlirad.frontend.values.values import Object, Static, Tuple, Value, kind_of

_Args = tuple[Value, ...]
Handler = Callable[[Context, _Args, dict[str, Value]], Value]


def _taking(count: int, handler: Callable[..., Value]) -> Handler:
    def handle(context: Context, args: _Args, kwargs: dict[str, Value]) -> Value:
        methods.none_of(context, kwargs, "a function of the module operator")
        if len(args) != count:
            raise context.refusal(f"this function of the module operator takes {count} arguments, not {len(args)}")
        return handler(context, *args)

    return handle


def _set_item(context: Context, base: Value, index: Value, value: Value) -> Value:
    assigning.set_item(context, base, index, value)
    return Static(None)


def _sequences(context: Context, *values: Value) -> None:
    for value in map(context.use, values):
        is_list = isinstance(value, Object) and storage.entry_of(context, value).kind is list
        if not (is_list or isinstance(value, Tuple) or (isinstance(value, Static) and isinstance(value.value, str))):
            raise context.refusal(f"{kind_of(value)} cannot be concatenated by the module operator")


def _concat(context: Context, left: Value, right: Value) -> Value:
    _sequences(context, left, right)
    return expressions.binary(context, ast.Add(), left, right)


def _iconcat(context: Context, left: Value, right: Value) -> Value:
    _sequences(context, left, right)
    return augmented.in_place(context, ast.Add(), left, right)


def _call(context: Context, args: _Args, kwargs: dict[str, Value]) -> Value:
    if not args:
        raise context.refusal("operator.call takes a function")
    return dispatch.call(context, args[0], args[1:], kwargs)


def _table() -> dict[Any, Handler]:
    made: dict[Any, Handler] = {}
    for kind, function in BINARY.items():
        in_place = getattr(operator, f"i{function.__name__.strip('_')}")
        made[function] = _taking(2, lambda context, a, b, kind=kind: expressions.binary(context, kind(), a, b))
        made[in_place] = _taking(2, lambda context, a, b, kind=kind: augmented.in_place(context, kind(), a, b))
    for kind, function in {**COMPARE, ast.Is: operator.is_, ast.IsNot: operator.is_not}.items():
        made[function] = _taking(2, lambda context, a, b, kind=kind: comparisons.compare(context, kind(), a, b))
    for kind, function in {**UNARY, ast.Not: operator.not_}.items():
        made[function] = _taking(1, lambda context, x, kind=kind: expressions.unary(context, kind(), x))
    made |= {
        operator.inv: made[operator.invert],
        operator.abs: _taking(1, lambda context, x: dispatch.call(context, Static(abs), (x,), {})),
        operator.truth: _taking(1, lambda context, x: dispatch.call(context, Static(bool), (x,), {})),
        operator.index: _taking(1, lambda context, x: storage.result(context, range_values.integer(context, x))),
        operator.contains: _taking(2, lambda context, a, b: comparisons.compare(context, ast.In(), b, a)),
        operator.getitem: _taking(2, lambda context, a, b: item_access.get_item(context, a, b)),
        operator.setitem: _taking(3, _set_item),
        operator.concat: _taking(2, _concat),
        operator.iconcat: _taking(2, _iconcat),
    }
    if hasattr(operator, "call"):
        made[operator.call] = _call
    return made


for _function, _handler in _table().items():
    declare(_function, of_context=_handler)
