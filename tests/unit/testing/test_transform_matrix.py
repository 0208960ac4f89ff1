"""The matrix of transforms: a sample of its cells, its page, and whether it would find a wrong derivative."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

import mlirad
from mlirad.testing.interpreted import Interpreted
from mlirad.testing.matrix.judge_cells import CELLS, REASONS, RIGHT, WRONG, Cell
from mlirad.testing.matrix.kinds_of_programs import PROGRAMS
from mlirad.testing.matrix.matrix_page import cells_of, page

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGE = (DOCS / "verification" / "transform-matrix.md").read_text()
ON_PAGE = cells_of(PAGE)


def is_slow(cell: Cell) -> bool:
    """Solvers within solvers are 30 times the code of the others."""
    solvers = sum(each.name in ("root", "fixed_point", "minimize") for each in (cell.outer, cell.inner))
    return solvers > 1 or "minimize" in (cell.outer.name, cell.inner.name)


SAMPLE = random.Random(0).sample([cell for cell in CELLS if not is_slow(cell)], 100)


@pytest.mark.parametrize("part", range(4))
def test_a_sample_is_as_on_the_page(part: int) -> None:
    """One in four natively, the others op by op: most of the time is LLVM's."""
    found = {str(cell): cell.verdict(mlirad.jit if part == 0 else Interpreted) for cell in SAMPLE[part::4]}
    assert found == {name: ON_PAGE[name] for name in found}


@pytest.mark.full
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_all_cells_are_as_on_the_page(program) -> None:
    found = {str(cell): cell.verdict() for cell in CELLS if cell.program is program}
    assert found == {name: ON_PAGE[name] for name in found}


def test_the_page_has_these_cells_and_known_reasons() -> None:
    assert page(ON_PAGE) == PAGE
    assert set(ON_PAGE) == {str(cell) for cell in CELLS} and len(ON_PAGE) >= 14 * 14 * 8
    assert {*ON_PAGE.values()} <= {RIGHT, *(reason.letter for reason in REASONS)}


def test_the_docs_give_the_reasons() -> None:
    text = " ".join((DOCS / "transforms.md").read_text().split())
    assert [reason.documented for reason in REASONS if reason.documented not in text] == []


def test_a_wrong_derivative_is_found() -> None:
    (cell,) = (cell for cell in CELLS if str(cell) == "jvp of jit of while loop")
    right = cell.outer.of
    wrong = replace(cell, outer=replace(cell.outer, of=lambda g: lambda x: (1.0 + 1e-8) * right(g)(x)))
    assert cell.verdict() == RIGHT and wrong.verdict().startswith(WRONG)
    broken = replace(cell, outer=replace(cell.outer, of=lambda g: lambda x: g(x) + x.no_such_attribute))
    assert "no_such_attribute" in broken.verdict(Interpreted)
