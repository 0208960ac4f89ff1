"""Finds the function that compiles a function object: NumPy's functions and methods, math's, and builtins.

Reads: a function and its arguments, traced or static. Writes: nd ops. Leaves: Traced values, Python objects if all
arguments are static, tuples of them. It installs the compilation of Python's operators, so it must be imported before
values are computed with. Functions that make views (np.reshape) are here for values; for arrays in memory they are in
view_functions.py.
"""

from __future__ import annotations

import inspect
import math
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, MethodType, ModuleType, WrapperDescriptorType
from typing import Any

import numpy as np

from mlirad.dialect.core.registry import spelled
from mlirad.errors import DTypeError, UnsupportedSyntaxError
from mlirad.frontend.numpy import (
    declarations,
    numpy_choice,
    numpy_counted,
    numpy_creation,
    numpy_elementwise,
    numpy_products,
    numpy_reductions,
    numpy_scalars,
    numpy_shapes,
    numpy_types,
    numpy_windows,
    operators,
    view_functions,
)
from mlirad.frontend.numpy.declarations import Facts
from mlirad.frontend.numpy.linear_algebra import linalg_loops  # noqa: F401  (it declares what it compiles)
from mlirad.frontend.numpy.random import drawing
from mlirad.frontend.program import coverage, hints, purity
from mlirad.frontend.program.caught_exceptions import is_any_caught
from mlirad.frontend.program.hidden_state import CALLABLES, hint_of
from mlirad.frontend.values.numpys_errors import numpys_refusal
from mlirad.frontend.values.python_operators import Meanings, install
from mlirad.frontend.values.traced import Traced, is_static, of_array, visible, visible_shape
from mlirad.library import spells

Implementation = Callable[..., Any]

DECLARING = (
    *(numpy_choice, numpy_counted, numpy_creation, numpy_products, numpy_reductions, numpy_shapes, numpy_types),
    drawing,
    numpy_windows,
    view_functions,
)
"""Further files that declare functions which `call` finds."""


def is_supported(function: Any) -> bool:
    """Whether a function is compiled, by `call` or by the library."""
    try:
        return spells.function_of(spells.unbound(function)[0]) is not None or implementation(function) is not None
    except TypeError:  # not hashable
        return False


