"""match: the cases are tried in order, like a chain of ifs.

Reads: ast and the state. Writes: comparisons, and scf.if if a pattern or a guard depends on the run. Leaves: an
Outcome. The classes, lengths and keys of values are known at compile time; numbers may be traced.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlirad.dialect.core.expr import apply
from mlirad.frontend.interpreter import (
    attribute_access,
    branches,
    classes,
    consuming,
    dispatch,
    iteration,
    storage,
    variables,
)
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.dispatch import runs
from mlirad.frontend.interpreter.expressions import comparisons, conditions
from mlirad.frontend.join.outcomes import Exit, Outcome
from mlirad.frontend.program.scope import Names
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Entry, Object, Static, Tuple, Value, kind_of

Truth = bool | Traced
Bindings = dict[str, Value]
# In patterns of these classes, the only positional part is the value itself.
_WHOLE = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
_ARRAYS_MATCH = bool(np.ndarray.__flags__ & 1 << 5)  # Py_TPFLAGS_SEQUENCE, which arrays have from NumPy 2.5 on


@runs(ast.Match)
def match_statement(context: Context, node: ast.Match, _after: Names) -> Outcome:
    base = len(context.state.temps)
    context.push(dispatch.expression(context, node.subject))
    after = context.frame.scope.liveness.after.get(id(node), frozenset())
    outcome = tried_cases(context, node.cases, after)
    for state in outcome.states.values():
        state.temps = state.temps[:base]
    return outcome


def tried_cases(context: Context, cases: Sequence[ast.match_case], live: frozenset[str]) -> Outcome:
    """The outcome of the cases, with the subject on top of the operands."""
    if not cases:
        return Outcome({Exit.NEXT: context.state})
    case, *others = cases
    bindings: Bindings = {}
    with context.at(case.pattern):
        truth = matches(context, case.pattern, context.top(), bindings)

    def rest() -> Outcome:
        return tried_cases(context, others, live)

    def taken() -> Outcome:
        for name, value in bindings.items():
            variables.bind(context, name, value)
        if case.guard is None:
            return dispatch.block(context, case.body)
        with context.at(case.guard):
            guard = conditions.condition(context, case.guard)
        return either(context, guard, lambda: dispatch.block(context, case.body), rest, live)

    return either(context, truth, taken, rest, live)


def either(
    context: Context, truth: Truth, then: Callable[[], Outcome], otherwise: Callable[[], Outcome], live: frozenset[str]
) -> Outcome:
    if isinstance(truth, bool):
        return then() if truth else otherwise()
    return branches.branch(context, truth, then, otherwise, live)


def matches(context: Context, pattern: ast.pattern, value: Value, bindings: Bindings) -> Truth:
    """Whether a value matches, and the names that the pattern then binds."""
    value = context.use(value)
    match pattern:
        case ast.MatchValue():
            return is_equal(context, value, dispatch.expression(context, pattern.value))
        case ast.MatchSingleton():
            return comparisons.is_same(context, value, Static(pattern.value))
        case ast.MatchAs():
            truth = True if pattern.pattern is None else matches(context, pattern.pattern, value, bindings)
            if pattern.name is not None:
                bindings[pattern.name] = value
            return truth
        case ast.MatchOr():
            return matches_one(context, pattern.patterns, value, bindings)
        case ast.MatchSequence():
            return matches_sequence(context, pattern.patterns, value, bindings)
        case ast.MatchMapping():
            return matches_mapping(context, pattern, value, bindings)
        case ast.MatchClass():
            return matches_class(context, pattern, value, bindings)
    raise context.refusal("this pattern is not compiled", "use if and elif")


def is_equal(context: Context, value: Value, wanted: Value) -> Truth:
    return comparisons.truth_of(context, comparisons.compare(context, ast.Eq(), value, wanted))


def matches_one(context: Context, patterns: Sequence[ast.pattern], value: Value, bindings: Bindings) -> Truth:
    truth: Truth = False
    for pattern in patterns:
        found: Bindings = {}
        other = matches(context, pattern, value, found)
        if found and (isinstance(truth, Traced) or isinstance(other, Traced)):
            raise context.refusal(
                "names in a pattern with | that is decided at run time are not compiled", "use two cases"
            )
        if other is True:
            bindings.update(found)
            return True
        if isinstance(other, Traced):
            truth = other if truth is False else joined(np.logical_or, truth, other)
    return truth


def all_match(context: Context, pairs: Sequence[tuple[ast.pattern, Value]], bindings: Bindings) -> Truth:
    truth: Truth = True
    for pattern, value in pairs:
        with context.at(pattern):
            other = matches(context, pattern, value, bindings)
        if other is False:
            return False
        if isinstance(other, Traced):
            truth = other if truth is True else joined(np.logical_and, truth, other)
    return truth


def joined(ufunc: np.ufunc, x: Truth, y: Traced) -> Traced:
    assert isinstance(x, Traced)
    return Traced(apply(ufunc, x.scalar, y.scalar), weak=True, origins=x.origins | y.origins)


def matches_sequence(context: Context, patterns: Sequence[ast.pattern], value: Value, bindings: Bindings) -> Truth:
    is_list = isinstance(value, Object) and storage.entry_of(context, value).kind is list
    is_static = isinstance(value, Static) and isinstance(value.value, tuple | range)
    is_of_array = _ARRAYS_MATCH and not isinstance(value, Tuple) and is_array(context, value)
    if not (is_list or is_static or is_of_array or isinstance(value, Tuple)):
        if not isinstance(value, Static | Object | Traced) and not is_array(context, value):
            raise context.refusal(f"{kind_of(value)} is not compiled as the subject of this pattern")
        return False
    starred = [place for place, pattern in enumerate(patterns) if isinstance(pattern, ast.MatchStar)]
    length = iteration.length_of(context, value)
    if isinstance(length, int) and (length < len(patterns) - 1 if starred else length != len(patterns)):
        return False
    items = list(consuming.elements(context, value))
    if not starred:
        return all_match(context, list(zip(patterns, items, strict=True)), bindings)
    place, tail = starred[0], len(patterns) - starred[0] - 1
    star, split = patterns[place], len(items) - tail
    assert isinstance(star, ast.MatchStar)
    if star.name is not None:
        bindings[star.name] = context.new_list(items[place:split])
    ends = [
        *zip(patterns[:place], items[:place], strict=True),
        *zip(patterns[place + 1 :], items[split:], strict=True),
    ]
    return all_match(context, ends, bindings)


def is_array(context: Context, value: Value) -> bool:
    found = classes.builtin_isinstance(context, (value, Static(np.ndarray)), {})
    return isinstance(found, Static) and bool(found.value)


def matches_mapping(context: Context, pattern: ast.MatchMapping, value: Value, bindings: Bindings) -> Truth:
    if not isinstance(value, Object) or storage.entry_of(context, value).kind is not dict:
        return False
    entry = storage.entry_of(context, value)
    items = dict(zip(entry.keys, entry.items, strict=True))
    keys = [storage.static(context, dispatch.expression(context, key), "a key of a pattern") for key in pattern.keys]
    if any(key not in items for key in keys):
        return False
    if pattern.rest is not None:
        left = {key: item for key, item in items.items() if key not in keys}
        bindings[pattern.rest] = context.new_object(Entry(dict, tuple(left), tuple(left.values())))
    pairs = [(inner, items[key]) for key, inner in zip(keys, pattern.patterns, strict=True)]
    return all_match(context, pairs, bindings)


def matches_class(context: Context, pattern: ast.MatchClass, value: Value, bindings: Bindings) -> Truth:
    named = dispatch.expression(context, pattern.cls)
    kind: Any = named.value if isinstance(named, Static) else None
    if not isinstance(kind, type):
        raise context.refusal("the class of this pattern is not known at compile time", "use if and elif")
    is_instance = classes.builtin_isinstance(context, (value, named), {})
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
        if not all(classes.is_there(context, value, name) for name in pattern_names):
            return False
        if len(pattern_names) == len(inner_patterns):
            found = [attribute_access.attribute(context, value, name) for name in pattern_names]
            pairs += list(zip(inner_patterns, found, strict=True))
    if len(pattern.patterns) > len(names):
        message = f"{kind.__name__}() accepts {len(names)} positional sub-patterns ({len(pattern.patterns)} given)"
        raise context.failed("TypeError", message)
    if kind in _WHOLE and pattern.kwd_attrs:
        raise context.refusal("this pattern is not compiled", "use if and elif")
    return all_match(context, pairs, bindings)
