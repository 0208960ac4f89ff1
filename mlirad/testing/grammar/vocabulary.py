"""The names that programs of this generator may use: NumPy's public names, methods and attributes, and builtins.

Reads: the namespace of NumPy, signatures. Writes: nothing. Leaves: names, and how many positional arguments they take.
"""

from __future__ import annotations

import inspect
import math
from functools import cache
from random import Random

import numpy as np

from mlirad.errors import CompileError
from mlirad.frontend.numpy import numpy_calls

# They read or write files, print, change settings, or give different results each time.
_EXCLUDED_NAMES = """
load save savez savez_compressed savetxt loadtxt genfromtxt fromfile memmap fromregex DataSource info test
show_config show_runtime seterr seterrcall setbufsize set_printoptions get_include empty empty_like ndarray
frombuffer fromstring fromiter fromfunction printoptions errstate busdaycalendar nditer nested_iters broadcast
ndenumerate ndindex flatiter vectorize frompyfunc require matrix bmat asmatrix chararray recarray record void
datetime64 timedelta64 str_ bytes_ object_ from_dlpack get_printoptions geterr geterrcall getbufsize poly1d
lib_version iterable isscalar get_library_dir
"""
_EXCLUDED = frozenset(_EXCLUDED_NAMES.split())

_POPULAR = """
sum mean max min abs sqrt exp log sin cos tan dot matmul where zeros ones zeros_like ones_like full arange
linspace maximum minimum clip array asarray copy concatenate stack vstack hstack reshape ravel transpose argmax
argmin any all cumsum sort argsort diff prod std var median floor ceil round sign power square outer inner eye
identity trace diag tril triu tile repeat roll flip fliplr flipud squeeze expand_dims swapaxes moveaxis
broadcast_to meshgrid einsum tensordot cross kron nonzero count_nonzero isnan isfinite isinf logical_and
logical_or logical_not mod remainder fmod arctan2 arctan arcsin arccos tanh sinh cosh hypot log1p expm1 log2
log10 add subtract multiply divide floor_divide negative float64 float32 int64 int32 int8 uint8 bool_ take
take_along_axis interp searchsorted bincount histogram unique percentile average convolve polyval gradient
trapezoid allclose isclose array_equal nan_to_num ptp amax amin append insert delete split array_split logaddexp
cbrt reciprocal deg2rad rad2deg heaviside copysign fabs fmax fmin divmod modf exp2 linalg.norm linalg.solve
linalg.inv linalg.det newaxis pi e inf
"""
POPULAR = tuple(_POPULAR.split())
"""The most used functions, from memory; this share of a program is drawn from them."""

_METHODS = """
sum mean max min std var prod cumsum dot reshape ravel flatten transpose copy astype argmax argmin any all clip
round squeeze swapaxes take repeat trace diagonal item tolist sort argsort fill nonzero ptp conj
"""
METHODS = tuple(_METHODS.split())
ATTRIBUTES = ("shape", "T", "size", "ndim", "dtype", "real", "itemsize", "nbytes")
_BUILTINS = """
abs min max sum len round float int bool sorted any all divmod list tuple
"""
BUILTINS = tuple(_BUILTINS.split())
_MATH = """
sqrt exp log sin cos tan atan2 floor ceil fabs hypot tanh pi isnan
"""
MATH = tuple(_MATH.split())


def find(name: str) -> object:
    """The object `np.<name>`."""
    value: object = np
    for part in name.split("."):
        value = getattr(value, part)
    return value


@cache
def public() -> tuple[str, ...]:
    """The callables of NumPy's own namespace and of np.linalg."""
    names = [name for name in np.__all__ if name not in _EXCLUDED]
    names += [f"linalg.{name}" for name in np.linalg.__all__]
    return tuple(sorted(name for name in names if callable(find(name)) and not _is_other(find(name))))


def _is_other(value: object) -> bool:
    return isinstance(value, type) and not issubclass(value, np.number | np.bool_)


def draw(rng: Random) -> str:
    """A NumPy name, mostly one of the most used."""
    return rng.choice(POPULAR) if rng.random() < 0.92 else rng.choice(public())


@cache
def is_missing(name: str) -> bool:
    """Whether the compiler lacks a function (np.x, math.x) or method (.x): few programs call it then, because nothing
    else of such a program would be compared.
    """
    if name.startswith("."):
        try:
            numpy_calls.method(name[1:])
        except CompileError:
            return True
        return False
    function = getattr(math, name[5:]) if name.startswith("math.") else find(name[3:])
    return callable(function) and not numpy_calls.is_supported(function)


@cache
def arity(name: str) -> tuple[int, int]:
    """The least and the most positional arguments of `np.<name>` worth giving."""
    value = find(name)
    if isinstance(value, np.ufunc):
        return value.nin, value.nin
    if not callable(value):
        return 0, 0
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return 1, 2
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    least = sum(p.default is p.empty for p in positional)
    return max(least, 1), max(least, 1, min(least + 1, len(positional)))


@cache
def keywords(name: str) -> tuple[str, ...]:
    """The keywords worth giving that a function has."""
    value = find(name)
    if isinstance(value, np.ufunc) or not callable(value):
        return ()
    try:
        parameters = inspect.signature(value).parameters
    except (TypeError, ValueError):
        return ()
    return tuple(key for key in ("axis", "keepdims", "dtype") if key in parameters)
