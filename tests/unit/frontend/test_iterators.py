"""iter and next, `__iter__` of the user's classes, set comprehensions, sorted() by keys known only at run time."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from random_pairs import require_same

import mlirad
from mlirad.errors import CompileError

X, Y = np.array([0.6, 0.1, 0.9, 0.4]), np.array([2.0, 0.5, 1.0, 3.0])


class Pair:
    def __init__(self, a, b):
        self.items = [a, b]

    def __iter__(self):
        return iter(self.items)


def taken(x, y, c):
    it = iter([x, y, x * y])
    total = next(it).copy()
    for v in it:
        total += v
    elements = iter(x)
    first = next(elements) if c > 0 else x[3]
    for i in range(2):
        first = first + next(elements) * i
    pairs = zip(x, y, strict=True)
    a, b = next(pairs)
    rest = [i * j for i, j in pairs]
    pair = Pair(x, y)
    both = [v.sum() for v in pair] + list(pair)
    for v in pair:
        first = first + v[0]
    sets = {i % 2 for i in range(5)} == {0, 1}, len({len(v) for v in (x, y)})
    return total, first, sum(elements) if c > 0 else x[0], a, b, rest, both, next(iter(()), 7), sets


def test_iterators() -> None:
    for c in (1, -1):
        require_same(taken(X, Y, c), mlirad.jit(taken)(X, Y, c))


def in_order(x, y):
    pairs = [(x[0], 1), (x[1], 2), (x[2], 3)]
    arrays = sorted([x, y, x * y], key=lambda r: r.sum(), reverse=True)
    sorted_in_place = [x[2], x[0], x[1]]
    sorted_in_place.sort()
    stable = sorted([x[0], x[1], x[2]], key=lambda v: v > 0.5, reverse=True)
    arrays[0][0] = 7.0  # views of the array itself
    by_two = sorted(pairs, key=lambda p: (p[1] % 2, p[0]))
    known = sorted(["bb", "a"], key=len), sorted({3, 1, 2}), sorted(range(5), key=lambda k: -k)
    return sorted(pairs, key=lambda p: -p[0]), sorted_in_place, stable, by_two, known, sorted(x, key=lambda v: v * v)


def test_sorted_by_keys_of_the_run() -> None:
    rng = np.random.default_rng(0)
    for _ in range(3):
        x, y = rng.normal(size=(2, 4))
        own = x.copy(), y.copy()
        require_same((in_order(x, y), x, y), (mlirad.jit(in_order)(*own), *own))

    def loss(x):
        return sum([k * v for k, v in enumerate(sorted(x, key=lambda v: -v * v))])

    np.testing.assert_array_equal(mlirad.grad(loss)(X), [1.0, 3.0, 0.0, 2.0])


def again(x):
    it = iter(x)
    if x[0] > 0:
        return sum(it) + next(it)
    return x[0]


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (again, "a list_iterator is used up after its first use, and is used again"),
        (lambda x: next(x), "an array (4,) float64 is not an iterator"),
        (lambda x: {v * 2 for v in x}, "an item of a set must be known at compile time"),
        (lambda x: next(iter(x[x > 0]), 0.0), "whether next() takes the default is known only at run time"),
    ],
)
def test_refusals(function: Callable[..., Any], text: str) -> None:
    with pytest.raises(CompileError, match=re.escape(text)):
        mlirad.jit(function)(X)


def test_an_iterator_that_has_no_more() -> None:
    with pytest.raises(StopIteration):
        mlirad.jit(lambda x: next(iter(x[x > 1])))(X)


class _Mode(enum.Enum):
    FIRST = 1
    SECOND = 2


def test_members_of_an_enum() -> None:
    def f(x):
        total = 0.0
        for mode in _Mode:
            total += x[mode.value] * (2.0 if mode is _Mode.FIRST else 3.0)
        named = {mode.name: x[mode.value] for mode in _Mode}
        return total * len(_Mode) + named["SECOND"] + sum(x[mode.value] for mode in list(_Mode))

    x = np.array([3.0, 4.0, 5.0])
    assert mlirad.jit(f)(x) == f(x)
