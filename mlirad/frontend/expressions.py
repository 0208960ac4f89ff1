"""Expressions: ast -> values.

Reads: ast and the state. Writes: ops, through Traced values' operators. Leaves: a Value, and the state after it.
"""

from __future__ import annotations

import ast
import dataclasses
import operator
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlirad.dialect import types
from mlirad.dialect.expr import Expr, apply, constant, where
from mlirad.dialect.movement import reshape
from mlirad.errors import StaticIndexError, StaticOverflowError, StaticValueError, StaticZeroDivisionError
from mlirad.frontend import layout, view_functions
from mlirad.frontend.core import Core, Frame
from mlirad.frontend.indexing import compose, is_basic
from mlirad.frontend.merge import kind_of, renumbered
from mlirad.frontend.promotion import numpys_refusal
from mlirad.frontend.scope import ScopeNode, scope_of
from mlirad.frontend.traced import Traced, is_static, require_static
from mlirad.frontend.values import (
    Alternative,
    Bound,
    Closure,
    Entry,
    Lazy,
    Object,
    Pullback,
    Ref,
    Static,
    Transformed,
    Tuple,
    Value,
)

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
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
# What Python raises where compiled code raises it when, and only if, it gets there.
RUNTIME_ERRORS = (ZeroDivisionError, IndexError, OverflowError, KeyError, ValueError)
MASK_HINT = "write it as np.where(mask, a, b), or loop over the elements"


