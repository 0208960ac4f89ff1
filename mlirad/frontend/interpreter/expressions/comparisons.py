"""Comparisons: numbers and arrays as in NumPy, sequences item by item, objects by their methods.

Reads: values. Writes: comparisons, joined by logical operators. Leaves: values; a bool if the answer is known.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlirad.dialect.core.expr import apply
from mlirad.dialect.ops.movement import reshape
from mlirad.errors import DTypeError, StaticValueError
from mlirad.frontend.interpreter import branches, consuming, dispatch, indices, iteration, special_methods, storage
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.values.descriptions import is_same as is_one_value
from mlirad.frontend.values.nep50 import kinds_of
from mlirad.frontend.values.numpys_errors import numpys_refusal
from mlirad.frontend.values.sizes import require_static as require_static_shape
from mlirad.frontend.values.traced import DATA, Traced, is_static, require_static
from mlirad.frontend.values.values import Lazy, Object, OrNone, Ref, Static, Tuple, Value, is_none

COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_SPELLED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}

Truth = bool | Traced


def compare(context: Context, op: ast.cmpop, left: Value, right: Value, only_truth: bool = False) -> Value:
    """`left op right`. only_truth: only the truth of the result is needed."""
    if isinstance(op, ast.Is | ast.IsNot):
        for value, other in ((left, right), (right, left)):
            if isinstance(value, OrNone) and is_none(other):
                there = Traced(value.flag, weak=True, origins=frozenset({DATA}))
                return there if isinstance(op, ast.IsNot) else as_value(negated(there))
    if type(op) in _SPELLED:
        text = f"'{_SPELLED[type(op)]}' not supported between instances with None"
        left, right = context.present(left, text), context.present(right, text)
    left, right = context.use(left), context.use(right)
    if isinstance(op, ast.Is | ast.IsNot):
        same = is_same(context, left, right)
        return Static(same if isinstance(op, ast.Is) else not same)
    if isinstance(op, ast.In | ast.NotIn):
        found = contains(context, left, right)
        return as_value(found if isinstance(op, ast.In) else negated(found))
    if (result := compared_objects(context, op, left, right)) is not None:
        return result
    first, second = sequence(context, left), sequence(context, right)
    if first is not None and second is not None:
        return compared_sequences(context, op, first, second, only_truth)
    function = COMPARE[type(op)]
    if (answer := of_containers(context, function, left, right)) is not None:
        return answer
    a, b = storage.operand(context, left), storage.operand(context, right)
    if isinstance(a, tuple | list | dict) and isinstance(b, tuple | list | dict) and not is_static((a, b)):
        require_static((a, b), "the items of compared dicts")
    for number, other in ((a, b), (b, a)):
        if isinstance(op, ast.Eq | ast.NotEq) and isinstance(number, Traced) and is_no_number(other):
            if not number.is_array:  # no number is equal to it
                kind = bool if number.weak or other is None else np.bool_
                return Static(kind(isinstance(op, ast.NotEq)))
    return indices.computed(context, lambda: function(a, b), indices.elementwise_strides(left, right))


def is_same(context: Context, left: Value, right: Value) -> bool:
    if isinstance(left, Static) and isinstance(right, Static):
        return left.value is right.value
    for a, b in ((left, right), (right, left)):
        if isinstance(a, Static) and (a.value is None or isinstance(a.value, bool | type)):
            kinds = kinds_of(b.several or b.kind) if isinstance(b, Traced) and (b.weak or b.either) else ()
            if bool in kinds and isinstance(a.value, bool):
                raise context.refusal("`is` of a bool that is not known at compile time", "use ==")
            return False
    if isinstance(left, Object) and isinstance(right, Object):
        if left.number == right.number or not (
            storage.entry_of(context, left).borrowed and storage.entry_of(context, right).borrowed
        ):
            return left.number == right.number
        raise context.refusal("whether two lists or dicts of the caller are the same one is not known", "use ==")
    hint = "use =="
    if isinstance(left, Tuple | Object | Ref) and isinstance(right, Tuple | Object | Ref):
        hint = "compare their places: for i, x in enumerate(xs)"
    raise context.refusal("`is` is compiled for None, bools and objects known at compile time", hint)


# Containers compared with numbers and with lists that grow.


def of_containers(context: Context, function: Callable[[Any, Any], Any], left: Value, right: Value) -> Value | None:
    """The result of Python's operator for a tuple, list or dict where NumPy is not involved: a bool or a TypeError.

    That is next to a Python number, and next to another container if a loop appends to one of them. None for all other
    operands: next to NumPy's numbers and arrays a list counts as an array.
    """
    first, second = empty_container(context, left), empty_container(context, right)
    if first is not None and second is not None:
        if all(not isinstance(x, Object) or context.grown(x) is None for x in (left, right)):
            return None
        if type(first) is not type(second) or function not in (*COMPARE.values(), operator.add):
            return indices.computed(context, lambda: function(first, second))
        if function is operator.add:
            return None
        raise context.refusal(
            "comparing a list that a loop appends to is not compiled",
            "compare arrays: np.array(xs) == np.array(ys)",
        )
    container, number = (first, right) if second is None else (second, left)
    one = example_of_number(number)
    if container is None or one is None:
        return None
    if isinstance(number, Traced) and number.either is not None:
        raise context.refusal(
            f"a {type(container).__name__} meets a number that is Python's on one path and NumPy's on another",
            "make the number NumPy's, as in np.float64(a), or the list an array, as in np.array(xs)",
        )
    if isinstance(one, np.generic) and function is not operator.mul:
        return None
    return indices.computed(
        context, lambda: function(one if first is None else first, one if second is None else second)
    )


def empty_container(context: Context, value: Value) -> tuple | list | dict | None:
    """An empty tuple, list or dict in place of one; None for anything else."""
    if isinstance(value, Tuple):
        return [] if value.kind is list else ()
    kind: Any = type(value.value) if isinstance(value, Static) else None
    if isinstance(value, Object):
        kind = list if context.grown(value) is not None else storage.entry_of(context, value).kind
    return kind() if kind in (tuple, list, dict) else None


# Objects.


def compared_objects(context: Context, op: ast.cmpop, left: Value, right: Value) -> Value | None:
    """A comparison with an object of a user's class; None if neither operand is one."""
    if (result := special_methods.compared(context, op, left, right)) is not None:
        return result
    if isinstance(op, ast.NotEq) and (result := special_methods.compared(context, ast.Eq(), left, right)) is not None:
        return as_value(negated(truth_of(context, result)))
    kinds = [
        special_methods.users_class(context, value) if isinstance(value, Object) else None for value in (left, right)
    ]
    if kinds == [None, None]:
        return None
    if kinds[0] is kinds[1] and isinstance(left, Object) and isinstance(right, Object):
        parameters = getattr(kinds[0], "__dataclass_params__", None)
        is_equality = isinstance(op, ast.Eq | ast.NotEq)
        if parameters is not None and (parameters.eq if is_equality else parameters.order):
            first, second = (Tuple(storage.entry_of(context, value).items) for value in (left, right))
            return compared_sequences(context, op, first, second, False)
    if not isinstance(op, ast.Eq | ast.NotEq):
        raise special_methods.no_operator(context, _SPELLED[type(op)], left, right)
    same = isinstance(left, Object) and isinstance(right, Object) and is_same(context, left, right)
    return Static(same if isinstance(op, ast.Eq) else not same)


