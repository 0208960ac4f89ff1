"""The tables of a trace, for the terminal and as a page that needs nothing else.

Reads: `Sweeps`. Writes: text. Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mlirad.explaining.row_tables import Row, page_of_rows, text_of_rows
from mlirad.explaining.traces.notation import BAR, DOT, accented, shown, subscript, value_text
from mlirad.explaining.traces.shown_trips import ShownTrips
from mlirad.explaining.traces.sweeps import AdjointTerm, Sweeps, TracedStep
from mlirad.explaining.traces.wengert_list import Variable

_FORWARD, _TANGENT = "forward primal trace", "forward tangent trace"
_REVERSE = "reverse adjoint trace, to be read upwards"


def as_text(found: Sweeps) -> str:
    """The tables, in columns."""
    return text_of_rows(_titles(found), list(_parts(found)))


def as_html(found: Sweeps, title: str, picture: str) -> str:
    """The tables, and below them a picture (SVG), as a page."""
    return page_of_rows(title, _titles(found), list(_parts(found)), picture)


def _titles(found: Sweeps) -> tuple[str, ...]:
    return (_FORWARD, _TANGENT, _REVERSE) if found.tangents else (_FORWARD, _REVERSE)


def _parts(found: Sweeps) -> Iterator[list[Row]]:
    """The rows of the arguments, of the steps, and of the results."""
    yield [_argument(found, each) for each in found.wengert.arguments]
    yield list(_steps(found))
    results = found.wengert.results
    yield [
        _result(found, each, f"y{subscript(number)}" if len(results) > 1 else "y")
        for number, each in enumerate(results, 1)
    ]


def _argument(found: Sweeps, variable: Variable) -> Row:
    name, number = variable.name or "x", variable.number
    cotangent = "0" if number not in found.cotangents else value_text(found.cotangents[number])
    return _row(
        found,
        f"{shown(variable)} = {name} = {value_text(variable.value)}",
        f"{shown(variable, DOT)} = {accented(name, DOT)} = {value_text(found.tangents.get(number, 0.0))}",
        [f"{accented(name, BAR)} = {shown(variable, BAR)} = {cotangent}"],
    )


def _result(found: Sweeps, result: Any, name: str) -> Row:
    if not isinstance(result, Variable):
        return _row(found, f"{name} = {value_text(result)}", "", [])
    tangent = value_text(found.tangents.get(result.number, 0.0))
    return _row(
        found,
        f"{name} = {shown(result)} = {value_text(result.value)}",
        f"{accented(name, DOT)} = {shown(result, DOT)} = {tangent}",
        [f"{shown(result, BAR)} = {accented(name, BAR)} = 1"],
    )


def _steps(found: Sweeps) -> Iterator[Row]:
    trips = ShownTrips(step.variable.trips for step in found.steps)
    for step, headings, is_shown in trips.headed(found.steps, lambda step: step.variable.trips):
        yield from headings
        if is_shown:
            yield _step(found, step)


def _step(found: Sweeps, step: TracedStep) -> Row:
    variable = step.variable
    named = f" = {variable.name}" if variable.name else ""
    tangent = f"{shown(variable, DOT)} = {step.tangent_expression} = {value_text(step.tangent)}"
    return _row(
        found,
        f"{shown(variable)}{named} = {step.expression} = {value_text(variable.value)}",
        tangent if step.tangent is not None else "",
        [_adjoint(each) for each in step.adjoints],
    )


def _adjoint(adjoint: AdjointTerm) -> str:
    name = shown(adjoint.of, BAR)
    sum_of = adjoint.expression if adjoint.is_first else f"{name} + {adjoint.expression}"
    return f"{name} = {sum_of} = {value_text(adjoint.cotangent)}"


def _row(found: Sweeps, forward: str, tangent: str, reverse: Sequence[str]) -> Row:
    pushed = ((tangent,),) if found.tangents else ()
    return Row(((forward,), *pushed, tuple(reverse)))
