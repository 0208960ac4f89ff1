"""Methods of `numpy.random.Generator` that draw real numbers.

A location and a scale are applied to numbers from the standard distribution, as in NumPy's C functions. So derivatives
with respect to them keep the same random numbers (reparametrisation).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.random.draws import as_drawn, each_real, filled, real, shape_of_draw, standard
from mlirad.library.random.parameters import require_non_negative, require_positive


def random(self: Any, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
    return filled(self, "standard_uniform", size, dtype, out, "random")


def standard_normal(self: Any, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
    return filled(self, "standard_normal", size, dtype, out, "standard_normal")


def standard_exponential(
    self: Any, size: Any = None, dtype: Any = np.float64, method: str = "zig", out: Any = None
) -> Any:
    function = "standard_exponential" if method == "zig" else "standard_exponential_inv"
    return filled(self, function, size, dtype, out, "standard_exponential")


def uniform(self: Any, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    low, high = real(low), real(high)
    shape, width = shape_of_draw(size, low, high), high - low
    if not np.all(np.isfinite(width)):
        is_number = np.ndim(width) == 0
        raise OverflowError("high - low range exceeds valid bounds" if is_number else "Range exceeds valid bounds")
    require_non_negative(width, "high - low")
    return as_drawn(low + width * standard(self, "standard_uniform", shape), shape)


def normal(self: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    return _moved(self, "standard_normal", loc, scale, size)


def laplace(self: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    return _moved(self, "laplace", loc, scale, size, 0.0, 1.0)


def logistic(self: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    return _moved(self, "logistic", loc, scale, size, 0.0, 1.0)


def gumbel(self: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    return _moved(self, "gumbel", loc, scale, size, 0.0, 1.0)


def _moved(rng: Any, function: str, loc: Any, scale: Any, size: Any, *constants: float) -> Any:
    """loc + scale * z."""
    loc, scale = real(loc), real(scale)
    shape = shape_of_draw(size, loc, scale)
    require_non_negative(scale, "scale")
    return as_drawn(loc + scale * standard(rng, function, shape, *constants), shape)


def exponential(self: Any, scale: Any = 1.0, size: Any = None) -> Any:
    scale = real(scale)
    shape = shape_of_draw(size, scale)
    require_non_negative(scale, "scale")
    return as_drawn(scale * standard(self, "standard_exponential", shape), shape)


def rayleigh(self: Any, scale: Any = 1.0, size: Any = None) -> Any:
    scale = real(scale)
    shape = shape_of_draw(size, scale)
    require_non_negative(scale, "scale")
    root = np.sqrt(2.0 * standard(self, "standard_exponential", shape))
    return as_drawn(scale * (float(root) if shape is None else root), shape)


def standard_cauchy(self: Any, size: Any = None) -> Any:
    return standard(self, "standard_cauchy", None if size is None else np.empty(size).shape)


def lognormal(self: Any, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Any:
    mean, sigma = real(mean), real(sigma)
    require_non_negative(sigma, "sigma")
    return each_real(self, "lognormal", size, mean, sigma)


def pareto(self: Any, a: Any, size: Any = None) -> Any:
    a = real(a)
    require_positive(a, "a")
    return each_real(self, "pareto", size, a)


def weibull(self: Any, a: Any, size: Any = None) -> Any:
    a = real(a)
    require_non_negative(a, "a")
    return each_real(self, "weibull", size, a)


def power(self: Any, a: Any, size: Any = None) -> Any:
    a = real(a)
    require_positive(a, "a")
    return each_real(self, "power", size, a)


def beta(self: Any, a: Any, b: Any, size: Any = None) -> Any:
    a, b = real(a), real(b)
    require_positive(a, "a")
    require_positive(b, "b")
    return each_real(self, "beta", size, a, b)


def f(self: Any, dfnum: Any, dfden: Any, size: Any = None) -> Any:
    dfnum, dfden = real(dfnum), real(dfden)
    require_positive(dfnum, "dfnum")
    require_positive(dfden, "dfden")
    return each_real(self, "f", size, dfnum, dfden)


def noncentral_f(self: Any, dfnum: Any, dfden: Any, nonc: Any, size: Any = None) -> Any:
    dfnum, dfden, nonc = real(dfnum), real(dfden), real(nonc)
    require_positive(dfnum, "dfnum")
    require_positive(dfden, "dfden")
    require_non_negative(nonc, "nonc")
    return each_real(self, "noncentral_f", size, dfnum, dfden, nonc)


def noncentral_chisquare(self: Any, df: Any, nonc: Any, size: Any = None) -> Any:
    df, nonc = real(df), real(nonc)
    require_positive(df, "df")
    require_non_negative(nonc, "nonc")
    return each_real(self, "noncentral_chisquare", size, df, nonc)


def standard_t(self: Any, df: Any, size: Any = None) -> Any:
    df = real(df)
    require_positive(df, "df")
    return each_real(self, "standard_t", size, df)


def vonmises(self: Any, mu: Any, kappa: Any, size: Any = None) -> Any:
    mu, kappa = real(mu), real(kappa)
    require_non_negative(kappa, "kappa")
    return each_real(self, "vonmises", size, mu, kappa)


def wald(self: Any, mean: Any, scale: Any, size: Any = None) -> Any:
    mean, scale = real(mean), real(scale)
    require_positive(mean, "mean")
    require_positive(scale, "scale")
    return each_real(self, "wald", size, mean, scale)


def triangular(self: Any, left: Any, mode: Any, right: Any, size: Any = None) -> Any:
    left, mode, right = real(left), real(mode), real(right)
    if np.any(np.greater(left, mode)):
        raise ValueError("left > mode")
    if np.any(np.greater(mode, right)):
        raise ValueError("mode > right")
    if np.any(np.equal(left, right)):
        raise ValueError("left == right")
    return each_real(self, "triangular", size, left, mode, right)
