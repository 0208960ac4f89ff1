"""Nests over few elements, built without loops, compute the same as the loops, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.lowering.registers import carry_numbers
from mlirad.lowering.to_loops import small_nests


def of_vectors(x, y):
    return (
        np.sum(x),
        np.sum(x * y),
        x @ y,
        np.prod(x),
        np.max(x),
        np.fmin.reduce(x),
        np.sum(x / (1.0 + y * y) - np.sqrt(np.abs(x)), keepdims=True) * y,
        np.exp(x) * y,
        x[::-1] - y,
        np.cumsum(x),
        np.argmax(x),
    )


def of_matrices(a, b):
    return (
        a @ b,
        a @ b.T,
        a.T @ b,
        a @ b[0],
        b[0] @ a,
        a.T + b,
        np.sum(a * b),
        np.sum(a, axis=0),
        np.sum(a, axis=1),
        np.max(a.T, axis=1),
        np.outer(a[0], b[1]),
        np.trace(a),
    )


def of_loops(a, b):
    """Carries of loops and branches: one array, two that are exchanged, one that only some trips change."""
    first, second, kept = a[0], b[0], a[1]
    power = a
    for k in range(7):
        first, second = second, first / np.sqrt(np.sum(first * first))
        power = power @ b
        if k % 3:
            kept = kept + first
        else:
            kept = 2.0 * second
        for _ in range(k):
            kept = kept - first
    return first, second, power, kept, np.sum(power)


def cases(dtype: type) -> list[tuple[Callable[..., Any], tuple[np.ndarray, ...]]]:
    rng = np.random.default_rng(11)
    found: list[tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = []
    for n in (3, 7, 16):
        x, y = rng.normal(size=(2, n)).astype(dtype)
        x[n // 2] = np.nan if n == 7 else -0.0
        found.append((of_vectors, (x, y)))
    for n in (2, 3, 4):
        found.append((of_matrices, tuple(rng.normal(size=(2, n, n)).astype(dtype))))
    found.append((of_loops, tuple(rng.normal(size=(2, 3, 3)).astype(dtype))))
    return found


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_bits_are_those_of_loops(dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    for function, arguments in cases(dtype):
        straight = mlirad.jit(function).lower(*arguments)
        text, found = straight.as_text("loops"), straight.compile()(*arguments)
        with monkeypatch.context() as patch:
            patch.setattr(small_nests, "_MOST_OPS", 0)
            patch.setattr(carry_numbers, "_MOST_NUMBERS", 0)
            loops = mlirad.jit(function).lower(*arguments)
            assert loops.as_text("loops") != text
            expected = loops.compile()(*arguments)
        for a, b in zip(found, expected, strict=True):
            assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
