"""The values that remain after a scatter, if its index arrays contain an index more than once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AnyAttr, VarConstraint, operand_def, result_def, var_operand_def

from mlirad.dialect.arrays.indexed_op import IndexedOp, require_checked, size_of
from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Upstream
from mlirad.dialect.core.attributes import ints
from mlirad.dialect.core.derivative import LinearOp
from mlirad.dialect.core.expr import Expr, insert
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText
from mlirad.dialect.core.op import op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.scalars import choose, compare, number
from mlirad.dialect.core.upstream import as_indices, counted, size_of_axis
from mlirad.dialect.ops.elementwise import numbers
from mlirad.library import primitives

_T: VarConstraint[Attribute] = VarConstraint("T", AnyAttr())


@op(shape_only=(1,), partial=(0,), complex=True)
class KeepLastOp(IndexedOp, LinearOp):
    """The values that remain after scattering them into an array like t, and 0 in place of each overwritten value.

    It is a linear projection, and its own transpose. It corrects the cotangent of a scatter's values if an index occurs
    more than once.
    """

    name = "nd.keep_last"
    value = operand_def(_T)
    t = operand_def()
    indices = var_operand_def()
    result = result_def(_T)
    assembly_format = "$value `,` $t `[` $indices `]` attr-dict `:` type($value) `of` type($t) `[` type($indices) `]`"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        return [numbers(cls.name, cls.values_for_places(operands, properties))]

    def reference(self, value: Any, t: Any, *indices: Any) -> Any:
        require_checked(indices)
        return primitives.keep_last(value, self.position, *indices)

    def numpy_source(self, source: NumpySource) -> NumpyText:
        value, _, *indices = source.operands()
        return source.called(primitives.keep_last, value, self.position, *indices)

    def vjp(self, g: Expr, out: Expr, x: Expr, *places: Expr) -> Expr:
        return self.result_on(g, *places)

    def loops(self) -> Upstream:
        return Upstream(self._build)

    def _build(self, value: SSAValue, t: SSAValue, *indices: SSAValue) -> Sequence[SSAValue]:
        # Each element is stamped with the number of its last value. The stamps need no initialisation: only written
        # stamps are read.
        element = types.element_type(value.type)
        shape = [types.shape(t.type)[axis] for axis in ints(self.axes)]
        unknown = [size_of_axis(t, axis) for axis in ints(self.axes) if types.shape(t.type)[axis] < 0]
        empty = insert(tensor.EmptyOp(unknown, types.tensor(shape, i64))).tensor
        rank = len(types.shape(indices[0].type))
        sizes = [size_of(indices[0], axis) for axis in range(rank)]
        zero = number(0, element)

        def number_of(counters: Sequence[SSAValue]) -> SSAValue:
            total = counters[0]
            for counter, size in zip(counters[1:], sizes[1:], strict=True):
                total = insert(arith.AddiOp(insert(arith.MuliOp(total, size)).result, counter)).result
            return total

        def stamp(counters: list[SSAValue], values: list[SSAValue]) -> list[SSAValue]:
            there = as_indices(counters)
            place = as_indices([insert(tensor.ExtractOp(index, there, i64)).result for index in indices])
            return [insert(tensor.InsertOp(number_of(counters), values[0], place)).result]

        (stamps,) = counted(sizes, [empty], stamp)

        def keep(place: list[SSAValue], source: list[SSAValue], result: SSAValue) -> SSAValue:
            there = source[self.position : self.position + rank]
            own = number_of([insert(arith.IndexCastOp(index, i64)).result for index in there])
            stamped = insert(tensor.ExtractOp(stamps, [place[axis] for axis in ints(self.axes)], i64)).result
            old = insert(tensor.ExtractOp(value, source, element)).result
            new = choose(compare("eq", stamped, own), old, zero)
            return insert(tensor.InsertOp(new, result, source)).result

        return [self.each(t, indices, self.empty(t, indices), keep)]
