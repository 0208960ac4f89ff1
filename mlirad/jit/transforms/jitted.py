"""`jit`, and how every transform handles its options and its function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from inspect import getfullargspec
from typing import Any, ParamSpec, TypeVar, overload

from mlirad.jit.kernel import Kernel, kernel_for
from mlirad.jit.transforms.argument_options import check_donated, named_arguments, of_parameters
from mlirad.library.lifted import Lifted
from mlirad.options import OWN_OPTIONS, Options
from mlirad.requests.marks_in_programs import compiled_anyway
from mlirad.requests.python_functions import plain
from mlirad.requests.request import Request, is_own_wrapper, standing_for
from mlirad.signature import StaticLeaf

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")

_NO_OPTIONS = Options()


@overload
def jit(function: Callable[P, R], /, **options: Any) -> Kernel[P, R]: ...
@overload
def jit(**options: Any) -> Callable[[Callable[P, R]], Kernel[P, R]]: ...
def jit(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Compile a NumPy function, or a transform of one, when it is called. Also a decorator, with or without options.

    static_argnums, static_argnames: arguments (an int or a name, or several) whose values the code is specialised on;
    they must be hashable. An argument is static whether a call passes it by position or by name. Integers that shapes
    depend on are found without being named.
    target: what takes over after the stage `optimized`; by default "cpu".
    boundscheck: True; with False, an index out of range is undefined behaviour instead of an IndexError.
    cache: True; with False, compiled code is neither read from disk nor kept there.
    parallel: False; with True, threads share the work on large arrays: as many as `set_num_threads` or
    MLIRAD_NUM_THREADS says, by default one for each processor. Results do not depend on their number. Floating-point
    sums that are divided among threads along a summed axis are rounded differently than without: sums of whole arrays,
    over rows (`np.sum(x, axis=0)`, the gradient of a bias) and of few long rows, and products like `x.T @ y` with long
    sums and few results. So are products of large matrices, which only one thread computes in blocks. All else is
    equal to the bit.
    fastmath: False; with True, additions and multiplications may be reassociated, x * y + z rounded once, and x / y be
    x * (1 / y). nan, infinity and the sign of zero mean what they do without.

    checkpoint: None, or how many bytes a reverse sweep may keep from its forward sweep. If the tape would be longer,
    loops are checkpointed, and straight-line code is recomputed in segments.
    donate_argnums: positional arguments (an int, or several) whose arrays the caller no longer needs, including arrays
    in containers. A result of the same shape and dtype may reuse the memory of one, and even be that array; after the
    call the contents of donated arrays are unspecified. An array that is read-only, not C-contiguous, returned itself,
    or shares memory with another argument is left alone. A transform of a jitted function does not inherit the option;
    `jit(grad(f), donate_argnums=0)` has it.

    Other options belong to the target: "cpu" has vector_bytes (16, 32, 64, or None for the widest vectors that pay) and
    unoptimised (with True, LLVM leaves out its optimisations). They must be hashable. If one is given, the target is
    loaded here, otherwise when something is compiled.

    Raises TypeError for an unknown option, with a list of the known ones, and for something that is not callable;
    ValueError for static or donated arguments that the function does not have, and for donated ones that are static;
    and what the target raises for an invalid value of its option.
    """
    made = options_given(jit, options)
    if function is None:
        return lambda each: jit(each, **options)
    bare = plain(checked_callable(function))
    return kernel_for(bare, of_parameters("jit", bare, _named(jit, options), made))


standing_for(jit, compiled_anyway)


def options_of(caller: Callable[..., Any], given: dict[str, Any], function: Callable[..., Any]) -> Options:
    """The options given to a transform, in place of those of its function."""
    made = options_given(caller, given, inherited(function))
    return of_parameters(caller.__name__, plain(function), _named(caller, given), made)


def _named(caller: Callable[..., Any], given: dict[str, Any]) -> dict[str, Any]:
    return named_arguments(caller.__name__, given)


def options_given(caller: Callable[..., Any], given: dict[str, Any], before: Options = _NO_OPTIONS) -> Options:
    """The options given to `caller`, in place of the earlier ones."""
    if not given:
        return before
    held = {name: value for name, value in given.items() if name in OWN_OPTIONS} | _named(caller, given)
    for name in ("parallel", "fastmath"):
        if not isinstance(held.get(name, False), bool):
            raise TypeError(f"{caller.__name__}(): {name} is True or False, not {held[name]!r}")
    _check_budget(caller, held.get("checkpoint"))
    made = replace(before, **held)
    check_donated(caller.__name__, made)
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


def checked_callable(function: Any) -> Any:
    if not callable(function):
        what = f"{type(function).__name__} is not callable"
        raise TypeError(f"{what}; pass the function itself, as in grad(f)(x), not its value, as in grad(f(x))")
    return function


def inherited(function: Any) -> Options:
    """The options of the function, without donate_argnums: calls of a derivative may not overwrite its arguments."""
    if isinstance(function, Kernel):
        return replace(function.options, donate_argnums=())
    if not is_own_wrapper(function):
        return _NO_OPTIONS
    options = inherited(function.__wrapped__)
    if isinstance(function, Lifted):  # it takes one more argument first
        options = replace(options, static_argnums=tuple(number + 1 for number in options.static_argnums))
    return options


def inherited_by_directions(function: Any) -> Options:
    """The options of the function for a kernel of tuples, `(primals, tangents)`: its numbers mean other arguments."""
    return replace(inherited(function), static_argnums=(), static_argnames=())


def stands_for(request: Callable[..., Request]) -> Callable[[F], F]:
    """Lets a kernel use the transform: the frontend makes the request `request(function, ...)`."""

    def mark(transform: F) -> F:
        standing_for(transform, request)
        return transform

    return mark
