"""Kernels called by functions that Numba compiles: results, writes, errors, threads, what is refused."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import mlirad

numba = pytest.importorskip("numba")
import_module("mlirad.interop.numba_kernels").register()  # as the entry point does where mlirad is installed

X = np.linspace(0.0, 1.0, 6)


@mlirad.jit
def wave(x, k):
    return np.sin(k * x) + x[0]


@mlirad.jit
def cubic(t):
    return t * t * t - t


@mlirad.jit
def several(pair, flag):
    a, b = pair
    a[0] = 5.0
    return a, b.T, (np.sum(a), a.shape[0], flag), None, np.argmax(b)


@mlirad.jit
def item(x, i):
    if i < 0:
        raise ValueError("it is negative")
    return x[i]


slope = mlirad.grad(lambda x, k: np.sum(wave(x, k)))


@numba.njit
def program(x, y, a, b):
    total = 0.0
    for i in range(3):
        total += wave(x, i).sum() + cubic(total) + slope(x, 0.5 * i)[1]
    return total, wave(x[::-2], 2.0), wave(y, 1), wave(y.T, 1), several((a, b), True), a[0], item


def plain(x, y, a, b):
    total = 0.0
    for i in range(3):
        gradient = 0.5 * i * np.cos(0.5 * i * x)
        gradient[0] += x.size
        total += np.sum(np.sin(i * x) + x[0]) + (total**3 - total) + gradient[1]
    waves = [np.sin(k * z) + z[0] for z, k in ((x[::-2], 2.0), (y, 1), (y.T, 1))]
    a[0] = 5.0
    return total, *waves, (a, b.T, (np.sum(a), a.shape[0], True), None, np.argmax(b)), 5.0, item


def test_a_program_with_kernels() -> None:
    """Numbers, arrays of all layouts and of another dtype, tuples; what a kernel writes; a kernel as a value."""
    y, b = np.arange(9.0, dtype=np.float32).reshape(3, 3), np.array([[1, 5, 2], [0, 1, 3]])
    own, python = program(X, y, X.copy(), b), plain(X, y, X.copy(), b)
    assert [type(each) for each in own[4]] == [np.ndarray, np.ndarray, tuple, type(None), int]
    for found, expected in zip(mlirad.tree.leaves(own), mlirad.tree.leaves(python), strict=True):
        if isinstance(expected, np.ndarray):
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-6)
        else:
            assert found is expected or found == pytest.approx(expected)
    longer = program(np.ones(50), y, np.zeros(2), np.ones((1, 3), int))  # the same code, other shapes
    np.testing.assert_allclose(longer[0], plain(np.ones(50), y, np.zeros(2), np.ones((1, 3), int))[0], rtol=1e-6)


@numba.njit(parallel=True)
def in_threads(kernel, x, i):
    found = np.zeros(8)
    for k in numba.prange(8):
        found[k] = kernel(x, k % 3)
    return found, kernel(x, i)


def test_threads_and_errors(capfd: pytest.CaptureFixture[str]) -> None:
    """The kernel is an argument. What it raises comes out, with its place; of a thread of Numba's, it is printed."""
    found, last = in_threads(item, X, -1 + 5)
    np.testing.assert_array_equal(found, X[np.arange(8) % 3])
    assert last == X[4]
    line = item.numpy.__code__.co_firstlineno
    with pytest.raises(IndexError, match=rf"test_numba_kernels.py:{line + 4}:.*index 6 is out of bounds"):
        in_threads(item, X, 6)
    with pytest.raises(ValueError, match="it is negative"):
        in_threads(item, X, -1)
    assert not capfd.readouterr().err
    with contextlib.suppress(Exception):  # another one, of Numba's, if its first thread is among them
        in_threads(item, X[:2], 0)
    assert numba.get_num_threads() == 1 or "IndexError" in capfd.readouterr().err


def test_what_numba_cannot_know_is_refused() -> None:
    @mlirad.jit
    def by_size(x):
        return x if x.shape[0] > 3 else np.sum(x)

    @mlirad.jit
    def listed(x):
        return [x, x]

    caller = numba.njit(lambda f, x: f(x))
    assert caller(by_size, np.ones(2)) == 2.0
    with pytest.raises(TypeError, match=r"by_size returns an array of float64 with 1 axes here, .* for float64"):
        caller(by_size, np.ones(9))
    with pytest.raises(numba.TypingError, match="listed gives a list; called from Numba"):
        caller(listed, X)
    with pytest.raises(numba.TypingError, match="arrays, numbers and tuples of them, not unicode_type"):
        caller(listed, "text")

    @mlirad.jit
    def of_five(x):
        return x @ np.ones(5)

    with pytest.raises(numba.TypingError, match=r"call the kernel once with such arguments, before"):
        caller(of_five, np.ones((2, 5)))
    of_five(np.ones((3, 5)))
    assert numba.njit(lambda f, x: f(x))(of_five, np.ones((2, 5))).tolist() == [5.0, 5.0]


def test_numba_finds_it_and_nothing_else_loads_it() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    home, _, name = project["project"]["entry-points"]["numba_extensions"]["init"].partition(":")
    assert callable(getattr(import_module(home), name))
    program = "import sys; import mlirad.jit.compilation, mlirad.frontend.build; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "False"
