"""The pages of the project: their links lead somewhere, the files they name exist, decisions are numbered."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "mlirad"
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
# What the recipe for a pass tells to write.
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    assert not dead_links(page, page.read_text())


def test_files_that_architecture_names_exist() -> None:
    assert not list(missing_files((ROOT / "ARCHITECTURE.md").read_text()))


def test_the_tests_see_what_they_should() -> None:
    assert dead_links(ROOT / "README.md", "[a](docs/nowhere.md) [b](LICENSE) [c](https://x.org)") == ["docs/nowhere.md"]
    assert list(missing_files("`mlirad/gone.py` `op.py` `pipeline.py`")) == ["mlirad/gone.py"]
    assert list(missing_files("**`jit/`**\n`kernel.py` `op.py`")) == ["op.py"]


def test_decisions_are_numbered_once() -> None:
    decisions = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    numbers = [int(path.name[:4]) for path in decisions]
    assert len(numbers) == len(set(numbers))
    for path, number in zip(decisions, numbers, strict=True):
        assert path.read_text().startswith(f"# {number}. "), path.name


def test_the_license_is_the_one_that_is_told() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license"] == "Apache-2.0"
    assert "Version 2.0, January 2004" in (ROOT / "LICENSE").read_text()
