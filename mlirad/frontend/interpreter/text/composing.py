"""Text that contains run-time values, composed as by `str`, `repr` and `format`.

Reads: values. Writes: only copies of arrays. Leaves: `Text`: a template and the values in its places. As a value of the
program it is a `Lazy` of class str.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import numpy as np

from mlirad.errors import UnsupportedSyntaxError
from mlirad.frontend.interpreter import special_methods, storage
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.program import purity
from mlirad.frontend.values.traced import Traced, as_traced
from mlirad.frontend.values.values import Entry, Lazy, Object, Ref, Static, Tuple, Value, kind_of
from mlirad.raised_exceptions import PLACE, filled

_SHOWN_AS_PYTHONS = (np.float64, np.int64, np.bool_)
"""The dtypes with numbers that `str` and `format` show like Python's: format() of a float32 shows the float64."""
CONVERSIONS: dict[str, Callable[[Any], str]] = {"s": str, "r": repr, "a": ascii}


@dataclass
class Text:
    """A template in the form that `raised_exceptions.filled` reads, and the values in its places: numbers and
    arrays."""

    template: str = ""
    values: list[Value] = field(default_factory=list)

    def write(self, text: str) -> None:
        self.template += text.replace("{", "{{").replace("}", "}}")

    def place(self, kind: str, conversion: str, spec: str, value: Value) -> None:
        how = f"{'!' if conversion else ''}{conversion}{':' if spec else ''}{spec}"
        self.template += f"{{{len(self.values)}.{kind}{how}}}"
        self.values.append(value)

    def append(self, template: str, values: Sequence[Value]) -> None:
        """Append another text."""
        start = len(self.values)
        self.template += PLACE.sub(
            lambda found: found[0] if found[1] is None else f"{{{int(found[1]) + start}{found[0][1 + len(found[1]) :]}",
            template,
        )
        self.values += values

    def value(self) -> Value:
        """The text as a value of the program."""
        if not self.values:
            return Static(filled(self.template, lambda _number, _kind: None))
        return Lazy(str, (Static(self.template), *self.values))


def is_text(value: Value) -> bool:
    """Whether a value is a str."""
    return (isinstance(value, Lazy) and value.kind is str) or (isinstance(value, Static) and type(value.value) is str)


def show(context: Context, text: Text, value: Value, conversion: str = "", spec: str = "") -> None:
    """Write a value as `format` shows it, or after a conversion; "%": as the operator % shows it."""
    value = context.use(value)
    match value:
        case Ref() | Traced():
            _show_number(context, text, value, conversion, spec)
        case Lazy() if value.kind is str:
            if spec or conversion in ("r", "a"):
                raise context.refusal(
                    "text that contains run-time values cannot be formatted again", "format its parts"
                )
            template, *values = value.parts
            text.append(storage.static(context, template, "a text"), values)
        case Static() if isinstance(value.value, np.bool_ | np.integer | np.floating):
            _show_number(context, text, as_traced(value.value), conversion, spec)
        case Static():
            text.write(_static_text(context, value.value, conversion, spec))
        case Tuple() | Object():
            if spec:
                kind = value.kind if isinstance(value, Tuple) else storage.kind_of_object(context, value)
                raise context.failed("TypeError", f"unsupported format string passed to {kind.__name__}.__format__")
            _show_items(context, text, value, is_repr=conversion in ("r", "a"))
        case _:
            raise context.refusal(f"{kind_of(value)} cannot be shown as text in a compiled function")


def _show_number(context: Context, text: Text, value: Ref | Traced, conversion: str, spec: str) -> None:
    """Write a run-time number or an array. If Python refuses it, the same error is raised in the same place."""
    if isinstance(value, Ref):
        kind, sample = value.dtype.name, np.ones([2 if not isinstance(n, int) else n for n in value.shape], value.dtype)
        value = context.new_array(context.read(value).contents, shape=value.shape)
    else:
        if value.several is not None or (value.either is not None and _depends_on_kind(value, conversion)):
            hint = "start with np.float64(0.0) instead of 0.0, or write float(x) or int(x) here"
            raise context.refusal(f"this is {kind_of(value)}, depending on the path, and their texts differ", hint)
        kind = value.kind.__name__ if value.weak else value.dtype.name
        sample = value.kind(1) if value.weak else value.dtype.type(1)
    is_float = isinstance(value, Traced) and not value.weak and value.kind is float
    if conversion == "s" and not spec and not is_float:
        conversion = ""  # format() gives the same as str()
    kind = "bool_" if kind == "bool" and not (isinstance(value, Traced) and value.weak) else kind
    place = Text()
    place.place(kind, conversion, spec, value)
    try:
        filled(place.template, lambda _number, _kind: sample)
    except (TypeError, ValueError) as error:
        raise context.failed(type(error).__name__, str(error)) from None
    text.append(place.template, place.values)


