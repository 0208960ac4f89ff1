"""Space in objects for the address of the native code that runs their calls: CPython's vectorcall protocol (PEP 590).

Reads: nothing. Writes: a base class; on interpreters without the protocol it is empty. Leaves: all other classes.

A Python class cannot have such space: its slots hold objects, which are reference-counted and traversed. So the base
class is made in the same way as in a C extension. A derived class is called as before until a target sets it up, and an
instance until it has an address.
"""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING, Any

ROOM = object.__basicsize__
"""The offset of the address in an instance."""

_POINTER = ctypes.sizeof(ctypes.c_void_p)
_BASE_TYPE = 1 << 10  # Py_TPFLAGS_BASETYPE
_MEMBERS = 72  # Py_tp_members
_NUMBER, _READ_ONLY = 19, 1  # Py_T_PYSSIZET, Py_READONLY


class _Member(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    ]


class _Slot(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_int), ("value", ctypes.c_void_p)]


class _Specification(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("size", ctypes.c_int),
        ("item_size", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_Slot)),
    ]


# Objects that a type refers to for the lifetime of the process.
_members = (_Member * 2)(_Member(b"__vectorcalloffset__", _NUMBER, ROOM, _READ_ONLY))
_slots = (_Slot * 2)(_Slot(_MEMBERS, ctypes.addressof(_members)))
_specification = _Specification(
    b"mlirad.contract.vectorcall.NativelyCallable",
    ROOM + _POINTER,
    0,
    _BASE_TYPE,
    ctypes.cast(_slots, ctypes.POINTER(_Slot)),
)


def _made() -> type:
    if sys.implementation.name != "cpython":
        return type("NativelyCallable", (), {"__slots__": (), "__module__": __name__})
    make = ctypes.pythonapi["PyType_FromSpec"]
    make.restype, make.argtypes = ctypes.py_object, [ctypes.POINTER(_Specification)]
    made: Any = make(ctypes.byref(_specification))
    return made


if TYPE_CHECKING:

    class NativelyCallable:
        """An object with space for an address."""

else:
    NativelyCallable = _made()
