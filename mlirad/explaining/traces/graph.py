"""The computational graph of a trace as a picture: values and cotangents on its nodes, loops and branches as boxes.

Reads: `Sweeps`. Writes: SVG. Leaves: nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mlirad.explaining.pictures.nested_layout import GraphNode, Net
from mlirad.explaining.pictures.svg import Label, as_svg, box, leaf
from mlirad.explaining.traces.notation import BAR, DOT, accented, shown, subscript, value_text
from mlirad.explaining.traces.shown_trips import ShownTrips
from mlirad.explaining.traces.sweeps import Sweeps, TracedStep
from mlirad.explaining.traces.wengert_list import TracedTrip, Variable


def graph_of(found: Sweeps, title: str) -> str:
    """The picture. A variable that the results do not depend on is pale, and so are the lines to it."""
    return _Graph(found).svg(title)


@dataclass
class _Part:
    """A box that is being filled. parts: the boxes of its loops, trips and branches, by key."""

    heading: str
    is_sequence: bool = False
    children: list[GraphNode | _Part] = field(default_factory=list)
    parts: dict[Any, _Part] = field(default_factory=dict)

    def part(self, key: Any, heading: str, *, is_sequence: bool = False) -> _Part:
        if key not in self.parts:
            self.parts[key] = _Part(heading, is_sequence)
            self.children.append(self.parts[key])
        return self.parts[key]

    def node(self) -> GraphNode:
        children = [each.node() if isinstance(each, _Part) else each for each in self.children]
        return box(self.heading, children, is_sequence=self.is_sequence)


class _Graph:
    def __init__(self, found: Sweeps):
        self.found = found
        self.trips = ShownTrips(step.variable.trips for step in found.steps)
        self.leaves: dict[int, GraphNode] = {}  # by the numbers of variables; one for all that are hidden together
        self.hidden: dict[Any, GraphNode] = {}
        self.sinks: dict[int, list[GraphNode]] = {}

    def svg(self, title: str) -> str:
        root = _Part("")
        for argument in self.found.wengert.arguments:
            self.leaves[argument.number] = self._argument(argument)
            root.children.append(self.leaves[argument.number])
        for step in self.found.steps:
            self._add(root, step)
        results = [self._result(number, each) for number, each in enumerate(self.found.wengert.results, 1)]
        root.children += results
        nets = [
            Net(self.leaves[number], tuple(dict.fromkeys(sinks)), self._kind(number))
            for number, sinks in self.sinks.items()
            if any(sink is not self.leaves[number] for sink in sinks)
        ]
        return as_svg(root.node(), nets, title, results)

    def _add(self, root: _Part, step: TracedStep) -> None:
        part: _Part = root
        variable = step.variable
        for trip in variable.trips:
            if trip.kind not in ("if", "else"):
                part = part.part(trip.run, self._loop(trip), is_sequence=True)
                if self.trips.hides(trip):
                    self._hide(part, trip, variable)
                    return
            heading = self.trips.heading(trip) if trip.kind in ("if", "else") else f"trip {trip.number}"
            part = part.part((trip.run, trip.number, trip.kind), heading)
        node = self.leaves[variable.number] = self._step(step)
        part.children.append(node)
        self._take(variable, node)

    def _hide(self, part: _Part, trip: TracedTrip, variable: Variable) -> None:
        if trip.run not in self.hidden:
            self.hidden[trip.run] = leaf(Label(((self.trips.heading(trip).split(" of the")[0], "quiet"),), "hidden"))
            part.children.append(self.hidden[trip.run])
        self.leaves[variable.number] = self.hidden[trip.run]
        self._take(variable, self.hidden[trip.run])

    def _take(self, variable: Variable, node: GraphNode) -> None:
        for operand in variable.operands:
            if isinstance(operand, Variable):
                self.sinks.setdefault(operand.number, []).append(node)

    def _loop(self, trip: TracedTrip) -> str:
        where = "" if trip.line is None else f" at line {trip.line}"
        return f"{trip.kind}{where}"

    def _kind(self, number: int) -> str:
        return "on" if number in self.found.cotangents else "off"

    def _derivatives(self, variable: Variable) -> list[tuple[str, str]]:
        rows = []
        if self.found.tangents:
            tangent = value_text(self.found.tangents.get(variable.number, 0.0))
            rows.append((f"{shown(variable, DOT)} = {tangent}", "tangent"))
        if variable.number in self.found.cotangents:
            rows.append((f"{shown(variable, BAR)} = {value_text(self.found.cotangents[variable.number])}", "adjoint"))
        return rows

    def _argument(self, variable: Variable) -> GraphNode:
        rows = [(f"{shown(variable)} = {variable.name or 'x'}", "name"), (f"= {value_text(variable.value)}", "value")]
        return leaf(Label((*rows, *self._derivatives(variable)), f"given {self._kind(variable.number)}"))

    def _step(self, step: TracedStep) -> GraphNode:
        variable = step.variable
        named = f" = {variable.name}" if variable.name else ""
        rows = [
            (f"{shown(variable)}{named}", "name"),
            (f"= {step.expression}", "expression"),
            (f"= {value_text(variable.value)}", "value"),
            *self._derivatives(variable),
        ]
        tooltip = "\n".join(text for text, _ in rows)
        return leaf(Label(tuple(rows), f"step {self._kind(variable.number)}", tooltip))

    def _result(self, number: int, result: Any) -> GraphNode:
        name = f"y{subscript(number)}" if len(self.found.wengert.results) > 1 else "y"
        value = result.value if isinstance(result, Variable) else result
        rows = [(f"{name} = {value_text(value)}", "name")]
        if isinstance(result, Variable):
            if self.found.tangents:
                tangent = value_text(self.found.tangents.get(result.number, 0.0))
                rows.append((f"{accented(name, DOT)} = {tangent}", "tangent"))
            rows.append((f"{accented(name, BAR)} = 1", "adjoint"))
        node = leaf(Label(tuple(rows), "result"))
        if isinstance(result, Variable):
            self.sinks.setdefault(result.number, []).append(node)
        return node
