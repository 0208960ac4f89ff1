"""`del`: names, and items of lists and dicts.

Reads: targets. Writes: the state. Leaves: nothing.
"""

from __future__ import annotations

import ast
import dataclasses

from mlirad.errors import CompileError
from mlirad.frontend.interpreter import dispatch, indices, special_methods, storage, variables
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.expressions import expressions, list_items
from mlirad.frontend.interpreter.statements import assigning
from mlirad.frontend.values.values import Object, Static, Value


def delete(context: Context, target: ast.expr) -> None:
    with context.at(target):
        match target:
            case ast.Name():
                variables.unbind(context, target.id)
            case ast.Tuple() | ast.List():
                for each in target.elts:
                    delete(context, each)
            case ast.Subscript():
                base, index = context.evaluate_all(
                    [
                        lambda: dispatch.expression(context, target.value),
                        lambda: expressions.index_of(context, target.slice),
                    ]
                )
                delete_item(context, base, index)
            case _:
                raise context.refusal("an attribute cannot be deleted here", "set it to None")


def without_deletion(context: Context, base: Value) -> CompileError:
    """The refusal to delete an item of a value."""
    if isinstance(base, Static) and storage.may_have(context, base, "__delitem__"):
        return storage.changing(context, base.value)
    refusal = context.refusal(f"items of {storage.described(context, base)} cannot be deleted")
    return refusal if storage.may_have(context, base, "__delitem__") else refusal.as_raised(TypeError)


def delete_item(context: Context, base: Value, index: Value) -> None:
    base = context.use(base)
    if special_methods.special(context, base, "__delitem__", index) is not None:
        return
    if not isinstance(base, Object):
        raise without_deletion(context, base)
    if context.grown(base) is not None:
        if isinstance(indices.index_operand(context, index), slice):
            why = "a slice of a list whose length is known only at run time cannot be deleted"
            raise context.refusal(why, "write xs = xs[:i] + xs[j:]")
        list_items.pop_element(context, base, (index,))
        return
    entry = storage.entry_of(context, base)
    if entry.kind is dict:
        key = storage.static(context, index, "a key of a dict")
        items = dict(zip(entry.keys, entry.items, strict=True))
        if key not in items:
            raise context.failed("KeyError", repr(key))
        del items[key]
        storage.change(context, base, dataclasses.replace(entry, keys=tuple(items), items=tuple(items.values())))
        return
    if entry.kind is not list:
        raise without_deletion(context, base)
    position = storage.static(context, assigning.as_slice_or_number(context, index), "the index of a list")
    left = list(entry.items)
    if not isinstance(position, slice) and not -len(left) <= int(position) < len(left):
        raise context.failed("IndexError", "list assignment index out of range")
    del left[position]
    storage.change(context, base, dataclasses.replace(entry, keys=tuple(range(len(left))), items=tuple(left)))
