"""scipy.special: error functions, gamma functions and functions built from them."""

from __future__ import annotations

import math
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from mlirad.library import primitives
from mlirad.library.spells import spells


def _version() -> tuple[int, ...]:
    """SciPy's version, found without importing SciPy: that would start the threads of its own BLAS."""
    try:
        return tuple(map(int, version("scipy").split(".")[:2]))
    except PackageNotFoundError:  # then nothing here is called
        return ()


NARROW_FIRST = _version() >= (1, 18)
"""Whether SciPy's float32 loops come first, for all functions except logit."""

_ROOT_HALF = math.sqrt(0.5)


def floats(*values: Any, narrow: bool = NARROW_FIRST) -> Any:
    """The arguments in the dtype that SciPy computes in: float32 if all are, else float64.

    narrow: float32 also if float32 holds all dtypes, and next to Python numbers. This applies to functions with the
    float32 loop first.
    """
    dtypes = [np.asarray(value).dtype for value in values if not _is_weak(value)]
    has_numbers = len([each for each in dtypes if each.kind != "b"]) > 0  # bools next to a Python number are not narrow
    is_narrow = len(dtypes) > 0 and (len(dtypes) == len(values) or (narrow and has_numbers))
    is_narrow = is_narrow and all(each == np.float32 or (narrow and _is_small(each)) for each in dtypes)
    found = [np.asarray(value, dtype=np.float32 if is_narrow else np.float64) for value in values]
    return found[0] if len(values) == 1 else found


def _is_weak(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, (bool, np.generic))


def _is_small(dtype: Any) -> bool:
    return dtype.kind == "b" or dtype.itemsize <= 2


def wide(x: Any) -> Any:
    return x.astype(np.float64)


@spells("scipy.special.erf")
def erf(z: Any, /) -> Any:
    return primitives.erf(floats(z))


@spells("scipy.special.erfc")
def erfc(x: Any, /) -> Any:
    return primitives.erfc(floats(x))


@spells("scipy.special.erfcx")
def erfcx(x: Any, /) -> Any:
    return primitives.erfcx(floats(x))


@spells("scipy.special.erfinv")
def erfinv(y: Any, /) -> Any:
    return primitives.erfinv(floats(y, narrow=True))


@spells("scipy.special.erfcinv")
def erfcinv(y: Any, /) -> Any:
    return primitives.erfcinv(floats(y, narrow=True))


@spells("scipy.special.ndtr")
def ndtr(x: Any, /) -> Any:
    x = floats(x)
    return (0.5 * primitives.erfc(-_ROOT_HALF * wide(x))).astype(x.dtype)


@spells("scipy.special.log_ndtr")
def log_ndtr(x: Any, /) -> Any:
    """log(erfc(t) / 2) for t = -x / sqrt(2): in the left tail by the scaled function, -t^2 + log(erfcx(t) / 2)."""
    x = floats(x)
    t = -_ROOT_HALF * wide(x)
    is_left = t > 0.7
    left, right = np.where(is_left, t, 1.0), np.where(is_left, 0.0, t)
    tail = np.log(0.5 * primitives.erfcx(left)) - left * left
    return np.where(is_left, tail, np.log1p(-0.5 * primitives.erfc(-right))).astype(x.dtype)[()]


@spells("scipy.special.ndtri")
def ndtri(y: Any, /) -> Any:
    y = floats(y, narrow=True)
    return (-math.sqrt(2.0) * primitives.erfcinv(2.0 * wide(y))).astype(y.dtype)


@spells("scipy.special.gamma")
def gamma(z: Any, /) -> Any:
    return primitives.gamma(floats(z))


@spells("scipy.special.gammaln")
def gammaln(x: Any, /) -> Any:
    x = floats(x)
    return np.where(x == -np.inf, x, primitives.lgamma(x))[()]


@spells("scipy.special.loggamma")
def loggamma(z: Any, /) -> Any:
    """log(gamma(x)) for real numbers: nan where the gamma function is negative or has a pole, except at 0."""
    z = floats(z)
    return np.where(z >= 0.0, primitives.lgamma(z), np.nan)[()]


@spells("scipy.special.rgamma")
def rgamma(z: Any, /) -> Any:
    z = floats(z)
    whole = np.floor(z)
    is_pole = (z <= 0.0) & (z == whole)
    # The function is 0 there, and its derivatives are those of sin(pi z) / pi times gamma(1 - z).
    near = np.where(is_pole & (z > -170.0), z, 0.0)
    sine = np.sin(np.pi * np.where(z == 0.0, near, near - np.floor(near)))
    at_pole = primitives.gamma(1.0 - near) / np.pi * sine
    at_pole = np.where(whole % 2.0 == 0.0, at_pole, 0.0 - at_pole)
    return np.where(is_pole, at_pole, 1.0 / primitives.gamma(np.where(is_pole, 1.0, z)))[()]


