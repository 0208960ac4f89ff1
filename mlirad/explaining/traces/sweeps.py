"""The two sweeps over a Wengert list: cotangents backwards, tangents forwards.

Reads: a `WengertList`. Writes: nothing. Leaves: `Sweeps`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlirad.dialect.ad.derivative_ops import DerivativeOp, JvpOp, VjpOp
from mlirad.explaining.traces.notation import BAR, DOT, shown
from mlirad.explaining.traces.steps_of_derivatives import StepFunction
from mlirad.explaining.traces.wengert_list import Variable, WengertList


@dataclass(frozen=True)
class AdjointTerm:
    """What a step adds to the cotangent of one of its operands, and that cotangent from then on."""

    of: Variable
    expression: str
    cotangent: Any
    is_first: bool


@dataclass(frozen=True)
class TracedStep:
    """A step with its expression, the adjoints that it gives, and its tangent, if a direction was given."""

    variable: Variable
    expression: str
    adjoints: tuple[AdjointTerm, ...]
    tangent: Any = None
    tangent_expression: str = ""


@dataclass(frozen=True)
class Sweeps:
    """steps: in the order of the run. cotangents: of variables, by their numbers, for cotangents of 1 of all results.

    tangents: of variables, by their numbers, for the direction of the call; empty without one.
    """

    wengert: WengertList
    steps: tuple[TracedStep, ...]
    cotangents: dict[int, Any]
    tangents: dict[int, Any]


def sweeps_of(wengert: WengertList, tangents: dict[int, Any], results: Sequence[Any] | None = None) -> Sweeps:
    """tangents: of the arguments, by their numbers; empty for no forward sweep. results: which results of the
    list have a cotangent of 1; None: all."""
    return _Differentiated(wengert, tangents, wengert.results if results is None else results).sweeps()


class _Differentiated:
    """The sweeps over a list. Functions of steps are made once for ops of one kind."""

    def __init__(self, recorded: WengertList, tangents: dict[int, Any], results: Sequence[Any]):
        self.list, self.tangents, self.results = recorded, tangents, results
        self._functions: dict[Any, StepFunction] = {}

    def sweeps(self) -> Sweeps:
        adjoints, cotangents = self._reversed()
        has_direction = bool(self.tangents)
        steps = []
        for step in self.list.steps:
            tangent, text = self._pushed(step) if has_direction else (None, "")
            own = self._function(step).text([shown(each) for each in step.operands])
            steps.append(TracedStep(step, own, adjoints.get(step.number, ()), tangent, text))
        return Sweeps(self.list, tuple(steps), cotangents, self.tangents)

    def _reversed(self) -> tuple[dict[int, tuple[AdjointTerm, ...]], dict[int, Any]]:
        cotangents: dict[int, Any] = {}
        for result in self.results:
            if isinstance(result, Variable):
                one = np.ones_like(result.value)
                cotangents[result.number] = cotangents.get(result.number, 0) + one
        adjoints: dict[int, tuple[AdjointTerm, ...]] = {}
        for step in reversed(self.list.steps):
            if step.number in cotangents:
                adjoints[step.number] = tuple(self._adjoint(step, place, cotangents) for place in step.wrt)
        return adjoints, cotangents

    def _adjoint(self, step: Variable, place: int, cotangents: dict[int, Any]) -> AdjointTerm:
        operand = step.operands[place]
        pullback = self._function(step, VjpOp, (place,))
        share = pullback(*map(_value, step.operands), cotangents[step.number])
        before = cotangents.get(operand.number)
        cotangents[operand.number] = total = share if before is None else before + share
        text = pullback.text([*map(shown, step.operands), shown(step, BAR)])
        return AdjointTerm(operand, text, total, before is None)

    def _pushed(self, step: Variable) -> tuple[Any, str]:
        wrt = tuple(place for place in step.wrt if step.operands[place].number in self.tangents)
        if not wrt:
            return None, ""
        push = self._function(step, JvpOp, wrt)
        seeds = [step.operands[place] for place in wrt]
        tangent = push(*map(_value, step.operands), *(self.tangents[each.number] for each in seeds))
        self.tangents[step.number] = tangent
        return tangent, push.text([*map(shown, step.operands), *(shown(each, DOT) for each in seeds)])

    def _function(
        self, step: Variable, request: type[DerivativeOp] | None = None, wrt: Sequence[int] = ()
    ) -> StepFunction:
        op = step.op
        assert op is not None
        shape = tuple(map(str, op.properties.items())), tuple(str(each.type) for each in op.operands)
        same = tuple(op.operands.index(each) for each in op.operands)
        key = op.name, shape, same, step.out, request, wrt
        if key not in self._functions:
            self._functions[key] = StepFunction(op, request, wrt, step.out)
        return self._functions[key]


def _value(operand: Any) -> Any:
    return operand.value if isinstance(operand, Variable) else operand
