"""Reading and updating elements and slices. Indices and starts are i64, checked already and not negative.

The tensors are values: an update gives a new one. Bufferization makes it a write in place.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IndexType, TensorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AnyAttr, VarConstraint, operand_def, prop_def, result_def, var_operand_def

from mlirad.dialect import types
from mlirad.dialect.elementwise import numbers
from mlirad.dialect.expr import Expr, constant, emit, insert, zeros_like
from mlirad.dialect.op import At, Properties, PureOp, Upstream, ints, op
from mlirad.errors import DTypeError, ShapeError


def as_indices(values: Sequence[SSAValue]) -> list[SSAValue]:
    """i64 values as upstream `index` values."""
    return [insert(arith.IndexCastOp(value, IndexType())).result for value in values]


def _require_array(name: str, type: Attribute, count: int) -> TensorType:
    if not isinstance(type, TensorType) or len(types.shape(type)) != count:
        raise ShapeError(f"{name}: {count} indices for {type}")
    return type


def _place(indices: Sequence[Any]) -> tuple[int, ...]:
    """The indices as NumPy takes them; it would wrap a negative one, which a reference must not."""
    place = tuple(int(index) for index in indices)
    if any(index < 0 for index in place):
        raise IndexError(f"{place} was not checked")
    return place


def _slices(starts: Sequence[Any], sizes: Sequence[int], strides: Sequence[int]) -> tuple[slice, ...]:
    """The NumPy slices of starts, sizes and strides (an end before the array's begin is None)."""
    result = []
    for start, size, stride in zip(starts, sizes, strides, strict=True):
        end = int(start) + size * stride
        result.append(slice(int(start), end if end >= 0 else None, stride))
    return tuple(result)


_T: VarConstraint[Attribute] = VarConstraint("T", AnyAttr())


# --- elements ---------------------------------------------------------------------------------------------------


@op()
class ExtractOp(PureOp):
    """t[i, j, ...], a scalar."""

    name = "nd.extract"
    t = operand_def()
    indices = var_operand_def(types.I64)
    result = result_def()
    assembly_format = "$t `[` $indices `]` attr-dict `:` type($t) `->` type($result)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        return [_require_array(cls.name, operands[0], len(operands) - 1).element_type]

    def reference(self, *arrays: Any) -> Any:
        t, *indices = arrays
        return t[_place(indices)]

    def vjp(self, g: Expr, out: Expr, *operands: Expr) -> Any:
        indices = operands[1:]
        return At(lambda accumulator: emit(AddAtOp, g, accumulator, *indices)), *(None for _ in indices)

    def jvp(self, tangents: Sequence[Expr | None], out: Expr, *operands: Expr) -> Expr | None:
        return None if tangents[0] is None else self.rebuild(tangents[0], *operands[1:])

    def loops(self) -> Upstream:
        return Upstream(self._build)

    def _build(self, t: SSAValue, *indices: SSAValue) -> Sequence[SSAValue]:
        return [insert(tensor.ExtractOp(t, as_indices(indices), types.element_type(t.type))).result]


class ElementUpdateOp(PureOp):
    """`t` with one element changed by the scalar `value`."""

    value = operand_def()
    t = operand_def(_T)
    indices = var_operand_def(types.I64)
    result = result_def(_T)
    assembly_format = "$value `,` $t `[` $indices `]` attr-dict `:` type($value) `into` type($t)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        t = _require_array(cls.name, operands[1], len(operands) - 2)
        if t.element_type != operands[0]:
            raise DTypeError(f"{cls.name}: {operands[0]} into {t}")
        return [t]

    def jvp(self, tangents: Sequence[Expr | None], out: Expr, *operands: Expr) -> Expr | None:
        value, t, *indices = operands
        if tangents[0] is None and tangents[1] is None:
            return None
        moved = zeros_like(value) if tangents[0] is None else tangents[0]
        return self.rebuild(moved, zeros_like(t) if tangents[1] is None else tangents[1], *indices)

    def loops(self) -> Upstream:
        return Upstream(self._build)

    @abstractmethod
    def _build(self, value: SSAValue, t: SSAValue, *indices: SSAValue) -> Sequence[SSAValue]:
        """The update, in upstream ops."""


@op(overwrites=1)
class InsertOp(ElementUpdateOp):
    """t with t[i, j, ...] = value."""

    name = "nd.insert"

    def reference(self, *arrays: Any) -> Any:
        value, t, *indices = arrays
        changed = t.copy()
        changed[_place(indices)] = value
        return changed

    def vjp(self, g: Expr, out: Expr, *operands: Expr) -> Any:
        indices = operands[2:]
        value = emit(ExtractOp, g, *indices)  # before the write, which is the last use of g
        cleared = emit(InsertOp, constant(0, g.element), g, *indices)
        return value, cleared, *(None for _ in indices)

    def _build(self, value: SSAValue, t: SSAValue, *indices: SSAValue) -> Sequence[SSAValue]:
        return [insert(tensor.InsertOp(value, t, as_indices(indices))).result]


@op(overwrites=1)
class AddAtOp(ElementUpdateOp):
    """t with t[i, j, ...] += value."""

    name = "nd.add_at"

    def reference(self, *arrays: Any) -> Any:
        value, t, *indices = arrays
        changed = t.copy()
        changed[_place(indices)] += value
        return changed

    def vjp(self, g: Expr, out: Expr, *operands: Expr) -> Any:
        indices = operands[2:]
        return emit(ExtractOp, g, *indices), g, *(None for _ in indices)

    def _build(self, value: SSAValue, t: SSAValue, *indices: SSAValue) -> Sequence[SSAValue]:
        places = as_indices(indices)
        old = insert(tensor.ExtractOp(t, places, types.element_type(t.type))).result
        kind = arith.AddfOp if types.is_float(value.type) else arith.AddiOp
        return [insert(tensor.InsertOp(insert(kind(old, value)).result, t, places)).result]


# --- slices -----------------------------------------------------------------------------------------------------


def _check_slice(name: str, t: Attribute, starts: int, properties: Properties) -> tuple[TensorType, tuple[int, ...]]:
    array = _require_array(name, t, starts)
    sizes, strides = ints(properties["sizes"]), ints(properties["strides"])
    if len(sizes) != starts or len(strides) != starts or any(size < 0 for size in sizes):
        raise ShapeError(f"{name}: sizes {list(sizes)} and strides {list(strides)} for {t}")
    for size, stride, length in zip(sizes, strides, types.shape(t), strict=True):
        if stride == 0 or (length >= 0 and size > 0 and (size - 1) * abs(stride) >= length):
            raise ShapeError(f"{name}: sizes {list(sizes)} with strides {list(strides)} do not fit in {t}")
    return array, sizes


@op()
class ExtractSliceOp(PureOp):
    """t[start : : stride] of static sizes along every axis; strides may be negative."""

    name = "nd.extract_slice"
    t = operand_def()
    starts = var_operand_def(types.I64)
    sizes = prop_def(DenseArrayBase)
    strides = prop_def(DenseArrayBase)
    result = result_def()
    assembly_format = "$t `[` $starts `]` attr-dict `:` type($t) `->` type($result)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        array, sizes = _check_slice(cls.name, operands[0], len(operands) - 1, properties)
        return [types.tensor(sizes, array.element_type)]

    def reference(self, *arrays: Any) -> Any:
        t, *starts = arrays
        return t[_slices(starts, ints(self.sizes), ints(self.strides))].copy()

    def vjp(self, g: Expr, out: Expr, *operands: Expr) -> Any:
        starts = operands[1:]

        def add(accumulator: Expr) -> Expr:
            return emit(AddSliceOp, g, accumulator, *starts, sizes=self.sizes, strides=self.strides)

        return At(add), *(None for _ in starts)

    def jvp(self, tangents: Sequence[Expr | None], out: Expr, *operands: Expr) -> Expr | None:
        return None if tangents[0] is None else self.rebuild(tangents[0], *operands[1:])

    def loops(self) -> Upstream:
        return Upstream(self._build)

    def _build(self, t: SSAValue, *starts: SSAValue) -> Sequence[SSAValue]:
        result = types.tensor(ints(self.sizes), types.element_type(t.type))
        places = as_indices(starts)
        return [insert(extract_slice(t, places, ints(self.sizes), ints(self.strides), result)).result]


def extract_slice(
    t: SSAValue, starts: Sequence[SSAValue], sizes: Sequence[int], strides: Sequence[int], result: TensorType
) -> tensor.ExtractSliceOp:
    """The upstream op with dynamic starts and static sizes and strides."""
    return tensor.ExtractSliceOp.build(
        operands=[t, list(starts), [], []],
        result_types=[result],
        properties=_slice_properties(len(starts), sizes, strides),
    )


def insert_slice(
    value: SSAValue, t: SSAValue, starts: Sequence[SSAValue], sizes: Sequence[int], strides: Sequence[int]
) -> tensor.InsertSliceOp:
    """The upstream op with dynamic starts and static sizes and strides."""
    return tensor.InsertSliceOp.build(
        operands=[value, t, list(starts), [], []],
        result_types=[t.type],
        properties=_slice_properties(len(starts), sizes, strides),
    )


def _slice_properties(rank: int, sizes: Sequence[int], strides: Sequence[int]) -> dict[str, Attribute]:
    return {
        "static_offsets": DenseArrayBase.from_list(i64, [DYNAMIC_INDEX] * rank),
        "static_sizes": DenseArrayBase.from_list(i64, list(sizes)),
        "static_strides": DenseArrayBase.from_list(i64, list(strides)),
    }


class SliceUpdateOp(PureOp):
    """`t` with a slice changed by the array `value` of the slice's shape."""

    value = operand_def()
    t = operand_def(_T)
    starts = var_operand_def(types.I64)
    sizes = prop_def(DenseArrayBase)
    strides = prop_def(DenseArrayBase)
    result = result_def(_T)
    assembly_format = "$value `,` $t `[` $starts `]` attr-dict `:` type($value) `into` type($t)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        array, sizes = _check_slice(cls.name, operands[1], len(operands) - 2, properties)
        if operands[0] != types.tensor(sizes, array.element_type):
            raise ShapeError(f"{cls.name}: {operands[0]} into a slice {list(sizes)} of {array}")
        return [array]

    def jvp(self, tangents: Sequence[Expr | None], out: Expr, *operands: Expr) -> Expr | None:
        value, t, *starts = operands
        if tangents[0] is None and tangents[1] is None:
            return None
        moved = zeros_like(value) if tangents[0] is None else tangents[0]
        return self.rebuild(moved, zeros_like(t) if tangents[1] is None else tangents[1], *starts)

    def read(self, g: Expr, starts: Sequence[Expr]) -> Expr:
        """The same slice of g."""
        return emit(ExtractSliceOp, g, *starts, sizes=self.sizes, strides=self.strides)

    def loops(self) -> Upstream:
        return Upstream(self._build)

    @abstractmethod
    def _build(self, value: SSAValue, t: SSAValue, *starts: SSAValue) -> Sequence[SSAValue]:
        """The update, in upstream ops."""


@op(overwrites=1)
class InsertSliceOp(SliceUpdateOp):
    """t with t[slice] = value."""

    name = "nd.insert_slice"

    def reference(self, *arrays: Any) -> Any:
        value, t, *starts = arrays
        changed = t.copy()
        changed[_slices(starts, ints(self.sizes), ints(self.strides))] = value
        return changed

    def vjp(self, g: Expr, out: Expr, *operands: Expr) -> Any:
        value, _, *starts = operands
        taken = self.read(g, starts)  # before the write, which is the last use of g
        cleared = self.rebuild(zeros_like(value), g, *starts)
        return taken, cleared, *(None for _ in starts)

    def _build(self, value: SSAValue, t: SSAValue, *starts: SSAValue) -> Sequence[SSAValue]:
        places = as_indices(starts)
        return [insert(insert_slice(value, t, places, ints(self.sizes), ints(self.strides))).result]


@op(overwrites=1)
class AddSliceOp(SliceUpdateOp):
    """t with t[slice] += value."""

    name = "nd.add_slice"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        return [numbers(cls.name, type) for type in super().infer(operands, properties, result_type)]

    def reference(self, *arrays: Any) -> Any:
        value, t, *starts = arrays
        changed = t.copy()
        changed[_slices(starts, ints(self.sizes), ints(self.strides))] += value
        return changed

    def vjp(self, g: Expr, out: Expr, *operands: Expr) -> Any:
        starts = operands[2:]
        return self.read(g, starts), g, *(None for _ in starts)

    def _build(self, value: SSAValue, t: SSAValue, *starts: SSAValue) -> Sequence[SSAValue]:
        from mlirad.dialect.upstream import elementwise

        places = as_indices(starts)
        where = ints(self.sizes), ints(self.strides)
        assert isinstance(value.type, TensorType)
        old = insert(extract_slice(t, places, *where, value.type)).result
        kind = arith.AddfOp if types.is_float(value.type) else arith.AddiOp
        total = elementwise(lambda x, y: insert(kind(x, y)).result, old, value)
        return [insert(insert_slice(total, t, places, *where)).result]


# --- indices ----------------------------------------------------------------------------------------------------


@op(cost=0)
class WrapIndexOp(PureOp):
    """i, or i + size if i is negative."""

    name = "nd.wrap_index"
    index = operand_def(types.I64)
    size = operand_def(types.I64)
    result = result_def(types.I64)
    assembly_format = "$index `,` $size attr-dict"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        return [i64]

    def reference(self, *arrays: Any) -> Any:
        index, size = arrays
        return np.int64(index + size if index < 0 else index)

    def vjp(self, g: Expr, out: Expr, *operands: Expr) -> Any:
        return None, None

    def jvp(self, tangents: Sequence[Expr | None], out: Expr, *operands: Expr) -> Expr | None:
        return None

    def loops(self) -> Upstream:
        return Upstream(wrap_index)


def wrap_index(index: SSAValue, size: SSAValue) -> Sequence[SSAValue]:
    from mlirad.dialect.elementwise import choose, compare, number

    wrapped = insert(arith.AddiOp(index, size)).result
    return [choose(compare("slt", index, number(0, i64)), wrapped, index)]
