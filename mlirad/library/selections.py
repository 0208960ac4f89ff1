"""Where arrays are not zero, and what conditions select."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.axes import require_axis
from mlirad.library.spells import spells


@spells("numpy.flatnonzero")
def flatnonzero(a: Any) -> Any:
    return np.nonzero(np.ravel(a))[0]


@spells("numpy.argwhere")
def argwhere(a: Any) -> Any:
    places = np.nonzero(a)
    made = np.empty((len(places[0]), len(places)), np.int64)
    for axis, along in enumerate(places):
        made[:, axis] = along
    return made


@spells("numpy.compress")
def compress(condition: Any, a: Any, axis: Any = None) -> Any:
    require_axis(axis)
    held = np.asarray(condition)
    if held.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    (places,) = np.nonzero(held)
    if axis is None:
        return np.ravel(a)[places]
    return np.moveaxis(np.moveaxis(np.asarray(a), axis, 0)[places], 0, axis)


@spells("numpy.extract")
def extract(condition: Any, arr: Any) -> Any:
    return np.ravel(arr)[np.nonzero(np.ravel(condition))[0]]
