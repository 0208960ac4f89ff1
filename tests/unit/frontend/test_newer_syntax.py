"""Syntax that Python 3.11 cannot read, and changes in 3.12 and 3.13: annotations of types, f-strings, scopes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import mlirad
from mlirad.errors import UnsupportedSyntaxError

PROGRAM = """
import numpy as np

def generic[T: (float, np.ndarray)](x: T) -> T:
    return x * x

class Box[T]:
    def __init__(self, content: T):
        self.content = content

    def twice(self) -> T:
        return self.content * 2

def of_types(x):
    type Vector[T] = list[T]
    type Number = float | Vector[int]

    class Local[S]:
        def __init__(self, kept: S):
            self.kept = kept

    def inner[T](y: T) -> T:
        scaled: Number = y * x
        return scaled

    return inner(generic(x)) + Box(x).twice() + Local(x).kept

def of_scopes(x):  # comprehensions are no functions of their own any more
    i = 2.0
    listed = [i * k for k in range(3) for i in (x, 3.0)]
    scaled = [[f(i) for f in (lambda y, i=i: y * i, lambda y: y + i)] for i in range(2)]
    return sum(listed) * i + sum([sum(row) for row in scaled])

def written(x):
    print(f"{x:{'>'}{10}.3f} {"nested " + f"{'a' "b"}"} {
        x * 2 = :.2f} {x!r:>6}")
    if x > 5:
        raise ValueError(f"too large by {"about"}: {x - 5:.1f}")
    return x

def used(x):
    type Number = float
    return x * Number
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    if sys.version_info < (3, 12):
        pytest.skip("Python 3.12 reads this")
    path: Path = tmp_path_factory.mktemp("newer") / "newer_syntax.py"
    path.write_text(PROGRAM)
    spec = importlib.util.spec_from_file_location("newer_syntax", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["newer_syntax"] = module
    spec.loader.exec_module(module)
    return module


def test_generic_functions_and_classes_and_names_of_types(program: ModuleType) -> None:
    assert mlirad.jit(program.of_types)(3.0) == program.of_types(3.0) == 36.0
    assert mlirad.grad(program.of_types)(3.0) == 3 * 9.0 + 3.0
    with pytest.raises(UnsupportedSyntaxError, match="Number is a name for a type") as refused:
        mlirad.jit(program.used)(1.0)
    assert "return x * Number" in str(refused.value)


def test_comprehensions_hide_their_names(program: ModuleType) -> None:
    assert mlirad.jit(program.of_scopes)(1.5) == program.of_scopes(1.5)
    assert mlirad.grad(program.of_scopes)(1.5) == pytest.approx((program.of_scopes(2.5) - program.of_scopes(0.5)) / 2)


def test_quotes_and_lines_in_f_strings(program: ModuleType, capfd: pytest.CaptureFixture[str]) -> None:
    kernel = mlirad.jit(program.written)
    for function in (kernel, program.written):
        function(2.5)
        sys.stdout.flush()
    told = capfd.readouterr().out
    assert told[: len(told) // 2] * 2 == told and "nested ab" in told
    for function in (kernel, program.written):
        with pytest.raises(ValueError, match=r"too large by about: 1\.5"):
            function(np.float64(6.5))
