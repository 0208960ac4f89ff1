"""Shapes and axes that are known at compile time: asked of NumPy itself.

Reads: shapes, axes. Writes: nothing. Leaves: shapes and axes, or NumPy's own refusal as a ShapeError.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlirad.errors import ShapeError
from mlirad.frontend.values.numpys_errors import numpys_refusal


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that shapes broadcast to. Raises ShapeError with the text of NumPy's ufuncs."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = " ".join(str(shape).replace(" ", "") for shape in shapes)
        raise ShapeError(f"operands could not be broadcast together with shapes {listed}") from None


def normalize_axes(axis: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """The axes that `axis=` names, increasing and non-negative; None names all. Raises ShapeError."""
    if axis is None:
        return tuple(range(rank))
    with numpys_refusal():
        return tuple(sorted(np.lib.array_utils.normalize_axis_tuple(axis, rank)))
