"""Reads and updates of elements. Indices are i64, already checked, and not negative."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from xdsl.dialects import tensor
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AnyAttr, VarConstraint, operand_def, result_def, var_operand_def

from mlirad.dialect.arrays.slices import add_slice, extract_slice, insert_slice
from mlirad.dialect.arrays.update_op import UpdateOp, require_array
from mlirad.dialect.core import types
from mlirad.dialect.core.answers import At, Upstream
from mlirad.dialect.core.derivative import LinearOp
from mlirad.dialect.core.expr import Expr, constant, emit, insert, where
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, subscript
from mlirad.dialect.core.op import op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.scalars import plus
from mlirad.dialect.core.subset import Change, Range, Subset
from mlirad.dialect.core.upstream import as_indices
from mlirad.dialect.ops.constant import counted
from mlirad.dialect.ops.movement import broadcast_like, of_lanes, repeated, reshape
from mlirad.errors import DTypeError


def _place(indices: Sequence[Any]) -> tuple[int, ...]:
    """The indices for NumPy. NumPy would wrap a negative index; a reference must not."""
    place = tuple(int(index) for index in indices)
    if any(index < 0 for index in place):
        raise IndexError(f"{place} was not checked")
    return place


_T: VarConstraint[Attribute] = VarConstraint("T", AnyAttr())


@dataclass(frozen=True)
class Element(Subset):
    """array[places], a scalar."""

    @property
    def ranges(self) -> tuple[Range | None, ...]:
        return tuple(map(Range, self.places))

    @property
    def shape(self) -> Hashable:
        return ()

    @property
    def axes(self) -> tuple[int | None, ...]:
        return ()

    def read(self, array: Expr, places: Sequence[Expr], like: Expr | None = None) -> Expr:
        return emit(ExtractOp, array, *places)

    def put(self, part: Expr, array: Expr, places: Sequence[Expr]) -> Expr:
        return emit(InsertOp, part, array, *places)


@op(partial=(0,), complex=True)
class ExtractOp(LinearOp):
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
        return [require_array(cls.name, operands[0], len(operands) - 1).element_type]

    def reference(self, t: Any, *indices: Any) -> Any:
        return t[_place(indices)]

    def numpy_source(self, source: NumpySource) -> NumpyText:
        return subscript(*source.operands())

    def batched(self, operands: Sequence[Expr], stacked: Sequence[bool], lanes: int | Expr) -> Sequence[Expr] | None:
        if any(stacked[1:]):
            return None
        t, *indices = operands
        column = extract_slice(t, [constant(0, types.I64), *indices], [lanes, *(1 for _ in indices)])
        return [reshape(column, of_lanes(self.result.type, lanes))]

    def vjp(self, g: Expr, out: Expr, x: Expr, *places: Expr) -> At:
        return At(lambda accumulator: emit(AddAtOp, g, accumulator, *places))

    def subset(self) -> Subset:
        return Element(self.t, 0, self.result, tuple(self.indices))

    def loops(self) -> Upstream:
        return Upstream(self._build)

    def _build(self, t: SSAValue, *indices: SSAValue) -> Sequence[SSAValue]:
        return [insert(tensor.ExtractOp(t, as_indices(indices), types.element_type(t.type))).result]


class ElementUpdateOp(UpdateOp):
    """`t` with one element changed, using the scalar `value`."""

    value = operand_def()
    t = operand_def(_T)
    indices = var_operand_def(types.I64)
    result = result_def(_T)
    assembly_format = "$value `,` $t `[` $indices `]` attr-dict `:` type($value) `into` type($t)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        t = require_array(cls.name, operands[1], len(operands) - 2)
        if t.element_type != operands[0]:
            raise DTypeError(f"{cls.name}: {operands[0]} into {t}")
        return [t]

    def batched(self, operands: Sequence[Expr], stacked: Sequence[bool], lanes: int | Expr) -> Sequence[Expr] | None:
        value, t, *indices = operands
        if any(stacked[2:]):
            return self._batched_by_mask(operands, stacked, lanes)
        value, t = (x if is_stacked else repeated(x, lanes) for x, is_stacked in zip((value, t), stacked, strict=False))
        column = reshape(value, types.tensor((*value.shape, *(1 for _ in indices)), value.element))
        update = insert_slice if self.CHANGE is Change.REPLACED else add_slice
        return [update(column, t, [constant(0, types.I64), *indices])]

    def _batched_by_mask(
        self, operands: Sequence[Expr], stacked: Sequence[bool], lanes: int | Expr
    ) -> Sequence[Expr] | None:
        """For a vector, each lane may change a different element."""
        if len(operands) != 3 or not types.is_static(self.t.type):
            return None
        value, t, index = (x if own else repeated(x, lanes) for x, own in zip(operands, stacked, strict=True))
        places = repeated(counted(t.shape[1]), lanes)
        changed = broadcast_like(value, [0], t)
        changed = changed if self.CHANGE is Change.REPLACED else t + changed
        return [where(places == broadcast_like(index, [0], places), changed, t)]

    def subset(self) -> Subset:
        return Element(self.t, 1, self.value, tuple(self.indices), self.CHANGE)

    def loops(self) -> Upstream:
        return Upstream(self._build)

    def numpy_source(self, source: NumpySource) -> NumpyText:
        value, t, *indices = source.operands()
        self.write(source, subscript(t, *indices), value)
        return t

    @abstractmethod
    def _build(self, value: SSAValue, t: SSAValue, *indices: SSAValue) -> Sequence[SSAValue]:
        """The update, in upstream ops."""


@op(overwrites=1, partial=(1,), complex=True)
class InsertOp(ElementUpdateOp):
    """t with t[i, j, ...] = value."""

    name = "nd.insert"
    CHANGE: ClassVar = Change.REPLACED

    def reference(self, value: Any, t: Any, *indices: Any) -> Any:
        changed = t.copy()
        changed[_place(indices)] = value
        return changed

    def _build(self, value: SSAValue, t: SSAValue, *indices: SSAValue) -> Sequence[SSAValue]:
        return [insert(tensor.InsertOp(value, t, as_indices(indices))).result]


@op(overwrites=1, complex=True, arithmetic=True)
class AddAtOp(ElementUpdateOp):
    """t with t[i, j, ...] += value."""

    name = "nd.add_at"
    CHANGE: ClassVar = Change.ADDED

    def reference(self, value: Any, t: Any, *indices: Any) -> Any:
        changed = t.copy()
        changed[_place(indices)] += value
        return changed

    def _build(self, value: SSAValue, t: SSAValue, *indices: SSAValue) -> Sequence[SSAValue]:
        places = as_indices(indices)
        old = insert(tensor.ExtractOp(t, places, types.element_type(t.type))).result
        return [insert(tensor.InsertOp(plus(old, value), t, places)).result]
