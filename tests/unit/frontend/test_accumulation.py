"""np.add.at and similar, np.copyto, np.put, np.take, take_along_axis, np.ix_; surprising cases of index arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import other_numpys
import pytest
from run_frontend import call, is_same

import mlirad
from mlirad.dialect.ops.check import CheckFailed
from mlirad.errors import CompileError, DTypeError

X = np.arange(5.0) + 1
V = np.array([1.0, 2, 3, 4])
I = np.array([1, 1, 3, -1])
A = np.arange(12.0).reshape(3, 4)


def fresh(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(np.array(x) if isinstance(x, np.ndarray) else x for x in args)


def every_ufunc(x, i, v):
    np.add.at(x, i, v)
    np.subtract.at(x, i, 2)
    np.multiply.at(x, i, v)
    np.maximum.at(x, i, 5 * v)
    np.minimum.at(x, i, 30.0)
    np.divide.at(x, i[:2], 2)
    np.add.at(x, 2, 7.0)
    np.add.at(x, slice(1, 3), 1.0)
    np.add.at(x, x > 10, 0.5)
    np.power.at(x, [0, 0], 2.0)
    return x


def of_two_axes(a, i):
    np.add.at(a, ([0, 0, 2], i[:3]), 1.5)
    np.multiply.at(a, [1, 1], [[2.0], [3.0]])
    np.add.at(a, (slice(None), [0, 0]), 1.0)
    np.maximum.at(a.T, i, 4.5)
    return a.sum()


def of_integers(z, i):
    np.add.at(z, i, 1)
    np.multiply.at(z, i, 2)
    np.add.at(z, i, z[i])
    return z


def of_bools(b, i):
    np.add.at(b, i, True)
    np.logical_or.at(b, i, True)
    return b


def of_unlike_dtypes(x, i, v):
    np.add.at(x, i, v)
    np.multiply.at(x, i, v)
    return x


def takes(x, a, i):
    return (
        np.take(x, i),
        np.take(a, i[:2]),
        np.take(a, [[0, 1], [2, 0]], axis=1),
        a.take(i, 1),
        np.take(x, i * 3, mode="wrap"),
        np.take(x, i * 3, mode="clip"),
        np.take(x, 2),
        x.take([7, -9], mode="wrap"),
        np.take(a, 1, axis=0),
    )


def meshes(a, i):
    k = np.argmax(a, axis=1)
    return (
        np.take_along_axis(a, k[:, None], 1),
        np.take_along_axis(a, np.array([[0], [1], [2]]), axis=1),
        np.take_along_axis(a, i, None),
        a[np.ix_([0, 2], i)],
        a[np.ix_([True, False, True], [1, 2])],
    )


def writers(x, a, i):
    np.copyto(x, 3.0, where=x > 2)
    np.copyto(a[0], [9, 8, 7, 6])
    np.copyto(a, a[0], where=a < 3)
    np.put(a, [0, 5], [-1.0, -2])
    np.put(x, i, 7.0)
    x[1:].fill(2)
    y = x.copy()
    y[i] = 0
    return y


def views_of_views(a, i):
    a[0:2][:, i[:2]] = a[1:, i[2:]].T
    a.T[i[:2]] *= 2
    a[::-1][[0, 1], 1] = 5
    a[[], 0] = 1
    return a[[]], a[:, []], a[[True, False, True]], a[..., [0]], a[[0], None, :, None]


def loops_and_branches(x, i):
    s = 0.0
    for k in range(3):
        if x[k] > 1.5:
            x[i] += k
        else:
            x[i[::-1]] = x[[0, 1, 2, 3]]
        s += x[i].sum()
    return s


def changed(v, i):
    v[i] *= 2
    return v[i]


def helper_and_alias(x, i):
    y = changed(x[1:], i - 1)
    b = x[1:] if y[0] > 3 else y
    b[[0, 0]] = [5.0, 6.0]
    return x, y


def right_side_and_index_first(x, i):
    i[i] = i[::-1]
    x[i] = x[i[::-1]]
    x[i] += x[i] * x[::-1][:4]
    return i


def lengths_of_the_run(x, i, k):
    y = x[i[:k]] * 2
    x[i[:k]] += y
    np.add.at(x, i[:k], 1.0)
    for j in range(1, k):
        v = x[:j]
        v[i % j] += 1
        v[v > 2] *= 0.5
    return y.sum()


Z = np.array([3, 0, 2])
PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (every_ufunc, (X, I, V)),
    (of_two_axes, (A, I)),
    (of_integers, (np.arange(5), I)),
    (of_integers, (np.arange(5, dtype=np.uint8) * 50, I)),
    (of_bools, (np.array([True, False, False, False]), I)),
    (of_unlike_dtypes, (X.astype(np.float32), I, V)),
    (takes, (X, A, I)),
    (meshes, (A, I)),
    (writers, (X, A, I)),
    (views_of_views, (A, I)),
    (loops_and_branches, (X, I)),
    (helper_and_alias, (X, I)),
    (right_side_and_index_first, (X, I)),
    (lengths_of_the_run, (X, I, 3)),
]


@pytest.mark.parametrize(("function", "args"), PROGRAMS, ids=lambda x: getattr(x, "__name__", ""))
def test_is_what_numpy_does(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    if function is right_side_and_index_first and not other_numpys.READS_INDICES_FIRST:
        pytest.skip("a deviation, on this NumPy")
    expected, actual, native = fresh(args), fresh(args), fresh(args)
    want = function(*expected)
    assert is_same(want, call(function, *actual))
    assert is_same(expected, actual)
    assert is_same(want, mlirad.jit(function)(*native))
    assert is_same(expected, native)


@pytest.mark.parametrize(
    ("function", "args", "message"),
    [
        (lambda x, i: np.take(x, i + 3), (X, I), "index 6 is out of bounds for axis 0 with size 5"),
        (lambda x: x[[0, 7]], (X,), "index 7 is out of bounds for axis 0 with size 5"),
        (lambda a, i: a[1, :, None, i], (A.reshape(1, 3, 2, 2)[0], I * 2), "is out of bounds for axis 2 with size 2"),
        (lambda x: np.add.at(x, [7], 1.0), (X,), "index 7 is out of bounds"),
        (lambda x, i: x[i, 0], (X, I), "too many indices for array: array is 1-dimensional, but 2 were indexed"),
        (lambda a, i: a[i[:2], i[:3]], (A, I), "indexing arrays could not be broadcast together"),
        (lambda x, y: x[y], (X, X), "arrays used as indices must be of integer (or boolean) type"),
        (lambda a: a[[True, False]], (A,), "boolean index did not match indexed array along axis 0"),
    ],
)
def test_raises_what_numpy_raises(function: Callable[..., Any], args: tuple[Any, ...], message: str) -> None:
    with pytest.raises(IndexError):
        function(*fresh(args))
    with pytest.raises((CheckFailed, CompileError)) as raised:
        call(function, *fresh(args))
    assert message in str(raised.value)
    with pytest.raises(IndexError, match=r"test_accumulation.py:\d+"):
        mlirad.jit(function)(*fresh(args))


def test_a_failed_check_writes_nothing_outside() -> None:
    def shifted(x, i):
        x[i] = 1.0

    x = np.zeros(10)
    with pytest.raises(IndexError, match="index 12 is out of bounds for axis 0 with size 8"):
        mlirad.jit(shifted)(x[1:9], np.array([2, 12]))
    assert x[0] == x[9] == 0


def test_dtypes_that_do_not_fit() -> None:
    with pytest.raises(DTypeError, match="same_kind"):
        call(lambda z: np.add.at(z, [0], 0.5), np.arange(5))
    with pytest.raises(DTypeError, match="same_kind"):
        call(lambda z: np.copyto(z, np.array([0.5])), np.arange(5))


def test_a_copy_whose_layout_is_not_known_is_not_reshaped_in_place() -> None:
    def columns(a, i):
        b = a[:, i]
        b.reshape(-1)[0] = 9.0
        return b

    with pytest.raises(CompileError, match="depends on the memory layout of the array"):
        call(columns, A.copy(), I)


def test_read_only_arrays_are_not_written() -> None:
    x = X.copy()
    x.flags.writeable = False

    def write(x, i):
        x[i] = 0.0

    with pytest.raises(ValueError, match="read-only"):
        mlirad.jit(write)(x, I)
