"""docs/deviations.md, row by row: where a compiled function differs from the plain one, and derivatives at kinks."""

from __future__ import annotations

import math
import re
import sys
import warnings
from collections import deque
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from scipy import special

import mlirad
from mlirad import nn

DEVIATIONS = Path(__file__).parents[3] / "docs" / "deviations.md"
TESTED: list[str] = []


def row(*starts: str) -> Callable[[Any], Any]:
    """The test belongs to the rows with these beginnings of their first columns."""
    TESTED.extend(starts)
    return lambda test: test


def test_every_row_has_a_test() -> None:
    lines = DEVIATIONS.read_text().splitlines()
    rows = [re.split(r" \| ", line[2:])[0] for line in lines if re.match(r"\| (?!program \||at \|)", line)]
    assert len(rows) > 20
    for each in rows:
        assert sum(each.startswith(start) for start in TESTED) == 1, each
    for start in TESTED:
        assert any(each.startswith(start) for each in rows), start


@row("`1.0 / 0.0`")
def test_python_floats_divide_by_zero_as_numpys() -> None:
    with pytest.raises(ZeroDivisionError):
        (lambda a, b: a / b)(1.0, 0.0)
    assert mlirad.jit(lambda a, b: a / b)(1.0, 0.0) == math.inf
    assert math.isnan(mlirad.jit(lambda a, b: a % b)(1.0, 0.0))
    assert mlirad.jit(lambda a, b: a // b)(-1.0, 0.0) == -math.inf
    assert mlirad.jit(lambda a, b: a**b)(0.0, -1.0) == math.inf
    for power in (-1, 1j):
        with pytest.raises(ZeroDivisionError):
            mlirad.jit(lambda a, b: a**b)(0j, power)  # complex numbers divide as Python's


@row("in `with mlirad.disable_jit():`")
def test_derivatives_op_by_op_are_not_lost_in_other_files() -> None:
    outside = np.zeros(3)

    def stores(x):
        outside[0] = x
        return outside[0] * x

    for function, error in ((lambda x: sys.modules["math"].sin(x), TypeError), (stores, (TypeError, ValueError))):
        assert np.isfinite(function(0.5))
        with mlirad.disable_jit():
            assert mlirad.jit(function)(0.5) == function(0.5)
            with pytest.raises(error):
                mlirad.grad(function)(0.5)


@row("`print(a, b)`")
def test_a_print_is_one_write(monkeypatch: pytest.MonkeyPatch) -> None:
    class Writes(list[str]):
        write = list.append

    for function, count in ((lambda x: print(x, "and", x), 6), (mlirad.jit(lambda x: print(x, "and", x)), 1)):
        monkeypatch.setattr(sys, "stdout", writes := Writes())
        function(1.5)
        assert "".join(writes) == "1.5 and 1.5\n" and len(writes) == count


@row("`math.sqrt(-1.0)`")
def test_math_gives_nan_and_inf_as_numpy() -> None:
    assert math.isnan(mlirad.jit(lambda x: math.sqrt(x))(-1.0))
    assert mlirad.jit(lambda x: math.log(x))(0.0) == -math.inf


@row("with NumPy before 2.3")
def test_results_that_numpy_has_changed() -> None:
    def changed(x, i):
        i[i] = i[::-1]
        return x ** np.int8(2), np.cov(x[None], rowvar=False), np.float64(x[:1])

    x, i = np.array([3, 4], np.uint8), np.array([1, 1, 3, -1])
    square, covariance, number = mlirad.jit(changed)(x, i)
    assert square.dtype == np.int16 and i.tolist() == [1, 3, 3, 1]
    assert covariance.shape == (2, 2) and np.shape(number) == (1,)


@row("`(-2.0) ** 0.5`")
def test_a_power_of_floats_is_never_complex() -> None:
    assert isinstance((lambda x, y: x**y)(-2.0, 0.5), complex)
    assert math.isnan(mlirad.jit(lambda x, y: x**y)(-2.0, 0.5))
    assert mlirad.jit(lambda x: x + (-2.0) ** 0.5)(1.0) == 1.0 + (-2.0) ** 0.5  # known while compiling


@row("`1e308 ** 2`")
def test_floats_overflow_as_numpys() -> None:
    with pytest.raises(OverflowError):
        (lambda x: x**2)(1e308)
    assert mlirad.jit(lambda x: x**2)(1e308) == mlirad.jit(lambda x: math.exp(x))(1000.0) == math.inf
    with pytest.raises(OverflowError):
        mlirad.jit(lambda x: x + math.exp(1000.0))(1.0)
    with pytest.raises(OverflowError):
        mlirad.jit(lambda x: x + 1e308**2)(1.0)


@row("`x.astype(np.uint32)`")
def test_floats_beyond_uint32_are_cast_alike_everywhere() -> None:
    kernel = mlirad.jit(lambda x: x.astype(np.uint32))
    for number, wanted in ((1e10, 1410065408), (-1e10, 2884901888), (1e20, 0), (-1e20, 0), (math.nan, 0)):
        for length in (1, 2, 3, 4, 7, 8, 15, 16, 17, 33):
            np.testing.assert_array_equal(kernel(np.full(length, number)), wanted)
        assert kernel(np.float64(number)) == wanted


def joined(x, flag):
    m = 3
    if flag:
        m = x[0]
    return m


@row("a number that is Python's on one path")
def test_a_joined_number_is_returned_as_numpys() -> None:
    x = np.array([2**62])
    assert type(joined(x, False)) is int and type(mlirad.jit(joined)(x, False)) is np.int64
    assert mlirad.jit(joined)(x, False) == 3


@row("arithmetic of such a number")
def test_a_joined_number_does_not_wrap() -> None:
    def scaled(x, flag, by):
        return joined(x, flag) * by, joined(x, flag) // (by - 4)

    x = np.array([2**62])
    with np.errstate(all="ignore"):
        assert scaled(x, True, 4) == (0, 0)
    with pytest.raises(OverflowError):
        mlirad.jit(scaled)(x, True, 4)
    with pytest.raises(ZeroDivisionError):
        mlirad.jit(scaled)(np.array([1]), True, 4)
    assert mlirad.jit(scaled)(x, False, 5) == (15, 3)

    def stored(x, flag):
        b = np.zeros(1, np.uint8)
        b[0] = joined(x, flag) - 4
        return b[0]

    assert stored(np.array([2]), True) == 254 and mlirad.jit(stored)(np.array([7]), True) == 3
    with pytest.raises(OverflowError, match="out of bounds for uint8"):
        stored(np.array([2]), False)
    for flag in (True, False):
        with pytest.raises(OverflowError, match="out of bounds for uint8"):
            mlirad.jit(stored)(np.array([2]), flag)

    def times(x, n, by):
        s = 0.0
        for i in range(n):
            s += x[i]
        return s * by

    one = np.ones(2, np.float32)
    assert times(one, 0, 1e300) == 0.0 and mlirad.jit(times)(one, 2, 1e300) == math.inf
    with pytest.raises(OverflowError):
        mlirad.jit(times)(one, 0, 1e300)
    assert type(times(one, 0, 2.0)) is float and type(mlirad.jit(times)(one, 0, 2.0)) is np.float32


@row("`np.minimum`, `np.maximum` of 0.0")
def test_minus_zero_is_the_smaller_zero() -> None:
    kernel = mlirad.jit(lambda x, y: (np.minimum(x, y), np.maximum(x, y)))
    for dtype, length in ((np.float64, 1), (np.float64, 7), (np.float32, 16)):
        zeros, negative = np.zeros(length, dtype), np.full(length, -0.0, dtype)
        for smaller, larger in (kernel(zeros, negative), kernel(negative, zeros)):
            assert np.signbit(smaller).all() and not np.signbit(larger).any()


@row("`a / b` of Python ints")
def test_quotients_of_large_ints_are_rounded_twice() -> None:
    a, b = 2**53 + 1, 3
    assert mlirad.jit(lambda a, b: a / b)(a, b) == float(a) / float(b) != a / b


@row("Python ints beyond")
def test_python_integers_do_not_grow() -> None:
    with pytest.raises(OverflowError, match=r"the Python integer 4611686018427387904 \* 4 does not fit in 64 bits"):
        mlirad.jit(lambda n: n * 4)(2**62)
    assert mlirad.jit(lambda n: n * 4)(np.int64(2**62)) == 0


@row("`x[:n] + y[:m]`")
def test_a_traced_size_that_is_1_is_not_stretched() -> None:
    def add(x, n, m):
        return (x[:n] + x[:m]).sum()

    x = np.arange(4.0)
    assert mlirad.jit(add)(x, 3, 3) == add(x, 3, 3) and add(x, 3, 1) == 3.0
    with pytest.raises(ValueError, match=r"could not be broadcast together with shapes \(3,\) \(1,\)"):
        mlirad.jit(add)(x, 3, 1)
    assert mlirad.jit(lambda x, n: (x[:n] + x[:1]).sum())(x, 3) == 3.0

    def assign(x, y, n, m):
        x[:n] = y[:m]
        return x[0]

    assert assign(x.copy(), x, 3, 1) == 0.0
    with pytest.raises(ValueError, match=r"test_deviations.py:(.|\n)*could not .*broadcast"):
        mlirad.jit(assign)(x.copy(), x, 3, 1)


@row("`x[m] * y[k]`")
def test_a_selection_of_one_element_is_not_stretched() -> None:
    def multiply(x, t):
        return (x[x > 0] * x[x > t]).sum()

    def assign(x, t):
        x[x > 0] = x[x > t]
        return x[1]

    def index(x, t):
        return np.outer(x, x)[x > 0, x > t].sum()

    x = np.arange(4.0)
    for function, error in ((multiply, ValueError), (assign, ValueError), (index, IndexError)):
        assert mlirad.jit(function)(x.copy(), 0.0) == function(x.copy(), 0.0)
        assert function(x.copy(), 2.0) in (18.0, 3.0)
        with pytest.raises(error, match=r"test_deviations.py:(.|\n)*(\(3,\) \(1,\)|1 input values to the 3 output)"):
            mlirad.jit(function)(x.copy(), 2.0)
    assert mlirad.jit(lambda x: (x[x > 0] * x[x > 2][0]).sum())(x) == 18.0


@row("`x[i:i+3]`")
def test_a_slice_of_one_length_is_not_shortened() -> None:
    def three(x, i):
        return x[i : i + 3].sum()

    x = np.arange(5.0)
    assert mlirad.jit(three)(x, 2) == three(x, 2) == 9.0 and three(x, 3) == 7.0
    with pytest.raises(ValueError, match="a slice of 3 elements that starts at 3 does not fit in an axis of 5"):
        mlirad.jit(three)(x, 3)


@row("recursion deeper")
def test_recursion_is_as_deep_as_the_stack() -> None:
    def count(n):
        return 0.0 if n == 0 else 1.0 + count(n - 1)

    with pytest.raises(RecursionError):
        count(2 * sys.getrecursionlimit())
    assert mlirad.jit(lambda n: count(n))(2 * sys.getrecursionlimit()) == 2 * sys.getrecursionlimit()
    with pytest.raises(RecursionError):
        mlirad.jit(lambda n: count(n))(-1)


@row("`range(a, b)`")
def test_ranges_are_of_64_bits() -> None:
    def f(a, b):
        k = 0
        for _ in range(a, b):
            k += 1
        return k

    assert f(1, -(2**63)) == 0
    with pytest.raises(OverflowError, match="the length of a range does not fit in 64 bits"):
        mlirad.jit(f)(1, -(2**63))


@row("`np.empty(n)`")
def test_empty_is_zeros() -> None:
    np.testing.assert_array_equal(mlirad.jit(lambda x: np.empty(3) + x)(1.0), [1.0, 1.0, 1.0])


@row("`x[1:5] = x[0:8:2]`")
def test_the_right_side_is_read_first() -> None:
    @mlirad.jit
    def f(x):
        x[1:5] = x[0:8:2]
        return x * 1

    np.testing.assert_array_equal(f(np.arange(8.0)), [0, 0, 2, 4, 6, 5, 6, 7])


@row("a number that is an int on one path")
def test_a_carried_integer_that_becomes_float_is_float_also_after_zero_trips() -> None:
    def f(x, n):
        s = 0
        for i in range(n):
            s += x[i]
        return s

    plain, compiled = f(np.ones(3), 0), mlirad.jit(f)(np.ones(3), 0)
    assert plain == compiled == 0
    assert isinstance(plain, int)
    assert isinstance(compiled, float)


def test_a_carried_bool_that_becomes_an_int_is_an_int_also_after_zero_trips() -> None:
    def f(s, n):
        while n > 0:
            s += 1
            n -= 1
        return s

    assert f(True, 0) is True
    compiled = mlirad.jit(f)(True, 0)
    assert type(compiled) is int
    assert compiled == 1


@row("an argument that is written and overlaps")
def test_overlaps_of_which_none_is_a_view_of_the_other() -> None:
    def f(x, y):
        x[0] = y.sum()

    base = np.arange(5.0)
    f(base[1:], base[:-1])
    assert base[1] == 6.0
    with pytest.raises(ValueError, match="pass a copy of one of them"):
        mlirad.jit(f)(base[1:], base[:-1])


@row("what an object of another class")
def test_what_other_objects_hold_is_not_read() -> None:
    queue = deque([2.0])
    with pytest.raises(mlirad.CompileError, match=r"test_deviations.py:(.|\n)*may change between calls"):
        mlirad.jit(lambda x: x * queue[0])(1.0)


@cache
def ones(n):
    return np.ones(n)


@row("a function with `functools.cache`")
def test_cached_functions_are_computed_and_their_arrays_read_only() -> None:
    np.testing.assert_array_equal(mlirad.jit(lambda x: x * ones(3))(2.0), np.full(3, 2.0))

    def writes(x):
        y = ones(3)
        y += x
        return y

    with pytest.raises(ValueError, match="assignment destination is read-only"):
        mlirad.jit(writes)(1.0)


@row("`(nan,) == (nan,)`")
def test_a_carried_nan_is_not_known_to_be_one_object() -> None:
    def one(x, y, n):
        kept = y if n > 5 else x
        return (kept,) == (x,)

    assert one(math.nan, 1.0, 3) is True
    assert mlirad.jit(one)(math.nan, 1.0, 3) is False
    assert mlirad.jit(one)(1.5, 1.0, 3) is True


@row("subclasses of `ndarray`")
def test_subclasses_of_arrays_are_refused() -> None:
    masked = np.ma.masked_array([1.0, 2.0], [False, True])
    assert masked.sum() == 1.0
    with pytest.raises(TypeError, match="a subclass of ndarray"):
        mlirad.jit(lambda x: x.sum())(masked)


@row("an argument whose own elements overlap")
def test_an_array_with_elements_that_are_one_is_not_written() -> None:
    def f(x, c):
        if c > 0:
            x[0] += 1.0
        return x.sum()

    repeated = as_strided(np.zeros(1), (3,), (0,))
    for c in (-1, 1):
        assert f(repeated, c) == (3.0 if c > 0 else 0.0)
        with pytest.raises(ValueError, match="some of its elements share memory; copy it first"):
            mlirad.jit(f)(repeated, c)


@row("two arguments that are the same memory")
def test_which_of_two_arguments_is_returned() -> None:
    def f(x, y):
        x[0] = 5.0
        return y

    base = np.arange(3.0)
    again = base[:]
    assert f(base, again) is again
    found = mlirad.jit(f)(base, again)
    assert (found is base or found is again) and found[0] == 5.0


@row("a list, dict or dataclass of the caller that a call has changed before")
def test_containers_are_as_they_were_after_an_exception() -> None:
    def f(d, x):
        d["n"] = 2.0
        d["x"][0] = 5.0
        if x > 0:
            raise ValueError("stop")
        return x

    for function, n in ((f, 2.0), (mlirad.jit(f), 1.0), (mlirad.grad(f, 1), 1.0)):
        d = {"n": 1.0, "x": np.zeros(2)}
        with pytest.raises(ValueError, match="stop"):
            function(d, 1.0)
        assert d["n"] == n and d["x"][0] == 5.0


@row("an array that a differentiated function writes, and that shares memory")
def test_a_differentiated_function_writes_separate_arrays() -> None:
    def f(x, y):
        x[0] = 5.0
        return np.sum(x * y)

    x = np.arange(3.0)
    with pytest.raises(mlirad.DifferentiationError, match="shares memory"):
        mlirad.grad(f)(x, x)
    assert f(x, x) == 30.0


@row("a list, dict or dataclass that is passed twice")
def test_a_list_that_is_changed_is_passed_once() -> None:
    def f(p, q):
        p[0] = p[1] * 2
        return q[0]

    both = [1.0, 3.0]
    with pytest.raises(ValueError, match="a list in argument 1 is passed twice"):
        mlirad.grad(f)(both, both)
    assert mlirad.grad(f, 1)(both, [1.0, 3.0]) == [1.0, 0.0]
    assert f(both, both) == 6.0


@row("a returned view of a new array")
def test_a_view_of_a_new_array_stands_for_itself() -> None:
    def f(x):
        return (x * 2)[::2]

    x = np.arange(5.0)
    assert f(x).base is not None and f(x).strides == (16,)
    found = mlirad.jit(f)(x)
    assert found.strides == (8,)
    np.testing.assert_array_equal(found, f(x))


def written_in_place(x, y, n):
    for i in range(n):
        x[i] *= 2.0
        if x[i] < 0.0:
            x[i:] = x[::-1][i:]
    return x[n] + y[0]


def written_and_replaced(x, y, n):
    x *= 2.0
    trips = 0
    while trips < n:
        trips += 1
        x = np.zeros_like(x)
    return x.copy(), x[n] + y[0]


def written_until_now(x, y, n):
    x[0] = 5.0
    if n > 2:
        raise IndexError("too many")
    x[0] = y[0]


def replaced_and_written(x, y, n):
    for i in range(n):
        if i == 1:
            x = x.copy()
        x[i] = -y[i]
    return x[n]


@row("the arrays that a call writes, after")
@pytest.mark.parametrize(
    ("f", "is_numpys"),
    [
        (written_in_place, True),
        (written_and_replaced, True),
        (written_until_now, False),
        (replaced_and_written, False),
    ],
)
def test_what_is_written_before_an_exception(f, is_numpys) -> None:
    """Either the same as NumPy's, or known not to be: then the row of the page is still needed."""
    theirs, mine = np.array([1.0, -2.0, 3.0]), np.array([1.0, -2.0, 3.0])
    other = np.array([7.0, 8.0, 9.0])
    with pytest.raises(IndexError):
        f(theirs, other, 3)
    with pytest.raises(IndexError):
        mlirad.jit(f)(mine, other, 3)
    assert np.array_equal(mine, theirs) == is_numpys
    assert set(mine) <= {*theirs, 1.0, -2.0, 3.0, *-other}
    np.testing.assert_array_equal(other, [7.0, 8.0, 9.0])


@row("warnings")
def test_no_warnings() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(mlirad.jit(lambda x: 1 / x)(np.zeros(2)), [np.inf, np.inf])
        assert mlirad.jit(lambda x: (warnings.warn(f"{x}"), x[0]))(np.ones(2)) == (None, 1.0)


@row("a returned new array that lies in another order")
def test_returned_new_arrays_are_c_contiguous() -> None:
    def f(x):
        y = x.copy(order="F")
        return y, y.flags.f_contiguous, np.ravel(y, "K")

    x = np.arange(6.0).reshape(2, 3)
    (found, is_fortran, line), wanted = mlirad.jit(f)(x), f(x)
    assert wanted[0].flags.f_contiguous and found.flags.c_contiguous and is_fortran
    np.testing.assert_array_equal(found, wanted[0])
    np.testing.assert_array_equal(line, wanted[2])


@row("a `with` block")
def test_an_exception_leaves_a_block_at_once() -> None:
    class Held:
        def __init__(self, x):
            self.x = x

        def __enter__(self):
            self.x[0] = 1.0

        def __exit__(self, kind, error, trace):
            self.x[0] = 2.0

    def f(x, k):
        with Held(x):
            return x[k]

    for function, left in ((f, 2.0), (mlirad.jit(f), 1.0)):
        x = np.zeros(2)
        with pytest.raises(IndexError):
            function(x, 5)
        assert x[0] == left


@row("`raise ... from error`")
def test_errors_have_no_cause() -> None:
    def f(x):
        try:
            raise ValueError("a")
        except ValueError as error:
            raise KeyError("b") from error

    with pytest.raises(KeyError) as plain:
        f(1.0)
    with pytest.raises(KeyError) as compiled:
        mlirad.jit(f)(1.0)
    assert isinstance(plain.value.__cause__, ValueError) and isinstance(plain.value.__context__, ValueError)
    assert compiled.value.__cause__ is None and compiled.value.__context__ is None


@row("sums")
def test_sums_repeat_to_the_bit() -> None:
    x = np.random.default_rng(0).normal(size=1003)
    kernel = mlirad.jit(lambda x: np.sum(x))
    assert len({kernel(x.copy()) for _ in range(5)}) == 1
    assert kernel(x) == pytest.approx(np.sum(x), rel=1e-13)


@row("`x.sum(axis=0)` of float16")
def test_sums_of_halves_are_rounded_once() -> None:
    x = np.random.default_rng(0).normal(size=(500, 3)).astype(np.float16)
    found, wanted = mlirad.jit(lambda x: x.sum(axis=0))(x), x.astype(np.float32).sum(axis=0).astype(np.float16)
    np.testing.assert_array_equal(found, wanted)
    assert np.any(found != x.sum(axis=0))


@row("`np.searchsorted(a, v)`")
@pytest.mark.parametrize("length", [1, 2, 3, 5, 8, 21])
def test_places_among_numbers_that_are_not_sorted_are_in_the_array(length: int) -> None:
    rng = np.random.default_rng(length)
    a, v = rng.normal(size=length), np.append(rng.normal(size=40), [np.inf, -np.inf, np.nan])
    for side in ("left", "right"):
        known = mlirad.jit(lambda a, v, side=side: np.searchsorted(a, v, side))(a, v)
        traced = mlirad.jit(lambda a, v, n, side=side: np.searchsorted(a[:n], v, side))(a, v, length)
        assert all(np.all((places >= 0) & (places <= length)) for places in (known, traced))
    assert np.isfinite(mlirad.jit(np.interp)(v[:40], a, np.arange(float(length)))).all()


@row("`special.ive(n, x)`")
def test_scaled_bessel_functions_of_large_numbers_have_values() -> None:
    x = np.array([2.0**32, 1e30, np.inf])
    found = mlirad.jit(lambda x: special.ive(2, x))(x)
    np.testing.assert_allclose(found, 1.0 / np.sqrt(2.0 * np.pi * x), rtol=1e-8)  # DLMF 10.40.1


@row("`np.partition`")
def test_partitions_are_sorted() -> None:
    x = np.random.default_rng(0).normal(size=50)
    found = mlirad.jit(lambda x: np.partition(x, 20))(x)
    np.testing.assert_array_equal(found, np.sort(x))
    assert found[20] == np.partition(x, 20)[20]


@row("`np.arctan2.reduce(x)`")
def test_ufuncs_reduce_by_all_elements_in_turn() -> None:
    x = np.array([3.0, 2.0, 4.0])
    assert np.isclose(mlirad.jit(lambda x: np.arctan2.reduce(x))(x), np.arctan2(np.arctan2(3.0, 2.0), 4.0))
    assert mlirad.jit(lambda x: np.power.reduce(x))(x) == (3.0**2.0) ** 4.0


@row("`np.dot(a, x)`")
def test_a_product_with_the_number_0_is_that_of_its_elements() -> None:
    a, x = np.array(0.0), np.array([[np.inf, 1.0]])
    assert not np.any(np.isnan(np.dot(a, x)))
    np.testing.assert_array_equal(mlirad.jit(lambda a, x: np.dot(a, x))(a, x), [[np.nan, 0.0]])


@row("`np.sum(a, out=o)`")
def test_a_number_gives_its_out() -> None:
    out = np.empty(())
    assert isinstance(np.sum(np.float64(0.5), out=out), np.float64)
    assert mlirad.jit(lambda a, o: np.sum(a, out=o))(np.float64(0.5), out) is out and out == 0.5


@row("`sorted(x)`")
def test_nan_comes_last() -> None:
    x = np.array([2.0, np.nan, 1.0])
    np.testing.assert_array_equal(mlirad.jit(lambda x: sorted(x))(x), np.sort(x))
    assert not np.array_equal(sorted(x), np.sort(x), equal_nan=True)


@row("`sort` of equal elements")
def test_tied_elements_are_sorted_by_their_places() -> None:
    x, w = np.array([1.0, 0.0, 1.0, 0.0]), np.array([1.0, 2.0, 3.0, 4.0])
    gradient = mlirad.grad(lambda x: np.sum(np.sort(x) * w))(x)
    np.testing.assert_array_equal(gradient, [3.0, 1.0, 4.0, 2.0])


@row("`hypot(x, y)` at 0", "`x ** y` at x = 0", "Python's `max(x, y)`", "`interp` at a point")
@row("`abs` at 0", "`maximum(x, y)`", "`sqrt`, `log`, `1 / x` at 0, `std`", "`x ** n` at 0", "`floor_divide`")
@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lambda x: np.abs(x), 0.0, 0.0),
        (lambda x: np.sign(x) * x, 0.0, 0.0),
        (lambda x: np.maximum(x, 1.0), 1.0, 0.5),
        (lambda x: np.minimum(2.0, x), 2.0, 0.5),
        (lambda x: np.sqrt(x), 0.0, math.inf),
        (lambda x: np.log(x), 0.0, math.inf),
        (lambda x: np.std(np.array([x])), 2.0, 0.0),
        (lambda x: np.arcsin(x), 1.0, math.inf),
        (lambda x: np.hypot(x, 2.0 * x), 0.0, 0.0),
        (lambda x: np.power(0.0, x), 0.0, 0.0),
        (lambda x: max(2.0 * x, 3.0 * x), 0.0, 2.0),
        (lambda x: np.clip(x, 0.0, 2.0), 2.0, 0.5),
        (lambda x: np.interp(x, [0.0, 1.0, 3.0], [0.0, 2.0, 3.0]), 1.0, 0.5),
        (lambda x: np.interp(x, [0.0, 1.0, 3.0], [0.0, 2.0, 3.0]), 3.0, 0.5),
        (lambda x: 1 / x, 0.0, -math.inf),
        (lambda x: x**1, 0.0, 1.0),
        (lambda x: x**2, 0.0, 0.0),
        (lambda x: x**3, -2.0, 12.0),
        (lambda x: x**0, 0.0, 0.0),
        (lambda x: np.power(x, 12.0), 0.0, 0.0),
        (lambda x: np.floor_divide(x, 2.0) + x, 3.0, 1.0),
        (lambda x: (x >= 3.0) * x + (x == 3.0), 3.0, 1.0),
        (lambda x: int(x) + 2.0 * x, 3.0, 2.0),
        (lambda x: np.float64(np.int32(x)) * x, 3.0, 3.0),
        (lambda x: np.where(x > 0, np.sqrt(x), 0.0), 0.0, 0.0),
        (lambda x: np.where(x > 1, np.log(x), x), 0.0, 1.0),
    ],
)
def test_derivatives_where_they_are_not_defined(f, x, expected) -> None:
    assert mlirad.grad(f)(x) == expected
    assert mlirad.jvp(f, (x,), (1.0,))[1] == expected


