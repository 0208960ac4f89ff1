"""The NumPy functions and methods whose result shares memory with their argument: which view it is, or that it is none.

Reads: a View and static arguments. Writes: nothing. Leaves: a View, or None where NumPy makes a copy. Which axis goes
where, and whether a reshape is a view, is asked of NumPy on arrays without memory.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from mlirad.errors import UnsupportedSyntaxError
from mlirad.frontend.promotion import broadcast_shapes, dtype_of, normalize_axes, numpys_refusal
from mlirad.frontend.traced import require_static
from mlirad.frontend.views import Affine, New, Start, View, shadow

ViewFunction = Callable[..., View | None]


def function(callable_: Any) -> ViewFunction | None:
    """What a NumPy function does to a View, `f(view, *args, **kwargs)`; None for a function that makes no views."""
    try:
        return _FUNCTIONS.get(callable_)
    except TypeError:  # not hashable
        return None


def method(name: str) -> ViewFunction | None:
    """The same for a method of an array."""
    return _METHODS.get(name)


def attribute(name: str) -> ViewFunction | None:
    """The same for an attribute of an array: `x.T`."""
    return _ATTRIBUTES.get(name)


def functions() -> tuple[Callable[..., Any], ...]:
    """The NumPy functions that make views."""
    return tuple(_FUNCTIONS)


def methods() -> tuple[str, ...]:
    """The methods of arrays that make views."""
    return tuple(_METHODS)


def _rearranged(numpy_function: Callable[..., Any]) -> ViewFunction:
    """A function that permutes and flips axes: asked of NumPy on axes that their sizes name."""

    def of_view(view: View, *args: Any, **kwargs: Any) -> View:
        require_static((args, kwargs), f"the axes of np.{numpy_function.__name__}")
        with numpys_refusal():
            asked = numpy_function(shadow(range(2, view.ndim + 2), [1] * view.ndim), *args, **kwargs)
        axes = tuple(size - 2 for size in asked.shape)
        flipped = {axis for axis, stride in zip(axes, asked.strides, strict=True) if stride < 0}
        strides = tuple(-1 if axis in flipped else 1 for axis in range(view.ndim))
        starts = [max(view.shape[axis] - 1, 0) if axis in flipped else 0 for axis in range(view.ndim)]
        return view.affine(Affine(view.shape, view.shape, strides, axes), starts)

    return of_view


def _reshaped(view: View, *args: Any, **kwargs: Any) -> View | None:
    """`x.reshape(shape)`, `x.reshape(2, 3)`, `np.reshape(x, shape)`."""
    if "shape" in kwargs:
        args = (*args, kwargs.pop("shape"))
    order = kwargs.pop("order", "C")
    if len(args) == 2 and isinstance(args[1], str):  # np.reshape(x, shape, order)
        *args, order = args  # type: ignore[assignment]
    copy = kwargs.pop("copy", None)
    if kwargs or copy is not None or order not in ("C", "F", "A"):
        raise UnsupportedSyntaxError("of np.reshape's keywords only shape= and order= are supported")
    shape = args[0] if len(args) == 1 else args
    require_static(shape, "the shape of np.reshape")
    asked = shadow(view.shape, view.strides)
    if order == "A":
        order = "F" if asked.flags.fnc else "C"
    with numpys_refusal():
        result = _shape_of_reshape(view.shape, shape)
    try:
        answer = np.reshape(asked, result, order=order, copy=False)
    except ValueError:
        return None
    strides = [stride // 8 for stride in answer.strides]
    if order == "C":
        return view.reshaped(result, strides)
    return _reversed(_reversed(view).reshaped(result[::-1], strides[::-1]))


def _shape_of_reshape(old: tuple[int, ...], new: Any) -> tuple[int, ...]:
    return np.reshape(shadow(old, [0] * len(old)), new).shape if prod(old) else np.zeros(old).reshape(new).shape


def _reversed(view: View) -> View:
    axes = tuple(reversed(range(view.ndim)))
    return view.affine(Affine(view.shape, view.shape, (1,) * view.ndim, axes), [0] * view.ndim)


def _ravelled(view: View, order: str = "C") -> View | None:
    flags = shadow(view.shape, view.strides).flags
    if order == "C" and flags.c_contiguous:
        return _reshaped(view, -1)
    if order == "F" and flags.f_contiguous:
        return _reshaped(view, -1, order="F")
    if order in ("A", "K") and (flags.c_contiguous or flags.f_contiguous):
        return _reshaped(view, -1, order="C" if flags.c_contiguous else "F")
    return None


def flattened(view: View, order: str = "C") -> View | None:
    """What `x.flatten()` is a copy of."""
    return _reshaped(view, -1, order="C" if order == "K" else order)


def _unit_axes(numpy_function: Callable[..., Any]) -> ViewFunction:
    """A function that adds and drops axes of size 1."""

    def of_view(view: View, *args: Any, **kwargs: Any) -> View:
        require_static((args, kwargs), f"the axes of np.{numpy_function.__name__}")
        with numpys_refusal():
            result = numpy_function(shadow(view.shape, view.strides), *args, **kwargs)
        return view.reshaped(result.shape, [stride // 8 for stride in result.strides])

    return of_view


def _broadcast_to(view: View, shape: Any) -> View:
    require_static(shape, "the shape of np.broadcast_to")
    with numpys_refusal():
        target = np.broadcast_to(shadow(view.shape, view.strides), shape).shape
    assert broadcast_shapes(view.shape, target) == target
    offset = len(target) - view.ndim
    axes: list[int | New] = [New(size) for size in target[:offset]]
    for axis, size in enumerate(view.shape):
        axes.append(axis if target[offset + axis] == size else New(target[offset + axis]))
    wide = view.affine(Affine(view.shape, view.shape, (1,) * view.ndim, tuple(axes)), [0] * view.ndim)
    return dataclasses.replace(wide, readonly=True)


def diagonal(view: View, offset: int = 0, axis1: int = 0, axis2: int = 1) -> View:
    require_static((offset, axis1, axis2), "the axes of np.diagonal")
    with numpys_refusal():
        answer = np.diagonal(shadow(view.shape, view.strides), offset, axis1, axis2)
    first, second = (normalize_axes(axis, view.ndim)[0] for axis in (axis1, axis2))
    others = [axis for axis in range(view.ndim) if axis not in (first, second)]
    last = view.affine(Affine(view.shape, view.shape, (1,) * view.ndim, (*others, first, second)), [0] * view.ndim)
    *outer, rows, columns = last.shape
    flat = last.reshaped((*outer, rows * columns), [0] * (len(outer) + 1))
    size = answer.shape[-1]
    start = (-offset * columns if offset < 0 else offset) if size else 0
    step = Affine(flat.shape, (*outer, size), (*(1 for _ in outer), columns + 1), tuple(range(flat.ndim)))
    starts: list[Start] = [*(0 for _ in outer), start]
    strides = tuple(stride // 8 for stride in answer.strides)
    return dataclasses.replace(flat.affine(step, starts), strides=strides, readonly=True)


def _diag(view: View, k: int = 0) -> View | None:
    return diagonal(view, k) if view.ndim == 2 else None


def _same(view: View) -> View:
    return view


def _as_array(view: View, dtype: Any = None) -> View | None:
    return view if dtype is None or dtype_of(dtype) == view.dtype else None


def _as_contiguous(view: View, dtype: Any = None) -> View | None:
    if not shadow(view.shape, view.strides).flags.c_contiguous:
        return None
    return _unit_axes(np.atleast_1d)(view) if _as_array(view, dtype) else None


def _transposed(array: np.ndarray) -> np.ndarray:
    return array.T


def _matrix_transposed(array: np.ndarray) -> np.ndarray:
    return array.mT


def _transpose_method(array: np.ndarray, *axes: Any) -> np.ndarray:
    return array.transpose(*axes)


_FUNCTIONS: Mapping[Any, ViewFunction] = {
    **{
        f: _rearranged(f)
        for f in (np.transpose, np.swapaxes, np.moveaxis, np.rollaxis, np.flip, np.fliplr, np.flipud, np.rot90)
    },
    **{f: _unit_axes(f) for f in (np.squeeze, np.expand_dims, np.atleast_1d, np.atleast_2d, np.atleast_3d)},
    np.matrix_transpose: _rearranged(_matrix_transposed),
    np.reshape: _reshaped,
    np.ravel: _ravelled,
    np.broadcast_to: _broadcast_to,
    np.diagonal: diagonal,
    np.diag: _diag,
    np.asarray: _as_array,
    np.asanyarray: _as_array,
    np.ascontiguousarray: _as_contiguous,
    np.real: _same,
}

_METHODS: Mapping[str, ViewFunction] = {
    "transpose": _rearranged(_transpose_method),
    "swapaxes": _rearranged(np.swapaxes),
    "squeeze": _unit_axes(np.squeeze),
    "reshape": _reshaped,
    "ravel": _ravelled,
    "diagonal": diagonal,
}

_ATTRIBUTES: Mapping[str, ViewFunction] = {
    "T": _rearranged(_transposed),
    "mT": _rearranged(_matrix_transposed),
    "real": _same,
}
