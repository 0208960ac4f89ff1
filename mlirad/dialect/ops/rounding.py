"""Floats rounded to integers, which stay floats: one instruction each."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.dialects import math
from xdsl.ir import Operation, SSAValue

from mlirad.dialect.core.expr import Expr
from mlirad.dialect.core.op import op
from mlirad.dialect.ops.elementwise import UnaryOp, scalar_op


class RoundingOp(UnaryOp):
    """An integer near x, with the sign of x where it is 0. Its derivative is 0 everywhere."""

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
    """The nearest integer, halves to even."""

    name = "nd.rint"
    UPSTREAM: ClassVar = math.RoundEvenOp
