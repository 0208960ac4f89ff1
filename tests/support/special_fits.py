"""Reads: nothing. Writes: the coefficients of `mlirad/dialect/functions/special_tables.py`, computed. Leaves: nothing.

`python tests/support/special_fits.py` prints the table: polynomials, lowest coefficient first, through the functions at
Chebyshev nodes in 40 digits.
"""

from __future__ import annotations

from collections.abc import Callable
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
    "erfcinv_near": (inverse_erfc, (0.8, 3.2), 10),
    "erfcinv_far": (inverse_erfc, (3.1, 27.5), 14),
}


def table() -> dict[str, list[float]]:
    return {name: [float(c) for c in reversed(mp.chebyfit(f, list(ends), n))] for name, (f, ends, n) in FITS.items()}


if __name__ == "__main__":
    for name, values in table().items():
        print(f"{name.upper()} = (\n" + "".join(f"    {value!r},\n" for value in values) + ")")
        f, (low, high), _ = FITS[name]
        points = [low + (high - low) * mp.mpf(i) / 150 for i in range(151)]
        error = max(abs(mp.polyval(list(reversed(values)), x) - f(x)) for x in points)
        print(f"# error: {mp.nstr(error * 2**53, 3)} units of 2^-53")
