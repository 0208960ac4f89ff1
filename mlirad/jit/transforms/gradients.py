"""Gradients, Jacobians and Hessians: kernels of a function's derivative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, ParamSpec, TypeVar, overload

from mlirad.jit.kernel import Kernel, kernel_of
from mlirad.jit.sparse.sparse_derivatives import SparseDerivative
from mlirad.jit.transforms.jitted import checked_callable, inherited, options_given, stands_for
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

    argnums (grad_position is the same): the argument, or the arguments, to differentiate with respect to, by number;
    an int gives one gradient, a tuple a tuple. argnames: the same by name; with both, the gradients are a tuple, first
    those of argnums. With neither it is argument 0. Arguments may be passed by position or by keyword. A gradient has
    its argument's shape, dtype and pytree structure.
    has_aux: the function returns (value, aux), and the result is (gradients, aux).
    holomorphic: the function is complex-differentiable, of complex arguments and value, and the gradient is its complex
    derivative. Without it the value u is real, and the gradient for a complex argument x + iy is du/dx - i du/dy.
    options: as of `jit`; without them, the options of the function, if it is jitted, except donate_argnums.

    Raises, when called, mlirad.DifferentiationError (a TypeError), at the place in the source, for a value that is not
    one float and for an argument that is not of floats. What the function writes in the caller's arrays, lists, dicts
    and dataclasses is written once, as the function itself would.
    """
    chosen = argnums_of(argnums, grad_position, argnames)
    request = Grad(plain(checked_callable(function)), chosen, has_aux, False, holomorphic)
    return kernel_of(request, options_given(grad, options, inherited(function)))


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
    return kernel_of(request, options_given(value_and_grad, options, inherited(function)))


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
    """The Jacobian of a function, in forward mode: by the tangents of each number of the arguments.

    For each array or number of the result, in its structure, there is what `grad` gives for a scalar: with argnums an
    int an array of the shape of the result followed by that of the argument (in the structure of the argument, if that
    is a container), with a tuple a tuple of those. The dtype is the argument's. It computes as many tangents as the
    arguments have numbers: `jacrev` is better where the results have fewer. has_aux: the function returns (value, aux),
    and the result is (Jacobian, aux). options: as of `jit`.

    Raises mlirad.DifferentiationError (a TypeError), at the place in the source, for results and arguments that are
    not of floats.
    """
    chosen = argnums_of(argnums, grad_position, argnames)
    request = Jacobian(plain(checked_callable(function)), chosen, has_aux, True, holomorphic)
    return kernel_of(request, options_given(jacfwd, options, inherited(function)))


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
    """The Jacobian of a function, in reverse mode: by the cotangents of each number of the result.

    See `jacfwd`, which gives the same. The forward sweep runs once, the reverse sweep for each number of the result.
    """
    chosen = argnums_of(argnums, grad_position, argnames)
    request = Jacobian(plain(checked_callable(function)), chosen, has_aux, False, holomorphic)
    return kernel_of(request, options_given(jacrev, options, inherited(function)))


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

    Of a scalar function of an array of shape s it is an array of shape s + s. Otherwise see `jacfwd`: with a tuple of
    argnums it is a tuple of tuples. With sparsity ("find", or a pattern) it is a matrix of scipy.sparse, whose rows and
    columns are the numbers of the one argument: see `jacobian`.
    """
    chosen = argnums_of(argnums, grad_position, argnames)
    if sparsity is not None:
        if has_aux:
            raise TypeError("hessian(): a sparse Hessian is of a function that returns one number, without aux")
        return _sparse(hessian, function, chosen, sparsity, options)
    request = Hessian(plain(checked_callable(function)), chosen, has_aux, holomorphic)
    return kernel_of(request, options_given(hessian, options, inherited(function)))


@stands_for(Sparse)
def jacobian(
    function: Callable[..., Any], argnums: int = 0, *, sparsity: Any = "find", **options: Any
) -> SparseDerivative:
    """The Jacobian of a function with respect to one array, as a matrix of scipy.sparse.

    Called like the function, with positional arguments. Row i has the derivatives of number i of the result, column j
    those with respect to number j of the argument, both in C order. Columns that share no row are computed together, so
    a tridiagonal Jacobian takes three forward sweeps, whatever its size.

    sparsity: a matrix of scipy.sparse or a 2-d array, nonzero where a derivative may be; or "find": the pattern is
    found in the program, once for each shape of the argument and content of the other arguments. It does not depend on
    the values of the argument: of a branch that they decide, it has both sides. options: as of `jit`.

    Raises mlirad.DifferentiationError, at the place in the source, where the values of the argument decide which
    element is read or how often a loop runs: give the pattern then. ImportError where scipy is not installed.
    """
    return _sparse(jacobian, function, argnums, sparsity, options)


def _sparse(
    caller: Callable[..., Any], function: Callable[..., Any], argnums: Any, sparsity: Any, options: dict[str, Any]
) -> SparseDerivative:
    if isinstance(argnums, bool) or not isinstance(argnums, int):
        raise TypeError(f"{caller.__name__}(): a sparse derivative is with respect to one argument, not {argnums!r}")
    made = options_given(caller, options, inherited(function))
    return SparseDerivative(plain(checked_callable(function)), argnums, sparsity, caller is hessian, made)
