"""scipy.special: incomplete gamma and beta functions, and distributions computed with them.

Each element is computed in a loop of its own. Derivatives, including those with respect to the first arguments, are the
derivatives of these loops. So the number of steps never depends on whether a value has converged: its derivative might
not have.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mlirad.library.scipy.special_functions import NARROW_FIRST, floats, log_beta, stirling_rest, wide
from mlirad.library.spells import spells

_HUGE = 1e5
_LOG_GAMMA = (
    0.42278433509846713,
    0.3224670334241132,
    -0.06735230105319696,
    0.02058080842772224,
    -0.007385551026857914,
    0.0028905102986444367,
    -0.0011927535380974515,
    0.0005096665074614894,
    -0.00022313726937587665,
    9.938317458948398e-05,
    -4.469164776625438e-05,
    1.9954941181852075e-05,
    -8.4711439178651e-06,
    3.118992823123208e-06,
    -8.446511559007432e-07,
    1.2007448580132613e-07,
)
_TEMME = (
    (
        -0.3333333333333333,
        0.08333333333333333,
        -0.014814814814814815,
        0.0011574074074074073,
        0.0003527336860670194,
        -0.0001787551440329218,
        3.919263178522438e-05,
        -2.185448510679992e-06,
        -1.85406221071516e-06,
        8.296711340953087e-07,
        -1.7665952736826078e-07,
        6.707853543401498e-09,
        1.0261809784240309e-08,
    ),
    (
        -0.001851851851851852,
        -0.003472222222222222,
        0.0026455026455026454,
        -0.0009902263374485596,
        0.00020576131687242798,
        -4.018775720164609e-07,
        -1.8098550334489977e-05,
        7.64916091608111e-06,
    ),
    (
        0.004133597883597883,
        -0.0026813271604938273,
        0.0007716049382716049,
        2.0093878600823047e-06,
        -0.0001073665322636516,
    ),
)


def _each(function: Callable[..., Any], *values: Any, narrow: bool = NARROW_FIRST) -> Any:
    """A function of numbers, applied to each element."""
    held = floats(*values, narrow=narrow)
    arrays = np.broadcast_arrays(*[wide(each) for each in held])
    flat = [np.ravel(each) for each in arrays]
    found = np.empty(flat[0].size)
    for place in range(found.size):
        found[place] = function(*[each[place] for each in flat])
    return found.reshape(arrays[0].shape).astype(held[0].dtype)[()]


def _polynomial(x: float, coefficients: Any) -> float:
    """A polynomial; lowest coefficient first."""
    total = 0.0
    for place in range(coefficients.size - 1, -1, -1):
        total = total * x + coefficients[place]
    return total


# --- gamma ------------------------------------------------------------------------------------------------------


def _distance(m: Any) -> Any:
    """2 (m - log(1 + m)) / m^2 for |m| < 0.4, by log(1 + m) = 2 atanh(s) for s = m / (2 + m)."""
    scale = 1.0 / (2.0 + m)
    square = m * scale * (m * scale)
    atanh = _polynomial(square, 1.0 / np.arange(3.0, 29.0, 2.0))
    return 2.0 * scale * (1.0 - 2.0 * (m * scale) * scale * atanh)


def _rest_of_log(m: float) -> float:
    """m - log(1 + m)."""
    return 0.5 * m * m * _distance(m) if abs(m) < 0.4 else m - math.log1p(m)


def _weight(a: float, x: float) -> float:
    """x^a e^-x / gamma(a + 1)."""
    if a < 100.0 and x < 700.0:
        return x**a * math.exp(-x) / math.gamma(a + 1.0)
    if a < 20.0:
        return math.exp(a * math.log(x) - x - math.lgamma(a + 1.0))
    return math.exp(-a * _rest_of_log((x - a) / a) - stirling_rest(a)) / math.sqrt(2.0 * math.pi * a)


def _lower(a: float, x: float) -> float:
    """P by its series of positive terms; for x below a, or small."""
    total, term, k = 1.0, 1.0, a
    while term > 1e-19 * total:
        k += 1.0
        term *= x / k
        total += term
    return _weight(a, x) * total


def _upper(a: float, x: float) -> float:
    """Q by its continued fraction, for x above a and 1."""
    found = 0.0
    for i in range(int(12.0 + 85.0 / x + 4.0 * math.sqrt(a)), 0, -1):
        found = i * (a - i) / (x + 2.0 * i + 1.0 - a + found)
    return _weight(a, x) * a / (x + 1.0 - a + found)


def _upper_of_small(a: float, x: float) -> float:
    """Q for small a and x, where it is the difference of numbers near 1."""
    power = a * math.log(x) - (a * _polynomial(a, np.array(_LOG_GAMMA)) - math.log1p(a))
    total, term = 0.0, 1.0
    for k in range(1, 22):
        term *= -x / k
        total += term / (a + k)
    return -math.expm1(power) - math.exp(power) * a * total


def _of_huge(a: float, x: float, sign: float) -> float:
    """P (sign -1) or Q (1) for large a: Temme's expansion, DLMF 8.12.3. Far from a they are 0 and 1."""
    m = max(-0.4, min(0.4, (x - a) / a))
    eta = m * math.sqrt(_distance(m))
    first, second, third = (_polynomial(eta, np.array(each)) for each in _TEMME)
    rest = first + (second + third / a) / a
    rest *= math.exp(-0.5 * a * eta * eta) / math.sqrt(2.0 * math.pi * a)
    return 0.5 * math.erfc(sign * eta * math.sqrt(0.5 * a)) + sign * rest


