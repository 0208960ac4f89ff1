"""Pseudoinverses, and least squares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.ir import Attribute
from xdsl.irdl import operand_def, result_def

from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Composed, Given
from mlirad.dialect.core.derivative import total
from mlirad.dialect.core.expr import Expr, emit, emit_all, where, zeros_like
from mlirad.dialect.core.op import op
from mlirad.dialect.core.registry import Properties, op_of
from mlirad.dialect.linear_algebra import matrix_algebra as m
from mlirad.dialect.linear_algebra.loop_op import WORK, AdjointOp, LoopOp
from mlirad.dialect.linear_algebra.singular_value_ops import SvdOp
from mlirad.dialect.ops.movement import broadcast_like
from mlirad.errors import DTypeError, ShapeError
from mlirad.library.linalg import loops


def _tangent(da: Expr, a: Expr, y: Expr) -> Expr:
    """The tangent of the pseudoinverse y of a."""
    gram, other_gram = m.times_adjoint(y, y), m.adjoint_times(y, y)
    beyond = m.adjoint(da - m.times(a, m.times(y, da)))
    beside = m.adjoint(da - m.times(m.times(da, y), a))
    return m.times(gram, beyond) + m.times(beside, other_gram) - m.times(y, m.times(da, y))


def _cotangent(g: Expr, a: Expr, y: Expr) -> Expr:
    """The cotangent of a, for the cotangent g of its pseudoinverse y."""
    turned, gram, other_gram = m.adjoint(g), m.times_adjoint(y, y), m.adjoint_times(y, y)
    beyond = turned - m.times(a, m.times(y, turned))
    beside = turned - m.times(m.times(turned, y), a)
    inner = m.adjoint_times(y, m.times_adjoint(g, y))
    return m.times(beyond, gram) + m.times(other_gram, beside) - inner


@op(loops.pseudoinverse, cost=8 * WORK, inert=(1,), complex=True)
class PseudoinverseOp(AdjointOp):
    """The pseudoinverse y of a. Singular values up to `cutoff` times the largest one count as 0.

    The derivative is that of Golub and Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares
    problems whose variables separate" (1973). It assumes a constant rank.
    """

    name = "nd.pseudoinverse"
    a = operand_def()
    cutoff = operand_def()
    result = result_def()
    failed = result_def()
    assembly_format = "$a `,` $cutoff attr-dict `:` functional-type(operands, results)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        left, _, right, failed = SvdOp.infer(operands[:1], {})
        (*outer, rows, count), columns = types.shape(left), types.shape(right)[-1]
        if operands[1] != types.tensor(outer, types.F64):
            raise DTypeError(f"{cls.name}: the cutoff {operands[1]} is not an f64 for each matrix of {operands[0]}")
        if not count:
            raise ShapeError(f"{cls.name}: {operands[0]} is empty")
        return [types.tensor([*outer, columns, rows], types.element_type(left)), failed]

    def loops(self) -> Composed:
        return Composed(self._build)

    def _build(self, a: Expr, cutoff: Expr) -> Sequence[Expr]:
        left, values, right, failed = emit_all(SvdOp, a)
        last = len(values.shape) - 1
        largest = m.as_array(emit(op_of(np.max), values, axes=[last]))
        bound = broadcast_like(cutoff * largest, range(last), values)
        inverses = where(values > bound, 1.0 / values, zeros_like(values))
        turned = m.adjoint(left)
        return m.adjoint_times(right, m.of_rows(inverses, turned) * turned), failed

    def adjoints(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        return None if gs[0] is None else _cotangent(gs[0], operands[0], outs[0]), None

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        return None if given[0] is None else _tangent(given[0], operands[0], outs[0]), None


@op(loops.least_squares, cost=8 * WORK, inert=(2, 4), complex=True)
class LeastSquaresOp(AdjointOp, LoopOp):
    """x of least norm that minimises |a @ x - b|, for columns b; the sums of squares of a @ x - b, if a has more rows
    than columns and full column rank; the rank of a; its singular values. Those up to `cutoff` times the largest one
    count as 0.

    x is the pseudoinverse times b, and has its derivative. The derivative of |r|^2, for r = b - a @ x, is the real part
    of 2 r.T.conj() @ (b' - a' @ x).
    """

    name = "nd.least_squares"
    LOOP: ClassVar = "lstsq"
    a = operand_def()
    b = operand_def()
    cutoff = operand_def()
    solution = result_def()
    squares = result_def()
    rank = result_def()
    values = result_def()
    failed = result_def()
    assembly_format = "$a `,` $b `,` $cutoff attr-dict `:` functional-type(operands, results)"

    def adjoints(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (of_x, of_squares, _, of_values, _), (a, b, cutoff), x = gs, operands, outs[0]
        of_a: Expr | None = None
        of_b: Expr | None = None
        if of_x is not None:
            inverse, _ = emit_all(PseudoinverseOp, a, cutoff)
            of_a, of_b = _cotangent(m.times_adjoint(of_x, b), a, inverse), m.adjoint_times(inverse, of_x)
        if of_squares is not None:
            scaled = 2.0 * (b - m.times(a, x)) * m.of_columns(of_squares, b)
            of_a, of_b = total(of_a, -m.times_adjoint(scaled, x)), total(of_b, scaled)
        if of_values is not None:
            left, _, right, _ = emit_all(SvdOp, a)
            of_a = total(of_a, m.times(left * m.of_columns(of_values, left), right))
        return of_a, of_b, None

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (da, db, _), (a, b, cutoff), x = given, operands, outs[0]
        change = total(db, None if da is None else -m.times(da, x))
        if change is None:
            return None, None, None, None, None
        inverse, _ = emit_all(PseudoinverseOp, a, cutoff)
        dx = None if db is None else m.times(inverse, db)
        d_values: Expr | None = None
        if da is not None:
            dx = total(dx, m.times(_tangent(da, a, inverse), b))
            left, _, right, _ = emit_all(SvdOp, a)
            d_values = m.real(m.diagonal(m.adjoint_times(left, m.times_adjoint(da, right))))
        return dx, m.column_sums(2.0 * m.real(m.conjugate(b - m.times(a, x)) * change)), None, d_values, None
