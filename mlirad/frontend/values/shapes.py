"""Shapes, axes and orders known at compile time, computed by NumPy itself.

Reads: shapes, axes. Writes: nothing. Leaves: shapes, axes and orders, or NumPy's own refusal as a CompileError.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from mlirad.errors import DTypeError, ShapeError
from mlirad.frontend.values.numpys_errors import numpys_refusal


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The broadcast shape. Raises ShapeError with the text of NumPy's ufuncs."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = " ".join(str(shape).replace(" ", "") for shape in shapes)
        message = f"operands could not be broadcast together with shapes {listed}"
        raise ShapeError(message).as_raised(ValueError) from None


def normalize_axes(axis: Any, rank: int) -> tuple[int, ...]:
    """The axes that the `axis=` of a reduction names, increasing and non-negative; None names all. Raises ShapeError;
    raises DTypeError unless it is an integer or a tuple of integers."""
    if axis is None:
        return tuple(range(rank))
    named = axis if isinstance(axis, tuple) else (axis,)
    with numpys_refusal():
        return tuple(sorted(np.lib.array_utils.normalize_axis_tuple(tuple(map(_as_index, named)), rank)))


def normalize_axis(axis: Any, rank: int) -> int:
    """The one axis that `axis=` names, non-negative. Raises ShapeError; raises DTypeError unless it is an integer."""
    with numpys_refusal():
        return np.lib.array_utils.normalize_axis_index(_as_index(axis), rank)


def order_of(order: Any, default: str) -> str:
    """The letter of an `order=`: C, F, A or K. Raises DTypeError or StaticValueError for others."""
    if order is None:
        return default
    if not isinstance(order, str):
        raise DTypeError(f"order must be str, not {type(order).__name__}")
    asked: Any = order
    with numpys_refusal():
        np.empty(0).ravel(asked)
    return order.upper()


def _as_index(axis: Any) -> int:
    if isinstance(axis, bool | np.bool_):
        raise DTypeError("an integer is required for the axis")
    return operator.index(axis)
