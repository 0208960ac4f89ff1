"""Reading and writing arrays through index arrays.

Reads: references, and indices with arrays in them. Writes: gathers, which are copies, and scatters, in place. Leaves:
fresh arrays, or the state with other contents.
"""

from __future__ import annotations

from typing import Any

from mlirad.dialect.core.expr import Expr, emit
from mlirad.dialect.ops.gather import GatherOp, ScatterOp
from mlirad.frontend.interpreter import indices, storage
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.numpy.selection_functions import stored
from mlirad.frontend.values import numpy_strides, sizes
from mlirad.frontend.values.assignment import assignable
from mlirad.frontend.values.index_arrays import ArrayIndex, IndexArrays, split_index
from mlirad.frontend.values.masked_selection import put, select
from mlirad.frontend.values.sizes import Shape
from mlirad.frontend.values.traced import DATA, Traced
from mlirad.frontend.values.values import Ref, Value


def item_by_arrays(context: Context, array: Ref, position: Any) -> Value:
    """`array[position]`: a copy."""
    index = array_index(context, array, position)
    part = indices.part(context, array, index.basic)
    contents = context.read(part).contents
    if index.mask is not None:
        return select(contents, index.mask, index.start, index.at)
    assert index.arrays is not None
    operands, attributes = index_operands(context, index.arrays, part.shape)
    read = emit(GatherOp, contents, *operands, **attributes)
    return storage.result(context, Traced(read, origins=frozenset({DATA})), _strides(part, index.arrays, read))


def set_item_by_arrays(context: Context, array: Ref, position: Any, value: Any) -> None:
    """`array[position] = value`; `value` is an operand, read already."""
    index = array_index(context, array, position)
    part = indices.part(context, array, index.basic)
    storage.require_writable(context, part)
    if index.mask is not None:
        contents = context.read(part).contents
        target = select(contents, index.mask, index.start, index.at)
        storage.write(context, part, put(contents, stored(value, target), index.mask, index.start, index.at))
        return
    assert index.arrays is not None
    new = assignable(value, index.arrays.result_shape(part.shape), array.dtype, casts_scalars=True)
    operands, attributes = index_operands(context, index.arrays, part.shape)
    contents = context.read(part).contents
    storage.write(context, part, emit(ScatterOp, new, contents, *operands, **attributes))


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


def _strides(part: Ref, arrays: IndexArrays, read: Expr) -> tuple[int, ...] | None:
    """The layout of what is read: NumPy puts the axes of the index arrays first in memory, in their own order."""
    in_order = all(numpy_strides.is_c_contiguous(alternative.view) for alternative in part.alternatives)
    if len(read.shape) < 2 or (in_order and arrays.at == 0 and len(arrays.shape) == 1):
        return None
    return numpy_strides.unknown_strides(sizes.shape_of(read))
