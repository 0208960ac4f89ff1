"""Programs whose Jacobians and Hessians are compared with JAX's: networks, likelihoods, equations solved in time.

Reads: nothing. Writes: nothing. Leaves: the cases, for `jacobians.py`. JAX is imported when a case asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

import mlirad

RNG = np.random.default_rng(0)
Function = Callable[..., Any]


@dataclass(frozen=True)
class Case:
    """directions: how many tangents or cotangents the derivative takes. value: what each of them is a derivative of.

    theirs: given `jax`, its `numpy` and its `lax`, the same derivative."""

    directions: int
    value: Function
    derivative: Function
    theirs: Callable[[Any, Any, Any], Function]
    arguments: tuple[Any, ...]


def layer(weights, x):
    """An elementwise chain around a product."""
    return np.tanh(weights @ np.sin(x * x)) * np.exp(-x)


def negative_log_likelihood(w, x, y):
    """Of a logistic regression."""
    z = x @ w
    return np.sum(np.logaddexp(0.0, z) - y * z) + 0.5 * np.sum(w * w)


def error(p, x, y):
    """Of a network with one layer of 15 units, whose parameters are one vector."""
    weights, rest = p[:60].reshape(4, 15), p[60:]
    residuals = np.tanh(x @ weights + rest[:15]) @ rest[15:] - y
    return np.mean(residuals * residuals)


def lorenz_by_for(q, y):
    for _ in range(1000):
        y = y + 0.001 * np.array([q[0] * (y[1] - y[0]), y[0] * (q[1] - y[2]) - y[1], y[0] * y[1] - q[2] * y[2]])
    return y


def lorenz_by_while(q, y):
    t = 0.0
    while t < 1.0:
        y = y + 0.001 * np.array([q[0] * (y[1] - y[0]), y[0] * (q[1] - y[2]) - y[1], y[0] * y[1] - q[2] * y[2]])
        t += 0.001
    return y


def heat(k, u):
    """Steps in time on a bar, with a conductivity for each point."""
    for _ in range(200):
        u = u.copy()
        u[1:-1] = u[1:-1] + 0.1 * np.exp(k[1:-1]) * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def classification(w1, b1, w2, b2, x, t):
    """The cross entropy of one example."""
    z = np.tanh(x @ w1 + b1) @ w2 + b2
    return np.log(np.sum(np.exp(z - np.max(z)))) + np.max(z) - z @ t


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def product_with_hessian(x, v):
    return mlirad.jvp(mlirad.grad(rosenbrock), (x,), (v,))[1]


def gradient_beside(x, _v):
    """The gradient alone, of the same arguments."""
    return mlirad.grad(rosenbrock)(x)


def with_jax_numpy(function: Function, jnp: Any) -> Function:
    """The same function, whose `np` is JAX's."""
    assert isinstance(function, FunctionType)
    return FunctionType(function.__code__, {**globals(), "np": jnp})


def lorenz_in_jax(jnp: Any, lax: Any, is_while: bool) -> Function:
    def step(y: Any, q: Any) -> Any:
        rates = [q[0] * (y[1] - y[0]), y[0] * (q[1] - y[2]) - y[1], y[0] * y[1] - q[2] * y[2]]
        return y + 0.001 * jnp.stack(rates)

    def by_for(q: Any, y: Any) -> Any:
        return lax.fori_loop(0, 1000, lambda _, y: step(y, q), y)

    def by_while(q: Any, y: Any) -> Any:
        return lax.while_loop(lambda s: s[0] < 1.0, lambda s: (s[0] + 0.001, step(s[1], q)), (0.0, y))[1]

    return by_while if is_while else by_for


def heat_in_jax(jnp: Any, lax: Any) -> Function:
    def step(k: Any, u: Any) -> Any:
        return u.at[1:-1].add(0.1 * jnp.exp(k[1:-1]) * (u[2:] - 2 * u[1:-1] + u[:-2]))

    return lambda k, u: lax.fori_loop(0, 200, lambda _, u: step(k, u), u)


