"""Programs that were wrong once, each cut down to its fault. NumPy and published values are the judges.

Reads: programs. Writes: nothing. Leaves: add a case to CASES for values and side effects, a test for anything else.
"""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.testing.programs.oracle import call, fresh, is_same

X = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
M = np.arange(12.0).reshape(3, 4) + 0.5


def writes_then_certainly_raises(x, y):
    x[0] = 9.0
    y += 1
    for i in range(3):
        y[i] = i
        x[9] = 3.0


def one_row_of_a_reversed_matrix(m, i):
    r = m[:, ::-1][i : i + 1, :]
    t = m[::-1, ::-1][1:2]
    t[0] += r.reshape(4) * 2.0 + r[0]
    u = m[::2, 1:2][:, 0]
    u *= 3.0
    return u * 1.0, m.T[1:2, ::-2].reshape(-1) * 1.0, m[2:3, 3:][0] * 1.0


def returns_what_a_loop_made(x, y):
    for _ in x[:3]:
        y = np.ones(4)
    return y


def returns_what_a_loop_swapped(y, n):
    v = np.ones(4)
    for _ in range(n):
        v, y = y, v
    return v, y


def columns_of_a_matrix_that_turns(m, n):
    for _ in range(n):
        for column in m.T:  # one view of m or the other
            if m[0, 0] > 100.0:
                pass
            m[0, 1] += column[0]
        m = m[:, ::-1]


def views_that_start_where_the_run_says_or_at_a_fixed_place(x, n):
    one = x[n : n + 2] if x[0] > 2.0 else x[::-2][::-2]
    one[1] = 7.0
    two = x[n : n + 3] if x[0] < 2.0 else x[::2]
    two[1] *= two[n]


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (writes_then_certainly_raises, (X, X[:4])),
    (one_row_of_a_reversed_matrix, (M, 1)),
    (returns_what_a_loop_made, (X, X[:4])),
    *((returns_what_a_loop_swapped, (X[:4], n)) for n in range(3)),
    (columns_of_a_matrix_that_turns, (M, 2)),
    *((views_that_start_where_the_run_says_or_at_a_fixed_place, (x, n)) for x in (X, X[::-1]) for n in (1, 2)),
]


