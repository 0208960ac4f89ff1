"""The NumPy functions and methods that may return a view of their argument: which view it is, if any.

Reads: a View and static arguments. Writes: nothing. Leaves: a View, or None if NumPy makes a copy. NumPy itself
decides, on arrays without memory, where axes go and whether a reshape is a view.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from math import prod
from string import ascii_letters
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.lib.stride_tricks import sliding_window_view

from mlirad.errors import DTypeError, StaticValueError, UnsupportedSyntaxError
from mlirad.frontend.numpy.declarations import declare, views
from mlirad.frontend.values import affine
from mlirad.frontend.values.nep50 import dtype_of
from mlirad.frontend.values.numpys_errors import numpys_refusal
from mlirad.frontend.values.shapes import broadcast_shapes, normalize_axis, order_of
from mlirad.frontend.values.sizes import Dim, Shape, Size, is_static, stand_in, value_of
from mlirad.frontend.values.sizes import require_static as require_static_shape
from mlirad.frontend.values.traced import Traced, require_static
from mlirad.frontend.values.views.row_major import shadow
from mlirad.frontend.values.views.view import View
from mlirad.frontend.values.views.view_steps import UNKNOWN_STRIDE, New, Start
from mlirad.library.python.iterators import as_line

ViewFunction = Callable[..., View | None]


def _rearranged(numpy_function: Callable[..., Any]) -> ViewFunction:
    """A function that permutes and flips axes: NumPy runs it on an array with axes of distinct sizes."""

    def of_view(view: View, *args: Any, **kwargs: Any) -> View:
        require_static((args, kwargs), f"the axes of np.{numpy_function.__name__}")
        with numpys_refusal():
            asked = numpy_function(shadow(range(2, view.ndim + 2), [1] * view.ndim), *args, **kwargs)
        axes = tuple(size - 2 for size in asked.shape)
        flipped = {axis for axis, stride in zip(axes, asked.strides, strict=True) if stride < 0}
        strides = tuple(-1 if axis in flipped else 1 for axis in range(view.ndim))
        starts = [_last(size) if axis in flipped else 0 for axis, size in enumerate(view.shape)]
        return view.affine(axes, starts, strides=strides)

    return of_view


_along_axes = _rearranged(np.flip)


@views(np.flip)
def flipped(m: View, axis: Any = None) -> View | None:
    """`np.flip(x)`; for an array without axes it is a number."""
    found = _along_axes(m, axis)
    return found if m.ndim else None


@views(np.reshape, method="reshape", known_shapes=(1,))
def _reshaped(view: View, *args: Any, **kwargs: Any) -> View | None:
    """`x.reshape(shape)`, `x.reshape(2, 3)`, `np.reshape(x, shape)`."""
    if "shape" in kwargs:
        args = (*args, kwargs.pop("shape"))
    if not args:
        raise DTypeError("reshape() takes exactly 1 argument (0 given)")
    order = kwargs.pop("order", None)
    if len(args) == 2 and isinstance(args[1], str):  # np.reshape(x, shape, order)
        order, args = args[1], args[:1]
    order = order_of(order, "C")
    copy = kwargs.pop("copy", None)
    if kwargs or copy is not None or order not in ("C", "F", "A"):
        raise UnsupportedSyntaxError("of np.reshape's keywords only shape= and order= are supported")
    shape = args[0] if len(args) == 1 else args
    if order == "C" and not is_static(view.shape):
        thin = _thin_shape(view.shape, shape)
        if thin is not None:
            return view.reshaped(thin, [0] * len(thin))
    require_static(shape, "the shape of np.reshape")
    asked = shadow(view.shape, view.strides)
    if order == "A":
        order = "F" if asked.flags.fnc else "C"
    with numpys_refusal():
        result = _shape_of_reshape(require_static_shape(view.shape, "the shape of an array that is reshaped"), shape)
    try:
        answer = np.reshape(asked, result, order=order, copy=False)
    except ValueError:
        return None
    strides = [stride // 8 for stride in answer.strides]
    if order == "C":
        return view.reshaped(result, strides)
    return _reversed(_reversed(view).reshaped(result[::-1], strides[::-1]))


def _thin_shape(old: Shape, new: Any) -> Shape | None:
    """The shape of a reshape that only adds and drops axes of size 1, for an array with one other axis."""
    long = [size for size in old if size != 1]
    entries = new if isinstance(new, tuple | list) else (new,)
    others = [entry for entry in entries if isinstance(entry, Traced) or entry != 1]
    if len(long) != 1 or len(others) != 1 or not isinstance(long[0], Dim):
        return None
    (asked,) = others
    if isinstance(asked, Traced) and affine.difference(asked.scalar, long[0].expr) != 0:
        return None
    if not isinstance(asked, Traced) and asked != -1:
        return None
    return tuple(long[0] if entry is asked else 1 for entry in entries)


def _shape_of_reshape(old: tuple[int, ...], new: Any) -> tuple[int, ...]:
    return np.reshape(shadow(old, [0] * len(old)), new).shape if prod(old) else np.zeros(old).reshape(new).shape


def _reversed(view: View) -> View:
    axes = tuple(reversed(range(view.ndim)))
    return view.affine(axes)


@views(np.ravel, method="ravel")
def _ravelled(view: View, order: Any = None) -> View | None:
    order = order_of(order, "C")
    if view.ndim == 1 and not is_static(view.shape):
        return view
    flags = shadow(view.shape, view.strides).flags
    if order == "C" and flags.c_contiguous:
        return _reshaped(view, -1)
    if order == "F" and flags.f_contiguous:
        return _reshaped(view, -1, order="F")
    if order in ("A", "K") and (flags.c_contiguous or flags.f_contiguous):
        return _reshaped(view, -1, order="C" if flags.c_contiguous else "F")
    return _in_memory_order(view) if order == "K" else None


def _in_memory_order(view: View) -> View | None:
    """`x.ravel("K")`: the elements in their order in memory."""
    if not is_static(view.shape) or max(map(abs, view.strides)) >= UNKNOWN_STRIDE:
        raise UnsupportedSyntaxError("order='K' depends on the memory layout of the array", hint="leave it out")
    axes = sorted(range(view.ndim), key=lambda axis: -abs(view.strides[axis]))
    ordered = view.affine(axes)
    if shadow(ordered.shape, ordered.strides).flags.c_contiguous:
        return _reshaped(ordered, -1)
    if axes != sorted(axes):
        raise UnsupportedSyntaxError("order='K' of an array that is in no order", hint="leave it out")
    return None


@views(as_line)
def _as_line(view: View) -> View:
    """A view even where NumPy makes a copy."""
    if view.ndim == 1:
        return view
    size = prod(require_static_shape(view.shape, "the shape of an array that is read in a line"))
    return _reshaped(view, -1) or view.reshaped((size,), [UNKNOWN_STRIDE])


def flattened(view: View, order: Any = None) -> View | None:
    """The view that `x.flatten()` copies."""
    order = order_of(order, "C")
    return _ravelled(view, order) if order == "K" else _reshaped(view, -1, order=order)


@views(np.einsum)
def _einsum(view: View, subscripts: Any, *others: Any, **options: Any) -> View | None:
    """`np.einsum("ij->ji", x)`: a view if nothing is summed, even a diagonal; it is writable."""
    if (
        others
        or set(options) - {"optimize"}
        or not isinstance(subscripts, str)
        or not set(subscripts) <= set(ascii_letters + "-> ")
    ):
        return None
    given, arrow, result = subscripts.replace(" ", "").partition("->")
    labels = list(given)
    result = result if arrow else "".join(sorted(label for label in labels if labels.count(label) == 1))
    if not labels or len(labels) != view.ndim or set(result) != set(labels) or len(set(result)) != len(result):
        return None
    found = view
    for label in sorted(set(labels)):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            sizes = require_static_shape(found.shape, "the shape of np.einsum")
            if sizes[first] != sizes[second]:
                return None
            found = dataclasses.replace(diagonal(found, 0, first, second), readonly=view.readonly)
            labels = [each for place, each in enumerate(labels) if place not in (first, second)] + [label]
    return found.affine([labels.index(label) for label in result])


def _last(size: Size) -> Start:
    """The index of the last element of an axis; 0 if there is none."""
    return affine.maximum(affine.subtract(value_of(size), 1), 0)


def _unit_axes(numpy_function: Callable[..., Any]) -> ViewFunction:
    """A function that adds and drops axes of size 1."""

    def of_view(view: View, *args: Any, **kwargs: Any) -> View:
        require_static((args, kwargs), f"the axes of np.{numpy_function.__name__}")
        with numpys_refusal():
            result = numpy_function(shadow(stand_in(view.shape), view.strides), *args, **kwargs)
        shape = result.shape
        if not is_static(view.shape):
            if numpy_function is np.squeeze and not args and not kwargs:
                require_static_shape(view.shape, "the shape of np.squeeze")
            kept = iter(size for size in view.shape if size != 1)
            shape = tuple(1 if size == 1 else next(kept) for size in shape)
        return view.reshaped(shape, [stride // 8 for stride in result.strides])

    return of_view


@views(np.broadcast_to, known_shapes=(1,))
def _broadcast_to(view: View, shape: Any) -> View:
    require_static(shape, "the shape of np.broadcast_to")
    own = require_static_shape(view.shape, "the shape of np.broadcast_to")
    with numpys_refusal():
        target = np.broadcast_to(shadow(own, view.strides), shape).shape
    assert broadcast_shapes(own, target) == target
    offset = len(target) - view.ndim
    axes: list[int | New] = [New(size) for size in target[:offset]]
    for axis, size in enumerate(view.shape):
        axes.append(axis if target[offset + axis] == size else New(target[offset + axis]))
    wide = view.affine(axes)
    return dataclasses.replace(wide, readonly=True)


@views(sliding_window_view)
def _in_windows(view: View, window_shape: Any, axis: Any = None, *, subok: Any = False, writeable: Any = False) -> View:
    del subok  # arrays have no subclasses here
    require_static((window_shape, axis, writeable), "the shape of the windows of sliding_window_view")
    if writeable:
        raise UnsupportedSyntaxError("windows that may be written are not compiled", hint="write in the array itself")
    own = require_static_shape(view.shape, "the shape of an array that is seen in windows")
    with numpys_refusal():
        answer = sliding_window_view(shadow(own, view.strides), window_shape, axis)
        axes = range(view.ndim) if axis is None else normalize_axis_tuple(axis, view.ndim, allow_duplicate=True)
    strides = [stride // 8 for stride in answer.strides]
    return view.windowed((*range(view.ndim), *axes), [1] * answer.ndim, answer.shape, strides)


@views(np.diagonal, method="diagonal")
def diagonal(view: View, offset: int = 0, axis1: int = 0, axis2: int = 1) -> View:
    require_static((offset, axis1, axis2), "the axes of np.diagonal")
    with numpys_refusal():
        offset = operator.index(offset)
        answer = np.diagonal(shadow(view.shape, view.strides), offset, axis1, axis2)
    first, second = (normalize_axis(axis, view.ndim) for axis in (axis1, axis2))
    others = [axis for axis in range(view.ndim) if axis not in (first, second)]
    last = view.affine((*others, first, second))
    *outer, rows, columns = require_static_shape(last.shape, "the shape of np.diagonal")
    flat = last.reshaped((*outer, rows * columns), [0] * (len(outer) + 1))
    size = answer.shape[-1]
    start = (-offset * columns if offset < 0 else offset) if size else 0
    along = (*(1 for _ in outer), columns + 1)
    starts: list[Start] = [*(0 for _ in outer), start]
    strides = tuple(stride // 8 for stride in answer.strides)
    diagonals = flat.affine(range(flat.ndim), starts, (*outer, size), along)
    return dataclasses.replace(diagonals, strides=strides, readonly=True)


def _real(view: View) -> View:
    return view.part_of_elements("real") if view.dtype.kind == "c" else view


@views(np.imag, attribute="imag")
def _imag(view: View) -> View | None:
    return view.part_of_elements("imag") if view.dtype.kind == "c" else None


def _conjugate(view: View) -> View | None:
    """The array itself, if it is real."""
    return None if view.dtype.kind == "c" else view


@views(np.asarray, np.asanyarray)
def _as_array(view: View, dtype: Any = None, order: Any = None) -> View | None:
    if dtype is not None and dtype_of(dtype) != view.dtype:
        return None
    if order in (None, "K", "A"):
        return view
    flags = shadow(view.shape, view.strides).flags
    return view if (flags.c_contiguous if order == "C" else order == "F" and flags.f_contiguous) else None


def _converted(scalar_type: type[np.generic]) -> ViewFunction:
    """`np.float64(x)`: the array itself, if it has that dtype and axes."""
    return lambda view: view if view.ndim and view.dtype == np.dtype(scalar_type) else None


def _itself(view: View, dtype: Any = None, **options: Any) -> View | None:
    if set(options) - {"copy"}:
        raise UnsupportedSyntaxError("beside copy=False or copy=None, only dtype= is supported")
    return _as_array(view, dtype)


def _array_itself(view: View, dtype: Any = None, copy: Any = None, order: Any = None, ndmin: Any = 0) -> View | None:
    """`np.array(x, copy=None)`, and `np.asarray(x, copy=None)`."""
    found = _as_array(view, dtype, order)
    if found is None and copy not in (None, np._CopyMode.IF_NEEDED):
        hint = "use copy=None"
        raise StaticValueError("Unable to avoid copy while creating an array as requested.", None, hint).as_raised(
            ValueError
        )
    with numpys_refusal():
        missing = max(operator.index(ndmin) - view.ndim, 0)
    return found if found is None or not missing else _unit_axes(lambda x: x[(np.newaxis,) * missing])(found)


@views(np.ascontiguousarray)
def _as_contiguous(view: View, dtype: Any = None) -> View | None:
    if not shadow(view.shape, view.strides).flags.c_contiguous:
        return None
    return _unit_axes(np.atleast_1d)(view) if _as_array(view, dtype) else None


@views(np.asfortranarray)
def _as_fortran(view: View, dtype: Any = None) -> View | None:
    if not shadow(view.shape, view.strides).flags.f_contiguous:
        return None
    return _unit_axes(np.atleast_1d)(view) if _as_array(view, dtype) else None


def _transposed(array: np.ndarray) -> np.ndarray:
    return array.T


def _matrix_transposed(array: np.ndarray) -> np.ndarray:
    return array.mT


def _transpose_method(array: np.ndarray, *axes: Any) -> np.ndarray:
    return array.transpose(*axes)


for _function in (np.transpose, np.moveaxis, np.rollaxis, np.fliplr, np.flipud, np.rot90):
    views(_function)(_rearranged(_function))
for _function in (np.expand_dims, np.atleast_1d, np.atleast_2d, np.atleast_3d):
    views(_function)(_unit_axes(_function))
views(np.swapaxes, method="swapaxes")(_rearranged(np.swapaxes))
views(np.squeeze, method="squeeze")(_unit_axes(np.squeeze))
views(np.matrix_transpose, attribute="mT")(_rearranged(_matrix_transposed))
views(method="transpose")(_rearranged(_transpose_method))
views(attribute="T")(_rearranged(_transposed))
views(np.real, attribute="real")(_real)
views(method="conj")(_conjugate)
views(method="conjugate")(_conjugate)
for _char in "?bhlqiBHLQIfdFD":
    views(np.dtype(_char).type)(_converted(np.dtype(_char).type))
declare(np.array, np.asarray, of_itself=_array_itself)
declare(np.astype, method="astype", of_itself=_itself)
