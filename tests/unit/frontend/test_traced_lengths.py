"""Slices with starts and lengths known only at run time: NumPy's values, NumPy's side effects, and loops that stay
loops."""

from __future__ import annotations

import copy
import runpy
from typing import Any

import numpy as np
import pytest
from random_slices import program
from run_frontend import call, call_built, compile_for, is_same
from traced_lengths import ALGORITHMS, CORNERS, SPD, X, cholesky, extremes, shifts

from mlirad.dialect.ops.check import CheckFailed
from mlirad.errors import CompileError


def agree(function: Any, *args: Any) -> None:
    """The compiled function returns the same as the plain one, and leaves the same in its arguments."""
    mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
    expected = function(*theirs)
    actual = call(function, *mine)
    assert is_same(actual, expected), (actual, expected)
    for one, other in zip(mine, theirs, strict=True):
        assert is_same(one, other), (one, other)


@pytest.mark.parametrize("function", ALGORITHMS, ids=lambda f: f.__name__)
def test_algorithms_are_those_of_numpy(function):
    agree(function, *ALGORITHMS[function])


@pytest.mark.parametrize("function", ALGORITHMS, ids=lambda f: f.__name__)
def test_algorithms_stay_loops(function):
    """The text of a program does not grow with the size of its arrays."""

    def lines(repeat: int) -> int:
        large = [
            np.pad(arg, [(0, repeat)] * arg.ndim, mode="wrap") if isinstance(arg, np.ndarray) else arg
            for arg in ALGORITHMS[function]
        ]
        return len(str(compile_for(function, *large).module).splitlines())

    assert lines(3) == lines(40)


def test_known_bounds_leave_no_arithmetic():
    """A slice up to the iteration number has that number as its size: no clipping, and no check of sizes."""
    text = str(compile_for(cholesky, SPD).module)
    assert "nd.minimum" not in text and "nd.wrap_index" not in text
    assert "could not" not in text and "do not match" not in text
    assert text.count("nd.extract_slice") == 4 and "tensor<?xf64>" in text


