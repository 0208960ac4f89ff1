"""Loops that only write elements of arrays are interpreted once; foreseeing a header changes no loop."""

from __future__ import annotations

import numpy as np
import pytest

import mlirad
from mlirad.frontend.interpreter.loops import foreseen_writes, loop_ops


def sweeps(u, v, n):
    for _ in range(n):
        for i in range(1, 5):
            v[i] = 0.5 * v[i - 1] + u[i]
            u[i] += v[i]
        for i in range(3, -1, -1):
            for j in range(3):
                v[i] = v[i] + j * u[i + 1]
    return np.sum(u * v)


def new_array(u, v, n):
    w = np.zeros(6)
    for i in range(n):
        if v[i] > 0:
            w[i] = u[i]
    return w


def whole(u, v, n):
    for i in range(n):
        u += i * v
        v *= 0.5
    return u + v


def by_a_view(u, v, n):
    w = v[1:]
    for i in range(n):
        w[i] = u[i] * v[0]
    return v


def never_written(u, v, n, is_wanted=False):
    for i in range(n):
        u[i] = v[i]
        if is_wanted:
            v[i] = 0.0
    return u + v


def _store(x, i):
    x[i] = 2.0 * x[i]


def by_a_call(u, v, n):
    for i in range(n):
        v[i] = u[i]
        _store(u, i)
    return u + v


def with_a_number(u, v, n):
    total = 0.0
    for i in range(n):
        v[i] = total
        total += u[i]
    return v


def bound_again(u, v, n):
    for i in range(n):
        u[i] = v[0]
        u, v = v, u
    return u - v


def of_other_kinds(u, v, n):
    for i in range(n):
        v[i] = sum(u[k] ** i for k in range(2)) if i else np.nan
    return v


def needed(u, v, n):
    for k in range(1, 4):
        v[:k] = v[:k] + u[: len(np.zeros(k))]
    return v


def with_a_list(u, v, n):
    found = []
    for i in range(4):
        u[i] = v[i]
        found.append(u[0])
    return u, found[-1]


def left(u, v, n):
    for i in range(n):
        u[i] = v[i]
        if u[i] > 3.0:
            break
    else:
        v[0] = 7.0
    return u + v


ONE_PASS = {sweeps: 4, new_array: 1, whole: 1, by_a_view: 1}
OTHERS = [never_written, by_a_call, with_a_number, bound_again, of_other_kinds, needed, with_a_list, left]


def _arguments():
    return np.arange(6.0) / 4, np.array([1.0, -2.0, 3.0, -4.0, 5.0, 2.5]), 4


@pytest.mark.parametrize("function", ONE_PASS, ids=lambda function: function.__name__)
def test_loops_are_interpreted_once(function, monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[int] = []
    one_pass = loop_ops.one_pass
    monkeypatch.setattr(loop_ops, "one_pass", lambda *args: passes.append(args[1].node.lineno) or one_pass(*args))
    mlirad.jit(function).lower(*_arguments())
    assert len(passes) == ONE_PASS[function], passes


@pytest.mark.parametrize("function", [*ONE_PASS, *OTHERS], ids=lambda function: function.__name__)
def test_loops_are_those_of_the_search(function, monkeypatch: pytest.MonkeyPatch) -> None:
    text = mlirad.jit(function).lower(*_arguments()).as_text("tensor", locations=True)
    monkeypatch.setattr(foreseen_writes, "pass_of", lambda *_: None)
    assert mlirad.jit(function).lower(*_arguments()).as_text("tensor", locations=True) == text


@pytest.mark.parametrize("function", [never_written, by_a_call], ids=lambda function: function.__name__)
def test_results_are_those_of_numpy(function) -> None:
    expected, given = _arguments(), _arguments()
    np.testing.assert_array_equal(mlirad.jit(function)(*given), function(*expected))
    np.testing.assert_array_equal(given[0], expected[0])
    np.testing.assert_array_equal(given[1], expected[1])
