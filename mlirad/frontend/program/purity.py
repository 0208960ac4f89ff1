"""Decides what the compiler may evaluate itself: callables without hidden state, on values that never change.

Reads: Python objects, by their exact classes; it runs none of their code. Writes: nothing. Leaves: answers. A callable
is pure because pure_functions.py lists it, as an object: neither its module nor its name decides.
"""

from __future__ import annotations

import abc
import datetime
import enum
import fractions
import inspect
import pathlib
import re
import types
from collections.abc import Callable, Hashable, Iterator
from functools import cache
from typing import Any

import numpy as np

from mlirad.frontend.program.pure_functions import (
    METHODS,
    NUMPY_SCALARS,
    OF_ITEMS,
    OF_SETS,
    OF_TEXT,
    PURE,
    PURE_CLASSES,
    PURE_UFUNC_METHODS,
    TEXT_METHODS,
)

# --- data -------------------------------------------------------------------------------------------------------

_DATA = frozenset(
    {
        *(bool, int, float, complex, str, bytes, type(None), type(...), type(NotImplemented), range),
        *(datetime.timedelta, datetime.date, fractions.Fraction, *NUMPY_SCALARS, np.finfo, np.iinfo, np._CopyMode),
        *(pathlib.PurePosixPath, pathlib.PureWindowsPath, pathlib.PosixPath, pathlib.WindowsPath),
    }
)
"""Classes of objects without parts that never change."""


class SetCopy(frozenset):
    """The contents of a user's set when the code was compiled; a guard checks that it still holds the same."""


_SYMBOLS = (
    *(types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, np.ufunc, type(np.sum)),
    *(
        types.MethodDescriptorType,
        types.WrapperDescriptorType,
        types.MethodWrapperType,
        types.ClassMethodDescriptorType,
    ),
    *(types.GetSetDescriptorType, types.MemberDescriptorType, types.GenericAlias, types.UnionType, re.Pattern, object),
)
"""Classes of objects that are compared by identity and have no operators."""

_METACLASSES = (type, abc.ABCMeta, enum.EnumMeta, type(np.dtype))

# Names that a derived class may define without changing an operator. The text of a value is checked separately.
_HARMLESS = frozenset(
    f"__{name}__"
    for name in (
        *("module", "doc", "qualname", "new", "init", "slots", "dict", "weakref", "annotations", "match_args"),
        *("init_subclass", "class_getitem", "orig_bases", "parameters", "firstlineno", "static_attributes"),
        *("getnewargs", "getnewargs_ex", "reduce", "reduce_ex", "copy", "deepcopy", "set_name", "abstractmethods"),
        *("sizeof", "dir", "getstate", "setstate", "setattr", "delattr", "replace"),
    )
)
_TEXT = frozenset({"__str__", "__repr__", "__format__"})
_BUILT_IN = (types.WrapperDescriptorType, types.MethodDescriptorType, types.BuiltinFunctionType, type(None))


@cache
def _redefined(kind: type) -> frozenset[str]:
    """The special methods of a class, without those that Python and NumPy define."""
    found: set[str] = set()
    for base in kind.__mro__:
        if base in _DATA or base.__module__ in ("builtins", "enum"):
            continue
        for name, value in vars(base).items():
            is_special = name.startswith("__") and name.endswith("__") and name not in _HARMLESS
            of_enum = isinstance(value, types.FunctionType) and value.__module__ == "enum"  # which puts them there
            if is_special and not of_enum and not isinstance(value, _BUILT_IN):
                found.add(name)
    return frozenset(found)


@cache
def is_immutable(kind: type) -> bool:
    """Whether objects of this class have no parts, never change, and use Python's or NumPy's operators."""
    if kind in _DATA or issubclass(kind, np.dtype):
        return True
    is_known = issubclass(kind, enum.Enum) or any(issubclass(kind, base) for base in _DATA)
    return is_known and not issubclass(kind, tuple | frozenset) and not _redefined(kind) - _TEXT


