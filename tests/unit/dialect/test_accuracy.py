"""Elementwise functions against 80-bit arithmetic: within 2 units in the last place, everywhere, as C99's Annex F."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import mlirad

Array = np.ndarray[Any, Any]
UNARY = (
    *(np.exp2, np.expm1, np.log2, np.log10, np.log1p, np.cbrt, np.tan, np.arcsin, np.arccos, np.arctan),
    *(np.sinh, np.cosh, np.arcsinh, np.arccosh, np.arctanh),
)
BINARY = (
    np.arctan2,
    np.hypot,
    np.power,
    np.logaddexp,
    np.logaddexp2,
    np.fmod,
    np.copysign,
    np.fmax,
    np.fmin,
    np.heaviside,
)
BITS = {np.float32: np.uint32, np.float64: np.uint64}

pytestmark = [
    pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="needs a long double of 80 bits as the reference"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]


def samples(dtype: Any, seed: int) -> Array:
    """All binades, denormals, infinities, nan and zeros of both signs, usual numbers, and ones with their
    neighbours."""
    draw = np.random.default_rng(seed)
    patterns = draw.integers(0, np.iinfo(BITS[dtype]).max, 3000, dtype=BITS[dtype]).view(dtype)
    usual = np.concatenate([draw.uniform(-size, size, 600) for size in (800, 100, 10, 1, 1e-2, 1e-6)]).astype(dtype)
    near_one = (1 + draw.uniform(-1, 1, 600) * 2.0 ** draw.uniform(-50, -1, 600)).astype(dtype)
    special = np.array([0, np.inf, np.nan, 1, 2, 0.5, 3, np.finfo(dtype).tiny, np.finfo(dtype).max, 1e-45, 1e30], dtype)
    mixed = np.concatenate([patterns, usual, near_one, -near_one, np.tile([*special, *-special], 40)])
    return draw.permutation(mixed)


def require_close(found: Array, wanted: Array, exact: Array, arguments: list[Array]) -> None:
    """Like NumPy where the result is zero or not finite, and otherwise within 2 units of the exact value."""
    assert found.dtype == wanted.dtype
    special = ~np.isfinite(wanted) | (wanted == 0) | (found == 0) | ~np.isfinite(found)
    units = np.abs(found - exact) / np.spacing(np.abs(exact).astype(found.dtype)).astype(np.longdouble)
    same = (np.isnan(found) & np.isnan(wanted)) | ((found == wanted) & (np.signbit(found) == np.signbit(wanted)))
    error = np.where(special & same, 0.0, np.where(np.isnan(units), np.inf, units))
    worst = int(np.argmax(error))
    place = [argument[worst] for argument in arguments]
    assert error[worst] <= 2, f"{place}: {found[worst]!r}, not {wanted[worst]!r}, off by {error[worst]} units"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ufunc", UNARY, ids=lambda ufunc: ufunc.__name__)
def test_functions_of_one_number(ufunc: np.ufunc, dtype: Any) -> None:
    x = samples(dtype, 1)
    require_close(mlirad.jit(lambda x: ufunc(x))(x), ufunc(x), ufunc(x.astype(np.longdouble)), [x])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ufunc", BINARY, ids=lambda ufunc: ufunc.__name__)
def test_functions_of_two_numbers(ufunc: np.ufunc, dtype: Any) -> None:
    x, y = samples(dtype, 1), samples(dtype, 2)
    y[:200] = x[:200]
    exact = ufunc(x.astype(np.longdouble), y.astype(np.longdouble))
    found = mlirad.jit(lambda x, y: ufunc(x, y))(x, y)
    if ufunc in (np.logaddexp, np.logaddexp2):  # near 0 what was added cancels, in NumPy too
        far = ~(np.abs(exact) < 1)
        x, y, found, exact = x[far], y[far], found[far], exact[far]
    if ufunc in (np.fmax, np.fmin):  # of 0.0 and -0.0, NumPy gives either
        found, exact = found + dtype(0), exact + dtype(0)
        require_close(found, ufunc(x, y) + dtype(0), exact, [x, y])
        return
    require_close(found, ufunc(x, y), exact, [x, y])


def test_signs_and_reciprocals_of_integers() -> None:
    x = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, -5e-324])
    for each in (x, x.astype(np.float32), np.array([-3, 0, 3])):
        np.testing.assert_array_equal(mlirad.jit(lambda x: np.signbit(x))(each), np.signbit(each))
    for dtype in (np.int8, np.uint8, np.int32, np.int64, np.uint64):
        each = np.array([1, -1, 2, -3, 0, 100]).astype(dtype)
        found = mlirad.jit(lambda x: np.reciprocal(x))(each)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, np.reciprocal(each))


def near(values: Array, ulps: float) -> Any:
    return pytest.approx(values, rel=ulps * np.finfo(float).eps, nan_ok=True)


def test_functions_of_the_module_math_on_numbers() -> None:
    def of_one(x):
        return (
            *(math.exp2(x), math.expm1(x), math.log2(x), math.log10(x), math.log1p(x), math.cbrt(x), math.tan(x)),
            *(math.asin(x), math.acos(x), math.atan(x), math.sinh(x), math.cosh(x), math.asinh(x), math.atanh(x)),
            *(math.acosh(x + 1), math.degrees(x), math.radians(x), math.hypot(x), math.copysign(x, -1.0)),
        )

    def of_several(x, y, z):
        return (
            *(math.atan2(x, y), math.hypot(x, y), math.hypot(x, y, z), math.fmod(x, y), math.copysign(x, y)),
            *(math.dist((x, y), (y, z)), math.prod([x, y, z]), math.isclose(x, y), math.isclose(x, x + 1e-12)),
        )

    for x in (0.3, 1e-9, 0.99):
        found = mlirad.jit(of_one)(x)
        assert found == near(of_one(x), 2) and all(type(each) is float for each in found)
    for arguments in ((0.3, -1.5, 2.0), (1e200, 1e201, -1e200), (-3.0, 1e-300, 0.0)):
        assert mlirad.jit(of_several)(*arguments) == near(of_several(*arguments), 3)


DERIVATIVES = {
    np.expm1: (lambda x: np.exp(x), [-50.0, -1e-12, 3.0]),
    np.log1p: (lambda x: 1 / (1 + x), [1e-18, -0.5, 1e300]),
    np.arcsin: (lambda x: 1 / np.sqrt((1 - x) * (1 + x)), [1 - 1e-12, -0.3, 0.0]),
    np.arcsinh: (lambda x: 1 / np.hypot(x, 1), [1e200, -1.0, 1e-200]),
    np.arccosh: (lambda x: 1 / (np.sqrt(x - 1) * np.sqrt(x + 1)), [1e200, 1 + 1e-12, 2.0]),
    np.arctanh: (lambda x: 1 / ((1 - x) * (1 + x)), [1 - 1e-12, 0.5, -1e-9]),
    np.cbrt: (lambda x: 1 / (3 * np.cbrt(x) ** 2), [1e-300, -8.0, 1e300]),
    np.log10: (lambda x: 1 / (x * np.log(10)), [1e-300, 1.0, 1e300]),
}


@pytest.mark.parametrize("ufunc", DERIVATIVES, ids=lambda ufunc: ufunc.__name__)
def test_derivatives_are_accurate_at_the_ends(ufunc: np.ufunc) -> None:
    derivative, points = DERIVATIVES[ufunc]
    x = np.array(points)
    np.testing.assert_allclose(mlirad.grad(lambda x: np.sum(ufunc(x)))(x), derivative(x), rtol=1e-15)


SECOND = {
    "hypot": (lambda x, y: np.hypot(x, y), 3.0, 4.0, 16 / 125),
    "arctan2": (lambda x, y: np.arctan2(x, y), 3.0, 4.0, -24 / 625),
    "logaddexp": (lambda x, y: np.logaddexp(x, y), 0.5, 0.5, 0.25),
    "logaddexp, far": (lambda x, y: np.logaddexp(x, y), -800.0, 900.0, 0.0),
    "logaddexp2": (lambda x, y: np.logaddexp2(x, y), 1.5, 1.5, np.log(2) / 4),
    "hypot of zeros": (lambda x, y: np.hypot(x, y), 0.0, 0.0, 0.0),
    "sinc": (lambda x, y: np.sinc(x) + y, 0.0, 1.0, -(np.pi**2) / 3),
    "sinc, near": (lambda x, y: np.sinc(x) + y, 1e-4, 1.0, -(np.pi**2) / 3 + np.pi**4 * 1e-8 / 10),
    "tan": (lambda x, y: np.tan(x) * y, 0.5, 2.0, 4 * np.tan(0.5) / np.cos(0.5) ** 2),
    "expm1": (lambda x, y: np.expm1(x * y), 0.5, 2.0, 4 * np.e),
    "copysign": (lambda x, y: np.copysign(x, y) * x, -2.0, -1.0, 2.0),
    "fmod": (lambda x, y: np.fmod(x, y) ** 2, 7.5, 2.0, 2.0),
    "fmax": (lambda x, y: np.fmax(x, y) ** 2, 7.5, np.nan, 2.0),
    "heaviside": (lambda x, y: np.heaviside(x, y) * x**2, 7.5, 2.0, 2.0),
}


@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives(name: str) -> None:
    """Reverse over reverse, and forward over reverse."""
    function, x, y, wanted = SECOND[name]
    first = mlirad.grad(function)
    assert mlirad.grad(first)(x, y) == pytest.approx(wanted, rel=1e-13, abs=1e-300)
    assert mlirad.jvp(first, (x, y), (1.0, 0.0))[1] == pytest.approx(wanted, rel=1e-13, abs=1e-300)
    backward = first(x, y)
    assert mlirad.jvp(function, (x, y), (1.0, 0.0))[1] == pytest.approx(backward, rel=1e-14)


def test_infinite_sums_weigh_their_larger_part() -> None:
    gradient = mlirad.grad(lambda x, y: np.logaddexp(x, y), (0, 1))
    assert gradient(-np.inf, -np.inf) == (0.5, 0.5)
    assert gradient(-np.inf, 2.0) == (0.0, 1.0)
    assert gradient(2.0, np.inf) == (0.0, 1.0)


def test_a_zero_cotangent_stays_zero_where_the_slope_is_infinite() -> None:
    def f(x):
        return np.sum(np.where(x < 1, np.arcsin(x), 0.0) + np.where(x > 0, np.log1p(x - 1.0), 0.0))

    np.testing.assert_allclose(mlirad.grad(f)(np.array([0.0, 1.0])), [1.0, 1.0])
