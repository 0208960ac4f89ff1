"""Cholesky factors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.irdl import operand_def, result_def

from mlirad.dialect.core.answers import Given
from mlirad.dialect.core.expr import Expr
from mlirad.dialect.core.op import op
from mlirad.dialect.linear_algebra import matrix_algebra as m
from mlirad.dialect.linear_algebra.cholesky_blocks import cotangent_of_factored
from mlirad.dialect.linear_algebra.loop_op import WORK, AdjointOp, LoopOp
from mlirad.dialect.linear_algebra.solving_ops import solved
from mlirad.library.linalg import loops


class CholeskyOp(AdjointOp, LoopOp):
    """A Cholesky factor. One triangle of a is read. The derivative with respect to the other triangle is 0, and so is
    that with respect to the imaginary part of the diagonal."""

    a = operand_def()
    factor = result_def()
    failed = result_def()
    assembly_format = "$a attr-dict `:` functional-type(operands, results)"


@op(loops.cholesky_lower, cost=WORK, inert=(1,), complex=True)
class CholeskyLowerOp(CholeskyOp):
    """L with L @ L.T.conj() = a: L' = L @ half(L^-1 @ a' @ L.T.conj()^-1), where half takes the lower triangle and half
    of the diagonal (Murray 2016, "Differentiation of the Cholesky decomposition", section 3)."""

    name = "nd.cholesky_lower"
    LOOP: ClassVar = "cholesky_lo"

    def adjoints(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        g, factor = gs[0], outs[0]
        return (None if g is None else cotangent_of_factored(factor, g),)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (da,), factor = given, outs[0]
        return None if da is None else _tangent(factor, m.hermitian_of_lower(da)), None


@op(loops.cholesky_upper, cost=WORK, inert=(1,), complex=True)
class CholeskyUpperOp(CholeskyOp):
    """U with U.T.conj() @ U = a, by the rules of the lower factor U.T.conj()."""

    name = "nd.cholesky_upper"
    LOOP: ClassVar = "cholesky_up"

    def adjoints(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        g, factor = gs[0], outs[0]
        if g is None:
            return (None,)
        return (m.adjoint(cotangent_of_factored(m.adjoint(factor), m.adjoint(g))),)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (da,), factor = given, outs[0]
        if da is None:
            return None, None
        return m.adjoint(_tangent(m.adjoint(factor), m.hermitian_of_upper(da))), None


def _tangent(factor: Expr, da: Expr) -> Expr:
    """L' for a Hermitian a'."""
    inner = solved(factor, m.adjoint(solved(factor, da)))
    return m.times(factor, m.half_lower(inner))
