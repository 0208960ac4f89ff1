"""The output of `mlirad export` for the Ascend target: mlirad and Huawei's compiler read it, and it is executed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects import func

import mlirad
from mlirad import cli
from mlirad.targets.ascend.simulated_artifact import SimulatedArtifact
from mlirad.targets.ascend.soc import for_soc
from mlirad.targets.finding import find_target
from mlirad.targets.reading import parsed

PROGRAM = """
import numpy as np
import mlirad

def loss(w, x):
    return np.sum(np.tanh(x @ w) ** 2)

gradient = mlirad.grad(loss)
"""
W, X = "np.full((3, 4), 0.1, np.float32)", "np.full((5, 3), 0.2, np.float32)"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path / "program.py"


def functions(text: str) -> dict[str, func.FuncOp]:
    return {op.sym_name.data: op for op in parsed(text, find_target("ascend")).ops if isinstance(op, func.FuncOp)}


def test_a_gradient_is_exported(program: Path, tmp_path: Path, bishengir_opt: Callable[..., str]) -> None:
    out = tmp_path / "out"
    assert cli.main(["export", f"{program}:gradient", W, X, "--target", "ascend", "--out", str(out)]) == 0
    texts = {path.name: path.read_text() for path in out.iterdir()}
    assert all("NEVER RUN ON HARDWARE" in text.splitlines()[0] for name, text in texts.items() if name[-1] != "n")
    manifest = json.loads(texts["manifest.json"])
    assert (manifest["status"], manifest["soc"]) == ("NEVER RUN ON HARDWARE", "Ascend910B1")
    declared = functions(texts["host.mlir"])
    for kernel in manifest["kernels"]:
        ((name, defined),) = functions(texts[kernel["file"]]).items()
        assert name == kernel["name"] and declared[name].is_declaration
        assert defined.function_type == declared[name].function_type
        assert f"\nbishengir-compile {kernel['file']} " in texts["compile.sh"]
        assert 'program.py":6:' in texts[kernel["file"]], "the user's line"
    assert [kernel["core"] for kernel in manifest["kernels"]] == ["AIC", "AIV", "AIC"]
    assert manifest["host"]["results"] == [{"dtype": "float32", "shape": [3, 4]}]
    for name, text in texts.items():
        if name.endswith(".mlir"):
            bishengir_opt(text)
    w, x = (np.asarray(eval(each)) for each in (W, X))
    (found,) = SimulatedArtifact(texts["simulated.mlir"], for_soc(manifest["soc"])).invoke(manifest["function"], [w, x])
    exact = x.T @ (2 * np.tanh(x @ w) / np.cosh(x @ w) ** 2)
    np.testing.assert_allclose(found, exact, 1e-5)


def test_a_chip_is_an_option(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIRAD_TARGET_OPTIONS", "ascend.soc=Ascend910B4")
    assert cli.main(["export", f"{program}:loss", W, X, "--target", "ascend", "--out", str(tmp_path / "out")]) == 0
    assert "--target=Ascend910B4" in (tmp_path / "out" / "compile.sh").read_text()


def test_pictures_are_of_the_function_that_is_named(program: Path, tmp_path: Path) -> None:
    """The export of the gradient, not of its function."""
    assert cli.main(["ascend", "view", f"{program}:gradient", W, X, "--out", str(tmp_path / "out")]) == 0
    assert "grad_loss_kernel_0.svg" in {path.name for path in (tmp_path / "out").iterdir()}


def test_dumps_say_that_a_simulator_runs_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIRAD_DUMP", str(tmp_path))
    mlirad.jit(lambda x: np.exp(x), target="ascend")(np.ones(3, np.float32))
    files = list(tmp_path.rglob("*.mlir"))
    assert len(files) == 7
    assert all("never run on hardware" in path.read_text()[:200] for path in files)
