"""The function that compiled code calls to print: Python, through a C function that takes the interpreter's lock
itself.

Reads: the text in the call, and the slots filled by `emit/print_call.py`. Writes: the printed text. Leaves: an
exception, if one is raised, in the context of the call.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

from mlirad.contract.printing import Printed
from mlirad.targets.cpu.call_context import RAISED

PRINT = "mlirad_print"
"""A symbol: i32 (ptr context, ptr text, i64 length, ptr slots)."""


def to_bytes(printed: Printed, ranks: Sequence[int]) -> bytes:
    """The call's data: the printed template, and the rank of each value, -1 for a number."""
    return json.dumps(list(ranks)).encode() + b"\n" + printed.to_bytes()


@cache
def _parsed(text: bytes) -> tuple[Printed, list[tuple[np.dtype, int]]]:
    ranks, _, rest = text.partition(b"\n")
    printed = Printed.from_bytes(rest)
    dtypes = printed.dtypes()
    return printed, [(dtypes[index], rank) for index, rank in enumerate(json.loads(ranks))]


def _values(slots: int, kinds: Sequence[tuple[np.dtype, int]]) -> Iterator[np.ndarray | np.generic]:
    for dtype, rank in kinds:
        if rank < 0:
            yield np.frombuffer(ctypes.string_at(slots, dtype.itemsize), dtype)[0]
            slots += 8
            continue
        pointer, *layout = (ctypes.c_int64 * (1 + 2 * rank)).from_address(slots)
        slots += 8 * (1 + 2 * rank)
        shape, strides = layout[:rank], [dtype.itemsize * stride for stride in layout[rank:]]
        if 0 in shape:
            yield np.empty(shape, dtype)
            continue
        interface = {"version": 3, "data": (pointer, True), "typestr": dtype.str}
        interface |= {"shape": tuple(shape), "strides": tuple(strides)}
        yield np.asarray(type("Memory", (), {"__array_interface__": interface})())


def _print(context: int, text: int, length: int, slots: int | None) -> int:
    try:
        printed, kinds = _parsed(ctypes.string_at(text, length))
        printed.write(list(_values(slots or 0, kinds)))
    except BaseException as error:  # noqa: BLE001  (whatever it is, the kernel raises it)
        words = (type(error), error, error.__traceback__)
        held = (ctypes.c_void_p * 3).from_address(context + RAISED)
        for place, each in enumerate(words):
            held[place] = None if each is None else id(each)
            if each is not None:
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))
        return 1
    return 0


_callback = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)(_print)


def print_address() -> int:
    """The address of the C function."""
    return ctypes.cast(_callback, ctypes.c_void_p).value or 0
