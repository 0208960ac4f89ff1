"""Solutions of equations, differentiated implicitly."""

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
    """The x at which `function(x, *params)` = 0: an array or a number of the shape of x0, where the search begins.

    The derivatives with respect to params, of any order, follow from the equation (the implicit function theorem),
    whatever the solver does: one linear system each. So do derivatives with respect to what the function captures.
    Those with respect to x0 are zero. params: any nests of arrays and numbers.

    solver(function, x0, *params) gives x; the default is Newton's method. linear_solver(product, b) gives v with
    product(v) = b; the default eliminates up to 48 unknowns, and uses GMRES for more. tol, maxiter: of the default
    solver.
    Raises ArithmeticError if the solver does not converge or the system is singular.
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
    """The x at which `function(x, *params)` = x; by default x = function(x, *params) is repeated. See `root`."""
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
    """The x where the scalar `function(x, *params)` has a minimum; the search begins at x0.

    method: "newton-cg", "bfgs", "gradient-descent", or a function of (function, x0, *params) that gives x. See `root`
    for the rest; the equation is that the gradient is zero.
    """
    options = {"method": method, "linear_solver": linear_solver, "tol": tol, "maxiter": maxiter}
    return _solved(function, "minimize", x0, params, options)
