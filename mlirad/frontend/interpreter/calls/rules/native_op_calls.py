"""Calls of native functions that the user has registered as ops.

Reads: a NativeOp and the arguments of a call. Writes: nd.native on operands in the function's own dtypes, broadcast
together. If the function has a rule, nd.native is in a function with that rule. Leaves: a number, or a new array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlirad.contract.registered_ops import NativeOp
from mlirad.dialect.functions.native_elements import native_elements
from mlirad.errors import DTypeError
from mlirad.frontend.interpreter import indices, storage
from mlirad.frontend.interpreter.calls.rules import rule_calls
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.values.nep50 import Several, StandIn, strong, widest
from mlirad.frontend.values.sizes import broadcast_shapes
from mlirad.frontend.values.traced import Traced, as_operand, in_type, origins_of, shape_of, stand_in
from mlirad.frontend.values.values import Tuple, Value
from mlirad.library.own_rules import registered


def call_native(context: Context, function: NativeOp, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """The result of a ufunc with that function. A rule gets arguments of one shape, in the function's dtypes."""
    name, count = function.__name__, len(function.prototype.arguments)
    if kwargs:
        raise DTypeError(f"{name}() takes no keyword arguments", context.location)
    if len(args) != count:
        taken = f"{count} argument{'s' * (count != 1)}"
        raise DTypeError(f"{name}() takes {taken} but {len(args)} were given", context.location)
    operands = [storage.operand(context, arg) for arg in args]
    rule = registered(function)
    if rule is None or id(function) in context.calling.plain:
        return indices.computed(context, lambda: _computed(function, operands))
    converted = indices.computed(context, lambda: tuple(_converted(function, operands)))
    assert isinstance(converted, Tuple)
    return rule_calls.call_of_rule(context, rule, None, converted.items, {})


def _computed(function: NativeOp, operands: Sequence[Any]) -> Traced:
    values = _converted(function, operands)
    return Traced(native_elements(function, *(each.expr for each in values)), origins=origins_of(*values))


def _converted(function: NativeOp, operands: Sequence[Any]) -> list[Traced]:
    """The operands as the function takes them, broadcast together. Raises DTypeError where a ufunc would."""
    values = [as_operand(operand) for operand in operands]
    shape = broadcast_shapes(*map(shape_of, values))
    found: list[Traced] = []
    for number, (value, dtype) in enumerate(zip(values, function.prototype.arguments, strict=True)):
        try:
            function.require(number, _source(stand_in(value)))
        except TypeError as error:
            raise DTypeError(str(error)) from None
        found.append(Traced(in_type(value, dtype, shape), origins=origins_of(value)))
    return found


def _source(operand: StandIn) -> Any:
    """The dtype of an argument, or the class of a Python number."""
    if isinstance(operand, type | Several):
        return widest(operand)
    return strong(operand)
