"""Reads: every FileCheck test below this folder. Writes: nothing. Leaves: one pytest result each, run in-process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from run_lines import MissingTool, run_file

HERE = Path(__file__).parent
FILES = sorted(path for path in HERE.rglob("*") if path.suffix in (".mlir", ".py") and path != Path(__file__))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(HERE).as_posix())
def test_filecheck(path: Path, tmp_path: Path) -> None:
    try:
        run_file(path, tmp_path)
    except MissingTool as error:
        if os.environ.get("MLIRAD_CI"):
            pytest.fail(f"{error} is not installed, and CI needs it")
        pytest.skip(f"{error} is not installed")
