"""The public transforms: each makes a kernel of a request, or runs one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from inspect import getfullargspec
from typing import Any, Literal, ParamSpec, TypeVar, overload

import numpy as np

from mlirad import requests
from mlirad.jit.kernel import Kernel, kernel_for, kernel_of
from mlirad.jit.sparse.sparse_derivatives import SparseDerivative
from mlirad.options import OWN_OPTIONS, Options
from mlirad.signature import StaticLeaf

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")
Aux = TypeVar("Aux")
X = TypeVar("X", float, np.ndarray)

Numbers = int | Sequence[int] | None
Names = str | Sequence[str] | None
Pullback = Callable[[Any], tuple[Any, ...]]

_NO_OPTIONS = Options()


@overload
def jit(function: Callable[P, R], /, **options: Any) -> Kernel[P, R]: ...
@overload
def jit(**options: Any) -> Callable[[Callable[P, R]], Kernel[P, R]]: ...
def jit(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Compile a NumPy function, or a transform of one, when it is called. Also a decorator, with or without options.

    static_argnums, static_argnames: arguments (an int or a name, or several) that the code is specialised on by value;
    they must be hashable. Integers that shapes depend on are found without being named.
    target: who takes over after the stage `optimized`; "cpu".
    boundscheck: True; with False, an index out of range is no IndexError but undefined behaviour.
    cache: True; with False, compiled code is neither looked for nor kept on disk.
    parallel: False; with True, threads share the work on large arrays, as many as `set_num_threads` or
    MLIRAD_NUM_THREADS says, or as there are processors. The results do not depend on their number; sums of everything
    are rounded otherwise than without.

    checkpoint: None, or how many bytes a reverse sweep may keep of its forward sweep. Loops are then checkpointed, and
    straight code is recomputed in segments, where the tape would be longer.
    donate_argnums: positional arguments (an int, or several) whose arrays, those in containers too, the caller needs no
    longer. A result of the same shape and dtype may then use the memory of one, and be that very array; after the
    call the content of donated arrays is unspecified. An array that cannot be used so, as it is read-only, not
    C-contiguous, shares memory with another argument or is returned itself, is left alone. A transform of a jitted
    function does not take the option over; `jit(grad(f), donate_argnums=0)` has it.

    Other options are the target's: vector_bytes of "cpu" (16, 32, 64, or None for the widest vectors that pay). They
    must be hashable. The target is loaded here if one is given, and otherwise when something is compiled.

    Raises TypeError for an unknown option, naming those there are, and for something that is not callable; ValueError
    for donated arguments that are static; what the target raises for a value that its option cannot have.
    """
    made = _options(jit, options)
    if function is None:
        return lambda each: jit(each, **options)
    return kernel_for(requests.plain(_callable(function)), made)


def _options(caller: Callable[..., Any], given: dict[str, Any], before: Options | None = None) -> Options:
    """The options given to `caller`, instead of those before."""
    before = before or _NO_OPTIONS
    if not given:
        return before
    held = {name: value for name, value in given.items() if name in OWN_OPTIONS}
    for name, kind in (("static_argnums", int), ("static_argnames", str), ("donate_argnums", int)):
        if name in held:
            value = held[name]
            held[name] = (value,) if isinstance(value, kind) else tuple(value)
    if not isinstance(held.get("parallel", False), bool):
        raise TypeError(f"{caller.__name__}(): parallel is True or False, not {held['parallel']!r}")
    _check_budget(caller, held.get("checkpoint"))
    made = replace(before, **held)
    _check_donated(caller, made.donate_argnums, made.static_argnums)
    others = {name: value for name, value in given.items() if name not in OWN_OPTIONS}
    if others:
        _check_of_target(caller, others, made.target)
    kept = before.of_target if made.target == before.target else ()
    of_target = dict(kept) | {name: StaticLeaf(value, is_declared=True) for name, value in others.items()}
    made = replace(made, of_target=tuple(sorted(of_target.items(), key=lambda each: each[0])))
    if made.for_target:
        from mlirad.targets.finding import find_target

        find_target(made.target, **made.for_target)  # it checks the values
    return made


