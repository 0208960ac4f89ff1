"""Functions that read through index arrays (take, take_along_axis, ix_) or through windows.

Reads: values. Writes: nd ops. Leaves: Traced values.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import emit
from mlirad.dialect.layers.windows import OverlapOp, WindowsOp
from mlirad.dialect.ops.constant import counted
from mlirad.dialect.ops.gather import GatherOp
from mlirad.dialect.ops.movement import reshape
from mlirad.errors import DTypeError, StaticIndexError, StaticValueError, UnsupportedSyntaxError
from mlirad.frontend.numpy import numpy_elementwise
from mlirad.frontend.numpy.declarations import compiles
from mlirad.frontend.values import shapes, sizes
from mlirad.frontend.values.index_arrays import IndexArrays, as_array
from mlirad.frontend.values.traced import DATA, Traced, as_operand, as_traced, cast, require_static, shape_of
from mlirad.library.nn import geometry
from mlirad.library.nn.windowing import overlap, windows


@compiles(np.take, method="take", is_row_major=True)
def take(a: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Traced:
    x = as_traced(a)
    shape = sizes.require_static(x.shape, "the shape of an operand of np.take")
    require_static(axis, "the axis of np.take")
    place = 0 if axis is None else shapes.normalize_axis(axis, max(x.ndim, 1))
    if axis is None or not x.ndim:
        shape = (prod(shape),)
        x = Traced(reshape(x.expr, types.tensor(shape, x.expr.element)))
    index = _index(indices, of_bools=True)
    own = sizes.require_static(index.shape, "the shape of an operand of np.take")
    if mode != "raise":
        index = _in_range(index, shape[place], mode)
    read = _gathered(x, IndexArrays((_in_shape(index, own or (1,)),), (place,), (place,), place))
    whole = (*shape[:place], *own, *shape[place + 1 :])
    return Traced(reshape(read, types.of_shape(whole, read.element)), origins=frozenset({DATA}))


def _index(indices: Any, of_bools: bool = False) -> np.ndarray | Traced:
    """Integers, of any rank. of_bools: whether True is 1 here, as in np.take."""
    index = _as_array(indices)
    if index is None:
        operand = as_operand(indices)
        index = operand if isinstance(operand, Traced) else np.asarray(operand)
    if index.dtype.kind == "b":
        if not of_bools:
            raise StaticIndexError("`indices` must be an integer array")
        return cast(index, np.dtype(np.int64)) if isinstance(index, Traced) else index.astype(np.int64)
    if index.dtype.kind not in "iu":
        text = f"an index array of dtype {index.dtype} is not compiled here"
        raise UnsupportedSyntaxError(text, hint="convert it first: .astype(int)")
    return index


def _as_array(indices: Any) -> np.ndarray | Traced | None:
    """As `as_array`, where other dtypes are no IndexError: NumPy's functions convert some of them."""
    try:
        return as_array(indices)
    except StaticIndexError:
        hint = "convert it first: .astype(int)"
        raise UnsupportedSyntaxError("an index array that is not of integers is not compiled here", hint=hint) from None


def _in_shape(index: np.ndarray | Traced, shape: tuple[int, ...]) -> np.ndarray | Traced:
    if isinstance(index, np.ndarray):
        return index.reshape(shape)
    return Traced(reshape(index.expr, types.tensor(shape, index.expr.element)), origins=index.origins)


def _in_range(index: np.ndarray | Traced, size: int, mode: Any) -> np.ndarray | Traced:
    """The indices brought into range, as mode="wrap" and mode="clip" do."""
    if mode == "wrap":
        if not size:
            raise StaticIndexError("cannot do a non-empty take from an empty axes.")
        return numpy_elementwise.call(np.remainder, index, size) if isinstance(index, Traced) else index % size
    if mode == "clip":
        if isinstance(index, Traced):
            return numpy_elementwise.call(np.minimum, numpy_elementwise.call(np.maximum, index, 0), size - 1)
        return np.clip(index, 0, size - 1)
    raise StaticValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")


def _gathered(x: Traced, arrays: IndexArrays) -> Any:
    operands, attributes = arrays.operands(x.shape)
    return emit(GatherOp, x.contents, *operands, **attributes)


@compiles(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Traced:
    """arr[i, ..., indices[i, ..., k, ...], ...]: along one axis, at each place of the others."""
    for each in (arr, indices):
        if not isinstance(each, Traced | np.ndarray | np.generic):
            raise DTypeError(f"np.take_along_axis takes arrays, not a {type(each).__name__}")
    x = as_traced(arr)
    shape = sizes.require_static(x.shape, "the shape of an operand of np.take_along_axis")
    require_static(axis, "the axis of np.take_along_axis")
    if axis is None:
        if len(shape_of(indices)) != 1:
            raise StaticValueError("when axis=None, `indices` must have a single dimension.")
        shape, axis = (prod(shape),), 0
        x = Traced(reshape(x.expr, types.tensor(shape, x.expr.element)))
    place, index = shapes.normalize_axis(axis, x.ndim), _index(indices)
    if index.ndim != x.ndim:
        raise StaticValueError("`indices` and `arr` must have the same number of dimensions")
    sizes.require_static(index.shape, "the shape of an operand of np.take_along_axis")
    axes = tuple(range(x.ndim))
    values = tuple(index if axis == place else _counted_along(axis, shape) for axis in axes)
    return Traced(_gathered(x, IndexArrays(values, axes, axes, 0)), origins=frozenset({DATA}))


def _counted_along(axis: int, shape: tuple[int, ...]) -> Traced:
    """0, 1, ... along an axis of that shape, the others being of size 1."""
    lengths = tuple(size if i == axis else 1 for i, size in enumerate(shape))
    return Traced(reshape(counted(shape[axis]), types.tensor(lengths, types.I64)))


@compiles(np.ix_, is_row_major=True)
def ix_(*sequences: Any) -> tuple[Any, ...]:
    """An open mesh: sequence number k along axis k."""
    meshed: list[Any] = []
    for number, sequence in enumerate(sequences):
        index = _as_array(sequence)
        if index is None or index.ndim != 1:
            raise StaticValueError("Cross index must be 1 dimensional")
        if index.dtype.kind == "b":
            if isinstance(index, Traced):
                raise UnsupportedSyntaxError("np.ix_ of a mask is not compiled: its shape depends on data")
            (index,) = np.nonzero(index)
        shape = [1] * len(sequences)
        (shape[number],) = sizes.require_static(index.shape, "the shape of an operand of np.ix_")
        meshed.append(_in_shape(index, tuple(shape)))
    return tuple(meshed)


def _compile_windows(function: Callable[..., Any], op: type[WindowsOp | OverlapOp]) -> None:
    def made(x: Any, axes: Any, steps: Any, shape: Any) -> Traced:
        source = as_traced(x)
        source.static_shape(function.__name__)
        require_static((axes, steps, shape), "windows of an array")
        asked = types.tensor(shape, source.expr.element)
        return Traced(emit(op, source.contents, axes=axes, steps=steps, result_type=asked))

    compiles(function, is_row_major=True, is_made=True)(made)


_compile_windows(windows, WindowsOp)
_compile_windows(overlap, OverlapOp)


@compiles(*geometry.PURE)
def sizes_of_windows(*numbers: Any) -> Any:
    """What is computed of sizes alone: Python runs it where they are known."""
    return require_static(numbers, "the sizes of images and windows")
