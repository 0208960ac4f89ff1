"""Reads and updates of many elements at once, through arrays of indices (see `indexed_op.py`)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AnyAttr, VarConstraint, operand_def, result_def, var_operand_def

from mlirad.dialect.arrays.indexed_op import (
    IndexedOp,
    constant_indices,
    counts_up,
    known_range,
    part_at,
    put_at,
    require_checked,
    sum_of,
)
from mlirad.dialect.arrays.last_values import KeepLastOp
from mlirad.dialect.arrays.places import mask_of
from mlirad.dialect.arrays.update_op import UpdateOp
from mlirad.dialect.core import types
from mlirad.dialect.core.answers import At, Upstream
from mlirad.dialect.core.attributes import ints
from mlirad.dialect.core.derivative import LinearOp
from mlirad.dialect.core.expr import Expr, emit
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, called, subscript, text, tuple_of
from mlirad.dialect.core.op import op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.shift import Shift
from mlirad.dialect.core.subset import Change, Range, Subset
from mlirad.dialect.ops.elementwise import numbers

_T: VarConstraint[Attribute] = VarConstraint("T", AnyAttr())


@dataclass(frozen=True)
class Places(Subset):
    """array[..., i, j, ...]. places: the index arrays, one for each axis in `indexed`.

    at: the number of other axes that precede the axes of the index arrays in the part.
    """

    indexed: tuple[int, ...] = ()
    at: int = 0

    @property
    def ranges(self) -> tuple[Range | None, ...]:
        known = {axis: known_range(index) for axis, index in zip(self.indexed, self.places, strict=True)}
        return tuple(known.get(axis) for axis in range(len(types.shape(self.array.type))))

    @property
    def is_all_of_ranges(self) -> bool:
        return False  # an index array may be in another order, or leave elements out

    @property
    def shape(self) -> Hashable:
        return self.indexed, self.at

    @property
    def axes(self) -> tuple[int | None, ...]:
        kept = [axis for axis in range(len(types.shape(self.array.type))) if axis not in self.indexed]
        return (*kept[: self.at], *(None for _ in types.shape(self.places[0].type)), *kept[self.at :])

    @property
    def is_distinct(self) -> bool:
        return are_distinct(self.places)

    def read(self, array: Expr, places: Sequence[Expr], like: Expr | None = None) -> Expr:
        return emit(GatherOp, array, *places, axes=self.indexed, at=self.at)

    def put(self, part: Expr, array: Expr, places: Sequence[Expr]) -> Expr:
        return emit(ScatterOp, part, array, *places, axes=self.indexed, at=self.at)


@op(partial=(0,), complex=True)
class GatherOp(IndexedOp, LinearOp):
    """t[..., i, j, ...], an array."""

    name = "nd.gather"
    t = operand_def()
    indices = var_operand_def()
    result = result_def()
    assembly_format = "$t `[` $indices `]` attr-dict `:` type($t) `[` type($indices) `]` `->` type($result)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        return [cls.places(operands[0], operands[1:], properties)]

    def size_source(self, axis: int, result: int = 0) -> SSAValue | tuple[SSAValue, int] | None:
        rank = len(types.shape(self.indices[0].type))
        if self.position <= axis < self.position + rank:
            return self.indices[0], axis - self.position
        kept = self._kept(len(types.shape(self.t.type)))
        return self.t, kept[axis if axis < self.position else axis - rank]

    def shifted(self, x: Shift, *indices: Shift) -> Shift | None:
        """Index arrays 0, 1, 2, ... keep an axis."""
        rank, kept = len(types.shape(self.indices[0].type)), self._kept(len(types.shape(self.t.type)))
        places = {axis: place + rank * (place >= self.position) for place, axis in enumerate(kept)}
        for axis, index in zip(ints(self.axes), self.indices, strict=True):
            if counts_up(index):
                places[axis] = self.position
        return x.along(places)

    def reference(self, t: Any, *indices: Any) -> Any:
        require_checked(indices)
        rank = indices[0].ndim
        return np.moveaxis(self.view(t)[tuple(indices)], range(rank), range(self.position, self.position + rank)).copy()

    def numpy_source(self, source: NumpySource) -> NumpyText:
        t, places = self.place_text(source, 0)
        return subscript(t, *places)

    def vjp(self, g: Expr, out: Expr, x: Expr, *places: Expr) -> At:
        return At(lambda accumulator: emit(ScatterAddOp, g, accumulator, *places, **self.properties), is_scattered=True)

    def subset(self) -> Subset:
        return Places(self.t, 0, self.result, tuple(self.indices), indexed=ints(self.axes), at=self.position)

    def loops(self) -> Upstream:
        return Upstream(self._build)

    def _build(self, t: SSAValue, *indices: SSAValue) -> Sequence[SSAValue]:
        def read(place: list[SSAValue], target: list[SSAValue], result: SSAValue) -> SSAValue:
            return put_at(part_at(t, place), result, target)

        return [self.each(t, indices, self.empty(t, indices), read, self.row_axes(t))]


class ScatterUpdateOp(IndexedOp, UpdateOp):
    """`t` with the indexed elements changed, using the array `value`, in row-major order of the index arrays."""

    value = operand_def()
    t = operand_def(_T)
    indices = var_operand_def()
    result = result_def(_T)
    assembly_format = "$value `,` $t `[` $indices `]` attr-dict `:` type($value) `into` type($t) `[` type($indices) `]`"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        cls.values_for_places(operands, properties)
        return [operands[1]]

    def reference(self, value: Any, t: Any, *indices: Any) -> Any:
        require_checked(indices)
        changed = t.copy()
        view, values = self.view(changed), self.aligned(value, indices[0].ndim)
        for point in np.ndindex(indices[0].shape):
            place = tuple(index[point] for index in indices)
            view[place] = self.changed(view[place], values[point])
        return changed

    def numpy_source(self, source: NumpySource) -> NumpyText:
        value, t = source.operand(0), source.operand(1)
        part, places = self.place_text(source, 1)
        value = value if value.lax is None else value.lax
        if self.CHANGE is Change.ADDED:
            whole = [text("slice(None)") if place.parts == (":",) else place for place in places]
            is_less = value.negated is not None
            name = "np.subtract.at" if is_less else "np.add.at"
            index = whole[0] if len(whole) == 1 else tuple_of(whole)
            source.line(called(name, part, index, value.negated if value.negated is not None else value))
        else:
            source.line(subscript(part, *places), " = ", value)
        return t

    @staticmethod
    @abstractmethod
    def changed(old: Any, value: Any) -> Any:
        """The new element according to NumPy."""

    def loops(self) -> Upstream:
        return Upstream(self._build)

    def _build(self, value: SSAValue, t: SSAValue, *indices: SSAValue) -> Sequence[SSAValue]:
        def write(place: list[SSAValue], source: list[SSAValue], array: SSAValue) -> SSAValue:
            part = part_at(value, source)
            if self.CHANGE is Change.ADDED:
                part = sum_of(part_at(array, place), part)
            return put_at(part, array, place)

        return [self.each(t, indices, t, write, self.row_axes(t))]

    def subset(self) -> Subset:
        axes = ints(self.axes)
        return Places(self.t, 1, self.value, tuple(self.indices), self.CHANGE, axes, self.position)


@op(overwrites=1, partial=(0, 1), complex=True)
class ScatterOp(ScatterUpdateOp):
    """t with t[..., i, j, ...] = value. If an index occurs more than once, the last value wins."""

    name = "nd.scatter"
    CHANGE: ClassVar = Change.REPLACED

    @staticmethod
    def changed(old: Any, value: Any) -> Any:
        return value

    def taken(self, g: Expr, value: Expr, places: Sequence[Expr]) -> Expr:
        taken = super().taken(g, value, places)
        if are_distinct([index.value for index in places]):
            return taken
        return emit(KeepLastOp, taken, g, *places, **self.properties)


def are_distinct(indices: Sequence[SSAValue]) -> bool:
    """Whether it is known that no index occurs more than once in the index arrays."""
    if len(indices) == 1 and mask_of(indices[0]) is not None:
        return True
    known = [found for index in indices if (found := constant_indices(index)) is not None]
    if len(known) < len(indices):
        return False
    flat = np.stack([index.ravel() for index in known])
    return np.unique(flat, axis=1).shape == flat.shape


@op(overwrites=1, complex=True, arithmetic=True)
class ScatterAddOp(ScatterUpdateOp):
    """t with t[..., i, j, ...] += value. If an index occurs more than once, all its values are added."""

    name = "nd.scatter_add"
    CHANGE: ClassVar = Change.ADDED

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        return [numbers(cls.name, type) for type in super().infer(operands, properties, result_type)]

    @staticmethod
    def changed(old: Any, value: Any) -> Any:
        return old + value