def _check_budget(caller: Callable[..., Any], budget: Any) -> None:
    if budget is not None and (isinstance(budget, bool) or not isinstance(budget, int)):
        raise TypeError(f"{caller.__name__}(): checkpoint is a number of bytes, or None, not {budget!r}")
    if budget is not None and budget < 0:
        raise ValueError(f"{caller.__name__}(): checkpoint is a number of bytes, and {budget} is less than 0")


def _check_of_target(caller: Callable[..., Any], given: dict[str, Any], target: str) -> None:
    """Raise TypeError for options that neither every kernel nor the target has, and for unhashable values."""
    from mlirad.targets.finding import option_names

    declared = [name for name in option_names(target) if name not in OWN_OPTIONS]
    unknown = [name for name in given if name not in declared]
    if unknown:
        own = ", ".join((*getfullargspec(caller).args[1:], *getfullargspec(caller).kwonlyargs, *OWN_OPTIONS))
        of_target = (
            f"the options of the target {target!r}: {', '.join(declared)}" if declared else "the target has none"
        )
        name = caller.__name__
        raise TypeError(
            f"{name}() has no option {', '.join(map(repr, unknown))}; its options are {own}, and {of_target}"
        )
    for name, value in given.items():
        try:
            hash(value)
        except TypeError:
            raise TypeError(f"{caller.__name__}(): the option {name} must be hashable, unlike {value!r}") from None


def _check_donated(caller: Callable[..., Any], donated: Sequence[Any], static: Sequence[Any]) -> None:
    for number in donated:
        if isinstance(number, bool) or not isinstance(number, int):
            raise TypeError(f"{caller.__name__}(): donate_argnums are numbers of arguments, not {number!r}")
        if number < 0:
            raise ValueError(f"{caller.__name__}(): donate_argnums count from 0, and {number} is less")
        if number in static:
            raise ValueError(f"{caller.__name__}(): argument {number} is static, and cannot be donated")


def _callable(function: Any) -> Any:
    if not callable(function):
        raise TypeError(f"{type(function).__name__} is not callable")
    return function


def _inherited(function: Any) -> Options:
    """The options of the function; what its own calls may overwrite, calls of its derivative may not."""
    return replace(function.options, donate_argnums=()) if isinstance(function, Kernel) else _NO_OPTIONS


def _stands_for(request: Callable[..., requests.Request]) -> Callable[[F], F]:
    """Lets a kernel mention the transform: the frontend makes the request that `request(function, ...)` is."""

    def mark(transform: F) -> F:
        requests.standing_for(transform, request)
        return transform

    return mark


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
    **options: Any,
) -> Kernel[P, Any]: ...
@_stands_for(requests.Grad)
def grad(
    function: Callable[..., Any],
    argnums: Numbers = None,
    has_aux: bool = False,
    *,
    argnames: Names = None,
    grad_position: Numbers = None,
    **options: Any,
) -> Kernel:
    """The gradient of a scalar function.

    argnums (grad_position is the same): the argument, or the arguments, to differentiate with respect to, by number;
    an int gives one gradient, a tuple a tuple. argnames: the same by name; with both, the gradients are a tuple, first
    those of argnums. With neither it is argument 0. Arguments may be passed by position or by keyword. A gradient has
    its argument's shape, dtype and pytree structure.
    has_aux: the function returns (value, aux), and the result is (gradients, aux).
    options: as of `jit`; without them, the options of the function, if it is jitted, except donate_argnums.

    Raises, when called, mlirad.DifferentiationError (a TypeError), at the place in the source, for a value that is not
    one float and for an argument that is not of floats. What the function writes in the caller's arrays, lists, dicts
    and dataclasses is written once, as the function itself would.
    """
    chosen = requests.argnums_of(argnums, grad_position, argnames)
    request = requests.Grad(requests.plain(_callable(function)), chosen, has_aux, False)
    return kernel_of(request, _options(grad, options, _inherited(function)))


