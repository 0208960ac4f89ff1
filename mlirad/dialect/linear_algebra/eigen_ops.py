"""Eigenvalues and eigenvectors of general square matrices: complex numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.irdl import operand_def, result_def

from mlirad.dialect.core.answers import Cotangent, Given
from mlirad.dialect.core.derivative import total
from mlirad.dialect.core.expr import Expr, emit, emit_all, ones_like, where, zeros_like
from mlirad.dialect.core.op import op
from mlirad.dialect.core.registry import op_of
from mlirad.dialect.linear_algebra import matrix_algebra as m
from mlirad.dialect.linear_algebra.loop_op import WORK, AdjointOp, LoopOp
from mlirad.dialect.linear_algebra.solving_ops import solved
from mlirad.dialect.linear_algebra.symmetric_ops import over_gaps
from mlirad.dialect.ops.compare import cast
from mlirad.library.linalg import loops


@op(loops.eig, cost=4 * WORK, inert=(2,), complex=True)
class EigOp(AdjointOp, LoopOp):
    """Eigenvalues w, and eigenvectors v as columns: a @ v = v * w. Let k = v^-1 @ a' @ v. Then w' is the diagonal of k,
    and v' is v @ (k / (w_j - w_i)) off the diagonal, plus a multiple of each vector (Giles 2008, section 3.1; Boeddeker
    et al. 2017, "On the computation of complex-valued gradients with application to statistically optimum
    beamforming").

    The multiple follows from LAPACK's normalisation: a vector has length 1, and its largest element is real. So v' is
    the derivative of the numbers that `np.linalg.eig` returns. The index of the largest element counts as constant.
    Eigenvectors of a repeated eigenvalue are not unique: their derivative is not finite, except where it is multiplied
    by 0. A matrix without a basis of eigenvectors has no derivative.
    """

    name = "nd.eig"
    LOOP: ClassVar = "eig"
    a = operand_def()
    values = result_def()
    vectors = result_def()
    failed = result_def()
    assembly_format = "$a attr-dict `:` functional-type(operands, results)"

    def adjoints(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (of_values, of_vectors, _), (values, vectors, _), (a,) = gs, outs, operands
        inner = None if of_values is None else m.diagonal_of(of_values)
        if of_vectors is not None:
            along = m.column_sums(m.conjugate(vectors) * of_vectors)
            turn = m.imaginary(along)
            free = of_vectors - vectors * m.of_columns(m.real(along), vectors)
            free = free - m.of_columns(turn, vectors) * cast(_pivots(vectors), vectors.element)
            inner = total(inner, over_gaps(m.adjoint_times(vectors, free), m.conjugate(values)))
        if inner is None:
            return (None,)
        whole = solved(m.adjoint(vectors), m.times_adjoint(inner, vectors))
        return (cast(whole, a.element),)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (da,), (values, vectors, _) = given, outs
        if da is None:
            return None, None, None
        inner = solved(vectors, m.times(cast(da, vectors.element), vectors))
        free = m.times(vectors, over_gaps(inner, values))
        length = m.real(m.column_sums(m.conjugate(vectors) * free))
        turn = m.column_sums(m.imaginary(free) * cast(_pivots(vectors), vectors.element))
        moved = free - vectors * m.of_columns(turn, vectors) - vectors * m.of_columns(length, vectors)
        return m.diagonal(inner), moved, None


def _pivots(vectors: Expr) -> Expr:
    """1 / the real part of the largest element of each column, at the element's index, and zeros elsewhere.

    That element is real, so it has the largest real part. Equal ones share the weight.
    """
    parts = m.real(vectors)
    sizes = np.abs(parts)
    row = len(sizes.shape) - 2
    largest = m.of_columns(emit(op_of(np.max), sizes, axes=[row]), sizes)
    is_largest = sizes >= largest
    shares = m.of_columns(m.column_sums(where(is_largest, ones_like(sizes), zeros_like(sizes))), sizes)
    return where(is_largest, 1.0 / (parts * shares), zeros_like(sizes))


@op(loops.eigvals, cost=2 * WORK, inert=(1,), complex=True)
class EigvalsOp(LoopOp):
    """Eigenvalues alone; see EigOp."""

    name = "nd.eigvals"
    LOOP: ClassVar = "eigvals"
    a = operand_def()
    values = result_def()
    failed = result_def()
    assembly_format = "$a attr-dict `:` functional-type(operands, results)"

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        g, (a,) = gs[0], operands
        if g is None:
            return (None,)
        _, vectors, _ = emit_all(EigOp, a)
        whole = solved(m.transposed(vectors), m.of_rows(g, vectors) * m.transposed(vectors))
        return (cast(whole, a.element),)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (da,) = given
        if da is None:
            return None, None
        _, vectors, _ = emit_all(EigOp, operands[0])
        return m.diagonal(solved(vectors, m.times(cast(da, vectors.element), vectors))), None