def parts_of(value: Any) -> tuple[Any, ...] | None:
    """The items of a container of a known class; None for anything else."""
    kind = type(value)
    if kind in (tuple, list, frozenset, SetCopy):
        return tuple(value)
    if kind is dict:
        return (*value, *value.values())
    return (value.start, value.stop, value.step) if kind is slice else None


def _inside(value: Any) -> Iterator[Any]:
    yield value
    for part in parts_of(value) or ():
        yield from _inside(part)


def is_data(value: Any) -> bool:
    """Whether a value never changes, down to its last part. Lists and dicts count: as operands they are copies."""
    parts = parts_of(value)
    return is_immutable(type(value)) if parts is None else all(map(is_data, parts))


def is_constant(value: Any) -> bool:
    """Whether Python's operators always give the same result for a value: it is data, a function, a class or a
    module."""
    parts = parts_of(value)
    if parts is not None:
        return all(map(is_constant, parts))
    kind = type(value)
    return is_immutable(kind) or kind in _SYMBOLS or (isinstance(value, type) and kind in _METACLASSES)


def is_own_class(value: Any) -> bool:
    """Whether a value is a class that Python or NumPy defines."""
    return type(value) in (type, type(np.dtype)) and value.__module__ in ("builtins", "numpy", "datetime", "fractions")


def is_result(value: Any) -> bool:
    """Whether the result of a pure callable may become a value of the program, which alone may change it."""
    if isinstance(value, np.ndarray):
        return True  # a new array, owned by the program
    parts = tuple(value) if isinstance(value, tuple) else parts_of(value)
    return is_constant(value) if parts is None else all(map(is_result, parts))


# --- callables --------------------------------------------------------------------------------------------------


def is_pure(function: Any) -> bool:
    """Whether a callable gives the same result for the same data at any time, and does nothing else."""
    if isinstance(function, type):
        return function in PURE_CLASSES
    if isinstance(function, types.BuiltinMethodType) and not isinstance(function.__self__, types.ModuleType):
        return _is_pure_method(function)
    if isinstance(function, types.MethodDescriptorType):
        return function in _method_descriptors()
    try:
        return function in PURE
    except TypeError:  # not hashable
        return False


def _is_pure_method(function: types.BuiltinMethodType) -> bool:
    owner, name = function.__self__, function.__name__
    if isinstance(owner, type):
        return function in PURE
    if type(owner) is np.ufunc:
        return owner in PURE and name in PURE_UFUNC_METHODS
    if not is_data(owner) or isinstance(owner, list | dict):
        return False
    return any(name in METHODS.get(base, ()) for base in type(owner).__mro__)


@cache
def _method_descriptors() -> frozenset[Any]:
    return frozenset(vars(kind)[name] for kind, names in METHODS.items() for name in names if name in vars(kind))