@_stands_for(partial(requests.Grad, with_value=True))
def value_and_grad(
    function: Callable[P, R],
    argnums: Numbers = None,
    has_aux: bool = False,
    *,
    argnames: Names = None,
    grad_position: Numbers = None,
    **options: Any,
) -> Kernel[P, tuple[R, Any]]:
    """The value of a scalar function and its gradient: (value, gradients), or ((value, aux), gradients) with has_aux.

    See `grad`. The forward sweep runs once.
    """
    chosen = requests.argnums_of(argnums, grad_position, argnames)
    request = requests.Grad(requests.plain(_callable(function)), chosen, has_aux, True)
    return kernel_of(request, _options(value_and_grad, options, _inherited(function)))


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
    **options: Any,
) -> Kernel[P, Any]: ...
@_stands_for(partial(requests.Jacobian, is_forward=True))
def jacfwd(
    function: Callable[..., Any],
    argnums: Numbers = None,
    has_aux: bool = False,
    *,
    argnames: Names = None,
    grad_position: Numbers = None,
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
    chosen = requests.argnums_of(argnums, grad_position, argnames)
    request = requests.Jacobian(requests.plain(_callable(function)), chosen, has_aux, True)
    return kernel_of(request, _options(jacfwd, options, _inherited(function)))


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
    **options: Any,
) -> Kernel[P, Any]: ...
@_stands_for(partial(requests.Jacobian, is_forward=False))
def jacrev(
    function: Callable[..., Any],
    argnums: Numbers = None,
    has_aux: bool = False,
    *,
    argnames: Names = None,
    grad_position: Numbers = None,
    **options: Any,
) -> Kernel:
    """The Jacobian of a function, in reverse mode: by the cotangents of each number of the result.

    See `jacfwd`, which gives the same. The forward sweep runs once, the reverse sweep for each number of the result.
    """
    chosen = requests.argnums_of(argnums, grad_position, argnames)
    request = requests.Jacobian(requests.plain(_callable(function)), chosen, has_aux, False)
    return kernel_of(request, _options(jacrev, options, _inherited(function)))


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
    **options: Any,
) -> Kernel[P, Any]: ...
@_stands_for(requests.Hessian)
def hessian(
    function: Callable[..., Any],
    argnums: Numbers = None,
    has_aux: bool = False,
    *,
    argnames: Names = None,
    grad_position: Numbers = None,
    sparsity: Any = None,
    **options: Any,
) -> Kernel | SparseDerivative:
    """The second derivatives of a function: the Jacobian, in forward mode, of its Jacobian in reverse mode.

    Of a scalar function of an array of shape s it is an array of shape s + s. Otherwise see `jacfwd`: with a tuple of
    argnums it is a tuple of tuples. With sparsity ("find", or a pattern) it is a matrix of scipy.sparse, whose rows and
    columns are the numbers of the one argument: see `jacobian`.
    """
    chosen = requests.argnums_of(argnums, grad_position, argnames)
    if sparsity is not None:
        if has_aux:
            raise TypeError("hessian(): a sparse Hessian is of a function that returns one number, without aux")
        return _sparse(hessian, function, chosen, sparsity, options)
    request = requests.Hessian(requests.plain(_callable(function)), chosen, has_aux)
    return kernel_of(request, _options(hessian, options, _inherited(function)))


@_stands_for(requests.Sparse)
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
    made = _options(caller, options, _inherited(function))
    return SparseDerivative(requests.plain(_callable(function)), argnums, sparsity, caller is hessian, made)


@_stands_for(requests.Hvp)
def hvp(function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, ...]:
    """The Hessian of a scalar function at `primals` times `tangents`: a tuple, with an item for each primal.

    Forward over reverse, in a few times the time of a gradient; the Hessian itself is never made. primals, tangents: as
    of `jvp`; where a primal has no derivative (a count, an index), its item is None.
    """
    return kernel_of(requests.Hvp(requests.plain(_callable(function))), _inherited(function))(
        tuple(primals), tuple(tangents)
    )


@overload
def jvp(
    function: Callable[..., R], primals: Sequence[Any], tangents: Sequence[Any], has_aux: Literal[False] = False
) -> tuple[R, R]: ...
@overload
def jvp(
    function: Callable[..., tuple[R, Aux]], primals: Sequence[Any], tangents: Sequence[Any], has_aux: Literal[True]
) -> tuple[R, R, Aux]: ...
@overload
def jvp(
    function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool
) -> tuple[Any, ...]: ...
@_stands_for(requests.Jvp)
def jvp(
    function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]:
    """(out, tangent of out): `function` at `primals`, and its derivative along `tangents`, in one forward sweep.

    primals, tangents: tuples of the same structure, shapes and dtypes. Raises TypeError or ValueError if they differ.
    Integers and whatever else has no derivative may be among the primals; their tangent is None (or 0 of a number).
    With has_aux the function returns (out, aux), and the result is (out, tangent of out, aux).
    """
    return kernel_of(requests.Jvp(requests.plain(_callable(function)), has_aux), _inherited(function))(
        tuple(primals), tuple(tangents)
    )


