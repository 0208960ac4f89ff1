"""The target in ARCHITECTURE.md runs as it is written there: values, gradients, writes, errors."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import numpy as np
import pytest

import mlirad
from mlirad.targets.finding import BUILT_IN

PAGE = Path(__file__).resolve().parents[3] / "ARCHITECTURE.md"
X = np.array([0.5, 2.0, 3.0])


def loss(x):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 1.0:
            total += np.sin(x[i]) * x[i]
    return total


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    recipe = PAGE.read_text().partition("## How to add a target")[2]
    code = re.search(r"```python\n(.*?)```", recipe, re.DOTALL)
    entry = re.search(r'^ *toy = "(toy_target:\w+)"$', recipe, re.MULTILINE)
    assert code is not None
    assert entry is not None
    module = ModuleType("toy_target")
    monkeypatch.setitem(sys.modules, "toy_target", module)
    monkeypatch.setitem(BUILT_IN, "toy", entry[1])
    monkeypatch.setenv("MLIRAD_CACHE_DIR", str(tmp_path))
    exec(dedent(code[1]), module.__dict__)


@pytest.mark.usefixtures("toy")
def test_values_and_gradients() -> None:
    kernel = mlirad.jit(loss, target="toy")
    assert kernel(X) == pytest.approx(loss(X), rel=1e-14)
    slope = np.where(X > 1.0, np.sin(X) + X * np.cos(X), 0.0)
    np.testing.assert_allclose(mlirad.grad(kernel)(X), slope, rtol=1e-14)
    assert "nd.sin" in kernel.lower(X).as_text("text")


@pytest.mark.usefixtures("toy")
def test_a_written_argument_and_a_failed_check() -> None:
    def shifted(x, i):
        x[i] += 1.0
        return x * 2.0

    kernel, x, wanted = mlirad.jit(shifted, target="toy"), X.copy(), X.copy()
    np.testing.assert_array_equal(kernel(x, 1), shifted(wanted, 1))
    np.testing.assert_array_equal(x, wanted)
    line = shifted.__code__.co_firstlineno + 1
    with pytest.raises(
        IndexError, match=rf"test_toy_target.py:{line}:9: index 7 is out of bounds for axis 0 with size 3"
    ):
        kernel(x, 7)
