"""The parts of CPython and NumPy that native calls rely on: the layout of their objects, and their C API.

Reads: probe objects. Writes: nothing. Gives: None if anything differs from expectations; then all calls are slow.
"""

from __future__ import annotations

import builtins
import ctypes
import importlib
import itertools
import sys
import sysconfig
from functools import cache, partial
from types import CellType
from typing import Any

import numpy as np

from mlirad import forking
from mlirad.contract.code_cache import CodeCache
from mlirad.contract.vectorcall import ROOM, NativelyCallable
from mlirad.targets.cpu.calls import machine_words as words
from mlirad.targets.cpu.calls.machine_words import API, CALL, CONSTANTS, Constant
from mlirad.targets.cpu.engine import FINISHED, Library, compile_object

_NUMPY = {"PyArray_Scalar": 60, "PyArray_ScalarAsCtype": 62, "PyArray_NewFromDescr": 94}
"""Indices in NumPy's table of functions, which are part of its ABI."""

_HAVE_VECTORCALL = 1 << 11


class _Probe(ctypes.Structure):
    _fields_ = [("value", ctypes.c_int64)]


class _Holder(NativelyCallable):
    __slots__ = ("__dict__", "__weakref__", "_fast")


def _word(address: int) -> int:
    return ctypes.c_size_t.from_address(address).value


def _is_as_expected() -> bool:
    """Whether the fields that the code reads are at the expected offsets."""
    pair, items, number = (1, "b"), [object(), object(), object()], 1234.5
    array = np.arange(48, dtype=np.float32).reshape(6, 8)[1:4]
    content, probe = object(), _Probe(7)
    cell = CellType(content)
    at = id(array)
    return (
        all(_word(id(each) + words.TYPE) == id(type(each)) for each in (pair, items, number, array, cell))
        and _word(id(pair) + words.SIZE) == 2
        and [_word(id(pair) + words.TUPLE_ITEMS + 8 * k) for k in (0, 1)] == [id(each) for each in pair]
        and _word(id(items) + words.SIZE) == 3
        and [_word(_word(id(items) + words.ITEMS) + 8 * k) for k in range(3)] == [id(each) for each in items]
        and ctypes.c_double.from_address(id(number) + words.FLOAT_VALUE).value == number
        and 3 <= _word(id(items) + words.ROOM_OF_LIST) < 64
        and _word(id(cell) + words.CELL_CONTENT) == id(content)
        and _word(id(_word) + words.FUNCTION_CODE) == id(_word.__code__)
        and _has_versions()
        and _word(id(probe) + words.STRUCT_BUFFER) == ctypes.addressof(probe)
        and _word(id(_Holder) + words.ROOM_OF_TYPE) == ROOM
        and _word(id(_Holder) + words.FLAGS_OF_TYPE) == _Holder.__flags__
        and _word(at + words.DATA) == array.ctypes.data
        and ctypes.c_int32.from_address(at + words.NDIM).value == 2
        and [_word(_word(at + words.DIMENSIONS) + 8 * k) for k in (0, 1)] == [3, 8]
        and _word(at + words.DTYPE) == id(array.dtype)
        and ctypes.c_uint32.from_address(at + words.FLAGS).value == array.flags.num
    )


def _has_versions() -> bool:
    """Whether a number in a namespace grows with each change."""
    space: dict[str, int] = {}
    versions: list[int] = []
    for change in (lambda: space.update(x=1), lambda: space.update(x=2), lambda: space.pop("x")):
        versions.append(_word(id(space) + words.DICT_VERSION) & ~words.VERSION_FLAGS)
        change()
    versions.append(_word(id(space) + words.DICT_VERSION) & ~words.VERSION_FLAGS)
    return versions[0] > 0 and all(a < b for a, b in itertools.pairwise(versions))


def _is_known_python() -> bool:
    return (
        sys.implementation.name == "cpython"
        and (3, 11) <= sys.version_info[:2] <= (3, 13)  # the tested versions
        and ctypes.sizeof(ctypes.c_void_p) == 8
        and sys.byteorder == "little"
        and not sysconfig.get_config_var("Py_GIL_DISABLED")
        and not hasattr(sys, "gettotalrefcount")  # a debug build's objects begin with other fields
    )


