"""Derivatives at a point, along directions: tangents, cotangents and Taylor series."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, ParamSpec, TypeVar, overload

import numpy as np

from mlirad.jit.kernel import kernel_of
from mlirad.jit.transforms.jitted import checked_callable, inherited, inherited_by_directions, stands_for
from mlirad.requests.kinds_of_derivatives import Hvp, Jet, Jvp, Linearize, Vjp
from mlirad.requests.python_functions import plain

P = ParamSpec("P")
R = TypeVar("R")
Aux = TypeVar("Aux")

Pullback = Callable[[Any], tuple[Any, ...]]


@stands_for(Hvp)
def hvp(function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, ...]:
    """The Hessian of a scalar function at `primals` times `tangents`: a tuple with an item for each primal.

    It runs forward mode over reverse mode, in a few times the time of a gradient, and never builds the Hessian.
    primals, tangents: as for `jvp`. The item of a primal without a derivative (a count, an index) is None.
    """
    kernel = kernel_of(Hvp(plain(checked_callable(function))), inherited_by_directions(function))
    return kernel(_one_for_each(hvp, "primals", primals), _one_for_each(hvp, "tangents", tangents))


def _one_for_each(caller: Callable[..., Any], name: str, given: Any) -> tuple[Any, ...]:
    """A tuple with an item for each argument. Raises TypeError for an array, whose rows are not the arguments."""
    if hasattr(given, "__array__") or not isinstance(given, Iterable):
        wanted = f"{name} is a tuple with an item for each argument, as in (x,)"
        raise TypeError(f"{caller.__name__}(): {wanted}, not {type(given).__name__}")
    return tuple(given)


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
@stands_for(Jvp)
def jvp(
    function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]:
    """(out, tangent of out): `function` at `primals`, and its derivative along `tangents`, in one forward sweep.

    primals, tangents: tuples of the same structure, shapes and dtypes. Raises TypeError or ValueError if they differ.
    A primal without a derivative, such as an integer, has the tangent None (a number may have 0).
    With has_aux the function returns (out, aux), and the result is (out, tangent of out, aux).
    """
    kernel = kernel_of(Jvp(plain(checked_callable(function)), has_aux), inherited_by_directions(function))
    return kernel(_one_for_each(jvp, "primals", primals), _one_for_each(jvp, "tangents", tangents))


@stands_for(Jet)
def jet(
    function: Callable[..., R], primals: Sequence[Any], series: Sequence[Sequence[Any] | None]
) -> tuple[R, list[R]]:
    """(out, series of out): `function` and its derivatives along a path, up to an order K, in one forward sweep.

    The path of primal i is x(t) = primals[i] + series[i][0] t + series[i][1] t**2 / 2! + ..., up to t**K / K!. So
    series[i][k - 1] is its k-th derivative at t = 0. Item k - 1 of the result's series is the k-th derivative of
    `function(x(t))` at t = 0, with the structure, shapes and dtypes of out: the convention of jax.experimental.jet.
    The cost grows with K squared, while nested calls of `jvp` may double it with each order.

    A primal without a derivative, such as an integer, has the series None. Raises TypeError or ValueError if structures
    or shapes differ, and mlirad.DifferentiationError, at the place in the source, if something has no Taylor series.
    """
    kernel = kernel_of(Jet(plain(checked_callable(function))), inherited_by_directions(function))
    given = _one_for_each(jet, "series", series)
    for number, each in enumerate(given):
        if each is not None and (not isinstance(each, Iterable) or (isinstance(each, np.ndarray) and not each.ndim)):
            wanted = f"item {number} of series is a list of derivatives, as in [v]"
            raise TypeError(f"jet(): {wanted}, not {type(each).__name__}")
    path = tuple(each if each is None else tuple(each) for each in given)
    return kernel(_one_for_each(jet, "primals", primals), path)


@overload
def linearize(function: Callable[P, R], *primals: P.args, **constants: P.kwargs) -> tuple[R, Callable[..., R]]: ...
@overload
def linearize(
    function: Callable[..., tuple[R, Aux]], *primals: Any, has_aux: Literal[True], **constants: Any
) -> tuple[R, Callable[..., R], Aux]: ...
@overload
def linearize(function: Callable[..., Any], *primals: Any, has_aux: bool, **constants: Any) -> tuple[Any, ...]: ...
@stands_for(Linearize)
def linearize(function: Callable[..., Any], *primals: Any, has_aux: bool = False, **constants: Any) -> Any:
    """(out, linear function): `function` at `primals`, and its derivative as a function of tangents.

    `linear(*tangents)` gives the tangent of out, as `jvp(function, primals, tangents)` does. The function itself runs
    once, here. The linear function may be called any number of times, and keeps as much memory as a pullback of `vjp`.
    With has_aux the function returns (out, aux), and the result is (out, linear function, aux).

    constants: keyword arguments of the function, which have no tangents. A primal without a derivative, such as an
    integer, has the tangent None (or 0). Raises mlirad.DifferentiationError (a TypeError) if no primal is a float.
    """
    request = Linearize(plain(checked_callable(function)), has_aux)
    return kernel_of(request, inherited(function))(*primals, **constants)


@overload
def vjp(function: Callable[P, R], *primals: P.args, **constants: P.kwargs) -> tuple[R, Pullback]: ...
@overload
def vjp(
    function: Callable[..., tuple[R, Aux]], *primals: Any, has_aux: Literal[True], **constants: Any
) -> tuple[R, Pullback, Aux]: ...
@overload
def vjp(function: Callable[..., Any], *primals: Any, has_aux: bool, **constants: Any) -> tuple[Any, ...]: ...
@stands_for(Vjp)
def vjp(function: Callable[..., Any], *primals: Any, has_aux: bool = False, **constants: Any) -> Any:
    """(out, pullback): `function` at `primals`, and a function from a cotangent of out to a tuple of cotangents.

    The forward sweep runs once, here. The pullback runs only the reverse sweep, and may be called any number of times.
    A cotangent has the structure, shapes and dtypes of out. With has_aux the function returns (out, aux), and the
    result is (out, pullback, aux). constants: keyword arguments of the function, which have no cotangents.

    A primal without a derivative, such as an integer, has the cotangent None. Raises mlirad.DifferentiationError (a
    TypeError) if no primal is a float.
    """
    return kernel_of(Vjp(plain(checked_callable(function)), has_aux), inherited(function))(*primals, **constants)