def _gammainc(a: float, x: float) -> float:
    if not (a >= 0.0 and x >= 0.0) or (a == 0.0 and x == 0.0) or (a == math.inf and x == math.inf):
        return math.nan
    if x == 0.0 or a == math.inf:
        return 0.0
    if a == 0.0 or x == math.inf:
        return 1.0
    if a > _HUGE:
        return _of_huge(a, x, -1.0)
    return _lower(a, x) if x <= a or x < 1.1 else 1.0 - _upper(a, x)


def _gammaincc(a: float, x: float) -> float:
    if not (a >= 0.0 and x >= 0.0) or (a == 0.0 and x == 0.0) or (a == math.inf and x == math.inf):
        return math.nan
    if x == 0.0 or a == math.inf:
        return 1.0
    if a == 0.0 or x == math.inf:
        return 0.0
    if a > _HUGE:
        return _of_huge(a, x, 1.0)
    if x >= 1.1 and x > a:
        return _upper(a, x)
    return _upper_of_small(a, x) if a < 0.6 else 1.0 - _lower(a, x)


@spells("scipy.special.gammainc")
def gammainc(a: Any, x: Any, /) -> Any:
    return _each(_gammainc, a, x)


@spells("scipy.special.gammaincc")
def gammaincc(a: Any, x: Any, /) -> Any:
    return _each(_gammaincc, a, x)


@spells("scipy.special.chdtr")
def chdtr(v: Any, x: Any, /) -> Any:
    """Chi-square distribution: the cumulative distribution function."""
    return _each(lambda v, x: _gammainc(0.5 * v, 0.5 * x), v, x, narrow=True)


@spells("scipy.special.chdtrc")
def chdtrc(v: Any, x: Any, /) -> Any:
    return _each(lambda v, x: _gammaincc(0.5 * v, 0.5 * x), v, x, narrow=True)


# --- beta -------------------------------------------------------------------------------------------------------


