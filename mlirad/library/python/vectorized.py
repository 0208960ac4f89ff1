"""np.vectorize and np.fromiter, in Python: they are interpreted like the user's functions.

Reads: nothing. Writes: nothing. Leaves: a class and functions that behave like NumPy's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.python.iterators import as_line
from mlirad.library.spells import spells


@spells("numpy.vectorize", complex=True)
def vectorize(pyfunc: Any, otypes: Any = None) -> Any:
    return Vectorized(pyfunc, otypes)


class Vectorized:
    """np.vectorize(f): a loop that calls f on each element, as a Python number."""

    def __init__(self, pyfunc: Any, otypes: Any):
        self.pyfunc = pyfunc
        self.otypes = otypes

    def __call__(self, *args: Any) -> Any:
        arrays = np.broadcast_arrays(*args)
        lines = [as_line(each) for each in arrays]
        shape, count = arrays[0].shape, len(lines[0])
        if count == 0:
            if self.otypes is None:
                raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
            empty = [np.empty(shape, each) for each in self.otypes]
            return empty[0] if len(empty) == 1 else tuple(empty)
        first = self.pyfunc(*[line[0] for line in lines])  # for NumPy's numbers, the dtype is the result's
        if not isinstance(first, tuple):
            made = np.empty(count, np.asarray(first).dtype if self.otypes is None else self.otypes[0])
            for k in range(count):
                made[k] = self.pyfunc(*[line[k].item() for line in lines])
            return made.reshape(shape)
        several = [np.empty(count, np.asarray(each).dtype) for each in first]
        if self.otypes is not None:
            several = [np.empty(count, each) for each in self.otypes]
        for k in range(count):
            found = self.pyfunc(*[line[k].item() for line in lines])
            for n in range(len(several)):
                several[n][k] = found[n]
        return tuple([each.reshape(shape) for each in several])


@spells("numpy.fromiter", complex=True)
def fromiter(iter: Any, dtype: Any, count: int = -1) -> Any:
    found = np.array(list(iter), dtype)
    if found.ndim > 1:
        raise ValueError("setting an array element with a sequence.")
    if count > len(found):
        raise ValueError("iterator too short")
    return found if count < 0 else found[:count]