@pytest.mark.parametrize("function", CORNERS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:invalid value", "ignore:Mean of empty", "ignore:Degrees of freedom")
def test_corners_are_those_of_numpy(function):
    """For every length: none, some, all, and more than there are."""
    array = CORNERS[function]
    built = compile_for(function, array, 3)
    for n in (0, 1, 2, 3, 5, len(array), len(array) + 2):
        mine, theirs = array.copy(), array.copy()
        expected = function(theirs, n)
        assert is_same(call_built(built, mine, n), expected), (n, expected)
        assert is_same(mine, theirs), n


@pytest.mark.parametrize("n", [1, 2, 4, 7])
def test_extremes_of_some(n):
    agree(extremes, X[::-1].copy(), n)


@pytest.mark.parametrize("n", [2, 4, 6])
def test_aliases_are_read_before_they_are_written(n):
    agree(shifts, X.copy(), n)


# --- mismatches -------------------------------------------------------------------------------------------------


def adds(x, n):
    return (x[:n] + x[2:]).sum()


def multiplies(m, n):
    return (m[:, :n] @ m[1:]).sum()


def stores(x, n):
    x[:n] = x[:3]


def accumulates(x, n):
    x[:3] += x[:n]


def outlives(x, n):
    return x[:n][2]


def of_nothing(x, n):
    return x[n:].max()


def place_of_nothing(x, n):
    return np.argmin(x[n:])


def largest_of_nothing(x, n):
    return max(x[n:])


MISMATCHES = {
    adds: (X, 5, 3, "ValueError: operands could not be broadcast together with shapes (5,) (3,)"),
    multiplies: (np.ones((5, 5)), 4, 3, "ValueError: np.matmul: the shapes (5,3) and (4,5) do not match"),
    stores: (X, 3, 4, "ValueError: could not broadcast input array from shape (3,) into shape (4,)"),
    accumulates: (X, 3, 2, "ValueError: operands could not be broadcast together with shapes (3,) (2,)"),
    outlives: (X, 3, 2, "IndexError: index 2 is out of bounds for axis 0 with size 2"),
    of_nothing: (X, 6, 7, "ValueError: zero-size array to reduction operation maximum which has no identity"),
    place_of_nothing: (X, 6, 9, "ValueError: attempt to get argmin of an empty sequence"),
    largest_of_nothing: (X, 6, 8, "ValueError: max() or min() of an empty sequence"),
}


@pytest.mark.parametrize("function", MISMATCHES, ids=lambda f: f.__name__)
def test_sizes_that_do_not_match_raise_at_run_time(function):
    """As in NumPy, with both sizes in the message; and no error if they match."""
    array, right, wrong, message = MISMATCHES[function]
    agree(function, array.copy(), right)
    with pytest.raises(CheckFailed) as failure:
        call(function, array.copy(), wrong)
    assert str(failure.value) == message
    with pytest.raises((ValueError, IndexError)):
        function(array.copy(), wrong)


def test_equal_sizes_need_no_check():
    def f(x, n):
        y = x[:n] * 2
        y += x[:n]
        x[:n] = y[::-1] + x[n:][:n] * 0 if False else y[::-1]
        return (y * x[:n]) @ y

    text = str(compile_for(f, X, 3).module)
    assert "broadcast" not in text.replace("nd.broadcast", "") and "do not match" not in text


# --- sizes that must be static ----------------------------------------------------------------------------------


def returned(x, n):
    return x[:n] * 2


def put_together(x, n):
    return np.concatenate([x[:n], x[n:], x[:n]]).sum()


def reshaped(m, n):
    return m[:n].reshape(-1).sum() + m[:n].ravel()[:2].sum()


def zeros(x, n):
    y = np.zeros(len(x[:n]))
    y[:] = x[:n]
    return y


@pytest.mark.parametrize(("function", "array"), [(returned, X), (put_together, X), (reshaped, np.eye(4)), (zeros, X)])
def test_a_shape_that_must_be_static_is_specialised_on(function, array):
    agree(function, array.copy(), 3)
    agree(function, array.copy(), 0)


def test_a_loop_is_unrolled_where_a_shape_must_be_static():
    def f(x):
        total = 0.0
        for k in range(4):
            total += np.concatenate([x[:k], x[k:], x[:k]]).sum()
        return total

    agree(f, X)


def test_arrays_of_lengths_that_depend_on_data_are_joined():
    def f(x):
        return np.concatenate([x[: int(x[0])], x]).sum()

    for first in (0.0, 2.0, 9.0):
        agree(f, np.array([first, 0.5, -1.5]))


def test_two_arrays_of_traced_sizes_may_not_be_written_as_one():
    def f(x, y, n):
        v = x[:n] if n > 2 else y[n:]
        return v.sum()

    def written(x, y, n):
        v = x[:n] if n > 2 else y[n:]
        v += 1.0
        return v.sum()

    def copied(x, y, n):
        v = x[:n].copy() if n > 2 else y[n:].copy()
        v += 1.0
        return v.sum()

    with pytest.raises(
        CompileError, match="either of two arrays here, whose sizes are known only at run time, and one of them"
    ):
        compile_for(written, X, X.copy(), 3)
    for function in (f, copied):
        agree(function, X, X * 2, 1)
        agree(function, X, X * 2, 3)


def test_swapped_arrays_are_sliced_alike():
    def f(x, y, n):
        for k in range(n):
            x, y = y, x
            x[:k] += y[k : 2 * k]
        return x[:n].sum(), y[n:].sum()

    for n in range(5):
        agree(f, X.copy(), X * 2, n)


# --- bounds -----------------------------------------------------------------------------------------------------


def nested(x):
    total = 0.0
    for i in range(len(x)):
        for j in range(i):
            for k in range(j, i):
                total += x[j : k + 1].sum() * x[: i - j].sum() + x[i - k - 1 : i].sum()
    return total


def backwards(x):
    total = 0.0
    for i in range(len(x) - 1, 0, -1):
        for j in range(i - 1, -1, -2):
            total += x[j:i].sum() - x[: i - j].sum()
    return total


def test_bounds_of_nested_loops_are_seen():
    for function in (nested, backwards):
        agree(function, X)
        text = str(compile_for(function, X).module)
        assert "nd.minimum" not in text and "nd.wrap_index" not in text


def test_a_slice_of_one_length_that_fits_is_static():
    def f(x):
        total = 0.0
        for i in range(1, len(x) - 1):
            total += x[i - 1 : i + 2] @ x[i - 1 : i + 2]
        return total

    agree(f, X)
    text = str(compile_for(f, X).module)
    assert "tensor<?" not in text and "elements that starts at" not in text


# --- random programs --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_random_bounds_are_clipped_as_numpy_clips(seed, tmp_path):
    """The interpreter refuses a slice out of range: proofs must be right."""
    path = tmp_path / "program.py"
    path.write_text(program(seed))
    f = runpy.run_path(str(path))["f"]
    try:
        built = compile_for(f, X, 3, 2)
    except CompileError as error:
        assert "known only at run time" in str(error) or "on one path" in str(error) or "before the loop" in str(error)
        return
    for n, m in ((3, 2), (0, 5), (-2, 7), (6, 1)):
        mine, theirs = X.copy(), X.copy()
        expected = f(theirs, n, m)
        own = built if len(built.leaves) == 3 else compile_for(f, mine, n, m)
        try:
            actual = call_built(own, mine, n, m)
        except CheckFailed as failure:
            assert "does not fit in an axis" in str(failure)
            continue
        assert is_same(actual, expected) and is_same(mine, theirs), (n, m)
