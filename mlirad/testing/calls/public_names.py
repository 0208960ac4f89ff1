"""The public functions of NumPy, numpy.linalg, scipy.special, math and Python's builtins, as users write them.

Reads: the modules. Writes: nothing. Gives: names by group; names that have nothing to do with numbers are separate.
"""

from __future__ import annotations

import builtins
import inspect
import math
import operator
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import scipy.special

SPACE: Mapping[str, Any] = {"np": np, "math": math, "operator": operator, "special": scipy.special}
"""The namespace of calls, besides Python's builtins and their inputs."""

UFUNC_METHODS = ("reduce", "accumulate", "reduceat", "outer", "at")

_APART = {
    "files and memory of others": """load save savez savez_compressed savetxt loadtxt genfromtxt fromfile fromregex
        memmap frombuffer fromstring from_dlpack x.dump x.dumps x.tofile x.tobytes x.ctypes x.data x.getfield x.setfield
        x.setflags x.to_device x.base x.flags open""",
    "text": """array2string array_repr array_str base_repr binary_repr format_float_positional format_float_scientific
        typename mintypecode ascii bin chr format hex oct ord print repr""",
    "settings and information": """info test show_config show_runtime seterr geterr seterrcall geterrcall setbufsize
        getbufsize set_printoptions get_printoptions printoptions get_include errstate breakpoint copyright credits exit
        help input license quit""",
    "dates": """busday_count busday_offset is_busday datetime_data datetime_as_string isnat""",
    "subclasses of arrays, and arrays of objects": "bmat asmatrix frompyfunc nested_iters",
    "Python's own objects": """__import__ aiter anext bytearray bytes callable classmethod compile complex delattr dir
        eval exec frozenset getattr globals hasattr hash id isinstance issubclass iter locals memoryview next object
        property setattr staticmethod str super type vars __build_class__ dict set slice operator.attrgetter
        operator.methodcaller operator.call operator.delitem operator.index operator.itemgetter operator.length_hint""",
}
_NUMBERS = "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64"
_CLASSES = "broadcast finfo iinfo ndenumerate ndindex nditer poly1d vectorize"
_HELPERS = "c_ r_ s_ index_exp mgrid ogrid"
# Attributes that users read from an array.
_ATTRIBUTES = "T mT dtype flat imag itemsize nbytes ndim real shape size strides device"
OF_THEIR_OWN = {"np.random": np.random}
"""Modules that are not measured."""


@cache
def apart() -> Mapping[str, str]:
    """Functions that do not compute with numbers, by subject."""
    return {
        (f"np.{each}" if each in np.__all__ else each): kind for kind, names in _APART.items() for each in names.split()
    }


@cache
def groups() -> Mapping[str, Sequence[str]]:
    """The names that are measured, by group."""
    numpys = [name for name in np.__all__ if callable(getattr(np, name)) and not isinstance(getattr(np, name), type)]
    helpers = [*_HELPERS.split(), *_NUMBERS.split(), *_CLASSES.split()]
    methods = [name for name in dir(np.ndarray) if not name.startswith("_")]
    specials = [name for name in set(scipy.special.__all__) if _is_function(getattr(scipy.special, name))]
    of_builtins = [name for name in dir(builtins) if name[0].islower() and callable(getattr(builtins, name))]
    operators = [name for name in operator.__all__ if not name.startswith("i") or not hasattr(operator, name[1:])]
    linears = [name for name in np.linalg.__all__ if _is_function(getattr(np.linalg, name))]
    found = {
        "NumPy's functions": [f"np.{name}" for name in sorted(numpys)],
        "NumPy's number types, classes and index helpers": [f"np.{name}" for name in helpers],
        "Methods and attributes of arrays": [f"x.{name}" for name in methods],
        "Methods of ufuncs": [f"np.{ufunc}.{method}" for ufunc in _binary_ufuncs() for method in UFUNC_METHODS],
        "numpy.linalg": [f"np.linalg.{name}" for name in sorted(linears)],
        "numpy.fft": [f"np.fft.{name}" for name in sorted(np.fft.__all__)],
        "scipy.special": [f"special.{name}" for name in sorted(specials)],
        "math": [f"math.{name}" for name in dir(math) if callable(getattr(math, name)) and name[0] != "_"],
        "operator": [f"operator.{name}" for name in operators],
        "Python's builtins": of_builtins,
    }
    return {group: [name for name in names if name not in apart()] for group, names in found.items()}


def is_attribute(name: str) -> bool:
    return name.startswith("x.") and name[2:] in _ATTRIBUTES.split()


def public_object(name: str) -> Any:
    """The function with a name; for a method, the function of the class."""
    first, _, rest = name.partition(".")
    value = np.ndarray if first == "x" else SPACE.get(first, getattr(builtins, first, None))
    for part in rest.split(".") if rest else ():
        value = getattr(value, part)
    return value


def _binary_ufuncs() -> list[str]:
    """One name for each ufunc with methods, that is, with two operands and one result."""
    found: dict[Any, str] = {}
    for name in sorted(np.__all__):
        ufunc = getattr(np, name)
        if isinstance(ufunc, np.ufunc) and (ufunc.nin, ufunc.nout, ufunc.signature) == (2, 1, None):
            found.setdefault(ufunc, ufunc.__name__ if hasattr(np, ufunc.__name__) else name)
    return sorted(found.values())


def _is_function(value: Any) -> bool:
    return callable(value) and not inspect.isclass(value)
