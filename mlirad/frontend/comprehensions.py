"""Comprehensions: unrolled where their lengths are known, or else loops that fill a list.

Reads: ast and the state. Writes: ops, through expressions. Leaves: lists, dicts and what consumes generators.

`[f(v) for v in x if v > 0]` of an x whose length, or whose elements, only the run knows is what Python makes of it:

    def listcomp(items):
        filled = []
        for v in items:
            if v > 0:
                filled.append(f(v))
        return filled
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cache

from xdsl.ir import Operation

from mlirad.errors import CompileError
from mlirad.frontend import known
from mlirad.frontend.access import Access
from mlirad.frontend.core import Frame
from mlirad.frontend.elements import NumberElement, element_of, leaves
from mlirad.frontend.poison import PoisonUsed
from mlirad.frontend.scope import ScopeNode, scope_of
from mlirad.frontend.traced import NeedStatic, Traced
from mlirad.frontend.values import Entry, Lazy, Object, Static, Tuple, Value, inside

# Longer lists of numbers are filled by loops.
MANY = 200
_ITEMS, _FILLED = "$items", "$filled"
Listing = ast.ListComp | ast.GeneratorExp


class _NeedsLoop(Exception):
    """Only the run knows how long a list is, or it is long."""


class Comprehensions(Access):
    """List and dict comprehensions, and generators that are consumed at once."""

    @abstractmethod
    def condition(self, node: ast.expr) -> bool | Traced: ...

    @abstractmethod
    def roll_back(self, mark: Operation | None) -> None: ...

    @abstractmethod
    def run_comprehension(self, node: ast.FunctionDef, items: Value) -> Value:
        """What a function gives that stands for a comprehension."""

    def _listcomp(self, node: ast.ListComp) -> Value:
        made = self.listed_by(node)
        return made if isinstance(made, Object) else self.new_list(made.items)

    def _generatorexp(self, node: ast.GeneratorExp) -> Value:
        return Lazy(iter, (self.listed_by(node),))  # type: ignore[arg-type]

    def _dictcomp(self, node: ast.DictComp) -> Value:
        flat = self.comprehension(node, [lambda: self.expression(node.key), lambda: self.expression(node.value)])
        keys = [self.static(key, "a key of a dict") for key in flat[::2]]
        items = dict(zip(keys, flat[1::2], strict=True))
        return self.new_object(Entry(dict, tuple(items), tuple(items.values())))

    def listed_by(self, node: Listing) -> Tuple | Object:
        """The items of a comprehension, or a list that a loop has filled with them."""
        first = node.generators[0].iter
        iterable = self.expression(first)
        with self.at(first):
            self.require_no_generator(iterable)
            self.push(iterable)
            length = self.length(iterable)
        start, mark = self.state.fork(), self.current_block.last_op
        appended, active = self.appended, len(self.active)

        def begin_again() -> Value:
            del self.active[active:]
            self.roll_back(mark)
            self.state, self.appended = start.fork(), appended
            return self.pop()

        if not isinstance(length, Traced):
            try:
                with known.trial():
                    return Tuple(self.unrolled_items(node, self.pop(), length > MANY))
            except _NeedsLoop:
                iterable = begin_again()
        else:
            self.pop()
        if any(isinstance(each, ast.NamedExpr) for each in ast.walk(node)):
            raise self.refusal(":= inside a comprehension is not compiled", "write a loop")
        try:
            with known.trial():
                filled = self.run_comprehension(as_function(node), iterable)
        except (CompileError, NeedStatic, PoisonUsed):
            # Elements of several types are values of their own, where they can be counted.
            if isinstance(length, Traced) or length <= MANY:
                raise
            return Tuple(self.unrolled_items(node, begin_again()))
        assert isinstance(filled, Object)
        return filled

    def unrolled_items(self, node: Listing, iterable: Value, is_long: bool = False) -> tuple[Value, ...]:
        """Raises _NeedsLoop where only the run knows the length, or is_long and it is of numbers that are not known."""

        def element() -> Value:
            made = self.expression(node.elt)
            if is_long and any(isinstance(each, Traced | Object) for each in inside(made)):
                kind = element_of(made, self.as_is)
                if kind is not None and all(isinstance(leaf, NumberElement) for leaf in leaves(kind)):
                    raise _NeedsLoop
            return made

        with self.at(node.generators[0].iter):
            items = self.consumed(iterable)
        self.enter(node)
        values = self.pop_many(self._generate(node.generators, items, [element]))
        self.leave()
        return values

    def comprehension(self, node: ast.DictComp, parts: Sequence[Callable[[], Value]]) -> tuple[Value, ...]:
        """The items of a comprehension, unrolled; its names are in a frame of their own."""
        first = self.gone_through(node.generators[0].iter)
        self.enter(node)
        try:
            made = self._generate(node.generators, first, parts)
        except _NeedsLoop:
            raise self.refusal("which keys this dict has would depend on data", "use arrays") from None
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
        for index in range(self.known_length(iterable, generator.iter)):
            self.assign(generator.target, self.element(self.state.temps[position], Static(index)))
            if not all(map(self.known_condition, generator.ifs)):
                continue
            if len(generators) > 1:
                count += self._generate(generators[1:], self.gone_through(generators[1].iter), parts)
                continue
            for part in parts:
                self.push(part())
                count += 1
        kept = self.pop_many(count)
        self.pop()
        self.push(*kept)
        return count

    def known_condition(self, node: ast.expr) -> bool:
        truth = self.condition(node)
        if isinstance(truth, Traced):
            raise _NeedsLoop
        return truth

    def known_length(self, iterable: Value, node: ast.expr) -> int:
        with self.at(node):
            length = self.length(iterable)
            if isinstance(length, Traced):
                if isinstance(self.frame.scope.node, ast.DictComp):
                    raise NeedStatic(length.origins, "the length of a comprehension")
                raise _NeedsLoop
            return length

    def gone_through(self, node: ast.expr) -> Value:
        """What a comprehension goes through."""
        iterable = self.expression(node)
        with self.at(node):
            self.require_no_generator(iterable)
            return self.consumed(iterable)

    @abstractmethod
    def require_no_generator(self, value: Value) -> None: ...

    @abstractmethod
    def consumed(self, value: Value) -> Value: ...

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
    def length(self, value: Value) -> int | Traced: ...

    @abstractmethod
    def element(self, iterable: Value, index: Value) -> Value: ...

    @abstractmethod
    def assign(self, target: ast.expr, value: Value) -> None: ...


@cache
def as_function(node: Listing) -> ast.FunctionDef:
    """The function that a comprehension stands for."""

    def placed(made: ast.AST, at: ast.AST = node) -> ast.AST:
        return ast.copy_location(made, at)

    def name(text: str, context: ast.expr_context) -> ast.expr:
        return placed(ast.Name(text, context), node.elt)  # type: ignore[return-value]

    append = placed(ast.Attribute(name(_FILLED, ast.Load()), "append", ast.Load()), node.elt)
    body: ast.AST = placed(ast.Expr(placed(ast.Call(append, [node.elt], []), node.elt)), node.elt)  # type: ignore[arg-type]
    for number, generator in reversed(list(enumerate(node.generators))):
        for condition in reversed(generator.ifs):
            body = placed(ast.If(condition, [body], []), condition)  # type: ignore[list-item]
        items = generator.iter if number else name(_ITEMS, ast.Load())
        body = placed(ast.For(generator.target, items, [body], []), generator.iter)  # type: ignore[list-item]
    begin = placed(ast.Assign([name(_FILLED, ast.Store())], placed(ast.List([], ast.Load()))))  # type: ignore[arg-type]
    end = placed(ast.Return(name(_FILLED, ast.Load())))
    parameters = ast.arguments(posonlyargs=[], args=[ast.arg(_ITEMS)], kwonlyargs=[], kw_defaults=[], defaults=[])
    return placed(ast.FunctionDef("listcomp", parameters, [begin, body, end], []))  # type: ignore[arg-type, return-value]
