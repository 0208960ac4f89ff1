"""The page of first tries says what becomes of its programs, and none is wrong."""

from __future__ import annotations

import os

import pytest
from first_tries.verdicts import PAGE, SETS, Program, programs, row, verdict

ALL = [each for files in SETS.values() for each in programs(files)]
TRIED = ALL if os.environ.get("MLIRAD_FULL") else ALL[::4]


@pytest.mark.parametrize("program", TRIED, ids=lambda program: program.name)
def test_the_page_tells_the_verdict(program: Program) -> None:
    found = verdict(program)
    assert found.kind != "wrong", found.why
    assert row(program, found) in PAGE.read_text().splitlines(), "make first-tries writes the page"


def test_the_page_has_each_program_once() -> None:
    rows = [line.split(" | ")[0].removeprefix("| ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    assert [each for each in rows if each != "program"] == [each.name for each in ALL]
