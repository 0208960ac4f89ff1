"""Comparisons: of numbers and arrays as NumPy compares them, of sequences item by item, of objects by their methods.

Reads: values. Writes: comparisons, joined by logical operators. Leaves: values; a bool where the answer is known.
"""

from __future__ import annotations

import ast
import operator
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from mlirad.dialect.expr import apply
from mlirad.errors import DTypeError
from mlirad.frontend.conditions import Conditions, Truth, as_value, negated
from mlirad.frontend.nep50 import kinds_of
from mlirad.frontend.numpys_errors import numpys_refusal
from mlirad.frontend.traced import Traced, is_static, require_static
from mlirad.frontend.values import Object, Ref, Static, Tuple, Value
from mlirad.frontend.values import is_same as is_one_value

COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_SPELLED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


class Comparisons(Conditions):
    """`compare(op, left, right)`."""

    @abstractmethod
    def elements(self, value: Value) -> tuple[Value, ...]: ...

    def compare(self, op: ast.cmpop, left: Value, right: Value, only_truth: bool = False) -> Value:
        """`left op right`. only_truth: only the truth of the value is asked for."""
        left, right = self.use(left), self.use(right)
        if isinstance(op, ast.Is | ast.IsNot):
            same = self.is_same(left, right)
            return Static(same if isinstance(op, ast.Is) else not same)
        if isinstance(op, ast.In | ast.NotIn):
            found = self.contains(left, right)
            return as_value(found if isinstance(op, ast.In) else negated(found))
        if (result := self.compared_objects(op, left, right)) is not None:
            return result
        first, second = self.sequence(left), self.sequence(right)
        if first is not None and second is not None:
            return self.compared_sequences(op, first, second, only_truth)
        a, b = self.operand(left), self.operand(right)
        if isinstance(a, tuple | list | dict) and isinstance(b, tuple | list | dict) and not is_static((a, b)):
            require_static((a, b), "the items of compared dicts")
        function = COMPARE[type(op)]
        if (answer := self.of_containers(function, left, right)) is not None:
            return answer
        for number, other in ((a, b), (b, a)):
            if isinstance(op, ast.Eq | ast.NotEq) and isinstance(number, Traced) and is_no_number(other):
                if not number.is_array:  # no number is equal to it
                    kind = bool if number.weak or other is None else np.bool_
                    return Static(kind(isinstance(op, ast.NotEq)))
        return self.computed(lambda: function(a, b), self.elementwise_strides(left, right))

    def is_same(self, left: Value, right: Value) -> bool:
        if isinstance(left, Static) and isinstance(right, Static):
            return left.value is right.value
        for a, b in ((left, right), (right, left)):
            if isinstance(a, Static) and (a.value is None or isinstance(a.value, bool | type)):
                kinds = kinds_of(b.several or b.kind) if isinstance(b, Traced) and (b.weak or b.either) else ()
                if bool in kinds and isinstance(a.value, bool):
                    raise self.refusal("`is` of a bool that is not known at compile time", "use ==")
                return False
        if isinstance(left, Object) and isinstance(right, Object):
            if left.number == right.number or not (self.entry(left).borrowed and self.entry(right).borrowed):
                return left.number == right.number
            raise self.refusal("whether two lists or dicts of the caller are one is not known", "use ==")
        raise self.refusal("`is` is compiled for None, bools and objects known at compile time", "use ==")

    # Containers beside numbers and beside lists that grow.

    def of_containers(self, function: Callable[[Any, Any], Any], left: Value, right: Value) -> Value | None:
        """What Python's operator gives for a tuple, list or dict, where NumPy has no part in it: a bool or a TypeError.

        That is beside a number of Python's, and beside another container if a loop appends to one of them. None for
        all other operands: beside numbers and arrays of NumPy's a list is taken for an array.
        """
        first, second = self.empty_container(left), self.empty_container(right)
        if first is not None and second is not None:
            if all(not isinstance(x, Object) or self.grown(x) is None for x in (left, right)):
                return None
            if type(first) is not type(second) or function not in (*COMPARE.values(), operator.add):
                return self.computed(lambda: function(first, second))
            if function is operator.add:
                return None
            raise self.refusal(
                "comparing a list that a loop appends to is not compiled",
                "compare arrays: np.array(xs) == np.array(ys)",
            )
        container, number = (first, right) if second is None else (second, left)
        one = example_of_number(number)
        if container is None or one is None:
            return None
        if isinstance(number, Traced) and number.either is not None:
            raise self.refusal(
                f"a {type(container).__name__} meets a number that is Python's on one path and NumPy's on another",
                "make the number NumPy's, as in np.float64(a), or the list an array, as in np.array(xs)",
            )
        if isinstance(one, np.generic) and function is not operator.mul:
            return None
        return self.computed(lambda: function(one if first is None else first, one if second is None else second))

    def empty_container(self, value: Value) -> tuple | list | dict | None:
        """An empty tuple, list or dict for one of these; None for all else."""
        if isinstance(value, Tuple):
            return [] if value.kind is list else ()
        kind: Any = type(value.value) if isinstance(value, Static) else None
        if isinstance(value, Object):
            kind = list if self.grown(value) is not None else self.entry(value).kind
        return kind() if kind in (tuple, list, dict) else None

    # Objects.

    def compared_objects(self, op: ast.cmpop, left: Value, right: Value) -> Value | None:
        """A comparison with an object of a class of the user's; None where there is none among the two."""
        if (result := self.compared(op, left, right)) is not None:
            return result
        if isinstance(op, ast.NotEq) and (result := self.compared(ast.Eq(), left, right)) is not None:
            return as_value(negated(self.truth(result)))
        kinds = [self.users_class(value) if isinstance(value, Object) else None for value in (left, right)]
        if kinds == [None, None]:
            return None
        if kinds[0] is kinds[1] and isinstance(left, Object) and isinstance(right, Object):
            parameters = getattr(kinds[0], "__dataclass_params__", None)
            is_equality = isinstance(op, ast.Eq | ast.NotEq)
            if parameters is not None and (parameters.eq if is_equality else parameters.order):
                first, second = (Tuple(self.entry(value).items) for value in (left, right))
                return self.compared_sequences(op, first, second, False)
        if not isinstance(op, ast.Eq | ast.NotEq):
            raise self.no_operator(_SPELLED[type(op)], left, right)
        same = isinstance(left, Object) and isinstance(right, Object) and self.is_same(left, right)
        return Static(same if isinstance(op, ast.Eq) else not same)

    # Sequences.

    def sequence(self, value: Value) -> Tuple | None:
        """The items of a tuple or list whose length is known; of a list, in a tuple of class list."""
        if isinstance(value, Tuple):
            return value
        if isinstance(value, Object) and self.grown(value) is None and (entry := self.entry(value)).kind is list:
            return Tuple(entry.items, list)
        return None

    def compared_sequences(self, op: ast.cmpop, left: Tuple, right: Tuple, only_truth: bool) -> Value:
        """By the first items that differ, then by the lengths."""
        is_equality = isinstance(op, ast.Eq | ast.NotEq)
        if (left.kind is list) != (right.kind is list):
            if is_equality:
                return Static(isinstance(op, ast.NotEq))
            raise DTypeError(f"a tuple and a list have no {_SPELLED[type(op)]}", self.location)
        if is_equality:
            equal: Truth = len(left.items) == len(right.items)
            for x, y in zip(left.items, right.items, strict=False):
                equal = both(equal, self.are_equal(x, y)) if equal is not False else False
            return as_value(equal if isinstance(op, ast.Eq) else negated(equal))
        result: Value = Static(COMPARE[type(op)](len(left.items), len(right.items)))
        for x, y in reversed(list(zip(left.items, right.items, strict=False))):
            equal = self.are_equal(x, y)
            if equal is True:
                continue
            decided = self.compare(op, x, y)
            decided = as_value(self.truth(decided)) if only_truth else decided
            later = result
            if isinstance(equal, bool):
                result = decided
            else:
                result = self.choose(equal, lambda later=later: later, lambda decided=decided: decided)
        return result

    def are_equal(self, x: Value, y: Value) -> Truth:
        """Whether two items are one object, or equal."""
        x, y = self.use(x), self.use(y)
        is_one = x.value is y.value if isinstance(x, Static) and isinstance(y, Static) else is_one_value(x, y)
        return True if is_one else self.truth(self.compare(ast.Eq(), x, y))

    def contains(self, item: Value, container: Value) -> Truth:
        """`item in container`."""
        container = self.use(container)
        if (found := self.special(container, "__contains__", item)) is not None:
            return self.truth(found)
        if isinstance(container, Object) and self.grown(container) is None and self.entry(container).kind is dict:
            with numpys_refusal():
                return self.static(item, "a key") in dict.fromkeys(self.entry(container).keys)
        if isinstance(container, Ref):
            return self.truth(self.call(Static(np.any), [self.compare(ast.Eq(), container, item)], {}))
        things = self.sequence(container)
        if things is None:
            wanted = self.static(item, "what is looked for by `in`")
            within = None if isinstance(container, Static) else self.elements(container)
            searched = self.operand(container) if within is None else [self.operand(thing) for thing in within]
            return wanted in require_static(searched, "the items searched by `in`")
        found_one: Truth = False
        for thing in things.items:
            found_one = negated(both(negated(found_one), negated(self.are_equal(thing, item))))
            if found_one is True:
                return True
        return found_one


def both(first: Truth, second: Truth) -> Truth:
    """Whether two truths hold."""
    if isinstance(first, bool):
        return second if first else False
    if isinstance(second, bool):
        return first if second else False
    truth = apply(np.logical_and, first.expr, second.expr)
    return Traced(truth, weak=True, origins=first.origins | second.origins)


def example_of_number(value: Value) -> bool | int | float | np.generic | None:
    """A number of the class that a number has; None for all else."""
    if isinstance(value, Static):
        return value.value if isinstance(value.value, bool | int | float | np.number | np.bool_) else None
    if not isinstance(value, Traced) or value.is_array:
        return None
    return value.kind(1) if value.weak or value.either is not None else value.dtype.type(1)


def is_no_number(value: Any) -> bool:
    """Whether no number is equal to a value."""
    return value is None or isinstance(value, str | bytes)
