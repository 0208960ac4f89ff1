"""Reads and writes of one element of each row: the values of NumPy, derivatives, and the first of several errors."""

from __future__ import annotations

import numpy as np
import pytest

import mlirad

ROWS = 11


def picked(scores, labels):
    shifted = scores - scores.max(axis=1, keepdims=True)
    logs = np.log(np.sum(np.exp(shifted), axis=1))
    return np.mean(logs - shifted[np.arange(len(labels)), labels])


def written(x, v, labels):
    """Replaced and added, in rows and in columns, of fills and of computed arrays, one after the other."""
    rows = np.arange(len(labels))
    hot = np.zeros(x.shape, x.dtype)
    hot[rows, labels] = 1
    y = x * x
    y[rows, labels] += v
    y[rows, labels - 1] = v * hot[:, 0]
    across = np.ones((x.shape[1], x.shape[0]), x.dtype)
    across[labels, rows] = v
    read = (y + 1)[rows, labels], np.stack([y, -y], axis=2)[rows, labels], (-across)[labels, rows] == v
    deep = np.zeros((x.shape[1], 2, x.shape[0]), x.dtype)
    deep[labels, :, rows] = y[:, :2]
    return hot, y, across, deep, *read


CASES = [
    (np.float64, 90, 10),
    (np.float64, 0, 3),
    (np.float32, 1, 2),
    (np.float32, ROWS, 32),
    (np.complex128, ROWS, 4),
    (np.int32, ROWS, 33),
    (np.float64, 5, 70),
]


@pytest.mark.parametrize(("dtype", "rows", "columns"), CASES)
def test_values_are_those_of_numpy(dtype, rows, columns):
    random = np.random.default_rng(rows + columns)
    x, v = random.normal(size=(rows, columns)) * 9, random.normal(size=rows) * 9
    labels = random.integers(-columns + 1, columns, rows)
    args = x.astype(dtype), v.astype(dtype), labels
    for own, expected in zip(mlirad.jit(written)(*args), written(*args), strict=True):
        np.testing.assert_array_equal(own, expected)


def test_other_elements_keep_the_sign_of_zero_and_are_not_multiplied():
    def f(x, v, labels):
        y = -x
        y[np.arange(len(labels)), labels] += v
        return y

    x, v = np.array([[0.0, np.inf, np.nan]] * 2), np.array([np.inf, 1.0])
    own = mlirad.jit(f)(x, v, np.array([0, 1]))
    np.testing.assert_array_equal(own, f(x, v, np.array([0, 1])))
    np.testing.assert_array_equal(np.signbit(own[1]), [True, True, np.signbit(np.negative(np.nan))])


def test_read_elements_keep_the_sign_of_zero_and_ignore_others():
    def f(x, labels):
        return (-x)[np.arange(len(labels)), labels]

    x, labels = np.array([[0.0, np.inf, np.nan]] * 4 + [[-np.inf] * 3]), np.array([0, 1, 2, -3, 1])
    own, expected = mlirad.jit(f)(x, labels), f(x, labels)
    np.testing.assert_array_equal(own, expected)
    np.testing.assert_array_equal(np.signbit(own[:2]), np.signbit(expected[:2]))


def test_derivatives():
    random = np.random.default_rng(5)
    x, v, labels = random.normal(size=(ROWS, 5)), random.normal(size=ROWS), random.integers(0, 5, ROWS)
    mlirad.check_grads(lambda x: picked(x, labels), (x,), order=2)
    mlirad.check_grads(lambda x, v: sum(np.sum(y * np.cos(y)) for y in written(x, v, labels)[:-1]), (x, v), order=1)


@pytest.mark.parametrize(("dtype", "rows"), [(np.float64, 1), (np.float64, 7), (np.float32, 35), (np.int64, 16)])
def test_only_the_chosen_element_is_read(dtype, rows):
    """In vectors and one by one; of arrays with negative strides, too, and at several places of one row."""

    def f(x, y, labels):
        each = np.arange(len(labels))
        z = x - y
        return z[each, labels], z[each, labels - 1], (x * 2)[::-1][each, labels], (-y.T)[labels, each]

    random = np.random.default_rng(rows)
    x, y = ((random.normal(size=(rows, 9)) * 99).astype(dtype) for _ in range(2))
    labels = random.integers(-8, 9, rows)
    for args in ((x, y, labels), (x[::-1], y[:, ::-1], labels)):
        for own, expected in zip(mlirad.jit(f)(*args), f(*args), strict=True):
            np.testing.assert_array_equal(own, expected)


def test_threads_share_the_rows():
    random = np.random.default_rng(2)
    scores, labels = random.normal(size=(20_000, 10)), random.integers(0, 10, 20_000)
    own = mlirad.value_and_grad(picked, parallel=True)(scores, labels)
    np.testing.assert_allclose(own[0], picked(scores, labels), rtol=1e-12)
    np.testing.assert_allclose(own[1], mlirad.grad(picked)(scores, labels), rtol=1e-12)


def test_the_first_wrong_index_is_reported():
    def f(x, i, j):
        y = np.exp(x)
        first = y[np.arange(len(i)), i]
        z = np.sin(y)
        return first + z[j, np.arange(len(j))]

    x, good = np.ones((4, 4)), np.arange(4)
    for i, j, message in ((good, good + 7, "index 7 .* axis 0"), (good + 5, good + 7, "index 5 .* axis 1")):
        with pytest.raises(IndexError, match=message):
            mlirad.jit(f)(x, i, j)


def test_an_error_shows_what_was_written_before_it():
    def f(x, i):
        x *= 2.0
        y = np.exp(x)
        return y[np.arange(len(i)), i]

    x, wrong = np.ones((4, 4)), np.array([0, 1, 2, 7])
    with pytest.raises(IndexError, match="index 7"):
        mlirad.jit(f)(x, wrong)
    np.testing.assert_array_equal(x, np.full((4, 4), 2.0))
