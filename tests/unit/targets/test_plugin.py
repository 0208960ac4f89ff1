"""A target in a separate package, built and installed like any other: the example of `docs/targets.md`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mlirad
from mlirad.errors import TargetError

ROOT = Path(__file__).parents[3]
ACME = ROOT / "tests" / "plugins" / "acme"


def _run(*command: str | Path, **environment: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, cwd=ROOT, env={**os.environ, **environment}, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with the installed wheel of acme-npu."""
    made = tmp_path_factory.mktemp("site")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")
    _run(*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", made / "wheel", ACME)
    _run(*pip, "install", "--no-deps", "--no-index", "--target", made / "installed", *(made / "wheel").glob("*.whl"))
    return made / "installed"


def test_the_package_is_small() -> None:
    assert sum(len(path.read_text().splitlines()) for path in ACME.rglob("*") if path.suffix in (".py", ".toml")) < 150


def test_its_own_tests_pass(site: Path) -> None:
    """The conformance kit, and its op with a derivative, where only the wheel is installed."""
    told = _run(
        *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", "--rootdir"),
        *(ACME / "tests", ACME / "tests"),
        PYTHONPATH=os.pathsep.join([str(site), str(ROOT)]),
    )
    assert (passed := re.search(r"(\d+) passed", told)), told
    assert int(passed[1]) > 40
    assert "skipped" not in told


def test_refusals_come_together_with_their_lines(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(site)

    def too_large(x):
        y = np.outer(x, x)
        return y + np.outer(x, 2.0 * x)

    kernel = mlirad.jit(too_large, target="acme")
    with pytest.raises(TargetError, match=r"80000 bytes; the scratch memory of the model 'small' has 65536") as caught:
        kernel(np.ones(100))
    first = too_large.__code__.co_firstlineno + 1
    assert [caught.value.lineno, *(each.lineno for each in caught.value.others)][:2] == [first, first + 1]
    assert "model='large'" in str(caught.value)
    large = mlirad.jit(too_large, target="acme", model="large")
    np.testing.assert_array_equal(large(np.ones(100)), np.full((100, 100), 3.0))
    assert repr(large) == "<mlirad kernel too_large for acme, interpreter 1.0 (Acme large)>"
    with pytest.raises(ValueError, match="model is 'small' or 'large', not 'huge'"):
        mlirad.jit(too_large, target="acme", model="huge")
    monkeypatch.setenv("MLIRAD_TARGET_OPTIONS", "acme.model=large")
    assert mlirad.jit(lambda x: too_large(x), target="acme")(np.ones(100)).shape == (100, 100)
