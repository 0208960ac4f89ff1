"""Reading and writing the elements of a view.

Reads: Views. Writes: nd ops. Leaves: elements read from a base, or new contents of it.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from mlirad.dialect.arrays.elements import ExtractOp, InsertOp
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, emit
from mlirad.dialect.core.registry import op_of
from mlirad.dialect.functions.complex_parts import ComplexOp
from mlirad.dialect.ops.movement import reshape
from mlirad.errors import StaticValueError
from mlirad.frontend.values import sizes
from mlirad.frontend.values.views.view import View
from mlirad.frontend.values.views.view_steps import Affine, Windows


def get(view: View, contents: Expr) -> Expr:
    """The elements of a view of `contents`: a builtin scalar for the shape ()."""
    sizes.remember_shape(contents, view.base_shape)
    if 0 in view.pattern:
        return sizes.filled(0, view.shape, types.from_dtype(view.dtype))
    for step, params, shape in view.chain():
        contents = step.get(contents, params, shape) if isinstance(step, Affine) else step.get(contents)
    if view.part is not None:
        contents = emit(op_of(getattr(np, view.part)), contents)
    sizes.remember_shape(contents, view.shape)
    return contents if view.ndim or not contents.is_tensor else emit(ExtractOp, contents)


def put(view: View, contents: Expr, new: Expr) -> Expr:
    """The base's contents, with the elements of the view replaced by `new` (of the view's shape and dtype).

    Raises StaticValueError for a read-only view.
    """
    if view.readonly:
        raise StaticValueError("assignment destination is read-only")
    if 0 in view.pattern:
        return contents
    if view.part is not None:
        whole = dataclasses.replace(view, part=None, dtype=types.to_dtype(contents.element))
        return put(whole, contents, _with_part(get(whole, contents), view.part, new))
    if view.is_whole:
        return new if view.base else emit(InsertOp, reshape(new, new.element), contents)
    sizes.remember_shape(contents, view.base_shape)
    chain = list(view.chain())
    levels = [contents]
    for step, params, shape in chain[:-1]:
        level = levels[-1]
        levels.append(step.get(level, params, shape) if isinstance(step, Affine) else step.get(level))
    for (step, params, shape), level in zip(reversed(chain), reversed(levels), strict=True):
        assert not isinstance(step, Windows), "windows are read-only"
        new = step.put(level, params, new, shape) if isinstance(step, Affine) else step.put(level, new)
    return new


def _with_part(old: Expr, part: str, new: Expr) -> Expr:
    """Complex numbers with one part replaced."""
    other = emit(op_of(np.imag if part == "real" else np.real), old)
    if new.is_tensor and not other.is_tensor:
        new = emit(ExtractOp, new)
    return emit(ComplexOp, *((new, other) if part == "real" else (other, new)))
