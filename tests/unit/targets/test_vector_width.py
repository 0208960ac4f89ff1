"""The width of a module's vectors: the widest registers only if no scalar loop pays for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.targets.cpu import engine


def _sums(x):
    return np.sum(np.sin(x) * x)


def _recurrence(x):
    y = np.zeros_like(x)
    for i in range(1, x.shape[0]):
        y[i] = np.sin(y[i - 1]) + x[i]
    return np.sum(y * y)


def _recurrence_in_branches(x):
    y = np.zeros_like(x)
    for i in range(1, x.shape[0]):
        if x[i] > 0.0:
            y[i] = np.sin(y[i - 1]) + x[i]
    return np.sum(y * y)


def _newton(x):
    total, guess = np.sum(x * x), 1.0
    while abs(guess * guess - total) > 1e-9:
        guess = 0.5 * (guess + total / guess)
    return guess


def _steps_of_vectors(x):
    for _ in range(10):
        x = np.tanh(x) + 1.0
    return np.sum(x)


def _products_in_a_recurrence(x):
    total = 0.0
    for i in range(x.shape[0]):
        total = np.sin(total) + x[i]
    a = np.ones((16, 16)) * total
    return np.sum(a @ a)


def _rotations_in_a_recurrence(x):
    """Small products are scalars: on wide registers their loop and its sines are slower."""
    frame = np.eye(3)
    for i in range(x.shape[0]):
        c, s = np.cos(x[i]), np.sin(x[i])
        frame = frame @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return np.sum(frame) + np.sum(x * x)


def _copies(x):
    """Numbers are moved in the loop, not computed. So are the sums of rows where stencils run together."""
    y = np.zeros_like(x)
    for i in range(x.shape[0] - 1):
        y[i] = x[i + 1]
    return np.sum(y * y)


def _rows_and_numbers(x):
    """The nests of each trip take more time than its numbers, although their sizes change."""
    total = 1.0
    for i in range(1, x.shape[0]):
        total = 0.5 * total + np.sum(x[:i] * x[i])
    return total


def _columns_and_numbers(x):
    a = np.outer(x, x)
    for i in range(4):
        for j in range(4):
            a[i] -= a[j] * (np.sum(a[i] * a[j]) / (i + 2.0))
    return np.sum(a)


def _triangle(x):
    """Short rows and numbers in turns, as in factorisations of matrices."""
    a = np.outer(x, x)
    for i in range(x.shape[0]):
        for j in range(i):
            a[i, j] = (a[i, j] - np.sum(a[i, :j] * a[j, :j])) / a[j, j]
    return np.sum(a)


@pytest.mark.parametrize(
    ("function", "is_wide"),
    [
        (_sums, True),
        (_steps_of_vectors, True),
        (_products_in_a_recurrence, True),
        (_copies, True),
        (_rows_and_numbers, True),
        (_columns_and_numbers, True),
        (_triangle, False),
        (_recurrence, False),
        (_recurrence_in_branches, False),
        (_newton, False),
        (_rotations_in_a_recurrence, False),
    ],
)
def test_the_width_depends_on_what_the_loops_hold(
    function: Callable[..., Any], is_wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "host_vector_bytes", lambda: 64)
    lowered = mlirad.jit(function).lower(np.ones(64))
    loops, llvm_ir = lowered.as_text("loops"), lowered.as_text("llvmir")
    assert ("vector<8xf64>" in loops) == is_wide
    assert is_wide or "vector<4xf64>" in loops
    assert f'"prefer-vector-width"="{512 if is_wide else 256}"' in llvm_ir


def test_the_width_is_never_more_than_the_host_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "host_vector_bytes", lambda: 16)
    for function in (_sums, _recurrence):
        assert "vector<2xf64>" in mlirad.jit(function).lower(np.ones(64)).as_text("loops")
