"""match, against Python: static subjects, and numbers known only at run time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import mlirad
from mlirad.errors import CompileError
from mlirad.testing.interpreted import Interpreted


@dataclass
class Circle:
    radius: float


@dataclass
class Box:
    width: float
    height: float


class Pair(NamedTuple):
    u: Any
    v: Any


def by_name(mode, x):
    match mode:
        case "sum" | "total":
            return np.sum(x)
        case "mean":
            return np.mean(x)
        case None:
            return 0.0
        case other if other == "first":
            return x[0]
        case _:
            return -1.0


def shapes(shape, x):
    match shape:
        case Circle(r):
            area = np.pi * r * r
        case Box(width=w, height=h) if w == h:
            area = w**2
        case Box(w, h):
            area = w * h
        case _:
            area = 0.0
    return area + x[0]


def sequences(items, x):
    match items:
        case []:
            return 0.0
        case [one]:
            return one
        case (first, 2, *rest):
            return first + len(rest) * 100.0 + sum(rest)
        case [first, *_, last] as everything:
            return first * last + len(everything)
        case _:
            return -1.0


def mappings(options, x):
    match options:
        case {"kind": "linear", "slope": a, **rest}:
            return a * x[0] + len(rest)
        case {"kind": "constant"}:
            return 7.0
        case _:
            return 0.0


def classes(value, x):
    match value:
        case bool():
            return 1
        case int(n):
            return n + 10
        case np.float32():
            return 3
        case float():
            return 4
        case np.ndarray():
            return 5
        case str() | None:
            return 6
    return 7


def codes(n, x):
    y = 0.0
    match n:
        case 0:
            y = x[0]
        case 1 | 2:
            y = x[1] * 2
        case k if k > 10:
            y = x[2] * k
        case -1:
            return x[0] - 1.0
        case _:
            y = 5.0
    return y + x[3]


def in_a_loop(n, x):
    total = 0.0
    for i in range(n):
        match (i % 3, x[i % 4] > 1.0):
            case (0, _):
                total += x[0]
            case (1, True):
                continue
            case (k, False):
                total += k * x[1]
            case _:
                break
    return total


X = np.array([0.5, 1.5, 2.5, -3.0])
CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (by_name, ("sum", "total", "mean", None, "first", "other", 3)),
    (shapes, (Circle(2.0), Box(2.0, 3.0), Box(2.0, 2.0), "none", 1.0)),
    (sequences, ([], [4.0], (1.0, 2, 3.0, 4.0), [1.0, 3.0, 5.0], (2.0, 2.0), Pair(1.0, 2.0), "ab", X, 3)),
    (mappings, ({"kind": "linear", "slope": 3.0, "more": 1}, {"kind": "constant", "x": 2}, {}, [1])),
    (classes, (True, 3, 2.0, np.float32(1), np.float64(2), np.int64(3), X, "text", None, [1])),
    (codes, (0, 1, 2, 3, 11, -1, 12.5)),
]


@pytest.mark.parametrize(("function", "subjects"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_values(function: Callable[..., Any], subjects: tuple[Any, ...]) -> None:
    compiled = Interpreted(function)
    for subject in subjects:
        assert compiled(subject, X) == function(subject, X), subject


def test_a_number_of_the_run_makes_a_chain_of_ifs() -> None:
    kernel = mlirad.jit(codes)
    assert [kernel(n, X) for n in (0, 1, 2, 3, 11, -1)] == [codes(n, X) for n in (0, 1, 2, 3, 11, -1)]
    assert kernel.cache_info().currsize == 1


def test_a_case_may_leave_a_loop() -> None:
    for x in (X, X + 1.0, X - 2.0):
        assert Interpreted(compared_by_if)(7, x) == compared_by_if(7, x)


def compared_by_if(n, x):
    total = 0.0
    for i in range(n):
        match x[i % 4]:
            case 2.5:
                continue
            case v if v < -4.0:
                break
            case v:
                total += v
    return total


def test_gradients() -> None:
    for n, expected in ((0, [1.0, 0, 0, 1]), (2, [0, 2.0, 0, 1]), (11, [0, 0, 11.0, 1]), (-1, [1.0, 0, 0, 0])):
        assert np.array_equal(mlirad.grad(codes, argnums=1)(n, X), expected)


def test_refused() -> None:
    def alternatives(n, x):
        match (n, x[0]):
            case (1, y) | (y, 2.5):
                return y
        return 0.0

    with pytest.raises(CompileError, match="use two cases"):
        mlirad.jit(alternatives)(2, X)

    def singleton(n, x):
        match n > 2:
            case True:
                return 1.0
        return 0.0

    with pytest.raises(CompileError, match="use =="):
        mlirad.jit(singleton)(2, X)


def test_a_pattern_of_too_many_parts() -> None:
    def three(shape, x):
        match shape:
            case Box(_, _, _):
                return 1.0
        return 0.0

    with pytest.raises(TypeError, match=r"accepts 2 positional sub-patterns \(3 given\)"):
        mlirad.jit(three)(Box(1.0, 2.0), X)
