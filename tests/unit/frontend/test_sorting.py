"""np.sort, np.argsort and a.sort(): NumPy's own bits, errors, and derivatives."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad

RNG = np.random.default_rng(5)
DTYPES = "? b B h H i I l L f d".split()
KINDS = (None, "quicksort", "stable", "mergesort")
ARRAYS: dict[str, np.ndarray] = {
    "vector": RNG.normal(size=300) * 40,
    "cube": RNG.normal(size=(2, 3, 20)) * 40,
    "fortran": np.asfortranarray(RNG.normal(size=(7, 18)) * 40),
    "strided": (RNG.normal(size=(9, 40)) * 40)[::2, ::-3],
    "ties": np.round(RNG.normal(size=(4, 50))),
    "one": np.array([2.5]),
    "empty": np.zeros(0),
    "no columns": np.zeros((3, 0)),
    "special": np.array([np.nan, np.inf, -0.0, 0.0, -np.inf, -np.nan, 1.0, 5e-324, np.nan, -1.0] * 3),
}


def all_sorts(a, axis, kind):
    return np.sort(a, axis, kind), np.argsort(a, axis=axis, kind=kind), a.argsort(axis, kind)


def require_same(found: Any, wanted: Any) -> None:
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    assert found.tobytes() == wanted.tobytes()  # including nan and the signs of zeros


@pytest.mark.parametrize("name", ARRAYS)
def test_values_are_numpys_to_the_bit(name: str) -> None:
    compiled, a = mlirad.jit(all_sorts), ARRAYS[name]
    axes = [None, *range(-1, a.ndim)]
    for axis, kind in itertools.product(axes, KINDS if a.ndim == 1 else KINDS[:3:2]):
        for found, wanted in zip(compiled(a, axis, kind), all_sorts(a, axis, kind), strict=True):
            require_same(found, wanted)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype: str) -> None:
    compiled = mlirad.jit(all_sorts)
    with np.errstate(invalid="ignore"):
        a = (RNG.normal(size=(3, 70)) * 1000).astype("i8").astype(dtype)
    for kind in KINDS[:3]:
        for found, wanted in zip(compiled(a, 1, kind), all_sorts(a, 1, kind), strict=True):
            require_same(found, wanted)


def test_lengths_of_the_run_and_selections() -> None:
    def f(x, n, limit):
        chosen = x[x > limit]
        return np.sort(x[:n]), np.argsort(x[n:]), np.sort(chosen)[::-1] * 2, np.sort(chosen[1:])

    def g(x, n):
        total = 0.0
        for k in range(n):
            if k % 2:
                total += np.sort(x[k:])[0]
            else:
                total += np.sort(x, stable=True)[k]
        return total

    x = RNG.normal(size=30)
    compiled = mlirad.jit(f)
    for n, limit in ((0, 0.0), (7, -9.0), (30, 9.0)):
        for found, wanted in zip(compiled(x, n, limit), f(x, n, limit), strict=True):
            np.testing.assert_array_equal(found, wanted)
    assert mlirad.jit(g)(x, 9) == g(x, 9)


def test_sorting_in_place() -> None:
    def f(a, n):
        a.sort()
        a[::2].sort(axis=0, kind="stable")
        for k in range(n):
            a[0] += k
            a[:, ::-2].sort(0)
        return a.sort(stable=False), a[0, 0]

    x = RNG.normal(size=(6, 5))
    for n in (0, 3):
        ours, numpys = x.copy(), x.copy()
        assert mlirad.jit(f)(ours, n) == f(numpys, n)
        np.testing.assert_array_equal(ours, numpys)
    readonly = x.copy()
    readonly.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        mlirad.jit(f)(readonly, 1)


WEIGHTS = RNG.normal(size=(4, 6))


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_derivatives(axis: int | None, dtype: str) -> None:
    def f(x):
        return np.sum(np.sin(np.sort(x * x, axis)) * weights)

    weights = (WEIGHTS.ravel() if axis is None else WEIGHTS).astype(dtype)
    x, v = RNG.normal(size=(4, 6)).astype(dtype), RNG.normal(size=(4, 6)).astype(dtype)
    exact, h = x.astype("f8"), 1e-6
    wanted = (f(exact + h * v) - f(exact - h * v)) / (2 * h)
    tolerance = 1e-4 if dtype == "f4" else 1e-7
    gradient = mlirad.grad(f)(x)
    assert gradient.dtype == dtype
    assert np.sum(gradient * v) == pytest.approx(wanted, rel=tolerance)
    assert mlirad.jvp(f, (x,), (v,))[1] == pytest.approx(wanted, rel=tolerance)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_many_elements_with_and_without_ties(dtype: type) -> None:
    """Without ties a quicksort finds the order. Ties, zeros of both signs and nan need a stable one."""
    size = 700
    plain = np.random.default_rng(0).normal(size=(2, size)).astype(dtype)
    w = np.linspace(-1, 2, 2 * size).reshape(2, size).astype(dtype)
    tied, zeros, nans = plain.copy(), plain.copy(), plain.copy()
    tied[1, 4] = tied[1, 500]
    zeros[0, [3, 400]] = -0.0, 0.0
    nans[1, ::7] = np.nan
    gradient = mlirad.grad(lambda x, w: np.sum(np.sort(x) * w))
    rows = mlirad.vmap(gradient)
    for x in (plain, tied, zeros, nans):
        expected = np.empty_like(x)
        np.put_along_axis(expected, np.argsort(x, stable=True), w, -1)
        np.testing.assert_array_equal(gradient(x, w), expected)
        np.testing.assert_array_equal(rows(x, w), expected)
        tangent = mlirad.jvp(lambda x: np.sort(x)[:, ::2], (x,), (w,))[1]
        np.testing.assert_array_equal(tangent, np.take_along_axis(w, np.argsort(x, stable=True), -1)[:, ::2])
    text = gradient.lower(plain, w).as_text("optimized")
    assert text.index('kind = "quicksort"') < text.index('kind = "stable"')


def test_elements_that_tie_get_the_cotangents_of_a_stable_sort() -> None:
    def f(x, w):
        return np.sum(np.sort(x) * w)

    x, w = np.array([1.0, 0.0, 1.0, np.nan, 0.0, 1.0]), np.arange(6.0)
    wanted = np.empty(6)
    wanted[np.argsort(x, kind="stable")] = w
    np.testing.assert_array_equal(mlirad.grad(f)(x, w), wanted)


PROGRAMS: list[Callable[..., Any]] = []


def program(function: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS.append(function)
    return function


@program
def in_a_loop(x):
    for _ in range(3):
        x = np.sort(np.sin(x * 2.0)) * x
    return np.sum(x * x)


@program
def in_place_under_a_branch(x):
    a = x * x
    for k in range(3):
        if a[k] > 0.5:
            a[k:].sort()
        else:
            a[::-1].sort()
        a[k] *= x[0]
    return np.sum(a * np.arange(1.0, 7.0) ** 2)


@program
def of_a_selection(x):
    chosen = np.sort(x[x > -0.3] ** 3)
    return np.sum(chosen * np.cumsum(np.ones_like(chosen)))


@program
def by_argsort(x):
    order = np.argsort(-x)
    return np.sum(np.sin(x[order]) * np.arange(6.0) * x)


@program
def rows_of_unknown_number(x):
    rows = np.outer(x[x > -0.3], x) + x
    return np.sum(np.sort(rows)[:, 1] * np.sort(rows, 0)[0, 0])


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_derivatives_of_programs(f: Callable[..., Any]) -> None:
    x, v, h = RNG.normal(size=6), RNG.normal(size=6), 1e-6
    assert mlirad.jit(f)(x) == pytest.approx(f(x), rel=1e-13)
    wanted = (f(x + h * v) - f(x - h * v)) / (2 * h)
    assert np.sum(mlirad.grad(f)(x) * v) == pytest.approx(wanted, rel=1e-6)
    assert mlirad.jvp(f, (x,), (v,))[1] == pytest.approx(wanted, rel=1e-6)
    gradient = mlirad.grad(f)
    wanted = (gradient(x + h * v) - gradient(x - h * v)) / (2 * h)

    def along(x):
        return np.sum(mlirad.grad(f)(x) * v)

    np.testing.assert_allclose(mlirad.grad(along)(x), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: np.sort(x[0]), ValueError, "axis -1 is out of bounds for array of dimension 0"),
        (lambda x: np.argsort(x, 2), ValueError, "axis 2 is out of bounds for array of dimension 1"),
        (lambda x: x.sort(1), ValueError, "axis 1 is out of bounds"),
        (lambda x: x.sort(None), TypeError, "'NoneType' object cannot be interpreted as an integer"),
        (lambda x: np.sort(x, kind="stable", stable=True), ValueError, "can't be provided at the same time"),
        (
            lambda x: np.argsort(x, kind="heapsort"),
            mlirad.CompileError,
            r"np.argsort\(kind='heapsort'\) is not compiled",
        ),
        (lambda x: np.sort(x, order="f"), mlirad.CompileError, r"np.sort\(order=\) is not supported"),
        (lambda x: x.sort(order="f"), mlirad.CompileError, r"ndarray.sort\(order=\) is not supported"),
        (lambda x: np.sort(x, kind=3), mlirad.CompileError, r"np.sort\(kind=3\) is not compiled"),
    ],
)
def test_refusals(call: Callable[..., Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=r"test_sorting.py:\d+:\d+: .*" + message):
        mlirad.jit(call)(np.ones(3))


def test_numbers() -> None:
    def f(x):
        return np.sort(x[0], axis=None), np.argsort(x[0])

    for found, wanted in zip(mlirad.jit(f)(np.ones(3)), f(np.ones(3)), strict=True):
        require_same(found, wanted)
