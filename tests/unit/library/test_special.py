"""scipy.special: each function of the library against SciPy's, at its edges, and derivatives against differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special as s

import mlirad
from mlirad.library import index, primitives

RNG = np.random.default_rng(11)
EDGES = np.array([0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 1e-10, 30, -30, 0.999, 800, -800, np.inf, -np.inf, np.nan, 1e-300])
ALL = np.concatenate([EDGES, RNG.uniform(-20, 20, 60), RNG.uniform(0, 1, 40)])

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def errors(x: Any) -> Any:
    return s.erf(x), s.erfc(x), s.erfcx(x), s.erfinv(x), s.erfcinv(x), s.ndtr(x), s.log_ndtr(x), s.ndtri(x)


def gammas(x: Any) -> Any:
    return s.gamma(x), s.gammaln(x), s.loggamma(x), s.rgamma(x), s.psi(x), s.digamma(x)


def probabilities(x: Any) -> Any:
    return s.expit(x), s.log_expit(x), s.logit(x), s.entr(x), s.exprel(x), s.softplus(x)


def powers(x: Any) -> Any:
    return s.log1p(x), s.expm1(x), s.exp2(x), s.exp10(x), s.cbrt(x)


def of_two(x: Any, y: Any) -> Any:
    return s.xlogy(x, y), s.xlog1py(x, y), s.rel_entr(x, y), s.kl_div(x, y)


def betas(x: Any, y: Any) -> Any:
    return s.beta(x, y), s.betaln(x, y)


def along_axes(x: Any) -> Any:
    return (
        *(s.logsumexp(x), s.logsumexp(x, axis=0), s.logsumexp(x, 1, keepdims=True), s.logsumexp(x, (0, 1), b=2.5)),
        *(s.softmax(x), s.softmax(x, axis=-1), s.log_softmax(x, axis=0), s.log_softmax(x)),
    )


def polygammas(x: Any) -> Any:
    return s.polygamma(1, x), s.polygamma(2, x), s.polygamma(5, x)


def require_close(found: Any, wanted: Any, rtol: float = 1e-12, atol: float = 1e-300) -> None:
    for own, other in zip(found, wanted, strict=True):
        assert type(own) is type(other) and own.dtype == other.dtype and np.shape(own) == np.shape(other)
        is_single = own.dtype == np.float32
        np.testing.assert_allclose(own, other, rtol=1e-5 if is_single else rtol, atol=1e-37 if is_single else atol)


@pytest.mark.parametrize("function", [errors, gammas, probabilities, powers], ids=lambda each: each.__name__)
def test_functions_of_one_number(function: Callable[..., Any]) -> None:
    kernel = mlirad.jit(function)
    for x in (ALL, ALL[::-3], ALL[:0], ALL[:1], np.asarray(0.3), ALL[20], 0.3):
        if function is gammas and np.ndim(x):
            x = np.where(np.abs(x - 1) < 0.01, 3.0, x)  # where SciPy loses digits of log gamma
        require_close(kernel(x), function(x), atol=1e-13 if function is gammas else 1e-300)
    if function is not probabilities:  # of which SciPy computes some in float32
        require_close(kernel(np.arange(1, 4)), function(np.arange(1, 4)), atol=1e-13)
    require_close(kernel(ALL.astype(np.float32)), function(ALL.astype(np.float32)))


def test_functions_of_two_numbers() -> None:
    x, y = np.repeat(EDGES, EDGES.size), np.tile(EDGES, EDGES.size)
    require_close(mlirad.jit(of_two)(x, y), of_two(x, y))
    require_close(mlirad.jit(of_two)(x.astype("f4"), y.astype("f4")), of_two(x.astype("f4"), y.astype("f4")))
    x, y = RNG.uniform(1e-3, 300, 300), np.exp(RNG.uniform(-8, 8, 300))
    require_close(mlirad.jit(betas)(x, y), betas(x, y), rtol=2e-12, atol=1e-13)
    require_close(mlirad.jit(betas)(x.astype("f4"), y.astype("f4")), betas(x.astype("f4"), y.astype("f4")))


def test_along_axes() -> None:
    x = RNG.normal(size=(3, 4))
    y = x.copy()
    y[0], y[1, 1] = -np.inf, np.inf
    for each in (x, y, x * 800, x.astype(np.float32) * 300, x[::-1, ::-2]):
        require_close(mlirad.jit(along_axes)(each), along_axes(each), atol=1e-14)
    require_close(mlirad.jit(polygammas)(y), polygammas(y))


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (lambda x: errors(x)[:7], [0.2, 0.61, 0.87]),
        (lambda x: (s.erf(x), s.erfc(x), s.erfcx(x), s.ndtr(x), s.log_ndtr(x)), [-3.0, -0.3, 6.0]),
        (lambda x: (s.gamma(x), s.gammaln(x), s.psi(x), s.rgamma(x), s.polygamma(1, x)), [0.3, 2.7, 9.4]),
        (lambda x: (s.gamma(x), s.gammaln(x), s.psi(x)), [-0.4, -2.7, -1.2]),
        (lambda x: probabilities(x), [0.05, 0.4, 0.9]),
        (lambda x: (s.expit(x), s.log_expit(x), s.exprel(x)), [0.0, -40.0, 3.0]),
        (lambda x: powers(x), [0.1, 1.5, 4.0]),
        (lambda x: (*of_two(x, 0.7 * x + 1), *betas(x, 3.5)), [0.1, 1.5, 60.0]),
        (lambda x: (s.logsumexp(x), s.softmax(x) ** 2, s.log_softmax(x) ** 2), [0.1, 1.5, -4.0]),
    ],
)
def test_derivatives(function: Callable[..., Any], x: list[float]) -> None:
    """Backwards and forwards, and forwards over backwards."""
    point, move = np.array(x), np.array([0.3, -0.7, 0.5])

    def loss(x: Any) -> Any:
        total = 0.0
        for place, each in enumerate(function(x)):
            total = total + np.sum(np.log1p((each * (0.3 + 0.1 * place)) ** 2))
        return total

    def slope(f: Callable[..., Any]) -> Any:  # of order 4
        step = 1e-4
        near, far = ((f(point + k * step * move) - f(point - k * step * move)) / (2 * k * step) for k in (1, 2))
        return (4 * near - far) / 3

    gradient = mlirad.grad(loss)
    wanted = slope(loss)
    assert np.sum(gradient(point) * move) == pytest.approx(wanted, rel=1e-7, abs=1e-8)
    assert mlirad.jvp(loss, (point,), (move,))[1] == pytest.approx(np.sum(gradient(point) * move), rel=1e-12)
    np.testing.assert_allclose(mlirad.jvp(gradient, (point,), (move,))[1], slope(gradient), rtol=1e-6, atol=1e-6)


def test_of_the_module_math() -> None:
    def of_numbers(x: float) -> Any:
        return math.erf(x), math.erfc(x), math.gamma(x), math.lgamma(x)

    for x in (0.3, -1.7, 4, 12.5):
        found = mlirad.jit(of_numbers)(x)
        assert found == pytest.approx(of_numbers(x), rel=2e-15) and all(type(each) is float for each in found)


def test_all_functions_are_called_here() -> None:
    called = {name for each in (errors, gammas, probabilities, powers, of_two, betas, along_axes, polygammas)
              for name in each.__code__.co_names}  # fmt: skip
    assert {f"scipy.special.{name}" for name in called - {"s", "digamma"}} == {
        name for name in index.FUNCTIONS if name.startswith("scipy.")
    }


def test_what_compiled_code_is_compared_with_is_right() -> None:
    x = np.concatenate([RNG.uniform(-5, 20, 50), [0.0, np.inf]])
    for name in ("erf", "erfc", "erfcx", "gamma"):
        np.testing.assert_allclose(getattr(primitives, name)(x), getattr(s, name)(x), rtol=1e-12)
    for name in ("erfinv", "erfcinv"):
        y = RNG.uniform(0, 1, 20)
        np.testing.assert_allclose(getattr(primitives, name)(y), getattr(s, name)(y), rtol=1e-12)
    np.testing.assert_allclose(primitives.polygamma(3, x[x > 0]), s.polygamma(3, x[x > 0]), rtol=1e-12)