# Sequences.


def sequence(context: Context, value: Value) -> Tuple | None:
    """The items of a tuple or list of known length; those of a list as a tuple of class list."""
    if isinstance(value, Tuple):
        return value
    if (
        isinstance(value, Object)
        and context.grown(value) is None
        and (entry := storage.entry_of(context, value)).kind is list
    ):
        return Tuple(entry.items, list)
    return None


def compared_sequences(context: Context, op: ast.cmpop, left: Tuple, right: Tuple, only_truth: bool) -> Value:
    """Compare by the first items that differ, then by the lengths."""
    is_equality = isinstance(op, ast.Eq | ast.NotEq)
    if (left.kind is list) != (right.kind is list):
        if is_equality:
            return Static(isinstance(op, ast.NotEq))
        raise DTypeError(f"a tuple and a list have no {_SPELLED[type(op)]}", context.location)
    if is_equality:
        equal: Truth = len(left.items) == len(right.items)
        for x, y in zip(left.items, right.items, strict=False):
            equal = both(equal, are_equal(context, x, y)) if equal is not False else False
        return as_value(equal if isinstance(op, ast.Eq) else negated(equal))
    result: Value = Static(COMPARE[type(op)](len(left.items), len(right.items)))
    for x, y in reversed(list(zip(left.items, right.items, strict=False))):
        equal = are_equal(context, x, y)
        if equal is True:
            continue
        decided = compare(context, op, x, y)
        decided = as_value(truth_of(context, decided)) if only_truth else decided
        later = result
        if isinstance(equal, bool):
            result = decided
        else:
            result = branches.choose(context, equal, lambda later=later: later, lambda decided=decided: decided)
    return result


def are_equal(context: Context, x: Value, y: Value) -> Truth:
    """Whether two items are one object, or equal."""
    x, y = context.use(x), context.use(y)
    is_one = x.value is y.value if isinstance(x, Static) and isinstance(y, Static) else is_one_value(x, y)
    return True if is_one else truth_of(context, compare(context, ast.Eq(), x, y))


