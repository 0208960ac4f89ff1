"""The guide for targets shows the package that the tests install, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
ACME = ROOT / "tests" / "plugins" / "acme"


def test_the_page_shows_the_package() -> None:
    shown = re.findall(r"```(?:python|toml)\n(.*?)```", (ROOT / "docs" / "targets.md").read_text(), re.DOTALL)
    there = {path.read_text() for path in ACME.rglob("*") if path.suffix in (".py", ".toml") and path.read_text()}
    assert set(shown) == there
