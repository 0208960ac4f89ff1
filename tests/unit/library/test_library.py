"""Each function of the library against the function that it implements: values, dtypes, exceptions, and derivatives."""

# Mistakes are tested too.
# pyright: reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import library_calls_of_modules
import library_calls_of_numbers
import library_calls_of_order
import library_calls_of_places
import library_calls_of_sizes
import numpy as np
import other_numpys
import pytest
from library_outcomes import outcome_of, require_same

import mlirad
from mlirad import tree
from mlirad.errors import UnsupportedSyntaxError
from mlirad.library import index, make_index, spells
from mlirad.testing.interpreted import Interpreted

# Calls with one array; if NumPy raises an exception, the same is expected.
CALLS: dict[str, list[Callable[[Any], Any]]] = {
    "numpy.ptp": [lambda a: np.ptp(a), lambda a: np.ptp(a, axis=-1), lambda a: np.ptp(a, 0, keepdims=True)],
    "numpy.cumsum": [
        lambda a: np.cumsum(a),
        lambda a: np.cumsum(a, 0),
        lambda a: a.cumsum(axis=-1),
        lambda a: np.cumsum(a, 1, dtype=np.float32),
        lambda a: np.cumsum(a[0, 0] if a.size else 2.5),
        lambda a: np.cumsum(a, axis=5),
        lambda a: np.cumsum(a, axis=True),
        lambda a: a.cumsum(axis=(0,)),
        lambda a: np.cumsum(a, axis=1.0),
    ],
    "numpy.cumprod": [
        lambda a: np.cumprod(a),
        lambda a: np.cumprod(a, axis=0),
        lambda a: a.cumprod(-1),
        lambda a: np.cumprod(a[0], dtype=np.int64),
        lambda a: np.cumprod(a, 2),
        lambda a: np.cumprod(a, axis=False),
    ],
    "numpy.flatnonzero": [lambda a: np.flatnonzero(a > 0), lambda a: np.flatnonzero(a), lambda a: np.flatnonzero(a[0])],
    "numpy.argwhere": [lambda a: np.argwhere(a > 0), lambda a: np.argwhere(a), lambda a: np.argwhere(a[0])],
    "numpy.compress": [
        lambda a: np.compress(a[0] > 0, a, axis=1) * 2,
        lambda a: np.compress(a[:, 0] > 0, a, 0),
        lambda a: np.compress(a[0] > 0, a),
        lambda a: np.compress(a > 0, a),
        lambda a: np.compress(a[0] > 0, a, -1),
        lambda a: np.compress([True, False], a, axis=0),
        lambda a: np.compress([True, False], a, axis=True),
    ],
    "numpy.extract": [
        lambda a: np.extract(a > 0, a),
        lambda a: np.extract(a[0] > 0, a),
        lambda a: np.extract(a > 0, a[0]),
        lambda a: a[np.nonzero(a > 0)],
        lambda a: a[np.where(a[0] > 0)[0] * 0],
        lambda a: np.hstack((a[a > 0], a[0])),
        lambda a: np.vstack((a[a[:, 0] > 0], a)),
        lambda a: np.append(a[a > 0], 2),
        lambda a: np.concatenate([a[a > 0], a[a < 0] + 1, a[0, :1]]),
        lambda a: np.concatenate([a[:, a[0] > 0], a[:, a[0] <= 0]], axis=1),
        lambda a: np.concatenate([a[:, a[0] > 0], a], axis=0),
        lambda a: a[:, 0].nonzero()[0],
    ],
    "numpy.diff": [
        lambda a: np.diff(a),
        lambda a: np.diff(a, 2, 0),
        lambda a: np.diff(a, n=0),
        lambda a: np.diff(a, -1),
        lambda a: np.diff(a, axis=5),
        lambda a: np.diff(a[0]),
    ],
    "numpy.roll": [
        lambda a: np.roll(a, 1),
        lambda a: np.roll(a, -2, 1),
        lambda a: np.roll(a, (1, 2), (0, 1)),
        lambda a: np.roll(a, 7, axis=(0, 1)),
        lambda a: np.roll(a, 0, axis=-1),
        lambda a: np.roll(a, (1, 2), (0, 1, 0)),
        lambda a: np.roll(a, 1, 5),
    ],
    "numpy.round": [
        lambda a: np.round(a + 0, 1) + a,
        lambda a: np.round(a + 0),
        lambda a: (a * 3).round(decimals=2),
        lambda a: np.round(a * 30, -1),
        lambda a: np.round((a + 0)[0, 0] if a.size else 2.5, 1),
        lambda a: np.round(a + 0, a),
        lambda a: np.round(a + 0, 1.0),
    ],
    "numpy.around": [lambda a: np.around(a + 0, 2) + a, lambda a: np.around(a * 7)],
    "numpy.fix": [lambda a: np.fix(a * 3) + a, lambda a: np.fix(a), lambda a: np.fix(a[0, 0] if a.size else -2.5)],
    "numpy.sinc": [
        lambda a: np.sinc(a),
        lambda a: np.sinc(a / 50),
        lambda a: np.sinc(a[0, 0] if a.size else 0),
        lambda a: np.sinc(a * 0),
    ],
    "math.dist": [
        lambda a: np.float64(math.dist(a[0, :3], (1.0, a[0, 1], 3)) if a.size > 3 else 0.0),
        lambda a: math.dist((1.0, 2.0), (a[0, 0],) if a.size else ()),
    ],
    "math.prod": [
        lambda a: np.float64(math.prod([float(a[0, 0]), 2.0, float(a[1, 0])]) if a.size > 3 else 0.0),
        lambda a: np.float64(math.prod([float(x.sum()) for x in a], start=2.0)),
    ],
    "math.isclose": [
        lambda a: a * (2.0 if math.isclose(float(np.sum(a)) * (1 + 1e-10), float(np.sum(a))) else 3.0),
        lambda a: np.array([math.isclose(float(np.sum(a)), 1e9, rel_tol=1.0, abs_tol=0.5)]),
        lambda a: np.array([math.isclose(np.inf, float(np.sum(a))), math.isclose(float(np.sum(a)), -np.inf)]),
        lambda a: math.isclose(float(np.sum(a)), 1.0, abs_tol=-1.0),
    ],
    "numpy.tril": [lambda a: np.tril(a), lambda a: np.tril(a, -1), lambda a: np.tril(a[0], k=1)],
    "numpy.triu": [lambda a: np.triu(a), lambda a: np.triu(a, 1), lambda a: np.triu(a.T, k=-1)],
    "numpy.trace": [
        lambda a: np.trace(a),
        lambda a: a.trace(1),
        lambda a: np.trace(a[None], -1, 1, 2),
        lambda a: np.trace(a[0]),
    ],
    "numpy.append": [
        lambda a: np.append(a, 2.5),
        lambda a: np.append(a, a, 0),
        lambda a: np.append(a, [1, 2]),
        lambda a: np.append(a, a[0], 1),
    ],
    "numpy.vstack": [
        lambda a: np.vstack((a, a)),
        lambda a: np.vstack([a, a[0]]),
        lambda a: np.vstack((a[0], 1.5)),
        lambda a: np.vstack(a),
        lambda a: np.vstack(a[0]),
        lambda a: np.vstack(a[None]),
        lambda a: np.vstack((a, a[:, :1])),
    ],
    "numpy.hstack": [
        lambda a: np.hstack((a, a)),
        lambda a: np.hstack([a[0], [1, 2, 3]]),
        lambda a: np.hstack((1.5, a[0])),
        lambda a: np.hstack(a),
        lambda a: np.hstack(a[0]),
        lambda a: np.hstack(a[None]),
        lambda a: np.hstack((a, a[:1])),
    ],
    "numpy.column_stack": [
        lambda a: np.column_stack((a, a)),
        lambda a: np.column_stack([a[0], a[0] * 2]),
        lambda a: np.column_stack(([1, 2], [3.5, 4])),
        lambda a: np.column_stack(a),
        lambda a: np.column_stack(a[0]),
        lambda a: np.column_stack(a[None]),
        lambda a: np.column_stack((a, a[0])),
    ],
}
CALLS |= library_calls_of_modules.CALLS | library_calls_of_numbers.CALLS
CALLS |= library_calls_of_order.CALLS | library_calls_of_places.CALLS | library_calls_of_sizes.CALLS
RNG = np.random.default_rng(7)
WHOLE = RNG.normal(size=(3, 4))
ARRAYS = {
    "f8": WHOLE,
    "f4": WHOLE.astype(np.float32),
    "f2": WHOLE.astype(np.float16),
    "i1": (WHOLE * 50).astype(np.int8),
    "u1": np.arange(12, dtype=np.uint8).reshape(3, 4) * 20,
    "bool": WHOLE > 0,
    "fortran": np.asfortranarray(WHOLE),
    "strided": RNG.normal(size=(6, 8))[::2, ::-2],
    "one": WHOLE[:1, :1],
    "empty": WHOLE[:, :0],
    "no rows": WHOLE[:0],
}
CALLED = [name for name in CALLS if other_numpys.has(name)]
CASES = [(name, number) for name in CALLED for number in range(len(CALLS[name]))]


