"""`out` given by position: np.add(x, y, z), np.sum(x, 0, None, z), x.sum(0, None, z). An array given by name:
np.sum(a=x).

Reads: NumPy's signatures. Writes: nothing. Leaves: the arguments with `out` by name and the array by position, without
those that change nothing here: like=, device=, subok=.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from mlirad.errors import DTypeError, StaticValueError
from mlirad.frontend.numpy import declarations
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Ref, Static, Tuple, Value, is_none

_DEVICE = np.empty(()).device

# Methods of ufuncs, which have no signatures.
_OF_UFUNCS: Mapping[str, tuple[str, ...]] = {
    "reduce": ("array", "axis", "dtype", "out", "keepdims", "initial", "where"),
    "accumulate": ("array", "axis", "dtype", "out"),
}


def with_out_named(
    function: Any, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> tuple[tuple[Value, ...], dict[str, Value]]:
    """The arguments of a NumPy function, with `out` and all later ones by name."""
    if isinstance(function, np.ufunc) and len(args) > function.nin:
        if len(args) > function.nargs:
            takes = f"takes from {function.nin} to {function.nargs} positional arguments"
            raise DTypeError(f"{function.__name__}() {takes} but {len(args)} were given")
        outs = tuple(args[function.nin :])
        missing = (Static(None),) * (function.nout - len(outs))
        named = outs[0] if function.nout == 1 else Tuple((*outs, *missing))
        return tuple(args[: function.nin]), {**kwargs, "out": named}
    return _named(_names(function), args, kwargs)


# Functions that first make an array of their own dtype from `out`, which must be a safe cast.
_READ_OUT = frozenset({"argmax", "argmin", "nanargmax", "nanargmin", "take", "compress", "choose"})


def require_dtype_of_out(function: Any, own: np.dtype, out: np.dtype) -> None:
    """Raise NumPy's error for an `out` of the wrong dtype. Ufuncs are not checked here: they accept dtypes of the same
    kind.

    Raises DTypeError, StaticValueError.
    """
    name = getattr(function, "__name__", "")
    rule = "according to the rule 'safe'"
    if name in _READ_OUT and not np.can_cast(out, own, "safe"):
        raise DTypeError(f"Cannot cast array data from dtype('{out}') to dtype('{own}') {rule}")
    if name == "einsum" and not np.can_cast(own, out, "safe"):
        raise DTypeError(f"Iterator requested dtype could not be cast from dtype('{own}') to dtype('{out}') {rule}")
    if name == "dot" and own != out:
        raise StaticValueError("output array is not acceptable (must have the right datatype)")


def without_inert(function: Any, kwargs: Mapping[str, Value]) -> dict[str, Value]:
    """The keywords of a NumPy call, without those that only state the default: all arrays are on the CPU and of NumPy's
    own class. `overwrite_input=True` leaves the array's later contents undefined."""
    return {name: value for name, value in kwargs.items() if not (_is_inert(name, value) and _takes(function, name))}


def _is_inert(name: str, value: Value) -> bool:
    known = value.value if isinstance(value, Static) else None
    match name:
        case "device":
            return isinstance(value, Static) and known in (None, _DEVICE)
        case "like":
            return isinstance(value, Ref | Traced) or is_none(value)
        case "subok" | "overwrite_input":
            return isinstance(known, bool)
    return False


def _takes(function: Any, name: str) -> bool:
    """Whether NumPy's function takes a keyword; one without a signature may take any."""
    if isinstance(function, np.ufunc):
        return name == "subok"
    known = _keywords(function)
    return not known or name in known


@cache
def _keywords(function: Any) -> frozenset[str]:
    try:
        return frozenset(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return frozenset()


def with_array_first(
    function: Any, args: Sequence[Value], kwargs: dict[str, Value]
) -> tuple[Sequence[Value], dict[str, Value]]:
    """The arguments of a NumPy function, with the first one by position, whatever NumPy calls it."""
    name = None if args or not kwargs else _first_name(function)
    if name not in kwargs:
        return args, kwargs
    return (kwargs[name],), {each: value for each, value in kwargs.items() if each != name}


@cache
def _first_name(function: Any) -> str | None:
    try:
        first = next(iter(inspect.signature(function).parameters.values()), None)
    except (TypeError, ValueError):
        return None
    return first.name if first is not None and first.kind is first.POSITIONAL_OR_KEYWORD else None


def method_with_out_named(
    name: str, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> tuple[tuple[Value, ...], dict[str, Value]]:
    """The same for a method of arrays, which takes the arguments of NumPy's function without the array."""
    return _named(_names(getattr(np, name, None))[1:], args, kwargs)


def _named(
    names: Sequence[str], args: Sequence[Value], kwargs: Mapping[str, Value]
) -> tuple[tuple[Value, ...], dict[str, Value]]:
    place = names.index("out") if "out" in names else len(args)
    if len(args) <= place or len(args) > len(names):
        return tuple(args), dict(kwargs)
    named = {**dict(zip(names[place:], args[place:], strict=False)), **kwargs}
    # Not every compiled function takes a dtype; here `None` is only a placeholder.
    before = args[: place - 1] if names[place - 1] == "dtype" and is_none(args[place - 1]) else args[:place]
    return tuple(before), named


@cache
def _names(function: Any) -> tuple[str, ...]:
    """The names of the arguments that a function takes by position; () if unknown."""
    if isinstance(getattr(function, "__self__", None), np.ufunc):
        return _OF_UFUNCS.get(function.__name__, ())
    if positional := declarations.of(function).positional:
        return positional
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # not a function, or written in C
        # Before NumPy 2.4 methods had no signatures; they take the array, and then the function's arguments.
        name = getattr(function, "__name__", "")
        is_method = function is not None and function is getattr(np.ndarray, name, None)
        return _names(getattr(np, name, None)) if is_method else ()
    return tuple(each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD))
