"""The loops of NumPy's gufuncs: LAPACK's functions on matrices.

Reads: ufunc objects, as NumPy 2 lays them out. Writes: nothing. Leaves: addresses in this process; for each, one call
is compared with the gufunc's own result. Imports no xDSL: code from disk is linked with them.

A loop is `void(char **args, intp *dims, intp *steps, void *data)`. dims has the number of parts, then the core sizes by
first appearance; steps has the distance of parts for each operand, then the core strides of each operand.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

MODULES: Mapping[str, str] = {"linalg": "numpy.linalg._umath_linalg", "fft": "numpy.fft._pocketfft_umath"}
HAVE_DATA = frozenset({"fft.fft", "fft.ifft"})
"""The gufuncs with loops that take NumPy's data: the direction of a transform."""
_WORD = ctypes.sizeof(ctypes.c_size_t)
FE_INVALID = 16 if sys.platform == "win32" else 1
"""The floating-point exception bit (C's `fenv.h`) that a loop sets if it fails."""

Labels = tuple[tuple[str, ...], ...]


def core_labels(signature: str) -> tuple[Labels, Labels]:
    """The labels of the core axes of operands and results: of "(m,n)->(p)", (("m", "n"),) and (("p",),)."""
    operands, _, results = signature.replace(" ", "").partition("->")
    first, second = (
        tuple(tuple(filter(None, each.split(","))) for each in re.findall(r"\(([^()]*)\)", part))
        for part in (operands, results)
    )
    return first, second


def label_order(signature: str) -> list[str]:
    """The labels in the order of their sizes in `dims`."""
    return list(dict.fromkeys(label for side in core_labels(signature) for labels in side for label in labels))


def steps_of(labels: Labels, sizes: Mapping[str, int], widths: Sequence[int]) -> list[int]:
    """The steps of one part: row-major operands with these core axes and elements of this many bytes."""
    steps = [0] * len(labels)
    for own, width in zip(labels, widths, strict=True):
        strides = []
        for label in reversed(own):
            strides.append(width)
            width *= sizes[label]
        steps += reversed(strides)
    return steps


def run_loop(
    address: int,
    signature: str,
    pointers: Sequence[int],
    widths: Sequence[int],
    sizes: Sequence[int],
    data: int | None = None,
) -> int:
    """Run a loop on one part; returns as an int whether it failed. sizes: by `label_order`. data: see `HAVE_DATA`."""
    operands, results = core_labels(signature)
    known = dict(zip(label_order(signature), sizes, strict=True))
    steps = steps_of(operands + results, known, widths)
    arguments = (ctypes.c_void_p * len(pointers))(*pointers)
    dims, strides = ((ctypes.c_ssize_t * len(each))(*each) for each in ([1, *sizes], steps))
    clear, test = (ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(floating(each)) for each in (CLEAR, TEST))
    clear(FE_INVALID)
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(address)(arguments, dims, strides, data)
    failed = bool(test(FE_INVALID))
    clear(FE_INVALID)
    return int(failed)


def loop_of(what: str, is_inside: Callable[[int, str], bool]) -> tuple[int, int] | None:
    """The address of the loop that "linalg.solve.ddd" names, and of its data; None if it is not found.

    is_inside: whether an address lies in a file: no other address is called.
    """
    home, name, types = what.split(".")
    module = import_module(MODULES[home])
    ufunc = getattr(module, name, None)
    if not isinstance(ufunc, np.ufunc) or ufunc.signature is None:
        return None
    given = f"{types[: ufunc.nin]}->{types[ufunc.nin :]}"
    if given not in ufunc.types:
        return None
    start = id(ufunc)
    header = [ctypes.c_int.from_address(start + at).value for at in (16, 20, 24)]  # nin, nout, nargs
    if header != [ufunc.nin, ufunc.nout, ufunc.nargs]:
        return None
    place = ufunc.types.index(given)
    functions, data = (ctypes.c_size_t.from_address(start + at).value for at in (32, 40))
    address = ctypes.c_size_t.from_address(functions + place * _WORD).value
    own = ctypes.c_size_t.from_address(data + place * _WORD).value if data else 0
    inside = (each for each in (address, own) if each)
    if bool(own) != (f"{home}.{name}" in HAVE_DATA) or not all(
        is_inside(each, str(module.__file__)) for each in inside
    ):
        return None
    return (address, own) if _is_right(ufunc, types, address, own or None) else None


def _is_right(ufunc: np.ufunc, types: str, address: int, data: int | None) -> bool:
    """Whether a loop has the results and side effects of the gufunc on matrices of 2 rows and columns."""
    signature = str(ufunc.signature)
    operands, results = core_labels(signature)
    matrix = np.array([[2.0, 1.0], [1.0, 3.0]])
    made = [np.array(matrix[(0,) * (2 - len(own))], kind) for own, kind in zip(operands, types, strict=False)]
    expected = [each.copy() for each in made]
    outs = [np.zeros((2,) * len(own), kind) for own, kind in zip(results, types[len(made) :], strict=True)]
    pointers, widths = ([get(each) for each in (*made, *outs)] for get in (_pointer, _width))
    failed = run_loop(address, signature, pointers, widths, [2] * len(label_order(signature)), data)
    with np.errstate(all="ignore"):
        own = [np.zeros_like(each) for each in outs]  # some gufuncs take sizes from them
        ufunc(*expected, *own, signature=f"{types[: ufunc.nin]}->{types[ufunc.nin :]}")
    expected += own
    return not failed and all(map(np.array_equal, (*made, *outs), expected))


def _pointer(array: Any) -> int:
    return array.ctypes.data


def _width(array: Any) -> int:
    return array.itemsize


CLEAR, TEST = "feclearexcept", "fetestexcept"


def floating(function: str) -> int:
    """The address of C's `feclearexcept` or `fetestexcept`; 0 if it is not found."""
    for library in ("ucrtbase",) if sys.platform == "win32" else (None, "libm.so.6"):
        try:
            found = getattr(ctypes.CDLL(library), function)
        except (OSError, AttributeError):
            continue
        return ctypes.cast(found, ctypes.c_void_p).value or 0
    return 0
