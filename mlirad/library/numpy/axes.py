"""What NumPy's functions that are written in C take for an axis.

Reads: arguments. Writes: nothing. Leaves: axes, or the TypeError that NumPy raises.
"""

from __future__ import annotations

from typing import Any


def require_axis(axis: Any) -> None:
    """Raise what NumPy raises of a bool, a float, a tuple or a list as the axis."""
    if isinstance(axis, bool):
        raise TypeError("an integer is required for the axis")
    if isinstance(axis, (float, tuple, list)):
        raise TypeError(f"'{type(axis).__name__}' object cannot be interpreted as an integer")
