"""np.modf and math.modf: NumPy's bits in both parts, and derivatives of programs that use one of them or both."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.errors import CompileError

EDGES = (0.0, 0.5, 1.0, 2.75, 1e-310, 5e-324, 0.9999999999999999, 4503599627370495.5, 2.0**53, 1e300, math.inf)
SPECIAL = np.array([*EDGES, *(-x for x in EDGES), math.nan])
MODF: Any = np.modf  # for calls that NumPy's own annotations do not know
X = np.array([0.3, 1.7, -2.2, 3.9, -0.4])


def require_same_bits(ours: Any, numpys: Any) -> None:
    assert isinstance(ours, tuple) and len(ours) == len(numpys)
    for own, other in zip(ours, numpys, strict=True):
        assert type(own) is type(other) and own.dtype == other.dtype and np.shape(own) == np.shape(other)
        np.testing.assert_array_equal(own, other)
        is_number = ~np.isnan(other)
        np.testing.assert_array_equal(np.signbit(own)[is_number], np.signbit(other)[is_number])


ARRAYS: dict[str, Any] = {
    "float64": SPECIAL,
    "float32": np.array([*map(np.float32, (0.0, -0.5, 2.75, -3.0, 1e-42, 8388607.5, math.inf, math.nan))]),
    "int64": np.arange(-3, 4),
    "uint16": np.arange(4, dtype=np.uint16),
    "empty": np.empty((0, 3)),
    "one": X[:1],
    "0-d": np.asarray(-2.5),
    "number": np.float64(-2.5),
    "strided": SPECIAL[::3],
    "reversed": np.arange(6.0).reshape(2, 3)[::-1, ::-1] * 0.7,
    "columns": np.asfortranarray(np.linspace(-3.0, 3.0, 12).reshape(3, 4)),
    "long": np.linspace(-50.0, 50.0, 1003),
}


@pytest.mark.parametrize("x", ARRAYS.values(), ids=ARRAYS)
def test_both_parts_are_numpys(x: Any) -> None:
    with np.errstate(all="ignore"):
        ours, numpys = mlirad.jit(lambda x: np.modf(x))(x), np.modf(x)
    require_same_bits(ours, numpys)


@pytest.mark.parametrize("x", [2.75, -2.75, -3.0, 0.0, -0.0, math.inf, -math.inf, 3, True])
def test_math_gives_pythons_numbers(x: float) -> None:
    ours, pythons = mlirad.jit(lambda x: math.modf(x))(x), math.modf(x)
    assert [type(part) for part in ours] == [float, float] and ours == pythons
    assert [math.copysign(1, part) for part in ours] == [math.copysign(1, part) for part in pythons]


def into_arrays(x: Any) -> Any:
    fraction, whole, other = np.empty(5), np.empty(5), np.empty(5)
    named = MODF(x, out=(fraction, None))
    MODF(x * 2.0, None, whole)
    MODF(x * 3.0, other)
    return *named, fraction, whole, other


def over_itself(x: Any) -> Any:
    y = x * 1.5
    np.modf(y, out=(y, x))
    return y


@pytest.mark.parametrize("function", [into_arrays, over_itself])
def test_out(function: Callable[..., Any]) -> None:
    ours, plain = X.copy(), X.copy()
    for own, other in zip(mlirad.jit(function)(ours), function(plain), strict=True):
        np.testing.assert_array_equal(own, other)
    np.testing.assert_array_equal(ours, plain)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x: MODF(x, out=x), "out= takes a tuple of arrays"),
        (lambda x: MODF(x, out=(x,)), "out= takes a tuple of arrays"),
        (lambda x: np.modf(x, where=x), "rule 'safe'"),
        (lambda x: MODF(x, x, x, x), "takes from 1 to 3|positional arguments"),
    ],
)
def test_what_is_refused(function: Callable[..., Any], said: str) -> None:
    with pytest.raises(CompileError, match=said):
        mlirad.jit(function)(X.copy())


# --- derivatives ------------------------------------------------------------------------------------------------


def fraction_only(x: Any) -> Any:
    return np.sum(np.modf(x * x)[0] * np.sin(x))


def whole_only(x: Any) -> Any:
    return np.sum(np.modf(x * x)[1] * np.sin(x))


def both(x: Any) -> Any:
    fraction, whole = np.modf(x * x)
    return np.sum(fraction * np.exp(x) + whole * x * fraction)


def in_loop(x: Any) -> Any:
    s, t = x[0], 0.0
    for i in range(x.shape[0]):
        fraction, whole = np.modf(s * 1.7 + x[i])
        s = fraction * fraction + whole * x[i]
        t = t + whole * s
    return s + t


def in_while(x: Any) -> Any:
    s, fraction = x[1] * 9.0, 1.0
    while s > 1.0:
        fraction, whole = math.modf(s / 1.9)
        s = 0.4 * whole + fraction * x[0]
    return s * fraction


def in_if(x: Any) -> Any:
    fraction, whole = np.modf(x[3])
    if whole > 2.0:
        y = fraction * x[0]
    else:
        y = whole * x[1]
    return y * fraction


def masked(x: Any) -> Any:
    fraction, whole = np.modf(x[x > 0.0])
    return fraction.sum() + (whole * x[x > 0.0]).sum() + np.where(x > 0.0, np.modf(x)[0], 0.0).sum()


def written(x: Any) -> Any:
    y = np.zeros((2, x.shape[0]))
    for i in range(x.shape[0]):
        y[0, i], y[1, i] = np.modf(x[i] * 1.3)
    np.modf(y[0] * 5.0, out=(y[0], y[1]))
    return np.sum(y[0] * y[0] * x + y[1] * x)


PROGRAMS = (fraction_only, whole_only, both, in_loop, in_while, in_if, masked, written)
every_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)


def differences(f: Callable[[Any], Any], x: Any, step: float = 1e-6) -> Any:
    return np.array([(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(len(x))])


@every_program
def test_derivatives(program: Callable[[Any], Any]) -> None:
    gradient = mlirad.grad(program)
    found = gradient(X)
    np.testing.assert_allclose(found, differences(program, X), rtol=1e-6, atol=1e-6)
    v = np.array([0.3, -1.0, 0.5, 2.0, -0.7])
    value, tangent = mlirad.jvp(program, (X,), (v,))
    np.testing.assert_allclose(value, program(X), rtol=1e-14)
    np.testing.assert_allclose(tangent, found @ v, rtol=1e-12, atol=1e-12)
    second = mlirad.grad(lambda x: np.sum(gradient(x) * v))(X)
    np.testing.assert_allclose(second, differences(lambda x: np.sum(gradient(x) * v), X), rtol=1e-5, atol=1e-5)
    single = mlirad.grad(program)(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, found, rtol=2e-4, atol=2e-4)


def test_the_jacobian_of_both_parts() -> None:
    """One is the identity, the other zero: also at whole numbers, where neither part is smooth."""
    x = np.array([0.25, -1.5, 3.0, 0.0])
    (fraction, whole), pullback = mlirad.vjp(lambda x: np.modf(x), x)
    require_same_bits((fraction, whole), np.modf(x))
    np.testing.assert_array_equal(pullback((x, np.ones(4)))[0], x)
    _, (of_fraction, of_whole) = mlirad.jvp(lambda x: np.modf(x), (x,), (x,))
    np.testing.assert_array_equal(of_fraction, x)
    np.testing.assert_array_equal(of_whole, np.zeros(4))
