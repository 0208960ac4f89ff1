"""The strides that arrays have in NumPy: they decide whether a reshape is a view. Kernels work on C-contiguous copies.

Reads: signatures, views. Writes: nothing. Leaves: strides in elements.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from mlirad.frontend.values.sizes import Size, is_static
from mlirad.frontend.values.values import Ref
from mlirad.frontend.values.views.row_major import c_strides, shadow
from mlirad.frontend.values.views.view import View
from mlirad.frontend.values.views.view_steps import UNKNOWN_STRIDE
from mlirad.signature import ArrayLeaf, Layout

Strides = tuple[int, ...]


def strides_of(leaf: ArrayLeaf) -> Strides:
    if leaf.layout is Layout.C:
        return c_strides(leaf.shape)
    if leaf.layout is Layout.F:
        return c_strides(leaf.shape[::-1])[::-1]
    return unknown_strides(leaf.shape)


def unknown_strides(shape: Sequence[Size]) -> Strides:
    """Strides of an unknown layout, different for all axes."""
    return tuple((2 * stride + 1) * UNKNOWN_STRIDE for stride in c_strides(shape))


def strides_of_all(array: Ref) -> Strides | None:
    """The strides of an array; those of an unknown layout if its alternatives differ. None: it is C-contiguous."""
    views = [each.view for each in array.alternatives]
    if all(view.strides == c_strides(view.shape) for view in views):
        return None
    return views[0].strides if all(view.strides == views[0].strides for view in views) else unknown_strides(array.shape)


def view_of_all(array: Ref) -> View:
    """A view with the array's layout, which is unknown if its alternatives differ."""
    view, strides = array.alternatives[0].view, strides_of_all(array)
    return view if strides is None else dataclasses.replace(view, strides=strides)


def is_unknown(view: View) -> bool:
    """Whether it is unknown if a reshape of this array is a view."""
    return view.ndim > 1 and any(abs(stride) >= UNKNOWN_STRIDE for stride in view.strides)


def is_c_contiguous(view: View) -> bool:
    return view.ndim < 2 or view.strides == c_strides(view.shape)


def elementwise(operands: Sequence[View]) -> Strides | None:
    """The layout of an elementwise result: NumPy keeps the operands' layout. None: C-contiguous."""
    if all(is_c_contiguous(view) for view in operands):
        return None
    shapes = [view.shape for view in operands]
    if not all(map(is_static, shapes)):
        # If all operands are row-major, their sizes do not matter.
        rank = max(map(len, shapes))
        row_major = all(view.ndim < 2 or list(view.strides) == sorted(view.strides, reverse=True) for view in operands)
        return None if row_major else unknown_strides((2,) * rank)
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        return None  # the op refuses this itself
    choices = [_possible(view) for view in operands]
    if not all(choices) or prod(map(len, choices)) > 16:
        return unknown_strides(shape)
    found = {_of_result(shapes, strides) for strides in product(*choices)}
    return found.pop() if len(found) == 1 else unknown_strides(shape)


def _possible(view: View) -> list[Strides]:
    """The strides that an operand may have: of an unknown layout, those of its only axis of more than one element may
    be positive or negative; if there are several such axes, their order is unknown."""
    if not is_unknown(view):
        return [view.strides]
    if sum(size != 1 for size in view.shape) > 1:
        return []
    return [tuple(sign * int(size != 1) for size in view.shape) for sign in (1, -1)]


def _of_result(shapes: Sequence[Any], strides: Sequence[Strides]) -> Strides:
    shadows = [shadow(*each) for each in zip(shapes, strides, strict=True)]
    answer = np.nditer([*shadows, None], flags=["zerosize_ok", "reduce_ok"]).operands[-1]
    return tuple(stride // answer.itemsize for stride in answer.strides)
