"""Conditions: of what an `if`, `while`, `not` or `assert` tests, only the truth is asked for.

Reads: ast and the state. Writes: ops, through expressions. Leaves: a bool, or an i1 where it depends on the run.
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from mlirad.dialect.expr import apply
from mlirad.dialect.movement import reshape
from mlirad.errors import DTypeError, StaticValueError
from mlirad.frontend.selection import Selected
from mlirad.frontend.selection import refusal as selection_refusal
from mlirad.frontend.sizes import require_static as require_static_shape
from mlirad.frontend.special_methods import SpecialMethods
from mlirad.frontend.traced import Traced
from mlirad.frontend.values import Lazy, Object, Ref, Static, Tuple, Value

Truth = bool | Traced


class Conditions(SpecialMethods):
    """`condition(node)`, and `truth(value)` of a value that has been evaluated."""

    def condition(self, node: ast.expr) -> Truth:
        """The truth of an expression. The operands of `and` and `or` in it need no common type."""
        with self.at(node):
            match node:
                case ast.BoolOp():
                    return self.condition_of_all(isinstance(node.op, ast.And), node.values)
                case ast.UnaryOp(op=ast.Not()):
                    return negated(self.condition(node.operand))
                case ast.Compare():
                    return self.truth(self.chain(self.expression(node.left), node.ops, node.comparators, True))
                case ast.IfExp():
                    test = self.condition(node.test)
                    if isinstance(test, bool):
                        return self.condition(node.body if test else node.orelse)
                    body, orelse = node.body, node.orelse
                    then, otherwise = (lambda n=n: as_value(self.condition(n)) for n in (body, orelse))
                    return self.truth(self.choose(test, then, otherwise))
            return self.truth(self.expression(node))

    def condition_of_all(self, is_and: bool, operands: Sequence[ast.expr]) -> Truth:
        """The truth of `operand and operand ...`, or of the same with `or`."""
        first = self.condition(operands[0])
        if len(operands) == 1:
            return first
        if isinstance(first, bool):
            return self.condition_of_all(is_and, operands[1:]) if first == is_and else first

        def rest() -> Value:
            return as_value(self.condition_of_all(is_and, operands[1:]))

        def decided() -> Value:
            return Static(not is_and)

        return self.truth(self.choose(first, rest, decided) if is_and else self.choose(first, decided, rest))

    @abstractmethod
    def chain(
        self, left: Value, ops: Sequence[ast.cmpop], nodes: Sequence[ast.expr], only_truth: bool = False
    ) -> Value: ...

    def truth(self, value: Value) -> Truth:
        """The truth of a value: known, or an i1."""
        value = self.use(value)
        match value:
            case Static():
                if hasattr(type(value.value), "__bool__") or hasattr(type(value.value), "__len__"):
                    return bool(self.operand(value))
                return True
            case Tuple():
                return bool(value.items)
            case Object() if self.grown(value) is not None:
                return self.truth(self.result(self.length(value)))
            case Object():
                kind = self.entry(value).kind
                if kind in (list, dict):
                    return bool(self.entry(value).items)
                found = self.special(value, "__bool__")
                if isinstance(found, Traced) and not (found.weak and found.kind is bool):
                    raise DTypeError("__bool__ should return bool, and not a number", hint="write bool(...)")
                found = self.special(value, "__len__") if found is None else found
                return True if found is None else self.truth(found)
            case Lazy() if value.kind is range:
                return self.truth(self.result(self.length(value)))
            case Ref():
                size = value.alternatives[0].view.size
                require_static_shape([size], "the size of an array whose truth is asked for")
                if size != 1:
                    raise StaticValueError(
                        f"the truth value of an array of shape {value.shape} is ambiguous",
                        self.location,
                        "use np.any(...) or np.all(...)",
                    )
                contents = self.read(value).expr
                value = Traced(reshape(contents, contents.element), origins=frozenset({"data"}))
            case Traced():
                pass
            case Selected():
                raise selection_refusal("its truth depends on how many elements it has")
            case _:
                return True
        if value.kind is bool:
            return Traced(value.scalar, weak=True, origins=value.origins)
        return Traced(value.scalar != 0, weak=True, origins=value.origins)

    @abstractmethod
    def length(self, value: Value) -> Any: ...


def as_value(truth: Truth) -> Value:
    """A truth as a bool of the program."""
    return truth if isinstance(truth, Traced) else Static(truth)


def negated(truth: Truth) -> Truth:
    """`not truth`."""
    if isinstance(truth, bool):
        return not truth
    return Traced(apply(np.logical_not, truth.expr), weak=True, origins=truth.origins)
