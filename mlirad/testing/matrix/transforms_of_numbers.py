"""The transforms of the matrix, each as a map between scalar functions of a vector.

The result of a transform is contracted with fixed weights, so any two can be composed. `reference` computes the same by
differences in the first of two arguments; the second one, the point of the derivatives, is held fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import mlirad
from mlirad.testing.matrix.digits import CONTEXT, along

Function = Callable[[Any], Any]
Reference = Callable[[Any, Any], Any]

V = np.array([0.7, -0.4, 0.5])
W = np.array([0.3, 0.9, -0.6])


@dataclass(frozen=True)
class Transform:
    name: str
    of: Callable[[Function], Function]
    reference: Callable[[Reference], Reference]
    is_for_kernels: bool = True
    """Whether the docs allow it inside compiled functions."""


def slope(g: Reference, direction: np.ndarray) -> Reference:
    return lambda x, at: along(lambda t: g(x + direction * t, at), 1)


def curvature(g: Reference, v: np.ndarray, w: np.ndarray) -> Reference:
    return slope(slope(g, v), w)


def grad(g: Function) -> Function:
    return lambda x: np.sum(mlirad.grad(g)(x) * W)


def grad_in_budget(g: Function) -> Function:
    return lambda x: np.sum(mlirad.grad(g, checkpoint=2048)(x) * W)


def value_and_grad(g: Function) -> Function:
    def weighted(x):
        value, gradient = mlirad.value_and_grad(g)(x)
        return 0.5 * value + np.sum(gradient * W)

    return weighted


def vjp(g: Function) -> Function:
    def weighted(x):
        out, pullback = mlirad.vjp(g, x)
        (first,) = pullback(1.5)
        (second,) = pullback(out)
        return np.sum(first * W) + np.sum(second * V)

    return weighted


def jvp(g: Function) -> Function:
    return lambda x: mlirad.jvp(g, (x,), (V,))[1]


def linearize(g: Function) -> Function:
    def weighted(x):
        out, linear = mlirad.linearize(g, x)
        return linear(V) + out * linear(W)

    return weighted


def times_argument(g: Function) -> Function:
    return lambda x: g(x) * x


def times_argument_slope(g: Reference) -> Reference:
    return slope(lambda x, at: np.sum(g(x, at) * x * W), V)


def jacfwd(g: Function) -> Function:
    return lambda x: np.sum(mlirad.jacfwd(times_argument(g))(x) * V * W[:, None])


def jacrev(g: Function) -> Function:
    return lambda x: np.sum(mlirad.jacrev(times_argument(g))(x) * V * W[:, None])


def sparse_jacobian(g: Function) -> Function:
    return lambda x: np.sum(mlirad.jacobian(times_argument(g))(x).toarray() * V * W[:, None])


def hessian(g: Function) -> Function:
    return lambda x: np.sum(mlirad.hessian(g)(x) * V * W[:, None])


def sparse_hessian(g: Function) -> Function:
    return lambda x: np.sum(mlirad.hessian(g, sparsity="find")(x).toarray() * V * W[:, None])


def hvp(g: Function) -> Function:
    return lambda x: np.sum(mlirad.hvp(g, (x,), (V,))[0] * W)


def jet(g: Function) -> Function:
    def weighted(x):
        value, (first, second, third) = mlirad.jet(g, (x,), ([V, W, 0.0 * V],))
        return value + first + 0.5 * second + 0.2 * third

    return weighted


def jet_reference(g: Reference) -> Reference:
    def weighted(x, at):
        def path(t):
            return g(x + V * t + W * (t * t * 0.5), at)

        return g(x, at) + along(path, 1) + along(path, 2) * 0.5 + along(path, 3) * 0.2

    return weighted


LANES = np.array([1.0, 1.1, 0.95])


def vmap(g: Function) -> Function:
    return lambda x: np.sum(mlirad.vmap(g)(x * LANES[:, None]) * W)


def vmap_reference(g: Reference) -> Reference:
    return lambda x, at: sum(g(x * lane, at * lane) * w for lane, w in zip(LANES, W, strict=True))


def accumulate_grad(g: Function) -> Function:
    def loss(x, factors):
        return g(x * np.mean(factors))

    return lambda x: mlirad.accumulate_grad(loss, 2)(x, np.array([1.0, 1.2, 0.9, 0.7]))


def accumulate_reference(g: Reference) -> Reference:
    first, second = np.mean([1.0, 1.2]), np.mean([0.9, 0.7])
    return lambda x, at: (g(x * first, at * first) + g(x * second, at * second)) * 0.5


def stop_gradient(g: Function) -> Function:
    return lambda x: g(x) * (1.0 + mlirad.stop_gradient(g(x)))


def custom_jvp(g: Function) -> Function:
    """A rule that is false on purpose: twice the derivative."""

    @mlirad.custom_jvp
    def own(x):
        return g(x)

    @own.defjvp
    def own_jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        value, tangent = mlirad.jvp(g, (x,), (t,))
        return value, 2.0 * tangent

    return own


def custom_vjp(g: Function) -> Function:
    """A rule that is false on purpose: three times the derivative."""

    @mlirad.custom_vjp
    def own(x):
        return g(x)

    def own_fwd(x):
        return own(x), x

    def own_bwd(x, cotangent):
        return (3.0 * cotangent * mlirad.grad(g)(x),)

    own.defvjp(own_fwd, own_bwd)
    return own


def multiple(factor: float) -> Callable[[Reference], Reference]:
    return lambda g: lambda x, at: g(at, at) + (g(x, at) - g(at, at)) * factor


def root(g: Function) -> Function:
    def equation(y, x):
        return y + 0.1 * y * y * y - g(x)

    return lambda x: mlirad.root(equation, 0.5, x)


def fixed_point(g: Function) -> Function:
    def step(y, x):
        return 0.3 * np.sin(y) + g(x)

    return lambda x: mlirad.fixed_point(step, 0.5, x)


def minimum(g: Function) -> Function:
    def energy(y, x):
        return 0.5 * y * y + 0.025 * y * y * y * y - g(x) * y

    return lambda x: mlirad.minimize(energy, 0.5, x)


def solved(equation: Callable[[Any], Any], slope_of_equation: Callable[[Any], Any]) -> Callable[[Reference], Reference]:
    """y with equation(y) = g(x, at), by Newton's method in all digits."""

    def reference(g: Reference) -> Reference:
        def solution(x, at):
            wanted = g(x, at)
            y = wanted
            for _ in range(60):
                step = (equation(y) - wanted) / slope_of_equation(y)
                y = y - step
                if abs(step.value) < CONTEXT.mpf(10) ** -115:
                    return y
            raise ArithmeticError("Newton's method has not converged")

        return solution

    return reference


