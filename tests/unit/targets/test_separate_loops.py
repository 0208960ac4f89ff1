"""Loops that become functions, in programs that are large enough (here, every program is)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.requests.python_functions import copied
from mlirad.targets.cpu.emit.separate import separate_loops


@pytest.fixture(autouse=True)
def every_function_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(separate_loops, "LARGE", 0)
    monkeypatch.setattr(separate_loops, "_SHARE", 2.0)
    monkeypatch.setattr(separate_loops, "_FEW", 0)
    monkeypatch.setenv("MLIRAD_CACHE", "0")


def transposed(x):
    """A copy across rows, beside vectors."""
    y = np.tanh(x) * x
    z = np.empty((x.shape[1], x.shape[0]), x.dtype)
    z[:] = y.T
    return z


def picked(x, places):
    """A loop with a check and results: a sum and an integer."""
    y, total, last = np.exp(-x * x), 0.0, 0
    for i in range(places.shape[0]):
        total += y[places[i]] * (i + 1)
        last = places[i]
    return np.sum(y) + total, last


def halved(x):
    """A `while` with results."""
    y, size, rounds = np.sin(x), np.abs(x[0]) + 1.0, 0
    while size > 1e-3:
        size, rounds = size / 2, rounds + 1
    return y * size, rounds


TABLE = np.linspace(0.0, 1.0, 40)


def tabled(x):
    """A constant array, in a loop in which each trip needs the one before."""
    y = np.tanh(x) * x
    for i in range(1, 40):
        y[i] = y[i - 1] * TABLE[i] + y[i]
    return y


def rows(x):
    """Memory of a trip, and a loop in which each trip needs the one before."""
    total = np.zeros(x.shape[0])
    for i in range(1, x.shape[0]):
        total[i] = total[i - 1] * 0.5 + x[i, 0] * x[i - 1, 1]
    return np.cos(total)


def check(function: Callable[..., Any], *args: Any) -> None:
    given, expected = mlirad.jit(copied(function))(*args), function(*args)
    for one, other in zip(*(each if isinstance(each, tuple) else (each,) for each in (given, expected)), strict=True):
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=1e-5 if np.asarray(other).dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(9, 7), (1, 1), (0, 3), (40, 33)])
def test_copies_across_rows(dtype, shape) -> None:
    check(transposed, np.random.default_rng(0).normal(size=shape).astype(dtype))


def test_negative_strides() -> None:
    check(transposed, np.random.default_rng(0).normal(size=(12, 10))[::-1, ::2])


def test_results_of_loops() -> None:
    x = np.random.default_rng(0).normal(size=50)
    check(picked, x, np.array([3, 1, -1, 49]))
    check(picked, x, np.array([], np.int64))
    check(halved, x)


def test_a_loop_raises() -> None:
    kernel = mlirad.jit(copied(picked))
    x = np.ones(50)
    with pytest.raises(IndexError, match="index 50 is out of bounds"):
        kernel(x, np.array([3, 50]))
    np.testing.assert_allclose(kernel(x, np.array([3]))[0], picked(x, np.array([3]))[0])


def test_a_gradient() -> None:
    x = np.random.default_rng(0).normal(size=(30, 3))
    mlirad.check_grads(lambda x: np.sum(rows(x) ** 2), (x,))


def test_they_are_functions() -> None:
    text = mlirad.jit(copied(picked)).lower(np.ones(50), np.arange(4)).as_text("llvmir")
    assert "mlirad.improved" in text


def test_a_constant_array() -> None:
    check(tabled, np.random.default_rng(0).normal(size=40))
