"""Lists that loops append to: arrays that grow. Compared with Python and NumPy, derivatives with differences."""

from __future__ import annotations

import os

import numpy as np
import pytest

import mlirad
from mlirad import grad, jit, jvp
from mlirad.errors import UnsupportedSyntaxError
from mlirad.requests.kinds_of_derivatives import Grad
from mlirad.testing.interpreted import Interpreted

Y = np.array([0.3, 0.5, 0.7])


def known_trips(x, n):
    h = []
    for _ in range(300):
        x = x + 0.01 * np.sin(x)
        h.append(x)
    return np.sum(np.array(h) ** 2) + h[-1] + h[3] + len(h)


def begins_with_one(x, n):
    h = [x]
    for _ in range(n):
        x = x + 0.01 * np.sin(x)
        h.append(x)
    return np.sum(np.array(h) ** 2) + h[-1] + h[0] + len(h)


def under_if(x, n):
    h, small = [], []
    for _ in range(n):
        x = x * 0.9
        if x > 0.2:
            h.append(x)
        else:
            small.append(x)
    s = 0.0
    for a, b in zip(h, small):
        s += a * b
    for i, a in enumerate(reversed(h)):
        s += i * a
    return s + sum(h) + max(small)


def triangle(x, n):
    h, ts = [], []
    for i in range(n):
        for j in range(i):
            x = x + 0.01 * np.sin(x)
            h.append(x * j)
        ts.append((i * 0.1, x))
    s = 0.0
    for t, v in ts:
        s = s + t * v
    return np.sum(np.array(h)) + s + ts[-1][1]


def until(x, n):
    h = []
    while x < 2.0:
        x = x + 0.1 * np.sin(x)
        h.append(x)
        if len(h) > 40:
            break
    return sum(h) + len(h) + np.sum(np.array(h))


def changed_and_popped(x, n):
    h = []
    for _ in range(n):
        x = np.sin(x)
        h.append(x)
    for i in range(n):
        h[i] = h[i] * 2 + h[i - 1]
    while len(h) > 2:
        x = x + h.pop()
    h.append(x)
    return h[0] + h[1] * h[2]


def arrays(y, n):
    h = [y]
    for _ in range(n):
        y = y + 0.1 * np.cos(y)
        h += [y]
    return np.sum(np.array(h)[1:] ** 2) + np.sum(h[-1]) + np.sum(np.stack(h)[0]) + np.sum(sum(h) * y)


def copies(y, n):
    h = []
    z = y.copy()
    for _ in range(n):
        z[0] = z[0] + 0.1 * np.cos(z[1])
        h.append(z.copy())
    return np.sum(np.array(h) * y)


def in_a_dict(y, n):
    log = {"t": [], "y": [y]}
    for i in range(n):
        y = y - 0.1 * y * y
        log["t"].append(i * 0.1)
        log["y"].append(y)
    return np.sum(np.array(log["y"])[:, 1] ** 2) + np.sum(np.array(log["t"]))


def in_a_helper(y, n):
    def record(h, value):
        h.append(np.sin(value))

    h = []
    for i in range(n):
        record(h, y)
        y = y + h[-1]
        if i > 2:
            record(h, y * 2)
    h.append(y)
    s = 0.0
    for k in range(len(h)):
        s = s + np.sum(h[k]) * k
    return s


def rows_of_a_list(y, n):
    h, pairs = [], []
    for i in range(n):
        row = []
        for j in range(3):
            row.append(y[j] * i)
        h.append(np.array(row))
        pairs.append([i * 1.0, y[0]])
        y = y * 0.9
    return np.sum(np.array(h) ** 2) + np.sum(np.array(pairs) ** 2) + pairs[-1][1]


def reads_the_last(y, n):
    h = [y]
    for _ in range(n):
        h.append(h[-1] + 0.1 * np.cos(h[-1]))
    return np.mean(h) + np.max(np.stack(h)) + np.sum(np.concatenate(h))


def of_a_comprehension(x, n):
    return sum([np.sin(x * i) for i in range(n)]) + sum(np.cos(x * i) for i in range(n))


SCALARS = [known_trips, begins_with_one, under_if, triangle, until, changed_and_popped, of_a_comprehension]
ARRAYS = [arrays, copies, in_a_dict, in_a_helper, rows_of_a_list, reads_the_last]


# The gradients of these are compiled in every run; the other gradients are interpreted.
NATIVE = SCALARS + ARRAYS if os.environ.get("MLIRAD_FULL") else [under_if, copies]


