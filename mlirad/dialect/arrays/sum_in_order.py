"""Sums in the order of the program: a loop that adds one element after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import AnyAttr, VarConstraint, operand_def, result_def

from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Generic, Given
from mlirad.dialect.core.derivative import TwoOperandsOp
from mlirad.dialect.core.expr import Expr, emit, sum_of
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, Rank, called, text, tuple_of
from mlirad.dialect.core.op import PureOp, op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.scalars import scalar_op
from mlirad.dialect.core.shift import Shift
from mlirad.dialect.ops.constant import is_zero
from mlirad.dialect.ops.elementwise import floats
from mlirad.dialect.ops.movement import broadcast_like, repeated
from mlirad.errors import ShapeError

_T: VarConstraint[Attribute] = VarConstraint("T", AnyAttr())

IN_ORDER = "mlirad.in_order"
"""On the addition of a summing loop nest: its terms are added one after the other, in the order of the loops."""


@op(linear=True, arithmetic=True)
class SumInOrderOp(TwoOperandsOp, PureOp):
    """((start + x[0]) + x[1]) + ..., in row-major order over the axes of x that start does not have.

    Only the value has a fixed order. The compiler may sum tangents and cotangents in any order.
    """

    name = "nd.sum_in_order"
    x = operand_def()
    start = operand_def(_T)
    result = result_def(_T)
    assembly_format = "$x `,` $start attr-dict `:` type($x) `,` type($start)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        x, start = operands
        shape, kept = types.shape(x), types.shape(start)
        element = types.element_type(floats(cls.name, x))
        if len(kept) >= len(shape) or shape[: len(kept)] != kept or types.element_type(start) != element:
            raise ShapeError(f"{cls.name}: {start} is not a valid start for sums of {x}")
        return [start]

    @property
    def _kept(self) -> tuple[int, ...]:
        """The axes that are not summed."""
        return tuple(range(len(types.shape(self.start.type))))

    @property
    def _summed(self) -> range:
        return range(len(self._kept), len(types.shape(self.x.type)))

    def is_rounded(self) -> bool:
        return True

    def reference(self, x: Any, start: Any) -> Any:
        rows = (
            np.reshape(x, (*np.shape(start), -1))
            if np.size(x)
            else np.empty((*np.shape(start), 0), np.asarray(x).dtype)
        )
        return np.add.accumulate(np.concatenate([np.asarray(start)[..., None], rows], axis=-1), axis=-1)[..., -1]

    def numpy_source(self, source: NumpySource) -> NumpyText:
        x, start = source.operands()
        if not self._kept:
            terms = called("np.append", start, x)
            return text(called("np.add.accumulate", terms), "[-1]")
        name = start.within(Rank.ATOM)
        rows = called("np.reshape", x, text("(*", name, ".shape, -1)"))
        terms = called("np.concatenate", tuple_of([text(name, "[..., None]"), rows]), axis=-1)
        return text(called("np.add.accumulate", terms, axis=-1), "[..., -1]")

    def numpy_repeats(self) -> frozenset[int]:
        return frozenset({1}) if self._kept else frozenset()

    def batched(self, operands: Sequence[Expr], stacked: Sequence[bool], lanes: int | Expr) -> Sequence[Expr]:
        x, start = (each if own else repeated(each, lanes) for each, own in zip(operands, stacked, strict=True))
        return [emit(SumInOrderOp, x, start)]

    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[Expr, Expr]:
        return broadcast_like(g, self._kept, x), g

    def jvp(self, dx: Expr | None, dy: Expr | None, out: Expr, x: Expr, y: Expr) -> Expr | None:
        total = None if dx is None else sum_of(dx, self._summed)
        return dy if total is None else total if dy is None else dy + total

    def shifted(self, x: Shift, start: Shift) -> Shift | None:
        # A factor of all terms is a factor of the sum if the start is 0.
        if start.by or (x.by and not (x.is_factor and is_zero(self.start))):
            return None
        return x.along({axis: axis for axis in self._kept})

    def paths(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        return self.tangents(given, outs, operands)

    def loops(self) -> Generic:
        every = tuple(range(len(types.shape(self.x.type))))
        return Generic((every, self._kept), self._add, initial=-0.0, start=1)

    def _add(self, element: SSAValue, accumulator: SSAValue) -> SSAValue:
        total = scalar_op(arith.AddfOp, accumulator, element)
        assert isinstance(total.owner, Operation)
        total.owner.attributes[IN_ORDER] = UnitAttr()
        return total
