"""A Python index made non-negative: negative indices count from the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, result_def

from mlirad.dialect.core import intervals, types
from mlirad.dialect.core.answers import Upstream
from mlirad.dialect.core.derivative import InertOp
from mlirad.dialect.core.expr import Expr, insert
from mlirad.dialect.core.intervals import Integer, Interval, Proofs, Values
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, Rank, choice, infix, text
from mlirad.dialect.core.op import PureOp, op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.scalars import choose, compare, number


@op(cost=0)
class WrapIndexOp(InertOp, PureOp):
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

    def reference(self, index: Any, size: Any) -> Any:
        return np.int64(index + size if index < 0 else index)

    def numpy_source(self, source: NumpySource) -> NumpyText:
        return wrapped_text(source)

    def numpy_repeats(self) -> frozenset[int]:
        return frozenset({0})

    def loops(self) -> Upstream:
        return Upstream(wrap_index)

    def integer(self, *operands: Interval) -> Integer:
        return intervals.wrapped_index(*operands)

    def simplified(self, proofs: Proofs) -> Sequence[SSAValue] | None:
        position = proofs.sum_of(self.index)
        if proofs.is_never_negative(position):
            return [self.index]
        is_negative = proofs.is_never_negative(position.scaled(-1).shifted(-1))
        return [(Expr(self.index) + Expr(self.size)).value] if is_negative else None

    def established(self, proofs: Proofs) -> Sequence[Values]:
        """The result is in range, if the index is known to be."""
        length, result = proofs.sum_of(self.size), proofs.sum_of(self.result)
        is_known = is_in_range(proofs, proofs.sum_of(self.index), length)
        return (result, length.shifted(-1) - result) if is_known else ()


def wrapped_text(source: NumpySource) -> NumpyText:
    """The index of an op on an index and a size, counted from the beginning."""
    index, size = source.operands()
    is_negative = infix(index, "<", text("0", is_numpy=False), Rank.COMPARISON)
    return choice(is_negative, infix(index, "+", size, Rank.SUM), index)


def is_in_range(proofs: Proofs, position: Values, length: Values) -> bool:
    """Whether it is proved that -length <= position < length."""
    is_below = proofs.is_never_negative((length - position).shifted(-1))
    return is_below and (proofs.is_never_negative(position) or proofs.is_never_negative(position + length))


def wrap_index(index: SSAValue, size: SSAValue) -> Sequence[SSAValue]:
    wrapped = insert(arith.AddiOp(index, size)).result
    return [choose(compare("slt", index, number(0, i64)), wrapped, index)]