@row("an exactly zero")
def test_a_zero_cotangent_annihilates_an_infinite_factor() -> None:
    assert mlirad.grad(lambda x: 0.0 * np.sqrt(x))(0.0) == 0.0
    assert mlirad.jvp(lambda x, y: np.sqrt(x) + y, (0.0, 1.0), (0.0, 1.0))[1] == 1.0


@row("an infinite cotangent")
def test_a_factor_0_does_not_mask_what_is_infinite() -> None:
    assert math.isnan(mlirad.grad(lambda x: np.sqrt(x * x))(0.0))
    product, choice = lambda x: (x > 0.0) * np.sqrt(x), lambda x: np.where(x > 0.0, np.sqrt(x), 0.0)
    assert math.isnan(mlirad.jvp(product, (0.0,), (1.0,))[1]) and mlirad.grad(product)(0.0) == 0.0
    assert mlirad.jvp(choice, (0.0,), (1.0,))[1] == mlirad.grad(choice)(0.0) == 0.0


@row("what no output needs")
def test_what_no_output_needs_is_not_multiplied() -> None:
    f = mlirad.grad(lambda x: np.sum(np.where(x > 0, x * np.log(x), 0.0)))
    np.testing.assert_array_equal(f(np.array([0.0, 1.0])), [0.0, 1.0])
    g = mlirad.grad(lambda x: np.sum((x * np.log(x))[1:]))
    np.testing.assert_array_equal(g(np.array([0.0, 1.0])), [0.0, 1.0])


