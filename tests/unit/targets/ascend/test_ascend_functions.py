"""Every elementwise function that the Ascend target takes, and its gradient, against the cpu target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import mlirad
from mlirad import nn

RNG = np.random.default_rng(5)
ANY = RNG.standard_normal(60).astype(np.float32)
OTHER = RNG.standard_normal(60).astype(np.float32)
POSITIVE = np.abs(ANY) + np.float32(0.1)
BETWEEN = np.clip(0.3 * ANY, -0.95, 0.95).astype(np.float32)

OF_ANY = (
    *(np.negative, np.positive, np.absolute, np.fabs, np.sign, np.exp, np.exp2, np.expm1, np.sin, np.cos, np.tan),
    *(np.arctan, np.sinh, np.cosh, np.tanh, np.arcsinh, np.square, np.cbrt, np.floor, np.ceil, np.trunc, np.rint),
    *(np.fix, np.degrees, np.radians, np.deg2rad, np.rad2deg, np.sinc, np.nan_to_num, np.round, np.modf, np.i0),
    *(np.isnan, np.isinf, np.isfinite, np.signbit, np.logical_not),
    *(nn.relu, nn.gelu, nn.silu, nn.sigmoid, nn.softplus, nn.leaky_relu, special.expit),
    *(special.erf, special.erfc, special.erfcx),
)
OF_POSITIVE = (np.log, np.log2, np.log10, np.log1p, np.sqrt, np.reciprocal, special.entr)
OF_TWO = (
    *(np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.fmax, np.fmin, np.arctan2, np.hypot),
    *(np.logaddexp, np.logaddexp2, np.copysign, np.heaviside, np.greater, np.less, np.equal, np.not_equal),
    *(np.greater_equal, np.less_equal),
)
OF_TWO_POSITIVE = (np.power, np.fmod, np.remainder, np.floor_divide, special.xlogy, special.xlog1py)
CALLS: list[tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = [
    *((function, (ANY,)) for function in OF_ANY),
    *((function, (POSITIVE,)) for function in OF_POSITIVE),
    *((function, (BETWEEN,)) for function in (np.arcsin, np.arccos, np.arctanh)),
    (np.arccosh, (POSITIVE + 1,)),
    (special.logit, (np.abs(BETWEEN) + np.float32(0.01),)),
    *((function, (ANY, OTHER)) for function in OF_TWO),
    *((function, (POSITIVE, np.abs(OTHER) + np.float32(0.2))) for function in OF_TWO_POSITIVE),
]
IN_CI = (np.exp2, np.tan, np.modf, np.fmax)


def test_there_are_enough() -> None:
    assert len(CALLS) > 75


@pytest.mark.parametrize(
    ("function", "args"),
    [pytest.param(*call, id=call[0].__name__, marks=() if call[0] in IN_CI else pytest.mark.full) for call in CALLS],
)
def test_a_function_and_its_gradient(function: Callable[..., Any], args: tuple[np.ndarray, ...]) -> None:
    def values(*args: np.ndarray) -> Any:
        return function(*args)

    def weighed(*args: np.ndarray) -> Any:
        found = function(*args)
        parts = found if isinstance(found, tuple) else (found,)
        return sum([np.sum(part * (part + 1)) for part in parts])

    found, expected = mlirad.jit(values, target="ascend")(*args), mlirad.jit(values)(*args)
    compared = list(zip(found, expected, strict=True)) if isinstance(expected, tuple) else [(found, expected)]
    if np.asarray(compared[0][1]).dtype != bool:
        gradients = [mlirad.grad(weighed, target=target)(*args) for target in ("ascend", "cpu")]
        compared.append((gradients[0], gradients[1]))
    for one, other in compared:
        assert one.dtype == other.dtype
        largest = np.abs(np.asarray(other, np.float64)).max()
        np.testing.assert_allclose(one.astype(np.float64), other.astype(np.float64), 1e-5, 1e-6 * max(1.0, largest))


@pytest.mark.full
@pytest.mark.parametrize(("dtype", "band"), [(np.float32, 1e-5), (np.float16, 2e-3)])
def test_a_logistic_regression_has_the_loss_curve_of_the_cpu(dtype: Any, band: float) -> None:
    """On scikit-learn's breast-cancer data: 569 rows of 30 features."""
    data = pytest.importorskip("sklearn.datasets").load_breast_cancer()
    x = ((data.data - data.data.mean(0)) / data.data.std(0)).astype(dtype)
    y = data.target.astype(dtype)

    def loss(w: np.ndarray, b: Any, x: np.ndarray, y: np.ndarray) -> Any:
        z = x @ w + b
        return np.mean(np.logaddexp(np.zeros_like(z), z) - y * z)

    def curve(dtype: Any, **options: Any) -> list[float]:
        step = mlirad.value_and_grad(loss, argnums=(0, 1), **options)
        w, b, found = np.zeros(30, dtype), dtype(0), []
        for _ in range(40):
            value, (d_w, d_b) = step(w, b, x.astype(dtype), y.astype(dtype))
            w, b = w - d_w, dtype(b - d_b)
            found.append(float(value))
        return found

    found, expected = curve(dtype, target="ascend"), curve(np.float32)
    assert found[-1] < 0.15 * found[0]
    np.testing.assert_allclose(found, expected, band, band)
