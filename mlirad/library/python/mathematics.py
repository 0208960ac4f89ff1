"""Functions of the module math."""

from __future__ import annotations

import math
from typing import Any

from mlirad.library.spells import spells


@spells("math.dist")
def dist(p: Any, q: Any, /) -> float:
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    found = 0.0
    for a, b in zip(p, q):  # noqa: B905  (the lengths are compared above)
        found = math.hypot(found, float(a) - float(b))
    return found


@spells("math.prod")
def prod(iterable: Any, /, *, start: Any = 1) -> Any:
    found = start
    for each in iterable:
        found = found * each
    return found


@spells("math.isclose")
def isclose(a: Any, b: Any, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> bool:
    if rel_tol < 0.0 or abs_tol < 0.0:
        raise ValueError("tolerances must be non-negative")
    x, y = float(a), float(b)
    if x == y:
        return True
    if math.isinf(x) or math.isinf(y):
        return False
    distance = math.fabs(y - x)
    return distance <= math.fabs(rel_tol * y) or distance <= math.fabs(rel_tol * x) or distance <= abs_tol
