"""Loops in which a name changes its kind once: only the first iteration is separate, whatever the number of trips."""

# pyright: reportOptionalOperand=false, reportOperatorIssue=false, reportOptionalSubscript=false, reportArgumentType=false
# (The programs are what is tested.)

from __future__ import annotations

import numpy as np
import pytest

import mlirad

X = np.sin(np.arange(60.0))


def smallest(x):
    best = None
    for v in x:
        if best is None or v < best:
            best = v
    return best * 2


def differences(x):
    previous, total = None, 0.0
    for i, v in enumerate(x):
        if previous is not None:
            total += v * previous * i
        previous = v
    return total


def of_traced_length(x):
    previous, total, n = None, 0.0, int(np.sum(x > 0.05))
    for i in range(n):
        total += 0.0 if previous is None else x[i] * previous
        previous = x[i]
    return total


def by_while(x):
    before, i, total = None, 0, 0.0
    while total < 20 and i < len(x):
        if before is None:
            total += 1
        else:
            total += before * x[i]
        before = x[i] + 1
        i += 1
    return total


def left_early(x):
    last = None
    for i in range(len(x)):
        if last is not None and last * x[i] < -0.5:
            break
        last = x[i] * 2
    else:
        return np.sum(x)
    return last + x[i]


def an_array_later(x):
    total = None
    for i in range(len(x)):
        term = np.outer(x[:3], x[i : i + 1]) * x[i]
        total = term if total is None else total + term
    return np.sum(total * total)


def nested(x):
    total = 0.0
    for i in range(5):
        previous = None
        for j in range(12):
            if previous is not None:
                total += previous * x[i * 12 + j]
            previous = x[j]
    return total


PROGRAMS = (
    smallest,
    differences,
    of_traced_length,
    by_while,
    left_early,
    an_array_later,
    nested,
)


@pytest.mark.parametrize("function", PROGRAMS)
def test_as_python(function):
    kernel = mlirad.jit(function)
    assert kernel(X) == pytest.approx(function(X), rel=1e-12)
    assert len(kernel.lower(X).as_text("tensor").splitlines()) < 250
    direction, h = np.cos(np.arange(60.0)), 1e-6
    slope = (function(X + h * direction) - function(X - h * direction)) / (2 * h)
    assert mlirad.grad(function)(X) @ direction == pytest.approx(slope, rel=1e-5)


def test_few_or_no_trips():
    for function in (differences, by_while):
        for length in (0, 1, 2, 9):
            assert mlirad.jit(function)(X[:length]) == pytest.approx(function(X[:length]), rel=1e-12)
    assert mlirad.jit(of_traced_length)(-np.ones(9)) == 0.0
    assert mlirad.jit(smallest)(np.float32(X)) == smallest(np.float32(X))
