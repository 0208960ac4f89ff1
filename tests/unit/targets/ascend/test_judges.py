"""Other projects' programs judge the Ascend target's output: a sample of the corpus, and damaged programs.

`make ascend-judges` shows them the whole corpus; docs/verification/ascend-judges.md has the counts.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ascend_judged
import numpy as np
import pytest
from ascend_judges import Bishengir, Judged, Refused, difference, generic, kernels_of, stages_of

import mlirad
from mlirad.targets.ascend.hivm.hivm import HIVM
from mlirad.targets.reading import parsed

HERE = Path(__file__).parent
X = np.linspace(-2, 2, 33, dtype=np.float32)


def test_all_judges_accept_a_sample_with_every_instruction(judged: Callable[..., Judged]) -> None:
    used: set[str] = set()
    for case in ascend_judged.sample():
        found = judged(case.kernel, *case.args)
        assert found.kernels > 0 and found.compiled.called
        used |= found.instructions
    assert {op.name for op in HIVM.operations} - used == ascend_judged.NEVER


def lowered(dtype: Any = np.float32) -> Any:
    return mlirad.jit(lambda x: np.exp(x) + x, target="ascend").lower(X.astype(dtype))


@pytest.mark.parametrize(("written", "damaged", "dtype"), [("vexp", "vln", np.float32), ("vadd", "vsub", np.float16)])
def test_numbers_of_another_instruction_are_refused(
    written: str, damaged: str, dtype: Any, bishengir: Bishengir, mlir_opt: Callable[..., str]
) -> None:
    assert mlir_opt("module {}")
    made, x = lowered(dtype), X.astype(dtype)
    virtual, physical = stages_of(made)
    assert difference(bishengir, virtual, physical, [x]) < 1e-6
    text = generic(virtual)
    assert f"hivm.hir.{written}" in text
    other = parsed(text.replace(f"hivm.hir.{written}", f"hivm.hir.{damaged}"), made.target)
    with pytest.raises(Refused, match="the CPU gives"):
        difference(bishengir, other, physical, [x])


def test_an_instruction_without_a_library_function_is_refused(bishengir: Bishengir) -> None:
    kernel = bishengir.verify(generic(kernels_of(stages_of(lowered())[0])))  # in MLIR's other form
    called = bishengir.called(kernel)
    assert "vexp_1d_float" in called
    with pytest.raises(Refused, match=r"leaves.*vtanh"):
        bishengir.called(kernel.replace("hivm.hir.vexp", "hivm.hir.vtanh"))
    poorer = Bishengir(bishengir.folder)
    without = {core: names - {"_mlir_ciface_vexp_1d_float"} for core, names in bishengir.library.items()}
    poorer.__dict__["library"] = without
    with pytest.raises(Refused, match=r"lacks.*vexp_1d_float"):
        poorer.called(kernel)


HIDING = """
import os, sys

wanted = os.environ["WANTED"]

def pytest_configure():
    if wanted == "ascend_tools":
        sys.modules["ascendnpuir"] = None
    else:
        os.environ["PATH"] = ""

def pytest_collection_modifyitems(items):
    items[:] = [each for each in items if wanted in each.fixturenames]
"""


@pytest.mark.parametrize(
    ("wanted", "where", "least", "message"),
    [
        ("ascend_tools", HERE, 15, "ascendnpu-ir is not installed"),
        ("mlir_opt", HERE / "test_judges.py", 3, "mlir-opt-19 is not installed"),
    ],
)
def test_a_judge_that_is_missing_fails_ci(wanted: str, where: Path, least: int, message: str, tmp_path: Path) -> None:
    """Every test that uses it."""
    (tmp_path / "hiding.py").write_text(HIDING)
    places = os.pathsep.join([str(tmp_path), *sys.path])
    environment = os.environ | {"MLIRAD_CI": "1", "WANTED": wanted, "PYTHONPATH": places}
    options = "-q", "-p", "hiding", "-p", "no:cacheprovider", "-m", "not full", str(where)
    command = [sys.executable, "-m", "pytest", *options]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    counts = {kind: int(count) for count, kind in re.findall(r"(\d+) ([a-z]+)", done.stdout.splitlines()[-1])}
    assert counts.pop("errors") >= least and message in done.stdout, done.stdout
    assert not counts.keys() & {"passed", "failed", "skipped"}, done.stdout
