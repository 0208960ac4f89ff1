"""Random calls that are drawn and not judged, each with the reason.

Reads: calls, and what NumPy gives. Writes: nothing. Gives: reasons; None for a call that is judged.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from mlirad.testing.calls.packed import Call

_NUMBER = "np.empty(())"
_CUMULATIVE = re.compile(r"accumulate|cumsum|cumprod|cumulative_")
_BY_VECTORS = re.compile(r"np\.(arctan2|atan2|power|pow)\.(reduce|reduceat)\(")


def unsafe(call: Call) -> str | None:
    """Why NumPy itself must not run a call."""
    if _NUMBER in call.text and _CUMULATIVE.search(call.text):
        return "NumPy writes behind an `out` without axes that it accumulates in"
    return None


def left_out(call: Call, want: Any) -> str | None:
    """Why a call is not judged that gives `want` in NumPy, or raises it."""
    if isinstance(want, MemoryError | RecursionError):
        return "beyond the memory or the stack"
    if isinstance(want, ZeroDivisionError | OverflowError) or str(want).endswith("domain error"):
        return "docs/deviations.md: Python's errors of floats are NumPy's nan and inf"
    if isinstance(want, complex):
        return "docs/deviations.md: a power of Python's floats is never complex"
    if isinstance(want, np.generic) and _NUMBER in call.text:
        return "docs/deviations.md: a method of a number gives its `out`"
    if _BY_VECTORS.match(call.text):
        return "docs/deviations.md: NumPy reduces by the first and last element on some processors"
    if call.text in ("max(a, b)", "min(a, b)") and len({type(each) for each in call.inputs.values()}) > 1:
        return "docs/deviations.md: an int on one path and a float on another are floats"
    return None
