"""`mlirad.vmap`, which applies a function to each lane of its arguments.

Reads: a function, arguments, and the axes of their lanes. Writes: ad.vmap. Leaves: the stacked results, and the lanes'
writes to the arguments. The function is interpreted once, for an unknown lane.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import BlockArgument, SSAValue

from mlirad.analysis.loops import yields
from mlirad.analysis.varying import varying
from mlirad.dialect.ad.vmap_op import VmapOp
from mlirad.dialect.arrays.stacked import lane_of
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant, insert
from mlirad.dialect.ops.check import check
from mlirad.errors import DTypeError, ShapeError
from mlirad.frontend.interpreter import storage
from mlirad.frontend.interpreter.calls.outlining import call_changes, plain_results
from mlirad.frontend.interpreter.calls.outlining.outline import Outlined, name_of_value
from mlirad.frontend.interpreter.calls.outlining.plain_results import InArrays, MadeObject
from mlirad.frontend.interpreter.calls.transforms.argument_lanes import (
    Laned,
    all_laned,
    axes_given,
    moved,
    number_of_lanes,
    outlined_for,
    paired,
    required_axis,
)
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.values import affine
from mlirad.frontend.values.sizes import (
    Size,
    filled,
    is_static,
    shape_of,
    stretched,
    value_of,
)
from mlirad.frontend.values.state import State
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Entry, Ref, Static, Transformed, Tuple, Value
from mlirad.requests.lanes_and_parts import Axes, AxesByKey, Vmap

_OPTIONS = ("in_axes", "out_axes")


def vmap_of(context: Context, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """`mlirad.vmap(h, ...)` inside a function."""
    named = dict(zip(_OPTIONS, args[1:], strict=False)) | kwargs
    if len(args) > 3 or any(name not in _OPTIONS for name in named):
        raise DTypeError("vmap inside a compiled function takes a function, in_axes and out_axes", context.location)
    return Transformed(args[0], Vmap(None, **{name: axes_given(context, value) for name, value in named.items()}))


def call_of_lanes(
    context: Context, function: Value, request: Vmap, args: Sequence[Value], kwargs: dict[str, Value]
) -> Value:
    name = name_of_value(function)
    found = all_laned(context, request.in_axes, args, kwargs, name)
    lanes = number_of_lanes(context, found, name)
    before = context.state.fork()
    live, context.live = context.live, None  # a lane has no single value
    try:
        outlined = outlined_for(context, function, args, kwargs, [_one_lane(context, laned) for laned in found])
    finally:
        context.live = live
    if (kind := plain_results.opaque_kind_in_result(outlined.result)) is not None:
        place, hint = context.returned.get(name, context.location), "return its data"
        raise DTypeError(f"{name} returns a {kind}, which cannot be stacked into an array", place, hint)
    for leaf in outlined.leaves:
        if not is_static(leaf.shape):
            raise ShapeError(
                f"the shape of the result of {name} depends on data, and may differ from lane to lane",
                context.returned.get(name, context.location),
                "return an array of a fixed size, and a count or a mask",
            )
    operands, wrt = list(outlined.operands), []
    arrays: list[Laned] = []  # of the arguments, as the changes number them
    for laned, number in zip(found, outlined.inputs, strict=True):
        if number is not None and isinstance(laned.leaf, Ref):
            arrays.append(laned)
        if number is not None and laned.contents is not None:
            operands[number] = laned.contents.value
            wrt.append(number)
    op = insert(VmapOp.of_lanes(outlined.callee, operands, wrt))
    results = [Expr(result) for result in op.results]
    of_call = _OfCall(context, name, outlined, lanes, operands, wrt)
    of_call.write_back(arrays, before, results[len(outlined.leaves) :])
    body = outlined.callee.body.block
    differing = varying(body, [body.args[number] for number in wrt])
    stacked = iter(zip(results, (value in differing for value in yields(body)), strict=True))
    return _stacked(context, outlined.result, request.out_axes, stacked, lanes, name)


# Arguments.


def _one_lane(context: Context, laned: Laned) -> Value:
    """A stand-in for a lane while the function is interpreted: only its shape and dtype count."""
    leaf = laned.leaf
    if laned.axis is None or not isinstance(leaf, Ref):
        return leaf
    shape = tuple(size for axis, size in enumerate(leaf.shape) if axis != laned.axis)
    contents = filled(0, shape, types.from_dtype(leaf.dtype))
    return context.new_array(contents, None, shape) if shape else Traced(contents)


# Writes of the lanes.


@dataclass(frozen=True, eq=False)
class _OfCall:
    """A call of a function for each lane. wrt: the operands that have lanes."""

    context: Context
    name: str
    outlined: Outlined
    lanes: Size
    operands: Sequence[SSAValue]
    wrt: Sequence[int]

    def write_back(self, arrays: Sequence[Laned], before: State, results: Sequence[Expr]) -> None:
        """Apply the lanes' writes to their own parts of the arguments. Nothing else may have changed.

        arrays: those among the arguments. before: the state before the call. results: the new contents.
        """
        context, changes = self.context, self.outlined.changes
        if changes is None:
            return
        is_shared = any(arrays[number].axis is None for number in changes.arrays)
        if is_shared or changes.entries or changes.replaced or not call_changes.is_unchanged(before, changes.state):
            message = f"{self.name} is called for each lane, and writes data that all lanes share"
            raise context.refusal(message, "return what the lanes compute, or write a loop over them")
        given = dict(zip(changes.results, results, strict=True))
        context.pop()
        for number, contents in changes.arrays.items():
            target = arrays[number]
            assert isinstance(target.leaf, Ref) and target.axis is not None
            storage.require_writable(context, target.leaf)
            new = given[contents.value] if contents.value in given else self._of_all(contents)
            storage.write(context, target.leaf, moved(new, 0, target.axis))

    def _of_all(self, x: Expr) -> Expr:
        """Repeat for every lane a value from its arguments or from the code around the function."""
        if isinstance(x.value, BlockArgument) and x.value.block is self.outlined.callee.body.block:
            number = x.value.index
            x = Expr(self.operands[number])
            if number in self.wrt:
                return x
        return stretched(x, (self.lanes, *shape_of(x)))


# Results.


def _stacked(
    context: Context, value: Any, axes: Axes, results: Iterator[tuple[Expr, bool]], lanes: Size, name: str
) -> Value:
    """A plain result of one lane, stacked for all lanes."""
    if isinstance(value, InArrays):
        hint = "return np.array(xs)"
        raise context.refusal(f"{name} is called for each lane, and returns a list that a loop fills", hint)
    if isinstance(value, MadeObject | Tuple):
        pairs = [(item, axes) for item in value.items]
        if isinstance(axes, tuple | AxesByKey):
            keys = None if isinstance(value, Tuple) or value.kind is list else value.keys
            pairs = paired(context, value.items, keys, axes, f"the result of {name}")
        items = tuple(_stacked(context, item, axis, results, lanes, name) for item, axis in pairs)
        if isinstance(value, Tuple):
            return Tuple(items, value.kind)
        return context.new_object(Entry(value.kind, value.keys, items))
    if not (axes is None or isinstance(axes, int)):
        raise ShapeError(f"vmap: out_axes has another structure than the result of {name}", context.location)
    if isinstance(value, Static):
        return _stacked_constant(context, value, axes, lanes, name)
    found, is_varying = next(results)
    if axes is not None:
        axis = required_axis(context, axes, len(found.shape), f"the stacked result of {name}")
        return context.new_array(moved(found, 0, axis))
    if is_varying:
        message = f"vmap: the result of {name} differs from lane to lane, and its out_axes is None"
        raise ShapeError(message, context.location, "give it an axis in out_axes")
    message = f"vmap of {name}: there are no lanes, and a result with out_axes None"
    check(constant(0, types.I64) < affine.as_expr(value_of(lanes)), "ValueError", message)
    return plain_results.rebuilt(context, value, iter([lane_of(found, constant(0, types.I64))]))


def _stacked_constant(context: Context, value: Static, axes: Axes, lanes: Size, name: str) -> Value:
    if axes is None or not isinstance(value.value, int | float | np.number | np.bool_):
        return value
    array = np.asarray(value.value)
    required_axis(context, axes if isinstance(axes, int) else 0, 1, f"the stacked result of {name}")
    return context.new_array(filled(array[()], (lanes,), types.from_dtype(array.dtype)), None, (lanes,))