@_stands_for(requests.Jet)
def jet(
    function: Callable[..., R], primals: Sequence[Any], series: Sequence[Sequence[Any] | None]
) -> tuple[R, list[R]]:
    """(out, series of out): `function` and its derivatives along a path, up to an order K, in one forward sweep.

    The path of primal i is x(t) = primals[i] + series[i][0] t + series[i][1] t**2 / 2! + ..., up to t**K / K!. So
    series[i][k - 1] is its k-th derivative at t = 0. Item k - 1 of the result's series is the k-th derivative of
    `function(x(t))` at t = 0, of the structure, shapes and dtypes of out: the convention of jax.experimental.jet.
    The cost grows with K squared; that of nested calls of `jvp` may double with each.

    Integers and whatever else has no derivative may be among the primals; their series is None. Raises TypeError or
    ValueError where structures or shapes differ, and mlirad.DifferentiationError, at the place in the source, for what
    has no Taylor series.
    """
    kernel = kernel_of(requests.Jet(requests.plain(_callable(function))), _inherited(function))
    return kernel(tuple(primals), tuple(each if each is None else tuple(each) for each in series))


@overload
def linearize(function: Callable[P, R], *primals: P.args, **constants: P.kwargs) -> tuple[R, Callable[..., R]]: ...
@overload
def linearize(
    function: Callable[..., tuple[R, Aux]], *primals: Any, has_aux: Literal[True], **constants: Any
) -> tuple[R, Callable[..., R], Aux]: ...
@overload
def linearize(function: Callable[..., Any], *primals: Any, has_aux: bool, **constants: Any) -> tuple[Any, ...]: ...
@_stands_for(requests.Linearize)
def linearize(function: Callable[..., Any], *primals: Any, has_aux: bool = False, **constants: Any) -> Any:
    """(out, linear function): `function` at `primals`, and its derivative as a function of tangents.

    `linear(*tangents)` is what `jvp(function, primals, tangents)` gives as tangent of out. The function itself runs
    once, here. The linear function keeps what a pullback of `vjp` keeps; it may be called any number of times.
    With has_aux the function returns (out, aux), and the result is (out, linear function, aux).

    constants: keyword arguments of the function, which have no tangents. The tangent of a primal without a derivative,
    such as an integer, is None (or 0). Raises mlirad.DifferentiationError (a TypeError) where no primal is of floats.
    """
    request = requests.Linearize(requests.plain(_callable(function)), has_aux)
    return kernel_of(request, _inherited(function))(*primals, **constants)


@overload
def vjp(function: Callable[P, R], *primals: P.args, **constants: P.kwargs) -> tuple[R, Pullback]: ...
@overload
def vjp(
    function: Callable[..., tuple[R, Aux]], *primals: Any, has_aux: Literal[True], **constants: Any
) -> tuple[R, Pullback, Aux]: ...
@overload
def vjp(function: Callable[..., Any], *primals: Any, has_aux: bool, **constants: Any) -> tuple[Any, ...]: ...
@_stands_for(requests.Vjp)
def vjp(function: Callable[..., Any], *primals: Any, has_aux: bool = False, **constants: Any) -> Any:
    """(out, pullback): `function` at `primals`, and a function from a cotangent of out to a tuple of cotangents.

    The forward sweep runs once, here; the pullback may be called any number of times, and runs only the reverse sweep.
    A cotangent has the structure, shapes and dtypes of out. With has_aux the function returns (out, aux), and the
    result is (out, pullback, aux). constants: keyword arguments of the function, which have no cotangents.

    Integers and whatever else has no derivative may be among the primals; their cotangent is None. Raises
    mlirad.DifferentiationError (a TypeError) where no primal is of floats.
    """
    return kernel_of(requests.Vjp(requests.plain(_callable(function)), has_aux), _inherited(function))(
        *primals, **constants
    )


