"""A name that is None on one path: the run knows whether it is, and it is used where it is not."""

# pyright: reportOptionalOperand=false, reportOperatorIssue=false, reportOptionalSubscript=false, reportArgumentType=false
# pyright: reportOptionalMemberAccess=false, reportCallIssue=false, reportIndexIssue=false
# (The programs are what is tested.)

from __future__ import annotations

import numpy as np
import pytest

import mlirad
from mlirad.errors import CompileError

X = np.sin(np.arange(12.0) + 0.3)


def nearest_hit(x):
    def hit(distance, radius):
        root = distance * distance - radius
        if root < 0:
            return None
        return -distance + np.sqrt(root)

    best = np.inf
    for distance in x:
        t = hit(distance, 0.2)
        if t is None:
            continue
        if t < best:
            best = t
    return best * 2


def pairs_kept_by_some_trips(x):
    total, run = 0.0, None
    for v in x:
        if v < -0.5:
            continue
        run = (v, v * v) if run is None else (run[0] * 0.5 + v, run[1] + v)
        total += run[0] * run[1]
    return total


def arrays_of_a_helper(x):
    def positive(v):
        if v > 0:
            return np.array([v, 2.0 * v])

    total = 0.0
    for v in x:
        found = positive(v)
        if found is not None:
            found[0] += 1
            total += found[0] * found[1]
    return total


def needed_only_after(x):
    distance, color = np.inf, None
    for s in x:
        if np.abs(s) < distance:
            distance, color = np.abs(s), np.array([s, s * s])
    return distance + color[1]


def dicts(x):
    best = None
    for i, v in enumerate(x):
        made = {"v": v, "i": i, "a": np.array([v, 1.0])}
        if v < 0:
            continue
        if best is None or made["v"] < best["v"]:
            best = made
    return best["v"] * best["i"] + best["a"].sum()


def set_back_to_none(x):
    start, total = None, 0.0
    for i in range(len(x)):
        if x[i] > 0 and start is None:
            start = x[i]
        elif x[i] <= 0 and start is not None:
            total += start * x[i]
            start = None
    return total


def first_place(x):
    i = next((i for i, v in enumerate(x) if v > 0.5), None)
    return x[i] if i is not None else 0.0


def next_of_generators(x):
    def halved(v):
        while True:
            v = v * 0.5 + 1
            yield v

    smallest = next((v * v for v in x if v < -5), 3.0) + next(v * v for v in x if v < 0)
    return next(halved(x.sum())) * smallest


def slices_between_events(x):
    parts, start = [], None
    for i, v in enumerate(x):
        if start is None and v > 0.3:
            start = i
        elif start is not None and v < 0.3:
            parts.append(x[start:i].sum())
            start = None
    return sum(parts)


def few_trips(x):
    nearest, where = np.inf, None
    for a, b in zip(x[:3], x[4:7]):
        point = np.array([a, b])
        if np.sum(point**2) < nearest:
            nearest, where = np.sum(point**2), point
    return nearest + where[1]


PROGRAMS = (
    slices_between_events,
    few_trips,
    nearest_hit,
    pairs_kept_by_some_trips,
    arrays_of_a_helper,
    needed_only_after,
    dicts,
    set_back_to_none,
    first_place,
    next_of_generators,
)


@pytest.mark.parametrize("function", PROGRAMS)
def test_as_python(function):
    assert mlirad.jit(function)(X) == pytest.approx(function(X), rel=1e-12)
    direction, h = np.cos(np.arange(12.0)), 1e-6
    slope = (function(X + h * direction) - function(X - h * direction)) / (2 * h)
    assert mlirad.grad(function)(X) @ direction == pytest.approx(slope, rel=1e-6)


def missing(x):
    y = None
    if x[0] > 0:
        y = x[1]
    return y * 2.0


def compared(x):
    y = x[1] if x[0] > 0 else None
    return 1.0 if y < 3 else 0.0


def read_in(x):
    y = None if x[0] < 0 else x[1:]
    return y[0]


@pytest.mark.parametrize("function", [missing, compared, read_in])
def test_none_raises_as_in_python(function):
    kernel = mlirad.jit(function)
    assert kernel(X) == function(X)
    for called in (function, kernel):
        with pytest.raises(TypeError):
            called(-X)


def returned(x):
    if x[0] > 0:
        return x
    return None


def truth(x):
    y = None if x[0] > 0 else x[1]
    return 1.0 if y else 0.0


@pytest.mark.parametrize("function", [returned, truth])
def test_what_needs_the_class_is_refused(function):
    with pytest.raises(CompileError, match="on one path and") as refusal:
        mlirad.jit(function)(X)
    assert refusal.value.filename == __file__


def test_a_result_that_may_be_none_says_what_to_return() -> None:
    def peak(x):
        highest, where = 0.0, None
        for i in range(len(x)):
            if x[i] > highest:
                highest, where = x[i], i
        return highest, where

    def total(x):
        return None if x[0] > 1 else x.sum()

    for function, instead in ((peak, "-1"), (total, "np.nan")):
        with pytest.raises(mlirad.CompileError, match=f"help: take a number in place of None, such as {instead}"):
            mlirad.jit(function)(np.ones(3))
