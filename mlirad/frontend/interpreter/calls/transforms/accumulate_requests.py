"""`mlirad.accumulate_grad`, which applies a function to each part of a batch.

Reads: a function, arguments, and the axes of their examples. Writes: a loop over the parts. Leaves: the sum, or the
mean, of the results of the parts. The function is interpreted once, for an unknown part.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import UnitAttr

from mlirad.dialect.ad.notes import CHECKPOINT
from mlirad.dialect.arrays.stacked import lane_of
from mlirad.dialect.core import types
from mlirad.dialect.core.control import for_loop
from mlirad.dialect.core.expr import Expr, constant, insert
from mlirad.dialect.ops.movement import reshape
from mlirad.errors import DTypeError, ShapeError
from mlirad.frontend.interpreter import storage
from mlirad.frontend.interpreter.calls.outlining import plain_results
from mlirad.frontend.interpreter.calls.outlining.outline import name_of_value
from mlirad.frontend.interpreter.calls.transforms.argument_lanes import (
    Laned,
    all_laned,
    axes_given,
    moved,
    number_of_lanes,
    outlined_for,
)
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.values.sizes import (
    filled,
    require_static,
)
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Ref, Static, Transformed, Value, kind_of
from mlirad.requests.lanes_and_parts import Accumulate, Axes


def accumulate_of(context: Context, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """`mlirad.accumulate_grad(h, ...)` inside a function."""
    names = ("n_micro", "in_axes", "reduce")
    named = dict(zip(names, args[1:], strict=False)) | kwargs
    if len(args) > 4 or "n_micro" not in named or any(name not in names for name in named):
        message = "accumulate_grad inside a compiled function takes a function, n_micro, in_axes and reduce"
        raise DTypeError(message, context.location)
    axes = axes_given(context, named.pop("in_axes", Static(None)))
    parts = storage.static(context, named["n_micro"], "n_micro")
    reduce = storage.static(context, named.get("reduce", Static("mean")), "reduce")
    try:
        return Transformed(args[0], Accumulate(None, parts, axes, reduce))
    except (TypeError, ValueError) as error:
        raise (ShapeError if isinstance(error, ValueError) else DTypeError)(str(error), context.location) from None


def call_of_parts(
    context: Context, function: Value, request: Accumulate, args: Sequence[Value], kwargs: dict[str, Value]
) -> Value:
    """A loop over equal parts of the arguments, which adds up the results of a checkpointed function."""
    name = name_of_value(function)
    axes: Axes = (None, *(0,) * (len(args) - 1)) if request.in_axes is None else request.in_axes
    found = all_laned(context, axes, args, kwargs, name)
    (size,) = require_static((number_of_lanes(context, found, name),), f"how many examples {name} is given")
    if size % request.parts:
        message = f"a batch of {size} examples cannot be cut into {request.parts} equal parts"
        raise ShapeError(message, context.location, "give a number of parts that divides it, or fewer examples")
    outlined = outlined_for(context, function, args, kwargs, [_part(context, x, size // request.parts) for x in found])
    if outlined.changes is not None:
        message = f"{name} is called for each part of a batch, and changes something outside of it"
        raise context.refusal(message, "return its result")
    for leaf in plain_results.result_leaves(context, outlined.result, with_static=True):
        if (
            leaf.dtype.kind not in "fc"
            if isinstance(leaf, Ref | Traced)
            else not isinstance(leaf.value, float | np.floating)
        ):
            location = context.returned.get(name, context.location)
            what = f"the result of {name} is added up for all parts of the batch, and is {kind_of(leaf)}"
            raise DTypeError(what, location, "return floats")
    outlined.callee.attributes[CHECKPOINT] = UnitAttr()
    operands = list(map(Expr, outlined.operands))
    parts: dict[int, tuple[Expr, int]] = {}  # of the operands that are split: all parts, and the axis of the examples
    for laned, number in zip(found, outlined.inputs, strict=True):
        if number is not None and laned.contents is not None and laned.axis is not None:
            shape = (request.parts, size // request.parts, *laned.contents.shape[1:])
            parts[number] = reshape(laned.contents, types.tensor(shape, laned.contents.element)), laned.axis
    outputs = outlined.callee.function_type.outputs.data

    def add_part(part: Expr, *so_far: Expr) -> list[Expr]:
        given = [moved(lane_of(parts[n][0], part), 0, parts[n][1]) if n in parts else x for n, x in enumerate(operands)]
        call = insert(func.CallOp(outlined.callee.sym_name.data, [x.value for x in given], outputs))
        return [total + Expr(result) for total, result in zip(so_far, call.results, strict=True)]

    zeros = [
        filled(0, types.shape(type), types.element_type(type)) if types.is_tensor(type) else constant(0, type)
        for type in outputs
    ]
    totals = for_loop(request.parts, zeros, add_part)
    if request.reduce == "mean":
        totals = [total / request.parts for total in totals]
    return plain_results.rebuilt(context, outlined.result, iter(totals), is_row_major=True)


def _part(context: Context, laned: Laned, size: int) -> Value:
    """A stand-in for a part of an argument while the function is interpreted."""
    leaf = laned.leaf
    if laned.axis is None or not isinstance(leaf, Ref):
        return leaf
    shape = tuple(size if axis == laned.axis else each for axis, each in enumerate(leaf.shape))
    return context.new_array(filled(0, shape, types.from_dtype(leaf.dtype)), None, shape)
