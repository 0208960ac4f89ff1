"""Operators of the user's classes: `__add__`, `__eq__`, `__getitem__` and similar methods are called.

Reads: values. Writes: ops, through the methods. Leaves: the method's result; None if no class has one: then the
operator has its usual meaning on numbers, arrays and sequences.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import FunctionType

import numpy as np

from mlirad.errors import DTypeError
from mlirad.frontend.interpreter import attribute_access, dispatch, outside_objects, storage
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.program import purity
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Object, Ref, Static, Tuple, Value, kind_of
from mlirad.tree import sparse_names

Methods = tuple[str, str]
BINARY: Mapping[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
}
"""Maps the names of operators to the names of their methods."""


_COMPARED: Mapping[type[ast.cmpop], Methods] = {
    ast.Eq: ("__eq__", "__eq__"),
    ast.NotEq: ("__ne__", "__ne__"),
    ast.Lt: ("__lt__", "__gt__"),
    ast.LtE: ("__le__", "__ge__"),
    ast.Gt: ("__gt__", "__lt__"),
    ast.GtE: ("__ge__", "__le__"),
}
UNARY: Mapping[type[ast.unaryop], str] = {ast.USub: "__neg__", ast.UAdd: "__pos__", ast.Invert: "__invert__"}


def users_class(context: Context, value: Value) -> type | None:
    """The class of a value that may have operators written by the user; None for all others."""
    match value:
        case Object():
            kind = storage.kind_of_object(context, value)
            return None if kind in (list, dict) else kind
        case Tuple() if value.kind is not tuple:
            return value.kind
        case Static() if not purity.is_constant(value.value):
            return None if isinstance(value.value, purity.SetCopy | np.generic) else type(value.value)
    return None


def special(context: Context, value: Value, name: str, *args: Value) -> Value | None:
    """The result of a special method that the user has written; None if the class of the value has none."""
    kind = users_class(context, value)
    if kind is None or not _has(kind, name):
        return None
    is_from_around = isinstance(value, Static)
    method = (
        attribute_access.attribute(context, value, name)
        if is_from_around
        else outside_objects.attribute_of_class(context, value, kind, name)
    )
    return dispatch.call(context, method, args, {})


def operated(context: Context, op: ast.operator, left: Value, right: Value) -> Value | None:
    """`left op right` by the methods of one of their classes."""
    name = BINARY[type(op)]
    return by_methods(context, (f"__{name}__", f"__r{name}__"), left, right)


def compared(context: Context, op: ast.cmpop, left: Value, right: Value) -> Value | None:
    """`left op right` by the methods of one of their classes."""
    return by_methods(context, _COMPARED[type(op)], left, right)


def by_methods(context: Context, names: Methods, left: Value, right: Value) -> Value | None:
    """Ask like Python: first the left operand, then the right; the right one first if its class is derived."""
    first, second = users_class(context, left), users_class(context, right)
    if first is None and second is None:
        return None
    asked = [(left, names[0], right), (right, names[1], left)]
    is_arithmetic = names[1].startswith("__r")
    if first is not None and second is not None:
        if first is second and is_arithmetic:
            asked.pop()
        elif first is not second and issubclass(second, first):
            own, inherited = (purity.class_attribute(kind, names[1]) for kind in (second, first))
            if own is not inherited or not is_arithmetic:
                asked.reverse()
    elif second is not None and sparse_names(second) is not None:
        pass  # NumPy leaves it to them
    elif second is not None and _is_of_numpy(left) and _has(second, names[1]):
        hint = f"write float(x) if it is a number, or call a method of {second.__name__}"
        raise context.refusal(f"NumPy treats {kind_of(left)} and an object as arrays of objects", hint)
    elif first is not None and isinstance(right, Ref) and not _has(first, names[0]) and not is_arithmetic:
        raise context.refusal(f"NumPy compares {kind_of(right)} with an object as arrays of objects")
    for receiver, name, other in asked:
        found = special(context, receiver, name, other)
        if found is not None and not (isinstance(found, Static) and found.value is NotImplemented):
            return found
    return None


def no_operator(context: Context, spelled: str, *operands: Value) -> DTypeError:
    """The refusal of operands with classes that have no such operator."""
    kinds = [users_class(context, value) for value in operands]
    named = " and ".join(
        kind_of(value) if kind is None else f"an object of class {kind.__name__}"
        for value, kind in zip(operands, kinds, strict=True)
    )
    return DTypeError(f"{spelled} is not defined for {named}", context.location)


def _has(kind: type, name: str) -> bool:
    """Whether the user (and not the module dataclasses) has written a special method of a class."""
    stored = purity.class_attribute(kind, name)
    return isinstance(stored, FunctionType) and not stored.__code__.co_qualname.startswith("__create_fn__")


def _is_of_numpy(value: Value) -> bool:
    is_number = isinstance(value, Static) and isinstance(value.value, np.generic)
    return is_number or isinstance(value, Ref) or (isinstance(value, Traced) and not value.weak)
