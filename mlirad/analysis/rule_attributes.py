"""The derivative rules of functions, as attributes that name other functions of the module.

Reads and writes: attributes of a func.func. Leaves: a NamedRule. `mlirad-drop-hints` removes the attributes.

For a function of n arguments, `forward` takes these, and returns the function's results and residuals. `pullback` takes
the n arguments, the residuals, and a cotangent for each result with floats; it returns the cotangents of `wrt`.
`tangent` takes the n arguments and the tangents of `wrt`; it returns the results, and the tangents of those with
floats.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, SymbolRefAttr, i64
from xdsl.ir import Operation

from mlirad.dialect.core import types
from mlirad.dialect.core.attributes import ints

_WRT, _FORWARD, _PULLBACK, _TANGENT = "ad.wrt", "ad.rule.forward", "ad.rule.pullback", "ad.rule.tangent"


@dataclass(frozen=True)
class NamedRule:
    """A rule: `forward` and `pullback`, or `tangent`, by name. wrt: the arguments that it differentiates."""

    wrt: tuple[int, ...]
    forward: str | None = None
    pullback: str | None = None
    tangent: str | None = None

    @property
    def functions(self) -> tuple[str, ...]:
        return tuple(name for name in (self.forward, self.pullback, self.tangent) if name is not None)


def own_rule(function: Operation) -> NamedRule | None:
    """The rule of a function; None if it has none."""
    wrt = function.attributes.get(_WRT)
    if wrt is None:
        return None
    names = (function.attributes.get(key) for key in (_FORWARD, _PULLBACK, _TANGENT))
    return NamedRule(ints(wrt), *(each.string_value() if isinstance(each, SymbolRefAttr) else None for each in names))


def set_own_rule(function: func.FuncOp, rule: NamedRule) -> None:
    function.attributes[_WRT] = DenseArrayBase.from_list(i64, list(rule.wrt))
    for key, name in ((_FORWARD, rule.forward), (_PULLBACK, rule.pullback), (_TANGENT, rule.tangent)):
        if name is not None:
            function.attributes[key] = SymbolRefAttr(name)


def drop_own_rule(function: Operation) -> None:
    for key in (_WRT, _FORWARD, _PULLBACK, _TANGENT):
        function.attributes.pop(key, None)


def float_results(function: func.FuncOp) -> list[int]:
    """The results of a function that have cotangents and tangents."""
    return [number for number, type in enumerate(function.function_type.outputs.data) if types.is_inexact(type)]


def flows_by_rule(function: func.FuncOp, rule: NamedRule) -> Iterator[tuple[int, int]]:
    """The pairs (argument, result) between which a rule carries derivatives, whatever the function computes."""
    return ((argument, result) for argument in rule.wrt for result in float_results(function))
