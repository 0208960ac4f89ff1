"""Constants shared by the native code of calls and its data: offsets in memory, and functions that it calls.

Reads: nothing. Writes: nothing. Leaves: numbers.
"""

from __future__ import annotations

import sys
from enum import IntEnum

CALL = "mlirad.call"
CONSTANTS = "mlirad.constants"

STEP_BYTES = 48  # kind, a, b, c: integers; p, q: pointers
TABLE_PLACES = 8
"""How many plans a kernel tries at most."""

# Offsets in the objects of CPython 3.11 to 3.13 and of NumPy; `python_objects` probes them all.
TYPE, SIZE, ITEMS, TUPLE_ITEMS = 8, 16, 24, 24
ROOM_OF_LIST = 32  # the number of items that fit
FLOAT_VALUE = CELL_CONTENT = STRUCT_BUFFER = 16
ROOM_OF_TYPE, FLAGS_OF_TYPE = 56, 168
FUNCTION_CODE = 48
DICT_VERSION = 24  # a number that grows with each change
VERSION_FLAGS = 0xFF if sys.version_info >= (3, 12) else 0  # its lowest bits, which have another meaning
DATA, NDIM, DIMENSIONS, DTYPE, FLAGS = 16, 24, 32, 56, 64


class Constant(IntEnum):
    """Indices in the table of Python objects that the code compares with."""

    NONE = 0
    TRUE = 1
    FALSE = 2
    FLOAT = 3
    INT = 4
    LIST = 5
    DICT = 6
    NDARRAY = 7
    BUILTINS = 8  # the namespace
    SLOW = 9  # the name of the slow path's method, `__call__`


class TableWord(IntEnum):
    """Indices of 8-byte words in a kernel's table of plans."""

    COUNT = 0
    HITS = 1
    PLANS = 2


class PlanWord(IntEnum):
    """Indices of 8-byte words in a plan."""

    OWNER = 0
    POSITIONAL = 1
    KEYWORDS = 2
    NAMES = 3
    STEPS = 4
    REGISTERS = 5
    SLOTS = 6
    ARRAYS = 7
    FUNCTION = 8
    CONTEXTS = 9
    MAKE_CONTEXT = 10
    EXCEPTION = 11
    RELEASES = 12
    CHECKS_OVERLAP = 13
    STACK_BOTTOM = 14


API = {
    "Py_IncRef": "vp",
    "Py_DecRef": "vp",
    "PyErr_Clear": "v",
    "PyErr_SetObject": "vpp",
    "PyObject_GetAttr": "ppp",
    "PyObject_GetItem": "ppp",
    "PyObject_RichCompareBool": "ippi",
    "PyObject_CallNoArgs": "pp",
    "PyObject_Vectorcall": "ppplp",
    "PyDict_GetItemWithError": "ppp",
    "PyDict_Size": "lp",
    "PyDict_Next": "ipppp",
    "PyDict_New": "p",
    "PyDict_SetItem": "ippp",
    "PyList_Append": "ipp",
    "PyList_New": "pl",
    "PyList_SetItem": "iplp",
    "PyTuple_New": "pl",
    "PyTuple_SetItem": "iplp",
    "PyFloat_FromDouble": "pd",
    "PyLong_FromLongLong": "pl",
    "PyLong_AsLongLongAndOverflow": "lpp",
    "PyLong_AsVoidPtr": "pp",
    "PyBool_FromLong": "pl",
    "PyEval_SaveThread": "p",
    "PyEval_RestoreThread": "vp",
    "PyArray_NewFromDescr": "pppipppip",
    "PyArray_Scalar": "pppp",
    "PyArray_ScalarAsCtype": "vpp",
}
"""The functions of the C API that the code calls, each with the types of its result and of its arguments: p, a pointer;
l and i, integers of 64 and 32 bits; d, a double; v, nothing."""
