"""Reading and writing the elements of a view.

Reads: Views. Writes: nd ops. Leaves: the contents of a base, or new ones.
"""

from __future__ import annotations

from mlirad.dialect.arrays.elements import ExtractOp, InsertOp
from mlirad.dialect.core.expr import Expr, emit
from mlirad.dialect.ops.movement import reshape
from mlirad.errors import StaticValueError
from mlirad.frontend.values import sizes
from mlirad.frontend.values.views.view import View
from mlirad.frontend.values.views.view_steps import Affine, Windows


def get(view: View, contents: Expr) -> Expr:
    """The elements of a view, of its base's `contents`: a builtin scalar for the shape ()."""
    sizes.remember_shape(contents, view.base_shape)
    if 0 in view.pattern:
        return sizes.filled(0, view.shape, contents.element)
    for step, params, shape in view.chain():
        contents = step.get(contents, params, shape) if isinstance(step, Affine) else step.get(contents)
    sizes.remember_shape(contents, view.shape)
    return contents if view.ndim or not contents.is_tensor else emit(ExtractOp, contents)


def put(view: View, contents: Expr, new: Expr) -> Expr:
    """The base's contents with the elements of the view replaced by `new` (of the view's shape and dtype).

    Raises StaticValueError for a read-only view.
    """
    if view.readonly:
        raise StaticValueError("assignment destination is read-only")
    if 0 in view.pattern:
        return contents
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
