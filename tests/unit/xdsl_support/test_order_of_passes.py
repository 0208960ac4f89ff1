"""A pass gives the same result whatever ran before it in the process, and no pass changes a class of xDSL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).resolve().parents[2] / "support" / "pass_order.py"
EVERY = ["every"] if os.environ.get("MLIRAD_FULL") else []


@cache
def told(order: str) -> dict[str, Any]:
    command = [sys.executable, "-W", "ignore", str(SCRIPT), order, *EVERY]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_no_pass_changes_a_class_of_xdsl() -> None:
    assert told("forwards")["changed"] == []


def test_a_pass_gives_the_same_result_whatever_ran_before_it() -> None:
    forwards, backwards = told("forwards")["printed"], told("backwards")["printed"]
    assert len(forwards) > 100 and forwards.keys() == backwards.keys()
    assert not [name for name, text in forwards.items() if backwards[name] != text]


def test_an_unused_generic_is_removed_by_dce_alone() -> None:
    assert "linalg.generic" not in told("forwards")["printed"]["unused mlirad-dce"]
    assert "linalg.generic" not in told("backwards")["printed"]["unused mlirad-dce"]