def logistic(d: int) -> Case:
    x, y = RNG.normal(size=(1000, d)), (RNG.uniform(size=1000) < 0.5).astype(float)
    return Case(
        d,
        mlirad.grad(negative_log_likelihood),
        mlirad.hessian(negative_log_likelihood),
        lambda jax, jnp, _: jax.hessian(with_jax_numpy(negative_log_likelihood, jnp)),
        (0.1 * RNG.normal(size=d), x, y),
    )


def each_example(inputs: int, units: int) -> Case:
    weights = (RNG.normal(size=(inputs, units)) / inputs**0.5, RNG.normal(size=units))
    more = (RNG.normal(size=(units, 10)) / units**0.5, RNG.normal(size=10))
    examples = RNG.normal(size=(256, inputs)), np.eye(10)[RNG.integers(0, 10, 256)]
    axes, parameters = (None, None, None, None, 0, 0), (0, 1, 2, 3)
    return Case(
        1,
        mlirad.vmap(classification, axes),
        mlirad.vmap(mlirad.grad(classification, parameters), axes),
        lambda jax, jnp, _: jax.vmap(jax.grad(with_jax_numpy(classification, jnp), parameters), axes),
        (*weights, *more, *examples),
    )


def cases() -> Mapping[str, Case]:
    matrix, start, rates = RNG.normal(size=(200, 200)) / 14.0, np.ones(3), np.array([10.0, 28.0, 8.0 / 3.0])
    samples, targets = RNG.normal(size=(200, 4)), RNG.normal(size=200)
    x, directions = RNG.normal(size=1000), RNG.normal(size=(28, 1000))

    def hvps(jax: Any, jnp: Any, _: Any) -> Function:
        gradient = jax.grad(with_jax_numpy(rosenbrock, jnp))
        return jax.vmap(lambda x, v: jax.jvp(gradient, (x,), (v,))[1], (None, 0))

    return {
        "jacrev of a layer, 200 x 200": Case(
            200,
            mlirad.jit(layer),
            mlirad.jacrev(layer, 1),
            lambda jax, jnp, _: jax.jacrev(with_jax_numpy(layer, jnp), 1),
            (matrix, RNG.normal(size=200)),
        ),
        "hessian of a logistic regression, 10": logistic(10),
        "hessian of a logistic regression, 100": logistic(100),
        "hessian of a network, 90": Case(
            90,
            mlirad.grad(error),
            mlirad.hessian(error),
            lambda jax, jnp, _: jax.hessian(with_jax_numpy(error, jnp)),
            (RNG.normal(size=90), samples, targets),
        ),
        "jacfwd of an equation, by for": Case(
            3,
            mlirad.jit(lorenz_by_for),
            mlirad.jacfwd(lorenz_by_for),
            lambda jax, jnp, lax: jax.jacfwd(lorenz_in_jax(jnp, lax, False)),
            (rates, start),
        ),
        "jacfwd of an equation, by while": Case(
            3,
            mlirad.jit(lorenz_by_while),
            mlirad.jacfwd(lorenz_by_while),
            lambda jax, jnp, lax: jax.jacfwd(lorenz_in_jax(jnp, lax, True)),
            (rates, start),
        ),
        "jacfwd of heat in a bar, 100": Case(
            100,
            mlirad.jit(heat),
            mlirad.jacfwd(heat),
            lambda jax, jnp, lax: jax.jacfwd(heat_in_jax(jnp, lax)),
            (0.1 * RNG.normal(size=100), RNG.normal(size=100)),
        ),
        "gradients of 256 examples, 20-32-10": each_example(20, 32),
        "gradients of 256 examples, 64-128-10": each_example(64, 128),
        "28 products with a Hessian, 1,000": Case(
            28,
            mlirad.jit(gradient_beside),
            mlirad.vmap(product_with_hessian, (None, 0)),
            hvps,
            (x, directions),
        ),
    }
