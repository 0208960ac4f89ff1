"""The tables of a trace, for the terminal and as a page that needs nothing else.

Reads: `Sweeps`. Writes: text. Leaves: nothing.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile, zip_longest
from typing import Any

from mlirad.explaining.text_width import width_of
from mlirad.explaining.traces.notation import BAR, DOT, accented, shown, subscript, value_text
from mlirad.explaining.traces.shown_trips import ShownTrips
from mlirad.explaining.traces.sweeps import AdjointTerm, Sweeps, TracedStep
from mlirad.explaining.traces.wengert_list import Variable

_FORWARD, _TANGENT = "forward primal trace", "forward tangent trace"
_REVERSE = "reverse adjoint trace, to be read upwards"

_PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --ink: #1f2328; --page: #fff; --quiet: #6e7781 }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e6edf3; --page: #0d1117; --quiet: #8b949e }} }}
body {{ font-family: sans-serif; margin: 2em; color: var(--ink); background: var(--page) }}
table {{ border-collapse: collapse }}
th, td {{ text-align: left; vertical-align: top; padding: 0.2em 2em 0.2em 0.5em }}
tbody {{ border-top: 2px solid var(--ink) }}
tbody:last-child {{ border-bottom: 2px solid var(--ink) }}
td {{ font-family: monospace }}
div {{ margin-top: 2em; overflow-x: auto }}
.h {{ font-family: sans-serif; color: var(--quiet) }}
</style>
<h1>{title}</h1>
<table>
<thead><tr>{head}</tr></thead>
{bodies}
</table>
<div>
{picture}
</div>
</html>
"""


@dataclass(frozen=True)
class Row:
    """Lines that stand side by side, in as many columns as there are; or a heading over all of them."""

    columns: tuple[tuple[str, ...], ...] = ()
    heading: str = ""
    depth: int = 0


def as_text(found: Sweeps) -> str:
    """The tables, in columns."""
    titles, parts = _titles(found), list(_parts(found))
    head = Row(tuple((title,) for title in titles))
    cells = [row.columns for row in (head, *(row for part in parts for row in part)) if row.columns]
    widths = [max(width_of(line) for columns in cells for line in (*columns[n], "")) for n in range(len(titles))]
    rule = "─" * (sum(widths) + 3 * len(widths) - 3)
    lines = _lines(head, widths)
    for part in parts:
        lines += [rule, *(line for row in part for line in _lines(row, widths))]
    return "\n".join([*lines, rule])


def as_html(found: Sweeps, title: str, picture: str) -> str:
    """The tables, and below them a picture (SVG), as a page."""
    titles = _titles(found)
    head = "".join(f"<th>{html.escape(title)}</th>" for title in titles)
    bodies = [f"<tbody>\n{''.join(_html_row(row, len(titles)) for row in part)}</tbody>" for part in _parts(found)]
    return _PAGE.format(title=html.escape(title), head=head, bodies="\n".join(bodies), picture=picture)


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
    trips = ShownTrips(step.variable for step in found.steps)
    before: tuple[str, ...] = ()
    for step in found.steps:
        path = step.variable.trips
        shown_part = [*takewhile(lambda trip: not trips.hides(trip), path)]
        is_hidden = len(shown_part) < len(path)
        headings = tuple(trips.heading(each) for each in path[: len(shown_part) + is_hidden])
        kept = len([*takewhile(lambda pair: pair[0] == pair[1], zip(before, headings, strict=False))])
        for depth, heading in enumerate(headings[kept:], kept):
            yield Row(heading=heading, depth=depth)
        if not is_hidden:
            yield _step(found, step)
        before = headings


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


def _lines(row: Row, widths: Sequence[int]) -> list[str]:
    if row.heading:
        return ["  " * row.depth + row.heading]
    texts = zip_longest(*row.columns, fillvalue="")
    return ["   ".join(map(_padded, line, widths)).rstrip() for line in texts]


def _padded(text: str, width: int) -> str:
    return text + " " * (width - width_of(text))


def _html_row(row: Row, columns: int) -> str:
    if row.heading:
        style = f"padding-left: {1 + 2 * row.depth}em"
        return f'<tr><td class="h" colspan="{columns}" style="{style}">{html.escape(row.heading)}</td></tr>\n'
    cells = ("<br>".join(map(html.escape, lines)) for lines in row.columns)
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>\n"