CUBIC = solved(lambda y: y + y * y * y * 0.1, lambda y: y * y * 0.3 + 1.0)
KEPLER = solved(lambda y: y - np.sin(y) * 0.3, lambda y: 1.0 - np.cos(y) * 0.3)


def _same(g: Reference) -> Reference:
    return g


TRANSFORMS = (
    Transform("jit", mlirad.jit, _same),
    Transform("grad", grad, lambda g: slope(g, W)),
    Transform("value_and_grad", value_and_grad, lambda g: lambda x, at: g(x, at) * 0.5 + slope(g, W)(x, at)),
    Transform("vjp", vjp, lambda g: lambda x, at: slope(g, W)(x, at) * 1.5 + slope(g, V)(x, at) * g(x, at)),
    Transform("jvp", jvp, lambda g: slope(g, V)),
    Transform("linearize", linearize, lambda g: lambda x, at: slope(g, V)(x, at) + g(x, at) * slope(g, W)(x, at)),
    Transform("jacfwd", jacfwd, times_argument_slope),
    Transform("jacrev", jacrev, times_argument_slope),
    Transform("hessian", hessian, lambda g: curvature(g, V, W)),
    Transform("hvp", hvp, lambda g: curvature(g, V, W)),
    Transform("jet", jet, jet_reference),
    Transform("vmap", vmap, vmap_reference),
    Transform("checkpoint", mlirad.checkpoint, _same),
    Transform("accumulate_grad", accumulate_grad, accumulate_reference),
    Transform("stop_gradient", stop_gradient, lambda g: lambda x, at: g(x, at) * (g(at, at) + 1.0)),
    Transform("custom_jvp", custom_jvp, multiple(2.0)),
    Transform("custom_vjp", custom_vjp, multiple(3.0)),
    Transform("root", root, CUBIC),
    Transform("fixed_point", fixed_point, KEPLER),
    Transform("minimize", minimum, CUBIC),
    Transform("grad in a budget", grad_in_budget, lambda g: slope(g, W), is_for_kernels=False),
    Transform("sparse jacobian", sparse_jacobian, times_argument_slope, is_for_kernels=False),
    Transform("sparse hessian", sparse_hessian, lambda g: curvature(g, V, W), is_for_kernels=False),
)
