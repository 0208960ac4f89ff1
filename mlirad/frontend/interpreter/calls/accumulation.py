"""Functions that write at index arrays or masks: np.add.at and similar, np.copyto, np.put.

Reads: references, indices, operands. Writes: scatters; loops over the places, unless the ufunc is np.add. Leaves: the
state with other contents.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.scf import ForOp, YieldOp
from xdsl.ir import Block, Region

from mlirad.dialect.arrays.elements import ExtractOp, InsertOp
from mlirad.dialect.arrays.gather import ScatterAddOp
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, constant, emit, insert
from mlirad.dialect.ops.constant import counted
from mlirad.dialect.ops.movement import broadcast, reshape
from mlirad.errors import DTypeError
from mlirad.frontend.interpreter import indices, storage
from mlirad.frontend.interpreter.context import Arguments, Context, Keywords
from mlirad.frontend.interpreter.expressions import items_by_arrays
from mlirad.frontend.numpy import numpy_elementwise
from mlirad.frontend.numpy.declarations import declare
from mlirad.frontend.values import nep50, sizes
from mlirad.frontend.values.assignment import as_array_of, assignable
from mlirad.frontend.values.basic_indexing import is_basic
from mlirad.frontend.values.index_arrays import IndexArrays
from mlirad.frontend.values.sizes import Shape
from mlirad.frontend.values.traced import DATA, Traced, as_operand, in_type, stand_in
from mlirad.frontend.values.values import Ref, Static, Value, kind_of

_SAME_KIND, _TRUE = Static("same_kind"), Static(True)


def written_array(context: Context, value: Value, what: str) -> Ref:
    array = context.use(value)
    if not isinstance(array, Ref):
        raise DTypeError(f"{what} writes an array, and this is {kind_of(array)}", context.location)
    storage.require_writable(context, array)
    return array


def ufunc_at(context: Context, ufunc: np.ufunc, args: Sequence[Value]) -> Value:
    """`ufunc.at(array, index, operand)`: in place, once for each occurrence of an element in the index."""
    what = f"np.{ufunc.__name__}.at"
    if len(args) != 3:
        raise context.refusal(f"{what} is compiled with an array, an index and an operand")
    array = written_array(context, args[0], what)
    position, operand = indices.index_operand(context, args[1]), storage.operand(context, args[2])
    if is_basic(position):
        part = indices.part(context, array, position)
        storage.assign_array(context, part, numpy_elementwise.call(ufunc, context.read(part), operand), ufunc)
        return Static(None)
    index = items_by_arrays.array_index(context, array, position)
    part = indices.part(context, array, index.basic)
    if index.mask is not None:
        items_by_arrays.updated_under_mask(context, ufunc, part, index, operand)
        return Static(None)
    contents = context.read(part).contents
    assert index.arrays is not None
    storage.write(context, part, accumulated(context, ufunc, contents, index.arrays, as_operand(operand), part.shape))
    return Static(None)


def accumulated(
    context: Context, ufunc: np.ufunc, contents: Expr, arrays: IndexArrays, operand: Any, shape: Shape
) -> Expr:
    """The contents of an array of that shape after `ufunc.at`."""
    operands, attributes = items_by_arrays.index_operands(context, arrays, shape)
    whole = arrays.result_shape(shape)
    dtype = types.to_dtype(contents.element)
    loop = nep50.loop_dtypes(ufunc, [dtype, stand_in(operand)])
    if ufunc in (np.add, np.subtract) and dtype.kind != "b" and set(loop) == {dtype}:
        value = assignable(operand, whole, dtype)
        return emit(ScatterAddOp, value if ufunc is np.add else -value, contents, *operands, **attributes)
    assignable(operand, whole, loop[1])  # raises if it does not broadcast
    values = in_type(operand, loop[1], whole)
    static = sizes.require_static(shape, f"the shape of the array that np.{ufunc.__name__}.at writes")
    return _one_by_one(ufunc, contents, _places(arrays, operands, static), values)


def copyto(context: Context, dst: Value, src: Value, casting: Value = _SAME_KIND, where: Value = _TRUE) -> Value:
    """`np.copyto`."""
    array, operand = written_array(context, dst, "np.copyto"), as_operand(storage.operand(context, src))
    rule, mask = storage.static(context, casting, "casting="), storage.operand(context, where)
    source = nep50.strong(stand_in(operand))
    if isinstance(operand, Traced) and not operand.weak and not nep50.may_cast(source, array.dtype, rule):
        raise DTypeError(f"Cannot cast array data from {source!r} to {array.dtype!r} according to the rule {rule!r}")
    new = assignable(as_array_of(operand), array.shape, array.dtype, casts_scalars=True)
    storage.write(context, array, new) if mask is True else storage.write_where(context, array, new, mask)
    return Static(None)


def _places(arrays: IndexArrays, operands: Sequence[Expr], shape: tuple[int, ...]) -> list[Expr]:
    """For each axis of an array of that shape, the indices of the elements that the index arrays select, in order."""
    whole = sizes.require_static(arrays.result_shape(shape), "the shape of index arrays")
    rank = len(arrays.shape)
    kept = [axis for axis in range(len(shape)) if axis not in arrays.axes]
    places: list[Expr] = []
    for axis, size in enumerate(shape):
        if axis in arrays.axes:
            index, dims = operands[arrays.axes.index(axis)], range(arrays.at, arrays.at + rank)
        else:
            number = kept.index(axis)
            index = counted(size)
            dims = [number if number < arrays.at else number + rank]
        places.append(broadcast(index, dims, whole))
    return places


def _one_by_one(ufunc: np.ufunc, contents: Expr, places: Sequence[Expr], values: Expr) -> Expr:
    """The contents after `t[place] = ufunc(t[place], value)` for each place in turn."""
    count = prod(values.shape)
    if count == 0:
        return contents
    dtype = types.to_dtype(contents.element)
    flat = [reshape(x, types.tensor((count,), x.element)) for x in (*places, values)]
    zero, one, last = (constant(number, types.I64) for number in (0, 1, count))
    block = Block(arg_types=[types.I64, contents.type])
    with building(block):
        number, array = (Expr(arg) for arg in block.args)
        *place, value = (emit(ExtractOp, x, number) for x in flat)
        old = emit(ExtractOp, array, *place)
        new = numpy_elementwise.call(ufunc, Traced(old, origins=frozenset({DATA})), Traced(value))
        changed = emit(InsertOp, assignable(new, (), dtype, ufunc), array, *place)
        insert(YieldOp(changed.value))
    return Expr(insert(ForOp(zero.value, last.value, one.value, [contents.value], Region(block))).results[0])


declare(np.copyto, of_context=lambda context, args, kwargs: copyto(context, *args, **kwargs))


def call_ufunc_at(context: Context, function: Any, args: Arguments, kwargs: Keywords) -> Value | None:
    """A call of `np.add.at` or similar; None for any other function."""
    ufunc = getattr(function, "__self__", None) if getattr(function, "__name__", None) == "at" else None
    return ufunc_at(context, ufunc, (*args, *kwargs.values())) if isinstance(ufunc, np.ufunc) else None
