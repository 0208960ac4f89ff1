"""Tables of rows, for the terminal and as pages that need nothing else.

Reads: rows. Writes: text. Leaves: nothing.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from mlirad.explaining.text_width import width_of

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
{picture}
</html>
"""


@dataclass(frozen=True)
class Row:
    """A row of a table, with lines in each column; or a heading over all columns."""

    columns: tuple[tuple[str, ...], ...] = ()
    heading: str = ""
    depth: int = 0


def text_of_rows(titles: Sequence[str], parts: Sequence[Sequence[Row]]) -> str:
    """A table in columns, with a rule before each part and at the end."""
    head = Row(tuple((title,) for title in titles))
    cells = [row.columns for row in (head, *(row for part in parts for row in part)) if row.columns]
    widths = [max(width_of(line) for columns in cells for line in (*columns[n], "")) for n in range(len(titles))]
    rule = "─" * (sum(widths) + 3 * len(widths) - 3)
    lines = _lines(head, widths)
    for part in parts:
        lines += [rule, *(line for row in part for line in _lines(row, widths))]
    return "\n".join([*lines, rule])


def page_of_rows(title: str, titles: Sequence[str], parts: Sequence[Sequence[Row]], picture: str = "") -> str:
    """A table, and below it a picture (SVG), if any, as a page."""
    head = "".join(f"<th>{html.escape(title)}</th>" for title in titles)
    bodies = [f"<tbody>\n{''.join(_html_row(row, len(titles)) for row in part)}</tbody>" for part in parts]
    below = picture and f"<div>\n{picture}\n</div>"
    return _PAGE.format(title=html.escape(title), head=head, bodies="\n".join(bodies), picture=below)


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