def differences(function, x):
    """The slopes of a function of x, by differences."""
    e = 1e-6
    steps = [e] if function in SCALARS else list(e * np.eye(3))
    return [(function(x + step, 7) - function(x - step, 7)) / (2 * e) for step in steps]


@pytest.mark.parametrize("function", SCALARS + ARRAYS)
def test_values_and_derivatives(function) -> None:
    x = 0.3 if function in SCALARS else Y
    assert jit(function)(x, 7) == pytest.approx(function(x, 7), rel=1e-12)
    derivative = grad(function) if function in NATIVE else Interpreted(Grad(function, 0))
    np.testing.assert_allclose(np.atleast_1d(derivative(x, 7)), differences(function, x), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("function", NATIVE)
def test_forward_derivatives(function) -> None:
    x = 0.3 if function in SCALARS else Y

    def forward(x):
        return jvp(lambda z: function(z, 7), (x,), (np.ones(3) if np.ndim(x) else 1.0,))[1]

    assert jit(forward)(x) == pytest.approx(sum(differences(function, x)), rel=1e-5)


def of_trips(x, n):
    h = []
    for _ in range(n):
        x = np.sin(x)
        h.append(x)
    return np.sum(np.array(h) ** 2)


def test_it_is_a_loop_whatever_its_trips() -> None:
    kernel, slope = jit(of_trips), grad(of_trips)
    for n in (3, 1000, 100_000):
        assert kernel(0.3, n) == pytest.approx(of_trips(0.3, n))
    text = kernel.lower(0.3, 3).as_text("tensor")
    assert text.count("scf.for") == 1 and text.count("nd.sin") == 1
    # One kernel for all sizes, with only as much memory as the elements need.
    assert kernel.last_memory() < 2.2 * 8 * 100_000
    memory = []
    for n in (10_000, 20_000):
        slope(0.3, n)
        memory.append(slope.last_memory())
    assert memory[1] < 2.2 * memory[0]


def test_returned_as_lists_and_arrays() -> None:
    def returned(y, n):
        h, pairs = [], []
        for i in range(n):
            y = y * 2.0
            h.append(y)
            pairs.append((i, y[0]))
        return h, pairs, np.array(h)

    found, wanted = jit(returned)(Y, 5), returned(Y, 5)
    assert [type(each) for each in found] == [list, list, np.ndarray]
    np.testing.assert_array_equal(found[0], wanted[0])
    assert found[1] == wanted[1]
    np.testing.assert_array_equal(found[2], wanted[2])
    found[0][0][0] = 7.0  # with arrays of its own
    assert found[0][1][0] == wanted[0][1][0]


def test_errors_of_the_run() -> None:
    def at(x, n, k):
        h = []
        for _ in range(n):
            h.append(x)
        return h[k]

    def popped(x, n):
        h = []
        for _ in range(n):
            if x > 1.0:
                h.append(x)
        return h.pop()

    kernel = jit(at)
    assert [kernel(2.0, 3, k) for k in (0, 2, -1, -3)] == [2.0] * 4
    for k in (3, -4):
        with pytest.raises(IndexError, match="list index out of range"):
            kernel(2.0, 3, k)
    with pytest.raises(IndexError, match="pop from empty list"):
        jit(popped)(0.5, 3)


# Python's list refers to an appended object, so a later write to the object changes the list.


def written_each_trip(y, n):
    h = []
    for _ in range(n):
        h.append(y)
        y[0] = y[0] * 0.99
    return np.sum(np.array(h))


def written_through_the_list(y, n):
    h = []
    for _ in range(n):
        y = y * 0.99
        h.append(y)
    h[-1][0] = 5.0
    return np.sum(np.array(h)) + y[0]


def written_through_a_view(y, n):
    h, z = [], y.copy()
    for _ in range(n):
        v = z[1:]
        h.append(z)
        z = z + 1.0
        v += 1.0
    return np.sum(np.array(h))


def in_a_while(y, n):
    h, z = [], y.copy()
    while z[0] < 3:
        h.append(z)
        z[0] += 1
    return np.sum(np.array(h))


def written_in_a_recursion(y, n):
    def halve(z, k):
        if k < 1.0:
            return 0.0
        z[0] = z[0] * 0.5
        return halve(z, k - 1.0)

    h = []
    for _ in range(n):
        y = y + 1.0
        h.append(y)
        halve(y, y[1])
    return np.sum(np.array(h))


def a_list_in_a_list(y, n):
    h, pair = [], [y[0], y[1]]
    for i in range(n):
        h.append(pair)
        pair[0] = pair[0] + i
    return np.sum(np.array(h))


WRITERS = [written_each_trip, written_through_the_list, written_through_a_view, a_list_in_a_list]


@pytest.mark.parametrize("function", [*WRITERS, in_a_while, written_in_a_recursion])
def test_what_is_written_later_is_refused(function) -> None:
    with pytest.raises(UnsupportedSyntaxError, match="refers to it") as caught:
        jit(function)(Y.copy(), 1000)
    assert "x.copy()" in str(caught.value)
    lines = open(__file__).read().splitlines()
    assert caught.value.location is not None
    assert "=" in lines[caught.value.location.lineno - 1] or "halve" in lines[caught.value.location.lineno - 1]


@pytest.mark.parametrize("function", WRITERS)
def test_few_trips_are_unrolled_for_it(function) -> None:
    assert jit(function)(Y.copy(), 4) == pytest.approx(function(Y.copy(), 4))


def test_elements_of_several_types() -> None:
    def mixed(x, n):
        h = []
        for i in range(n):
            h.append(x)
            h.append(i)
        return h[2], h[3]

    assert jit(mixed)(0.5, 3) == mixed(0.5, 3)
    with pytest.raises(UnsupportedSyntaxError, match="differ in type or shape"):
        jit(mixed)(0.5, 1000)


def test_results_of_a_length_that_only_the_run_knows() -> None:
    def positive(y, n):
        h = []
        for i in range(n):
            if y[i % 3] > 0.4:
                h.append(y[i % 3])
        return np.array(h)

    np.testing.assert_array_equal(mlirad.jit(positive)(Y, 3), positive(Y, 3))


def test_an_empty_list_of_arrays_has_no_shape() -> None:
    def stacked(y, n):
        h = []
        for i in range(n):
            if y[0] > i:
                h.append(y)
        return np.sum(np.array(h))

    assert jit(stacked)(Y, 3) == pytest.approx(stacked(Y, 3))
    with pytest.raises(ValueError, match="is empty"):
        jit(stacked)(-Y, 3)


def test_in_a_recursion_it_is_refused_or_right() -> None:
    def total(n, x):
        if n < 1:
            return x
        h = []
        for i in range(n):
            x = x * 0.5
            h.append(x)
        return sum(h) + total(n - 1, x)

    def passed_on(h, n):
        if n < 1.0:
            return h[0]
        return passed_on(h, n - 1.0)

    def passes(x, n):
        h = []
        for _ in range(300):
            h.append(x)
        return passed_on(h, x)

    assert jit(total)(5, 0.3) == pytest.approx(total(5, 0.3))
    with pytest.raises(UnsupportedSyntaxError, match="a list that a loop fills"):
        jit(passes)(3.0, 1)
    assert mlirad.grad(lambda x: total(3, x))(0.3) == pytest.approx(grad(total, 1)(3, 0.3))


def test_arrays_of_rows_of_several_types() -> None:
    def rows(x, n):
        mixed, narrow, parts = [], [], []
        z = np.array([x, 2 * x])
        for i in range(n):
            x = np.sin(x) if i % 2 else np.sin(x) * 1.0
            mixed.append((0.1 * i, i, x))
            narrow.append([np.float32(x), i > 1])
            parts.append((z * i, z.astype(np.float32)))
        return np.array(mixed), np.array(narrow), np.array(parts)

    for n in (3, 300):
        for found, wanted in zip(jit(rows)(0.3, n), rows(0.3, n), strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found, wanted)


def test_a_loop_that_cannot_be_unrolled_is_refused_for_what_its_list_is_used_for() -> None:
    def turned(y, n):
        h, x = [], y[0]
        while x < 5.0:
            x = x + 0.1
            h.append(x)
            h.reverse()
        return h[0]

    with pytest.raises(UnsupportedSyntaxError, match="changes it in other ways") as caught:
        jit(turned)(Y, 1)
    assert caught.value.location is not None
    assert "while" in open(__file__).read().splitlines()[caught.value.location.lineno - 1]

    def compared(y, n):
        h, x = [], y[0]
        while x < 5.0:
            x = x + 0.1
            h.append(x)
            if h[1:] == [y[1]]:
                x = x + 1.0
        return x

    with pytest.raises(UnsupportedSyntaxError, match="comparing a list") as caught:
        jit(compared)(Y, 1)
    assert caught.value.location is not None
    assert "if h[1:]" in open(__file__).read().splitlines()[caught.value.location.lineno - 1]
