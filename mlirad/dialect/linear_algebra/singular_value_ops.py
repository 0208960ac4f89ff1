"""Singular values, and their vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.irdl import operand_def, result_def

from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Given
from mlirad.dialect.core.derivative import total
from mlirad.dialect.core.expr import Expr, emit_all
from mlirad.dialect.core.op import op
from mlirad.dialect.linear_algebra import matrix_algebra as m
from mlirad.dialect.linear_algebra.loop_op import WORK, AdjointOp, LoopOp, no_derivative
from mlirad.dialect.ops.compare import cast
from mlirad.errors import DifferentiationError
from mlirad.library.linalg import loops


class DecompositionOp(AdjointOp, LoopOp):
    """u, s and v.T.conj() with u @ diag(s) @ v.T.conj() = a, s in descending order. Let p = u.T.conj() @ a' @ v. Then
    s' is the real part of the diagonal of p. The rules for u and v are those of Townsend, "Differentiating the singular
    value decomposition" (2016).

    The phases of complex vectors are LAPACK's. In their derivative no column of v rotates, and u_j rotates with the
    imaginary part of p_jj / s_j. Functions that depend on u_j and v_j only through their product have the right
    derivative.

    Vectors of a repeated singular value are not unique: their derivative is not finite, except where it is multiplied
    by 0. The same holds for vectors of the singular value 0 if a is not square.
    """

    a = operand_def()
    left = result_def()
    values = result_def()
    right = result_def()
    failed = result_def()
    assembly_format = "$a attr-dict `:` functional-type(operands, results)"

    def adjoints(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (of_left, of_values, of_right, _), (left, values, right, _) = gs, outs
        rows, columns = operands[0].shape[-2:]
        inner, beside = None, None
        if of_left is not None:
            turned = m.adjoint_times(left, of_left)
            gaps = _over_squared_gaps(turned - m.adjoint(turned), values)
            inner = gaps * m.of_columns(values, gaps)
            if types.is_complex(left.type):
                inner = inner + _turns(turned, values)
            if rows > columns:
                outside = of_left - m.times(left, turned)
                beside = m.times(m.over(outside, m.of_columns(values, outside)), right)
        if of_right is not None:
            turned = m.times_adjoint(right, of_right)
            gaps = _over_squared_gaps(turned - m.adjoint(turned), values)
            inner = total(inner, gaps * m.of_rows(values, gaps))
            if columns > rows:
                outside = of_right - m.adjoint_times(turned, right)
                beside = m.times(left, m.over(outside, m.of_rows(values, outside)))
        if of_values is not None:
            inner = total(inner, cast(m.diagonal_of(of_values), left.element))
        whole = None if inner is None else m.times(left, m.times(inner, right))
        return (total(whole, beside),)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (da,), (left, values, right, _) = given, outs
        if da is None:
            return None, None, None, None
        rows, columns = operands[0].shape[-2:]
        of_rows, of_columns = m.times_adjoint(da, right), m.adjoint_times(left, da)
        turned = m.adjoint_times(left, of_rows)
        by_columns, by_rows = turned * m.of_columns(values, turned), turned * m.of_rows(values, turned)
        turns = _over_squared_gaps(by_columns + m.adjoint(by_columns), values)
        if types.is_complex(left.type):
            turns = turns + _turns(turned, values)
        d_left = m.times(left, turns)
        d_right = m.adjoint_times(_over_squared_gaps(by_rows + m.adjoint(by_rows), values), right)
        if rows > columns:
            outside = of_rows - m.times(left, turned)
            d_left = d_left + m.over(outside, m.of_columns(values, outside))
        if columns > rows:
            outside = of_columns - m.times(turned, right)
            d_right = d_right + m.over(outside, m.of_rows(values, outside))
        return d_left, m.real(m.diagonal(turned)), d_right, None


def _turns(x: Expr, values: Expr) -> Expr:
    """The imaginary part of the diagonal, divided by the singular values."""
    numbers = m.on_diagonal(m.imaginary(x))
    return m.over(numbers, m.of_columns(values, x))


def _over_squared_gaps(x: Expr, values: Expr) -> Expr:
    """x_ij / (values_j^2 - values_i^2) off the diagonal."""
    one, other = m.of_columns(values, x), m.of_rows(values, x)
    return m.over(m.off_diagonal(x), m.with_diagonal((one - other) * (one + other), 1.0))


@op(loops.svd, cost=WORK, inert=(3,), complex=True)
class SvdOp(DecompositionOp):
    """The variant with as many vectors as singular values."""

    name = "nd.svd"
    LOOP: ClassVar = "svd_s"


@op(loops.svd_full, cost=WORK, inert=(3,), complex=True)
class SvdFullOp(DecompositionOp):
    """The variant with square u and v. The additional vectors are not unique, and have no derivative."""

    name = "nd.svd_full"
    LOOP: ClassVar = "svd_f"

    def adjoints(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        if self._is_square(operands[0]):
            return super().adjoints(gs, outs, operands)
        of_left, of_values, of_right, _ = gs
        if of_left is not None or of_right is not None:
            raise self._no_derivative()
        left, _, right, _ = emit_all(SvdOp, operands[0])
        assert of_values is not None, "an op is asked for cotangents only if a result has one"
        return (m.times(left, m.times(cast(m.diagonal_of(of_values), left.element), right)),)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        if given[0] is None or self._is_square(operands[0]):
            return super().tangents(given, outs, operands)
        raise self._no_derivative()

    @staticmethod
    def _is_square(a: Expr) -> bool:
        return a.shape[-1] == a.shape[-2]

    @staticmethod
    def _no_derivative() -> DifferentiationError:
        what = (
            "the vectors of np.linalg.svd with full_matrices=True, of a matrix that is not square, have no derivative"
        )
        return no_derivative(f"{what}: some are not unique", "write full_matrices=False, or np.linalg.svdvals")


@op(loops.singular_values, cost=WORK, inert=(1,), complex=True)
class SingularValuesOp(AdjointOp, LoopOp):
    """Only the singular values, in descending order; see DecompositionOp."""

    name = "nd.singular_values"
    LOOP: ClassVar = "svd"
    a = operand_def()
    values = result_def()
    failed = result_def()
    assembly_format = "$a attr-dict `:` functional-type(operands, results)"

    def adjoints(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        g = gs[0]
        if g is None:
            return (None,)
        left, _, right, _ = emit_all(SvdOp, operands[0])
        return (m.times(left * m.of_columns(g, left), right),)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (da,) = given
        if da is None:
            return None, None
        left, _, right, _ = emit_all(SvdOp, operands[0])
        return m.real(m.diagonal(m.adjoint_times(left, m.times_adjoint(da, right)))), None
