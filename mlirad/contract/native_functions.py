"""The addresses of the native functions of other libraries that compiled code calls, by their names in object code.

Reads: names, or object code that refers to them. Writes: nothing. Leaves: addresses in this process. Imports no xDSL:
code from disk is linked with it.

A name says where its function is: `mlirad.native.SOURCE.WHAT`, with a source of `_SOURCES`. The meaning of a name may
change with NumPy's version; all code on disk depends on that version.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module

import numpy as np

from mlirad.contract import draw_functions, gufunc_loops, registered_ops
from mlirad.contract.registered_ops import NativeFunctionError

PREFIX = "mlirad.native."
_NAME = re.compile(rb"mlirad\.native\.[A-Za-z0-9_.]+")


def addresses_in(code: bytes) -> dict[str, int]:
    """The address of each native function that object code refers to. Raises NativeFunctionError."""
    return {name: address_of(name) for name in sorted({found.decode() for found in _NAME.findall(code)})}


@cache
def address_of(name: str) -> int:
    """Raises NativeFunctionError if the function is not found, or is not the expected one."""
    source, _, what = name.removeprefix(PREFIX).partition(".")
    if source not in _SOURCES:
        raise NativeFunctionError(f"there is no source of native functions {source!r}, for {name}")
    return _SOURCES[source](what)


# --- NumPy's sort functions -------------------------------------------------------------------------------------

SORTING = "sorting"
_core = import_module("numpy._core._multiarray_umath")
_GET_FUNCTIONS = 365  # `_PyDataType_GetArrFuncs(descr)` in NumPy's C API
_PLACES: Mapping[str, int] = {"sort.quicksort": 33, "sort.stable": 35, "argsort.quicksort": 36, "argsort.stable": 38}
"""Their positions in `PyArray_ArrFuncs`, in words."""
_Sort = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p)
_ArgSort = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p)


def sorting(function: str, kind: str, dtype: np.dtype) -> str:
    """The name of `int sort(T *, intp n, NULL)` or `int argsort(T *, intp *, intp n, NULL)`, on contiguous memory."""
    return f"{PREFIX}{SORTING}.{function}.{kind}.{dtype.name}"


def _sorting(what: str) -> int:
    place, _, dtype = what.rpartition(".")
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = get_pointer(_core._ARRAY_API, None)
    get_functions = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(_word(table, _GET_FUNCTIONS))
    address = _word(get_functions(np.dtype(dtype)), _PLACES[place])
    if not _is_inside(address, str(_core.__file__)) or not _sorts(address, place.startswith("arg"), np.dtype(dtype)):
        raise NativeFunctionError(f"NumPy {np.__version__} has its function {place} of {dtype} at another place")
    return address


def _word(table: int, place: int) -> int:
    return ctypes.c_size_t.from_address(table + place * ctypes.sizeof(ctypes.c_size_t)).value


class _SymbolInfo(ctypes.Structure):
    _fields_ = [
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("at", ctypes.c_void_p),
    ]


def _is_inside(address: int, file: str) -> bool:
    """Whether an address is in the file of a module of NumPy. Code at any other address must not be called."""
    if sys.platform == "win32":
        return address != 0
    info = _SymbolInfo()
    is_found = ctypes.CDLL(None).dladdr(ctypes.c_void_p(address), ctypes.byref(info))
    return bool(is_found) and info.file == file.encode()


def _sorts(address: int, gives_places: bool, dtype: np.dtype) -> bool:
    """Whether a function sorts: elements, or their places."""
    values = np.array([1, 0, 1, 0, 0, 1], dtype)
    if gives_places:
        places = np.arange(len(values))
        code = _ArgSort(address)(values.ctypes.data, places.ctypes.data, len(values), None)
        return not code and (values[places] == np.sort(values)).all()
    expected = np.sort(values)
    return not _Sort(address)(values.ctypes.data, len(values), None) and (values == expected).all()


# --- loops of NumPy's gufuncs -----------------------------------------------------------------------------------

GUFUNC, GUFUNC_DATA, FLOATING = "gufunc", "gufuncdata", "floating"


def gufunc(home: str, name: str, types: str) -> str:
    """The name of a gufunc's loop: the module, the gufunc, and the types of operands and results (`ddd`)."""
    return f"{PREFIX}{GUFUNC}.{home}.{name}.{types}"


def data_of(loop: str) -> str | None:
    """The name of the data that the loop of this name takes, if any."""
    what = loop.removeprefix(f"{PREFIX}{GUFUNC}.")
    return f"{PREFIX}{GUFUNC_DATA}.{what}" if what.rpartition(".")[0] in gufunc_loops.HAVE_DATA else None


@cache
def _loop_and_data(what: str) -> tuple[int, int]:
    found = gufunc_loops.loop_of(what, _is_inside)
    if found is None:
        raise NativeFunctionError(f"NumPy {np.__version__} does not have the expected loop {what}")
    return found


def _gufunc(what: str) -> int:
    return _loop_and_data(what)[0]


def _gufunc_data(what: str) -> int:
    return _loop_and_data(what)[1]


def floating(function: str) -> str:
    """The name of `feclearexcept` or `fetestexcept`."""
    return f"{PREFIX}{FLOATING}.{function}"


def _floating(what: str) -> int:
    address = gufunc_loops.floating(what)
    if not address:
        raise NativeFunctionError(f"the C library has no {what}")
    return address


# --- the user's -------------------------------------------------------------------------------------------------

REGISTERED = "registered"


def registered(symbol: str) -> str:
    """The name of a function that the user has registered."""
    return f"{PREFIX}{REGISTERED}.{symbol}"


# --- NumPy's distributions --------------------------------------------------------------------------------------

RANDOM = "random"


def random(name: str) -> str:
    """The name of a C function that draws random numbers; `draw_functions.FUNCTIONS` has its parameters."""
    return f"{PREFIX}{RANDOM}.{name}"


_SOURCES: Mapping[str, Callable[[str], int]] = {
    SORTING: _sorting,
    GUFUNC: _gufunc,
    GUFUNC_DATA: _gufunc_data,
    FLOATING: _floating,
    REGISTERED: registered_ops.address_of,
    RANDOM: draw_functions.address_of,
}
