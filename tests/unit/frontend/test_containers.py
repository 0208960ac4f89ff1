"""`deque`, `defaultdict`, `del`, methods of lists that search, and written items of lists, beside Python's own."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any

import numpy as np
import pytest
from as_in_python import X, is_as_in_python

import mlirad

METHODS = ("append", "appendleft", "extend", "extendleft", "pop", "popleft", "rotate", "reverse", "set", "delete")


@pytest.mark.parametrize("seed", range(4))
def test_random_methods_of_deques(seed: int) -> None:
    rng = np.random.default_rng(seed)
    longest = [None, 3, 1, 0][seed]
    calls = tuple((str(rng.choice(METHODS)), int(rng.integers(-3, 4))) for _ in range(14))

    def f(x):
        d = deque(x[:3], longest)
        total = 0.0
        for name, k in calls:
            if name == "append":
                d.append(x[k] * 2)
            elif name == "appendleft":
                d.appendleft(x[k] * 3)
            elif name == "extend":
                d.extend(x[:2])
            elif name == "extendleft":
                d.extendleft([x[k], x[0] * x[1]])
            elif name == "rotate":
                d.rotate(k)
            elif name == "reverse":
                d.reverse()
            elif d and name == "pop":
                total += d.pop() * k
            elif d and name == "popleft":
                total += d.popleft() * k
            elif -len(d) <= k < len(d) and name == "set":
                d[k] = d[k] * x[1]
            elif -len(d) <= k < len(d) and name == "delete":
                del d[k]
        for place, v in enumerate(d):
            total += (place + 1) * v
        return total + len(d) + sum(a * b for a, b in zip(d, reversed(d), strict=True))

    is_as_in_python(f)


def test_a_window_over_a_loop() -> None:
    def f(x):
        window, found = deque(maxlen=3), []
        for v in x:
            window.append(v * v)
            found.append(sum(window) / len(window))
        return np.prod(np.array(found)) + np.mean(window)

    is_as_in_python(f)


def test_a_queue_whose_length_depends_on_data() -> None:
    def f(x):
        queue, seen, total = deque([0]), np.zeros(len(x)), 0.0
        while queue:
            i = queue.popleft()
            if x[i] < 0.0 or seen[i] > 0.0:
                continue
            seen[i] = 1.0
            total += x[i] * (i + 1)
            for j in (2 * i + 1, 2 * i + 2):
                if j < len(x):
                    queue.append(j)
        return total

    is_as_in_python(f)
    is_as_in_python(f, np.array([1.0, -2.0, 3.0, 4.0, 5.0]))


def test_what_deques_refuse() -> None:
    with pytest.raises(IndexError, match="pop from an empty deque"):
        mlirad.jit(lambda x: deque(x[:0]).popleft())(X)
    with pytest.raises(TypeError, match="sequence index must be integer"):
        mlirad.jit(lambda x: sum(deque(x)[:2]))(X)  # pyright: ignore[reportArgumentType]  # as Python refuses
    with pytest.raises(mlirad.CompileError, match=r"return list\(...\) of it"):
        mlirad.jit(lambda x: deque(x))(X)
    with pytest.raises(mlirad.CompileError, match=r"return dict\(...\) of it"):
        mlirad.jit(lambda x: defaultdict(float, a=x))(X)


def test_missing_items_of_a_defaultdict() -> None:
    def f(x):
        sums, groups, rows = defaultdict(float), defaultdict(list), defaultdict(lambda: np.zeros(2))
        for k, v in enumerate(x):
            sums[k % 2] += v
        for name, v in zip("abab", x, strict=False):
            groups[name].append(v)
        for a, b in ((0, 1), (1, 2), (2, 0)):
            rows[a] += x[a : a + 2]
            rows[b] -= x[b : b + 2] ** 2
        total = sums[0] * sums[1] + len(groups) + (7 in rows)
        for _, found in sorted(groups.items(), reverse=True):
            total = 2.0 * total + np.prod(found)
        return total + sum(np.sum(rows[k]) for k in rows) + dict(sums)[1]

    is_as_in_python(f)


def test_del() -> None:
    def f(x):
        named = {"a": x[0], "b": x[1], "c": x[2]}
        del named["b"]
        known = [x[0], x[1], x[2], x[3], x[4]]
        del known[1], known[-1]
        del known[1:]
        grown = []
        for v in x:
            if v > 1.5:
                grown.append(v * v)
        del grown[0], (grown[-1])
        return sum(named.values()) * known[0] + len(known) + np.prod(np.array(grown))

    is_as_in_python(f)


def test_what_del_refuses() -> None:
    def missing(x):
        d = {"a": x}
        del d["b"]
        return d["a"]

    def outside(x):
        d = [x, x]
        del d[2]
        return d[0]

    def of_array(x):
        del x[0]
        return x

    with pytest.raises(KeyError, match="b") as caught:
        mlirad.jit(missing)(X)
    assert "\n" in str(caught.value)  # the line of the source below the message: not the repr of both
    with pytest.raises(IndexError, match="list assignment index out of range"):
        mlirad.jit(outside)(X)
    with pytest.raises(mlirad.CompileError, match="cannot be deleted"):
        mlirad.jit(of_array)(X)


def test_lists_that_are_searched() -> None:
    def f(x):
        squares = [v * v for v in x]
        names = ["a", "b", "c"]
        names.remove("b")
        kept = []
        for i in range(5):
            if x[i] > 1.5:
                kept.append(i)
        kept.remove(2)
        return x[squares.index(max(squares))] * squares[names.index("c")] + x[kept[1]] * names.count("a")

    is_as_in_python(f)
    with pytest.raises(ValueError, match="x not in list"):
        mlirad.jit(lambda x: [x[0], x[1]].index(7.0))(X)


class _Both:
    """Goes one way forwards, and another way backwards."""

    def __init__(self, x):
        self.x = x

    def __iter__(self):
        return iter(self.x)

    def __reversed__(self):
        return iter(self.x[:2])


class _Forwards:
    def __init__(self, x):
        self.x = x

    def __iter__(self):
        return iter(self.x)


def test_reversed_asks_the_class() -> None:
    def f(x):
        total = 0.0
        for v in reversed(_Both(x)):
            total = 2.0 * total + v * v
        return total

    def backwards(x: Any) -> Any:
        given: Any = _Forwards(x)
        return sum(v for v in reversed(given))

    is_as_in_python(f)
    with pytest.raises(mlirad.CompileError, match="write __reversed__"):
        mlirad.jit(backwards)(X)


def counted(x):
    counts = [0] * 5
    for v in x:
        counts[int(v)] += 1
    return counts


def summed_in_bins(x):
    sums = [0.0] * 5
    for v in x:
        sums[int(v)] += v * v
    return sums[0] * sums[1] + sums[2] * sums[3] * sums[-1]


def written_on_a_branch(x):
    xs = [x[0], x[1], x[2]]
    same = xs
    k = int(x[3]) % 3
    xs[k], xs[0] = xs[0] * 2.0, xs[k]
    if x[4] > 2.0:
        xs[k - 3] = x[5]
    same.append(x[6])
    return xs[0] + 3.0 * xs[1] * xs[2] + len(xs) * same[-1]


BINS = np.random.default_rng(1).uniform(0, 5, size=12)


@pytest.mark.parametrize("function", [summed_in_bins, written_on_a_branch])
def test_lists_are_written_at_places_that_the_run_knows(function) -> None:
    for x in (BINS, BINS[::-1].copy(), np.sort(BINS)):
        value, slope = mlirad.value_and_grad(function)(x)
        assert value == pytest.approx(function(x), rel=1e-14)
        along = np.sin(np.arange(12.0))
        difference = (function(x + 1e-7 * along) - function(x - 1e-7 * along)) / 2e-7
        assert slope @ along == pytest.approx(difference, rel=1e-6)


def test_lists_of_counts() -> None:
    assert mlirad.jit(counted)(BINS) == counted(BINS)
    for place in (5, -6):
        with pytest.raises(IndexError, match="list index out of range"):
            mlirad.jit(counted)(np.append(BINS, place))


def masses(x, q):
    mass = {1: x[0], 6: x[1] * 2, -8: 15.999 * x[2]}
    return sum(mass[int(z)] ** 2 for z in q)


def bases(x, q):
    basis = {1: x[:2], 6: x[1:3], -8: x[2:4]}
    out = np.zeros(2, x.dtype)
    for z in q:
        out += basis[z] * 2
        basis[6][0] += out[1]  # the dict holds views
    return np.sum(out**2)


def best_of(x, q):
    found = {i: x[i] * q[0] for i in range(4)}
    return found[max(found, key=found.get)] + x[max(range(4), key=x.__getitem__)] + x.__len__()


@pytest.mark.parametrize("function", [masses, bases, best_of])
def test_dicts_are_read_at_keys_that_the_run_knows(function) -> None:
    keys = np.array([1, -8, 6, 6])
    is_as_in_python(lambda x: function(x, keys), np.array([0.5, 3.0, 2.0, 1.0]))
    single = np.array([0.5, 3.0, 2.0, 1.0], np.float32)
    np.testing.assert_allclose(mlirad.jit(function)(single.copy(), keys), function(single.copy(), keys), rtol=1e-5)


def test_a_missing_key_that_the_run_knows() -> None:
    for key in (7, 0, -1):
        with pytest.raises(KeyError, match=f": {key}\n"):
            mlirad.jit(masses)(X, np.array([1, key]))
