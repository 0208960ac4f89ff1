"""Derivatives of draws with respect to parameters: against differences of the same stream, which is drawn once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special

import mlirad
from mlirad.library.random.implicit import of_gamma


def draws(p, rng):
    """p: five positive numbers."""
    total = np.sum(np.sin(rng.normal(p[0], p[1], 3))) + rng.uniform(p[0], p[0] + p[2]) * rng.exponential(p[3])
    total += (
        np.cos(rng.laplace(p[0], p[1])) + rng.logistic(p[2], p[3]) ** 2 + rng.gumbel(p[1], p[2]) + rng.rayleigh(p[4])
    )
    total += np.sum(rng.lognormal(p[0], p, (2, 5))) + np.sum(rng.weibull(p)) + rng.pareto(p[1]) * rng.power(p[2], 2)[1]
    for i in range(3):
        if rng.random() < 0.7:
            total = 0.5 * total + rng.normal(0.0, p[i]) * total
    return total + rng.poisson(p[0]) * p[1] + rng.choice(p) * p[3]


def fresh() -> np.random.Generator:
    return np.random.default_rng(11)


P = np.array([0.9, 0.6, 1.4, 0.8, 1.1])


def differences(function: Any, p: np.ndarray, h: float = 1e-6) -> np.ndarray:
    steps = h * np.eye(len(p))
    return np.array([(function(p + each, fresh()) - function(p - each, fresh())) / (2 * h) for each in steps])


def test_gradients_and_streams() -> None:
    """In both modes. The value is the plain function's, which leaves the generator in the same state."""
    rng, plain = fresh(), fresh()
    value, gradient = mlirad.value_and_grad(draws)(P, rng)
    np.testing.assert_allclose(value, draws(P, plain), rtol=1e-13)
    assert rng.bit_generator.state == plain.bit_generator.state
    expected = differences(draws, P)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)
    along = mlirad.jvp(lambda p: draws(p, rng), (P,), (np.ones(5),))  # of the next numbers
    assert along[0] != value
    rng = fresh()
    forward = mlirad.jvp(lambda p: draws(p, rng), (P,), (np.ones(5),))[1]
    np.testing.assert_allclose(forward, np.sum(expected), rtol=1e-6)


def few(s, rng):
    return np.sum(np.sin(s * rng.normal(s, s**2, 3))) + rng.weibull(s) * s


def test_second_derivatives() -> None:
    step = 1e-5
    first, second = mlirad.grad(few), mlirad.grad(mlirad.grad(few))
    expected = (first(0.8 + step, fresh()) - first(0.8 - step, fresh())) / (2 * step)
    np.testing.assert_allclose(second(0.8, fresh()), expected, rtol=1e-7)


@mlirad.value_and_grad
def gamma(a, rng):
    return rng.gamma(a)


@pytest.mark.parametrize("shape", [0.07, 1.0, 3.4, 250.0])
def test_gamma(shape: float) -> None:
    """A draw keeps its place in the distribution (Figurnov et al., 2018)."""
    z, slope = gamma(shape, fresh())
    assert z == fresh().gamma(shape)
    place, h = special.gammainc(shape, z), 1e-5 * shape
    expected = (special.gammaincinv(shape + h, place) - special.gammaincinv(shape - h, place)) / (2 * h)
    np.testing.assert_allclose(slope, expected, rtol=1e-7)


def drawn_then_differentiated(a, rng):
    """The first draw is interpreted before it is known that a derivative needs the rule."""
    return rng.gamma(a) + mlirad.grad(lambda a: rng.gamma(a))(a)


def test_rules_are_interpreted_only_if_something_is_differentiated() -> None:
    def plain(a, rng):
        return rng.gamma(a) + rng.dirichlet([a, 2.0])[0]

    for function, has_rules in ((plain, False), (mlirad.grad(plain), True), (drawn_then_differentiated, True)):
        text = mlirad.jit(function).lower(3.4, fresh()).as_text("tensor")
        assert ("@of_gamma_jvp" in text, "@without_path_jvp" in text) == (has_rules, has_rules and "plain" in text)
    rng = fresh()
    expected = rng.gamma(3.4) + gamma(3.4, rng)[1]
    np.testing.assert_allclose(mlirad.jit(drawn_then_differentiated)(3.4, fresh()), expected, rtol=1e-13)
    assert mlirad.jit(plain)(3.4, fresh()) == plain(3.4, fresh())


