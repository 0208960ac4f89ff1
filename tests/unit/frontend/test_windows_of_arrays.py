"""Sliding windows: views with overlapping elements, which show every write to their base, and are read-only."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from random_pairs import require_same

import mlirad
from mlirad.errors import CompileError


def same_as_numpy(function: Callable[..., Any], *arguments: Any) -> None:
    """Values, writes to the arguments, and which results share memory, as in NumPy."""
    numpys, own = ([np.copy(x) if isinstance(x, np.ndarray) else x for x in arguments] for _ in range(2))
    expected = function(*numpys)
    require_same((numpys, expected), (own, mlirad.jit(function)(*own)))


def helper(w, i):
    return (w[i] * w[i, 0]).sum()


def smoothed(x):
    """Writes to the base between reads of its windows."""
    w = sliding_window_view(x, 3)
    total = x[0] * 0
    for i in range(w.shape[0]):
        total += helper(w, i)
        x[i] = np.sin(total)
    return total


def test_windows_see_what_is_written() -> None:
    def f(x, n):
        w = sliding_window_view(x, 3)
        before = w.sum(axis=1)
        x[2] = 7.0
        part = w[1] if n > 1 else x[4:7]
        x[5] = 3.0
        if n > 1:
            w = w[:, ::-1]
        return before, w.sum(axis=1), part, part.max(), w[n, 1], w[:n].sum(), w[[n, 0]], np.median(w, axis=-1), w.T

    for n in (1, 3):
        same_as_numpy(f, np.arange(8.0), n)
    same_as_numpy(smoothed, np.linspace(0.1, 0.9, 7).astype(np.float32))
    square = np.arange(20.0).reshape(4, 5)
    same_as_numpy(lambda x: (sliding_window_view(x, 2, axis=1), sliding_window_view(x, (2, 3), (1, 1)) * 2), square)
    same_as_numpy(lambda x: (sliding_window_view(x, 0), sliding_window_view(x[:0], 0)), np.arange(3.0))
    same_as_numpy(lambda x: sliding_window_view(x, (2, 2)).any(axis=(2, 3)), square > 11)


def test_derivatives_flow_through_windows() -> None:
    def loss(x):
        y = x.copy()
        return smoothed(y) + (sliding_window_view(y, 3)[::-1] * np.array([1.0, 2.0, 3.0])).prod()

    x, v = np.linspace(0.3, 0.9, 6), np.linspace(-1.0, 1.0, 6)
    g, (_, tangent) = mlirad.grad(loss)(x), mlirad.jvp(loss, (x,), (v,))
    np.testing.assert_allclose(g @ v, tangent, rtol=1e-12)
    np.testing.assert_allclose(tangent, (loss(x + 1e-6 * v) - loss(x - 1e-6 * v)) / 2e-6, rtol=1e-7)
    np.testing.assert_allclose(mlirad.vmap(mlirad.grad(loss))(np.stack([x, x * 2])), [g, mlirad.grad(loss)(x * 2)])


def test_windows_are_not_written() -> None:
    def f(x, is_window):
        v = sliding_window_view(x, 3)[1] if is_window else x[1:4]
        v[0] = 2.0
        return x.sum()

    kernel = mlirad.jit(f)
    assert kernel(np.arange(6.0), False) == 16.0
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        kernel(np.arange(6.0), True)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: sliding_window_view(x, 3, writeable=True), "windows that may be written are not compiled"),
        (lambda x: sliding_window_view(x, 9), "window shape cannot be larger than input array shape"),
        (lambda x: sliding_window_view(x, (2, 2)), "Since axis is None, must provide window_shape for all dimensions"),
        (lambda x: sliding_window_view(x[x > 0], 2), "the shape of an array that is seen in windows must be known"),
        (lambda x: np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8)), "write sliding_window_view(x, size)"),
    ],
)
def test_refusals(function: Callable[..., Any], text: str) -> None:
    with pytest.raises(CompileError, match=re.escape(text)):
        mlirad.jit(function)(np.arange(6.0))
