"""Random calls that are drawn but not judged, each with the reason.

Reads: calls, and NumPy's results. Writes: nothing. Gives: reasons; None for a call that is judged.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from mlirad.testing.calls.packed import Call

_NUMBER = "np.empty(())"
_CUMULATIVE = re.compile(r"accumulate|cumsum|cumprod|cumulative_")
_BY_VECTORS = re.compile(r"np\.(arctan2|atan2|power|pow)\.(reduce|reduceat)\(")


def _whole(call: Call) -> list[Any]:
    """The inputs that are a single integer."""
    return [each for each in call.inputs.values() if np.ndim(each) == 0 and np.asarray(each).dtype.kind in "iu"]


def _has_large(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_has_large, value))
    return isinstance(value, int) and not -(2**63) <= value < 2**63


_SEARCHED = {
    "x": re.compile(r"(np\.searchsorted\((a=)?x|x\.searchsorted)"),
    "y": re.compile(r"np\.interp\((x=)?x, (xp=)?y"),
}


_DOT = re.compile(r"(np\.dot\(|x\.dot)")


def _is_zero(x: Any) -> bool:
    return np.ndim(x) == 0 and x == 0


def _is_in_order(x: Any) -> bool:
    return np.ndim(x) != 1 or np.array_equal(x, np.sort(x), equal_nan=x.dtype.kind == "f")


def unsafe(call: Call) -> str | None:
    """Why NumPy itself must not run a call."""
    if _NUMBER in call.text and _CUMULATIVE.search(call.text):
        return "NumPy writes beyond an `out` without axes in which it accumulates"
    if call.text.startswith("special.") and "where=" in call.text:
        return "a ufunc of SciPy with `where` writes outside of its arrays"
    return None


def left_out(call: Call, want: Any) -> str | None:
    """Why a call that returns or raises `want` in NumPy is not judged."""
    if isinstance(want, MemoryError | RecursionError):
        return "beyond the memory or the stack"
    if isinstance(want, ZeroDivisionError | OverflowError) or str(want).endswith("domain error"):
        return "docs/deviations.md: Python's errors of floats are NumPy's nan and inf"
    if isinstance(want, complex):
        return "docs/deviations.md: a power of Python's floats is never complex"
    if _has_large(want):
        return "docs/deviations.md: Python ints have 64 bits"
    if isinstance(want, np.generic) and _NUMBER in call.text:
        return "docs/deviations.md: a method of a number gives its `out`"
    if _BY_VECTORS.match(call.text):
        return "docs/deviations.md: NumPy reduces by the first and last element on some processors"
    if any(pattern.match(call.text) and not _is_in_order(call.inputs[name]) for name, pattern in _SEARCHED.items()):
        return "a search in unsorted numbers"
    if call.text.startswith("np.interp(x, np.sort(v)") and np.any(np.isnan(call.inputs["v"])):
        return "an interpolation between points, one of them nan"
    if _DOT.match(call.text) and _is_zero(call.inputs.get("x")) != _is_zero(call.inputs.get("y")):
        return "docs/deviations.md: a product of a number 0 and an array"
    if call.text.startswith("special.ive(") and any(np.any(np.abs(each) > 2**31) for each in call.inputs.values()):
        return "docs/deviations.md: SciPy has no values of large numbers"
    if call.text.startswith("np.arange(") and any(abs(int(each)) > 2**61 for each in _whole(call)):
        return "a length that NumPy computes beyond 64 bits"
    if "assume_unique=True" in call.text and any(len(np.unique(each)) < np.size(each) for each in call.inputs.values()):
        return "numbers that are declared unique, but are not"
    if call.text.startswith("np.uint32(") and np.asarray(call.inputs.get("x", 0)).dtype.kind == "f":
        return "docs/deviations.md: floats beyond the range of uint32"
    if call.text in ("max(a, b)", "min(a, b)") and len({type(each) for each in call.inputs.values()}) > 1:
        return "docs/deviations.md: an int on one path and a float on another are floats"
    return None
