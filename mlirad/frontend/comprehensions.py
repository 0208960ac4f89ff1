"""Comprehensions: unrolled, with a frame of their own for their names.

Reads: ast and the state. Writes: ops, through expressions. Leaves: lists, dicts and what consumes generators.
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable, Sequence

from mlirad.frontend.access import Access
from mlirad.frontend.core import Frame
from mlirad.frontend.scope import ScopeNode, scope_of
from mlirad.frontend.traced import Traced
from mlirad.frontend.values import Entry, Lazy, Static, Tuple, Value


class Comprehensions(Access):
    """List and dict comprehensions, and generators that are consumed at once."""

    @abstractmethod
    def condition(self, node: ast.expr) -> bool | Traced: ...

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
        first = self.gone_through(node.generators[0].iter)
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
            conditions = [self.condition(condition) for condition in generator.ifs]
            if not all(isinstance(condition, bool) for condition in conditions):
                raise self.refusal("the length of this list would depend on data", "write a loop that fills an array")
            if not all(conditions):
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
    def static_length(self, iterable: Value, node: ast.expr) -> int: ...

    @abstractmethod
    def element(self, iterable: Value, index: Value) -> Value: ...

    @abstractmethod
    def assign(self, target: ast.expr, value: Value) -> None: ...
