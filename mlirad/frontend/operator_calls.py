"""The functions of the module operator: each is the operator that it is named after.

Reads: values. Writes: ops, and what the operators in place write. Leaves: values.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from mlirad.frontend.calls import Calls
from mlirad.frontend.comparisons import COMPARE
from mlirad.frontend.expressions import BINARY, UNARY
from mlirad.frontend.iteration import Iteration
from mlirad.frontend.merge import kind_of
from mlirad.frontend.values import Object, Static, Tuple, Value

_Args = tuple[Value, ...]


class OperatorCalls(Iteration, Calls):
    """What the functions of the module operator are made of: operators, items and calls."""

    def none_of(self, kwargs: dict[str, Value], what: str) -> None:
        if kwargs:
            raise self.refusal(f"{what} takes no keyword {next(iter(kwargs))!r} here")


Handler = Callable[[OperatorCalls, _Args, dict[str, Value]], Value]


def _taking(count: int, handler: Callable[..., Value]) -> Handler:
    def handle(machine: OperatorCalls, args: _Args, kwargs: dict[str, Value]) -> Value:
        machine.none_of(kwargs, "a function of the module operator")
        if len(args) != count:
            raise machine.refusal(f"this function of the module operator takes {count} arguments, not {len(args)}")
        return handler(machine, *args)

    return handle


def _set_item(machine: OperatorCalls, base: Value, index: Value, value: Value) -> Value:
    machine.set_item(base, index, value)
    return Static(None)


def _sequences(machine: OperatorCalls, *values: Value) -> None:
    for value in map(machine.use, values):
        is_list = isinstance(value, Object) and machine.entry(value).kind is list
        if not (is_list or isinstance(value, Tuple) or (isinstance(value, Static) and isinstance(value.value, str))):
            raise machine.refusal(f"{kind_of(value)} cannot be concatenated by the module operator")


def _concat(machine: OperatorCalls, left: Value, right: Value) -> Value:
    _sequences(machine, left, right)
    return machine.binary(ast.Add(), left, right)


def _iconcat(machine: OperatorCalls, left: Value, right: Value) -> Value:
    _sequences(machine, left, right)
    return machine.in_place(ast.Add(), left, right)


def _call(machine: OperatorCalls, args: _Args, kwargs: dict[str, Value]) -> Value:
    if not args:
        raise machine.refusal("operator.call takes a function")
    return machine.call(args[0], args[1:], kwargs)


def _table() -> dict[Any, Handler]:
    made: dict[Any, Handler] = {}
    for kind, function in BINARY.items():
        in_place = getattr(operator, f"i{function.__name__.strip('_')}")
        made[function] = _taking(2, lambda machine, a, b, kind=kind: machine.binary(kind(), a, b))
        made[in_place] = _taking(2, lambda machine, a, b, kind=kind: machine.in_place(kind(), a, b))
    for kind, function in {**COMPARE, ast.Is: operator.is_, ast.IsNot: operator.is_not}.items():
        made[function] = _taking(2, lambda machine, a, b, kind=kind: machine.compare(kind(), a, b))
    for kind, function in {**UNARY, ast.Not: operator.not_}.items():
        made[function] = _taking(1, lambda machine, x, kind=kind: machine.unary(kind(), x))
    made |= {
        operator.inv: made[operator.invert],
        operator.abs: _taking(1, lambda machine, x: machine.call(Static(abs), (x,), {})),
        operator.truth: _taking(1, lambda machine, x: machine.call(Static(bool), (x,), {})),
        operator.index: _taking(1, lambda machine, x: machine.result(machine.integer(x))),
        operator.contains: _taking(2, lambda machine, a, b: machine.compare(ast.In(), b, a)),
        operator.getitem: _taking(2, lambda machine, a, b: machine.get_item(a, b)),
        operator.setitem: _taking(3, _set_item),
        operator.concat: _taking(2, _concat),
        operator.iconcat: _taking(2, _iconcat),
    }
    if hasattr(operator, "call"):
        made[operator.call] = _call
    return made


OPERATORS: Mapping[Any, Handler] = _table()
