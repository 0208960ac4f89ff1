"""Index arrays, checked against the sizes of the axes that they index, and made non-negative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import tensor
from xdsl.dialects.builtin import IntegerAttr, TensorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AnyAttr, VarConstraint, operand_def, prop_def, result_def

from mlirad.dialect.arrays.indexed_op import size_of
from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Upstream
from mlirad.dialect.core.expr import Expr, insert, where
from mlirad.dialect.core.intervals import Proofs
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, Rank, called, infix, subscript, text
from mlirad.dialect.core.op import op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.scalars import compare
from mlirad.dialect.core.upstream import as_indices, counted, size_of_axis
from mlirad.dialect.ops.check import CheckFailed, EffectOp, call_check, raise_unless
from mlirad.dialect.ops.constant import ArangeOp
from mlirad.dialect.ops.wrapped_index import wrap_index
from mlirad.errors import DTypeError

_T: VarConstraint[Attribute] = VarConstraint("T", AnyAttr())


@op()
class CheckIndicesOp(EffectOp):
    """An array of indices, made non-negative. Raises IndexError unless -size <= i < size holds for all of them."""

    name = "nd.check_indices"
    indices = operand_def(_T)
    size = operand_def(types.I64)
    axis = prop_def(IntegerAttr)
    result = result_def(_T)
    assembly_format = "$indices `,` $size attr-dict `:` type($indices)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        if not isinstance(operands[0], TensorType) or types.element_type(operands[0]) != types.I64:
            raise DTypeError(f"{cls.name}: {operands[0]} is not an array of i64")
        return [operands[0]]

    @property
    def message(self) -> str:
        return f"index {{0}} is out of bounds for axis {self.axis.value.data} with size {{1}}"

    def reference(self, indices: Any, size: Any) -> Any:
        wrong = indices[(indices < -size) | (indices >= size)]
        if wrong.size:
            raise CheckFailed("IndexError", self.message.format(int(wrong[0]), int(size)))
        return np.where(indices < 0, indices + size, indices)

    def numpy_source(self, source: NumpySource) -> NumpyText:
        indices, size = source.operands()
        is_low = infix(indices, "<", text("-", size.within(Rank.SIGN), rank=Rank.SIGN), Rank.COMPARISON)
        is_high = infix(indices, ">=", size, Rank.COMPARISON)
        wrong = infix(is_low, "|", is_high, Rank.BIT_OR)
        ok = text("not ", called("np.any", wrong), rank=Rank.NOT)
        raise_unless(source, ok, "IndexError", self.message, [subscript(subscript(indices, wrong), text("0")), size])
        wrapped = infix(indices, "+", size, Rank.SUM)
        return called("np.where", infix(indices, "<", text("0"), Rank.COMPARISON), wrapped, indices)

    def numpy_repeats(self) -> frozenset[int]:
        return frozenset({0, 1})

    def simplified(self, proofs: Proofs) -> Sequence[SSAValue] | None:
        """0, 1, 2, ... are in range if there are not more of them than places."""
        counted = self.indices.owner
        if not isinstance(counted, ArangeOp):
            return None
        (count,) = types.shape(counted.result.type)
        spare = proofs.sum_of(self.size)
        spare = spare - proofs.sum_of(counted.size) if counted.size is not None else spare.shifted(-count)
        return [self.indices] if proofs.is_never_negative(spare) else None

    def recomputed(self, *operands: SSAValue) -> tuple[Expr, ...]:
        return (wrapped_indices(*map(Expr, operands)),)

    def loops(self) -> Upstream:
        return Upstream(self._build)

    def _build(self, indices: SSAValue, size: SSAValue) -> Sequence[SSAValue]:
        shape = types.shape(indices.type)
        unknown = [size_of_axis(indices, axis) for axis, length in enumerate(shape) if length < 0]
        is_used = self.result.first_use is not None
        carried = [insert(tensor.EmptyOp(unknown, types.tensor(shape, i64))).tensor] if is_used else []

        def check(counters: list[SSAValue], values: list[SSAValue]) -> list[SSAValue]:
            there = as_indices(counters)
            index = insert(tensor.ExtractOp(indices, there, i64)).result
            (wrapped,) = wrap_index(index, size)
            # One unsigned comparison: a wrapped index that is still negative is larger than any size.
            call_check(compare("ult", wrapped, size), [index, size], "IndexError", self.message)
            return [insert(tensor.InsertOp(wrapped, array, there)).result for array in values]

        return counted([size_of(indices, axis) for axis in range(len(shape))], carried, check)


def wrapped_indices(indices: Expr, size: Expr) -> Expr:
    """i, or i + size if i is negative; not checked."""
    return where(indices < 0, indices + size, indices)
