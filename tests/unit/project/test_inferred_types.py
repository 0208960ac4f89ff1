"""Type checkers know the public functions: of `grad(f)` the parameters of f, of `value_and_grad(f)` a pair."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import mlirad

ROOT = Path(__file__).parents[3]
PROGRAM = ROOT / "tests/data/inferred_types.py"


def findings(program: Path) -> list[dict[str, Any]]:
    """Pyright's report on a program, with the settings of the project."""
    pyright = shutil.which("pyright")
    if pyright is None:
        if os.environ.get("MLIRAD_CI"):
            pytest.fail("pyright is not installed, and CI needs it")
        pytest.skip("pyright, of the extra `test`, is not installed")
    run = subprocess.run([pyright, "--outputjson", str(program)], cwd=ROOT, capture_output=True, text=True, check=False)
    return json.loads(run.stdout)["generalDiagnostics"]


def test_types_are_inferred_and_mistakes_found(tmp_path: Path) -> None:
    every_name = "".join(f"mlirad.{name}\n" for name in mlirad.__all__)
    program = tmp_path / "inferred_types.py"
    program.write_text(PROGRAM.read_text() + every_name)
    said = {
        number: line.partition("  # ")[2]
        for number, line in enumerate(PROGRAM.read_text().splitlines())
        if "  # " in line
    }
    found: dict[int, list[str]] = defaultdict(list)
    for each in findings(program):
        text = each["message"].partition('" is "')[2].removesuffix('"')
        # The same array has other parameters in the annotations of other versions of NumPy.
        text = re.sub(r"ndarray\[[^()]*?dtype\[\w+\]\]", "ndarray", text)
        found[each["range"]["start"]["line"]].append(text if "rule" not in each else f"error: {each['rule']}")
    assert len(said) > 45
    assert {number: " ".join(texts) for number, texts in found.items()} == said
