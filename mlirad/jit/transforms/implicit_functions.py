"""Solutions of equations, which are differentiated by the equation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np

from mlirad.jit.kernel import kernel_of
from mlirad.jit.transforms.jitted import checked_callable, inherited, stands_for
from mlirad.requests.kinds_of_derivatives import Implicit
from mlirad.requests.python_functions import plain

X = TypeVar("X", float, np.ndarray)


def _solved(function: Callable[..., Any], kind: str, x0: Any, params: tuple[Any, ...], options: dict[str, Any]) -> Any:
    chosen = tuple((name, value) for name, value in options.items() if value is not None)
    request = Implicit(plain(checked_callable(function)), kind, chosen)
    return kernel_of(request, inherited(function))(x0, *params)


@stands_for(partial(Implicit, kind="root"))
def root(
    function: Callable[..., Any],
    x0: X,
    *params: Any,
    solver: Callable[..., Any] | None = None,
    linear_solver: Callable[..., Any] | None = None,
    tol: float | None = None,
    maxiter: int | None = None,
) -> X:
    """x with `function(x, *params)` = 0, an array or a number of the shape of x0, found from x0 on.

    Its derivatives by the params, of any order, are those of the equation (the implicit function theorem): one linear
    system for each, whatever the solver does. So are those by what the function takes from around itself. By x0 they
    are zero. params: any nests of arrays and numbers.

    solver(function, x0, *params) gives x; by default it is Newton's method. linear_solver(product, b) gives v with
    product(v) = b; by default it eliminates up to 48 unknowns, and uses GMRES for more. tol, maxiter: of the default
    solver.
    Raises ArithmeticError where that does not converge, and where the system is singular.
    """
    options = {"solver": solver, "linear_solver": linear_solver, "tol": tol, "maxiter": maxiter}
    return _solved(function, "root", x0, params, options)


@stands_for(partial(Implicit, kind="fixed_point"))
def fixed_point(
    function: Callable[..., Any],
    x0: X,
    *params: Any,
    solver: Callable[..., Any] | None = None,
    linear_solver: Callable[..., Any] | None = None,
    tol: float | None = None,
    maxiter: int | None = None,
) -> X:
    """x with `function(x, *params)` = x; by default found by x = function(x, *params) again and again. See `root`."""
    options = {"solver": solver, "linear_solver": linear_solver, "tol": tol, "maxiter": maxiter}
    return _solved(function, "fixed_point", x0, params, options)


@stands_for(partial(Implicit, kind="minimize"))
def minimize(
    function: Callable[..., Any],
    x0: X,
    *params: Any,
    method: str | Callable[..., Any] = "newton-cg",
    linear_solver: Callable[..., Any] | None = None,
    tol: float | None = None,
    maxiter: int | None = None,
) -> X:
    """x at which `function(x, *params)`, a number, has a minimum, found from x0 on.

    method: "newton-cg", "bfgs", "gradient-descent", or a function of (function, x0, *params) that gives x. Otherwise
    see `root`: the equation is that the gradient is zero.
    """
    options = {"method": method, "linear_solver": linear_solver, "tol": tol, "maxiter": maxiter}
    return _solved(function, "minimize", x0, params, options)