@spells("scipy.special.psi")
def psi(z: Any, /) -> Any:
    return primitives.polygamma(0, floats(z))


@spells("scipy.special.polygamma")
def polygamma(n: int, x: Any) -> Any:
    return np.asarray(primitives.polygamma(n, wide(floats(x))))


@spells("scipy.special.beta")
def beta(a: Any, b: Any, /) -> Any:
    """gamma(a) gamma(b) / gamma(a + b); where they might overflow, e to the power of its logarithm."""
    x, y = floats(a, b)
    a, b, factor = _off_poles(wide(x), wide(y))
    is_large = np.maximum(a, b) > 50.0
    first, second = np.where(is_large, 1.0, a), np.where(is_large, 1.0, b)
    total = first + second
    is_zero = _is_pole(total)
    ratio = primitives.gamma(first) * (primitives.gamma(second) / primitives.gamma(np.where(is_zero, 1.0, total)))
    ratio = np.where(is_zero, 0.0, ratio)
    far = np.exp(log_beta(*[np.where(is_large, each, 60.0) for each in (a, b)]))
    return (np.where(is_large, far, ratio) * factor).astype(x.dtype)[()]


def _is_pole(x: Any) -> Any:
    """Whether gamma has a pole: 0, -1, ..."""
    return (x <= 0.0) & (x == np.floor(x))


def _off_poles(a: Any, b: Any) -> Any:
    """Arguments and a factor that make beta right at the poles of gamma, and at infinity. For positive integers n up to
    -a, beta(a, n) equals beta(1 - a - n, n) times (-1)**n. At other poles it is infinite, and so it is in SciPy for
    integers beyond 32 bits."""
    is_first, is_second = _is_pole(a), _is_pole(b)
    pole, other = np.where(is_first, a, b), np.where(is_first, b, a)
    is_pole = is_first | is_second
    rest = 1.0 - pole - other
    is_whole = is_pole & (other == np.floor(other)) & (np.abs(other) < 2.0**31) & (pole > -(2.0**31)) & (rest > 0.0)
    is_finite = is_whole & (other > 0.0)
    sign = np.where(is_whole & (other % 2.0 != 0.0), -1.0, 1.0)
    is_endless = (((a == np.inf) & (b < np.inf)) | ((b == np.inf) & (a < np.inf))) & ~is_pole
    of_endless = np.where((a > 0.0) & (b > 0.0), 0.0, np.inf)
    factor = np.where(is_pole & ~is_finite, np.inf, np.where(is_endless, of_endless, 1.0)) * sign
    is_one = is_pole | is_endless
    first = np.where(is_finite, rest, np.where(is_one, 1.0, a))
    return first, np.where(is_finite, other, np.where(is_one, 1.0, b)), factor


@spells("scipy.special.betaln")
def betaln(a: Any, b: Any, /) -> Any:
    x, y = floats(a, b)
    a, b, factor = _off_poles(wide(x), wide(y))
    found = np.where(factor == 0.0, -np.inf, log_beta(a, b))
    return np.where(np.isinf(factor), np.inf, found).astype(x.dtype)[()]


def log_beta(x: Any, y: Any) -> Any:
    """The logarithm of beta. If the larger argument is large, terms that cancel in log(gamma(b) / gamma(a + b)) are
    left out."""
    is_less = x < y  # not np.minimum and np.maximum, which halve the derivatives where x and y are equal
    a, b = np.where(is_less, x, y), np.where(is_less, y, x)
    is_large = (b > 20.0) & (a > 0.0)
    near, below, above = np.where(is_large, 1.0, b), np.where(is_large, a, 1.0), np.where(is_large, b, 30.0)
    plain = primitives.lgamma(a) + (primitives.lgamma(near) - primitives.lgamma(a + near))
    total = below + above
    ratio = below - (above - 0.5) * np.log1p(below / above) - below * np.log(total)
    rest = stirling_rest(above) - stirling_rest(total)
    found = np.where(is_large, primitives.lgamma(below) + (ratio + rest), plain)
    # Next to a large b, a negative a is lost in a + b.
    is_far = (a < 0.0) & (b > 1e6) & (b > -1e6 * a)
    small, far = np.where(is_far, a, -0.5), np.where(is_far, b, 1e7)
    product = small * (1.0 - small)
    series = product / (2.0 * far) * (1.0 + (1.0 - 2.0 * small) / (6.0 * far) - product / (6.0 * far * far))
    return np.where(is_far, primitives.lgamma(small) - small * np.log(far) + series, found)


def stirling_rest(x: Any) -> Any:
    """log gamma(x) - (x - 1/2) log x + x - log(2 pi) / 2 for x > 20, by Stirling's series."""
    z = 1.0 / (x * x)
    return (1 / 12 + z * (-1 / 360 + z * (1 / 1260 + z * (-1 / 1680 + z / 1188)))) / x
