"""An exemption from a check names its rule and its reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXEMPTION = re.compile(r"# (type: ignore|pyright: ignore|noqa)")
NAMED = re.compile(r"# (pyright: ignore\[\w+(, \w+)*\]|noqa: [A-Z]+\d+)(?P<reason>.*)")


def unexplained(lines: list[str]) -> Iterator[int]:
    """The lines with an exemption that names no rule, or no reason behind it or in a comment above."""
    for number, line in enumerate(lines, 1):
        if EXEMPTION.search(line):
            found = NAMED.search(line)
            above = [each.lstrip() for each in lines[max(0, number - 3) : number - 1]]
            if not found or not (found["reason"].strip() or any("# " in each for each in above)):
                yield number


def test_exemptions_name_their_rule_and_their_reason() -> None:
    files = [path for room in ("mlirad", "tests", "benchmarks", "examples") for path in (ROOT / room).rglob("*.py")]
    texts = {path: path.read_text().splitlines() for path in files if "first_tries" not in path.parts}
    assert len(texts) > 500
    assert not [
        f"{path.relative_to(ROOT)}:{number}"
        for path, lines in texts.items()
        if path != Path(__file__)
        for number in unexplained(lines)
    ]


def test_what_is_unexplained() -> None:
    for line in ("x = 1  # type: ignore[arg-type]  # why", "x = 1  # pyright: ignore  # why", "x = 1  # noqa"):
        assert list(unexplained([line])) == [1]
    alone, with_reason = "x = 1  # pyright: ignore[reportCallIssue]", "x = 1  # noqa: F401  (why)"
    assert list(unexplained([alone, with_reason, "# why", alone])) == [1]
