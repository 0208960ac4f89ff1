"""Roots, fixed points and minima, differentiated by the implicit function theorem.

Reads: a function, a starting point, and parameters. Writes: nothing. Leaves: x with residual(x, params) = 0.

With J = d residual / dx, a cotangent g of x gives -(d residual / d params)^T w, where J^T w = g: one linear system. The
function that solves it has a rule of its own, since J v = b is an equation too: cotangents of v solve the transposed
system. So the two rules suffice for derivatives of all orders.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from mlirad.library.implicit.equations import newton, repeated
from mlirad.library.implicit.linear_systems import solved
from mlirad.library.implicit.minimizers import bfgs, gradient_descent, newton_cg
from mlirad.library.implicit.surroundings import called_with, evaluated, values_around
from mlirad.library.own_rules import CustomVjp
from mlirad.requests import marks_in_programs
from mlirad.requests.kinds_of_derivatives import Grad, Jvp, Vjp

# As compiled functions write it: `mlirad.jvp` itself belongs to a later room.
jvp: Any = Jvp
vjp: Any = Vjp
grad: Any = Grad
stop_gradient: Any = marks_in_programs.stop_gradient

METHODS: dict[str, Callable[..., Any]] = {
    "newton-cg": newton_cg,
    "bfgs": bfgs,
    "gradient-descent": gradient_descent,
}


@partial(CustomVjp, nondiff_argnums=(0,))
def implicit_solution(how: Any, x0: Any, params: Any) -> Any:
    """x with residual(x, params) = 0, found by solver(x0, params). how: the residual, the solver, and the solver of
    linear systems."""
    _, solver, _ = how
    return solver(x0, params)


def solution_forward(how: Any, x0: Any, params: Any) -> Any:
    x = implicit_solution(how, x0, params)
    return x, (x, params)


def solution_backward(how: Any, kept: Any, g: Any) -> Any:
    x, params = kept
    residual, _, linear_solver = how
    w = jacobian_solve(residual, linear_solver, True, g, x, params)
    # The factor has a derivative, even if no parameter has one.
    _, pullback = vjp(lambda p, one: residual(x, p) * one, params, 1.0)
    return None, pullback(-w)[0]


implicit_solution.defvjp(solution_forward, solution_backward)


@partial(CustomVjp, nondiff_argnums=(0, 1, 2))
def jacobian_solve(residual: Any, linear_solver: Any, is_transposed: bool, b: Any, x: Any, params: Any) -> Any:
    """v with J v = b or J^T v = b, where J is the Jacobian of the residual at x."""
    if is_transposed:
        _, pullback = vjp(lambda y: residual(y, params), x)
        return linear_solver(lambda v: pullback(v)[0], b)
    return linear_solver(lambda v: jvp(lambda y: residual(y, params), (x,), (v,))[1], b)


def product(residual: Any, is_transposed: bool, v: Any, x: Any, params: Any) -> Any:
    """J v, or J^T v."""
    if is_transposed:
        return vjp(lambda y: residual(y, params), x)[1](v)[0]
    return jvp(lambda y: residual(y, params), (x,), (v,))[1]


def jacobian_solve_forward(residual: Any, linear_solver: Any, is_transposed: bool, b: Any, x: Any, params: Any) -> Any:
    v = jacobian_solve(residual, linear_solver, is_transposed, b, x, params)
    return v, (v, x, params)


def jacobian_solve_backward(residual: Any, linear_solver: Any, is_transposed: bool, kept: Any, g: Any) -> Any:
    v, x, params = kept
    w = jacobian_solve(residual, linear_solver, not is_transposed, g, x, params)
    _, pullback = vjp(lambda y, p: product(residual, is_transposed, v, y, p), x, params)
    gx, gp = pullback(-w)
    return w, gx, gp


jacobian_solve.defvjp(jacobian_solve_forward, jacobian_solve_backward)


def with_values(f: Any, values: Any) -> Any:
    """f, with `values` in place of those that it takes from outside."""
    return lambda x, *p: evaluated(f, values, x, *p)


def alone(solver: Any) -> Any:
    """The solver, with the values that it takes from outside held constant in derivatives: its result is determined by
    the equation alone."""
    values = stop_gradient(values_around(solver))
    return lambda *args: called_with(solver, values, *args)


def linear_solver_of(linear_solver: Any) -> Any:
    return solved if linear_solver is None else lambda product, b: alone(linear_solver)(product, b)


def root(
    f: Any, x0: Any, *params: Any, solver: Any = None, linear_solver: Any = None, tol: Any = None, maxiter: Any = None
) -> Any:
    """x with f(x, *params) = 0."""

    def residual(x: Any, p: Any) -> Any:
        return with_values(f, p[0])(x, *p[1])

    def found(x: Any, p: Any) -> Any:
        g = with_values(f, p[0])
        return newton(lambda y: g(y, *p[1]), x, tol, maxiter) if solver is None else alone(solver)(g, x, *p[1])

    return implicit_solution((residual, found, linear_solver_of(linear_solver)), x0, (values_around(f), params))


def fixed_point(
    f: Any, x0: Any, *params: Any, solver: Any = None, linear_solver: Any = None, tol: Any = None, maxiter: Any = None
) -> Any:
    """x with f(x, *params) = x."""

    def residual(x: Any, p: Any) -> Any:
        return with_values(f, p[0])(x, *p[1]) - x

    def found(x: Any, p: Any) -> Any:
        g = with_values(f, p[0])
        return repeated(lambda y: g(y, *p[1]), x, tol, maxiter) if solver is None else alone(solver)(g, x, *p[1])

    return implicit_solution((residual, found, linear_solver_of(linear_solver)), x0, (values_around(f), params))


def minimize(
    f: Any,
    x0: Any,
    *params: Any,
    method: Any = "newton-cg",
    linear_solver: Any = None,
    tol: Any = None,
    maxiter: Any = None,
) -> Any:
    """x where f(x, *params), a number, has a local minimum near x0."""
    if isinstance(method, str) and method not in METHODS:
        raise ValueError(f"minimize has no method {method!r}: take newton-cg, bfgs, gradient-descent, or a function")

    def residual(x: Any, p: Any) -> Any:
        return grad(lambda y: with_values(f, p[0])(y, *p[1]))(x)

    def found(x: Any, p: Any) -> Any:
        g = with_values(f, p[0])
        if isinstance(method, str):
            return METHODS[method](lambda y: g(y, *p[1]), x, tol, maxiter)
        return alone(method)(g, x, *p[1])

    return implicit_solution((residual, found, linear_solver_of(linear_solver)), x0, (values_around(f), params))


KINDS: dict[str, Callable[..., Any]] = {"root": root, "fixed_point": fixed_point, "minimize": minimize}