@row("a matrix product or `einsum` of an exactly zero tangent")
def test_a_zero_tangent_times_an_infinite_factor_is_0_or_nan() -> None:
    x, w = np.ones((3, 4)), np.full((4, 5), np.inf)
    value, tangent = mlirad.jvp(lambda x, w: x @ w, (x, w), (np.zeros((3, 4)), np.zeros((4, 5))))
    assert np.isinf(value).all() and ((tangent == 0.0) | np.isnan(tangent)).all()


@row("a matrix product or `einsum` with infinite")
def test_a_matrix_product_that_is_masked_afterwards() -> None:
    a, valid = np.array([[np.nan, 1.0], [2.0, 3.0]]), np.array([False, True])
    after = mlirad.grad(lambda w, a, valid: np.sum(np.where(valid, a @ w, 0.0)))
    assert np.isnan(after(np.ones(2), a, valid)).any()
    before = mlirad.grad(lambda w, a, valid: np.sum(np.where(valid, np.where(valid[:, None], a, 0.0) @ w, 0.0)))
    np.testing.assert_array_equal(before(np.ones(2), a, valid), [2.0, 3.0])


@row("`max`, `min` of several")
@pytest.mark.parametrize("reduce", [np.max, np.min])
def test_tied_elements_share_the_cotangent(reduce) -> None:
    f = mlirad.grad(lambda x: 3.0 * reduce(x))
    np.testing.assert_allclose(f(np.array([2.0, 2.0, 2.0])), [1.0, 1.0, 1.0])
    extreme = 5.0 if reduce is np.max else -5.0
    np.testing.assert_allclose(f(np.array([extreme, 2.0, extreme])), [1.5, 0.0, 1.5])


