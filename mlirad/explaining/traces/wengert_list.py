"""The steps of one call, in a line: what Wengert's list of a program is.

Reads: what the evaluator runs. Writes: nothing. Leaves: a `WengertList`.

A step is an op that computes floating-point or complex numbers from those that derivatives are taken by. What does not
depend on them, such as a counter or a condition, is a constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
from xdsl.dialects import func, scf
from xdsl.ir import Block, Operation

from mlirad.analysis.call_graph import written_by
from mlirad.analysis.rule_attributes import own_rule
from mlirad.dialect.core.types import from_location
from mlirad.evaluator.watch import Watch


@dataclass(frozen=True)
class TracedTrip:
    """One run of a loop's body, or of one side of a branch. number: of the trip, from 1 on.

    run: a number for each run of a loop or branch. kind: for, while, if or else. line: of the program.
    """

    run: int
    kind: str
    number: int
    line: int | None


@dataclass(eq=False)
class Variable:
    """A value of the list: an argument, or the result of a step. number: from 1 on for steps, 0 or less for arguments.

    name: the user's, if it has one. operands: of its step, each once: variables, and the values of constants. out:
    which result of its op it is.
    """

    value: Any
    name: str | None = None
    op: Operation | None = None
    operands: tuple[Any, ...] = ()
    trips: tuple[TracedTrip, ...] = ()
    number: int = 0
    out: int = 0

    @property
    def wrt(self) -> tuple[int, ...]:
        """The operands of its step that are variables."""
        return tuple(place for place, each in enumerate(self.operands) if isinstance(each, Variable))


@dataclass(frozen=True)
class WengertList:
    """arguments: those that derivatives are taken by. results: what the call gave; a constant is no Variable."""

    arguments: tuple[Variable, ...]
    steps: tuple[Variable, ...]
    results: tuple[Any, ...]


class StepRecorder(Watch):
    """Makes the list of a run.

    Between loops and branches, steps are numbered as in textbooks: by their depth in the graph. Steps of equal depth
    keep the order of the program.
    """

    wengert: WengertList
    """Of the run that has ended."""

    def __init__(self, arguments: int) -> None:
        """arguments: as many of the function's first values are arguments, the others are constants."""
        self._count = arguments
        self._function: func.FuncOp | None = None
        self._known: dict[int, tuple[Any, Variable]] = {}  # by identity; with the value, to keep it alive
        self._arguments: list[Variable] = []
        self._steps: list[Variable] = []
        self._stretch: list[Variable] = []
        self._depths: dict[int, int] = {}  # of the steps of the stretch, by identity
        self._trips: list[TracedTrip] = []
        self._runs = count()

    def started(self, function: func.FuncOp, values: Sequence[Any]) -> None:
        self._function = function
        for value, argument in zip(values[: self._count], function.body.block.args, strict=False):
            if _is_inexact(value):
                self._arguments.append(Variable(value, argument.name_hint))
                self._known[id(value)] = (value, self._arguments[-1])

    def ended(self, results: Sequence[Any]) -> None:
        self._end_stretch()
        for number, argument in enumerate(self._arguments, 1 - len(self._arguments)):
            argument.number = number
        for number, step in enumerate(self._steps, 1):
            step.number = number
        assert self._function is not None
        written = written_by(self._function).values()
        given = (self._variable(result) for number, result in enumerate(results) if number not in written)
        self.wengert = WengertList(tuple(self._arguments), tuple(self._steps), tuple(given))

    def ran(self, op: Operation, operands: Sequence[Any], results: Sequence[Any]) -> None:
        # Each operand once: `x * x` is a function of one variable.
        given = tuple(map(self._variable, dict(zip(op.operands, operands, strict=True)).values()))
        if not any(isinstance(each, Variable) for each in given):
            return
        depth = 1 + max(self._depths.get(id(each), 0) for each in given)
        for out, (value, result) in enumerate(zip(results, op.results, strict=True)):
            if _is_inexact(value) and not any(value is each for each in operands):
                made = Variable(value, result.name_hint, op, given, tuple(self._trips), out=out)
                self._stretch.append(made)
                self._depths[id(made)] = depth
                self._known[id(value)] = (value, made)

    def enters(self, function: func.FuncOp) -> bool:
        return own_rule(function) is None  # a function with a derivative of its own is one step

    def handed_on(self, value: Any, copy: Any) -> None:
        if copy is not value and isinstance(variable := self._variable(value), Variable):
            self._known[id(copy)] = (copy, variable)

    def entered(self, op: Operation) -> None:
        self._end_stretch()
        kind = {scf.ForOp: "for", scf.WhileOp: "while"}.get(type(op), "if")
        self._trips.append(TracedTrip(next(self._runs), kind, 0, line_of(op)))

    def began(self, block: Block) -> None:
        self._end_stretch()
        region, trip = block.parent_region(), self._trips[-1]
        op = block.parent_op()
        assert op is not None
        is_first = region is op.regions[0]
        if trip.kind in ("if", "else"):
            self._trips[-1] = replace(trip, kind="if" if is_first else "else")
        elif is_first:  # of a while: its condition begins a trip
            self._trips[-1] = replace(trip, number=trip.number + 1)

    def left(self) -> None:
        self._end_stretch()
        self._trips.pop()

    def _end_stretch(self) -> None:
        self._steps += sorted(self._stretch, key=lambda step: self._depths[id(step)])
        self._stretch.clear()
        self._depths.clear()

    def _variable(self, value: Any) -> Any:
        _, variable = self._known.get(id(value), (None, None))
        return value if variable is None else variable


def _is_inexact(value: Any) -> bool:
    return np.asarray(value).dtype.kind in "fc"


def line_of(op: Operation) -> int | None:
    """The line of the user's program that an op comes from."""
    place = from_location(op.location)
    return None if place is None else place.lineno
