"""Reads: nothing. Writes: the coefficients of `mlirad/dialect/functions/special_tables.py`, of `bessel_tables.py`
beside it and of `mlirad/library/scipy/incomplete.py`, computed. Leaves: nothing.

`python tests/support/special_fits.py` prints the table: polynomials, lowest coefficient first, through the functions at
Chebyshev nodes in 40 digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath

mp: Any = mpmath.mp  # its functions are made when it is imported
mp.dps = 40
Function = Callable[[Any], Any]


def of_square(function: Function) -> Function:
    """A function of x^2 for one of x, at small x by its value near there."""
    return lambda z: function(mp.sqrt(z if z > mp.mpf(10) ** -16 else mp.mpf(10) ** -16))


def scaled_erfc(t: Any) -> Any:
    """(1 + 2x) e^(x^2) erfc(x) for t = (x - 4) / (x + 4)."""
    if t >= 1:
        return 2 / mp.sqrt(mp.pi)
    x = 4 * (1 + t) / (1 - t)
    tail = sum((-1) ** k * mp.fac2(2 * k - 1) / (2 * x * x) ** k for k in range(1, 12)) if x > 60 else 0
    return (1 + 2 * x) * ((1 + tail) / (x * mp.sqrt(mp.pi)) if x > 60 else mp.exp(x * x) * mp.erfc(x))


def stirling(z: Any) -> Any:
    """x (log gamma(x) - (x - 1/2) log x + x - log(2 pi) / 2) for z = 1 / x^2."""
    x = 1 / mp.sqrt(z if z > mp.mpf(10) ** -12 else mp.mpf(10) ** -12)
    return x * (mp.loggamma(x) - (x - 0.5) * mp.log(x) + x - mp.log(2 * mp.pi) / 2)


def log_gamma_near_two(t: Any) -> Any:
    t = t if abs(t) > mp.mpf(10) ** -15 else mp.mpf(10) ** -15
    return mp.loggamma(2 + t) / t


def inverse_erfc(w: Any) -> Any:
    """y with erfc(y) = e^(-w^2)."""
    return mp.findroot(lambda y: mp.log(mp.erfc(y)) + w * w, w * 0.95 - 0.2 if w > 1 else w * 0.7)


FITS: dict[str, tuple[Function, tuple[Any, Any], int]] = {
    "erf": (of_square(lambda x: mp.erf(x) / x - 1), (0, 1.01), 12),
    "erfcx": (scaled_erfc, (-0.8, 1), 25),
    "stirling": (stirling, (0, mp.mpf(1) / 63), 8),
    "log_gamma": (log_gamma_near_two, (-0.51, 0.51), 25),
    "gamma": (lambda t: mp.gamma(2 + t), (-0.51, 0.51), 21),
    "erfinv": (of_square(lambda x: mp.erfinv(x) / x), (0, 0.2501), 14),
    "log_gamma_beyond_two": (log_gamma_near_two, (0, 0.61), 16),
    "erfcinv_near": (inverse_erfc, (0.8, 3.2), 10),
    "erfcinv_far": (inverse_erfc, (3.1, 27.5), 14),
}


@dataclass(frozen=True)
class Temme:
    """Series of Fractions in eta, for eta^2/2 = mu - log(1 + mu): DLMF 8.12.7 to 8.12.11."""

    count: int = 24

    def slope(self) -> list[Fraction]:
        """eta / mu."""
        mu = [Fraction(0), Fraction(1)]
        for n in range(2, self.count):
            mixed = sum((mu[i] * mu[n + 1 - i] for i in range(2, n)), Fraction(0))
            mu.append((Fraction(2, n + 1) * mu[n - 1] - mixed) / 2)
        found = [Fraction(1)]
        for k in range(1, self.count - 2):
            found.append(-sum((mu[i + 1] * found[k - i] for i in range(1, k + 1)), Fraction(0)))
        return found

    def rows(self) -> list[list[float]]:
        """The coefficients of a^0, a^-1 and a^-2, as far as they count for a >= 1e5."""
        slope = self.slope()
        rows = [slope[1:]]
        for k, stirling in enumerate((Fraction(1, 12), Fraction(1, 288)), 1):
            before = rows[-1]
            total = [i * before[i] + (-1) ** k * stirling * slope[i - 1] for i in range(1, len(before))]
            rows.append(total[1:])
        return [[float(each) for each in row[:count]] for row, count in zip(rows, (13, 8, 5), strict=True)]


def _positive(z: Any, least: str) -> Any:
    return z if z > mp.mpf(least) else mp.mpf(least)


def without_zeros(order: int, count: int) -> Function:
    """J(x) / x^n over the factors x^2 - r^2 of its first zeros, for x^2 = 12.5 (1 + t)."""

    def of(t: Any) -> Any:
        square = 12.5 * (1 + t)
        x = mp.sqrt(_positive(square, "1e-30"))
        factors = [square - mp.besseljzero(order, k) ** 2 for k in range(1, count + 1)]
        return mp.besselj(order, x) / x**order / mp.fprod(factors)

    return of


def modulus(order: int, is_even: bool) -> Function:
    """P and Q x / 5 of DLMF 10.17.3 and 10.17.4 for z = 25 / x^2."""

    def of(z: Any) -> Any:
        x = 5 / mp.sqrt(_positive(z, "1e-8"))
        angle = x - (2 * order + 1) * mp.pi / 4
        j, y, cosine, sine = mp.besselj(order, x), mp.bessely(order, x), mp.cos(angle), mp.sin(angle)
        return mp.sqrt(mp.pi * x / 2) * (j * cosine + y * sine if is_even else (y * cosine - j * sine) * x / 5)

    return of


def y_rest(order: int) -> Function:
    """What is left of Y beside the logarithm and, of order 1, 1 / x, over x^n, for x^2 = 12.5 (1 + t)."""

    def of(t: Any) -> Any:
        x = mp.sqrt(_positive(12.5 * (1 + t), "1e-12"))
        return (mp.bessely(order, x) - 2 / mp.pi * (mp.log(x) * mp.besselj(order, x) - order / x)) / x**order

    return of


def k_rest(order: int) -> Function:
    """What is left of K beside the logarithm and, of order 1, 1 / x, over x^n, of the square."""

    def of(z: Any) -> Any:
        x = mp.sqrt(_positive(z, "1e-12"))
        logarithm = (-1) ** order * mp.log(x / 2) * mp.besseli(order, x)
        return (mp.besselk(order, x) + logarithm - order / x) / x**order

    return of


def scaled_far(function: Any, order: int, start: int, sign: int) -> Function:
    """sqrt(x) e^(sign x) times I or K for w = start / x."""

    def of(w: Any) -> Any:
        x = start / _positive(w, "1e-6")
        return function(order, x) * mp.exp(sign * x) * mp.sqrt(x)

    return of


BESSEL_FITS: dict[str, tuple[Function, tuple[Any, Any], int]] = {
    "j0": (without_zeros(0, 2), (-1, 1.01), 14),
    "j1": (without_zeros(1, 1), (-1, 1.01), 14),
    "p0": (modulus(0, True), (0, 1), 19),
    "q0": (modulus(0, False), (0, 1), 18),
    "p1": (modulus(1, True), (0, 1), 19),
    "q1": (modulus(1, False), (0, 1), 18),
    "y0": (y_rest(0), (-1, 1.01), 14),
    "y1": (y_rest(1), (-1, 1.01), 14),
    "i0": (scaled_far(mp.besseli, 0, 8, -1), (0, 1), 23),
    "i1": (scaled_far(mp.besseli, 1, 8, -1), (0, 1), 23),
    "k0": (k_rest(0), (0, 4.01), 10),
    "k1": (k_rest(1), (0, 4.01), 10),
    "k0_far": (scaled_far(mp.besselk, 0, 2, 1), (0, 1), 23),
    "k1_far": (scaled_far(mp.besselk, 1, 2, 1), (0, 1), 23),
}
ZEROS = {"zeros_of_j0": (0, 2), "zeros_of_j1": (1, 1)}


def zeros(order: int, count: int) -> list[tuple[float, float]]:
    """The first zeros of J, each in two parts."""
    exact = [mp.besseljzero(order, k) for k in range(1, count + 1)]
    return [(float(zero), float(zero - float(zero))) for zero in exact]


def table(fits: dict[str, tuple[Function, tuple[Any, Any], int]]) -> dict[str, list[float]]:
    return {name: [float(c) for c in reversed(mp.chebyfit(f, list(ends), n))] for name, (f, ends, n) in fits.items()}


if __name__ == "__main__":
    for name, values in table(FITS | BESSEL_FITS).items():
        print(f"{name.upper()} = (\n" + "".join(f"    {value!r},\n" for value in values) + ")")
        f, (low, high), _ = (FITS | BESSEL_FITS)[name]
        points = [low + (high - low) * mp.mpf(i) / 150 for i in range(151)]
        error = max(abs(mp.polyval(list(reversed(values)), x) - f(x)) for x in points)
        print(f"# error: {mp.nstr(error * 2**53, 3)} units of 2^-53")
    for name, (order, count) in ZEROS.items():
        print(f"{name.upper()} = {tuple(zeros(order, count))!r}")
    print(f"TEMME = {Temme().rows()!r}")
