"""Assignment to targets: names, tuples of them, items and attributes.

Reads: targets and values. Writes: the state. Leaves: nothing.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence
from types import MemberDescriptorType

from mlirad.errors import ShapeError
from mlirad.frontend.interpreter import (
    attribute_access,
    consuming,
    dispatch,
    indices,
    special_methods,
    storage,
    variables,
)
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.expressions import expressions, items_by_arrays, list_items
from mlirad.frontend.interpreter.grown_lists import is_integer
from mlirad.frontend.interpreter.statements import shapes_assigned
from mlirad.frontend.program import purity
from mlirad.frontend.values.basic_indexing import is_basic
from mlirad.frontend.values.traced import DATA, Traced
from mlirad.frontend.values.values import Object, Ref, Static, Tuple, Value, kind_of
from mlirad.library.python.iterators import assign_flat
from mlirad.tree import is_generator, sparse_names


def assign(context: Context, target: ast.expr, value: Value) -> None:
    with context.at(target):
        match target:
            case ast.Name():
                consuming.require_no_generator(context, value)
                variables.bind(context, target.id, value)
            case ast.Tuple() | ast.List():
                unpack(context, target.elts, value)
            case ast.Subscript():
                context.push(value)
                base, index = context.evaluate_all(
                    [
                        lambda: dispatch.expression(context, target.value),
                        lambda: expressions.index_of(context, target.slice),
                    ]
                )
                set_item(context, base, index, context.pop())
            case ast.Attribute():
                context.push(value)
                base = dispatch.expression(context, target.value)
                set_attribute(context, base, target.attr, context.pop())
            case _:
                raise context.refusal("this target of an assignment is not compiled")


def unpack(context: Context, targets: Sequence[ast.expr], value: Value) -> None:
    items = list(consuming.elements(context, value))
    starred = [position for position, target in enumerate(targets) if isinstance(target, ast.Starred)]
    if starred:
        position, tail = starred[0], len(targets) - starred[0] - 1
        if len(items) < len(targets) - 1:
            message = f"not enough values to unpack (expected at least {len(targets) - 1}, got {len(items)})"
            raise context.refusal(message).as_raised(ValueError)
        split = len(items) - tail
        items = [*items[:position], context.new_list(items[position:split]), *items[split:]]
    if len(items) != len(targets):
        few = "not enough" if len(items) < len(targets) else "too many"
        message = f"{few} values to unpack (expected {len(targets)}, got {len(items)})"
        raise ShapeError(message).as_raised(ValueError)
    context.push(*reversed(items))
    for target in targets:
        assign(context, target.value if isinstance(target, ast.Starred) else target, context.pop())


def set_item(context: Context, base: Value, index: Value, value: Value) -> None:
    base = context.use(base)
    if special_methods.special(context, base, "__setitem__", index, value) is not None:
        return
    match base:
        case Ref():
            set_array_item(context, base, index, value)
            return
        case Object():
            set_object_item(context, base, index, value)
            return
        case Tuple():
            raise context.refusal("a tuple cannot be changed", "use a list").as_raised(TypeError)
    if isinstance(base, Static) and storage.may_have(context, base, "__setitem__"):
        raise storage.changing(context, base.value)
    refusal = context.refusal(f"{storage.described(context, base)} cannot be assigned to by an index")
    raise refusal if storage.may_have(context, base, "__setitem__") else refusal.as_raised(TypeError)


def set_array_item(context: Context, array: Ref, index: Value, value: Value) -> None:
    position = indices.index_operand(context, index)
    operand = storage.operand(context, value)
    if not is_basic(position):
        items_by_arrays.set_item_by_arrays(context, array, position, operand)
        return
    part = indices.part(context, array, position)
    storage.require_writable(context, part)
    storage.assign_array(context, part, operand)


def set_object_item(context: Context, base: Object, index: Value, value: Value) -> None:
    if context.grown(base) is not None:
        list_items.set_element(context, base, index, value)
        return
    entry = storage.entry_of(context, base)
    if entry.kind not in (list, dict):
        raise context.refusal(f"{storage.described(context, base)} cannot be assigned to by an index")
    if entry.kind is dict:
        key = storage.static(context, index, "a key of a dict")
        items = dict(zip(entry.keys, entry.items, strict=True))
        if items.get(key) is value:
            return
        items[key] = value
        storage.change(context, base, dataclasses.replace(entry, keys=tuple(items), items=tuple(items.values())))
        return
    number = indices.index_operand(context, index)
    if is_integer(number) and DATA in number.origins and list_items.put_in_arrays(context, base, [value]):
        list_items.set_element(context, base, index, value)
        return
    position = storage.static(context, as_slice_or_number(context, index), "the index of a list")
    items = list(entry.items)
    if isinstance(position, slice):
        items[position] = consuming.elements(context, value)
    else:
        if not -len(items) <= int(position) < len(items):
            raise context.failed("IndexError", "list assignment index out of range")
        if items[int(position)] is value:
            return  # `l[0] += y` has changed the array l[0] itself, and not the list
        items[int(position)] = value
    storage.change(context, base, dataclasses.replace(entry, keys=tuple(range(len(items))), items=tuple(items)))


def as_slice_or_number(context: Context, index: Value) -> Value:
    operand = indices.index_operand(context, index)
    return operand if isinstance(operand, Traced) else Static(operand)


def set_attribute(context: Context, base: Value, name: str, value: Value) -> None:
    base = context.use(base)
    if isinstance(base, Ref) and name == "flat":
        dispatch.call(context, Static(assign_flat), (base, value), {})
        return
    if isinstance(base, Ref) and name == "shape":
        shapes_assigned.set_shape(context, base, value)
        return
    if isinstance(base, Ref) and name in ("real", "imag") and base.dtype.kind == "c":
        set_item(context, attribute_access.attribute(context, base, name), Static(...), value)
        return
    if not isinstance(base, Object) or (entry := storage.entry_of(context, base)).kind in (list, dict):
        raise context.refusal(f"setting an attribute of {kind_of(base)} is not compiled")
    if name in entry.keys:
        position = entry.keys.index(name)
        if entry.items[position] is value:
            return  # `a.x += y` has changed the array a.x itself
        changed = dataclasses.replace(entry, items=(*entry.items[:position], value, *entry.items[position + 1 :]))
    else:
        changed = dataclasses.replace(entry, keys=(*entry.keys, name), items=(*entry.items, value))
    require_attribute(context, entry.kind, name)
    storage.change(context, base, changed)


def require_attribute(context: Context, kind: type, name: str) -> None:
    """Check an assigned attribute: objects of the class must store it unchanged."""
    if sparse_names(kind) is not None:
        hint = "write in its arrays (A.data[...] = ...), or make another one"
        raise context.refusal(f"an attribute of a {kind.__name__} cannot be assigned", hint)
    if is_generator(kind):
        raise context.refusal("an attribute of a Generator cannot be assigned", "do it outside")
    if dataclasses.is_dataclass(kind):
        if kind.__dataclass_params__.frozen:  # pyright: ignore[reportAttributeAccessIssue]  # dataclasses has no function
            raise context.refusal(f"{kind.__name__} is frozen", "use dataclasses.replace")
        if name not in (field.name for field in dataclasses.fields(kind)):
            raise context.refusal(f"{kind.__name__} has no field {name!r}")
    elif isinstance(stored := purity.class_attribute(kind, name), MemberDescriptorType):
        return
    elif not kind.__dictoffset__:
        raise context.refusal(f"{kind.__name__!r} object has no attribute {name!r}").as_raised(AttributeError)
    elif hasattr(type(stored), "__set__"):
        raise context.refusal(f"the attribute {name!r} of {kind.__name__} has a setter, which is not compiled")
