"""What follows from sorting."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.spells import spells


@spells(changes="sort")
def sort_in_place(a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> None:
    if axis is None:
        raise TypeError("'NoneType' object cannot be interpreted as an integer")
    a[...] = np.sort(a, axis, kind, stable=stable)