def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction DLMF 8.17.22, from its end."""
    found = 0.0
    for m in range(int(30.0 + 3.0 * math.sqrt(max(a, b))), 0, -1):
        odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        found = even / (1.0 + odd / (1.0 + found))
    first = -(a + b) * x / (a + 1.0)
    return 1.0 / (1.0 + first / (1.0 + found))


def _beta_weight(a: float, b: float, x: float, y: float) -> float:
    """x^a y^b / B(a, b), for y = 1 - x."""
    if a + b < 100.0:
        total = a + b
        small, large = (a, b) if a < b else (b, a)
        lost = small - (total - large)
        ratio = math.gamma(total) * (1.0 + lost * math.log(1.0 + total)) / (math.gamma(a) * math.gamma(b))
        return x**a * y**b * ratio
    if min(a, b) < 20.0:
        return math.exp(a * math.log(x) + b * math.log(y) - log_beta(a, b))
    total = a + b
    exponent = a * _rest_of_log((x * total - a) / a) + b * _rest_of_log((y * total - b) / b)
    exponent += stirling_rest(a) + stirling_rest(b) - stirling_rest(total)
    return math.exp(-exponent) * math.sqrt(a / total * b / (2.0 * math.pi))


def _betainc(a: float, b: float, x: float, y: float) -> float:
    """I_x(a, b) for y = 1 - x."""
    if not (a >= 0.0 and b >= 0.0 and x >= 0.0 and y >= 0.0) or (a == 0.0 and b == 0.0):
        return math.nan
    if x == 0.0 or y == 0.0:
        return 0.0 if x == 0.0 else 1.0
    if a == 0.0 or b == 0.0:
        return 1.0 if a == 0.0 else 0.0
    if a == math.inf or b == math.inf:
        return math.nan if a == b else (0.0 if a == math.inf else 1.0)
    weight = _beta_weight(a, b, x, y)
    if x * (a + b + 2.0) < a + 1.0:
        return weight * _beta_fraction(a, b, x) / a
    return 1.0 - weight * _beta_fraction(b, a, y) / b


@spells("scipy.special.betainc")
def betainc(a: Any, b: Any, x: Any, /) -> Any:
    return _each(lambda a, b, x: _betainc(a, b, x, 1.0 - x), a, b, x, narrow=True)


@spells("scipy.special.betaincc")
def betaincc(a: Any, b: Any, x: Any, /) -> Any:
    return _each(lambda a, b, x: _betainc(b, a, 1.0 - x, x), a, b, x, narrow=True)


def _stdtr(df: float, t: float) -> float:
    """Student's t distribution, as a beta function of df / (df + t^2)."""
    if not df > 0.0:
        return math.nan
    square = t * t
    if df == math.inf:
        return 0.5 * math.erfc(-t * math.sqrt(0.5))
    if square == math.inf:
        return 1.0 if t > 0.0 else 0.0
    tail = 0.5 * _betainc(0.5 * df, 0.5, df / (df + square), square / (df + square))
    return 1.0 - tail if t > 0.0 else tail


@spells("scipy.special.stdtr")
def stdtr(df: Any, t: Any, /) -> Any:
    return _each(_stdtr, df, t, narrow=True)


@spells("scipy.special.fdtr")
def fdtr(dfn: Any, dfd: Any, x: Any, /) -> Any:
    """Fisher-Snedecor F distribution: the cumulative distribution function."""
    return _each(lambda n, d, x: _fdtr(n, d, x, 0.0), dfn, dfd, x, narrow=True)


@spells("scipy.special.fdtrc")
def fdtrc(dfn: Any, dfd: Any, x: Any, /) -> Any:
    return _each(lambda n, d, x: _fdtr(n, d, x, 1.0), dfn, dfd, x, narrow=True)


def _fdtr(n: float, d: float, x: float, upper: float) -> float:
    if not (n > 0.0 and d > 0.0 and x >= 0.0):
        return math.nan
    if x == math.inf:
        return 1.0 - upper
    below, above = n * x / (d + n * x), d / (d + n * x)
    return _betainc(0.5 * d, 0.5 * n, above, below) if upper else _betainc(0.5 * n, 0.5 * d, below, above)