def is_pure_call(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call of a pure callable may be evaluated now: its arguments are data that determine the result."""
    given = [*args, *kwargs.values()]
    if not all(is_data(each) or is_own_class(each) for each in given):
        return False
    owner = _owner(function)
    every = [part for each in (owner, *given) for part in _inside(each)]
    # The order of a set's items differs between processes, and between sets that are equal.
    if any(isinstance(part, frozenset) for part in every) and not _takes_sets(function, owner):
        return False
    # For these strings NumPy takes the current time, wherever a date is allowed.
    if _is_of_numpy(function, owner) and any(isinstance(part, str | bytes) and _is_clock(part) for part in every):
        return False
    if _is_of_text(function, owner):
        if function in (repr, ascii) and any(isinstance(each, np.generic) for each in given):
            return False
        template = [part for part in every if isinstance(part, str)]
        return all(map(has_plain_text, (owner, *given))) and all(map(_is_locale_free, template))
    return True


def _owner(function: Any) -> Any:
    """The object that a built-in method is bound to."""
    found = function.__self__ if isinstance(function, types.BuiltinMethodType) else None
    return None if isinstance(found, types.ModuleType) else found


def takes_iterables(function: Any) -> bool:
    """Whether a pure callable looks only at the items of its first argument."""
    owner = _owner(function)
    if isinstance(owner, str | bytes):
        return function.__name__ == "join"
    return isinstance(function, Hashable) and function in OF_ITEMS


def _takes_sets(function: Any, owner: Any) -> bool:
    if type(owner) is SetCopy:
        return function.__name__ in ("issubset", "issuperset", "isdisjoint")  # the others make a set, which may change
    return type(owner) is frozenset or (isinstance(function, Hashable) and function in OF_SETS)


def _is_clock(text: str | bytes) -> bool:
    return text.strip().lower() in ("now", "today", b"now", b"today")


def _is_of_numpy(function: Any, owner: Any) -> bool:
    if isinstance(function, np.ufunc) or isinstance(owner, np.ufunc | np.generic | np.dtype):
        return True
    return (getattr(function, "__module__", None) or "").split(".")[0] == "numpy"


def _is_of_text(function: Any, owner: Any) -> bool:
    return function in OF_TEXT or (isinstance(owner, str) and function.__name__ in TEXT_METHODS)


def has_plain_text(value: Any) -> bool:
    """Whether str(), repr() and format() of data always give the same text.

    repr() of NumPy's numbers, and so the text of a list of them, depends on np.set_printoptions.
    """
    parts = parts_of(value)
    if parts is not None:
        return all(has_plain_text(part) and not isinstance(part, np.generic) for part in parts)
    return not _redefined(type(value)) & _TEXT


def text_of(value: Any, function: Callable[..., str], *rest: str) -> str | None:
    """`function(value, *rest)` for str, repr, ascii or format; None if the result may change."""
    is_plain = has_plain_text(value) and not (function in (repr, ascii) and isinstance(value, np.generic))
    if not is_plain or isinstance(value, frozenset) or not (is_data(value) or isinstance(value, type)):
        return None
    return None if any(each.endswith("n") for each in rest) else function(value, *rest)


def has_plain_operands(template: str, operand: Any) -> bool:
    """Whether `template % operand` always gives the same text."""
    items = operand if isinstance(operand, tuple) else (operand,)
    return "%r" not in template and "%a" not in template and all(is_data(x) and has_plain_text(x) for x in items)


def _is_locale_free(template: str) -> bool:
    """Whether a format has no "n": with it, the process's locale groups the digits."""
    return re.search(r"n\s*\}|:[^}]*\{|^[^{}%]*n$", template) is None


# --- attributes -------------------------------------------------------------------------------------------------

_MISSING = object()


def is_settled_instance(value: Any) -> bool:
    """Whether the attributes of an object follow from its class, and reading them runs no user code."""
    kind = type(value)
    return kind in _DATA or kind in (tuple, list, dict, frozenset, slice) or isinstance(value, np.dtype | np.ufunc)


def class_attribute(kind: type, name: str) -> Any:
    """The object stored under a name in a class or its bases; `is_missing` of the result if there is none."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), _MISSING)


def is_missing(found: Any) -> bool:
    return found is _MISSING


def runs_code(value: Any, name: str) -> bool:
    """Whether reading an attribute runs Python code: a descriptor, __getattr__ or __getattribute__."""
    kind = type(value)
    if isinstance(value, types.ModuleType):
        return name not in vars(value) and "__getattr__" in vars(value) and kind is types.ModuleType
    if isinstance(class_attribute(kind, "__getattribute__"), types.FunctionType):
        return not issubclass(kind, enum.Enum | enum.EnumMeta)
    found = inspect.getattr_static(value, name, _MISSING)
    if found is _MISSING:
        hook = class_attribute(kind, "__getattr__")
        return hook is not _MISSING and getattr(hook, "__module__", None) != "enum"
    get = class_attribute(type(found), "__get__")
    is_own = isinstance(found, types.FunctionType | types.DynamicClassAttribute | enum.property)
    if isinstance(found, property):
        return not isinstance(value, type)
    is_kernel = inspect.getattr_static(found, "__mlirad_function__", None) is not None
    return isinstance(get, types.FunctionType) and not (is_own or is_kernel)
