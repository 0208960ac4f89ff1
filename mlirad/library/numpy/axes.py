"""The axis argument of NumPy's functions written in C.

Reads: arguments. Writes: nothing. Leaves: axes, or the TypeError that NumPy raises.
"""

from __future__ import annotations

from typing import Any


def require_axis(axis: Any) -> None:
    """Raise NumPy's error if the axis is a bool, a float, a tuple or a list."""
    if isinstance(axis, bool):
        raise TypeError("an integer is required for the axis")
    if isinstance(axis, (float, tuple, list)):
        raise TypeError(f"'{type(axis).__name__}' object cannot be interpreted as an integer")
