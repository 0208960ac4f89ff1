"""Parts of matrices: triangles and diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.spells import spells


@spells("numpy.tril")
def tril(m: Any, k: int = 0) -> Any:
    x = np.asarray(m)
    return np.where(np.tri(*x.shape[-2:], k=k, dtype=bool), x, np.zeros((), x.dtype))


@spells("numpy.triu")
def triu(m: Any, k: int = 0) -> Any:
    x = np.asarray(m)
    return np.where(np.tri(*x.shape[-2:], k=k - 1, dtype=bool), np.zeros((), x.dtype), x)


@spells("numpy.trace", method="trace")
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return np.sum(np.diagonal(a, offset, axis1, axis2), -1)
