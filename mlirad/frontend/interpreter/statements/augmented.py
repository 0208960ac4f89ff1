"""Augmented assignment: in place for arrays and lists, a new value for anything else. The target is evaluated once, and
its value before the right side.

Reads: the target and the value. Writes: the state. Leaves: nothing.
"""

from __future__ import annotations

import ast
import dataclasses

import numpy as np

from mlirad.frontend.interpreter import (
    attribute_access,
    consuming,
    dispatch,
    indices,
    iteration,
    special_methods,
    storage,
    variables,
)
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.expressions import expressions, item_access
from mlirad.frontend.interpreter.expressions.expressions import BINARY, UFUNCS
from mlirad.frontend.interpreter.special_methods import BINARY as SPECIAL
from mlirad.frontend.interpreter.statements import assigning
from mlirad.frontend.values.basic_indexing import is_basic
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Object, Ref, Static, Value
from mlirad.library.python import builtin


def augmented(context: Context, node: ast.AugAssign) -> None:
    target = node.target
    if isinstance(target, ast.Name):
        context.push(variables.lookup(context, target.id))
        right = dispatch.expression(context, node.value)
        variables.bind(context, target.id, in_place(context, node.op, context.pop(), right))
        return
    if isinstance(target, ast.Attribute):
        context.push(dispatch.expression(context, target.value))
        context.push(attribute_access.attribute(context, context.top(), target.attr))
        right = dispatch.expression(context, node.value)
        current = context.pop()
        context.push(in_place(context, node.op, current, right))
        base, new = context.pop_many(2)
        assigning.set_attribute(context, base, target.attr, new)
        return
    base, index = context.evaluate_all(
        [lambda: dispatch.expression(context, target.value), lambda: expressions.index_of(context, target.slice)]
    )
    context.push(base, index)
    with context.at(target):
        context.push(item_access.get_item(context, base, index))
    right = dispatch.expression(context, node.value)
    current = context.pop()
    new = in_place(context, node.op, current, right)
    base, index = context.pop_many(2)
    if (
        isinstance(context.use(base), Ref)
        and isinstance(current, Ref)
        and is_basic(indices.index_operand(context, index))
    ):
        return  # in_place has written the view; storing it in itself changes nothing
    assigning.set_item(context, base, index, new)


def in_place(context: Context, op: ast.operator, current: Value, right: Value) -> Value:
    text = "unsupported operand type(s): 'NoneType'"
    current, right = context.present(current, text), context.present(right, text)
    if (found := special_methods.special(context, current, f"__i{SPECIAL[type(op)]}__", right)) is not None:
        return found
    if special_methods.users_class(context, current) is not None:
        return expressions.binary(context, op, current, right)
    if isinstance(current, Object) and is_numpys(right, op):
        return expressions.binary(context, op, current, right)  # NumPy's operator comes before the list's
    if context.grown(current) is not None and isinstance(op, ast.Add):
        return extended(context, current, right)
    if isinstance(current, Object) and isinstance(op, ast.Add) and storage.entry_of(context, current).kind is list:
        if isinstance(iteration.length_of(context, right), Traced):
            return extended(context, current, right)
        entry = storage.entry_of(context, current)
        items = entry.items + consuming.elements(context, right)
        storage.change(context, current, dataclasses.replace(entry, keys=tuple(range(len(items))), items=items))
        return current
    if isinstance(current, Object) and isinstance(op, ast.Mult) and storage.entry_of(context, current).kind is list:
        times = storage.static(context, right, "how often a list is repeated")
        if not isinstance(times, int | np.integer):
            return expressions.binary(context, op, current, right)
        entry = storage.entry_of(context, current)
        items = entry.items * int(times)
        storage.change(context, current, dataclasses.replace(entry, keys=tuple(range(len(items))), items=items))
        return current
    if isinstance(current, Object) and isinstance(op, ast.BitOr):
        storage.change(
            context,
            current,
            expressions.united(context, storage.entry_of(context, current), expressions.dict_entry(context, right)),
        )
        return current
    if not isinstance(current, Ref):
        return expressions.binary(context, op, current, right)
    storage.require_writable(context, current)
    operand = storage.operand(context, right)
    function = BINARY[type(op)]
    storage.assign_array(context, current, function(context.read(current), operand), UFUNCS[type(op)])
    return current


def is_numpys(value: Value, op: ast.operator) -> bool:
    """Whether the operator next to a list is NumPy's, even in place: an array's, or a NumPy number's except `*`."""
    if isinstance(value, Ref):
        return True
    if isinstance(op, ast.Mult):
        return False  # an integer repeats the list
    if isinstance(value, Static):
        return isinstance(value.value, np.generic)
    return isinstance(value, Traced) and not value.weak


def extended(context: Context, current: Value, right: Value) -> Value:
    """The list after `current += right`: a loop appends the items."""
    context.push(current)
    dispatch.call(context, Static(builtin.extend), (current, right), {})
    return context.pop()