def call(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> Any:
    """`function(*args, **kwargs)`; arrays among the arguments are Traced, lists may hold any values.

    If all arguments are static, NumPy runs it now (an array among its results becomes a constant). Raises
    UnsupportedSyntaxError if a function or a keyword is not compiled.
    """
    kwargs = kwargs or {}
    made = implementation(function)
    if made is None:
        raise unsupported(function)
    if is_static((list(args), dict(kwargs))) and not declarations.of(function).is_made:
        with numpys_refusal(), np.errstate(all="ignore"):
            return _as_constants(evaluated(function, args, kwargs))
    check_arguments(function, made, args, kwargs)
    result = made(*args, **kwargs)
    if is_any_caught():
        numpy_scalars.check_as_python(function, args, result)
    return result


def evaluated(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of a pure function for constants. Raises UnsupportedSyntaxError if the result might differ at the next
    call, or in another process."""
    result = function(*args, **kwargs) if purity.is_pure_call(function, tuple(args), dict(kwargs)) else NotImplemented
    if result is NotImplemented or not purity.is_result(result):
        hint = "compute it outside, and pass the result in"
        raise UnsupportedSyntaxError(f"{spelling(function)} of these arguments may differ between calls", hint=hint)
    return result


def method(name: str) -> Implementation:
    """A method of arrays and NumPy scalars, as a function for `call`. Raises UnsupportedSyntaxError."""
    made = _of_values(declarations.of_method(name))
    if made is None:
        is_there = hasattr(np.ndarray, name)
        known = [*declarations.methods(), *spells.methods()]
        hint = coverage.hint(f"x.{name}") if is_there else hints.did_you_mean(name, known, ".{}()")
        raise UnsupportedSyntaxError(f"the method .{name}() is not supported", hint=hint)
    return made


def _of_values(known: Facts) -> Implementation | None:
    """The function that compiles a function or method on values: a value has no layout, so each view of it exists."""
    of_view = known.of_view
    return known.of_values or (numpy_shapes.of_view_function(of_view) if of_view is not None else None)


def attribute(x: Traced, name: str) -> Any:
    """`x.shape` and similar attributes; raises AttributeError."""
    match name:
        case "shape":
            return visible_shape(x.shape)
        case "ndim" | "dtype":
            return getattr(x, name)
        case "size":
            return visible(x.size)
        case "itemsize":
            return x.dtype.itemsize
        case "nbytes":
            return visible(x.dtype.itemsize * x.size)
    of_view = declarations.of_attribute(name).of_view
    if of_view is None:
        raise AttributeError(name)
    return numpy_shapes.of_view_function(of_view)(x)


def implementation(function: Any) -> Implementation | None:
    """The function that compiles a function on traced values: our own methods compile themselves."""
    known = declarations.of(function)
    if known.of_values is not None:
        return known.of_values
    if isinstance(function, np.ufunc):
        return _ufunc(function) if numpy_elementwise.is_supported(function) else None
    if function in map(_of_values, declarations.methods().values()):
        return function
    return _of_values(known) or numpy_scalars.math_function(function)


@cache
def _ufunc(ufunc: np.ufunc) -> Implementation:
    def of_values(*operands: Any, dtype: Any = None, casting: str = "same_kind", order: Any = "K") -> Any:
        del order  # the layout of the result: indices.laid_out
        if dtype is not None or casting != "same_kind":
            operands = numpy_elementwise.in_loop_of(ufunc, operands, dtype, casting)
        return numpy_elementwise.call(ufunc, *operands)

    return of_values


def _as_constants(result: Any) -> Any:
    if isinstance(result, np.ndarray):
        return of_array(result)
    if isinstance(result, tuple | list):
        return type(result)(map(_as_constants, result)) if type(result) in (tuple, list) else result
    return result


_signature = lru_cache(256)(inspect.signature)


@lru_cache(256)
def _signature_of_numpys(function: Any) -> inspect.Signature | None:
    """The signature of the NumPy function that a program calls, if it has one: it says which arguments are
    positional-only, and which are required. A method has the signature of our implementation. np.arange's signature
    does not say that `stop` may be given by name alone."""
    if function is np.arange:
        return None
    try:
        return inspect.signature(function)
    except ValueError:
        return None


@lru_cache(1024)
def _is_taken(function: Any, made: Implementation, number: int, names: tuple[str, ...]) -> bool:
    """Whether a function and its implementation take so many positional arguments, and keywords of these names."""
    args, kwargs = (None,) * number, dict.fromkeys(names)
    numpys = _signature_of_numpys(function)
    try:
        _signature(made).bind(*args, **kwargs)
        if numpys is not None:
            numpys.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def check_arguments(function: Any, made: Implementation, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Refuse arguments that NumPy has and mlirad does not support, by name; refuse others as Python does."""
    if _is_taken(function, made, len(args), tuple(kwargs)):
        return
    signature = _signature(made)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        ours = [name for name, p in signature.parameters.items() if p.kind is not p.VAR_POSITIONAL]
        unknown = [name for name in kwargs if name not in ours]
        if unknown:
            hint = f"its arguments may be: {', '.join(ours)}" if ours else None
            raise UnsupportedSyntaxError(f"{spelling(function)}({unknown[0]}=) is not supported", hint=hint) from None
        raise DTypeError(f"{spelling(function)}(): {error}") from None
    numpys = _signature_of_numpys(function)
    if numpys is not None:
        with numpys_refusal():
            numpys.bind(*args, **kwargs)


# --- refusals ---------------------------------------------------------------------------------------------------


def unsupported(function: Any) -> UnsupportedSyntaxError:
    """The refusal of a function, with what to write instead."""
    name = spelling(function)
    hint = hint_of(function) or hints.of_effect(function) or hints.of_native(function)
    hint = hint or coverage.hint(name)
    return UnsupportedSyntaxError(f"{name} is not supported", hint=hint)


def spelling(function: Any) -> str:
    """A function's name as users write it: np.sum, math.exp, abs."""
    name = getattr(function, "__name__", None) if isinstance(function, _NAMED) else None
    if name is None:
        return f"an object of class {type(function).__name__}"
    for prefix, module in _PREFIXES:
        if _is_of(module, name, function):
            return f"{prefix}.{name}"
    owner = getattr(function, "__self__", None) or getattr(function, "__objclass__", None)
    if isinstance(owner, np.random.Generator | np.random.RandomState):
        return f"np.random.{name}"
    if isinstance(owner, type):
        return f"{owner.__name__}.{name}"
    home = getattr(owner, "__name__", None) if isinstance(owner, ModuleType) else getattr(function, "__module__", None)
    home = {"posix": "os", "builtins": None}.get(home or "", (home or "").removeprefix("_"))
    if home in sys.stdlib_module_names:
        return f"{home}.{name}"
    return f"np.{owner.__name__}.{name}" if isinstance(owner, np.ufunc) else name


def _is_of(module: Any, name: str, function: Any) -> bool:
    found = vars(module).get(name)  # getattr warns about names that NumPy had once
    is_bound = isinstance(function, BuiltinFunctionType) and found == function
    return found is function or is_bound or getattr(found, "__func__", None) is function


_PREFIXES = (("np", np), ("np.linalg", np.linalg), ("np.random", np.random), ("math", math), ("random", random))


# Objects with names of their own; reading the name of another object might run user code.
_NAMED = (
    *(type, FunctionType, BuiltinFunctionType, MethodType, MethodDescriptorType, WrapperDescriptorType),
    *(np.ufunc, *CALLABLES),
)


@cache
def supported_names() -> tuple[str, ...]:
    """The compiled functions by the names that users write."""
    functions = [*declarations.functions(), *spelled(), *spells.spelled()]
    return tuple(sorted({spelling(function) for function in functions}))


install(Meanings(binary=operators.binary, unary=operators.unary, call=call, array=numpy_creation.array))
