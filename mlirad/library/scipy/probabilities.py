"""scipy.special: functions of probabilities and their logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.scipy.special_functions import floats
from mlirad.library.spells import spells


@spells("scipy.special.expit")
def expit(x: Any, /) -> Any:
    """1 / (1 + e^-x), with e raised only to powers that are not positive."""
    x = floats(x)
    is_right = x >= 0.0
    power = np.exp(np.where(is_right, -x, x))
    return np.where(is_right, 1.0, power) / (1.0 + power)


@spells("scipy.special.log_expit")
def log_expit(x: Any, /) -> Any:
    x = floats(x)
    is_right = x >= 0.0
    return np.where(is_right, 0.0, x) - np.log1p(np.exp(np.where(is_right, -x, x)))


@spells("scipy.special.logit")
def logit(x: Any, /) -> Any:
    """log(x / (1 - x)); near 1/2, log1p of the excess of the ratio over 1."""
    x = floats(x, narrow=False)
    is_near = (x > 0.3) & (x < 0.65)
    near, far = np.where(is_near, x, 0.5), np.where(is_near, 0.25, x)
    return np.where(is_near, np.log1p(2.0 * (near - 0.5) / (1.0 - near)), np.log(far / (1.0 - far)))[()]


@spells("scipy.special.logsumexp")
def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False) -> Any:
    """The largest exponent m, and the log of the sum of b e^(a - m)."""
    x = np.asarray(a)
    x = x if x.dtype.kind == "f" else x.astype(np.float64)
    largest = np.max(x, axis=axis, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0.0)
    powers = np.exp(x - largest) if b is None else b * np.exp(x - largest)
    total = np.log(np.sum(powers, axis=axis, keepdims=True)) + largest
    return total if keepdims else total.sum(axis=axis)


@spells("scipy.special.softmax")
def softmax(x: Any, axis: Any = None) -> Any:
    x = np.asarray(x)
    powers = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return powers / np.sum(powers, axis=axis, keepdims=True)


@spells("scipy.special.log_softmax")
def log_softmax(x: Any, axis: Any = None) -> Any:
    x = np.asarray(x)
    largest = np.max(x, axis=axis, keepdims=True)
    moved = x - np.where(np.isfinite(largest), largest, np.zeros_like(largest))
    return moved - np.log(np.sum(np.exp(moved), axis=axis, keepdims=True))


@spells("scipy.special.xlogy")
def xlogy(x: Any, y: Any, /) -> Any:
    """0 if x is 0, for any y except nan."""
    x, y = floats(x, y)
    is_zero = (x == 0.0) & ((y <= 0.0) | (y == np.inf))  # elsewhere the derivative contains the logarithm
    found = x * np.log(np.where(is_zero, 1.0, y))
    return np.where(x == 0.0, found + 0.0, found)[()]


@spells("scipy.special.xlog1py")
def xlog1py(x: Any, y: Any, /) -> Any:
    x, y = floats(x, y)
    is_zero = (x == 0.0) & ((y <= -1.0) | (y == np.inf))
    found = x * np.log1p(np.where(is_zero, 0.0, y))
    return np.where(x == 0.0, found + 0.0, found)[()]


@spells("scipy.special.entr")
def entr(x: Any, /) -> Any:
    """-x log x; 0 for 0, and -inf for negative x."""
    x = floats(x, narrow=True)
    inside = np.where(x > 0.0, x, 1.0)
    return np.where(x > 0.0, -inside * np.log(inside), np.where(x < 0.0, -np.inf, x))[()]


@spells("scipy.special.rel_entr")
def rel_entr(x: Any, y: Any, /) -> Any:
    """x log(x / y); 0 if x is 0 and y >= 0, otherwise inf unless both are positive."""
    is_inside, a, b, outside = _inside(x, y)
    is_near = (a > 0.5 * b) & (a < 2.0 * b)
    logarithm = np.where(is_near, np.log1p(np.where(is_near, (a - b) / b, 0.0)), np.log(a / b))
    return np.where(is_inside, a * logarithm, outside)[()]


def _inside(x: Any, y: Any) -> tuple[Any, Any, Any, Any]:
    """Whether both are positive, both numbers (1 where they are not), and the result elsewhere: x, nan or inf."""
    dtype = np.result_type(x, y, np.float32)
    x, y = np.asarray(x, dtype=dtype), np.asarray(y, dtype=dtype)
    is_inside = (x > 0.0) & (y > 0.0)
    outside = np.where((x == 0.0) & (y >= 0.0), x, np.where(np.isnan(x) | np.isnan(y), x + y, np.inf))
    return is_inside, np.where(is_inside, x, 1.0), np.where(is_inside, y, 1.0), outside


@spells("scipy.special.kl_div")
def kl_div(x: Any, y: Any, /) -> Any:
    """x log(x / y) - x + y; y if x is 0 and y >= 0, otherwise inf unless both are positive."""
    is_inside, a, b, outside = _inside(x, y)
    c, d = a.astype(np.float64), b.astype(np.float64)
    found = (c * np.log(c / d) - c + d).astype(a.dtype)
    return np.where(is_inside, found, np.where(outside == 0.0, y, outside))[()]


@spells("scipy.special.exprel")
def exprel(x: Any, /) -> Any:
    """(e^x - 1) / x; near 0 by its series, which has finite derivatives."""
    x = floats(x)
    is_near = np.abs(x) < 1e-3
    near, far = np.where(is_near, x, 0.0), np.where(is_near | (x == np.inf), 1.0, x)
    series = 1.0 + near / 2 * (1.0 + near / 3 * (1.0 + near / 4 * (1.0 + near / 5 * (1.0 + near / 6))))
    return np.where(is_near, series, np.where(x == np.inf, x, np.expm1(far) / far))[()]


@spells("scipy.special.log1p")
def log1p(x: Any, /) -> Any:
    return np.log1p(floats(x))


@spells("scipy.special.expm1")
def expm1(x: Any, /) -> Any:
    return np.expm1(floats(x))


@spells("scipy.special.exp2")
def exp2(x: Any, /) -> Any:
    return np.exp2(floats(x))


@spells("scipy.special.exp10")
def exp10(x: Any, /) -> Any:
    return np.power(10.0, floats(x))


@spells("scipy.special.cbrt")
def cbrt(x: Any, /) -> Any:
    return np.cbrt(floats(x))


@spells("scipy.special.softplus")
def softplus(x: Any) -> Any:
    return np.logaddexp(0, x)
