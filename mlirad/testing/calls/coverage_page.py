"""docs/coverage.md, the readable table of coverage.json, and the sentence of the README with its counts.

Reads: the table. Writes: nothing. Gives: the pages.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from mlirad.frontend.program import coverage
from mlirad.testing.calls.inputs import CLASSES

_HEAD = """# What is compiled

`python -m mlirad.testing.calls.measure` (`make coverage`) writes this page. It runs the sample call of each public
function natively in each class of dtypes. It compares values with NumPy's, derivatives with differences of NumPy's
values, and forward with reverse mode. `mlirad coverage FUNCTION` shows a row, and `mlirad coverage file.py` lists the
calls in a file that are not compiled.

`v`: the value; `r`, `f`, `s`: the derivative in reverse mode, in forward mode, and of second order (for float64). `.`:
refused. Blank: NumPy refuses it, or there is no derivative, because no float is among the arguments and results. The
column of keywords has those that NumPy accepts and the compiler refuses. Inputs: `x y z u` are arrays (3, 4), `v w`
(5,), `s` (3, 3), `t` (2, 3, 2); `a b c` are numbers, `n` is 2; `i` are two indices, `j` integers and `m` a mask (3, 4).
For complex numbers, see [transforms.md](transforms.md#complex-numbers).
"""


_MARK = "<!-- counted -->"


def counted(readme: str, table: Mapping[str, Any]) -> str:
    """The README with the number of compiled functions, between two marks."""
    before, _, after = readme.split(_MARK)
    rows = table["groups"]
    said = [
        f"{_count(rows[group])} {what}"
        for group, what in (
            ("NumPy's functions", "public functions of NumPy"),
            ("Methods and attributes of arrays", "methods and attributes of arrays"),
            ("Methods of ufuncs", "methods of ufuncs (`np.add.reduce`)"),
            ("math", "functions of `math`"),
            ("scipy.special", "functions of `scipy.special`"),
        )
    ]
    text = textwrap.fill(f"{', '.join(said)}.", 116, initial_indent="  ", subsequent_indent="  ")
    return f"{before}{_MARK}\n{text}\n  {_MARK}{after}"


_OTHERS = {"np.random": "its functions; [methods of generators](random.md) are compiled"}
"""Notes on kinds of functions that are not measured."""


def _count(rows: Mapping[str, Any]) -> str:
    return f"{sum(map(coverage.is_compiled, rows.values()))} of {len(rows)}"


def page(table: Mapping[str, Any]) -> str:
    lines = [_HEAD, "| group | compiled | refused |", "|---|---|---|"]
    for group, rows in table["groups"].items():
        compiled = sum(coverage.is_compiled(row) for row in rows.values())
        measured = sum(row["call"] is not None for row in rows.values())
        lines.append(f"| {group} | {compiled} | {measured - compiled} |")
    lines += [f"| `{prefix}` ({_OTHERS[prefix]}) | 0 | {len(names)} |" for prefix, names in table["their own"].items()]
    for group, rows in table["groups"].items():
        lines += [
            "",
            f"## {group}",
            "",
            f"| call | {' | '.join(CLASSES)} | refused keywords | why |",
            "|---|---|---|---|---|---|---|",
        ]
        lines += [_row(row) for row in rows.values() if row["call"] is not None]
    lines += ["", "## Not functions of numbers", ""]
    by_kind: dict[str, list[str]] = {}
    for name, kind in table["apart"].items():
        by_kind.setdefault(kind, []).append(f"`{name}`")
    lines += [f"- {kind}: {', '.join(names)}" for kind, names in by_kind.items()]
    return "\n".join(lines) + "\n"


def _row(row: Mapping[str, Any]) -> str:
    cells = [_cell(row, kind) for kind in CLASSES]
    keywords = ", ".join(f"`{each}`" for each in row.get("keywords", ()))
    return f"| `{row['call'].replace('|', chr(92) + '|')}` | {' | '.join(cells)} | {keywords} | {_why(row)} |"


def _cell(row: Mapping[str, Any], kind: str) -> str:
    if kind not in row:
        return "."
    marks = {letter: letter for letter in row[kind]}
    for key, mark in (("why", "."), ("wrong", "!")):
        marks |= {place[-1]: mark for place in row.get(key, ()) if place.startswith(f"{kind} ")}
    return "".join(marks.get(letter, "") for letter in "vrfs")


def _why(row: Mapping[str, Any]) -> str:
    """The refusals that say more than that the function is not compiled."""
    reasons: Sequence[str] = list(dict.fromkeys((*row.get("wrong", {}).values(), *row.get("why", {}).values())))
    return "; ".join(each for each in reasons if not each.endswith("is not supported")).replace("|", "\\|")
