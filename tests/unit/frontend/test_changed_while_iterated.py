"""Loops over lists and dicts whose bodies change their length: refused at the loop, or what Python does."""

from __future__ import annotations

import numpy as np
import pytest

import mlirad

X = np.array([1.0, 2.5, 3.0])


def appends(x):
    xs, s = [x[0], x[1]], 0.0
    for v in xs:
        s += v
        if len(xs) < 4:
            xs.append(v * 2)
    return s


def removes(x):
    xs, s = [x[0], x[1], x[2]], 0.0
    for v in xs:
        s += v
        xs.pop()
    return s


def numbers(x):
    xs, s = [x[0], x[1], x[2]], 0.0
    for i, v in enumerate(xs):
        s += v * i
        if i == 0:
            xs.append(v)
    return s


def beside_another(x):
    xs, s = [x[0], x[1], x[2]], 0.0
    for v, w in zip(xs, [1.0, 2.0, 3.0, 4.0], strict=False):
        s += v * w
        if len(xs) < 4:
            xs.append(v)
    return s


def adds_a_key(x):
    d, s = {"a": x[0], "b": x[1]}, 0.0
    for k in d:
        s += d[k]
        d["c"] = x[0]
    return s


@pytest.mark.parametrize("function", [appends, removes, numbers, beside_another, adds_a_key])
def test_a_changed_length_is_refused(function):
    with pytest.raises(mlirad.UnsupportedSyntaxError, match="changes the length of the list or dict that it iterates"):
        mlirad.jit(function)(X)


def a_copy(x):
    xs, s = [x[0], x[1]], 0.0
    for v in list(xs):
        s += v
        xs.append(v)
    return s + xs[-1]


def items(x):
    xs = [x[0], x[1], x[2]]
    for i, v in enumerate(xs):
        xs[i] = v + 1
    return sum(xs)


def then_leaves(x):
    xs = [x[0], x[1], x[2]]
    for v in xs:
        if v > 2:
            xs.append(v * 2)
            break
    return sum(xs)


def another_list(x):
    xs, t = [x[0], x[1]], 0.0
    for v in xs:
        xs = [v, t]
        xs.append(v)
        t += sum(xs)
    return t


@pytest.mark.parametrize("function", [a_copy, items, then_leaves, another_list])
def test_other_changes_are_what_python_does(function):
    np.testing.assert_allclose(mlirad.jit(function)(X), function(X), rtol=1e-14)
