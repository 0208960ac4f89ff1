"""Solvers of equations: Newton's method, and fixed-point iteration.

Reads: a function of x alone, and a starting point. Writes: nothing. Leaves: x. Raises ArithmeticError if a solver does
not converge: the derivative would belong to another equation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.implicit.linear_systems import length, solved, tolerance
from mlirad.requests.kinds_of_derivatives import Jvp

jvp: Any = Jvp

NEWTON, REPEATED = 100, 100_000
"""The most steps, by default."""


def newton(residual: Any, x0: Any, tol: Any, maxiter: Any) -> Any:
    """x with residual(x) = 0, by Newton's method; a step is halved until the residual gets smaller."""
    x = x0 + 0.0 * residual(x0)
    tol = tolerance(x, 1e-12, 1e-5) if tol is None else tol
    r = residual(x)
    size, step_size, steps = length(r), tol * (1.0 + length(x)) + 1.0, 0
    while size > 0.0 and step_size > tol * (1.0 + length(x)):
        if steps == (NEWTON if maxiter is None else maxiter):
            raise ArithmeticError("root: Newton's method has not converged: begin nearer, or give it a solver=")
        step = solved(lambda v, x=x: jvp(residual, (x,), (v,))[1], r)
        factor = 1.0
        trial = x - step
        r_trial = residual(trial)
        while not length(r_trial) <= (1.0 - 1e-4 * factor) * size and factor > 1e-8:
            factor = 0.5 * factor
            trial = x - factor * step
            r_trial = residual(trial)
        if factor <= 1e-8 and length(step) > np.sqrt(tol) * (1.0 + length(x)):
            raise ArithmeticError("root: no step makes the function smaller: begin elsewhere, or give it a solver=")
        step_size = factor * length(step)
        x, r = trial, r_trial
        size = length(r)
        steps += 1
    return x


def repeated(f: Any, x0: Any, tol: Any, maxiter: Any) -> Any:
    """x with f(x) = x, by iterating x = f(x)."""
    x = f(x0)
    tol = tolerance(x, 1e-13, 1e-6) if tol is None else tol
    change, steps = length(x - x0), 0
    while not change <= tol * (1.0 + length(x)) < np.inf:  # the length of large x overflows
        if steps == (REPEATED if maxiter is None else maxiter):
            raise ArithmeticError("fixed_point: x = f(x) has not converged: begin nearer, or give it a solver=")
        y = f(x)
        change = length(y - x)
        x = y
        steps += 1
    return x
