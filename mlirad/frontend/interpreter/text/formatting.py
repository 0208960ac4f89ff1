"""Text expressions: f-strings, `%` and `+`, `str.format`, and `str`, `repr` and `format` of run-time values.

Reads: ast and values. Writes: nothing. Leaves: a Static str, or a text with run-time values; None for a call with only
known arguments, which the compiler evaluates like any other.
"""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Sequence
from types import BuiltinMethodType
from typing import Any

from mlirad.frontend.interpreter import dispatch, storage
from mlirad.frontend.interpreter.context import Context, Keywords
from mlirad.frontend.interpreter.dispatch import answers, visits
from mlirad.frontend.interpreter.text.composing import Text, is_text, show
from mlirad.frontend.numpy.declarations import interprets
from mlirad.frontend.values.values import Lazy, Object, Ref, Static, Traced, Tuple, Value

_WIDTH = r"(?:\*|\d+)?"
_PERCENT = re.compile(rf"%(?:\((?P<name>\w+)\))?(?P<spec>[#0\- +]*{_WIDTH}(?:\.{_WIDTH})?)[hlL]?(?P<type>.)?", re.S)


@visits(ast.JoinedStr)
def visit_joinedstr(context: Context, node: ast.JoinedStr) -> Value:
    values = context.evaluate_all([lambda part=part: _part(context, part) for part in node.values])
    text = Text()
    for value in values:
        show(context, text, value)
    return text.value()


def _part(context: Context, part: ast.expr) -> Value:
    """A text in an f-string, or the present value of an expression."""
    if not isinstance(part, ast.FormattedValue):
        return Static(ast.literal_eval(part))
    value = dispatch.expression(context, part.value)
    spec = ""
    if part.format_spec is not None:
        context.push(value)
        made = dispatch.expression(context, part.format_spec)
        value = context.pop()
        spec = storage.static(context, made, "a format")
    return _shown(context, value, chr(part.conversion) if part.conversion > 0 else "", spec)


def _shown(context: Context, value: Value, conversion: str = "", spec: str = "") -> Value:
    text = Text()
    show(context, text, value, conversion, spec)
    return text.value()


def _is_of_the_run(context: Context, value: Value) -> bool:
    """Whether the text of a value is known only at run time, possibly because of its parts."""
    value = context.use(value)
    return isinstance(value, Traced | Ref | Tuple | Object) or (isinstance(value, Lazy) and value.kind is str)


# Operators.


@answers(dispatch.text_operator)
def text_operator(context: Context, op: ast.operator, left: Value, right: Value) -> Value | None:
    """`left + right` and `left % right` of texts; None for anything else, and if both are known."""
    if isinstance(op, ast.Add) and is_text(left) and is_text(right):
        text = Text()
        show(context, text, left)
        show(context, text, right)
        return text.value()
    if isinstance(op, ast.Mod) and isinstance(left, Static) and type(left.value) is str:
        return _percent(context, left.value, right) if _is_of_the_run(context, right) else None
    return None


def _percent(context: Context, template: str, right: Value) -> Value:
    named = {}
    if isinstance(right, Object) and storage.kind_of_object(context, right) is dict:
        entry = storage.entry_of(context, right)
        named = dict(zip(entry.keys, entry.items, strict=True))
    given = list(right.items) if isinstance(right, Tuple) and right.kind is tuple else [right]
    text, end, used = Text(), 0, 0
    for found in _PERCENT.finditer(template):
        text.write(template[end : found.start()])
        end = found.end()
        name, spec, kind = found["name"], found["spec"], found["type"]
        if kind == "%" and not spec:
            text.write("%")
            continue
        if kind is None or kind not in "diouxXeEfFgGcrsa" or "*" in spec:
            raise context.refusal(f"the format {found[0]!r} is not compiled", "write an f-string")
        if name is None and used == len(given):
            raise context.failed("TypeError", "not enough arguments for format string")
        if name is not None and name not in named:
            raise context.failed("KeyError", repr(name) if named else "format requires a mapping")
        value = context.use(named[name] if name is not None else given[used])
        used += name is None
        if isinstance(value, Tuple | Object | Lazy) and not spec and kind in "sra":
            show(context, text, value, "" if kind == "s" else kind)
        else:
            show(context, text, value, "%", spec + kind)
    text.write(template[end:])
    if used < len(given) and not named:
        raise context.failed("TypeError", "not all arguments converted during string formatting")
    return text.value()


# Calls.


@interprets(str)
def builtin_str(context: Context, args: tuple[Value, ...], kwargs: Keywords) -> Value | None:
    is_plain = len(args) == 1 and not kwargs and _is_of_the_run(context, args[0])
    return _shown(context, args[0], "s") if is_plain else None


@interprets(repr)
def builtin_repr(context: Context, args: tuple[Value, ...], kwargs: Keywords) -> Value | None:
    is_plain = len(args) == 1 and not kwargs and _is_of_the_run(context, args[0])
    return _shown(context, args[0], "r") if is_plain else None


@interprets(format)
def builtin_format(context: Context, args: tuple[Value, ...], kwargs: Keywords) -> Value | None:
    if kwargs or not 1 <= len(args) <= 2 or not _is_of_the_run(context, args[0]):
        return None
    spec = storage.static(context, args[1], "a format") if len(args) == 2 else ""
    return _shown(context, args[0], spec=spec)


def method_of_text(context: Context, method: Any, args: Sequence[Value], kwargs: Keywords) -> Value | None:
    """`"...".format(...)` and `"...".join(...)` with run-time values; None for any other call."""
    owner = method.__self__ if isinstance(method, BuiltinMethodType) else None
    if type(owner) is not str or not any(_is_of_the_run(context, each) for each in (*args, *kwargs.values())):
        return None
    if method.__name__ == "format":
        return _format_method(context, owner, args, kwargs)
    if method.__name__ == "join" and len(args) == 1:
        return _join_method(context, owner, args[0])
    return None


def _format_method(context: Context, template: str, args: Sequence[Value], kwargs: Keywords) -> Value:
    text, used = Text(), 0
    places = list(string.Formatter().parse(template))
    if any(name == "" for _, name, _, _ in places) and any((name or "").isdecimal() for _, name, _, _ in places):
        raise context.refusal("the places of a format are numbered, or all are empty").as_raised(ValueError)
    for literal, name, spec, conversion in places:
        text.write(literal)
        if name is None:
            continue
        if not name:
            name, used = str(used), used + 1
        if "{" in (spec or "") or not (name.isdecimal() or name.isidentifier()):
            raise context.refusal(f"the place {name!r} of a format is not compiled", "write an f-string")
        if name.isdecimal() and int(name) >= len(args):
            error = f"Replacement index {int(name)} out of range for positional args tuple"
            raise context.failed("IndexError", error)
        if not name.isdecimal() and name not in kwargs:
            raise context.failed("KeyError", repr(name))
        show(context, text, args[int(name)] if name.isdecimal() else kwargs[name], conversion or "", spec or "")
    return text.value()


def _join_method(context: Context, separator: str, items: Value) -> Value | None:
    items = context.use(items)
    if isinstance(items, Object) and (
        context.grown(items) is not None or storage.kind_of_object(context, items) is not list
    ):
        return None
    if not isinstance(items, Tuple | Object):
        return None
    values = items.items if isinstance(items, Tuple) else storage.entry_of(context, items).items
    if not all(is_text(context.use(each)) for each in values):
        return None
    text = Text()
    for number, each in enumerate(values):
        text.write(separator if number else "")
        show(context, text, each)
    return text.value()
