"""Floats rounded to integers, which stay floats, and the remainders: a few instructions each."""

from __future__ import annotations

import math as pymath
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects import arith, math
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import AnyAttr, VarConstraint, operand_def, result_def

from mlirad.dialect.core.answers import Generic
from mlirad.dialect.core.derivative import Pair, TwoResultsOp
from mlirad.dialect.core.expr import Expr
from mlirad.dialect.core.op import op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.scalars import choose, compare, number, scalar_op
from mlirad.dialect.ops.elementwise import ElementwiseOp, UnaryOp, floats

_T: VarConstraint[Attribute] = VarConstraint("T", AnyAttr())


class RoundingOp(UnaryOp):
    """An integer near x; if it is 0, it has the sign of x. Its derivative is 0 everywhere."""

    UPSTREAM: ClassVar[type[Operation]]

    def vjp(self, g: Expr, out: Expr, x: Expr) -> None:
        return None

    def scalar(self, x: SSAValue) -> SSAValue:
        return scalar_op(self.UPSTREAM, x)


@op(np.floor, partial=(0,))
class FloorOp(RoundingOp):
    """The largest integer <= x."""

    name = "nd.floor"
    UPSTREAM: ClassVar = math.FloorOp


@op(np.ceil, partial=(0,))
class CeilOp(RoundingOp):
    """The smallest integer >= x."""

    name = "nd.ceil"
    UPSTREAM: ClassVar = math.CeilOp


@op(np.trunc, partial=(0,))
class TruncOp(RoundingOp):
    """The integer part of x."""

    name = "nd.trunc"
    UPSTREAM: ClassVar = math.TruncOp


@op(np.rint, partial=(0,))
class RintOp(RoundingOp):
    """The nearest integer, ties to even."""

    name = "nd.rint"
    UPSTREAM: ClassVar = math.RoundEvenOp


class PartsOp(TwoResultsOp, ElementwiseOp):
    """Two parts of each number. Each part has its own loops, which are fused with the loops that read it."""

    x = operand_def(_T)
    first = result_def(_T)
    second = result_def(_T)
    assembly_format = "$x attr-dict `:` type($x)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        return [floats(cls.name, operands[0])] * 2

    @abstractmethod
    def vjp(self, g: Pair, out: tuple[Expr, Expr], x: Expr) -> Expr | None: ...

    def jvp(self, dx: Expr, out: tuple[Expr, Expr], x: Expr) -> Pair:
        return self.vjp((dx, None), out, x), self.vjp((None, dx), out, x)

    @abstractmethod
    def scalar_of_first(self, x: SSAValue) -> SSAValue: ...

    @abstractmethod
    def scalar_of_second(self, x: SSAValue) -> SSAValue: ...

    def loops(self) -> tuple[Generic, ...]:
        return self.by_element(self.scalar_of_first), self.by_element(self.scalar_of_second)


@op(np.modf, pymath.modf, cost=5, linear=True, inert=(1,))
class ModfOp(PartsOp):
    """The fractional part of x, and x rounded to an integer towards 0; both have the sign of x."""

    name = "nd.modf"

    def vjp(self, g: Pair, out: tuple[Expr, Expr], x: Expr) -> Expr | None:
        return g[0]

    def scalar_of_first(self, x: SSAValue) -> SSAValue:
        whole = self.scalar_of_second(x)
        rest = choose(compare("oeq", x, whole), number(0.0, x.type), scalar_op(arith.SubfOp, x, whole))  # of inf too
        return scalar_op(math.CopySignOp, rest, x)

    def scalar_of_second(self, x: SSAValue) -> SSAValue:
        return scalar_op(math.TruncOp, x)
