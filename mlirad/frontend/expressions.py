"""Expressions: ast -> values.

Reads: ast and the state. Writes: ops, through Traced values' operators. Leaves: a Value, and the state after it.
"""

from __future__ import annotations

import ast
import operator
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlirad.errors import UnsupportedSyntaxError
from mlirad.frontend import prelude, purity
from mlirad.frontend.comparisons import Comparisons
from mlirad.frontend.conditions import as_value, negated
from mlirad.frontend.merge import kind_of
from mlirad.frontend.special_methods import UNARY as UNARY_METHODS
from mlirad.frontend.traced import DATA, is_static, origins_of, require_static
from mlirad.frontend.values import (
    Closure,
    Entry,
    Lazy,
    Object,
    Ref,
    Static,
    Tuple,
    Value,
)

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
UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}


class Expressions(Comparisons):
    """`expression(node)`, one method per kind of node."""

    @abstractmethod
    def call(self, function: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value: ...

    @abstractmethod
    def elements(self, value: Value) -> tuple[Value, ...]: ...

    def expression(self, node: ast.expr) -> Value:
        evaluate = getattr(self, f"_{type(node).__name__.lower()}", None)
        with self.at(node):
            if evaluate is None:
                raise self.refusal(f"{_spelled(node)} is not compiled")
            return evaluate(node)

    def _constant(self, node: ast.Constant) -> Value:
        return Static(node.value)

    def _name(self, node: ast.Name) -> Value:
        return self.lookup(node.id)

    def _namedexpr(self, node: ast.NamedExpr) -> Value:
        value = self.expression(node.value)
        if not isinstance(self.frame.scope.node, ast.FunctionDef | ast.Lambda):
            raise self.refusal(":= inside a comprehension is not compiled", "write a loop")
        self.bind(node.target.id, value)
        return value

    def _binop(self, node: ast.BinOp) -> Value:
        left, right = self.evaluate_all([lambda: self.expression(node.left), lambda: self.expression(node.right)])
        return self.binary(node.op, left, right)

    def binary(self, op: ast.operator, left: Value, right: Value) -> Value:
        """`left op right`, both evaluated."""
        left, right = self.use(left), self.use(right)
        if (found := self.operated(op, left, right)) is not None:
            return found
        if isinstance(left, Tuple | Object) or isinstance(right, Tuple | Object):
            combined = self.sequences(op, left, right)
            if combined is not None:
                return combined
        function = BINARY[type(op)]
        if (answer := self.of_containers(function, left, right)) is not None:
            return answer
        a, b = self.operand(left), self.operand(right)
        if any(isinstance(x, purity.SetCopy) for x in (a, b)):
            raise self.refusal("operators of sets are not compiled", "compute the set outside, or use a frozenset")
        if isinstance(op, ast.Mod) and isinstance(a, str) and is_static(b) and not purity.has_plain_operands(a, b):
            raise self.untold(b)
        if isinstance(op, ast.MatMult) or isinstance(left, Tuple | Object) or isinstance(right, Tuple | Object):
            result = self.computed(lambda: function(a, b))
            return self.laid_out(result, UFUNCS[type(op)], (left, right), {})
        return self.computed(lambda: function(a, b), self.elementwise_strides(left, right))

    def are_lists(self, *values: Object) -> bool:
        return all(self.kind_of_object(value) is list for value in values)

    def sequences(self, op: ast.operator, left: Value, right: Value) -> Value | None:
        """+ and * of tuples and lists; None where these are operands of NumPy."""
        if isinstance(op, ast.Add) and isinstance(left, Tuple) and isinstance(right, Tuple):
            return Tuple(left.items + right.items)
        if isinstance(op, ast.Add) and isinstance(left, Object) and isinstance(right, Object):
            if self.are_lists(left, right) and (self.grown(left) or self.grown(right)) is not None:
                return self.call(Static(prelude.joined), (left, right), {})
            a, b = self.entry(left), self.entry(right)
            return self.new_list(a.items + b.items) if (a.kind, b.kind) == (list, list) else None
        if isinstance(op, ast.BitOr) and isinstance(left, Object) and isinstance(right, Object):
            return self.new_object(self.united(self.entry(left), self.entry(right)))
        for sequence, number in ((left, right), (right, left)):
            if isinstance(op, ast.Mult) and isinstance(sequence, Tuple | Object) and not isinstance(number, Ref):
                if isinstance(sequence, Object) and self.entry(sequence).kind is not list:
                    continue
                times = self.static(number, "how often a sequence is repeated")
                if not isinstance(times, int | np.integer):
                    return None
                if isinstance(sequence, Tuple):
                    return Tuple(sequence.items * int(times))
                return self.new_list(self.entry(sequence).items * int(times))
        return None

    def united(self, first: Entry, second: Entry) -> Entry:
        """`first | second`, of dicts."""
        if (first.kind, second.kind) != (dict, dict):
            raise self.refusal("| of lists is no operation of Python")
        items = dict(zip(first.keys, first.items, strict=True)) | dict(zip(second.keys, second.items, strict=True))
        return Entry(dict, tuple(items), tuple(items.values()))

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            return as_value(self.condition(node))
        return self.unary(node.op, self.expression(node.operand))

    def unary(self, op: ast.unaryop, value: Value) -> Value:
        """`op value`, evaluated."""
        if isinstance(op, ast.Not):
            return as_value(negated(self.truth(value)))
        if (found := self.special(self.use(value), UNARY_METHODS[type(op)])) is not None:
            return found
        operand = self.operand(value)
        function = UNARY[type(op)]
        return self.computed(lambda: function(operand), self.elementwise_strides(value))

    def _boolop(self, node: ast.BoolOp) -> Value:
        return self.short_circuit(isinstance(node.op, ast.And), node.values)

    def short_circuit(self, is_and: bool, operands: Sequence[ast.expr]) -> Value:
        value = self.expression(operands[0])
        if len(operands) == 1:
            return value
        truth = self.truth(value)
        if isinstance(truth, bool):
            return self.short_circuit(is_and, operands[1:]) if truth == is_and else value

        def rest() -> Value:
            return self.short_circuit(is_and, operands[1:])

        self.push(value)
        chosen = self.choose(truth, rest, self.top) if is_and else self.choose(truth, self.top, rest)
        self.pop()
        return chosen

    def _compare(self, node: ast.Compare) -> Value:
        return self.chain(self.expression(node.left), node.ops, node.comparators)

    def chain(
        self, left: Value, ops: Sequence[ast.cmpop], nodes: Sequence[ast.expr], only_truth: bool = False
    ) -> Value:
        """`left op node op node ...`: each operand is evaluated once, and none after the first that fails.

        only_truth: of the value, only the truth is asked for.
        """
        self.push(left)
        right = self.expression(nodes[0])
        left = self.pop()
        self.push(right)
        result = self.compare(ops[0], left, right, only_truth)
        right = self.pop()
        if len(ops) == 1:
            return as_value(self.truth(result)) if only_truth else result
        truth = self.truth(result)
        if isinstance(truth, bool):
            return self.chain(right, ops[1:], nodes[1:], only_truth) if truth else result
        self.push(right, Static(False) if only_truth else result)

        def rest() -> Value:
            return self.chain(self.state.temps[-2], ops[1:], nodes[1:], only_truth)

        chosen = self.choose(truth, rest, self.top)
        self.pop_many(2)
        return chosen

    def _ifexp(self, node: ast.IfExp) -> Value:
        truth = self.condition(node.test)
        if isinstance(truth, bool):
            return self.expression(node.body if truth else node.orelse)
        return self.choose(truth, lambda: self.expression(node.body), lambda: self.expression(node.orelse))

    # Containers.

    def items_of(self, nodes: Sequence[ast.expr]) -> tuple[Value, ...]:
        """The items of a tuple, list or argument list, `*x` spread out."""
        number = 0
        for node in nodes:
            if isinstance(node, ast.Starred):
                items = self.elements(self.expression(node.value))
            else:
                items = (self.expression(node),)
            self.push(*items)
            number += len(items)
        return self.pop_many(number)

    def _tuple(self, node: ast.Tuple) -> Value:
        made = Tuple(self.items_of(node.elts))
        self.require_no_generator(made)
        return made

    def _list(self, node: ast.List) -> Value:
        items = self.items_of(node.elts)
        self.require_no_generator(Tuple(items))
        return self.new_list(items)

    def _dict(self, node: ast.Dict) -> Value:
        keys: list[Any] = []
        number = 0
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                entry = self.dict_entry(self.expression(value))
                keys += entry.keys
                self.push(*entry.items)
                number += len(entry.items)
                continue
            keys.append(self.static(self.expression(key), "a key of a dict"))
            self.push(self.expression(value))
            number += 1
        items = dict(zip(keys, self.pop_many(number), strict=True))
        return self.new_object(Entry(dict, tuple(items), tuple(items.values())))

    def dict_entry(self, value: Value) -> Entry:
        value = self.use(value)
        if isinstance(value, Object) and (entry := self.entry(value)).kind is dict:
            return entry
        raise self.refusal(f"** needs a dict here, not {kind_of(value)}")

    def _lambda(self, node: ast.Lambda) -> Value:
        return self.closure(node)

    def closure(self, node: ast.Lambda | ast.FunctionDef) -> Closure:
        arguments = node.args
        named = [(a.arg, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
        nodes = [*arguments.defaults, *(default for _, default in named)]
        defaults = self.evaluate_all([lambda n=n: self.expression(n) for n in nodes])
        split = len(arguments.defaults)
        keyword = tuple((name, value) for (name, _), value in zip(named, defaults[split:], strict=True))
        return Closure(node, self.frame.number, self.frame.source, defaults[:split], keyword)

    # Attributes and subscripts.

    def _attribute(self, node: ast.Attribute) -> Value:
        return self.attribute(self.expression(node.value), node.attr)

    def _subscript(self, node: ast.Subscript) -> Value:
        base, index = self.evaluate_all([lambda: self.expression(node.value), lambda: self.index(node.slice)])
        return self.get_item(base, index)

    def index(self, node: ast.expr) -> Value:
        return self.expression(node)

    def _slice(self, node: ast.Slice) -> Value:
        parts = [node.lower, node.upper, node.step]
        values = self.evaluate_all(
            [(lambda p=p: self.expression(p)) if p is not None else (lambda: Static(None)) for p in parts]
        )
        return Lazy(slice, values)

    # Text: static only, as in messages of exceptions.

    def _joinedstr(self, node: ast.JoinedStr) -> Value:
        return Static(self.text(node))

    def text(self, node: ast.JoinedStr) -> str:
        return "".join(
            self._formatted(part) if isinstance(part, ast.FormattedValue) else str(ast.literal_eval(part))
            for part in node.values
        )

    def _formatted(self, part: ast.FormattedValue) -> str:
        operand = self.operand(self.expression(part.value))
        if DATA in origins_of(operand):
            hint = "write the f-string in the raise or the assert itself, or make the text outside"
            raise self.refusal("a text with a number in it that only the run knows is not compiled", hint)
        value = require_static(operand, "a formatted value")
        spec = self.text(part.format_spec) if isinstance(part.format_spec, ast.JoinedStr) else ""
        if part.conversion > 0:
            value = self.text_of(value, {"s": str, "r": repr, "a": ascii}[chr(part.conversion)])
        return self.text_of(value, format, spec)

    def text_of(self, value: Any, function: Callable[..., str], *rest: str) -> str:
        """str(), repr() or format() of a constant."""
        text = purity.text_of(value, function, *rest)
        if text is None:
            raise self.untold(value)
        return text

    def untold(self, value: Any) -> UnsupportedSyntaxError:
        """The refusal of a text that depends on more than the value."""
        kind = type(value).__name__
        return self.refusal(f"the text of an object of class {kind} is not the same at any time", "make it outside")


def _spelled(node: ast.expr) -> str:
    names = {
        "Set": "a set",
        "SetComp": "a set comprehension",
        "Await": "await",
        "Yield": "yield",
        "YieldFrom": "yield from",
        "Starred": "* here",
    }
    return names.get(type(node).__name__, type(node).__name__)