@row("`raise ValueError(f")
def test_a_message_has_room_for_two_numbers() -> None:
    def refuse(x, a, b, c):
        raise ValueError(f"{x} {a} {b} {c}")

    args = (np.arange(2.0), 1, 2.5, 3)
    with pytest.raises(ValueError, match=r"^\[0. 1.\] 1 2.5 3$"):
        refuse(*args)
    with pytest.raises(ValueError, match=r": \{x\} 1 2.5 \{c\}"):
        mlirad.jit(refuse)(*args)


@row("an argument that is no array but stands for one")
def test_what_stands_for_an_array_is_the_array() -> None:
    class Doubled:
        def __init__(self, array):
            self.__array_interface__ = array.__array_interface__
            self.array = array

        def __mul__(self, other):
            return 2 * self.array * other

    def tripled(x):
        return x * 3.0

    x = np.arange(3.0)
    assert np.array_equal(tripled(Doubled(x)), 6 * x) and np.array_equal(mlirad.jit(tripled)(Doubled(x)), 3 * x)


def filled(y, n):
    xs = []
    for _ in range(n):
        xs.append(y)
    return xs


@row("`np.array(xs)`, `np.sum(xs)`")
def test_an_empty_list_that_a_loop_fills_has_no_shape() -> None:
    def total(y, n):
        return np.sum(np.array(filled(y, n)))

    assert mlirad.jit(total)(np.ones(2), 3) == 6.0
    with pytest.raises(ValueError, match="is empty"):
        mlirad.jit(total)(np.ones(2), 0)


