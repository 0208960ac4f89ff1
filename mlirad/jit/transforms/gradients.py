"""Gradients, Jacobians and Hessians: kernels of a function's derivative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, ParamSpec, TypeVar, overload

from mlirad.jit.kernel import Kernel, kernel_of
from mlirad.jit.sparse.sparse_derivatives import SparseDerivative
from mlirad.jit.transforms.jitted import checked_callable, options_of, stands_for
from mlirad.requests.argnums import argnums_of
from mlirad.requests.kinds_of_derivatives import Grad, Hessian, Jacobian, Sparse
from mlirad.requests.python_functions import plain

P = ParamSpec("P")
R = TypeVar("R")
Aux = TypeVar("Aux")

Numbers = int | Sequence[int] | None
Names = str | Sequence[str] | None


@overload
def grad(
    function: Callable[P, tuple[Any, Aux]], argnums: Numbers = None, *, has_aux: Literal[True], **options: Any
) -> Kernel[P, tuple[Any, Aux]]: ...
@overload
def grad(
    function: Callable[P, Any],
    argnums: Numbers = None,
    has_aux: bool = False,
    *,
    argnames: Names = None,
    grad_position: Numbers = None,
    holomorphic: bool = False,
    **options: Any,
) -> Kernel[P, Any]: ...
@stands_for(Grad)
def grad(
    function: Callable[..., Any],
    argnums: Numbers = None,
    has_aux: bool = False,
    *,
    argnames: Names = None,
    grad_position: Numbers = None,
    holomorphic: bool = False,
    **options: Any,
) -> Kernel:
    """The gradient of a scalar function.

    argnums (grad_position is the same): the number of the argument to differentiate with respect to, or several; an int
    gives one gradient, a tuple gives a tuple. argnames: the same by name. With both, the result is a tuple: the
    gradients for argnums, then those for argnames. With neither, it is argument 0. Arguments may be passed by position
    or by keyword.
    A gradient has the shape, dtype and pytree structure of its argument.
    has_aux: the function returns (value, aux), and the result is (gradients, aux).
    holomorphic: the function is complex-differentiable, takes and returns complex numbers, and the gradient is its
    complex derivative. Otherwise the value u is real, and the gradient for a complex argument x + iy is du/dx - i
    du/dy.
    options: as for `jit`. By default the options of the function, if it is jitted, except donate_argnums.

    When called, raises mlirad.DifferentiationError (a TypeError), at the place in the source, if the value is not one
    float or an argument is not of floats. Arrays, lists, dicts and dataclasses of the caller that the function writes
    are written once, as the function itself does.
    """
    chosen = argnums_of(argnums, grad_position, argnames)
    request = Grad(plain(checked_callable(function)), chosen, has_aux, False, holomorphic)
    return kernel_of(request, options_of(grad, options, function))


@stands_for(partial(Grad, with_value=True))
def value_and_grad(
    function: Callable[P, R],
    argnums: Numbers = None,
    has_aux: bool = False,
    *,
    argnames: Names = None,
    grad_position: Numbers = None,
    holomorphic: bool = False,
    **options: Any,
) -> Kernel[P, tuple[R, Any]]:
    """The value of a scalar function and its gradient: (value, gradients), or ((value, aux), gradients) with has_aux.

    See `grad`. The forward sweep runs once.
    """
    chosen = argnums_of(argnums, grad_position, argnames)
    request = Grad(plain(checked_callable(function)), chosen, has_aux, True, holomorphic)
    return kernel_of(request, options_of(value_and_grad, options, function))


@overload
def jacfwd(
    function: Callable[P, tuple[Any, Aux]], argnums: Numbers = None, *, has_aux: Literal[True], **options: Any
) -> Kernel[P, tuple[Any, Aux]]: ...
@overload
def jacfwd(
    function: Callable[P, Any],
    argnums: Numbers = None,
    has_aux: bool = False,
    *,
    argnames: Names = None,
    grad_position: Numbers = None,
    holomorphic: bool = False,
    **options: Any,
) -> Kernel[P, Any]: ...
@stands_for(partial(Jacobian, is_forward=True))
def jacfwd(
    function: Callable[..., Any],
    argnums: Numbers = None,
    has_aux: bool = False,
    *,
    argnames: Names = None,
    grad_position: Numbers = None,
    holomorphic: bool = False,
    **options: Any,
) -> Kernel:
    """The Jacobian of a function, in forward mode: one tangent for each number in the arguments.

    For a result of shape r and an argument of shape s, it is an array of shape r + s and of the argument's dtype. The
    result keeps its structure, and so does the argument; a tuple of argnums gives a tuple. `jacrev` is better if the
    results have fewer numbers than the arguments. has_aux: the function returns (value, aux), and the result is
    (Jacobian, aux).
    options: as for `jit`.

    Raises mlirad.DifferentiationError (a TypeError), at the place in the source, if a result or argument is not of
    floats.
    """
    chosen = argnums_of(argnums, grad_position, argnames)
    request = Jacobian(plain(checked_callable(function)), chosen, has_aux, True, holomorphic)
    return kernel_of(request, options_of(jacfwd, options, function))


@overload
def jacrev(
    function: Callable[P, tuple[Any, Aux]], argnums: Numbers = None, *, has_aux: Literal[True], **options: Any
) -> Kernel[P, tuple[Any, Aux]]: ...
@overload
def jacrev(
    function: Callable[P, Any],
    argnums: Numbers = None,
    has_aux: bool = False,
    *,
    argnames: Names = None,
    grad_position: Numbers = None,
    holomorphic: bool = False,
    **options: Any,
) -> Kernel[P, Any]: ...
@stands_for(partial(Jacobian, is_forward=False))
def jacrev(
    function: Callable[..., Any],
    argnums: Numbers = None,
    has_aux: bool = False,
    *,
    argnames: Names = None,
    grad_position: Numbers = None,
    holomorphic: bool = False,
    **options: Any,
) -> Kernel:
    """The Jacobian of a function, in reverse mode: one cotangent for each number in the result.

    The result is the same as that of `jacfwd`. The forward sweep runs once, the reverse sweep once for each number in
    the result.
    """
    chosen = argnums_of(argnums, grad_position, argnames)
    request = Jacobian(plain(checked_callable(function)), chosen, has_aux, False, holomorphic)
    return kernel_of(request, options_of(jacrev, options, function))


@overload
def hessian(
    function: Callable[..., Any], argnums: int = 0, *, grad_position: int | None = None, sparsity: Any, **options: Any
) -> SparseDerivative: ...
@overload
def hessian(
    function: Callable[P, tuple[Any, Aux]], argnums: Numbers = None, *, has_aux: Literal[True], **options: Any
) -> Kernel[P, tuple[Any, Aux]]: ...
@overload
def hessian(
    function: Callable[P, Any],
    argnums: Numbers = None,
    has_aux: bool = False,
    *,
    argnames: Names = None,
    grad_position: Numbers = None,
    holomorphic: bool = False,
    **options: Any,
) -> Kernel[P, Any]: ...
@stands_for(Hessian)
def hessian(
    function: Callable[..., Any],
    argnums: Numbers = None,
    has_aux: bool = False,
    *,
    argnames: Names = None,
    grad_position: Numbers = None,
    holomorphic: bool = False,
    sparsity: Any = None,
    **options: Any,
) -> Kernel | SparseDerivative:
    """The second derivatives of a function: the Jacobian, in forward mode, of its Jacobian in reverse mode.

    For a scalar function of an array of shape s, it is an array of shape s + s. A tuple of argnums gives a tuple of
    tuples; see `jacfwd` for the rest. With sparsity ("find", or a pattern) it is a matrix of scipy.sparse; its rows and
    columns are the numbers of the argument: see `jacobian`.
    """
    chosen = argnums_of(argnums, grad_position, argnames)
    if sparsity is not None:
        if has_aux:
            raise TypeError("hessian(): a sparse Hessian needs a function that returns one number, without aux")
        return _sparse(hessian, function, chosen, sparsity, options)
    request = Hessian(plain(checked_callable(function)), chosen, has_aux, holomorphic)
    return kernel_of(request, options_of(hessian, options, function))


@stands_for(Sparse)
def jacobian(
    function: Callable[..., Any], argnums: int = 0, *, sparsity: Any = "find", **options: Any
) -> SparseDerivative:
    """The Jacobian of a function with respect to one array, as a matrix of scipy.sparse.

    Called like the function, with positional arguments. Row i belongs to number i of the result, column j to number j
    of the argument, both in C order. Columns that share no row are computed together, so a tridiagonal Jacobian takes
    three forward sweeps, whatever its size.

    sparsity: a matrix of scipy.sparse or a 2-d array, nonzero wherever a derivative may be nonzero; or "find": the
    pattern is found in the program, once for each shape of the argument and for each content of the other arguments. It
    does not depend on the values of the argument: if they decide a branch, the pattern has both sides. options: as for
    `jit`.

    Raises mlirad.DifferentiationError, at the place in the source, if the values of the argument decide which element
    is read or how often a loop runs: give the pattern then. Raises ImportError if scipy is not installed.
    """
    return _sparse(jacobian, function, argnums, sparsity, options)


def _sparse(
    caller: Callable[..., Any], function: Callable[..., Any], argnums: Any, sparsity: Any, options: dict[str, Any]
) -> SparseDerivative:
    if isinstance(argnums, bool) or not isinstance(argnums, int):
        raise TypeError(f"{caller.__name__}(): a sparse derivative is with respect to one argument, not {argnums!r}")
    made = options_of(caller, options, function)
    return SparseDerivative(plain(checked_callable(function)), argnums, sparsity, caller is hessian, made)
