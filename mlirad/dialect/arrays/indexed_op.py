"""The common base of ops with arrays of indices: `t[i]`, `t[:, i, j]`.

The index arrays are i64, of one shape, already checked, and not negative. Each indexes one of `axes`. The part that is
read or written has the remaining axes of t; the axes of the index arrays precede remaining axis `at`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, TensorType, i64
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.irdl import VarOperand, prop_def

from mlirad.dialect.arrays.places import mask_of
from mlirad.dialect.core import types
from mlirad.dialect.core.attributes import ints
from mlirad.dialect.core.expr import Expr, building, current_location, emit, insert
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, called, text, tuple_of
from mlirad.dialect.core.op import PureOp
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.scalars import number, plus
from mlirad.dialect.core.subset import Range
from mlirad.dialect.core.upstream import (
    as_index,
    as_indices,
    counted,
    empty,
    extract_slice,
    generic,
    insert_slice,
    size_of_axis,
)
from mlirad.dialect.ops.constant import ArangeOp, ConstantOp
from mlirad.dialect.ops.movement import repeated
from mlirad.errors import DTypeError, ShapeError

_SHORTEST_ROW = 4
"""Shorter rows are moved element by element."""


def known_range(index: SSAValue) -> Range | None:
    """The range from the lowest to the highest index, if known."""
    known = constant_indices(index)
    if known is None or not known.size:
        return None
    return Range(int(known.min()), int(known.max() - known.min() + 1))


class IndexedOp(PureOp):
    """An op on the elements of an array that index arrays select."""

    axes = prop_def(DenseArrayBase)
    at = prop_def(IntegerAttr)

    if TYPE_CHECKING:
        indices: VarOperand

    @classmethod
    def places(cls, t: Attribute, indices: Sequence[Attribute], properties: Properties) -> TensorType:
        """The type of the selected part. Raises ShapeError or DTypeError."""
        at, axes = properties["at"], ints(properties["axes"])
        assert isinstance(at, IntegerAttr)
        if not isinstance(t, TensorType) or not indices or len(axes) != len(indices):
            raise ShapeError(f"{cls.name}: {len(indices)} index arrays for the axes {list(axes)} of {t}")
        first = indices[0]
        if any(index != first or types.element_type(index) != types.I64 for index in indices):
            raise DTypeError(f"{cls.name}: the index arrays {[str(index) for index in indices]} are not i64 and alike")
        shape = types.shape(t)
        rest = [size for axis, size in enumerate(shape) if axis not in axes]
        if list(axes) != sorted(set(axes)) or axes[-1] >= len(shape) or not 0 <= at.value.data <= len(rest):
            raise ShapeError(f"{cls.name}: no axes {list(axes)}, or no place {at.value.data}, in {t}")
        where_to = at.value.data
        return types.tensor([*rest[:where_to], *types.shape(first), *rest[where_to:]], t.element_type)

    @classmethod
    def values_for_places(cls, operands: Sequence[Attribute], properties: Properties) -> Attribute:
        """The type of operand 0, which has a value for each selected element of operand 1. Raises ShapeError."""
        expected = cls.places(operands[1], operands[2:], properties)
        if operands[0] != expected:
            raise ShapeError(f"{cls.name}: {operands[0]} for places of {expected}")
        return expected

    @property
    def position(self) -> int:
        return self.at.value.data

    @property
    def mask(self) -> SSAValue | None:
        """The mask of one axis that selects the elements, if there is one."""
        mask = mask_of(self.indices[0]) if len(self.indices) == 1 else None
        return mask if mask is not None and len(types.shape(mask.type)) == 1 else None

    def batched(self, operands: Sequence[Expr], stacked: Sequence[bool], lanes: int | Expr) -> Sequence[Expr] | None:
        """The same places of each lane; None if the lanes have their own index arrays."""
        first = len(operands) - len(self.indices)
        if any(stacked[first:]):
            return None
        arrays = [x if is_stacked else repeated(x, lanes) for x, is_stacked in zip(operands, stacked, strict=True)][
            :first
        ]
        axes = [axis + 1 for axis in ints(self.axes)]
        return [emit(type(self), *arrays, *operands[first:], axes=axes, at=self.position + 1)]

    def _kept(self, rank: int) -> list[int]:
        """The axes without an index array."""
        return [axis for axis in range(rank) if axis not in ints(self.axes)]

    # In NumPy.

    def view(self, t: np.ndarray) -> np.ndarray:
        """t with the indexed axes first."""
        axes = ints(self.axes)
        return np.moveaxis(t, axes, range(len(axes)))

    def aligned(self, values: np.ndarray, rank: int) -> np.ndarray:
        """The selected part, with the axes of the index arrays first."""
        return np.moveaxis(values, range(self.position, self.position + rank), range(rank))

    # As source text.

    def place_text(self, source: NumpySource, array: int) -> tuple[NumpyText, list[NumpyText]]:
        """An array and the index of the selected part, with their axes in NumPy's order for this index."""
        axes, t = ints(self.axes), source.operand(array)
        index = {axis: source.operand(array + 1 + number) for number, axis in enumerate(axes)}
        is_run = axes == tuple(range(axes[0], axes[0] + len(axes)))
        if self.position == (axes[0] if is_run else 0):
            return t, [index.get(axis, text(":")) for axis in range(axes[-1] + 1)]
        kept = self._kept(len(types.shape(source.op.operands[array].type)))
        order = [*kept[: self.position], *axes, *kept[self.position :]]
        return called("np.transpose", t, tuple_of(order)), [text(":")] * self.position + list(index.values())

    # In loops.

    def each(
        self,
        shaped: SSAValue,
        indices: Sequence[SSAValue],
        carried: SSAValue,
        body: Callable[[list[SSAValue], list[SSAValue], SSAValue], SSAValue],
        row: int = 0,
    ) -> SSAValue:
        """Fold `body` over the selected elements, or rows along the last `row` axes, starting from `carried`.

        shaped: an array of t's rank, whose kept axes have t's sizes. body receives the element's index in t, its index
        in the part (both as `index` values), and the carried value; it returns the next carried value. The indices of a
        row lack those axes.
        """
        at, kept = self.position, self._kept(len(types.shape(shaped.type)))
        kept = kept[: len(kept) - row]
        rank = len(types.shape(indices[0].type))
        outer = [
            *(size_of(shaped, axis) for axis in kept[:at]),
            *(size_of(indices[0], axis) for axis in range(rank)),
        ]
        inner = [size_of(shaped, axis) for axis in kept[at:]]

        def of_place(counters: list[SSAValue], values: list[SSAValue]) -> list[SSAValue]:
            heads = as_indices(counters)
            there = heads[at:]
            found = [
                there[0] if counts_up(own) else as_index(insert(tensor.ExtractOp(index, there, i64)).result)
                for own, index in zip(self.indices, indices, strict=True)
            ]

            def of_element(rests: list[SSAValue], inside: list[SSAValue]) -> list[SSAValue]:
                tails = as_indices(rests)
                place = dict(zip(ints(self.axes), found, strict=True))
                place |= dict(zip(kept, [*heads[:at], *tails], strict=True))
                return [body([place[axis] for axis in sorted(place)], [*heads, *tails], inside[0])]

            return counted(inner, values, of_element)

        return counted(outer, [carried], of_place)[0]

    def row_axes(self, t: SSAValue) -> int:
        """The number of last axes of t that are the part's last axes, too; 0 if rows are short, or of unknown size."""
        shape = types.shape(t.type)
        count = min(len(shape) - 1 - ints(self.axes)[-1], len(self._kept(len(shape))) - self.position)
        sizes = shape[len(shape) - count :]
        return count if min(sizes, default=0) > 0 and prod(sizes) >= _SHORTEST_ROW else 0

    def empty(self, t: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
        """Uninitialised memory for the selected part."""
        kept, at = self._kept(len(types.shape(t.type))), self.position
        sources = [(t, axis) for axis in kept]
        sources[at:at] = [(indices[0], axis) for axis in range(len(types.shape(indices[0].type)))]
        shape = [types.shape(value.type)[axis] for value, axis in sources]
        sizes = [size_of_axis(value, axis) for (value, axis), size in zip(sources, shape, strict=True) if size < 0]
        return insert(tensor.EmptyOp(sizes, types.tensor(shape, types.element_type(t.type)))).tensor


def part_at(array: SSAValue, place: Sequence[SSAValue]) -> SSAValue:
    """The element of an array at a place, or the row at a place that lacks the last axes."""
    element = types.element_type(array.type)
    row = types.shape(array.type)[len(place) :]
    if not row:
        return insert(tensor.ExtractOp(array, place, element)).result
    starts, sizes = _row(place, row)
    return insert(extract_slice(array, starts, sizes, [1] * len(sizes), types.tensor(row, element))).result


def put_at(part: SSAValue, array: SSAValue, place: Sequence[SSAValue]) -> SSAValue:
    """The array with such an element or row replaced."""
    row = types.shape(part.type) if types.is_tensor(part.type) else ()
    if not row:
        return insert(tensor.InsertOp(part, array, place)).result
    starts, sizes = _row(place, row)
    return insert(insert_slice(part, array, starts, sizes, [1] * len(sizes))).result


def _row(place: Sequence[SSAValue], row: Sequence[int]) -> tuple[list[SSAValue], list[int]]:
    """Where a row starts, and its sizes along all axes."""
    return [*place, *(number(0, IndexType()) for _ in row)], [*(1 for _ in place), *row]


def sum_of(old: SSAValue, new: SSAValue) -> SSAValue:
    """The sum of two elements, or of two rows."""
    if not types.is_tensor(old.type):
        return plus(old, new)
    element, dims = types.element_type(old.type), tuple(range(len(types.shape(old.type))))
    body = Block(arg_types=[element] * 3)
    with building(body):
        total = plus(*body.args[:2])
    body.add_op(YieldOp.create(operands=[total], location=current_location()))
    return generic([old, new], empty(old.type), (dims, dims, dims), body)


def size_of(value: SSAValue, axis: int) -> SSAValue:
    """The size of an axis, an i64."""
    size = types.shape(value.type)[axis]
    return number(size, i64) if size >= 0 else insert(arith.IndexCastOp(size_of_axis(value, axis), i64)).result


def constant_indices(index: SSAValue) -> np.ndarray | None:
    """The elements of an index array, if known."""
    return index.owner.reference() if isinstance(index.owner, ConstantOp) else None


def counts_up(index: SSAValue) -> bool:
    """Whether it is known that an index array is 0, 1, 2, ..."""
    known = constant_indices(index)
    if known is None:
        return isinstance(index.owner, ArangeOp)
    return known.ndim == 1 and bool((known == np.arange(len(known))).all())


def require_checked(indices: Sequence[np.ndarray]) -> None:
    """NumPy would wrap a negative index, which a reference must not do."""
    if any((index < 0).any() for index in indices):
        raise IndexError("an index array was not checked")