def contains(context: Context, item: Value, container: Value) -> Truth:
    """`item in container`."""
    container = context.use(container)
    if (found := special_methods.special(context, container, "__contains__", item)) is not None:
        return truth_of(context, found)
    if (
        isinstance(container, Object)
        and context.grown(container) is None
        and storage.entry_of(context, container).kind is dict
    ):
        with numpys_refusal():
            return storage.static(context, item, "a key") in dict.fromkeys(storage.entry_of(context, container).keys)
    if isinstance(container, Ref):
        return truth_of(
            context, dispatch.call(context, Static(np.any), [compare(context, ast.Eq(), container, item)], {})
        )
    things = sequence(context, container)
    if things is None:
        wanted = storage.static(context, item, "the item searched for by `in`")
        within = None if isinstance(container, Static) else consuming.elements(context, container)
        searched = (
            storage.operand(context, container)
            if within is None
            else [storage.operand(context, thing) for thing in within]
        )
        return wanted in require_static(searched, "the items searched by `in`")
    found_one: Truth = False
    for thing in things.items:
        found_one = negated(both(negated(found_one), negated(are_equal(context, thing, item))))
        if found_one is True:
            return True
    return found_one


def both(first: Truth, second: Truth) -> Truth:
    """Whether two truth values are both true."""
    if isinstance(first, bool):
        return second if first else False
    if isinstance(second, bool):
        return first if second else False
    truth = apply(np.logical_and, first.expr, second.expr)
    return Traced(truth, weak=True, origins=first.origins | second.origins)


def example_of_number(value: Value) -> bool | int | float | np.generic | None:
    """A number of the same class as a number; None for anything else."""
    if isinstance(value, Static):
        return value.value if isinstance(value.value, bool | int | float | np.number | np.bool_) else None
    if not isinstance(value, Traced) or value.is_array:
        return None
    return value.kind(1) if value.weak or value.either is not None else value.dtype.type(1)


def is_no_number(value: Any) -> bool:
    """Whether a value is equal to no number."""
    return value is None or isinstance(value, str | bytes)


def truth_of(context: Context, value: Value) -> Truth:
    """The truth of a value: a bool if known, or an i1."""
    value = context.use(value)
    match value:
        case Static():
            if hasattr(type(value.value), "__bool__") or hasattr(type(value.value), "__len__"):
                return bool(storage.operand(context, value))
            return True
        case Tuple():
            return bool(value.items)
        case Object() if context.grown(value) is not None:
            return truth_of(context, storage.result(context, iteration.length_of(context, value)))
        case Object():
            kind = storage.entry_of(context, value).kind
            if kind in (list, dict):
                return bool(storage.entry_of(context, value).items)
            found = special_methods.special(context, value, "__bool__")
            if isinstance(found, Traced) and not (found.weak and found.kind is bool):
                raise DTypeError("__bool__ should return bool, and not a number", hint="write bool(...)")
            found = special_methods.special(context, value, "__len__") if found is None else found
            return True if found is None else truth_of(context, found)
        case Lazy() if value.kind is range:
            return truth_of(context, storage.result(context, iteration.length_of(context, value)))
        case Ref():
            size = value.alternatives[0].view.size
            require_static_shape([size], "the size of an array whose truth is asked for")
            if size != 1:
                raise StaticValueError(
                    f"the truth value of an array of shape {value.shape} is ambiguous",
                    context.location,
                    "use np.any(...) or np.all(...)",
                )
            contents = context.read(value).expr
            value = Traced(reshape(contents, contents.element), origins=frozenset({"data"}))
        case Traced():
            pass
        case _:
            return True
    if value.kind is bool:
        return Traced(value.scalar, weak=True, origins=value.origins)
    return Traced(value.scalar != 0, weak=True, origins=value.origins)


def chain(
    context: Context, left: Value, ops: Sequence[ast.cmpop], nodes: Sequence[ast.expr], only_truth: bool = False
) -> Value:
    """`left op node op node ...`: each operand is evaluated once, and none after the first comparison that fails.

    only_truth: only the truth of the result is needed.
    """
    context.push(left)
    right = dispatch.expression(context, nodes[0])
    left = context.pop()
    context.push(right)
    result = compare(context, ops[0], left, right, only_truth)
    right = context.pop()
    if len(ops) == 1:
        return as_value(truth_of(context, result)) if only_truth else result
    truth = truth_of(context, result)
    if isinstance(truth, bool):
        return chain(context, right, ops[1:], nodes[1:], only_truth) if truth else result
    context.push(right, Static(False) if only_truth else result)

    def rest() -> Value:
        return chain(context, context.state.temps[-2], ops[1:], nodes[1:], only_truth)

    chosen = branches.choose(context, truth, rest, context.top)
    context.pop_many(2)
    return chosen


def as_value(truth: Truth) -> Value:
    """A truth value as a bool of the program."""
    return truth if isinstance(truth, Traced) else Static(truth)


def negated(truth: Truth) -> Truth:
    """`not truth`."""
    if isinstance(truth, bool):
        return not truth
    return Traced(apply(np.logical_not, truth.expr), weak=True, origins=truth.origins)