def test_a_trace_has_rules_although_nothing_asks_for_derivatives() -> None:
    def moved(a):
        return np.sum(of_gamma(a, np.array([2.0, 5.0])))

    a = np.array([3.4, 0.7])
    trace = mlirad.trace(moved, a)
    (given,) = trace.wengert.arguments
    np.testing.assert_allclose(trace.cotangents[given.number], mlirad.grad(moved)(a), rtol=1e-12)


def test_the_mean_of_gradients() -> None:
    """Of E[z^2] = a (a + 1) for gamma numbers, and of a dirichlet mean."""
    mean = mlirad.grad(lambda a, rng: np.mean(rng.gamma(a, 1.0, 40_000) ** 2))
    assert abs(mean(2.0, fresh()) - 5.0) < 0.15
    part = mlirad.grad(lambda a, rng: np.mean(rng.dirichlet(a, 20_000)[:, 0]))
    np.testing.assert_allclose(part(np.array([1.0, 2.0, 3.0]), fresh()), [5 / 36, -1 / 36, -1 / 36], atol=0.004)
    assert np.isnan(part(np.array([0.01, 0.02, 0.03]), fresh())).all()


def test_a_covariance() -> None:
    """Its gradient, which differences of one element at a time have in two halves."""

    def loss(c, rng):
        return np.sum(np.sin(rng.multivariate_normal(np.zeros(2), c, 5, method="cholesky")))

    c = np.array([[2.0, 0.5], [0.5, 1.0]])
    found = mlirad.grad(loss)(c, fresh())
    flat = differences(lambda p, rng: loss(p.reshape(2, 2), rng), c.ravel()).reshape(2, 2)
    np.testing.assert_allclose(found + found.T, flat + flat.T, rtol=1e-7)


def test_refusals() -> None:
    refused: list[tuple[Any, str]] = [
        (lambda a, r: r.beta(a, 2.0), "x / \\(x \\+ y\\)"),
        (lambda a, r: r.standard_t(a), "rng.chisquare"),
        (lambda a, r: r.wald(a, 2.0), "stop_gradient"),
    ]
    for call, hint in refused:
        with pytest.raises(mlirad.DifferentiationError, match=hint):
            mlirad.grad(call)(0.5, fresh())
    assert mlirad.grad(lambda a, r: a * r.beta(2.0, 1.0) + r.binomial(9, a))(0.5, fresh()) == fresh().beta(2.0, 1.0)


def test_lanes_draw_in_turn() -> None:
    rng, plain = fresh(), fresh()
    found = mlirad.vmap(lambda r, x: r.normal(x, 1.0, 2), in_axes=(None, 0))(rng, np.arange(3.0))
    np.testing.assert_array_equal(found, [plain.normal(x, 1.0, 2) for x in range(3)])
    assert rng.bit_generator.state == plain.bit_generator.state


def test_directions_of_one_draw() -> None:
    """Transforms that run a function once for each direction are refused; jacrev runs it once."""
    rng, plain = fresh(), fresh()

    def scaled(x):
        return x * rng.normal()

    np.testing.assert_array_equal(mlirad.jacrev(scaled)(np.ones(3)), plain.normal() * np.eye(3))
    transforms = (mlirad.jacfwd, mlirad.jacobian, lambda f: mlirad.jacobian(f, sparsity=np.ones((3, 3))))
    for transform in (*transforms, lambda f: mlirad.hessian(lambda x: np.sum(f(x) ** 2))):
        with pytest.raises(mlirad.DifferentiationError, match="would draw other random numbers here") as caught:
            transform(scaled)(np.ones(3))
        assert caught.value.lineno == scaled.__code__.co_firstlineno + 1
    assert rng.bit_generator.state == plain.bit_generator.state
