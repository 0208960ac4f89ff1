"""Operations on lists that loops fill: slices, sums, pops and insertions; and lists with indices known only at run
time. Compared with Python and with differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mlirad import grad, jit
from mlirad.errors import CompileError
from mlirad.requests.kinds_of_derivatives import Grad
from mlirad.testing.interpreted import Interpreted

X = np.array([0.3, 0.5, 0.7])


def filled(x, n):
    h = []
    for i in range(n):
        h.append(x[i % 3] * i)
    return h


def sliced(x, n):
    h = filled(x, n)
    return [h[1:], h[:-1], h[-3:], h[::2], h[::-1], h[n:0:-2], h[n - 2 : n], h[5:2]]


def added(x, n):
    h = filled(x, n)
    one, two = [7.0 * x[0]], [x[1] * 2, x[0]]
    return [h + one, two + h, h + h, [v for v in h if v > 0.5] + filled(x, 3)]


def popped(x, n):
    h = filled(x, n)
    first, k = h.pop(0), 0
    last = h.pop(-2)
    if x[0] > 0.2:
        k = 1
    return [h, first, last, h.pop(k), h.pop()]


def inserted(x, n):
    h = filled(x, n)
    h.insert(0, x[0])
    h.insert(-1, x[1])
    h.insert(100, x[2])
    h.insert(n // 2, x[2])
    h.insert(-100, x[0] * 9)
    return h


def extended(x, n):
    h, g = [x[0]], []
    h += [v for v in x if v > 0.4]
    h.extend(filled(x, n))
    h.extend(h)
    g.extend([v for v in x if v > 0.6])
    g += [1.0 * x[0]]
    return [h, g]


def of_arrays(x, n):
    h = [x]
    for i in range(n):
        h.append(x * i)
    h.insert(1, np.sin(x))
    h = h[1:] + h[-1:]
    return [h.pop(0), h]


def waves(x, n):
    """A queue, as in programs for breadth-first search."""
    queue, grid = [(0, 0)], np.full((4, 4), np.inf)
    grid[0, 0] = x[0]
    while queue:
        i, j = queue.pop(0)
        for di, dj in [(0, 1), (1, 0), (0, -1), (-1, 0)]:
            a, b = i + di, j + dj
            if 0 <= a < 4 and 0 <= b < 4 and grid[a, b] > grid[i, j] + x[(a + b) % 3]:
                grid[a, b] = grid[i, j] + x[(a + b) % 3]
                queue.append((a, b))
    return [grid[k, n % 4] for k in range(4)]


def chosen(x, n):
    k = int(x[0] * n) % 3
    numbers, values, arrays = [0.1, 0.5, 0.25], (x[0], x[1] * 2, x[2]), [x, x * 2, x * 3]
    pairs = [(1, x[0]), (2, x[1]), (3, x[2])]
    return [numbers[k], values[k - 1], arrays[k][1], (5, 6, 7)[k], pairs[-k], pairs[k][1]]


PROGRAMS = [sliced, added, popped, inserted, extended, of_arrays, waves, chosen]


def outcome(function: Callable[..., Any], *args: Any) -> str:
    try:
        return str(function(*args))
    except IndexError as error:
        return str(error).splitlines()[0].split(": ", 1)[-1]


@pytest.mark.parametrize("function", PROGRAMS)
def test_what_python_does(function: Callable[..., Any]) -> None:
    kernel = jit(function)
    for n in (0, 1, 3, 4, 8):
        # Equal to the last bit, with the same types, or the same error: `str` shows all of it.
        assert outcome(kernel, X, n) == outcome(function, X, n)


def flat(values: Any) -> list[Any]:
    if isinstance(values, list | tuple):
        return [each for value in values for each in flat(value)]
    return [np.sum(values)]


def slopes(x, n):
    s = 0.0
    for each in filled(x, n)[1:] + filled(x, n)[::-2]:
        s = s + each * each
    h = filled(x, n)
    h.insert(1, np.sin(x[0]))
    s = s + h.pop(0) * 2.0 + h.pop(2) ** 2 + h[0] * [x[0], x[1], x[2]][int(x[2] * 2)]
    for each in waves(x, n):
        s = s + each * each
    return s


def test_derivatives() -> None:
    e = 1e-6
    wanted = [(slopes(X + step, 7) - slopes(X - step, 7)) / (2 * e) for step in e * np.eye(3)]
    np.testing.assert_allclose(Interpreted(Grad(slopes, 0))(X, 7), wanted, rtol=1e-6)


def test_indices_of_lists_are_checked() -> None:
    def at(x, k):
        return [1.0, 2.0][int(x[0]) + k], (x[0], x[1])[int(x[0]) - k]

    for k in (-3, -2, -1, 0, 1, 2, 3):
        assert outcome(jit(at), X, k) == outcome(at, X, k)


def test_an_array_that_an_index_has_chosen_is_that_array() -> None:
    def written(x, y, k):
        arrays = [x, x * 2, y[1:], y[:-1]]
        one = arrays[int(x[0]) + k]
        one[1] = 7.0
        arrays[-1 - k][0] += one[1]
        return one, np.sum(arrays[1])

    for k in range(4):
        mine, its = (X.copy(), np.arange(4.0)), (X.copy(), np.arange(4.0))
        (found, total), (wanted, its_total) = jit(written)(*mine, k), written(*its, k)
        np.testing.assert_array_equal(found, wanted)
        assert total == its_total
        for one, other in zip(mine, its, strict=True):
            np.testing.assert_array_equal(one, other)
            assert np.shares_memory(found, one) == np.shares_memory(wanted, other)


def test_elements_that_hold_arrays_are_not_chosen() -> None:
    with pytest.raises(CompileError, match="differ in type or shape") as caught:
        jit(lambda x: [(1, x), (2, x[1:])][int(x[0])][1])(X)
    assert "return the index" in str(caught.value)


KEYS = ["one", "two", "three"]


def test_texts_are_chosen_outside() -> None:
    def key(x):
        return KEYS[int(x[1] * 3)]

    def index(x):
        return int(x[1] * 3)

    with pytest.raises(CompileError, match="texts are known only at compile time") as caught:
        jit(key)(X)
    assert "return the index" in str(caught.value)
    assert KEYS[jit(index)(X)] == key(X)


def test_arrays_of_sizes_of_the_run_go_into_one_array() -> None:
    def runs_of(x):
        runs = []
        for v in x:
            if runs and runs[-1][0] == v:
                runs[-1] = (v, runs[-1][1] + 1)
            else:
                runs.append((v, 1))
        return runs

    def decoded(x):
        return np.sum(np.concatenate([np.full(n, v) for v, n in runs_of(x)]) ** 2)

    def decoded_in_place(x):
        out, i = np.zeros_like(x), 0
        for v, n in runs_of(x):
            out[i : i + n] = v
            i = i + n
        return np.sum(out**2)

    x = np.array([2, 2, 7, 3, 3, 3])
    with pytest.raises(CompileError, match="sizes of its arrays") as caught:
        jit(decoded)(x)
    assert "out[i : i + n]" in str(caught.value)
    assert jit(decoded_in_place)(x) == decoded(x)


def test_a_list_of_nested_loops_has_a_length_that_the_arguments_give():
    @jit
    def f(x, n, m):
        found = []
        for i in range(n):
            for _ in range(m):
                found.append(x[0] * i)
        return np.array(found)

    np.testing.assert_array_equal(f(np.ones(2), 3, 2), [0.0, 0.0, 1.0, 1.0, 2.0, 2.0])


def test_lists_of_the_elements_of_arrays() -> None:
    def listed(x):
        rows = x.tolist()
        return rows[1][0] * x[0, 1] + sum(rows[0]), x[0, 0].tolist(), sum(x[x > 2.0].tolist())

    x = np.arange(6.0).reshape(2, 3) + 1.0
    assert jit(listed)(x) == listed(x)
    assert [type(each) for each in jit(listed)(x)[1:]] == [float, float]
    assert np.array_equal(grad(lambda x: listed(x)[0])(x), [[1.0, 5.0, 1.0], [2.0, 0.0, 0.0]])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_pairs_of_arrays_and_numbers_sorted_by_run_time_keys(sign: float) -> None:
    """As objects are drawn from the nearest on: (position, opacity) pairs in the order of the depth."""

    def f(x):
        rows = x[:6].reshape(3, 2)
        image, light = np.zeros(2), 1.0
        for row, (depth, weight) in sorted(
            zip(rows, zip(x[3:6], x[:3], strict=True), strict=True), key=lambda p: p[1][0]
        ):
            image += light * weight * row
            light *= 1.0 - 0.5 * depth
        pairs = [(rows[0], x[0]), (rows[1], x[5])]
        chosen, scale = pairs[int(x[0] > 0.0) - 1]
        chosen *= 2.0  # as in Python, it is that row of x
        return np.sum(image * image) + scale * np.sum(chosen) + np.sum(x)

    x = np.array([0.3, 0.5, 0.7, 0.9, 0.2, 0.6]) * sign
    np.testing.assert_allclose(jit(f)(x.copy()), f(x.copy()), rtol=1e-13)
    slopes = [(f(x + step) - f(x - step)) / 2e-6 for step in 1e-6 * np.eye(6)]
    np.testing.assert_allclose(grad(f)(x.copy()), slopes, rtol=1e-6)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.reshape(2, 3),
        lambda x: x.reshape(3, 2)[::-1].T,
        lambda x: x.reshape(2, 3)[:, ::-1].reshape(2, 3)[::-1],
        lambda x: x[::-1].reshape(3, 2).T[:, :2],
        lambda x: x.reshape(1, 6)[0, 1:5].reshape(2, 2),
    ],
)
def test_written_rows_of_reshaped_views_chosen_at_run_time(view: Callable[[Any], Any]) -> None:
    """The chosen row is a view of a view: its gradient writes through both."""

    def f(x):
        y = view(x)
        rows = [y[0], y[1]]
        chosen = rows[int(x[0] > 0.4)]
        chosen *= 2.0 + x[1]
        y[1, ::2] += chosen[::-2] if len(chosen) == 3 else chosen[1:]
        return np.sum(x**2 * np.arange(6.0)) + np.sum(np.ravel(y) ** 3)

    for first in (0.3, 0.5):
        x = np.array([first, 0.5, 0.7, 0.9, 0.2, 0.6])
        np.testing.assert_allclose(jit(f)(x.copy()), f(x.copy()), rtol=1e-13)
        slopes = [(f(x + step) - f(x - step)) / 2e-6 for step in 1e-6 * np.eye(6)]
        np.testing.assert_allclose(grad(f)(x.copy()), slopes, rtol=1e-6, atol=1e-8)