@_stands_for(requests.Vmap)
def vmap(
    function: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, **options: Any
) -> Kernel[..., Any]:  # its parameters have an axis more than those of the function
    """`function` of each lane of its arguments: each slice along an axis of their arrays. The results are stacked.

    in_axes: the axis of the lanes: an int for all arguments, or a tuple or list with an item for each positional
    argument: an int (negative ones count from the end), None for what every lane gets as it is, or a pytree of these
    like the argument. Keyword arguments have their lanes along axis 0. A lane of a vector is a number.
    out_axes: where the axis of the lanes is in the results; None for a result that does not depend on the lane.
    options: as of `jit`; without them, the options of the function, if it is jitted, except donate_argnums.

    The lanes run one after the other, each as the function itself would; what they write in their own slices of the
    arguments is written there. Raises ValueError, at the place in the source, where there is no such axis, where the
    numbers of lanes differ, and where the shape of a result depends on data.
    """
    try:
        request = requests.Vmap(
            requests.plain(_callable(function)), requests.axes_of(in_axes), requests.axes_of(out_axes)
        )
    except TypeError as error:
        raise TypeError(f"vmap: {error}") from None
    return kernel_of(request, _options(vmap, options, _inherited(function)))


@_stands_for(requests.Checkpoint)
def checkpoint(function: Callable[P, R], /, **options: Any) -> Kernel[P, R]:
    """`function` itself, which reverse mode runs again instead of storing what it computes inside.

    The forward sweep keeps the arguments; the reverse sweep runs the function again from these, and then backwards.
    Also a decorator. May be nested: a function of checkpointed functions then keeps as little. options: as of `jit`;
    without them, the options of the function, if it is jitted, except donate_argnums.

    Raises, when called, at the place in the source, mlirad.DifferentiationError (a TypeError) for a function that calls
    itself through its own checkpoint, and mlirad.UnsupportedSyntaxError for one that returns one of its arguments, or a
    view of one: what is returned is new.
    """
    request = requests.Checkpoint(requests.plain(_callable(function)))
    return kernel_of(request, _options(checkpoint, options, _inherited(function)))


@_stands_for(requests.Accumulate)
def accumulate_grad(
    loss: Callable[P, R], n_micro: int, in_axes: Any = None, reduce: str = "mean", **options: Any
) -> Kernel[P, R]:
    """`loss` of a batch, computed of `n_micro` equal parts of it, one after the other: the mean of the parts' losses.

    Its gradient needs the memory of one part: `value_and_grad(accumulate_grad(loss, 4))(weights, x, y)`. Where loss is
    a mean over examples, it is the gradient of the whole batch; so it is with reduce="sum" where loss is a sum.

    in_axes: the axis of the examples in each argument, as of `vmap`; None for an argument that all parts get as it is.
    Without in_axes, the first argument (the weights) is such a one, and the others have their examples along axis 0.
    options: as of `jit`; without them, the options of the function, if it is jitted, except donate_argnums.

    All that loss returns is averaged: floats, and arrays of floats. Raises TypeError or ValueError for an n_micro or
    reduce that means nothing; when called, at the place in the source, mlirad.ShapeError (a ValueError) for a batch
    that cannot be cut into equal parts, and mlirad.DTypeError (a TypeError) for results that are not of floats.
    """
    try:
        axes = requests.axes_of(in_axes)
    except TypeError as error:
        raise TypeError(f"accumulate_grad: {error}") from None
    request = requests.Accumulate(requests.plain(_callable(loss)), n_micro, axes, reduce)
    return kernel_of(request, _options(accumulate_grad, options, _inherited(loss)))


def _solved(function: Callable[..., Any], kind: str, x0: Any, params: tuple[Any, ...], options: dict[str, Any]) -> Any:
    chosen = tuple((name, value) for name, value in options.items() if value is not None)
    request = requests.Implicit(requests.plain(_callable(function)), kind, chosen)
    return kernel_of(request, _inherited(function))(x0, *params)


@_stands_for(partial(requests.Implicit, kind="root"))
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


@_stands_for(partial(requests.Implicit, kind="fixed_point"))
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


@_stands_for(partial(requests.Implicit, kind="minimize"))
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
