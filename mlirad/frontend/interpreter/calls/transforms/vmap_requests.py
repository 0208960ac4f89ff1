"""`mlirad.vmap`, which applies a function to each lane of its arguments, and `mlirad.accumulate_grad`, which applies it
to each part of a batch.

Reads: a function, arguments, and the axes of their lanes. Writes: ad.vmap, or a loop over the parts. Leaves: the
stacked results and the lanes' writes to the arguments, or the sum of the parts' results.

The function is interpreted once, for an unknown lane or part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import BlockArgument, SSAValue

from mlirad.analysis.loops import yields
from mlirad.analysis.varying import varying
from mlirad.dialect.ad.notes import CHECKPOINT
from mlirad.dialect.ad.vmap_op import VmapOp
from mlirad.dialect.arrays.stacked import lane_of
from mlirad.dialect.core import types
from mlirad.dialect.core.control import for_loop
from mlirad.dialect.core.expr import Expr, constant, emit, insert
from mlirad.dialect.ops.check import check
from mlirad.dialect.ops.movement import TransposeOp, reshape
from mlirad.errors import DTypeError, ShapeError
from mlirad.frontend.interpreter import storage
from mlirad.frontend.interpreter.calls.outlining import call_changes, outline, plain_results, value_trees
from mlirad.frontend.interpreter.calls.outlining.outline import Outlined, name_of_value
from mlirad.frontend.interpreter.calls.outlining.plain_results import InArrays, MadeObject
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.values import affine
from mlirad.frontend.values.sizes import (
    Size,
    filled,
    is_static,
    require_equal,
    require_static,
    shape_of,
    stretched,
    value_of,
)
from mlirad.frontend.values.state import State
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Entry, Object, Ref, Static, Transformed, Tuple, Value, kind_of
from mlirad.requests.lanes_and_parts import Accumulate, Axes, AxesByKey, Vmap, axes_of

_OPTIONS = ("in_axes", "out_axes")


@dataclass(frozen=True, eq=False)
class Laned:
    """A leaf of the arguments. axis: the axis of its lanes (None: it has none). contents: with this axis first."""

    leaf: Value
    axis: int | None
    contents: Expr | None = None


def vmap_of(context: Context, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """`mlirad.vmap(h, ...)` inside a function."""
    named = dict(zip(_OPTIONS, args[1:], strict=False)) | kwargs
    if len(args) > 3 or any(name not in _OPTIONS for name in named):
        raise DTypeError("vmap inside a compiled function takes a function, in_axes and out_axes", context.location)
    return Transformed(args[0], Vmap(None, **{name: _axes(context, value) for name, value in named.items()}))


def _axes(context: Context, value: Value) -> Axes:
    """Axes given to the transform in the function."""
    value = context.use(value)
    if isinstance(value, Tuple):
        return tuple(_axes(context, item) for item in value.items)
    if isinstance(value, Object):
        entry = storage.entry_of(context, value)
        items = tuple(_axes(context, item) for item in entry.items)
        return items if entry.kind is list else AxesByKey(tuple(zip(entry.keys, items, strict=True)))
    try:
        return axes_of(storage.static(context, value, "an axis of vmap"))
    except TypeError as error:
        raise DTypeError(str(error), context.location) from None


def accumulate_of(context: Context, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """`mlirad.accumulate_grad(h, ...)` inside a function."""
    names = ("n_micro", "in_axes", "reduce")
    named = dict(zip(names, args[1:], strict=False)) | kwargs
    if len(args) > 4 or "n_micro" not in named or any(name not in names for name in named):
        message = "accumulate_grad inside a compiled function takes a function, n_micro, in_axes and reduce"
        raise DTypeError(message, context.location)
    axes = _axes(context, named.pop("in_axes", Static(None)))
    parts = storage.static(context, named["n_micro"], "n_micro")
    reduce = storage.static(context, named.get("reduce", Static("mean")), "reduce")
    try:
        return Transformed(args[0], Accumulate(None, parts, axes, reduce))
    except (TypeError, ValueError) as error:
        raise (ShapeError if isinstance(error, ValueError) else DTypeError)(str(error), context.location) from None


def call_of_lanes(
    context: Context, function: Value, request: Vmap, args: Sequence[Value], kwargs: dict[str, Value]
) -> Value:
    name = name_of_value(function)
    found = _all_laned(context, request.in_axes, args, kwargs, name)
    lanes = _number_of_lanes(context, found, name)
    before = context.state.fork()
    live, context.live = context.live, None  # a lane has no single value
    try:
        outlined = _outlined(context, function, args, kwargs, [_one_lane(context, laned) for laned in found])
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


def call_of_parts(
    context: Context, function: Value, request: Accumulate, args: Sequence[Value], kwargs: dict[str, Value]
) -> Value:
    """A loop over equal parts of the arguments, which adds up the results of a checkpointed function."""
    name = name_of_value(function)
    axes: Axes = (None, *(0,) * (len(args) - 1)) if request.in_axes is None else request.in_axes
    found = _all_laned(context, axes, args, kwargs, name)
    (size,) = require_static((_number_of_lanes(context, found, name),), f"how many examples {name} is given")
    if size % request.parts:
        message = f"a batch of {size} examples cannot be cut into {request.parts} equal parts"
        raise ShapeError(message, context.location, "give a number of parts that divides it, or fewer examples")
    outlined = _outlined(context, function, args, kwargs, [_part(context, x, size // request.parts) for x in found])
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
        given = [
            _moved(lane_of(parts[n][0], part), 0, parts[n][1]) if n in parts else x for n, x in enumerate(operands)
        ]
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


# Arguments.


def _all_laned(context: Context, axes: Axes, args: Sequence[Value], kwargs: dict[str, Value], name: str) -> list[Laned]:
    """The leaves of all arguments. axes: those of the positional arguments; others have their lanes along axis 0."""
    if isinstance(axes, tuple) and len(axes) != len(args):
        raise ShapeError(f"in_axes of {name} has {len(axes)} items for {len(args)} arguments", context.location)
    each = [*(axes if isinstance(axes, tuple) else (axes,) * len(args)), *(0 for _ in kwargs)]
    return [
        laned
        for number, (value, axis) in enumerate(zip([*args, *kwargs.values()], each, strict=True))
        for laned in _laned(context, value, axis, f"argument {number} of {name}")
    ]


def _outlined(
    context: Context, function: Value, args: Sequence[Value], kwargs: dict[str, Value], leaves: Sequence[Value]
) -> Outlined:
    """The function, interpreted for arguments with the same structure and these leaves."""
    rest, owner = iter(leaves), partial(value_trees.owner_of_copy, context)
    given = [value_trees.mapped(context, each, lambda _: next(rest), owner) for each in (*args, *kwargs.values())]
    named = dict(zip(kwargs, given[len(args) :], strict=True))
    return outline.outline(context, function, given[: len(args)], named, [*args, *kwargs.values()])


def _part(context: Context, laned: Laned, size: int) -> Value:
    """A stand-in for a part of an argument while the function is interpreted."""
    leaf = laned.leaf
    if laned.axis is None or not isinstance(leaf, Ref):
        return leaf
    shape = tuple(size if axis == laned.axis else each for axis, each in enumerate(leaf.shape))
    return context.new_array(filled(0, shape, types.from_dtype(leaf.dtype)), None, shape)


def _laned(context: Context, value: Value, axes: Axes, what: str) -> Iterator[Laned]:
    """The leaves of an argument, and the axes of their lanes."""
    value = context.use(value)
    if isinstance(value, Tuple | Object) and isinstance(axes, tuple | AxesByKey):
        yield from (
            laned for item, axis in _items(context, value, axes, what) for laned in _laned(context, item, axis, what)
        )
        return
    if axes is not None and (kind := value_trees.opaque_kind_in(context, value)) is not None:
        hint = "in_axes=None passes it to all lanes or parts"
        raise DTypeError(f"{what} is a {kind}, whose arrays have no lanes or parts", context.location, hint)
    for leaf in value_trees.leaves_of(context, value):
        yield _with_lanes(context, leaf, axes, what)


def _items(
    context: Context, value: Tuple | Object, axes: tuple[Axes, ...] | AxesByKey, what: str
) -> Iterator[tuple[Value, Axes]]:
    """The items of a container with their axes."""
    entry = storage.entry_of(context, value) if isinstance(value, Object) else None
    items = value.items if isinstance(value, Tuple) else storage.entry_of(context, value).items
    keys = None if entry is None or entry.kind is list else entry.keys
    return _paired(context, items, keys, axes, what)


def _paired(
    context: Context, items: Sequence[Any], keys: Sequence[Any] | None, axes: tuple[Axes, ...] | AxesByKey, what: str
) -> Iterator[tuple[Any, Axes]]:
    if isinstance(axes, AxesByKey):
        named = dict(axes.items)
        if keys is not None and set(keys) == set(named):
            return zip(items, (named[key] for key in keys), strict=True)
    elif keys is None and len(axes) == len(items):
        return zip(items, axes, strict=True)
    raise ShapeError(f"the axes of {what} have another structure than the value", context.location)


def _with_lanes(context: Context, leaf: Value, axes: Axes, what: str) -> Laned:
    if axes is None or (isinstance(leaf, Static) and leaf.value is None):
        return Laned(leaf, None)
    if not isinstance(axes, int):
        raise ShapeError(f"the axes of {what} have another structure than the value", context.location)
    hint = "pass None as its axis in in_axes, and every lane gets the whole value"
    if not isinstance(leaf, Ref):
        raise ShapeError(f"{what} is {kind_of(leaf)}, which has no axis {axes}", context.location, hint)
    axis = _required_axis(context, axes, leaf.ndim, what)
    return Laned(leaf, axis, _moved(value_trees.contents(context, leaf), axis, 0))


def _required_axis(context: Context, axis: int, count: int, what: str) -> int:
    """An axis, counted from 0."""
    if not -count <= axis < count:
        message = f"{what} has {count} {'axis' if count == 1 else 'axes'}, and no axis {axis}"
        raise ShapeError(message, context.location)
    return axis % count


def _moved(x: Expr, source: int, target: int) -> Expr:
    """x with one axis moved."""
    order = [axis for axis in range(len(x.shape)) if axis != source]
    order.insert(target, source)
    return x if source == target else emit(TransposeOp, x, permutation=order)


def _number_of_lanes(context: Context, found: Sequence[Laned], name: str) -> Size:
    sizes = [laned.leaf.shape[laned.axis] for laned in found if isinstance(laned.leaf, Ref) and laned.axis is not None]
    if not sizes:
        raise ShapeError(f"no argument of {name} has lanes", context.location, "give one an axis in in_axes")
    message = f"{name}: one argument has {{}} lanes, and another one {{}}"
    first = sizes[0]
    for size in sizes[1:]:
        if isinstance(first, int) and isinstance(size, int) and first != size:
            raise ShapeError(message.format(first, size), context.location)
        require_equal(first, size, message)
    return first


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
            storage.write(context, target.leaf, _moved(new, 0, target.axis))

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
            pairs = _paired(context, value.items, keys, axes, f"the result of {name}")
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
        axis = _required_axis(context, axes, len(found.shape), f"the stacked result of {name}")
        return context.new_array(_moved(found, 0, axis))
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
    _required_axis(context, axes if isinstance(axes, int) else 0, 1, f"the stacked result of {name}")
    return context.new_array(filled(array[()], (lanes,), types.from_dtype(array.dtype)), None, (lanes,))
