"""Differences and shifts along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from mlirad.library.spells import spells


@spells("numpy.diff", complex=True)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    x = np.asarray(a)
    if x.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    before, after = _line(prepend, x, axis), _line(append, x, axis)
    if prepend is not None or append is not None:
        x = np.concatenate([each for each in (before, x, after) if each is not None], axis)
    for _ in range(n):
        high, low = np.rollaxis(x, axis)[1:], np.rollaxis(x, axis)[:-1]
        x = np.moveaxis(high != low if x.dtype == bool else high - low, 0, axis)
    return x


def _line(given: Any, x: Any, axis: int) -> Any:
    """A number as a line along an axis; an array unchanged."""
    if given is None or np.ndim(given) > 0:
        return None if given is None else np.asarray(given)
    shape = [1 if k == axis % x.ndim else x.shape[k] for k in range(x.ndim)]
    return np.broadcast_to(given, shape)


@spells("numpy.roll", complex=True)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    x = np.asarray(a)
    if axis is None:
        return np.reshape(_rolled(np.ravel(x), shift, 0), x.shape)
    if not isinstance(axis, (tuple, list)) and not isinstance(shift, (tuple, list)):
        return _rolled(x, shift, axis)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,)
    for each in axes:
        np.rollaxis(x, each)  # raises NumPy's error for an axis that x does not have
    if len(axes) != len(shifts) and len(axes) != 1 and len(shifts) != 1:
        raise ValueError("shape mismatch: objects cannot be broadcast to a single shape")
    for index in range(min(len(axes), len(shifts)) and max(len(axes), len(shifts))):
        x = _rolled(x, shifts[index if len(shifts) > 1 else 0], axes[index if len(axes) > 1 else 0])
    return x


def _rolled(x: Any, shift: Any, axis: Any) -> Any:
    made = np.empty_like(x)
    before, after = np.rollaxis(x, axis), np.rollaxis(made, axis)
    cut = shift % len(before) if len(before) else 0
    after[cut:] = before[: len(before) - cut]
    after[:cut] = before[len(before) - cut :]
    return made


@spells("numpy.ediff1d", complex=True)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    x = np.ravel(ary)
    made = x[1:] - x[:-1]
    parts = [made]
    if to_begin is not None:
        parts = [_alike(to_begin, x, "to_begin"), made]
    if to_end is not None:
        parts = [*parts, _alike(to_end, x, "to_end")]
    return np.concatenate(parts) if len(parts) > 1 else made


def _alike(items: Any, x: Any, name: str) -> Any:
    held = np.asarray(items)
    if not np.can_cast(held.dtype, x.dtype, casting="same_kind"):
        raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
    return np.ravel(held).astype(x.dtype)


@spells("numpy.trapezoid", complex=True)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    heights = np.moveaxis(np.asarray(y), axis, -1)
    if x is None:
        widths = dx
    elif np.ndim(x) == 1:
        widths = np.diff(x)
    else:
        widths = np.moveaxis(np.diff(np.asarray(x), axis=axis), axis, -1)
    return np.sum(widths * (heights[..., 1:] + heights[..., :-1]) / 2.0, -1)


@spells("numpy.gradient", complex=True)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    x = np.asarray(f)
    axes = tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim)
    if len(varargs) > 1 and len(varargs) != len(axes):
        raise TypeError("invalid number of arguments")
    if len(varargs) == 1 and len(axes) != 1 and np.ndim(varargs[0]) > 0:
        raise TypeError("invalid number of arguments")
    for number in range(len(axes) if len(varargs) > 0 else 0):
        _require_distances(varargs[number if len(varargs) > 1 else 0], x.shape[axes[number]])
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    if x.dtype.kind in "iu":
        x = x.astype(np.float64)
    found = []
    for number in range(len(axes)):
        spacing = 1.0 if len(varargs) == 0 else varargs[number if len(varargs) > 1 else 0]
        found.append(_gradient_along(x, spacing, axes[number], edge_order))
    return found[0] if len(found) == 1 else tuple(found)


def _require_distances(spacing: Any, length: int) -> None:
    if np.ndim(spacing) > 1:
        raise ValueError("distances must be either scalars or 1d")
    if np.ndim(spacing) == 1 and len(spacing) != length:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    if np.ndim(spacing) == 1 and length < 2:
        raise IndexError("index 0 is out of bounds for axis 0 with size 0")


def _gradient_along(x: Any, spacing: Any, axis: int, edge_order: int) -> Any:
    y = np.moveaxis(x, axis, -1)
    if y.shape[-1] < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, "
            "at least (edge_order + 1) elements are required."
        )
    made = np.empty_like(x, dtype=x.dtype if x.dtype.kind in "fc" else np.float64)
    into = np.moveaxis(made, axis, -1)
    if np.ndim(spacing) == 0:
        _evenly(into, y, spacing, edge_order)
        return made
    places = np.asarray(spacing)
    widths = np.diff(places.astype(np.float64) if places.dtype.kind in "iu" else places)
    if np.all(widths == widths[0]):
        _evenly(into, y, widths[0], edge_order)
    else:
        _unevenly(into, y, widths, edge_order)
    return made


def _evenly(into: Any, y: Any, width: Any, edge_order: int) -> None:
    into[..., 1:-1] = (y[..., 2:] - y[..., :-2]) / (2.0 * width)
    if edge_order == 1:
        into[..., 0] = (y[..., 1] - y[..., 0]) / width
        into[..., -1] = (y[..., -1] - y[..., -2]) / width
    else:
        into[..., 0] = (-1.5 / width) * y[..., 0] + (2.0 / width) * y[..., 1] + (-0.5 / width) * y[..., 2]
        into[..., -1] = (0.5 / width) * y[..., -3] + (-2.0 / width) * y[..., -2] + (1.5 / width) * y[..., -1]


def _unevenly(into: Any, y: Any, widths: Any, edge_order: int) -> None:
    left, right = widths[:-1], widths[1:]
    a = -right / (left * (left + right))
    b = (right - left) / (left * right)
    c = left / (right * (left + right))
    into[..., 1:-1] = a * y[..., :-2] + b * y[..., 1:-1] + c * y[..., 2:]
    if edge_order == 1:
        into[..., 0] = (y[..., 1] - y[..., 0]) / widths[0]
        into[..., -1] = (y[..., -1] - y[..., -2]) / widths[-1]
    else:
        left, right = widths[0], widths[1]
        a = -(2.0 * left + right) / (left * (left + right))
        b = (left + right) / (left * right)
        c = -left / (right * (left + right))
        into[..., 0] = a * y[..., 0] + b * y[..., 1] + c * y[..., 2]
        left, right = widths[-2], widths[-1]
        a = right / (left * (left + right))
        b = -(right + left) / (left * right)
        c = (2.0 * right + left) / (right * (left + right))
        into[..., -1] = a * y[..., -3] + b * y[..., -2] + c * y[..., -1]


@spells("numpy.unwrap")
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Any:
    x = np.asarray(p)
    steps = np.diff(x, axis=axis)
    dtype = np.result_type(steps, period)
    high = period // 2 if dtype.kind in "iu" else period / 2
    low = -high
    inside = np.mod(steps - low, period) + low
    if dtype.kind == "f" or period % 2 == 0:
        inside = np.where((inside == low) & (steps > 0), np.asarray(high, dtype), inside)
    least = period / 2 if discont is None else discont
    shifts = np.cumsum(np.where(np.abs(steps) < least, np.zeros((), dtype), inside - steps), axis)
    made = np.array(x, dtype)
    np.moveaxis(made, axis, 0)[1:] = np.moveaxis(x, axis, 0)[1:] + np.moveaxis(shifts, axis, 0)
    return made
