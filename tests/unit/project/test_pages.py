"""The pages of the project: links lead somewhere, files that they name exist, decision notes are short and complete."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "mlirad"
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
LINES_OF_A_DECISION = 40
PARTS_OF_A_DECISION = ["Context", "Decision", "Consequence"]
# The code that the recipe for a pass tells the reader to write.
NEW = {"tests/filecheck/lowering/cancel_sub.mlir"}


def dead_links(page: Path, text: str) -> list[str]:
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    inside = [link.split("#")[0] for link in links if not re.match(r"[a-z]+:", link)]
    return [link for link in inside if link and not (page.parent / link).exists()]


def missing_files(text: str) -> Iterator[str]:
    """Files and folders in backticks that are not there. Under a bold `room/`, or in its row, they are that room's."""
    room = PACKAGE
    for line in re.sub(r"```.*?```", "", text, flags=re.DOTALL).splitlines():
        if heading := re.match(r"(?:\*\*|\| )`([a-z_/]+)/`", line):
            room = PACKAGE / heading[1]
        elif line.startswith("#"):
            room = PACKAGE
        for word in " ".join(re.findall(r"`([^`]+)`", line)).split():
            if not re.fullmatch(r"[\w./*]+(\.py|\.md|\.mlir|\.toml|/)", word) or word in NEW:
                continue
            places = (ROOT, PACKAGE, room)
            # A bare name outside the paragraph of a room, as in the recipes, may be in any room.
            anywhere = [] if "/" in word or room != PACKAGE else list(PACKAGE.rglob(word))
            if not anywhere and not any(list(place.glob(word)) for place in places):
                yield word


def faults_of_decision(number: int, text: str) -> Iterator[str]:
    """The missing parts of a decision note: its number as a title, a status with a date, three parts, brevity."""
    if not text.startswith(f"# {number}. "):
        yield "title"
    status = re.search(r"^Status: (?:accepted|superseded by (\d+))\. Date: 20\d\d-\d\d-\d\d\.$", text, re.MULTILINE)
    if not status or int(status[1] or 1) > len(DECISIONS):
        yield "status and date"
    if re.findall(r"^\*\*(Context|Decision|Consequence)\.\*\*", text, re.MULTILINE) != PARTS_OF_A_DECISION:
        yield "parts"
    if len(text.splitlines()) > LINES_OF_A_DECISION:
        yield "length"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    assert not dead_links(page, page.read_text())


def test_files_that_architecture_names_exist() -> None:
    assert not list(missing_files((ROOT / "ARCHITECTURE.md").read_text()))


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_files_that_decisions_name_exist(path: Path) -> None:
    assert not list(missing_files(path.read_text()))


def test_the_tests_see_what_they_should() -> None:
    assert dead_links(ROOT / "README.md", "[a](docs/nowhere.md) [b](LICENSE) [c](https://x.org)") == ["docs/nowhere.md"]
    assert list(missing_files("`mlirad/gone.py` `op.py` `pipeline.py`")) == ["mlirad/gone.py"]
    assert list(missing_files("**`jit/`**\n`kernel.py` `op.py`")) == ["op.py"]


def test_decisions_are_numbered_without_gaps() -> None:
    assert [int(path.name[:4]) for path in DECISIONS] == list(range(1, len(DECISIONS) + 1))


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_decisions_have_a_status_and_three_parts_in_half_a_page(path: Path) -> None:
    assert not list(faults_of_decision(int(path.name[:4]), path.read_text()))


def test_faults_of_decisions_are_seen() -> None:
    right = DECISIONS[0].read_text()
    assert not list(faults_of_decision(1, right))
    assert list(faults_of_decision(2, right)) == ["title"]
    assert list(faults_of_decision(1, right.replace("Date: 2", "Date: soon, 2"))) == ["status and date"]
    assert list(faults_of_decision(1, right.replace("accepted", "superseded by 2"))) == []
    assert list(faults_of_decision(1, right.replace("accepted", "superseded by 9999"))) == ["status and date"]
    assert list(faults_of_decision(1, right.replace("**Decision.**", ""))) == ["parts"]
    assert list(faults_of_decision(1, right + "and so on\n" * LINES_OF_A_DECISION)) == ["length"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_decisions_that_pages_mention_exist(page: Path) -> None:
    text = page.read_text()
    assert all(1 <= int(number) <= len(DECISIONS) for number in re.findall(r"\bdecision (\d+)", text))
    links = re.findall(r"\[(?:decision )?(\d+)\]\((?:\S*/)?(\d{4})-[\w-]+\.md\)", text)
    assert all(int(number) == int(file) for number, file in links)


def test_the_license_is_the_one_that_is_told() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license"] == "Apache-2.0"
    assert "Version 2.0, January 2004" in (ROOT / "LICENSE").read_text()