@row("the floats in a list that loops fill")
def test_the_floats_in_a_filled_list_are_of_one_class() -> None:
    def waves(x, n):
        h = [x]
        for _ in range(n):
            h.append(np.sin(h[-1]))
        return h

    assert [type(each) for each in waves(0.5, 2)] == [float, np.float64, np.float64]
    found = mlirad.jit(waves)(0.5, 2)
    assert [type(each) for each in found] == [np.float64] * 3
    assert found == pytest.approx(waves(0.5, 2))


@row("the arrays in a returned list")
def test_the_arrays_in_a_filled_list_are_new() -> None:
    y = np.ones(2)
    assert filled(y, 3)[0] is y
    found = mlirad.jit(filled)(y, 3)
    np.testing.assert_array_equal(found, filled(y, 3))
    assert found[0] is not y and found[0] is not found[1]


@row("`z * w` of complex arrays")
def test_complex_products_are_rounded_twice() -> None:
    rng = np.random.default_rng(0)
    z, w = (rng.normal(size=50) + 1j * rng.normal(size=50) for _ in range(2))
    found = mlirad.jit(lambda z, w: z * w)(z, w)
    assert np.array_equal(np.real(found), np.real(z) * np.real(w) - np.imag(z) * np.imag(w))
    np.testing.assert_allclose(found, z * w, rtol=1e-15)