def outcome(function: Callable[..., Any], array: np.ndarray) -> Any:
    return outcome_of(function, array.copy("K"))


REFUSED: list[Callable[[Any], Any]] = [
    lambda a: np.histogram(a, "stone"),
    lambda a: np.poly(a[:, :3]),
    lambda a: np.block([[[[a]]]]),
    lambda a: np.greater.accumulate(a),
    lambda a: np.r_["0,2", a],
    lambda a: np.pad(a, 1, lambda vector, *_: vector),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_is_not_compiled_is_refused_at_the_users_line(number: int) -> None:
    with pytest.raises(UnsupportedSyntaxError, match="is not compiled") as caught:
        mlirad.jit(REFUSED[number])(WHOLE)
    assert f":{REFUSED[number].__code__.co_firstlineno}:" in str(caught.value) and "help: " in str(caught.value)


def some_arrays(number: int) -> list[np.ndarray]:
    """Arrays for all calls but the first: floats, a narrow type, an array without elements, others in turn."""
    rest = list(ARRAYS)[number % 4 :: 4]
    return [ARRAYS[name] for name in dict.fromkeys(("f8", "u1", "empty", *rest))]


@pytest.mark.parametrize(("name", "number"), CASES)
def test_values(name: str, number: int) -> None:
    """What is built for one array computes those of its dtype with other sizes and strides."""
    call = CALLS[name][number]
    interpreted = Interpreted(call, "tensor")
    for array in ARRAYS.values() if number == 0 or os.environ.get("MLIRAD_FULL") else some_arrays(number):
        require_same(outcome(interpreted, array), outcome(call, array))


# Other arrays that the same code computes are tried natively.
LIKE_OTHERS = {f"numpy.{name}" for name in "unique_values unique_counts unique_inverse unique_all percentile".split()}


@pytest.mark.parametrize("name", [name for name in CALLED if name not in LIKE_OTHERS or os.environ.get("MLIRAD_FULL")])
def test_native_values_and_derivatives(name: str) -> None:
    """Exactly those results that are views of the argument in NumPy are views here."""
    call, x = CALLS[name][0], WHOLE.copy()
    tangent, step = RNG.normal(size=x.shape), 1e-6

    def loss(a):
        return np.sum(np.sin(call(a)))

    @mlirad.jit
    def compiled(a, t):
        return call(a), mlirad.grad(loss)(a), mlirad.jvp(loss, (a,), (t,))[1]

    (found, gradient, slope), wanted = compiled(x, tangent), call(x)
    require_same(found, wanted)
    pairs = zip(tree.leaves(found), tree.leaves(wanted), strict=True)
    assert all(np.shares_memory(a, x) == np.shares_memory(b, x) for a, b in pairs)
    wanted = (loss(x + step * tangent) - loss(x - step * tangent)) / (2 * step)
    assert np.sum(gradient * tangent) == pytest.approx(wanted, rel=1e-7)
    assert slope == pytest.approx(wanted, rel=1e-7)


def test_each_function_has_calls_here_and_the_index_is_that_of_the_decorators() -> None:
    assert set(CALLS) == {
        name for name in index.FUNCTIONS if not name.startswith(("scipy.", "numpy.linalg.", "numpy.fft."))
    }
    assert make_index.index() == (make_index.FOLDER / "index.py").read_text()
    for name in {*spells.methods()} & {*dir(np)} - {"sort", "partition", "compress", "choose"}:  # x.compress(condition)
        assert spells.function_of(getattr(np.ndarray, name)) is spells.function_of(getattr(np, name))


def test_errors_are_at_the_users_line_and_name_what_the_user_wrote() -> None:
    def of_keyword(x):
        return np.ptp(x, dtype=float)

    def of_missing(x):
        return np.append(x)

    def of_value(x):
        return np.diff(x, n=-2)

    x = np.ones(3)
    with pytest.raises(mlirad.CompileError, match=r"test_library.py:\d+:\d+: np.ptp\(dtype=\) is not supported"):
        mlirad.jit(of_keyword)(x)
    with pytest.raises(
        TypeError, match=r"test_library.py:\d+:\d+: np.append\(\): missing a required argument: 'values'"
    ):
        mlirad.jit(of_missing)(x)
    with pytest.raises(ValueError, match=r"test_library.py:\d+:\d+: order must be non-negative but got -2\n.*np.diff"):
        mlirad.jit(of_value)(x)


def test_out_lists_that_loops_fill_and_lengths_of_the_run() -> None:
    def spread(x, out):
        np.ptp(x, 1, out)

    def history(x, n):
        rows = []
        for k in range(n):
            rows.append(x * k)
        return np.vstack(rows), np.ptp(rows)

    def shifted(x, n):
        return np.roll(x, n), np.tril(x[None, :n])

    x, out = WHOLE.copy(), np.zeros(3)
    mlirad.jit(spread)(x, out)
    np.testing.assert_array_equal(out, np.ptp(x, 1))
    for f, arguments in ((history, (x[0], 4)), (shifted, (x[0], 3)), (shifted, (x[0], 1))):
        for found, wanted in zip(mlirad.jit(f)(*arguments), f(*arguments), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-13)


def test_what_somebody_puts_in_the_place_of_a_function_is_not_that_function(monkeypatch: pytest.MonkeyPatch) -> None:
    def doubled(x):
        return x * 2.0

    def f(x):
        return np.ptp(x)

    monkeypatch.setattr(np, "ptp", doubled)
    spells._by_object.cache_clear()
    try:
        with pytest.raises(mlirad.CompileError, match=r"np.ptp has been replaced"):
            mlirad.jit(f)(np.ones(2))
        assert spells.function_of(doubled) is None
    finally:
        spells._by_object.cache_clear()


ACCUMULATIONS: list[Callable[[Any], Any]] = [
    lambda a: np.maximum.accumulate(a),
    lambda a: np.minimum.accumulate(a, axis=1),
    lambda a: np.add.accumulate(a, 1),
    lambda a: np.multiply.accumulate(a, dtype=np.float32),
    lambda a: np.divide.accumulate(a + 200),
    lambda a: np.logical_or.accumulate(a > 0, -1),
    lambda a: np.maximum.accumulate(a, 2),
    lambda a: np.add.accumulate(a[0, 0] if a.size else 1.5),
    lambda a: np.add.accumulate(a, None),
]


REDUCTIONS: list[Callable[[Any], Any]] = [
    lambda a: np.add.reduce(a),
    lambda a: np.maximum.reduce(a, axis=None, initial=0, where=a > 0),
    lambda a: np.subtract.reduce(a / 1, axis=1),
    lambda a: np.subtract.reduce(a / 1, axis=None),
    lambda a: np.subtract.reduce(a / 1, 1, initial=3.0),
    lambda a: np.divide.reduce(np.abs(a) + 1.0, axis=1, keepdims=True),
    lambda a: np.logaddexp.reduce(a / 100, axis=None),
    lambda a: np.logaddexp.reduce(a / 100, 0, where=a > 0),
    lambda a: np.hypot.reduce(a / 100, axis=(0, 1), keepdims=True),
    lambda a: np.logical_xor.reduce(a, axis=1),
    lambda a: np.bitwise_or.reduce(a.astype(int), axis=-1),
    lambda a: np.bitwise_and.reduce(a.astype(int), axis=0, initial=7, where=(a > 0)[:, :1]),
    lambda a: np.fmax.reduce(a, where=a > 0),
    lambda a: np.fmin.reduce(a, 5),
    lambda a: np.gcd.reduce(a.astype(int), axis=None),
    lambda a: np.negative.reduce(a),
    lambda a: np.add.reduceat(a, [0, 1, 1, 0]),
    lambda a: np.add.reduceat(a, [0, 2], 1, np.float32),
    lambda a: np.maximum.reduceat(a[0], np.array([1, 0]), dtype=float),
    lambda a: np.add.reduceat(a, [9]),
    lambda a: np.add.reduceat(a, [0.5]),
]


@pytest.mark.parametrize("calls", [ACCUMULATIONS, REDUCTIONS], ids=["accumulate", "reduce"])
def test_methods_of_ufuncs(calls: list[Callable[[Any], Any]]) -> None:
    for number, call in enumerate(calls):
        for array in some_arrays(number):
            require_same(outcome(Interpreted(call, "tensor"), array), outcome(call, array))


def test_derivatives_of_reductions_that_are_loops() -> None:
    def loss(x):
        parts = np.multiply.reduceat(x, [0, 2])
        return np.logaddexp.reduce(x) + np.subtract.reduce(x * x) + np.sum(parts) + np.hypot.reduce(x)

    x = np.array([1.0, 3.0, 2.0, 5.0])
    wanted = [(loss(x + step) - loss(x - step)) / 2e-6 for step in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(mlirad.grad(loss)(x), wanted, rtol=1e-7)


def test_the_derivative_of_a_running_maximum() -> None:
    def loss(x):
        return np.sum(np.maximum.accumulate(x) * np.array([1.0, 2.0, 4.0, 8.0]))

    np.testing.assert_array_equal(mlirad.grad(loss)(np.array([1.0, 3.0, 2.0, 5.0])), [1.0, 6.0, 0.0, 8.0])
