"""Reads and writes the contents of objects and arrays; converts values to and from operands of NumPy's functions.

Reads: the heap and the store of the state. Writes: both, and ops. Leaves: entries, contents, operands.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType, GeneratorType
from typing import Any

import numpy as np
from xdsl.dialects.scf import IfOp, YieldOp
from xdsl.ir import Block

from mlirad.dialect.core.expr import Expr, building, insert, where
from mlirad.dialect.ops.check import check
from mlirad.errors import DEVIATIONS, UnsupportedSyntaxError
from mlirad.frontend.interpreter import grown_lists
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.join.steering import Restart
from mlirad.frontend.join.value_names import name
from mlirad.frontend.numpy import numpy_elementwise
from mlirad.frontend.program import purity
from mlirad.frontend.values import known_facts
from mlirad.frontend.values.assignment import assignable
from mlirad.frontend.values.descriptions import is_same
from mlirad.frontend.values.poison import PoisonUsed
from mlirad.frontend.values.traced import Traced, as_operand, of_array, require_static
from mlirad.frontend.values.value_parts import inside
from mlirad.frontend.values.values import (
    Bound,
    Closure,
    Entry,
    Lazy,
    Object,
    Partial,
    Ref,
    Static,
    Transformed,
    Tuple,
    Value,
    kind_of,
)
from mlirad.frontend.values.views import view_contents
from mlirad.library.python.collection_classes import Deque
from mlirad.library.python.iterators import Flat

_SEEN_AS = {Flat: "line", Deque: "items"}
"""Classes of the library whose objects NumPy's functions take as arrays or lists, and the attribute that is one."""


def entry_of(context: Context, value: Object) -> Entry:
    entry = context.state.heap[value.number]
    if entry.poison is not None:
        raise PoisonUsed(entry.poison)
    return entry if entry.growth is None else grown_lists.listed(context, entry)


def kind_of_object(context: Context, value: Object) -> type:
    entry = context.state.heap[value.number]
    return entry.kind if entry.growth is not None else entry_of(context, value).kind


def change(context: Context, value: Object, entry: Entry) -> None:
    """Give an object new items."""
    grown_lists.require_free(context, value.number)
    old = entry_of(context, value)
    owner = old.borrowed
    if owner is not None and entry.poison is None and old.keys == entry.keys:
        if all(is_same(a, b) for a, b in zip(old.items, entry.items, strict=True)):
            return  # `d["x"] += y` has changed the array d["x"] itself, and not the dict
    context.changes_copies |= owner is not None
    if owner is not None and owner.of is None and owner.container is not None and not owner.is_shared:
        if owner.container not in context.findings.changed:
            context.findings.changed[owner.container] = old.keys
            raise Restart("a list, dict or dataclass of the caller is changed")
    elif owner is not None and (owner.of is None or owner.is_shared):
        copy = "list(x)" if old.kind is list else "dict(x)" if old.kind is dict else "dataclasses.replace(x)"
        raise context.refusal(f"this would change {owner.name}", f"copy it first: x = {copy}")
    context.state.heap[value.number] = entry


def require_writable(context: Context, array: Ref) -> None:
    """Raise at run time, because the path may never be taken."""
    message = "assignment destination is read-only"
    readonly = [index for index, alternative in enumerate(array.alternatives) if alternative.view.readonly]
    if array.selector is None or len(readonly) == len(array.alternatives):
        if readonly:
            raise context.failed("ValueError", message)
        return
    for index in readonly:
        check(array.selector != index, "ValueError", message)


def note_write(context: Context, cells: set[int]) -> None:
    """Note a write to these cells."""
    context.writes += 1
    for variable, value in context.state.frames.get(0, {}).items():
        arrays = (each for each in inside(value) if isinstance(each, Ref))
        for position, array in enumerate(arrays):
            if any(alternative.cell in cells for alternative in array.alternatives):
                context.reached_by_writes.add((variable, position))


def write(context: Context, array: Ref, new: Expr) -> None:
    """Replace the elements of an array; `new` has its shape and dtype."""
    note_write(context, {alternative.cell for alternative in array.alternatives})
    for alternative in array.alternatives:
        grown_lists.require_free(context, alternative.cell)
    for index, alternative in enumerate(array.alternatives):
        old = context.state.store[alternative.cell]
        if array.selector is None:
            changed = view_contents.put(alternative.view, old, new)
            name(changed.value, old.value.name_hint)
            context.state.store[alternative.cell] = changed
            continue
        if alternative.view.readonly:
            continue  # already checked not to be this one
        # An scf.if instead of a select of tensors: it is done in place.
        taken, kept = Block(), Block()
        with building(taken), known_facts.scope():
            insert(YieldOp(view_contents.put(alternative.view, old, new).value))
        with building(kept):
            insert(YieldOp(old.value))
        op = insert(IfOp((array.selector == index).value, [old.type], [taken], [kept]))
        name(op.results[0], old.value.name_hint)
        context.state.store[alternative.cell] = Expr(op.results[0])


