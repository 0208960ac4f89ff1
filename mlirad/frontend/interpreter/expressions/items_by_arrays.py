"""Reading and writing arrays through index arrays and masks.

Reads: references, and indices that contain arrays. Writes: gathers, which copy, and scatters, in place; selects, for a
number that is written under a mask. Leaves: new arrays, or the state with other contents.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.dialect.arrays.gather import GatherOp, ScatterOp
from mlirad.dialect.core.expr import Expr, emit
from mlirad.dialect.ops.movement import reshape
from mlirad.errors import DTypeError
from mlirad.frontend.interpreter import indices, storage
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.numpy import numpy_elementwise
from mlirad.frontend.values import masks, numpy_strides, sizes
from mlirad.frontend.values.assignment import assignable
from mlirad.frontend.values.index_arrays import ArrayIndex, IndexArrays, split_index
from mlirad.frontend.values.sizes import Shape
from mlirad.frontend.values.traced import DATA, Number, Traced, as_operand, shape_of
from mlirad.frontend.values.values import Ref, Value


def item_by_arrays(context: Context, array: Ref, position: Any, in_order: bool) -> Value:
    """`array[position]`: a copy. in_order: the index arrays are C-contiguous."""
    index = array_index(context, array, position)
    part = indices.part(context, array, index.basic)
    contents, arrays = _by_places(context.read(part).contents, index)
    read = _gathered(context, contents, arrays)
    return storage.result(context, Traced(read, origins=frozenset({DATA})), _strides(part, arrays, read, in_order))


def set_item_by_arrays(context: Context, array: Ref, position: Any, value: Any) -> None:
    """`array[position] = value`; `value` is an operand that has already been read."""
    index = array_index(context, array, position)
    part = indices.part(context, array, index.basic)
    storage.require_writable(context, part)
    contents = context.read(part).contents
    operand = as_operand(value, array.dtype)
    if index.mask is not None and not shape_of(operand):
        # A Python number is stored as a number: nan in an integer array raises.
        number = Traced(assignable(operand, (), array.dtype, casts_scalars=True))
        new = assignable(number, part.shape, array.dtype)
        storage.write(context, part, masks.chosen(index.mask.values.expr, index.mask.axes, new, contents))
        return
    flat, arrays = _by_places(contents, index)
    shape = arrays.result_shape(sizes.shape_of(flat))
    if index.mask is not None and index.mask.rank == len(part.shape):
        _require_as_many(operand, shape)
    new = assignable(operand, shape, array.dtype, casts_scalars=True)
    storage.write(context, part, _scattered(context, new, flat, arrays, contents))


def updated_under_mask(context: Context, ufunc: np.ufunc, part: Ref, index: ArrayIndex, operand: Any) -> None:
    """`ufunc.at(array, mask, operand)`: no element is selected twice."""
    contents = context.read(part).contents
    flat, arrays = _by_places(contents, index)
    current = Traced(_gathered(context, flat, arrays), origins=frozenset({DATA}))
    shape = arrays.result_shape(sizes.shape_of(flat))
    new = assignable(numpy_elementwise.call(ufunc, current, operand), shape, part.dtype, ufunc)
    storage.write(context, part, _scattered(context, new, flat, arrays, contents))


def array_index(context: Context, array: Ref, position: Any) -> ArrayIndex:
    try:
        return split_index(position, array.shape)
    except IndexError as error:
        raise indices.certain_error(context, error) from None


def index_operands(context: Context, arrays: IndexArrays, shape: Shape) -> tuple[list[Expr], dict[str, Any]]:
    try:
        return arrays.operands(shape, context.boundscheck)
    except IndexError as error:
        raise indices.certain_error(context, error) from None


def _by_places(contents: Expr, index: ArrayIndex) -> tuple[Expr, IndexArrays]:
    """The contents of a view and the arrays that index it; the axes of a mask are merged into one if possible."""
    mask = index.mask
    if mask is None:
        assert index.arrays is not None
        return contents, index.arrays
    axes, values = mask.axes, mask.values.expr
    if mask.rank == 1 or masks.is_mergeable(sizes.shape_of(contents)):
        axes = axes[:1]
        contents = masks.merged(contents, mask.axes)
        found = [masks.flat_places(masks.merged(values, tuple(range(mask.rank))))]
    else:
        found = masks.indices(mask.values)
    return contents, IndexArrays(tuple(found), axes, axes, mask.at, frozenset(range(len(found))))


def _gathered(context: Context, contents: Expr, arrays: IndexArrays) -> Expr:
    operands, attributes = index_operands(context, arrays, sizes.shape_of(contents))
    return emit(GatherOp, contents, *operands, **attributes)


def _scattered(context: Context, new: Expr, flat: Expr, arrays: IndexArrays, contents: Expr) -> Expr:
    operands, attributes = index_operands(context, arrays, sizes.shape_of(flat))
    return reshape(emit(ScatterOp, new, flat, *operands, **attributes), contents.type)


def _require_as_many(value: Traced | Number, shape: Shape) -> None:
    """Require values that can be stored under a mask of all axes: on one axis at most, with one value or as many as
    the mask has true elements."""
    own = shape_of(value)
    if len(own) > 1:
        raise DTypeError(
            "NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, "
            f"input has {len(own)} dimensions"
        )
    if own and not (isinstance(own[0], int) and own[0] == 1):
        message = "NumPy boolean array indexing assignment cannot assign {0} input values to the {1} output values "
        sizes.require_equal(own[0], shape[0], message + "where the mask is true")


def _strides(part: Ref, arrays: IndexArrays, read: Expr, in_order: bool) -> tuple[int, ...] | None:
    """The layout of the elements read: NumPy puts the axes of the index arrays first in memory, in their own order."""
    part_in_order = all(numpy_strides.is_c_contiguous(alternative.view) for alternative in part.alternatives)
    in_order |= len(arrays.shape) == 1
    is_first = arrays.at == 0 and part_in_order
    if len(read.shape) < 2 or (in_order and (is_first or len(arrays.axes) == len(part.shape))):
        return None
    return numpy_strides.unknown_strides(sizes.shape_of(read))
