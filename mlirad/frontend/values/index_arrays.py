"""Splits indices that contain arrays into a basic view and arrays that index axes of that view.

Reads: an index and the shape of the array that it indexes. Writes: checks of bounds, and broadcast index arrays.
Leaves: an ArrayIndex, and the operands of the ops that gather and scatter.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from mlirad.dialect.arrays.checked_indices import CheckIndicesOp, wrapped_indices
from mlirad.dialect.arrays.indexed_op import constant_indices
from mlirad.dialect.arrays.places import mask_of
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant, emit
from mlirad.dialect.ops.check import check
from mlirad.dialect.ops.compare import cast as cast_expr
from mlirad.dialect.ops.movement import reshape
from mlirad.errors import ShapeError, StaticIndexError, UnsupportedSyntaxError
from mlirad.frontend.values import masks, sizes
from mlirad.frontend.values.numpys_errors import numpys_refusal
from mlirad.frontend.values.sizes import Dim, Shape, Size
from mlirad.frontend.values.traced import Traced, as_traced, is_static, of_array

_WHOLE = slice(None)
_MISMATCH = "shape mismatch: indexing arrays could not be broadcast together with shapes"


@dataclass(frozen=True)
class IndexArrays:
    """Index arrays: `values[k]` indexes axis `axes[k]` of a view, which is axis `named[k]` of the array itself.

    at: in the result, the axes of the index arrays come before axis `at` of the view's other axes. in_range: the
    numbers of the values known to be in range and not negative.
    """

    values: tuple[np.ndarray | Traced, ...]
    axes: tuple[int, ...]
    named: tuple[int, ...]
    at: int
    in_range: frozenset[int] = frozenset()

    @cached_property
    def shape(self) -> Shape:
        """The broadcast shape of the index arrays. Sizes that may differ are compared at run time."""
        shapes: list[Shape] = [value.shape for value in self.values]
        try:
            return sizes.broadcast_shapes(*shapes, mismatch=("IndexError", _MISMATCH))
        except ShapeError:
            raise StaticIndexError(f"{_MISMATCH} {' '.join(map(sizes.text, shapes))}") from None

    def result_shape(self, shape: Shape) -> Shape:
        """The shape of the elements read from an array of this shape."""
        rest = [size for axis, size in enumerate(shape) if axis not in self.axes]
        return (*rest[: self.at], *self.shape, *rest[self.at :])

    def operands(self, shape: Shape, boundscheck: bool = True) -> tuple[list[Expr], dict[str, Any]]:
        """The index operands and attributes of a gather or scatter on an array of this shape."""
        whole = self.shape
        found = [
            sizes.stretched(value.contents, whole)
            if isinstance(value, Traced) and (number in self.in_range or _is_in_range(value, shape[axis]))
            else _checked(value, named, shape[axis], whole, boundscheck)
            for number, (value, axis, named) in enumerate(zip(self.values, self.axes, self.named, strict=True))
        ]
        return found, {"axes": self.axes, "at": self.at}


def _is_in_range(value: Traced, size: Size) -> bool:
    """Whether the indices are the places of a mask that is no longer than the axis."""
    mask = mask_of(value.expr.value)
    places = () if mask is None else types.shape(mask.type)
    return mask is not None and isinstance(size, int) and min(places) >= 0 and prod(places) <= size


def _checked(value: np.ndarray | Traced, axis: int, size: Size, whole: Shape, boundscheck: bool) -> Expr:
    """An index array as an i64 array of shape `whole` without negative elements; raises if an index is out of
    bounds."""
    if isinstance(value, np.ndarray) and not isinstance(size, int):
        value = of_array(value)
    if isinstance(value, np.ndarray):
        assert isinstance(size, int)
        wrong = value[(value < -size) | (value >= size)]
        if wrong.size:
            raise StaticIndexError(f"index {wrong[0]} is out of bounds for axis {axis} with size {size}")
        place = np.where(value < 0, value + size, value)
        known = np.broadcast_to(place, whole) if sizes.is_static(whole) else place
        return sizes.stretched(constant(known, types.tensor(known.shape, types.I64)), whole)
    index = cast_expr(value.contents, types.I64)
    length = size.expr if isinstance(size, Dim) else constant(size, types.I64)
    checked = emit(CheckIndicesOp, index, length, axis=axis) if boundscheck else wrapped_indices(index, length)
    return sizes.stretched(checked, whole)


@dataclass(frozen=True)
class Mask:
    """A mask known only at run time. axes: the axes of the view that it masks; at: as in IndexArrays; is_number: it is
    one bool, for a new axis."""

    values: Traced
    axes: tuple[int, ...]
    is_number: bool
    at: int = 0

    @property
    def rank(self) -> int:
        return len(self.axes)


@dataclass(frozen=True)
class ArrayIndex:
    """basic: the index, with `:` in place of its arrays. Then either index arrays, or a single mask known only at run
    time."""

    basic: tuple[Any, ...]
    arrays: IndexArrays | None
    mask: Mask | None = None


def as_array(entry: Any) -> np.ndarray | Traced | None:
    """An index entry as an array of int64 or bool, static if its elements are known; None for a basic entry. A single
    bool is an array of rank 0.

    Raises StaticIndexError for arrays of other dtypes.
    """
    if entry is None or entry is Ellipsis or isinstance(entry, slice):
        return None
    if isinstance(entry, list | tuple):
        if is_static(entry):
            with numpys_refusal():
                entry = np.asarray(entry)
            entry = entry.astype(np.int64) if entry.size == 0 else entry
        else:
            entry = as_traced(entry)
    if isinstance(entry, Traced):
        known = constant_indices(entry.expr.value) if entry.ndim else None
        entry = entry if known is None else np.asarray(known)
    if isinstance(entry, bool | np.bool_):
        entry = np.asarray(entry)
    if not isinstance(entry, Traced | np.ndarray) or (entry.ndim == 0 and entry.dtype.kind in "iu"):
        return None
    if entry.dtype.kind not in "iub" or (entry.ndim == 0 and entry.dtype.kind != "b"):
        raise StaticIndexError("arrays used as indices must be of integer (or boolean) type")
    if isinstance(entry, np.ndarray) and entry.dtype.kind != "b":
        return entry.astype(np.int64)
    return entry


def split_index(index: Any, shape: Shape) -> ArrayIndex:
    """Split an index that contains arrays, for an array of this shape. Raises StaticIndexError if it does not fit."""
    entries = list(index) if isinstance(index, tuple) else [index]
    found = [as_array(entry) for entry in entries]
    entries = [entry if array is None else array for entry, array in zip(entries, found, strict=True)]
    return _Reading(shape).run(_without_ellipsis(entries, len(shape)))


def _is_mask(entry: Any) -> bool:
    return isinstance(entry, Traced | np.ndarray) and entry.dtype.kind == "b"


def _as_row(mask: np.ndarray | Traced) -> np.ndarray | Traced:
    """A mask of rank 0 as a mask of one element."""
    if isinstance(mask, np.ndarray):
        return mask.reshape(1)
    return Traced(reshape(mask.expr, types.tensor((1,), mask.expr.element)), origins=mask.origins)


def _without_ellipsis(entries: list[Any], rank: int) -> list[Any]:
    """The entries, with slices in place of an ellipsis (`...` itself if it means no axis), and missing slices at the
    end."""
    places = [place for place, entry in enumerate(entries) if entry is Ellipsis]
    if len(places) > 1:
        raise StaticIndexError("an index can only have a single ellipsis ('...')")
    given = sum(
        entry.ndim if _is_mask(entry) else 1 for entry in entries if entry is not None and entry is not Ellipsis
    )
    if given > rank:
        raise StaticIndexError(f"too many indices for array: array is {rank}-dimensional, but {given} were indexed")
    whole = [slice(None)] * (rank - given)
    if not places:
        return [*entries, *whole]
    return [*entries[: places[0]], *(whole or [Ellipsis]), *entries[places[0] + 1 :]]


def _require_size(axis: int, size: Size, own: Size) -> None:
    """Raise an IndexError, at compile time or run time, unless a mask is as long as its axis. NumPy accepts an empty
    mask for every axis."""
    message = f"boolean index did not match indexed array along axis {axis}; size of axis is {{0}} but size of "
    message += "corresponding boolean axis is {1}"
    if isinstance(size, int) and isinstance(own, int):
        if own not in (0, size):
            raise StaticIndexError(message.format(size, own))
    elif size != own:
        first, second = (x.expr if isinstance(x, Dim) else constant(x, types.I64) for x in (size, own))
        check(first == second, "IndexError", message, first, second)


class _Reading:
    """One walk over the entries. axis: the next axis of the array; place: the next axis of the view."""

    def __init__(self, shape: Shape):
        self.shape = shape
        self.axis = self.place = self.kept = 0
        self.basic: list[Any] = []
        self.values: list[np.ndarray | Traced] = []
        self.masks: list[Mask] = []
        self.axes: list[int] = []
        self.named: list[int] = []
        self.runs: list[int] = []  # for each run of entries with arrays, how many other axes of the view precede it

    def run(self, entries: Sequence[Any]) -> ArrayIndex:
        was_advanced = False
        for entry in entries:
            is_advanced = not (entry is None or entry is Ellipsis or isinstance(entry, slice))
            if is_advanced and not was_advanced:
                self.runs.append(self.kept)
            was_advanced = is_advanced
            if isinstance(entry, Traced | np.ndarray) and (entry.ndim or _is_mask(entry)):
                self._array(entry)
            elif entry is not Ellipsis:
                self._basic(entry, is_advanced)
        at = self.runs[0] if len(self.runs) == 1 else 0
        basic, axes, named = tuple(self.basic), tuple(self.axes), tuple(self.named)
        if len(self.masks) == 1 and len(self.masks[0].axes) == len(axes):
            return ArrayIndex(basic, None, dataclasses.replace(self.masks[0], at=at))
        if any(mask.is_number for mask in self.masks):
            text = "a bool known only at run time is not compiled next to other index arrays"
            raise UnsupportedSyntaxError(text, hint="index in two steps, or use np.where")
        values = list(self.values)
        for mask in self.masks:
            first = axes.index(mask.axes[0])
            values[first : first + len(mask.axes)] = masks.indices(mask.values)
        in_range = frozenset(axes.index(axis) for mask in self.masks for axis in mask.axes)
        return ArrayIndex(basic, IndexArrays(tuple(values), axes, named, at, in_range))

    def _basic(self, entry: Any, is_int: bool) -> None:
        self.basic.append(entry)
        self.axis += entry is not None
        self.place += not is_int
        self.kept += not is_int

    def _array(self, entry: np.ndarray | Traced) -> None:
        if not _is_mask(entry):
            self._index(entry)
            return
        for offset, size in enumerate(entry.shape):
            _require_size(self.axis + offset, self.shape[self.axis + offset], size)
        # A single bool is a mask of one element for a new axis.
        basic = _WHOLE if entry.ndim else None
        used = entry.ndim
        entry = entry if used else _as_row(entry)
        if sizes.is_static(entry.shape) and 0 in entry.shape:
            entry = np.zeros(entry.shape, np.bool_)
        if isinstance(entry, np.ndarray):
            for index in np.nonzero(entry):
                self._index(index, basic)
            return
        axes = range(self.place, self.place + entry.ndim)
        self.masks.append(Mask(entry, tuple(axes), is_number=not used))
        for _ in axes:
            self._index(entry, basic)  # a placeholder for its indices

    def _index(self, index: np.ndarray | Traced, basic: slice | None = _WHOLE) -> None:
        """Add an index array for an axis, or for a new axis if `basic` is None."""
        self.values.append(index)
        self.axes.append(self.place)
        self.named.append(self.axis)
        self.basic.append(basic)
        self.axis += basic is not None
        self.place += 1
