"""Eigenvalues and eigenvectors of symmetric and Hermitian matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.irdl import operand_def, result_def

from mlirad.dialect.core.answers import Given
from mlirad.dialect.core.derivative import total
from mlirad.dialect.core.expr import Expr, emit_all
from mlirad.dialect.core.op import op
from mlirad.dialect.linear_algebra import matrix_algebra as m
from mlirad.dialect.linear_algebra.loop_op import WORK, AdjointOp, LoopOp
from mlirad.dialect.ops.compare import cast
from mlirad.library.linalg import loops


class SymmetricOp(AdjointOp, LoopOp):
    """An op on symmetric or Hermitian matrices. It reads one triangle. The derivative with respect to the other
    triangle is 0, and so is that with respect to the imaginary part of the diagonal."""

    IS_LOWER: ClassVar[bool]

    @classmethod
    def whole(cls, triangle: Expr) -> Expr:
        return m.hermitian_of_lower(triangle) if cls.IS_LOWER else m.hermitian_of_upper(triangle)

    @classmethod
    def cotangent(cls, g: Expr) -> Expr:
        return m.cotangent_of_lower(g) if cls.IS_LOWER else m.cotangent_of_upper(g)


class EighOp(SymmetricOp):
    """Eigenvalues w in ascending order, and eigenvectors v as columns. Let p = v.T.conj() @ a' @ v. Then w' is the
    diagonal of p, and v' = v @ (p / (w_j - w_i)) off the diagonal (Giles 2008, section 3.1; for complex matrices
    Boeddeker et al. 2017, "On the computation of complex-valued gradients with application to statistically optimum
    beamforming").

    Eigenvectors of a repeated eigenvalue are not unique: their derivative is not finite, except where it is multiplied
    by 0. The phases of complex eigenvectors are LAPACK's. In their derivative no vector rotates: v_j.conj() @ v_j' = 0.
    Functions that do not depend on the phases have the right derivative.
    """

    a = operand_def()
    values = result_def()
    vectors = result_def()
    failed = result_def()
    assembly_format = "$a attr-dict `:` functional-type(operands, results)"

    def adjoints(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (of_values, of_vectors, _), (values, vectors, _) = gs, outs
        inner = None if of_vectors is None else over_gaps(m.adjoint_times(vectors, of_vectors), values)
        if of_values is not None:
            inner = total(inner, cast(m.diagonal_of(of_values), vectors.element))
        if inner is None:
            return (None,)
        return (self.cotangent(m.times(vectors, m.times_adjoint(inner, vectors))),)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (da,), (values, vectors, _) = given, outs
        if da is None:
            return None, None, None
        turned = m.adjoint_times(vectors, m.times(self.whole(da), vectors))
        return m.real(m.diagonal(turned)), m.times(vectors, over_gaps(turned, values)), None


def over_gaps(x: Expr, values: Expr) -> Expr:
    """x_ij / (values_j - values_i) off the diagonal, and 0 on it."""
    return m.over(m.off_diagonal(x), m.with_diagonal(m.of_columns(values, x) - m.of_rows(values, x), 1.0))


@op(loops.eigh_lower, cost=WORK, inert=(2,), complex=True)
class EighLowerOp(EighOp):
    name = "nd.eigh_lower"
    LOOP: ClassVar = "eigh_lo"
    IS_LOWER: ClassVar = True


@op(loops.eigh_upper, cost=WORK, inert=(2,), complex=True)
class EighUpperOp(EighOp):
    name = "nd.eigh_upper"
    LOOP: ClassVar = "eigh_up"
    IS_LOWER: ClassVar = False


class EigvalshOp(SymmetricOp):
    """Only the eigenvalues, in ascending order; see EighOp."""

    a = operand_def()
    values = result_def()
    failed = result_def()
    assembly_format = "$a attr-dict `:` functional-type(operands, results)"

    def _vectors(self, a: Expr) -> Expr:
        return emit_all(EighLowerOp if self.IS_LOWER else EighUpperOp, a)[1]

    def adjoints(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        g, vectors = gs[0], self._vectors(operands[0])
        if g is None:
            return (None,)
        return (self.cotangent(m.times_adjoint(vectors * m.of_columns(g, vectors), vectors)),)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (da,) = given
        if da is None:
            return None, None
        vectors = self._vectors(operands[0])
        return m.real(m.diagonal(m.adjoint_times(vectors, m.times(self.whole(da), vectors)))), None


@op(loops.eigvalsh_lower, cost=WORK, inert=(1,), complex=True)
class EigvalshLowerOp(EigvalshOp):
    name = "nd.eigvalsh_lower"
    LOOP: ClassVar = "eigvalsh_lo"
    IS_LOWER: ClassVar = True


@op(loops.eigvalsh_upper, cost=WORK, inert=(1,), complex=True)
class EigvalshUpperOp(EigvalshOp):
    name = "nd.eigvalsh_upper"
    LOOP: ClassVar = "eigvalsh_up"
    IS_LOWER: ClassVar = False