@row("`np.linalg.eig(x)`")
def test_eigenvalues_are_complex() -> None:
    x = np.array([[2.0, 1.0], [0.5, 1.0]])
    values, vectors = mlirad.jit(lambda x: np.linalg.eig(x))(x)
    assert values.dtype == vectors.dtype == mlirad.jit(lambda x: np.linalg.eigvals(x))(x).dtype == np.complex128
    wanted = np.linalg.eig(x)
    assert wanted[0].dtype == np.float64
    np.testing.assert_array_equal(values, wanted[0])
    np.testing.assert_array_equal(vectors, wanted[1])


@row("complex vectors of `np.linalg.eigh`")
def test_complex_vectors_do_not_turn() -> None:
    x = np.array([[2.0, 0.5 - 1j], [0.5 + 1j, 1.0]])
    tangent = np.array([[0.5, 1j], [-1j, 2.0]])
    (_, vectors), (_, moved) = mlirad.jvp(lambda x: tuple(np.linalg.eigh(x)), (x,), (tangent,))
    np.testing.assert_allclose(np.sum(vectors.conj() * moved, 0), 0.0, atol=1e-15)
    (_, _, right), (_, _, moved) = mlirad.jvp(lambda x: tuple(np.linalg.svd(x)), (x,), (tangent,))
    np.testing.assert_allclose(np.sum(right.conj() * moved, 1), 0.0, atol=1e-15)
    assert np.max(np.abs(moved)) > 0.1