@pytest.mark.parametrize(("function", "args"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_is_what_numpy_does(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    expected, given = fresh(args), fresh(args)
    want, got = call(function, expected), call(mlirad.jit(function), given)
    assert isinstance(got, type(want)) if isinstance(want, Exception) else is_same(want, got)
    assert is_same(tuple(expected), tuple(given))
    assert _shared(got, given) == _shared(want, expected)


def _shared(result: Any, args: list[Any]) -> list[bool]:
    arrays = [*(result if isinstance(result, tuple) else (result,)), *args]
    return [np.shares_memory(x, y) for x, y in itertools.combinations(arrays, 2)]


def test_mlir_takes_the_views_of_one_row(mlir_opt: Callable[..., str]) -> None:
    """A collapse_shape of memref<1x4, strided<[4, -1]>> is none for it."""
    lowered = mlirad.jit(one_row_of_a_reversed_matrix).lower(M, 1)
    for stage in ("linalg", "bufferized", "loops"):
        mlir_opt(lowered.as_text(stage))


def newton(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


def test_a_loop_decides_nothing_of_what_it_leaves_alone() -> None:
    """`x` outside, of the caller's frame, was taken for changed by the loop in the callee."""

    def slope(x):
        return np.sum(mlirad.grad(newton)(x) * 1.0)

    assert mlirad.grad(slope)(2.0) == pytest.approx(-0.08838834764831845, abs=1e-9)


def raises_certainly(x):
    return x[7] * 2.0


@pytest.mark.parametrize("transform", [mlirad.grad, mlirad.value_and_grad])
def test_a_gradient_raises_what_its_function_certainly_raises(transform: Callable[..., Any]) -> None:
    with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 5"):
        transform(raises_certainly)(X)


def linear(x):
    return x[::-1] * 2.0, x.sum()


def test_a_forward_sweep_that_keeps_nothing() -> None:
    (reverse, total), pullback = mlirad.vjp(linear, X)
    np.testing.assert_array_equal(reverse, linear(X)[0])
    assert total == 15.0
    np.testing.assert_array_equal(pullback((X, 1.0))[0], X[::-1] * 2.0 + 1.0)


def test_a_module_that_is_changed_and_reloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function of a reloaded module is compiled from the new text, not from a text that was read before."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "reloaded_program.py"
    file.write_text("def f(x):\n    return x * 2.0\n")
    module = importlib.import_module("reloaded_program")
    old = module.f
    assert mlirad.jit(old)(3.0) == 6.0
    file.write_text("def f(x):\n    return x * 17.0\n")
    assert mlirad.jit(lambda x: old(x))(3.0) == 6.0
    importlib.reload(module)
    assert mlirad.jit(module.f)(3.0) == module.f(3.0) == 51.0


def looping(p):
    for _ in range(3):
        last = 0.5  # noqa: F841  (bound and not read)


def calls_a_looping_helper(x):
    for _ in x:
        looping(x)
    return x[0] + 1.0


def test_a_helper_loops_with_nothing_bound() -> None:
    """Its loop-carried values of the last pass were used in this one, although its frame is a different one."""
    assert mlirad.jit(calls_a_looping_helper)(X) == 2.0


def powers_of_a_row(x, m, n, k):
    for _ in m:
        row = m[2].copy()
        row *= x[n]
        m[2] = row
        for _ in x:
            x[n] *= 1
            m[k] = 0.5
    return np.sum(m)


def test_a_loop_that_is_passed_writes_arrays_of_other_ranks():
    """The test whether x[n] is still available also looked at the writes to m."""
    x, m = np.array([1.0, 2.0, 3.0]), np.arange(12.0).reshape(4, 3)
    gx, gm = mlirad.grad(powers_of_a_row, argnums=(0, 1))(x.copy(), m.copy(), 1, 0)
    np.testing.assert_allclose(gx, [0.0, 4 * 2.0**3 * np.sum(m[2]), 0.0])
    np.testing.assert_allclose(gm, [[0.0] * 3, [1.0] * 3, [16.0] * 3, [1.0] * 3])


def adds_and_scales(w, q, n):
    if w[1] > 0.3:
        np.add.at(w, q, w[1] + 1.0)
        w[n] *= (w @ w) * 0.125
    return np.sum(w * w)


def test_a_whole_array_that_an_accumulation_left_is_looked_at() -> None:
    """It is available unchanged: the accumulation that made it is not applied to it again."""
    w, q, h = np.array([0.5, 0.7, 0.2, 0.9]), np.array([1, 2, 3]), 1e-6
    gradient = mlirad.grad(adds_and_scales)(w.copy(), q, 1)
    steps = h * np.eye(4)
    differences = [(adds_and_scales(w + step, q, 1) - adds_and_scales(w - step, q, 1)) / (2 * h) for step in steps]
    np.testing.assert_allclose(gradient, differences, rtol=1e-7)


def returns_rows(x, i):
    return x[i], x[1], [x[1], x[0]]


@pytest.mark.parametrize("i", [0, 1, 2, -1])
def test_a_row_that_the_run_chooses_and_a_known_one_are_returned(i: int) -> None:
    """The known one was taken to be the same array: an IR value had a truth."""
    x = np.arange(12.0).reshape(3, 4)
    chosen, known, listed = mlirad.jit(returns_rows)(x, i)
    np.testing.assert_array_equal(chosen, x[i])
    np.testing.assert_array_equal(known, x[1])
    np.testing.assert_array_equal(listed, x[1::-1])
    known[:] = 7.0
    assert np.all(x[1] == 7.0)


def selects_in_a_loop(x):
    for row in x:
        for last in x:
            pass
        row = last[row > 2]
    return np.sum(last)


def test_a_loop_target_becomes_a_masked_selection() -> None:
    """The parts of a selection were asked for a header's properties other than its numbers."""
    x = np.arange(12.0).reshape(3, 4)
    assert mlirad.jit(selects_in_a_loop)(x) == selects_in_a_loop(x)


def indexes_by_an_empty_mask(x, y, m):
    w = y[:-1] > 0.5
    x[w] += y
    x[w] = 5.0
    m[w] = 3.0
    return x[w], m[w], m[:, w] * 2.0, m[np.zeros((3, 0)) > 1.0], np.sum(x[w])


def test_a_mask_without_elements_fits_every_axis() -> None:
    """NumPy compares the lengths of a mask and its axis only if the mask has elements."""
    args = np.arange(4.0), np.ones(1), np.arange(12.0).reshape(3, 4)
    mine, its = fresh(args), fresh(args)
    found, wanted = mlirad.jit(indexes_by_an_empty_mask)(*mine), indexes_by_an_empty_mask(*its)
    assert all(is_same(*pair) for pair in zip((*found, *mine), (*wanted, *its), strict=True))


def halves_perhaps(x, n, k):
    while n > 3:
        k /= 2
        n -= 1
    return x[k]


def test_an_int_that_a_loop_may_make_a_float_is_no_index() -> None:
    """Which of both it is, only the run knows: it raised an IndexError even where it stays an int."""
    with pytest.raises(mlirad.CompileError, match="may be one on some path") as caught:
        mlirad.jit(halves_perhaps)(X, 2, 1)
    assert caught.value.lineno == halves_perhaps.__code__.co_firstlineno + 4


def places_of_one(a, x):
    return np.argmax(a), np.argmin(a, axis=0), int(np.argmax(x)), np.argmin(a, axis=-1)


@pytest.mark.parametrize("a", [0.75, np.float64(2.0), np.array(-3.0), 5, np.nan])
def test_the_place_of_one_number_is_the_first(a: Any) -> None:
    """It was an IndexError: a number has no axis."""
    found, wanted = mlirad.jit(places_of_one)(a, X), places_of_one(a, X)
    assert found == wanted
    assert [type(each) for each in found] == [type(each) for each in wanted]


def means_of_the_nearest(x, c):
    for _ in range(3):
        nearest = ((x[:, None, :] - c[None, :, :]) ** 2).sum(axis=2).argmin(axis=1)
        new = []
        for k in range(len(c)):
            members = x[nearest == k]
            new.append(members.mean(axis=0) if len(members) > 0 else c[k])
        c = np.array(new)
    return c


def test_what_was_tried_in_vain_uses_nothing() -> None:
    """Dead code could not be removed: ops of an attempt that had been given up still used what the loop carried."""
    x, c = np.random.default_rng(0).normal(size=(12, 2)), np.array([[0.0, 1.0], [1.0, 0.0], [9.0, 9.0]])
    assert is_same(mlirad.jit(means_of_the_nearest)(x, c), means_of_the_nearest(x, c))
    module = mlirad.jit(means_of_the_nearest).lower(x, c).module
    inside = set(module.walk())
    assert all(use.operation in inside for op in inside for value in op.results for use in value.uses)


def test_a_list_that_a_loop_replaces_by_its_slice_is_refused_in_a_derivative() -> None:
    """A program of the grammar, seed 2143: it raised an AttributeError of the compiler's."""

    def loss(y, c):
        for _ in range(3):
            c = c[:]
        return np.sum(y) * 2.0 + c[1]

    def copied(y, c):
        d = list(c)
        for _ in range(3):
            d = d[:]
        return np.sum(y) * 2.0 + d[1]

    arguments = np.ones(3), [np.ones(5), 0.5]
    with pytest.raises(mlirad.CompileError, match="depends on a loop") as caught:
        mlirad.grad(loss)(*arguments)
    assert caught.value.location is not None and "list(xs)" in str(caught.value.hint)
    np.testing.assert_array_equal(mlirad.grad(copied)(*arguments), [2.0, 2.0, 2.0])
