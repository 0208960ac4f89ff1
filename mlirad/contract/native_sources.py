"""Native functions that users pass: ctypes functions, Numba callbacks, and functions of Cython modules by name.

Reads: such an object, or "module.function", and a signature as text. Writes: nothing. Leaves: its address and
prototype, or a TypeError or ValueError that says what is accepted.
"""

from __future__ import annotations

import ctypes
import re
from _ctypes import CFuncPtr
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import FunctionType
from typing import Any

import numpy as np

from mlirad.contract.registered_ops import DTYPES, Prototype

_NAMES: Mapping[str, np.dtype] = {
    **DTYPES,
    "double": np.dtype(ctypes.c_double),
    "float": np.dtype(ctypes.c_float),
    "int": np.dtype(ctypes.c_int),
    "unsigned int": np.dtype(ctypes.c_uint),
    "long": np.dtype(ctypes.c_long),
    "unsigned long": np.dtype(ctypes.c_ulong),
    "long long": np.dtype(ctypes.c_longlong),
    "unsigned long long": np.dtype(ctypes.c_ulonglong),
    "Py_ssize_t": np.dtype(ctypes.c_ssize_t),
    "size_t": np.dtype(ctypes.c_size_t),
}
"""Types by their names in C and in NumPy; `float` is C's, of 32 bits."""
_SIGNATURE = re.compile(r"\s*([^()]+?)\s*\(([^()]*)\)\s*")
_DISPATCH = "int __pyx_skip_dispatch"
"""The last parameter of Cython's `cpdef` functions, which is 0 for callers in C."""
_TAKEN = "a ctypes function, a numba.cfunc, or the name of a function of a Cython module"


@dataclass(frozen=True)
class NativeSource:
    """A native function's address, its prototype, and the object that keeps it alive."""

    address: int
    prototype: Prototype
    needs_gil: bool
    owner: Any


def native_source(function: Any, signature: str | None = None) -> NativeSource:
    """Raises TypeError if it is not a native function or has no usable types; ValueError for a wrong signature."""
    asked = None if signature is None else parsed(signature)
    if isinstance(function, str):
        return _of_cython(function, asked)
    if hasattr(function, "address") and hasattr(function, "ctypes"):  # the type of a numba.cfunc
        return _of_ctypes(function.ctypes, asked, function)
    if isinstance(function, CFuncPtr):
        return _of_ctypes(function, asked, function)
    if isinstance(function, FunctionType) or callable(function):
        hint = "a kernel calls Python functions as they are; numba.cfunc(signature) makes one native"
        raise TypeError(f"register_op takes {_TAKEN}, not {_shown(function)}: {hint}")
    raise TypeError(f"register_op takes {_TAKEN}, not {_shown(function)}")


def _shown(function: Any) -> str:
    return f"{type(function).__name__} {getattr(function, '__name__', '')}".rstrip()


def parsed(signature: str) -> Prototype:
    """The prototype in a text such as `float64(float64, int32)` or `double (double, int)`. Raises ValueError."""
    found = _SIGNATURE.fullmatch(signature)
    if found is None:
        raise ValueError(f"register_op: the signature {signature!r} is not like 'float64(float64, int64)'")
    result, given = found[1], [each.strip() for each in found[2].split(",") if each.strip()]
    zeros = given.count(_DISPATCH) if given[-1:] == [_DISPATCH] else 0
    types = [result, *given[: len(given) - zeros]]
    for each in types:
        if each not in _NAMES:
            raise ValueError(f"register_op: {each!r} in {signature!r} is none of {', '.join(DTYPES)}")
    return _prototype([_NAMES[each] for each in types[1:]], _NAMES[result], zeros)


def _prototype(arguments: list[np.dtype], result: np.dtype, zeros: int = 0) -> Prototype:
    if not arguments:
        raise ValueError("register_op: a native op takes at least one argument")
    return Prototype(tuple(arguments), result, zeros)


# --- ctypes, numba ----------------------------------------------------------------------------------------------


def _of_ctypes(function: Any, asked: Prototype | None, owner: Any) -> NativeSource:
    address = ctypes.cast(function, ctypes.c_void_p).value
    if not address:
        raise ValueError("register_op: the function is a null pointer")
    declared = function.argtypes
    if declared is not None:
        own = _prototype([_dtype(each) for each in declared], _dtype(function.restype))
        if asked is not None and asked != own:
            raise ValueError(f"register_op: signature= says {asked}, but the function is {own}: leave it out")
        asked = own
    if asked is None:
        hint = "set its argtypes and restype, or give signature='float64(float64)'"
        raise TypeError(f"register_op: the ctypes function {_shown(function)} does not say its types: {hint}")
    needs_gil = bool(type(function)._flags_ & _PYTHON_API)
    return NativeSource(address, asked, needs_gil, owner)


_PYTHON_API = 4
"""The flag of ctypes' functions that hold the interpreter's lock."""
_NUMBERS = tuple("fdiIlLqQ")
"""ctypes' codes for C's numbers; pointers have others."""


def _dtype(kind: Any) -> np.dtype:
    """The dtype of a ctypes type. Raises TypeError."""
    is_number = isinstance(kind, type) and getattr(kind, "_type_", None) in _NUMBERS
    dtype = np.dtype(kind) if is_number else None
    if dtype is None or dtype not in DTYPES.values():
        shown = getattr(kind, "__name__", kind)
        raise TypeError(f"register_op: a native op takes and returns {', '.join(DTYPES)}, not {shown}")
    return dtype


# --- Cython -----------------------------------------------------------------------------------------------------


def _of_cython(path: str, asked: Prototype | None) -> NativeSource:
    """A function that a Cython module exports to C: `__pyx_capi__` has its address and signature."""
    home, _, name = path.rpartition(".")
    if not home:
        raise ValueError(f"register_op: {path!r} is not 'module.function', like 'scipy.special.cython_special.j1'")
    module = import_module(home)
    exported: Mapping[str, Any] = getattr(module, "__pyx_capi__", {})
    fused = re.compile(rf"__pyx_fuse_[0-9_]*[0-9]{re.escape(name)}")
    found = {each: capsule for each, capsule in exported.items() if each == name or fused.fullmatch(each)}
    if not found:
        what = "exports no functions to C" if not exported else f"exports no function {name!r} to C"
        raise ValueError(f"register_op: the module {home} {what}")
    usable: dict[Prototype, Any] = {}
    for capsule in found.values():
        try:
            usable[parsed(_name_of(capsule).decode())] = capsule
        except ValueError:
            continue
    listed = " or ".join(map(str, usable))
    if not usable:
        signatures = " and ".join(_name_of(capsule).decode() for capsule in found.values())
        raise TypeError(f"register_op: {path} has types that a native op cannot have: {signatures}")
    chosen = [each for each in usable if asked is None or str(each) == str(asked)]
    if asked is None and len(chosen) > 1:
        doubles = {DTYPES["float64"]}
        chosen = [each for each in chosen if {*each.arguments, each.result} == doubles]
    if len(chosen) != 1:
        raise ValueError(f"register_op: {path} is {listed}: give signature= as one of these")
    capsule = usable[chosen[0]]
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = get(capsule, _name_of(capsule))
    assert address is not None, "a capsule holds no null pointer"
    return NativeSource(address, chosen[0], False, (module, capsule))


def _name_of(capsule: Any) -> bytes:
    get = ctypes.pythonapi.PyCapsule_GetName
    get.restype, get.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return get(capsule)
