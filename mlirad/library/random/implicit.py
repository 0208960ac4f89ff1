"""Gamma distributions: their draws have derivatives with respect to the shape, by implicit differentiation.

As a changes, a draw z moves such that its quantile F(z; a) stays the same: dz/da = -(dF/da) / p(z; a), where p is the
density (Figurnov, Mohamed, Mnih: Implicit Reparameterization Gradients, 2018).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.own_rules import CustomJvp
from mlirad.library.primitives import lgamma
from mlirad.library.random.draws import as_drawn, drawn, each_real, number_of, real, require_output, shape_of_draw
from mlirad.library.random.parameters import require_non_negative, require_positive
from mlirad.library.scipy.incomplete import gammainc
from mlirad.requests import marks_in_programs
from mlirad.requests.kinds_of_derivatives import Jvp

# As compiled functions write it: `mlirad.jvp` itself belongs to a later room.
jvp: Any = Jvp
stop_gradient: Any = marks_in_programs.stop_gradient


@CustomJvp
def of_gamma(a: Any, z: Any) -> Any:  # noqa: ARG001  (it moves z, by the rule below)
    """z, drawn from the gamma distribution with shape a."""
    return z


@of_gamma.defjvp
def of_gamma_jvp(primals: Any, tangents: Any) -> Any:
    a, z = primals[0], of_gamma(*primals)
    change = jvp(lambda a: gammainc(a, z), (a,), (np.ones_like(a),))[1]
    inverse_density = np.where(z > 0.0, np.exp(z + lgamma(a) - (a - 1.0) * np.log(z)), 0.0)
    return z, tangents[1] - change * inverse_density * tangents[0]


of_gamma.is_tried = False  # it takes twenty times as long as the draw


def with_path(shape: Any, z: Any) -> Any:
    """z, drawn with that shape, with its derivative; the rule needs arrays of one shape."""
    if isinstance(z, float):
        return float(of_gamma(np.full(1, shape), np.full(1, z))[0])
    return of_gamma(np.full(z.shape, shape), z)


@CustomJvp
def without_path(a: Any, z: Any) -> Any:  # noqa: ARG001  (the rule below asks for it)
    """z, drawn with a parameter for which the derivative is not implemented: it is nan."""
    return z


@without_path.defjvp
def without_path_jvp(primals: Any, tangents: Any) -> Any:
    return without_path(*primals), tangents[1] + np.nan * np.sum(tangents[0])


without_path.is_tried = False


def standard_gamma(self: Any, shape: Any, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
    kind = np.dtype(dtype)
    if kind != np.float64 and kind != np.float32:
        raise TypeError(f"Unsupported dtype dtype('{kind}') for standard_gamma")
    if out is not None:
        require_output(out, kind, size)
        out[...] = standard_gamma(self, shape, out.shape, dtype)
        return out
    shape = real(shape)
    require_non_negative(shape, "shape")
    if kind == np.float64:
        return _gamma(self, shape, size)
    whole = shape_of_draw(size, shape)
    fixed = stop_gradient(np.asarray(shape, np.float32))
    if whole is None:
        z = drawn(self._bitgen_words, "standard_gamma_f", None, fixed[()])
        return with_path(shape, float(z))
    fixed = fixed[()] if np.ndim(shape) == 0 else np.broadcast_to(fixed, whole).ravel()
    z = drawn(self._bitgen_words, "standard_gamma_f", number_of(whole), fixed).reshape(whole)
    return with_path(shape, z.astype(np.float64)).astype(np.float32)


def _gamma(rng: Any, shape: Any, size: Any) -> Any:
    return with_path(shape, each_real(rng, "standard_gamma", size, stop_gradient(shape)))


def gamma(self: Any, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
    shape, scale = real(shape), real(scale)
    require_non_negative(shape, "shape")
    require_non_negative(scale, "scale")
    whole = shape_of_draw(size, shape, scale)
    return as_drawn(scale * _gamma(self, shape, whole), whole)


def chisquare(self: Any, df: Any, size: Any = None) -> Any:
    df = real(df)
    require_positive(df, "df")
    return as_drawn(2.0 * _gamma(self, df / 2.0, size), shape_of_draw(size, df))
