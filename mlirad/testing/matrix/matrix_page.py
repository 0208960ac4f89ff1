"""The page of the matrix: docs/verification/transform-matrix.md.

Reads: verdicts. Writes: nothing. Gives: text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from mlirad.testing.matrix.judge_cells import CELLS, REASONS, RIGHT
from mlirad.testing.matrix.kinds_of_programs import PROGRAMS
from mlirad.testing.matrix.transforms_of_numbers import TRANSFORMS

_HEAD = """# Every transform of every transform

`make matrix` writes this page (`mlirad/testing/matrix`). {transforms} transforms of {transforms} transforms of
{programs} programs are {cells:,} cells: {right:,} are right, {refused:,} are refused.

A program is a scalar function of three numbers, with one kind of control or data flow
(`testing/matrix/kinds_of_programs.py`). A transform turns it into another such function: its result is contracted with
fixed weights (`transforms_of_numbers.py`), so gradients, Jacobians and lanes become numbers. A cell is right if this
number agrees to 1e-9 with central differences of the plain program, computed with 120 digits. The derivative rules of
`custom_jvp` (twice the derivative), `custom_vjp` (three times) and the last program are false on purpose, to show that
they are used. Each cell runs natively, in a kernel if the outer transform is allowed in one; some of the last three
programs ran op by op.

A row is the outer transform, a column the inner one. ✓: right. A letter: refused, and why:

"""


def page(verdicts: Mapping[str, str]) -> str:
    """The page. verdicts: of each cell, by its name."""
    counts = Counter(verdicts.values())
    numbers = {"transforms": len(TRANSFORMS), "programs": len(PROGRAMS), "cells": len(CELLS), "right": counts[RIGHT]}
    lines = [_HEAD.format(**numbers, refused=sum(counts[reason.letter] for reason in REASONS))]
    lines += ["| letter | cells | message | [the docs](../transforms.md) |", "|---|---|---|---|"]
    lines += [
        f"| {reason.letter} | {counts[reason.letter]} | {reason.message} | {reason.documented} |" for reason in REASONS
    ]
    names = [transform.name.replace("_", " ") for transform in TRANSFORMS]
    for program in PROGRAMS:
        lines += ["", f"## {program.name}", "", f"| | {' | '.join(names)} |", "|---|" + "---|" * len(names)]
        for name, outer in zip(names, TRANSFORMS, strict=True):
            row = [verdicts[str(cell)] for cell in CELLS if (cell.program, cell.outer) == (program, outer)]
            lines.append(f"| {name} | {' | '.join('✓' if each == RIGHT else each for each in row)} |")
    return "\n".join(lines) + "\n"


def cells_of(text: str) -> dict[str, str]:
    """The verdicts in a page, by the cells' names."""
    marks = [
        mark.strip()
        for section in text.split("\n## ")[1:]
        for line in section.splitlines()[4:]
        for mark in line.strip("|").split("|")[1:]
    ]
    return {str(cell): RIGHT if mark == "✓" else mark for cell, mark in zip(CELLS, marks, strict=True)}
