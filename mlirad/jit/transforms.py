"""The public transforms: each makes a kernel of a request, or runs one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, overload

from mlirad import requests
from mlirad.jit.kernel import Kernel, kernel_of
from mlirad.options import Options

F = TypeVar("F", bound=Callable[..., Any])


@overload
def jit(function: Callable[..., Any], /) -> Kernel: ...
@overload
def jit(function: Callable[..., Any], /, **options: Any) -> Kernel: ...
@overload
def jit(function: None = None, /, **options: Any) -> Callable[[Callable[..., Any]], Kernel]: ...
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

    donate_argnums: positional arguments (an int, or several) whose arrays, those in containers too, the caller needs no
    longer. A result of the same shape and dtype may then stand in the memory of one, and be that very array; after the
    call the content of donated arrays is unspecified. An array that cannot be used so, as it is read-only, not
    C-contiguous, shares memory with another argument or is returned itself, is left alone. A transform of a jitted
    function does not take the option over; `jit(grad(f), donate_argnums=0)` has it.

    Raises TypeError for an unknown option or something that is not callable, and ValueError for donated arguments that
    are static.
    """
    made = _options(options)
    if function is None:
        return lambda each: jit(each, **options)
    return Kernel(_callable(function), made)


def _options(given: dict[str, Any]) -> Options:
    held = dict(given)
    for name, kind in (("static_argnums", int), ("static_argnames", str), ("donate_argnums", int)):
        if name in held:
            value = held[name]
            held[name] = (value,) if isinstance(value, kind) else tuple(value)
    if not isinstance(held.get("parallel", False), bool):
        raise TypeError(f"jit(): parallel is True or False, not {held['parallel']!r}")
    _check_donated(held.get("donate_argnums", ()), held.get("static_argnums", ()))
    try:
        return Options(**held)
    except TypeError:
        known = ", ".join(Options.__dataclass_fields__)
        unknown = ", ".join(repr(name) for name in held if name not in Options.__dataclass_fields__)
        raise TypeError(f"jit() has no option {unknown}; its options are {known}") from None


def _check_donated(donated: Sequence[Any], static: Sequence[Any]) -> None:
    for number in donated:
        if isinstance(number, bool) or not isinstance(number, int):
            raise TypeError(f"jit(): donate_argnums are numbers of arguments, not {number!r}")
        if number < 0:
            raise ValueError(f"jit(): donate_argnums count from 0, and {number} is less")
        if number in static:
            raise ValueError(f"jit(): argument {number} is static, and cannot be donated")


def _callable(function: Any) -> Any:
    if not callable(function):
        raise TypeError(f"{type(function).__name__} is not callable")
    return function


def _argnums(argnums: int | Sequence[int], grad_position: int | Sequence[int] | None) -> int | tuple[int, ...]:
    chosen = argnums if grad_position is None else grad_position
    if isinstance(chosen, bool) or not (
        isinstance(chosen, int) or (isinstance(chosen, Sequence) and all(isinstance(each, int) for each in chosen))
    ):
        raise TypeError(f"argnums must be an int or a sequence of ints, not {chosen!r}")
    if isinstance(chosen, int):
        return chosen
    if len(set(chosen)) != len(chosen):
        raise ValueError(f"argnums names an argument twice: {tuple(chosen)}")
    return tuple(chosen)


def _inherited(function: Any) -> Options:
    """The options of the function; what its own calls may overwrite, calls of its derivative may not."""
    return replace(function.options, donate_argnums=()) if isinstance(function, Kernel) else Options()


def _stands_for(request: Callable[..., requests.Request]) -> Callable[[F], F]:
    """Lets a kernel mention the transform: the frontend makes the request that `request(function, ...)` is."""

    def mark(transform: F) -> F:
        requests.standing_for(transform, request)
        return transform

    return mark


@_stands_for(requests.Grad)
def grad(
    function: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    *,
    grad_position: int | Sequence[int] | None = None,
) -> Kernel:
    """The gradient of a scalar function.

    argnums (grad_position is the same): the positional argument, or the arguments, to differentiate with respect to;
    an int gives one gradient, a tuple a tuple. A gradient has its argument's shape, dtype and pytree structure.
    has_aux: the function returns (value, aux), and the result is (gradients, aux).

    Raises, when called, mlirad.DifferentiationError (a TypeError), at the place in the source, for a value that is not
    one float and for an argument that is not of floats. What the function writes in the caller's arrays, lists, dicts
    and dataclasses is written once, as the function itself would.
    """
    request = requests.Grad(requests.plain(_callable(function)), _argnums(argnums, grad_position), has_aux, False)
    return kernel_of(request, _inherited(function))


@_stands_for(partial(requests.Grad, with_value=True))
def value_and_grad(
    function: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    *,
    grad_position: int | Sequence[int] | None = None,
) -> Kernel:
    """The value of a scalar function and its gradient: (value, gradients), or ((value, aux), gradients) with has_aux.

    See `grad`. The forward sweep runs once.
    """
    request = requests.Grad(requests.plain(_callable(function)), _argnums(argnums, grad_position), has_aux, True)
    return kernel_of(request, _inherited(function))


@_stands_for(requests.Jvp)
def jvp(function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """(out, tangent of out): `function` at `primals`, and its derivative along `tangents`, in one forward sweep.

    primals, tangents: tuples of the same structure, shapes and dtypes. Raises TypeError or ValueError if they differ.
    Integers and whatever else has no derivative may be among the primals; their tangent is None (or 0 of a number).
    """
    return kernel_of(requests.Jvp(requests.plain(_callable(function))), _inherited(function))(
        tuple(primals), tuple(tangents)
    )


@_stands_for(requests.Vjp)
def vjp(function: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """(out, pullback): `function` at `primals`, and a function from a cotangent of out to a tuple of cotangents.

    The forward sweep runs once, here; the pullback may be called any number of times, and runs only the reverse sweep.
    A cotangent has the structure, shapes and dtypes of out. With has_aux the function returns (out, aux), and the
    result is (out, pullback, aux).

    Integers and whatever else has no derivative may be among the primals; their cotangent is None. Raises
    mlirad.DifferentiationError (a TypeError) where no primal is of floats.
    """
    return kernel_of(requests.Vjp(requests.plain(_callable(function)), has_aux), _inherited(function))(*primals)