@row("with `fastmath=True`")
def test_fastmath_rounds_in_another_order() -> None:
    def summed(x, y):
        total = 0.0
        for i in range(x.size):
            total += x[i] / y
        return total

    x = np.sqrt(np.arange(1.0, 1001.0))
    exact, fast = mlirad.jit(summed), mlirad.jit(summed, fastmath=True)
    assert exact(x, 3.0) == summed(x, 3.0) != fast(x, 3.0)
    assert fast(x, 3.0) == pytest.approx(summed(x, 3.0), rel=1e-13)
    assert exact(1e-310 * x, 1e-310) < math.inf == fast(1e-300 * x, 1e-310)


@row("`np.reciprocal(0j)`")
def test_the_reciprocal_of_complex_zero() -> None:
    found = mlirad.jit(lambda z: np.reciprocal(z))(np.zeros(1, complex))
    assert np.isinf(np.real(found)[0])
    with np.errstate(all="ignore"):
        assert np.isnan(np.real(np.reciprocal(np.zeros(1, complex)))[0])


@row("infinite or nan weights of `nn.conv_transpose1d`")
def test_infinite_weights_meet_the_zeros_of_borders() -> None:
    """By the definition, no term of the first elements has the last weight."""
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(1, 4, 8, 8)), rng.normal(size=(4, 4, 3, 3))
    w[0, 0, -1, -1] = np.inf
    by_image = mlirad.grad(lambda x, w: np.sum(nn.conv2d(x, w)))(x, w)[0, 0]
    transposed = mlirad.jit(lambda x, w: nn.conv_transpose2d(x, w))(np.ones_like(x), w)[0, 0]
    for found, size in ((by_image, 8), (transposed, 10)):
        assert found.shape == (size, size)
        assert np.all(np.isinf(found[2:size, 2:size])) and np.isnan(found[0, 0])