def _depends_on_kind(number: Traced, conversion: str) -> bool:
    """Whether the text of a number that is Python's on one path and NumPy's on another depends on the path."""
    return conversion in ("r", "a") or number.dtype not in _SHOWN_AS_PYTHONS


def _static_text(context: Context, value: Any, conversion: str, spec: str) -> str:
    """The text of a value known at compile time."""
    if isinstance(value, Exception):  # caught by a handler
        value = str(value)
    try:
        if conversion == "%":
            plain = purity.text_of(value, repr if spec[-1:] == "r" else str)
            return f"%{spec}" % (value,) if plain is not None else text_of(context, value, str)
        if conversion:
            value = text_of(context, value, CONVERSIONS[conversion])
        return text_of(context, value, format, spec)
    except (TypeError, ValueError) as error:
        raise context.failed(type(error).__name__, str(error)) from None


def text_of(context: Context, value: Any, function: Callable[..., str], *rest: str) -> str:
    """str(), repr() or format() of a constant."""
    text = purity.text_of(value, function, *rest)
    if text is None:
        raise no_constant_text(context, value)
    return text


def no_constant_text(context: Context, value: Any) -> UnsupportedSyntaxError:
    """The refusal of a text that depends on more than the value."""
    kind = type(value).__name__
    return context.refusal(f"the text of an object of class {kind} may change between calls", "make it outside")


# Containers, which show the `repr` of their items.


def _show_items(context: Context, text: Text, value: Tuple | Object, *, is_repr: bool) -> None:
    for name in ("__repr__",) if is_repr else ("__str__", "__repr__"):
        if name == "__repr__" and _has_made_repr(special_methods.users_class(context, value)):
            break
        if (made := special_methods.special(context, value, name)) is not None:
            show(context, text, made)
            return
    if isinstance(value, Tuple):
        names = getattr(value.kind, "_fields", None)
        if names is None:
            end = ",)" if len(value.items) == 1 else ")"
            _show_sequence(context, text, "(", [("", item) for item in value.items], end)
        else:
            pairs = [(f"{name}=", item) for name, item in zip(names, value.items, strict=True)]
            _show_sequence(context, text, f"{value.kind.__name__}(", pairs, ")")
        return
    if context.grown(value) is not None:
        raise context.refusal(
            "a list with a length known only at run time cannot be shown as text", "show np.array(xs) instead"
        )
    entry = storage.entry_of(context, value)
    if entry.kind is list:
        _show_sequence(context, text, "[", [("", item) for item in entry.items], "]")
    elif entry.kind is dict:
        keys = [text_of(context, key, repr) + ": " for key in entry.keys]
        _show_sequence(context, text, "{", list(zip(keys, entry.items, strict=True)), "}")
    else:
        _show_dataclass(context, text, entry)


def _has_made_repr(kind: type | None) -> bool:
    """Whether `__repr__` was generated by the module dataclasses, or by `namedtuple`."""
    made = None if kind is None else inspect.unwrap(purity.class_attribute(kind, "__repr__"))
    is_named = isinstance(made, FunctionType) and made.__globals__.get("__name__") == "collections"
    return is_named or (isinstance(made, FunctionType) and made.__code__.co_qualname.startswith("__create_fn__"))


def _show_dataclass(context: Context, text: Text, entry: Entry) -> None:
    if not _has_made_repr(entry.kind):
        name = entry.kind.__name__
        raise context.refusal(f"the text of an object of class {name} contains its address", f"define {name}.__repr__")
    fields = entry.kind.__dataclass_fields__
    items = dict(zip(entry.keys, entry.items, strict=True))
    pairs = [(f"{name}=", items[name]) for name, each in fields.items() if each.repr]
    _show_sequence(context, text, f"{entry.kind.__qualname__}(", pairs, ")")


def _show_sequence(context: Context, text: Text, start: str, items: Sequence[tuple[str, Value]], end: str) -> None:
    text.write(start)
    for number, (name, item) in enumerate(items):
        text.write(f"{', ' if number else ''}{name}")
        show(context, text, item, "r")
    text.write(end)
