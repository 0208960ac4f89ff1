"""match: the cases are tried one after the other, as a chain of ifs.

Reads: ast and the state. Writes: comparisons, and scf.if where a pattern or a guard depends on the run. Leaves: an
Outcome. Which classes, lengths and keys a value has is known at compile time; numbers may be traced.
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlirad.dialect.expr import apply
from mlirad.frontend.expressions import Expressions
from mlirad.frontend.merge import kind_of
from mlirad.frontend.outcomes import Exit, Outcome
from mlirad.frontend.traced import Traced
from mlirad.frontend.values import Entry, Object, Static, Tuple, Value

Truth = bool | Traced
Bindings = dict[str, Value]

# The one positional part of a pattern of these classes is the value itself.
_WHOLE = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


class Matching(Expressions):
    """`match_statement`."""

    @abstractmethod
    def builtin_isinstance(self, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value: ...

    @abstractmethod
    def is_there(self, value: Value, name: str) -> bool: ...

    def match_statement(self, node: ast.Match) -> Outcome:
        base = len(self.state.temps)
        self.push(self.expression(node.subject))
        after = self.frame.scope.liveness.after.get(id(node), frozenset())
        outcome = self.tried_cases(node.cases, after)
        for state in outcome.states.values():
            state.temps = state.temps[:base]
        return outcome

    def tried_cases(self, cases: Sequence[ast.match_case], live: frozenset[str]) -> Outcome:
        """What the cases do, the subject being on top of the operands."""
        if not cases:
            return Outcome({Exit.NEXT: self.state})
        case, *others = cases
        bindings: Bindings = {}
        with self.at(case.pattern):
            truth = self.matches(case.pattern, self.top(), bindings)

        def rest() -> Outcome:
            return self.tried_cases(others, live)

        def taken() -> Outcome:
            for name, value in bindings.items():
                self.bind(name, value)
            if case.guard is None:
                return self.block(case.body)
            with self.at(case.guard):
                guard = self.condition(case.guard)
            return self.either(guard, lambda: self.block(case.body), rest, live)

        return self.either(truth, taken, rest, live)

    def either(
        self, truth: Truth, then: Callable[[], Outcome], otherwise: Callable[[], Outcome], live: frozenset[str]
    ) -> Outcome:
        if isinstance(truth, bool):
            return then() if truth else otherwise()
        return self.branch(truth, then, otherwise, live)

    def matches(self, pattern: ast.pattern, value: Value, bindings: Bindings) -> Truth:
        """Whether a value matches; the names that the pattern binds then."""
        value = self.use(value)
        match pattern:
            case ast.MatchValue():
                return self.is_equal(value, self.expression(pattern.value))
            case ast.MatchSingleton():
                return self.is_same(value, Static(pattern.value))
            case ast.MatchAs():
                truth = True if pattern.pattern is None else self.matches(pattern.pattern, value, bindings)
                if pattern.name is not None:
                    bindings[pattern.name] = value
                return truth
            case ast.MatchOr():
                return self.matches_one(pattern.patterns, value, bindings)
            case ast.MatchSequence():
                return self.matches_sequence(pattern.patterns, value, bindings)
            case ast.MatchMapping():
                return self.matches_mapping(pattern, value, bindings)
            case ast.MatchClass():
                return self.matches_class(pattern, value, bindings)
        raise self.refusal("this pattern is not compiled", "use if and elif")

    def is_equal(self, value: Value, wanted: Value) -> Truth:
        return self.truth(self.compare(ast.Eq(), value, wanted))

    def matches_one(self, patterns: Sequence[ast.pattern], value: Value, bindings: Bindings) -> Truth:
        truth: Truth = False
        for pattern in patterns:
            found: Bindings = {}
            other = self.matches(pattern, value, found)
            if found and (isinstance(truth, Traced) or isinstance(other, Traced)):
                raise self.refusal(
                    "names in a pattern with | that only the run decides are not compiled", "use two cases"
                )
            if other is True:
                bindings.update(found)
                return True
            if isinstance(other, Traced):
                truth = other if truth is False else self.joined(np.logical_or, truth, other)
        return truth

    def all_match(self, pairs: Sequence[tuple[ast.pattern, Value]], bindings: Bindings) -> Truth:
        truth: Truth = True
        for pattern, value in pairs:
            with self.at(pattern):
                other = self.matches(pattern, value, bindings)
            if other is False:
                return False
            if isinstance(other, Traced):
                truth = other if truth is True else self.joined(np.logical_and, truth, other)
        return truth

    @staticmethod
    def joined(ufunc: np.ufunc, x: Truth, y: Traced) -> Traced:
        assert isinstance(x, Traced)
        return Traced(apply(ufunc, x.scalar, y.scalar), weak=True, origins=x.origins | y.origins)

    def matches_sequence(self, patterns: Sequence[ast.pattern], value: Value, bindings: Bindings) -> Truth:
        is_list = isinstance(value, Object) and self.entry(value).kind is list
        is_static = isinstance(value, Static) and isinstance(value.value, tuple | range)
        if not (is_list or is_static or isinstance(value, Tuple)):
            if not isinstance(value, Static | Object | Traced) and not self.is_array(value):
                raise self.refusal(f"{kind_of(value)} is not compiled as the subject of this pattern")
            return False
        items = list(self.elements(value))
        starred = [place for place, pattern in enumerate(patterns) if isinstance(pattern, ast.MatchStar)]
        if not starred:
            return len(items) == len(patterns) and self.all_match(list(zip(patterns, items, strict=True)), bindings)
        place, tail = starred[0], len(patterns) - starred[0] - 1
        if len(items) < len(patterns) - 1:
            return False
        star, split = patterns[place], len(items) - tail
        assert isinstance(star, ast.MatchStar)
        if star.name is not None:
            bindings[star.name] = self.new_list(items[place:split])
        ends = [
            *zip(patterns[:place], items[:place], strict=True),
            *zip(patterns[place + 1 :], items[split:], strict=True),
        ]
        return self.all_match(ends, bindings)

    def is_array(self, value: Value) -> bool:
        found = self.builtin_isinstance((value, Static(np.ndarray)), {})
        return isinstance(found, Static) and bool(found.value)

    def matches_mapping(self, pattern: ast.MatchMapping, value: Value, bindings: Bindings) -> Truth:
        if not isinstance(value, Object) or self.entry(value).kind is not dict:
            return False
        entry = self.entry(value)
        items = dict(zip(entry.keys, entry.items, strict=True))
        keys = [self.static(self.expression(key), "a key of a pattern") for key in pattern.keys]
        if any(key not in items for key in keys):
            return False
        if pattern.rest is not None:
            left = {key: item for key, item in items.items() if key not in keys}
            bindings[pattern.rest] = self.new_object(Entry(dict, tuple(left), tuple(left.values())))
        pairs = [(inner, items[key]) for key, inner in zip(keys, pattern.patterns, strict=True)]
        return self.all_match(pairs, bindings)

    def matches_class(self, pattern: ast.MatchClass, value: Value, bindings: Bindings) -> Truth:
        named = self.expression(pattern.cls)
        kind: Any = named.value if isinstance(named, Static) else None
        if not isinstance(kind, type):
            raise self.refusal("the class of this pattern is not known at compile time", "use if and elif")
        is_instance = self.builtin_isinstance((value, named), {})
        assert isinstance(is_instance, Static)
        if not is_instance.value:
            return False
        pairs: list[tuple[ast.pattern, Value]] = []
        names = list(getattr(kind, "__match_args__", ()))
        if pattern.patterns and kind in _WHOLE:
            pairs += [(inner, value) for inner in pattern.patterns]
            names = [""]
        else:
            pattern_names = [*names[: len(pattern.patterns)], *pattern.kwd_attrs]
            inner_patterns = [*pattern.patterns, *pattern.kwd_patterns]
            if not all(self.is_there(value, name) for name in pattern_names):
                return False
            if len(pattern_names) == len(inner_patterns):
                found = [self.attribute(value, name) for name in pattern_names]
                pairs += list(zip(inner_patterns, found, strict=True))
        if len(pattern.patterns) > len(names):
            message = f"{kind.__name__}() accepts {len(names)} positional sub-patterns ({len(pattern.patterns)} given)"
            raise self.failed("TypeError", message)
        if kind in _WHOLE and pattern.kwd_attrs:
            raise self.refusal("this pattern is not compiled", "use if and elif")
        return self.all_match(pairs, bindings)