class Expressions(Core):
    """`expression(node)`, one method per kind of node."""

    @abstractmethod
    def attribute_of_object(self, owner: Static, name: str) -> Value: ...

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
        if isinstance(left, Tuple | Object) or isinstance(right, Tuple | Object):
            combined = self.sequences(op, left, right)
            if combined is not None:
                return combined
        function = BINARY[type(op)]
        a, b = self.operand(left), self.operand(right)
        strides = self.elementwise_strides(left, right) if not isinstance(op, ast.MatMult) else None
        return self.computed(lambda: function(a, b), strides)

    def computed(self, compute: Callable[[], Any], strides: tuple[int, ...] | None = None) -> Value:
        """A value that Python or NumPy computes: of traced operands (ops), or of static ones (now)."""
        try:
            with np.errstate(all="ignore"), numpys_refusal():
                return self.result(compute(), strides)
        except RUNTIME_ERRORS as error:
            # A path on which this is certain may never be taken: it raises at run time.
            raise self.certain_error(error) from None

    def certain_error(self, error: Exception) -> Exception:
        """What to raise for an error that is certain: it is emitted, if it is one of run time."""
        for kind, name in (
            (StaticZeroDivisionError, "ZeroDivisionError"),
            (StaticIndexError, "IndexError"),
            (StaticOverflowError, "OverflowError"),
        ):
            if isinstance(error, kind):
                return self.failed(name, error.message)
        return error

    @staticmethod
    def elementwise_strides(*operands: Value) -> tuple[int, ...] | None:
        return layout.elementwise([value.alternatives[0].view for value in operands if isinstance(value, Ref)])

    def sequences(self, op: ast.operator, left: Value, right: Value) -> Value | None:
        """+ and * of tuples and lists; None where these are operands of NumPy."""
        if isinstance(op, ast.Add) and isinstance(left, Tuple) and isinstance(right, Tuple):
            return Tuple(left.items + right.items)
        if isinstance(op, ast.Add) and isinstance(left, Object) and isinstance(right, Object):
            a, b = self.entry(left), self.entry(right)
            return self.new_list(a.items + b.items) if (a.kind, b.kind) == (list, list) else None
        if isinstance(op, ast.BitOr) and isinstance(left, Object) and isinstance(right, Object):
            return self.new_object(self.united(self.entry(left), self.entry(right)))
        for sequence, number in ((left, right), (right, left)):
            if isinstance(op, ast.Mult) and isinstance(sequence, Tuple | Object) and not isinstance(number, Ref):
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
        value = self.expression(node.operand)
        if isinstance(node.op, ast.Not):
            truth = self.truth(value)
            if isinstance(truth, bool):
                return Static(not truth)
            return Traced(apply(np.logical_not, truth.expr), weak=True, origins=truth.origins)
        operand = self.operand(value)
        function = _UNARY[type(node.op)]
        return self.computed(lambda: function(operand), self.elementwise_strides(value))

    # Truth.

    def truth(self, value: Value) -> bool | Traced:
        """The truth of a value: known, or an i1."""
        value = self.use(value)
        match value:
            case Static():
                return bool(value.value)
            case Tuple():
                return bool(value.items)
            case Object():
                return bool(self.entry(value).items)
            case Lazy() if value.kind is range:
                return self.truth(self.result(self.length(value)))
            case Ref():
                if value.alternatives[0].view.size != 1:
                    raise StaticValueError(
                        f"the truth value of an array of shape {value.shape} is ambiguous",
                        self.location,
                        "use np.any(...) or np.all(...)",
                    )
                contents = self.read(value).expr
                value = Traced(reshape(contents, contents.element), origins=frozenset({"data"}))
            case Traced():
                pass
            case _:
                return True
        if value.kind is bool:
            return Traced(value.scalar, weak=True, origins=value.origins)
        return Traced(value.scalar != 0, weak=True, origins=value.origins)

    @abstractmethod
    def length(self, value: Value) -> Any: ...

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

    def chain(self, left: Value, ops: Sequence[ast.cmpop], nodes: Sequence[ast.expr]) -> Value:
        """`left op node op node ...`: each operand is evaluated once, and none after the first that fails."""
        self.push(left)
        right = self.expression(nodes[0])
        left = self.pop()
        self.push(right)
        result = self.compare(ops[0], left, right)
        right = self.pop()
        if len(ops) == 1:
            return result
        truth = self.truth(result)
        if isinstance(truth, bool):
            return self.chain(right, ops[1:], nodes[1:]) if truth else result
        self.push(right, result)

        def rest() -> Value:
            return self.chain(self.state.temps[-2], ops[1:], nodes[1:])

        chosen = self.choose(truth, rest, self.top)
        self.pop_many(2)
        return chosen

    def compare(self, op: ast.cmpop, left: Value, right: Value) -> Value:
        left, right = self.use(left), self.use(right)
        if isinstance(op, ast.Is | ast.IsNot):
            same = self.is_same(left, right)
            return Static(same if isinstance(op, ast.Is) else not same)
        if isinstance(op, ast.In | ast.NotIn):
            found = self.contains(left, right)
            return Static(found if isinstance(op, ast.In) else not found)
        a, b = self.operand(left), self.operand(right)
        if isinstance(a, tuple | list | dict) and isinstance(b, tuple | list | dict) and not is_static((a, b)):
            require_static((a, b), "the items of compared sequences")
        function = _COMPARE[type(op)]
        return self.computed(lambda: function(a, b), self.elementwise_strides(left, right))

    def is_same(self, left: Value, right: Value) -> bool:
        if isinstance(left, Static) and isinstance(right, Static):
            return left.value is right.value
        for a, b in ((left, right), (right, left)):
            if isinstance(a, Static) and (a.value is None or isinstance(a.value, bool | type)):
                if isinstance(b, Traced) and b.weak and b.kind is bool and isinstance(a.value, bool):
                    raise self.refusal("`is` of a bool that is not known at compile time", "use ==")
                return False
        if isinstance(left, Object) and isinstance(right, Object):
            return left.number == right.number
        raise self.refusal("`is` is compiled for None, bools and objects known at compile time", "use ==")

    def contains(self, item: Value, container: Value) -> bool:
        if isinstance(container, Object) and self.entry(container).kind is dict:
            return self.static(item, "a key") in self.entry(container).keys
        things = [self.operand(x) for x in self.elements(container)] if not isinstance(container, Static) else None
        wanted = self.static(item, "what is looked for by `in`")
        return wanted in (require_static(things, "the items searched by `in`") if things else self.operand(container))

    def _ifexp(self, node: ast.IfExp) -> Value:
        truth = self.truth(self.expression(node.test))
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
        return Tuple(self.items_of(node.elts))

    def _list(self, node: ast.List) -> Value:
        return self.new_list(self.items_of(node.elts))

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

    def _listcomp(self, node: ast.ListComp) -> Value:
        return self.new_list(self.comprehension(node, [lambda: self.expression(node.elt)]))

    def _generatorexp(self, node: ast.GeneratorExp) -> Value:
        return Lazy(iter, (Tuple(self.comprehension(node, [lambda: self.expression(node.elt)])),))  # type: ignore[arg-type]

    def _dictcomp(self, node: ast.DictComp) -> Value:
        flat = self.comprehension(node, [lambda: self.expression(node.key), lambda: self.expression(node.value)])
        keys = [self.static(key, "a key of a dict") for key in flat[::2]]
        items = dict(zip(keys, flat[1::2], strict=True))
        return self.new_object(Entry(dict, tuple(items), tuple(items.values())))

    def comprehension(
        self, node: ast.ListComp | ast.GeneratorExp | ast.DictComp, parts: Sequence[Callable[[], Value]]
    ) -> tuple[Value, ...]:
        """The items of a comprehension, unrolled; its names are in a frame of their own."""
        first = self.expression(node.generators[0].iter)
        self.enter(node)
        made = self._generate(node.generators, first, parts)
        values = self.pop_many(made)
        self.leave()
        return values

    def _generate(
        self, generators: Sequence[ast.comprehension], iterable: Value, parts: Sequence[Callable[[], Value]]
    ) -> int:
        """Push the values of the innermost bodies, in order; the number of them."""
        generator = generators[0]
        count = 0
        self.push(iterable)
        position = len(self.state.temps) - 1
        for index in range(self.static_length(iterable, generator.iter)):
            self.assign(generator.target, self.element(self.state.temps[position], Static(index)))
            conditions = [self.truth(self.expression(condition)) for condition in generator.ifs]
            if not all(isinstance(condition, bool) for condition in conditions):
                raise self.refusal("the length of this list would depend on data", "write a loop that fills an array")
            if not all(conditions):
                continue
            if len(generators) > 1:
                count += self._generate(generators[1:], self.expression(generators[1].iter), parts)
                continue
            for part in parts:
                self.push(part())
                count += 1
        kept = self.pop_many(count)
        self.pop()
        self.push(*kept)
        return count

    def enter(self, node: ScopeNode) -> None:
        """Begin a frame for a comprehension in the current function."""
        number = self.fresh()
        frame = Frame(number, self.frame.source, scope_of(node), self.frame.number, self.frame.live)
        frame.live = scope_of(node).local
        self.frames[number] = frame
        self.state.frames[number] = {}
        self.active.append(frame)

    def leave(self) -> None:
        """End the current frame; what closures see of it stays."""
        frame = self.active.pop()
        names = self.state.frames.get(frame.number, {})
        kept = {name: value for name, value in names.items() if name in frame.scope.captured}
        if kept:
            self.state.frames[frame.number] = kept
        else:
            self.state.frames.pop(frame.number, None)

    @abstractmethod
    def static_length(self, iterable: Value, node: ast.expr) -> int: ...

    @abstractmethod
    def element(self, iterable: Value, index: Value) -> Value: ...

    @abstractmethod
    def assign(self, target: ast.expr, value: Value) -> None: ...

    # Text: static only, as in messages of exceptions.

    def _joinedstr(self, node: ast.JoinedStr) -> Value:
        return Static(self.text(node))

    def text(self, node: ast.JoinedStr) -> str:
        return "".join(
            self._formatted(part) if isinstance(part, ast.FormattedValue) else str(ast.literal_eval(part))
            for part in node.values
        )

    def _formatted(self, part: ast.FormattedValue) -> str:
        value = self.static(self.expression(part.value), "a formatted value")
        spec = self.text(part.format_spec) if isinstance(part.format_spec, ast.JoinedStr) else ""
        value = {"s": str, "r": repr, "a": ascii}.get(chr(part.conversion) if part.conversion > 0 else "", lambda x: x)(
            value
        )
        return format(value, spec)

    # Attributes and subscripts.

    def _attribute(self, node: ast.Attribute) -> Value:
        return self.attribute(self.expression(node.value), node.attr)

    def attribute(self, value: Value, name: str) -> Value:
        value = self.use(value)
        match value:
            case Ref():
                return self.array_attribute(value, name)
            case Traced():
                return self.number_attribute(value, name)
            case Object():
                entry = self.entry(value)
                if entry.kind not in (list, dict):
                    if name in entry.keys:
                        return entry.items[entry.keys.index(name)]
                    return self.attribute_of_class(value, entry.kind, name)
                if not hasattr(entry.kind, name):
                    raise self.refusal(f"a {entry.kind.__name__} has no attribute {name!r}")
                return Bound(value, name)
            case Tuple():
                fields = getattr(value.kind, "_fields", ())
                if name in fields:
                    return value.items[fields.index(name)]
                if value.kind is not tuple and name not in dir(tuple):
                    return self.attribute_of_class(value, value.kind, name)
                return Bound(value, name)
            case Static():
                return self.attribute_of_object(value, name)
            case Lazy() | Closure() | Bound() | Transformed() | Pullback():
                raise self.refusal(f"attribute {name!r} of {kind_of(value)} is not compiled")
        raise self.refusal(f"attribute {name!r} of {kind_of(value)} is not compiled")

    @abstractmethod
    def attribute_of_class(self, value: Value, kind: type, name: str) -> Value: ...

    def array_attribute(self, array: Ref, name: str) -> Value:
        match name:
            case "shape":
                return Tuple(tuple(Static(size) for size in array.shape))
            case "ndim":
                return Static(array.ndim)
            case "size":
                return Static(array.alternatives[0].view.size)
            case "dtype":
                return Static(array.dtype)
            case "itemsize":
                return Static(array.dtype.itemsize)
            case "nbytes":
                return Static(array.alternatives[0].view.size * array.dtype.itemsize)
        function = view_functions.attribute(name)
        if function is not None:
            viewed = self.viewed(array, function)
            assert viewed is not None
            return viewed
        if not hasattr(np.ndarray, name):
            raise self.refusal(f"an array has no attribute {name!r}")
        if not callable(getattr(np.ndarray, name)):
            raise self.refusal(f"the array attribute {name!r} is not compiled")
        return Bound(array, name)

    def number_attribute(self, number: Traced, name: str) -> Value:
        if number.weak:
            if name in ("real", "numerator"):
                return number
            if name == "imag":
                return Static(0)
            raise self.refusal(f"attribute {name!r} of a Python number is not compiled")
        static: dict[str, Any] = {"shape": (), "ndim": 0, "size": 1, "dtype": number.dtype}
        if name in static:
            return Static(static[name]) if name != "shape" else Tuple(())
        if name in ("T", "real"):
            return number
        return Bound(number, name)

    def viewed(self, array: Ref, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Ref | None:
        """A view of an array, by a view function; None where NumPy makes a copy."""
        views = [function(alternative.view, *args, **kwargs) for alternative in array.alternatives]
        if all(view is None for view in views):
            if any(layout.is_unknown(alternative.view) for alternative in array.alternatives):
                raise self.refusal("whether this is a view depends on how the array lies in memory", ".copy() it first")
            return None
        if any(view is None for view in views):
            raise self.refusal(
                "this is a view of one of the arrays it may stand for, and a copy of another", ".copy() it"
            )
        pairs = zip(array.alternatives, views, strict=True)
        return self.distinct(Ref(tuple(Alternative(a.cell, view) for a, view in pairs), array.selector))

    def distinct(self, array: Ref) -> Ref:
        """The array, with alternatives that have become one view of one cell, at several starts, made one."""
        groups: dict[tuple[int, Any], list[int]] = {}
        for position, alternative in enumerate(array.alternatives):
            groups.setdefault((alternative.cell, alternative.view.steps), []).append(position)
        if array.selector is None or len(groups) == len(array.alternatives):
            return array
        made: list[Alternative] = []
        numbers = [0] * len(array.alternatives)
        for group, positions in enumerate(groups.values()):
            chosen = [array.alternatives[position].view for position in positions]
            for position in positions:
                numbers[position] = group
            params = tuple(
                self.selected(array.selector, positions, starts)
                for starts in zip(*(view.params for view in chosen), strict=True)
            )
            known = all(view.strides == chosen[0].strides for view in chosen)
            strides = chosen[0].strides if known else layout.unknown_strides(chosen[0].shape)
            readonly = any(view.readonly for view in chosen)
            view = dataclasses.replace(chosen[0], params=params, strides=strides, readonly=readonly)
            made.append(Alternative(array.alternatives[positions[0]].cell, view))
        return Ref(tuple(made), None if len(made) == 1 else renumbered(array.selector, numbers))

    @staticmethod
    def selected(selector: Expr, positions: Sequence[int], starts: Sequence[int | Expr]) -> int | Expr:
        """The start of the alternative that is taken, of those at `positions`."""
        first = starts[0]
        if all(
            start is first or (isinstance(first, int) and not isinstance(start, Expr) and start == first)
            for start in starts
        ):
            return first
        exprs = [start if isinstance(start, Expr) else constant(start, types.I64) for start in starts]
        result = exprs[-1]
        for position, expr in zip(reversed(positions[:-1]), reversed(exprs[:-1]), strict=True):
            result = where(selector == position, expr, result)
        return result

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

    def index_operand(self, index: Value) -> Any:
        """An index as FE's views take it: 0-d arrays and numbers are read."""
        index = self.use(index)
        if isinstance(index, Lazy) and index.kind is slice:
            return slice(*(self.index_operand(part) for part in index.parts))
        if isinstance(index, Tuple):
            return tuple(self.index_operand(part) for part in index.items)
        if isinstance(index, Ref) and not index.shape:
            return self.read_scalar(index)
        return self.operand(index)

    def get_item(self, base: Value, index: Value) -> Value:
        base = self.use(base)
        match base:
            case Ref():
                return self.array_item(base, index)
            case Tuple():
                return self.sequence_item(base.items, index, lambda items: Tuple(items))
            case Object():
                entry = self.entry(base)
                if entry.kind is dict:
                    key = self.static(index, "a key of a dict")
                    if key not in entry.keys:
                        raise self.failed("KeyError", repr(key))
                    return entry.items[entry.keys.index(key)]
                if entry.kind is list:
                    return self.sequence_item(entry.items, index, self.new_list)
            case Static():
                key = self.static(index, "an index")
                return self.computed(lambda: base.value[key])
            case Traced() if not base.weak and isinstance(index, Tuple) and not index.items:
                return base
            case Lazy() if base.kind is range:
                return self.element(base, index)
        raise self.refusal(f"{kind_of(base)} cannot be indexed")

    def sequence_item(
        self, items: tuple[Value, ...], index: Value, build: Callable[[tuple[Value, ...]], Value]
    ) -> Value:
        position = require_static(self.index_operand(index), "the index of a list or tuple")
        if isinstance(position, slice):
            return build(items[position])
        try:
            return items[operator.index(position)]
        except IndexError:
            raise self.failed("IndexError", "list index out of range") from None
        except TypeError:
            raise self.refusal("the indices of lists and tuples are integers and slices") from None

    def array_item(self, array: Ref, index: Value) -> Value:
        position = self.index_operand(index)
        if not is_basic(position):
            return self.advanced_item(array, position)
        part = self.part(array, position)
        entries = position if isinstance(position, tuple) else (position,)
        if part.shape == () and not any(entry is Ellipsis for entry in entries):
            return self.read_scalar(part)
        return part

    def advanced_item(self, array: Ref, position: Any) -> Value:
        raise self.refusal("indexing by arrays, lists and masks is not compiled yet", MASK_HINT)

    def part(self, array: Ref, position: Any) -> Ref:
        """The view `array[position]`, for a basic index."""
        try:
            parts = [Alternative(a.cell, compose(a.view, position, self.boundscheck)) for a in array.alternatives]
        except RUNTIME_ERRORS as error:
            raise self.certain_error(error) from None
        return self.distinct(Ref(tuple(parts), array.selector))


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
