"""The recipes of ARCHITECTURE.md for an op and a NumPy function match the code, and the one for a pass works.

It is followed in a copy of the package, by another process. `test_plugin.py` follows the guide for a target.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "ARCHITECTURE.md").read_text()


def code_blocks(kind: str, language: str = "python") -> list[str]:
    """The code of the recipe for an op, a NumPy function or a pass."""
    recipe = re.search(rf"^## How to add an? {kind}\n(.*?)^## ", PAGE, re.DOTALL | re.MULTILINE)
    assert recipe is not None
    return [dedent(code) for code in re.findall(rf"^ *```{language}\n(.*?)```", recipe[1], re.DOTALL | re.MULTILINE)]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package, to be changed."""
    shutil.copytree(ROOT / "mlirad", tmp_path / "mlirad", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def run(copy: Path, *command: str) -> str:
    paths = [copy, copy / "tests", ROOT / "tests" / "support"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths)), "MLIRAD_CACHE": "0"}
    done = subprocess.run(
        [sys.executable, *command], cwd=copy, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_recipe_for_an_op() -> None:
    """It shows an op and its samples, as they are there."""
    functions = ROOT / "mlirad" / "dialect" / "functions"
    code, of_two_results = code_blocks("op")
    assert code in (functions / "trigonometry.py").read_text()
    assert of_two_results in (functions / "rounding.py").read_text()
    samples, refused = (
        re.search(r"`(\*unary\(N\.ArctanOp, .*?\),)`", PAGE),
        re.search(r"`(\(N\.ArctanOp, .*?\),)`", PAGE),
    )
    catalogue = (ROOT / "tests" / "unit" / "dialect" / "test_catalogue.py").read_text()
    assert samples is not None and samples[1] in catalogue
    assert refused is not None and refused[1] in catalogue


def test_the_recipe_for_a_numpy_function() -> None:
    """It shows a function of the library, as it is there."""
    (code,) = code_blocks("NumPy function")
    assert any(code in path.read_text() for path in (ROOT / "mlirad" / "library").rglob("*.py"))


def test_the_recipe_for_a_pass(copy: Path) -> None:
    ((code,), (module,)) = code_blocks("pass"), code_blocks("pass", "mlir")
    imports = dedent("""\
        from __future__ import annotations
        from dataclasses import dataclass
        from xdsl.context import Context
        from xdsl.dialects.builtin import ModuleOp
        from xdsl.passes import ModulePass

    """)
    docstring, _, rest = code.partition("\n\n")
    (copy / "mlirad" / "lowering" / "clean_up" / "cancel_sub.py").write_text(f"{docstring}\n\n{imports}{rest}")
    (copy / "cancel_sub.mlir").write_text(module)
    option = re.search(r"RUN: mlirad-opt %s -p ([\w-]+)", module)
    assert option is not None
    after = run(copy, "-W", "ignore", "-m", "mlirad.opt", "cancel_sub.mlir", "-p", option[1])
    assert "nd.full" in after and "nd.sub" not in after
    assert option[1] in run(copy, "-W", "ignore", "-m", "mlirad.opt", "--help")
