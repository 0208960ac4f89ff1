"""The recipes of ARCHITECTURE.md for an op, a NumPy function and a pass work as they are written there.

They are followed in a copy of the package, by another process. `test_toy_target.py` follows the recipe for a target.
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

OP = """
import math
import numpy as np
import mlirad
from mlirad.dialect.ops import elementwise as E
from test_catalogue import SAMPLES

x = np.array([-3.0, -0.5, 0.0, 2.0])
np.testing.assert_allclose(mlirad.jit(lambda x: np.arctan(x))(x), np.arctan(x), rtol=1e-14)
np.testing.assert_allclose(mlirad.grad(lambda x: np.sum(np.arctan(x)))(x), 1.0 / (1.0 + x * x), rtol=1e-14)
assert abs(mlirad.jit(lambda x: math.atan(x))(2.0) - math.atan(2.0)) < 1e-14
samples = [each for each in SAMPLES if each.op is E.ArctanOp]
assert len(samples) >= 1
print("done")
"""


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


def test_the_recipe_for_an_op(copy: Path) -> None:
    code, of_two_results = code_blocks("op")
    assert of_two_results in (ROOT / "mlirad" / "dialect" / "ops" / "rounding.py").read_text()
    family = copy / "mlirad" / "dialect" / "ops" / "elementwise.py"
    text, tanh = family.read_text(), re.compile(r"class TanhOp\(.*?\n\n\n", re.DOTALL)
    assert tanh.search(text) and "ArctanOp" not in text
    family.write_text(tanh.sub(lambda found: f"{found[0]}{code}\n\n", text, count=1))
    line = re.search(r"`(\*unary\(E\.ArctanOp, .*?\),)`", PAGE)
    assert line is not None
    catalogue = (ROOT / "tests" / "unit" / "dialect" / "test_catalogue.py").read_text()
    samples = re.compile(r"^SAMPLES\b.*\[\n", re.MULTILINE)
    assert samples.search(catalogue)
    (copy / "tests").mkdir()
    (copy / "tests" / "test_catalogue.py").write_text(samples.sub(lambda found: found[0] + line[1] + "\n", catalogue))
    assert run(copy, "-W", "ignore", "-c", OP) == "done\n"


def test_the_recipe_for_a_numpy_function() -> None:
    """It shows a function of the library, as it is there."""
    (code,) = code_blocks("NumPy function")
    assert any(code in path.read_text() for path in (ROOT / "mlirad" / "library").glob("*.py"))


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
