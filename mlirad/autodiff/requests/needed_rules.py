"""Finds which derivative rules of functions are needed, and drops the others, so that they need not be expanded.

Reads: functions, their rules, and requests. Writes: attributes of functions. Leaves: every rule that a request may use,
now or once the requests below it have been expanded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from mlirad.analysis.call_graph import functions_of
from mlirad.analysis.rule_attributes import NamedRule, drop_own_rule, own_rule
from mlirad.dialect.ad.request_op import Mode, RequestOp
from mlirad.xdsl_support.traversal import ops_inside

HIGHEST = 9
"""Higher orders count as this one: a function may request derivatives of itself, which is refused later."""


@dataclass(frozen=True)
class DropRules(ModulePass):
    """Drop the rules of functions that nothing differentiates.

    Before:

        func.func @f(%x: f64) -> f64 {
          %y = func.call @g(%x) : (f64) -> f64
          func.return %y : f64
        }
        func.func private @g(%x: f64) -> f64 attributes {ad.wrt = array<i64: 0>, ad.rule.tangent = @t} {
          %y = nd.sin %x : f64
          func.return %y : f64
        }
        func.func private @t(%x: f64, %d: f64) -> (f64, f64) {
          %y = nd.sin %x : f64
          func.return %y, %d : f64, f64
        }

    After `mlirad-drop-rules`:

        func.func private @g(%x: f64) -> f64 {
          %y = nd.sin %x : f64
          func.return %y : f64
        }
    """

    name = "mlirad-drop-rules"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = functions_of(op)
        ruled = {name: function for name, function in functions.items() if own_rule(function) is not None}
        if not ruled:
            return
        orders = _Orders(functions)
        for name, function in functions.items():
            if function.sym_visibility is None or function.sym_visibility.data != "private":
                orders.reach(name, _Asked(0, frozenset()))
        orders.settle()
        for name, function in ruled.items():
            if name not in orders.found or not orders.found[name].order:
                drop_own_rule(function)


@dataclass(frozen=True)
class _Asked:
    """The order of the derivatives requested of a function, and their modes."""

    order: int
    modes: frozenset[Mode]

    def of(self, request: RequestOp) -> _Asked:
        """What a request asks of its callee."""
        if request.mode is None:
            return self
        return _Asked(min(self.order + request.order, HIGHEST), self.modes | {request.mode})

    def of_rule(self, rule: NamedRule) -> _Asked:
        """What is asked of the functions of a rule: one order less, because the rule is one derivative, unless
        transposed."""
        other = Mode.FORWARD if rule.tangent is None else Mode.REVERSE
        return self if other in self.modes else _Asked(self.order - 1, self.modes)


@dataclass
class _Orders:
    """The requirements of each function so far. pending: the functions whose requirements have grown since."""

    functions: dict[str, func.FuncOp]
    found: dict[str, _Asked] = field(default_factory=dict)
    pending: list[str] = field(default_factory=list)

    def reach(self, name: str, asked: _Asked) -> None:
        if name not in self.functions:
            return
        before = self.found.get(name)
        if before is not None:
            asked = _Asked(max(before.order, asked.order), before.modes | asked.modes)
        if asked != before:
            self.found[name] = asked
            self.pending.append(name)

    def settle(self) -> None:
        while self.pending:
            name = self.pending.pop()
            for other, asked in list(self._from(self.functions[name], self.found[name])):
                self.reach(other, asked)

    def _from(self, function: func.FuncOp, asked: _Asked) -> Iterator[tuple[str, _Asked]]:
        for op in ops_inside(function):
            if isinstance(op, func.CallOp):
                yield op.callee.string_value(), asked
            elif isinstance(op, RequestOp):
                yield op.callee.string_value(), asked.of(op)
        rule = own_rule(function)
        if rule is not None and asked.order:
            yield from ((name, asked.of_rule(rule)) for name in rule.functions)
