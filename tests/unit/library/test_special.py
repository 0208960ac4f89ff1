"""scipy.special: each function of the library against SciPy's, including its edges, and derivatives against
differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import special as s

import mlirad
from mlirad.library import index, primitives

mp: Any = mpmath.mp
RNG = np.random.default_rng(11)
EDGES = np.array(
    [0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 1e-10, 30, -30, -26.7, 0.999, 800, -800, np.inf, -np.inf, np.nan, 1e-300]
)
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


def bessels(x: Any) -> Any:
    return (
        *(s.j0(x), s.j1(x), s.jv(3, x), s.y0(x), s.y1(x), s.yn(2, x), s.i0(x), s.i0e(x), s.i1(x), s.i1e(x)),
        *(s.iv(2, x), s.ive(-3, x), s.k0(x), s.k0e(x), s.k1(x), s.k1e(x), s.kn(2, x)),
    )


def incomplete(a: Any, b: Any, x: Any) -> Any:
    return (
        *(s.gammainc(a, x), s.gammaincc(a, x), s.chdtr(a, x), s.chdtrc(a, x), s.betainc(a, b, x), s.betaincc(a, b, x)),
        *(s.stdtr(a, x), s.fdtr(a, b, x), s.fdtrc(a, b, x)),
    )


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
    if function is not probabilities:  # SciPy computes some of these in float32
        require_close(kernel(np.arange(1, 4)), function(np.arange(1, 4)), atol=1e-13)
    require_close(kernel(ALL.astype(np.float32)), function(ALL.astype(np.float32)))


def test_functions_of_two_numbers() -> None:
    x, y = np.repeat(EDGES, EDGES.size), np.tile(EDGES, EDGES.size)
    require_close(mlirad.jit(of_two)(x, y), of_two(x, y))
    require_close(mlirad.jit(of_two)(x.astype("f4"), y.astype("f4")), of_two(x.astype("f4"), y.astype("f4")))
    x, y = RNG.uniform(1e-3, 300, 300), np.exp(RNG.uniform(-8, 8, 300))
    require_close(mlirad.jit(betas)(x, y), betas(x, y), rtol=2e-12, atol=1e-13)
    require_close(mlirad.jit(betas)(x.astype("f4"), y.astype("f4")), betas(x.astype("f4"), y.astype("f4")))


def test_bessel_functions() -> None:
    kernel = mlirad.jit(bessels)
    x = np.concatenate([[0.0, 1e-300, 4.999, 5.0, 8.0, 709.0], 10 ** RNG.uniform(-5, 2, 100)])
    x = np.where((x > 0.5) & (x < 20) & (np.abs(s.j0(x)) < 0.05), 4.0, x)
    for each in (x, x[::-3], x[:0], x[:1], np.asarray(0.3), 0.3):
        require_close(kernel(each), bessels(each), rtol=3e-13, atol=2e-15)
    require_close(kernel(x.astype("f4")), bessels(x.astype("f4")))
    edges = np.array([-0.0, -1.0, -7.5, np.nan, np.inf, -np.inf])
    require_close(kernel(edges)[:2], bessels(edges)[:2], rtol=1e-14)
    for place in (3, 4, 7, 9, 12, 13, 14, 15):
        np.testing.assert_allclose(kernel(edges)[place], bessels(edges)[place], rtol=1e-14)
    with pytest.raises(mlirad.UnsupportedSyntaxError, match="whose order is no integer known while compiling"):
        mlirad.jit(lambda x: s.jv(0.5, x))(x)


def test_bessel_functions_in_forty_digits() -> None:
    """Relative to the value, or to the amplitude of J and Y."""
    x = np.concatenate([RNG.uniform(0.01, 12, 40), 10 ** RNG.uniform(0, 2.5, 20)])
    exact = (
        *(lambda x, n=n: mp.besselj(n, x) for n in (0, 1, 3)),
        *(lambda x, n=n: mp.bessely(n, x) for n in (0, 1, 2)),
        *(lambda x: mp.besseli(0, x), lambda x: mp.besseli(0, x) * mp.exp(-x)),
        *(lambda x: mp.besseli(1, x), lambda x: mp.besseli(1, x) * mp.exp(-x), lambda x: mp.besseli(2, x)),
        lambda x: mp.besseli(3, x) * mp.exp(-x),
        *(lambda x: mp.besselk(0, x), lambda x: mp.besselk(0, x) * mp.exp(x), lambda x: mp.besselk(1, x)),
        *(lambda x: mp.besselk(1, x) * mp.exp(x), lambda x: mp.besselk(2, x)),
    )
    for place, (found, function) in enumerate(zip(mlirad.jit(bessels)(x), exact, strict=True)):
        wanted = [function(mp.mpf(float(each))) for each in x]
        error = np.array([float(mp.mpf(float(a)) - b) for a, b in zip(found, wanted, strict=True)])
        size = np.maximum(np.abs(np.array(wanted, float)), np.minimum(1.0, x**-0.5) * 0.7 if place < 6 else 0.0)
        assert np.max(np.abs(error) / np.spacing(size)) < 8, place


def test_incomplete_functions() -> None:
    a, b, x = 10 ** RNG.uniform(-2, 2, 300), 10 ** RNG.uniform(-2, 2, 300), RNG.uniform(0, 1, 300)
    x[:100] = np.clip(a[:100] / (a + b)[:100] * RNG.uniform(0.7, 1.3, 100), 0.0, 1.0)
    ends = np.array([0.0, 1.0, -1.0, np.inf, np.nan, 0.5, 30.0])
    a, x = np.concatenate([a, np.repeat(ends, ends.size)]), np.concatenate([x, np.tile(ends, ends.size)])
    b = np.concatenate([b, np.full(ends.size**2, 2.0)])
    require_close(mlirad.jit(incomplete)(a, b, x), incomplete(a, b, x), rtol=2e-12)


def test_shapes_and_types_of_incomplete_functions() -> None:
    def of_two(a: Any, x: Any) -> Any:
        return s.gammainc(a, x), s.gammaincc(a, x)

    a, x = RNG.uniform(0.1, 9, (3, 1)), RNG.uniform(0.1, 9, 4)
    for each in ((a, x), (a.astype("f4"), x.astype("f4")), (2, 0.8)):
        require_close(mlirad.jit(of_two)(*each), of_two(*each))


def test_gammainc_in_forty_digits() -> None:
    a = np.concatenate([10 ** RNG.uniform(-6, 2, 40), [150.0, 3e3, 2e5, 3.0, 1e-3, 0.5]])
    x = a * np.exp(RNG.normal(size=a.size) * np.minimum(1, 3 / np.sqrt(a)))
    below, above = mlirad.jit(lambda a, x: (s.gammainc(a, x), s.gammaincc(a, x)))(a, x)
    for each, y, low, high in zip(a, x, below, above, strict=True):
        exact = lower_gamma(mp.mpf(float(each)), mp.mpf(float(y)))
        limit = 12 if each < 100 else 100  # for large ones, an exponent of many units decides
        assert abs(mp.mpf(float(low)) - exact) <= limit * np.spacing(float(exact)), (each, y)
        assert abs(mp.mpf(float(high)) - (1 - exact)) <= limit * np.spacing(float(1 - exact)), (each, y)


def lower_gamma(a: Any, x: Any) -> Any:
    """P by its series."""
    with mp.workdps(60):
        term, total, k = mp.mpf(1), mp.mpf(1), a
        while term > total * mp.mpf(10) ** -60:
            k += 1
            term *= x / k
            total += term
        return total * mp.exp(a * mp.log(x) - x - mp.loggamma(a + 1))


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
        (lambda x: (s.y0(x), s.k1(x), s.i1e(x)), [0.7, 3.1, 11.0]),
        (lambda x: (s.j0(x), s.j1(x), s.i0(x), s.i1(x)), [0.0, -0.6, -9.3]),
        (lambda x: (s.gammainc(x, 2.5), s.gammainc(2.0, x)), [2.0, 3.0, 0.4]),
        (lambda x: (s.logsumexp(x), s.softmax(x) ** 2, s.log_softmax(x) ** 2), [0.1, 1.5, -4.0]),
    ],
)
def test_derivatives(function: Callable[..., Any], x: list[float]) -> None:
    """Reverse and forward mode, and forward over reverse."""
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
    all_of_them = (errors, gammas, probabilities, powers, of_two, betas, along_axes, polygammas, bessels, incomplete)
    called = {name for each in all_of_them for name in each.__code__.co_names}
    assert {f"scipy.special.{name}" for name in called - {"s", "digamma"}} == {
        name for name in index.FUNCTIONS if name.startswith("scipy.special.")
    }


def test_what_compiled_code_is_compared_with_is_right() -> None:
    x = np.concatenate([RNG.uniform(-5, 20, 50), [0.0, np.inf]])
    for name in ("erf", "erfc", "erfcx", "gamma"):
        np.testing.assert_allclose(getattr(primitives, name)(x), getattr(s, name)(x), rtol=1e-12)
    for name in ("erfinv", "erfcinv"):
        y = RNG.uniform(0, 1, 20)
        np.testing.assert_allclose(getattr(primitives, name)(y), getattr(s, name)(y), rtol=1e-12)
    np.testing.assert_allclose(primitives.polygamma(3, x[x > 0]), s.polygamma(3, x[x > 0]), rtol=1e-12)
