"""np.frexp, np.ldexp, np.nextafter, np.spacing, np.bitwise_count and powers of integers: NumPy's bits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import mlirad

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(5)


def of_parts(x: Any, y: Any, n: Any, m: Any) -> Any:
    mantissa, exponent = np.frexp(x)
    return mantissa, exponent, np.ldexp(x, n), np.ldexp(x, m), np.nextafter(x, y), np.spacing(x), np.conj(x), x.conj()


def require_bits(found: Any, wanted: Any) -> None:
    for own, other in zip(found, wanted, strict=True):
        assert type(own) is type(other) and own.dtype == other.dtype
        np.testing.assert_array_equal(own, other)
        np.testing.assert_array_equal(
            np.signbit(own * 1.0)[~np.isnan(other)], np.signbit(other * 1.0)[~np.isnan(other)]
        )


@pytest.mark.parametrize(("dtype", "bits"), [(np.float32, np.uint32), (np.float64, np.uint64)])
def test_bits_of_all_binades(dtype: Any, bits: Any) -> None:
    x = RNG.integers(0, np.iinfo(bits).max, 3000, dtype=bits).view(dtype)
    special = [0.0, np.inf, np.nan, 1, np.finfo(dtype).max, np.finfo(dtype).tiny, np.finfo(dtype).smallest_subnormal]
    x[:210] = np.tile(np.array([*special, *(-each for each in special), 2.5]).astype(dtype), 14)
    y = RNG.permutation(x)
    y[100:200] = x[100:200]
    n = RNG.integers(-2300, 2300, x.size).astype(np.int32)
    n[:60] = RNG.integers(-(2**31), 2**31, 60)
    kernel = mlirad.jit(of_parts)
    with np.errstate(all="ignore"):
        for part in (slice(None), slice(7, None, 3), slice(None, None, -2), slice(0, 0)):
            arguments = x[part], y[part], n[part], n[part] // 9
            require_bits(kernel(*arguments), of_parts(*arguments))
        arguments = x[7], y[7], n[7], n[7] // 9
        require_bits(kernel(*arguments), of_parts(*arguments))


def test_of_python_numbers() -> None:
    def of_numbers(x: float, n: int) -> Any:
        return (*math.frexp(x), math.ldexp(x, n), math.nextafter(x, 9.0), math.ulp(x), math.nextafter(n, x))

    for x, n in ((0.7, 3), (-5e-324, -2), (0.0, 10**6), (math.inf, -5), (1e300, -(2**62)), (3, 2)):
        found, wanted = mlirad.jit(of_numbers)(x, n), of_numbers(x, n)
        assert found == wanted and list(map(type, found)) == list(map(type, wanted))


def test_derivatives() -> None:
    """x = m 2**e: m has the derivative 2**-e; the next number moves with x; e and the unit have no derivative."""

    def f(x: Any) -> Any:
        mantissa, exponent = np.frexp(x)
        return np.sum(
            mantissa**2 * exponent + np.ldexp(x, 3) ** 2 + np.nextafter(x, 0.0) * x + np.spacing(x) * exponent
        )

    x = np.array([0.3, 5.0, -2.7])
    size, power = np.frexp(x)
    wanted = 2 * size * power * 2.0**-power + 128 * x + 2 * x
    np.testing.assert_allclose(mlirad.grad(f)(x), wanted, rtol=1e-14)
    second = mlirad.jvp(mlirad.grad(f), (x,), (np.ones(3),))[1]
    np.testing.assert_allclose(second, 2 * power * 4.0**-power + 130, rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64])
def test_integers(dtype: Any) -> None:
    def of_integers(x: Any, n: Any) -> Any:
        return np.bitwise_count(x), x**n, np.power(x[0], n), x[1, 2] ** n[0], np.power(x, n[1]), x.conj()

    x, n = RNG.integers(-128, 127, (4, 6)).astype(dtype), RNG.integers(0, 120, 6).astype(dtype)
    x[0, 0] = np.iinfo(dtype).min
    if dtype == np.uint64:
        n[0] = 2**63 + 5
    for arguments in ((x, n), (x[::-2, ::-1], n)):
        require_bits(mlirad.jit(of_integers)(*arguments), of_integers(*arguments))
    if np.dtype(dtype).kind == "i":
        n[3] = -1
        with pytest.raises(ValueError, match=r"Integers to negative integer powers are not allowed\."):
            mlirad.jit(of_integers)(x, n)