def offset_of_attribute(kind: type, name: str) -> int | None:
    """The offset at which instances of a class keep the attribute `name`, one of their `__slots__`."""
    probe, mark = object.__new__(kind), object()
    setattr(probe, name, mark)
    places = [k for k in range(16, kind.__basicsize__, 8) if _word(id(probe) + k) == id(mark)]
    return places[0] if len(places) == 1 else None


def _numpy_functions() -> dict[str, int]:
    module = importlib.import_module("numpy._core._multiarray_umath")
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = pointer(module._ARRAY_API, None)
    if table is None or _word(table + 8 * 2) != id(np.ndarray):
        raise AttributeError("NumPy's table of functions begins otherwise than expected")
    return {name: _word(table + 8 * place) for name, place in _NUMPY.items()}


def _api_symbols() -> dict[str, int]:
    """Addresses of all functions that the code calls. Raises AttributeError or ImportError if one is missing."""
    found = _numpy_functions()
    for name in API:
        if name not in found:
            found[name] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
    return found


class CallMachine:
    """The linked code, and the objects it refers to."""

    def __init__(self, symbols: dict[str, int], table_offset: int, code_cache: CodeCache | None):
        objects: dict[Constant, Any] = {
            Constant.NONE: None,
            Constant.TRUE: True,
            Constant.FALSE: False,
            Constant.FLOAT: float,
            Constant.INT: int,
            Constant.LIST: list,
            Constant.DICT: dict,
            Constant.NDARRAY: np.ndarray,
            Constant.BUILTINS: vars(builtins),
            Constant.SLOW: sys.intern("__call__"),
        }
        self._objects = objects
        self._constants = (ctypes.c_void_p * len(objects))(*(id(objects[each]) for each in Constant))
        symbols = {**symbols, CONSTANTS: ctypes.addressof(self._constants)}
        make = partial(_compiled, table_offset)
        code = make() if code_cache is None else code_cache(f"calls {table_offset}", make)
        self._library = Library(code, (CALL,), symbols)
        self._address = self._library[CALL]

    def serve(self, instance: object) -> None:
        """From now on, calls of this instance of the class run this code."""
        ctypes.c_size_t.from_address(id(instance) + ROOM).value = self._address


def _compiled(table_offset: int) -> bytes:
    from mlirad.targets.cpu.calls.call_machine import machine_text

    # All of LLVM's passes would take a third of the compile time, without making calls faster.
    return compile_object(f"{FINISHED}\n{machine_text(table_offset)}")


_lock = forking.new_lock()
_machines: list[CallMachine] = []


@cache
def _symbols() -> dict[str, int] | None:
    """The symbols to link with, or None if the code could not work."""
    if not _is_known_python() or offset_of_attribute(_Holder, "_fast") is None or not _is_as_expected():
        return None
    try:
        return _api_symbols()
    except (AttributeError, ImportError):
        return None


def is_supported() -> bool:
    """Whether this interpreter supports native calls."""
    return _symbols() is not None


def machine_for(kind: type, attribute: str, code_cache: CodeCache | None) -> CallMachine | None:
    """The machine that runs calls of `kind`'s instances by the plans of the table in their attribute `attribute`.

    None if that is not supported. A call that fits no plan goes to `__call__`. The code is compiled once per process,
    and never unloaded; `kind`, which derives from NativelyCallable, and `attribute` are those of the first call.
    """
    with _lock:
        if not _machines:
            symbols, offset = _symbols(), offset_of_attribute(kind, attribute)
            if symbols is None or offset is None:
                return None
            _machines.append(CallMachine(symbols, offset, code_cache))
            # Instances without an address in their room are called as usual.
            flags = ctypes.c_size_t.from_address(id(kind) + words.FLAGS_OF_TYPE)
            flags.value |= _HAVE_VECTORCALL
        return _machines[0]
