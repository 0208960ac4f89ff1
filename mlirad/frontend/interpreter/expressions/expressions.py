"""Expressions: ast -> values.

Reads: ast and the state. Writes: ops, through Traced values' operators. Leaves: a Value, and the state after it.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlirad.errors import DTypeError
from mlirad.frontend.interpreter import (
    attribute_access,
    branches,
    consuming,
    dispatch,
    indices,
    special_methods,
    storage,
    variables,
)
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.dispatch import visits
from mlirad.frontend.interpreter.expressions import comparisons, conditions, item_access
from mlirad.frontend.interpreter.expressions.comparisons import as_value, negated
from mlirad.frontend.interpreter.special_methods import UNARY as UNARY_METHODS
from mlirad.frontend.program import purity
from mlirad.frontend.values.traced import is_static
from mlirad.frontend.values.values import Closure, Entry, Lazy, Object, Ref, Static, Tuple, Value, kind_of
from mlirad.library.python import builtin
from mlirad.library.python.collection_classes import DefaultDict

UFUNCS: dict[type[ast.operator], np.ufunc] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.FloorDiv: np.floor_divide,
    ast.Mod: np.remainder,
    ast.Pow: np.power,
    ast.MatMult: np.matmul,
    ast.BitAnd: np.bitwise_and,
    ast.BitOr: np.bitwise_or,
    ast.BitXor: np.bitwise_xor,
    ast.LShift: np.left_shift,
    ast.RShift: np.right_shift,
}
BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_OF_SETS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.Sub)
UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}


@visits(ast.Constant)
def visit_constant(_context: Context, node: ast.Constant) -> Value:
    return Static(node.value)


@visits(ast.Name)
def visit_name(context: Context, node: ast.Name) -> Value:
    return variables.lookup(context, node.id)


@visits(ast.NamedExpr)
def visit_namedexpr(context: Context, node: ast.NamedExpr) -> Value:
    value = dispatch.expression(context, node.value)
    if not isinstance(context.frame.scope.node, ast.FunctionDef | ast.Lambda):
        raise context.refusal(":= inside a comprehension is not compiled", "write a loop")
    variables.bind(context, node.target.id, value)
    return value


@visits(ast.BinOp)
def visit_binop(context: Context, node: ast.BinOp) -> Value:
    left, right = context.evaluate_all(
        [lambda: dispatch.expression(context, node.left), lambda: dispatch.expression(context, node.right)]
    )
    return binary(context, node.op, left, right)


def binary(context: Context, op: ast.operator, left: Value, right: Value) -> Value:
    """`left op right`; both are already evaluated."""
    text = "unsupported operand type(s): 'NoneType'"
    left, right = context.present(left, text), context.present(right, text)
    if (found := special_methods.operated(context, op, left, right)) is not None:
        return found
    if isinstance(op, ast.Add | ast.Mod) and (text := dispatch.text_operator(context, op, left, right)) is not None:
        return text
    if isinstance(left, Tuple | Object) or isinstance(right, Tuple | Object):
        combined = sequences(context, op, left, right)
        if combined is not None:
            return combined
    function = BINARY[type(op)]
    if (answer := comparisons.of_containers(context, function, left, right)) is not None:
        return answer
    a, b = storage.operand(context, left), storage.operand(context, right)
    if isinstance(a, purity.SetCopy) and isinstance(b, purity.SetCopy) and type(op) in _OF_SETS:
        return Static(purity.SetCopy(function(a, b)))
    if any(isinstance(x, purity.SetCopy) for x in (a, b)):
        raise context.refusal("operators of sets are not compiled", "compute the set outside, or use a frozenset")
    if isinstance(op, ast.Mod) and isinstance(a, str) and is_static(b) and not purity.has_plain_operands(a, b):
        kind = type(b).__name__
        raise context.refusal(f"the text of an object of class {kind} may change between calls", "make it outside")
    if isinstance(op, ast.MatMult) or isinstance(left, Tuple | Object) or isinstance(right, Tuple | Object):
        result = indices.computed(context, lambda: function(a, b))
        return indices.laid_out(context, result, UFUNCS[type(op)], (left, right), {})
    return indices.computed(context, lambda: function(a, b), indices.elementwise_strides(left, right))


def are_lists(context: Context, *values: Object) -> bool:
    return all(storage.kind_of_object(context, value) is list for value in values)


def sequences(context: Context, op: ast.operator, left: Value, right: Value) -> Value | None:
    """+ and * of tuples and lists; None if they are operands of NumPy."""
    if isinstance(op, ast.Add) and isinstance(left, Tuple) and isinstance(right, Tuple):
        return Tuple(left.items + right.items)
    if isinstance(op, ast.Add) and isinstance(left, Object) and isinstance(right, Object):
        if are_lists(context, left, right) and (context.grown(left) or context.grown(right)) is not None:
            return dispatch.call(context, Static(builtin.joined), (left, right), {})
        a, b = storage.entry_of(context, left), storage.entry_of(context, right)
        return context.new_list(a.items + b.items) if (a.kind, b.kind) == (list, list) else None
    if isinstance(op, ast.BitOr) and isinstance(left, Object) and isinstance(right, Object):
        return context.new_object(united(context, storage.entry_of(context, left), storage.entry_of(context, right)))
    for sequence, number in ((left, right), (right, left)):
        if isinstance(op, ast.Mult) and isinstance(sequence, Tuple | Object) and not isinstance(number, Ref):
            if isinstance(sequence, Object) and storage.entry_of(context, sequence).kind is not list:
                continue
            if isinstance(number, Tuple) or (isinstance(number, Object) and are_lists(context, number)):
                kind = number.kind if isinstance(number, Tuple) else list
                text = f"can't multiply sequence by non-int of type {kind.__name__!r}"
                raise DTypeError(text, context.location, "make arrays of lists: np.array(...)").as_raised(TypeError)
            times = storage.static(context, number, "how often a sequence is repeated")
            if not isinstance(times, int | np.integer):
                return None
            if isinstance(sequence, Tuple):
                return Tuple(sequence.items * int(times))
            return context.new_list(storage.entry_of(context, sequence).items * int(times))
    return None


def united(context: Context, first: Entry, second: Entry) -> Entry:
    """`first | second` for dicts."""
    if (first.kind, second.kind) != (dict, dict):
        raise context.refusal("| is not defined for lists")
    items = dict(zip(first.keys, first.items, strict=True)) | dict(zip(second.keys, second.items, strict=True))
    return Entry(dict, tuple(items), tuple(items.values()))


@visits(ast.UnaryOp)
def visit_unaryop(context: Context, node: ast.UnaryOp) -> Value:
    if isinstance(node.op, ast.Not):
        return as_value(conditions.condition(context, node))
    return unary(context, node.op, dispatch.expression(context, node.operand))


def unary(context: Context, op: ast.unaryop, value: Value) -> Value:
    """`op value`; the value is already evaluated."""
    if isinstance(op, ast.Not):
        return as_value(negated(comparisons.truth_of(context, value)))
    value = context.present(value, "bad operand type for unary operator: 'NoneType'")
    if (found := special_methods.special(context, value, UNARY_METHODS[type(op)])) is not None:
        return found
    operand = storage.operand(context, value)
    function = UNARY[type(op)]
    return indices.computed(context, lambda: function(operand), indices.elementwise_strides(value))


@visits(ast.BoolOp)
def visit_boolop(context: Context, node: ast.BoolOp) -> Value:
    return short_circuit(context, isinstance(node.op, ast.And), node.values)


def short_circuit(context: Context, is_and: bool, operands: Sequence[ast.expr]) -> Value:
    value = dispatch.expression(context, operands[0])
    if len(operands) == 1:
        return value
    truth = comparisons.truth_of(context, value)
    if isinstance(truth, bool):
        return short_circuit(context, is_and, operands[1:]) if truth == is_and else value

    def rest() -> Value:
        return short_circuit(context, is_and, operands[1:])

    context.push(value)
    chosen = (
        branches.choose(context, truth, rest, context.top)
        if is_and
        else branches.choose(context, truth, context.top, rest)
    )
    context.pop()
    return chosen


@visits(ast.Compare)
def visit_compare(context: Context, node: ast.Compare) -> Value:
    return comparisons.chain(context, dispatch.expression(context, node.left), node.ops, node.comparators)


@visits(ast.IfExp)
def visit_ifexp(context: Context, node: ast.IfExp) -> Value:
    truth = conditions.condition(context, node.test)
    if isinstance(truth, bool):
        return dispatch.expression(context, node.body if truth else node.orelse)
    return branches.choose(
        context,
        truth,
        lambda: dispatch.expression(context, node.body),
        lambda: dispatch.expression(context, node.orelse),
    )


# Containers.


def items_of(context: Context, nodes: Sequence[ast.expr]) -> tuple[Value, ...]:
    """The items of a tuple, list or argument list, with `*x` expanded."""
    number = 0
    for node in nodes:
        if isinstance(node, ast.Starred):
            items = consuming.elements(context, dispatch.expression(context, node.value))
        else:
            items = (dispatch.expression(context, node),)
        context.push(*items)
        number += len(items)
    return context.pop_many(number)


@visits(ast.Tuple)
def visit_tuple(context: Context, node: ast.Tuple) -> Value:
    made = Tuple(items_of(context, node.elts))
    consuming.require_no_generator(context, made)
    return made


@visits(ast.List)
def visit_list(context: Context, node: ast.List) -> Value:
    items = items_of(context, node.elts)
    consuming.require_no_generator(context, Tuple(items))
    return context.new_list(items)


@visits(ast.Set)
def visit_set(context: Context, node: ast.Set) -> Value:
    return set_of(context, items_of(context, node.elts))


def set_of(context: Context, items: Sequence[Value]) -> Value:
    """A set of constants. It is immutable."""
    return Static(purity.SetCopy(storage.static(context, item, "an item of a set") for item in items))


@visits(ast.Dict)
def visit_dict(context: Context, node: ast.Dict) -> Value:
    keys: list[Any] = []
    number = 0
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            entry = dict_entry(context, dispatch.expression(context, value))
            keys += entry.keys
            context.push(*entry.items)
            number += len(entry.items)
            continue
        keys.append(storage.static(context, dispatch.expression(context, key), "a key of a dict"))
        context.push(dispatch.expression(context, value))
        number += 1
    items = dict(zip(keys, context.pop_many(number), strict=True))
    return context.new_object(Entry(dict, tuple(items), tuple(items.values())))


def dict_entry(context: Context, value: Value) -> Entry:
    """The entry of a dict, or of the one in a `defaultdict`."""
    value = context.use(value)
    if isinstance(value, Object):
        entry = storage.entry_of(context, value)
        if entry.kind is DefaultDict:
            return dict_entry(context, entry.items[entry.keys.index("stored")])
        if entry.kind is dict:
            return entry
    raise context.refusal(f"** needs a dict here, not {kind_of(value)}")


@visits(ast.Lambda)
def visit_lambda(context: Context, node: ast.Lambda) -> Value:
    return closure(context, node)


def closure(context: Context, node: ast.Lambda | ast.FunctionDef) -> Closure:
    arguments = node.args
    named = [(a.arg, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
    nodes = [*arguments.defaults, *(default for _, default in named)]
    defaults = context.evaluate_all([lambda n=n: dispatch.expression(context, n) for n in nodes])
    split = len(arguments.defaults)
    keyword = tuple((name, value) for (name, _), value in zip(named, defaults[split:], strict=True))
    return Closure(node, context.frame.number, context.frame.source, defaults[:split], keyword)


# Attributes and subscripts.


@visits(ast.Attribute)
def visit_attribute(context: Context, node: ast.Attribute) -> Value:
    return attribute_access.attribute(context, dispatch.expression(context, node.value), node.attr)


@visits(ast.Subscript)
def visit_subscript(context: Context, node: ast.Subscript) -> Value:
    base, index = context.evaluate_all(
        [lambda: dispatch.expression(context, node.value), lambda: index_of(context, node.slice)]
    )
    return item_access.get_item(context, base, index)


def index_of(context: Context, node: ast.expr) -> Value:
    return dispatch.expression(context, node)


@visits(ast.Slice)
def visit_slice(context: Context, node: ast.Slice) -> Value:
    parts = [node.lower, node.upper, node.step]
    values = context.evaluate_all(
        [(lambda p=p: dispatch.expression(context, p)) if p is not None else (lambda: Static(None)) for p in parts]
    )
    return Lazy(slice, values)