def assign_array(context: Context, array: Ref, value: Any, in_place: np.ufunc | None = None) -> None:
    """`array[...] = value`; with `in_place`, as the result of that ufunc with `out=array`."""
    write(context, array, assignable(value, array.shape, array.dtype, in_place))


def write_where(context: Context, array: Ref, contents: Expr, mask: Any) -> None:
    """Write the array where a mask is true, after broadcasting it to the array."""
    old = context.read(array).expr
    write(context, array, where(numpy_elementwise.truths(as_operand(mask), array.shape), contents, old))


# Conversions between the interpreter's values and the values of numpy_calls.


def operand(context: Context, value: Value) -> Any:
    """A value as NumPy's functions take it: Traced contents, Python objects, tuples and lists of them."""
    value = context.use(value)
    match value:
        case Static():
            if not purity.is_constant(value.value):
                raise changing(context, value.value)
            return value.value
        case Traced():
            return value
        case Ref():
            return context.read(value)
        case Tuple():
            return tuple(operand(context, item) for item in value.items)
        case Object():
            entry = context.state.heap[value.number]
            if entry.growth is not None:
                return grown_lists.stacked(context, entry)
            entry = entry_of(context, value)
            if (name := _SEEN_AS.get(entry.kind)) is not None:
                return operand(context, entry.items[entry.keys.index(name)])
            items = [operand(context, item) for item in entry.items]
            if entry.kind is dict:
                return dict(zip(entry.keys, items, strict=True))
            if entry.kind is list:
                return items
        case Lazy() if value.kind is str:
            what = "text that contains a run-time number is compiled only in print, raise and assert"
            raise context.refusal(what, "print it, or compose it outside")
    raise context.refusal(f"{described(context, value)} cannot be an operand here")


def described(context: Context, value: Value) -> str:
    """A description of a value for messages; for an object, its class too."""
    if isinstance(value, Object) and (kind := kind_of_object(context, value)) not in (list, dict):
        return f"an object of class {kind.__name__}"
    return kind_of(value)


def may_have(context: Context, value: Value, *methods: str) -> bool:
    """Whether Python's object for a value may have one of these special methods. If it has none, Python raises a
    TypeError where one is needed, which the program may catch; otherwise the use is only not compiled."""
    match value:
        case Static():
            kind = type(value.value)
            kind = float if issubclass(kind, np.generic) else kind  # __getitem__ takes only () and ...
        case Object():
            kind = kind_of_object(context, value)
        case Tuple():
            kind = value.kind
        case Lazy():
            kind = value.kind if isinstance(value.kind, type) else GeneratorType
        case Traced():
            kind = float
        case Closure() | Bound() | Partial() | Transformed():
            kind = FunctionType
        case _:
            return True
    return any(hasattr(kind, method) for method in methods)


def changing(context: Context, value: Any) -> UnsupportedSyntaxError:
    """The refusal of an object that may be another one at the next call."""
    kind = type(value).__name__
    if isinstance(value, Iterator):
        return context.refusal(f"an iterator ({kind}) is used up by the first call", "make a list of it outside")
    hint = "take numbers, arrays, lists, dicts and tuples out of it first, or read its attributes"
    return context.refusal(f"the contents of an object of class {kind} may change between calls", hint, DEVIATIONS)


def result(context: Context, value: Any, strides: tuple[int, ...] | None = None) -> Value:
    """The result of a NumPy function as a value: arrays are new."""
    if isinstance(value, Traced):
        return context.new_array(value.contents, strides) if value.is_array else value
    if isinstance(value, tuple):
        kind = type(value) if hasattr(type(value), "_fields") else tuple
        return Tuple(tuple(result(context, item) for item in value), kind)
    if isinstance(value, list):
        return context.new_list(result(context, item) for item in value)
    if isinstance(value, dict):
        return context.new_object(Entry(dict, tuple(value), tuple(result(context, item) for item in value.values())))
    if isinstance(value, np.ndarray):
        return result(context, of_array(value))
    return Static(value)


def static(context: Context, value: Value, what: str) -> Any:
    """A value's Python object at compile time. Raises NeedStatic if it is unknown."""
    return require_static(operand(context, value), what)
