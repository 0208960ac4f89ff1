"""The page of environment variables is complete, and the pages that refusals name exist and explain them."""

from __future__ import annotations

import re
from collections import deque
from pathlib import Path

import numpy as np
import pytest

import mlirad
from mlirad import errors, options

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/environment.md").read_text()
OWN, OF_TESTS = PAGE.split("## For the tests")


def variables(text: str) -> set[str]:
    return set(re.findall(r"MLIRAD_[A-Z_]+", text))


def rows(text: str) -> list[str]:
    return re.findall(r"^\| `(\w+)=", text, re.MULTILINE)


def test_every_variable_is_on_the_page() -> None:
    read = variables(Path(options.__file__).read_text())
    assert set(rows(OWN)) == read
    assert rows(OWN) == sorted(rows(OWN))
    elsewhere = {name for path in (ROOT / "mlirad").rglob("*.py") for name in variables(path.read_text())}
    assert elsewhere <= read | {"MLIRAD_FULL"}
    assert "docs/environment.md" in (ROOT / "README.md").read_text()


def test_the_variables_of_the_tests_are_used() -> None:
    places = [*ROOT.glob("tests/**/*.py"), ROOT / "Makefile", ROOT / ".ci/run"]
    used = {name for path in places if path != Path(__file__) for name in variables(path.read_text())}
    assert set(rows(OF_TESTS)) <= used


def test_the_pages_that_refusals_name() -> None:
    for page in (errors.DEVIATIONS, errors.FUNCTIONS):
        assert (ROOT / page).is_file()
        assert page in (ROOT / "README.md").read_text()
    with pytest.raises(mlirad.CompileError) as caught:
        mlirad.jit(lambda d: d[0] + 1.0)(deque([1.0]))
    assert caught.value.page == errors.DEVIATIONS
    assert str(caught.value).endswith("\n  see:  docs/deviations.md")
    space: dict = {}
    exec("def f(x):\n    return x", space)
    with pytest.raises(mlirad.CompileError) as caught:
        mlirad.jit(space["f"])(1.0)
    assert str(caught.value).endswith("\n  see:  docs/functions.md")
    with pytest.raises(mlirad.CompileError) as caught:
        mlirad.jit(lambda x: x.banana)(np.ones(3))
    assert caught.value.page is None and "see:" not in str(caught.value)


def test_errors_of_calls_name_the_page() -> None:
    x = np.ones(4)

    @mlirad.jit
    def writes(a, b):
        a[0] = b[0]

    with pytest.raises(ValueError, match=r"see docs/deviations\.md"):
        writes(x[1:], x[:-1])
    with pytest.raises(TypeError, match=r"see docs/deviations\.md"):
        writes(np.ma.masked_array(x), x)
    with pytest.raises(ValueError, match=r"see docs/deviations\.md"):
        writes(np.lib.stride_tricks.as_strided(x, (4,), (0,)), x.copy())
