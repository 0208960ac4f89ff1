"""Reads: nothing. Writes: nothing. Leaves: `CASES`, public functions of other packages, with arguments.

Functions of SciPy, scikit-learn, numpy.polynomial and other packages that compute only with NumPy or Python's numbers.
They are imported; none of their code is here. Floats and arrays of floats in `args` are differentiated; `keywords` are
constants.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

_RANDOM = np.random.default_rng(20260923)


@dataclass(frozen=True)
class Case:
    """One function, by its dotted name, and one call of it."""

    name: str
    args: tuple[Any, ...]
    keywords: dict[str, Any] = field(default_factory=dict)
    is_differentiable: bool = True

    @property
    def package(self) -> str:
        first, second, *_ = self.name.split(".")
        return f"{first}.{second}" if first in ("scipy", "numpy") else first


def _case(name: str, *args: Any, is_differentiable: Any = True, **keywords: Any) -> Case:
    return Case(name, args, keywords, is_differentiable)


def _array(*shape: int) -> np.ndarray:
    return _RANDOM.uniform(0.2, 1.8, shape)


def _square(n: int) -> np.ndarray:
    return _array(n, n) + n * np.eye(n)


X, Y, W = _array(7), _array(7), _array(7)
C, D = _array(4), _array(3)
M, N = _array(5, 3), _array(4, 3)
T = np.cumsum(_array(7))
SIGNED = _RANDOM.normal(size=7)
PROBABILITIES = X / X.sum()
AXIS, QUATERNION = np.array([0.36, 0.48, 0.8]), _array(4)
LABELS = np.array([0, 1, 1, 0, 1, 0, 1])
SCORES = np.clip(X / 2, 0.05, 0.95)


def _cubic(x: Any) -> Any:
    return x[0] ** 3 + 2.0 * x[0] * x[1] ** 2 + np.sin(x[2])


def _decay(t: Any, y: Any) -> Any:
    return -0.5 * y + np.sin(t)


def _cosine(x: Any, a: Any) -> Any:
    return np.cos(x) - a * x


_RK = {
    "A": np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.75, 0.0]]),
    "B": np.array([2 / 9, 1 / 3, 4 / 9]),
    "C": np.array([0.0, 0.5, 0.75]),
}

_POLYNOMIALS = [
    _case("numpy.polynomial.polynomial.polyval", X, C),
    _case("numpy.polynomial.polynomial.polyder", C),
    _case("numpy.polynomial.polynomial.polyint", C),
    _case("numpy.polynomial.polynomial.polyadd", C, D),
    _case("numpy.polynomial.polynomial.polysub", C, D),
    _case("numpy.polynomial.polynomial.polymul", C, D),
    _case("numpy.polynomial.polynomial.polydiv", C, D),
    _case("numpy.polynomial.polynomial.polypow", D, pow=3),
    _case("numpy.polynomial.polynomial.polymulx", C),
    _case("numpy.polynomial.polynomial.polyline", 1.5, 2.5),
    _case("numpy.polynomial.polynomial.polyfromroots", D),
    _case("numpy.polynomial.polynomial.polyvalfromroots", X, D),
    _case("numpy.polynomial.polynomial.polyvander", X, deg=3),
    _case("numpy.polynomial.polynomial.polyval2d", X, Y, N),
    _case("numpy.polynomial.polynomial.polygrid2d", C, D, N),
    _case("numpy.polynomial.polynomial.polycompanion", C),
    _case("numpy.polynomial.chebyshev.chebval", X, C),
    _case("numpy.polynomial.chebyshev.chebder", C),
    _case("numpy.polynomial.chebyshev.chebint", C),
    _case("numpy.polynomial.chebyshev.chebmul", C, D),
    _case("numpy.polynomial.chebyshev.chebmulx", C),
    _case("numpy.polynomial.chebyshev.cheb2poly", C),
    _case("numpy.polynomial.chebyshev.poly2cheb", C),
    _case("numpy.polynomial.chebyshev.chebvander", X, deg=3),
    _case("numpy.polynomial.legendre.legval", X, C),
    _case("numpy.polynomial.legendre.legder", C),
    _case("numpy.polynomial.legendre.legmulx", C),
    _case("numpy.polynomial.hermite.hermval", X, C),
    _case("numpy.polynomial.hermite.hermint", C),
    _case("numpy.polynomial.hermite_e.hermeval", X, C),
    _case("numpy.polynomial.laguerre.lagval", X, C),
    _case("numpy.polynomial.polyutils.mapdomain", X, [0.0, 1.0], [-1.0, 1.0]),
    _case("numpy.polynomial.polyutils.mapparms", [0.0, 2.0], [-1.0, 1.0]),
]

_SCIPY = [
    _case("scipy.optimize.rosen", X),
    _case("scipy.optimize.rosen_der", X),
    _case("scipy.optimize.rosen_hess", X),
    _case("scipy.optimize.rosen_hess_prod", X, Y),
    _case("scipy.optimize.approx_fprime", D, f=_cubic),
    _case("scipy.optimize.newton", _cosine, 1.0, args=(0.7,), is_differentiable=False),
    _case("scipy.optimize.golden", is_differentiable=False, func=np.cos, brack=(2.0, 4.0)),
    _case("scipy.integrate.simpson", Y, dx=0.5),
    _case("scipy.integrate.trapezoid", Y, T),
    _case("scipy.integrate.cumulative_trapezoid", Y, T),
    _case("scipy.integrate.cumulative_simpson", Y, dx=0.5),
    _case("scipy.integrate.romb", _array(9), dx=0.5),
    _case("scipy.integrate.fixed_quad", np.exp, 0.2, 1.3, n=4),
    _case("scipy.integrate._ivp.rk.rk_step", _decay, 0.1, D, _array(3), 0.05, **_RK, K=np.zeros((4, 3))),
    _case("scipy.linalg.toeplitz", C, D),
    _case("scipy.linalg.circulant", C),
    _case("scipy.linalg.hankel", C, C),
    _case("scipy.linalg.companion", C),
    _case("scipy.linalg.leslie", C, D),
    _case("scipy.linalg.fiedler", C),
    _case("scipy.linalg.block_diag", M, N),
    _case("scipy.linalg.khatri_rao", M, N),
    _case("scipy.linalg.convolution_matrix", C, n=3),
    _case("scipy.special.logsumexp", X),
    _case("scipy.special.softmax", X),
    _case("scipy.special.log_softmax", M, axis=1),
    _case("scipy.special.diric", X, n=3),
    _case("scipy.signal.windows.general_cosine", M=8, a=[0.5, 0.3, 0.2], is_differentiable=False),
    _case("scipy.signal.windows.gaussian", M=8, std=2.0, is_differentiable=False),
    _case("scipy.signal.windows.tukey", M=8, alpha=0.4, is_differentiable=False),
    _case("scipy.signal.sawtooth", T, width=0.4),
    _case("scipy.signal.square", T, duty=0.4),
    _case("scipy.signal.chirp", T, f0=1.0, t1=8.0, f1=3.0),
    _case("scipy.signal.gausspulse", T / 10.0),
    _case("scipy.signal.sweep_poly", T, poly=np.poly1d([0.5, 1.0, 2.0])),
    _case("scipy.signal.gauss_spline", SIGNED, n=3),
    _case("scipy.signal.detrend", X, type="constant"),
    _case("scipy.spatial.distance.euclidean", X, Y),
    _case("scipy.spatial.distance.sqeuclidean", X, Y),
    _case("scipy.spatial.distance.cityblock", X, Y),
    _case("scipy.spatial.distance.cosine", X, Y),
    _case("scipy.spatial.distance.correlation", X, Y),
    _case("scipy.spatial.distance.braycurtis", X, Y),
    _case("scipy.spatial.distance.canberra", X, Y),
    _case("scipy.spatial.distance.chebyshev", X, Y),
    _case("scipy.spatial.distance.minkowski", X, Y, p=3),
    _case("scipy.spatial.distance.seuclidean", X, Y, W),
    _case("scipy.spatial.distance.jensenshannon", X, Y),
    _case("scipy.stats.gmean", X),
    _case("scipy.stats.hmean", X),
    _case("scipy.stats.pmean", X, p=3),
    _case("scipy.stats.zscore", X),
    _case("scipy.stats.moment", X, order=3),
    _case("scipy.stats.skew", X),
    _case("scipy.stats.kurtosis", X),
    _case("scipy.stats.variation", X),
    _case("scipy.stats.sem", X),
    _case("scipy.stats.entropy", PROBABILITIES),
    _case("scipy.stats.tmean", X),
    _case("scipy.stats.circmean", X),
    _case("scipy.stats.median_abs_deviation", X),
    _case("scipy.stats.boxcox_llf", 0.7, X),
    _case("scipy.interpolate.approximate_taylor_polynomial", np.sin, 0.3, degree=3, scale=1.0),
    _case("scipy.interpolate.barycentric_interpolate", T, Y, 2.5),
    _case("scipy.interpolate.krogh_interpolate", T, Y, 2.5),
    _case("scipy.cluster.vq.whiten", M),
    _case("scipy.constants.convert_temperature", X, old_scale="Celsius", new_scale="Kelvin"),
    _case("scipy.constants.lambda2nu", X),
]

_SKLEARN = [
    _case("sklearn.metrics.mean_squared_error", X, Y),
    _case("sklearn.metrics.mean_absolute_error", X, Y),
    _case("sklearn.metrics.r2_score", X, Y),
    _case("sklearn.metrics.max_error", X, Y),
    _case("sklearn.metrics.log_loss", LABELS, SCORES),
    _case("sklearn.metrics.pairwise.euclidean_distances", M, N),
    _case("sklearn.metrics.pairwise.linear_kernel", M, N),
    _case("sklearn.metrics.pairwise.polynomial_kernel", M, N),
    _case("sklearn.metrics.pairwise.rbf_kernel", M, N),
    _case("sklearn.metrics.pairwise.sigmoid_kernel", M, N),
    _case("sklearn.metrics.pairwise.cosine_similarity", M, N),
    _case("sklearn.utils.extmath.softmax", M),
    _case("sklearn.utils.extmath.row_norms", M),
    _case("sklearn.utils.extmath.squared_norm", M),
    _case("sklearn.utils.extmath.safe_sparse_dot", M, N.T),
    _case("sklearn.utils.extmath.stable_cumsum", X),
    _case("sklearn.utils.extmath.cartesian", arrays=([1, 2], [3, 4]), is_differentiable=False),
    _case("sklearn.covariance.empirical_covariance", M),
]

_OTHERS = [
    _case("transforms3d.quaternions.qmult", QUATERNION, C),
    _case("transforms3d.quaternions.qconjugate", QUATERNION),
    _case("transforms3d.quaternions.qnorm", QUATERNION),
    _case("transforms3d.quaternions.qinverse", QUATERNION),
    _case("transforms3d.quaternions.quat2mat", QUATERNION),
    _case("transforms3d.quaternions.rotate_vector", D, QUATERNION),
    _case("transforms3d.quaternions.axangle2quat", AXIS, 0.7),
    _case("transforms3d.axangles.axangle2mat", AXIS, 0.7),
    _case("transforms3d.euler.euler2mat", 0.3, 0.5, 0.7),
    _case("transforms3d.euler.euler2quat", 0.3, 0.5, 0.7),
    _case("transforms3d.affines.compose", D, np.eye(3) + 0.1, AXIS),
    _case("numpy_financial.fv", 0.05, 10.0, -100.0, -100.0),
    _case("numpy_financial.pv", 0.05, 10.0, -100.0, 15.0),
    _case("numpy_financial.pmt", 0.05, 10.0, 100.0),
    _case("numpy_financial.nper", 0.05, -100.0, 500.0),
    _case("numpy_financial.npv", 0.28, X),
    _case("numpy_financial.mirr", SIGNED, 0.1, 0.12),
    _case("seawater.dens0", X * 20, Y * 10),
    _case("seawater.svel", X * 20, Y * 10, W * 100),
    _case("seawater.cp", X * 20, Y * 10, W * 100),
    _case("seawater.ptmp", X * 20, Y * 10, W * 100),
    _case("seawater.adtg", X * 20, Y * 10, W * 100),
    _case("fluids.friction_factor", 1e5, 1e-4),
    _case("fluids.Reynolds", 2.5, 0.25, 1.1, 1e-4),
    _case("fluids.friction.Colebrook", 1e5, 1e-4),
    _case("fluids.drag.Rouse", 200.0),
    _case("fluids.friction.Haaland", 1e5, 1e-4),
    _case("pymap3d.geodetic2ecef", 0.7, 0.3, 100.0, deg=False),
    _case("pymap3d.ecef2geodetic", 660e3, -4700e3, 4247e3),
    _case("pymap3d.enu2aer", 100.0, 200.0, 300.0),
    _case("pymap3d.aer2enu", 33.0, 70.0, 1000.0),
    _case("psychrolib.GetSatVapPres", 20.0),
    _case("psychrolib.GetTDewPointFromRelHum", 20.0, 0.5),
    _case("hydroeval.nse", X, Y),
    _case("hydroeval.kge", X, Y),
    _case("hydroeval.rmse", X, Y),
]

CASES: tuple[Case, ...] = (*_POLYNOMIALS, *_SCIPY, *_SKLEARN, *_OTHERS)
