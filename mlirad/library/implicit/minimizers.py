"""Minimizers of functions of an array or a number.

Reads: a function of x alone that returns a number, and a starting point. Writes: nothing. Leaves: x with a zero
gradient. Raises ArithmeticError if a minimizer does not converge.

Every step is shortened until the function gets smaller, if rounding errors allow seeing that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.implicit.linear_systems import length, tolerance
from mlirad.requests.kinds_of_derivatives import Grad, Jvp

jvp: Any = Jvp
grad: Any = Grad

NEWTON_CG, BFGS, DESCENT = 200, 1000, 100_000
"""The largest number of steps of each method, by default."""


def newton_cg(f: Any, x0: Any, tol: Any, maxiter: Any) -> Any:
    """Newton's method: each step by conjugate gradients, which stop at negative curvature."""
    gradient = grad(f)
    x = x0 + 0.0
    g = gradient(x)
    tol, begun = tolerance(g, 1e-11, 1e-5) if tol is None else tol, length(g)
    moved, steps = tol * (1.0 + length(x)) + 1.0, 0
    while length(g) > 0.0 and moved > tol * (1.0 + length(x)):
        if steps == (NEWTON_CG if maxiter is None else maxiter):
            raise ArithmeticError("minimize: newton-cg has not converged: begin nearer, or take another method=")
        step = newton_step(lambda v, x=x: jvp(gradient, (x,), (v,))[1], g)
        y = descended(f, gradient, x, g, step, 1.0)
        moved = length(y - x)
        x = y
        g = gradient(x)
        steps += 1
    require_flat(g, begun, tol)
    return x


def newton_step(hessian: Any, g: Any) -> Any:
    """An approximation of -H^-1 g, always a descent direction."""
    size = length(g)
    enough = np.minimum(0.1, size) * size
    step, residual, direction = 0.0 * g, -g, -g
    before, count = np.sum(g * g), 0
    while length(residual) > enough and count < 10 * np.size(g) + 10:
        along = hessian(direction)
        curvature = np.sum(direction * along)
        if curvature <= 0.0:
            if count == 0:
                step = direction
            break
        factor = before / curvature
        step = step + factor * direction
        residual = residual - factor * along
        now = np.sum(residual * residual)
        direction = residual + (now / before) * direction
        before = now
        count += 1
    return step


def bfgs(f: Any, x0: Any, tol: Any, maxiter: Any) -> Any:
    """The quasi-Newton method BFGS: changes of the gradient approximate the inverse Hessian."""

    def value(flat: Any) -> Any:
        return f(np.reshape(flat, np.shape(x0)) if np.ndim(x0) else flat[0])

    gradient = grad(value)
    x = np.reshape(x0 + 0.0 * np.ones(np.size(x0)), -1) if np.ndim(x0) == 0 else np.reshape(x0 + 0.0, -1)
    g, n = gradient(x), x.size
    inverse = np.eye(n, dtype=g.dtype)
    tol, begun = tolerance(g, 1e-11, 1e-5) if tol is None else tol, length(g)
    moved, steps, first = tol * (1.0 + length(x)) + 1.0, 0, 1.0 / np.maximum(1.0, length(g))
    while length(g) > 0.0 and moved > tol * (1.0 + length(x)):
        if steps == (BFGS if maxiter is None else maxiter):
            raise ArithmeticError("minimize: bfgs has not converged: begin nearer, or take another method=")
        step = -(inverse @ g)
        y = descended(value, gradient, x, g, step, first if steps == 0 else 1.0)
        s, h = y - x, gradient(y) - g
        moved = length(s)
        curvature = np.sum(s * h)
        if curvature > 1e-10 * moved * length(h):
            if steps == 0:
                inverse = inverse * (curvature / np.sum(h * h))
            along = inverse @ h
            scale = (1.0 + np.sum(h * along) / curvature) / curvature
            inverse = inverse + scale * np.outer(s, s) - (np.outer(along, s) + np.outer(s, along)) / curvature
        x, g = y, g + h
        steps += 1
    require_flat(g, begun, tol)
    return np.reshape(x, np.shape(x0)) if np.ndim(x0) else x[0]


def gradient_descent(f: Any, x0: Any, tol: Any, maxiter: Any) -> Any:
    """Steps along the gradient: longer after a successful step, shorter after a failed one."""
    gradient = grad(f)
    x = x0 + 0.0
    g = gradient(x)
    tol, begun = tolerance(g, 1e-11, 1e-5) if tol is None else tol, length(g)
    rate, moved, steps = 1.0, tol * (1.0 + length(x)) + 1.0, 0
    while length(g) > 0.0 and moved > tol * (1.0 + length(x)):
        if steps == (DESCENT if maxiter is None else maxiter):
            raise ArithmeticError("minimize: gradient-descent has not converged: take another method=")
        y = descended(f, gradient, x, g, -rate * g, 1.0)
        moved = length(y - x)
        rate = 1.5 * moved / length(g)
        x = y
        g = gradient(x)
        steps += 1
    require_flat(g, begun, tol)
    return x


def descended(f: Any, gradient: Any, x: Any, g: Any, step: Any, first: Any) -> Any:
    """x after a step, or after the first of its successive halves that makes f smaller. If rounding hides whether f
    gets smaller, the step must make the gradient shorter. x itself if no step does."""
    here, slope, size = f(x), np.sum(g * step), length(g)
    noise = 1e3 * tolerance(g, 2.2e-16, 1.2e-7) * abs(here)
    factor, y = first, x + first * step
    is_better = is_smaller(f, gradient, y, here, factor * slope, noise, size)
    while not is_better and factor > 1e-12:
        factor = 0.5 * factor
        y = x + factor * step
        is_better = is_smaller(f, gradient, y, here, factor * slope, noise, size)
    return y if is_better else x + 0.0 * step


def is_smaller(f: Any, gradient: Any, y: Any, here: Any, expected: Any, noise: Any, size: Any) -> Any:
    """Whether f is smaller at y by a fraction of the decrease that its slope predicts."""
    if -expected > noise:
        return f(y) <= here + 1e-4 * expected
    return length(gradient(y)) < size


def require_flat(g: Any, first: Any, tol: Any) -> None:
    """Require a zero gradient where no step makes f smaller."""
    if not length(g) <= np.sqrt(tol) * (1.0 + first):
        raise ArithmeticError("minimize: no step makes the function smaller, and its gradient is not zero")
