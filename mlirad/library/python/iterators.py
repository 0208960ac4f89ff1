"""`x.flat` and `np.nditer`, in Python: classes that are interpreted like the user's classes.

Reads: nothing. Writes: nothing. Leaves: classes that behave like NumPy's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.python.builtin import place_in
from mlirad.library.spells import spells


def as_line(array: Any) -> Any:
    """All elements in row-major order, as a view; the compiler has views that NumPy lacks."""
    return array.reshape(-1)


class Flat:
    """`x.flat`."""

    def __init__(self, base: Any):
        self.base = base
        self.line = as_line(base)
        self.elements = iter(self.line)

    def __iter__(self) -> Any:
        return self.elements

    def __next__(self) -> Any:
        return next(self.elements)

    def __len__(self) -> int:
        return len(self.line)

    def __getitem__(self, key: Any) -> Any:
        found = self.line[key]
        return found.copy() if isinstance(found, np.ndarray) else found

    def __setitem__(self, key: Any, value: Any) -> None:
        line, values = self.line, np.asarray(value)
        if values.ndim == 0:
            line[key] = value
            return
        places = np.arange(len(line))[key]
        if not isinstance(places, np.ndarray):
            if values.size != 1:
                raise ValueError("Error setting single item of array.")
            line[key] = as_line(values)[0]
        elif values.size > 0:
            given = np.arange(len(places)) if places.ndim == 1 else np.arange(places.size).reshape(places.shape)
            line[places] = as_line(values)[given % values.size]

    def copy(self) -> Any:
        return self.line.copy()


def assign_flat(base: Any, value: Any) -> None:
    """`base.flat = value`: repeats the values until all elements are written."""
    Flat(base)[:] = value


class ElementWalk:
    """np.nditer over one array."""

    def __init__(self, array: Any, is_reversed: bool, is_written: bool):
        self.array = array
        self.is_reversed = is_reversed
        self.is_written = is_written
        self.line = as_line(array.T if is_reversed else array)
        self.number = 0
        self.is_in_loop = False
        self.steps = map(self.at, range(len(self.line)))

    def at(self, number: Any) -> Any:
        self.number = number
        self.is_in_loop = True
        return self.value

    def __iter__(self) -> Any:
        return self.steps

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: Any) -> None:
        pass

    def __getitem__(self, key: Any) -> Any:
        return (self.value,)[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        (self.value,)[key][...] = value

    def __len__(self) -> int:
        return 1

    @property
    def value(self) -> Any:
        element = self.line[self.number, ...]
        return element if self.is_written else np.broadcast_to(element, ())

    @property
    def multi_index(self) -> Any:
        return (
            place_in(self.array.T.shape, self.number)[::-1]
            if self.is_reversed
            else place_in(self.array.shape, self.number)
        )

    @property
    def index(self) -> Any:
        return self.number

    @property
    def operands(self) -> Any:
        return (self.array,)

    @property
    def itersize(self) -> Any:
        return len(self.line)

    @property
    def finished(self) -> bool:
        if self.is_in_loop:
            raise NotImplementedError("np.nditer.finished after a for loop is not compiled", "write a while loop")
        return self.number >= len(self.line)

    def iternext(self) -> bool:
        self.number += 1
        return self.number < len(self.line)

    def reset(self) -> None:
        self.number = 0

    def close(self) -> None:
        pass


_FLAGS = ("multi_index", "c_index", "f_index", "zerosize_ok", "refs_ok", "buffered", "delay_bufalloc")


@spells("numpy.nditer", complex=True)
def nditer(op: Any, flags: Any = (), op_flags: Any = (), *, order: str | None = "K") -> Any:
    if isinstance(op, tuple | list):
        raise NotImplementedError("np.nditer of several arrays is not compiled", "loop over np.ndindex(x.shape)")
    order = "K" if order is None else order
    if not isinstance(order, str):
        raise TypeError("order must be str")
    array = np.asarray(op)
    for flag in flags:
        if flag not in _FLAGS:
            raise NotImplementedError("this flag of np.nditer is not compiled", "loop over np.ndindex(x.shape)")
    if array.size == 0 and "zerosize_ok" not in flags:
        raise ValueError("Iteration of zero-sized operands is not enabled")
    given = op_flags[0] if len(op_flags) > 0 and isinstance(op_flags[0], list | tuple) else op_flags
    is_fortran = order == "F" or (order == "A" and array.flags.fortran)
    if order == "K" and array.ndim > 0 and not array.flags.c_contiguous:
        if not array.flags.f_contiguous:
            raise NotImplementedError(
                "np.nditer of an array that is not contiguous is not compiled", 'give it an order: order="C"'
            )
        is_fortran = True
    if ("c_index" in flags and is_fortran) or ("f_index" in flags and not is_fortran and array.ndim > 1):
        raise NotImplementedError("np.nditer with an index in another order is not compiled", "use multi_index")
    return ElementWalk(array, is_fortran and array.ndim > 1, "readwrite" in given or "writeonly" in given)
