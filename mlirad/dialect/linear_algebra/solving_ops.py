"""Systems of linear equations, inverses, determinants and Cholesky factors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.irdl import operand_def, result_def

from mlirad.dialect.core import types
from mlirad.dialect.core.derivative import total
from mlirad.dialect.core.expr import Expr, emit, emit_all
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, called
from mlirad.dialect.core.op import Cotangent, Given, op
from mlirad.dialect.linear_algebra import matrix_algebra as m
from mlirad.dialect.linear_algebra.loop_op import WORK, LoopOp
from mlirad.dialect.ops.movement import TransposeOp, repeated, reshape
from mlirad.library.linalg import loops


def solved(a: Expr, b: Expr) -> Expr:
    """x with a @ x = b, of columns b."""
    return emit_all(SolveOp, a, b)[0]


def inverse(a: Expr) -> Expr:
    return emit_all(InvOp, a)[0]


@op(loops.solve, cost=WORK, inert=(1,), complex=True)
class SolveOp(LoopOp):
    """x with a @ x = b. With x': a @ x' = b' - a' @ x (Giles 2008, section 2.3.1)."""

    name = "nd.solve"
    LOOP: ClassVar = "solve"
    a = operand_def()
    b = operand_def()
    result = result_def()
    failed = result_def()
    assembly_format = "$a `,` $b attr-dict `:` functional-type(operands, results)"

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        g, x = gs[0], outs[0]
        if g is None:
            return None, None
        of_b = solved(m.transposed(operands[0]), g)
        return -m.times_transposed(of_b, x), of_b

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (da, db), (a, _) = given, operands
        right = total(db, None if da is None else -m.times(da, outs[0]))
        return None if right is None else solved(a, right), None

    def batched(self, operands: Sequence[Expr], stacked: Sequence[bool], lanes: int | Expr) -> Sequence[Expr] | None:
        """Lanes of b alone are columns of one system, whose matrix is factored once."""
        (a, b), (is_stacked, _) = operands, stacked
        if is_stacked or isinstance(lanes, Expr) or not types.is_static(b.type):
            return super().batched(operands, stacked, lanes)
        _, *outer, rows, columns = b.shape
        rank = len(outer) + 3
        order = [*range(1, rank - 1), 0, rank - 1]
        wide = types.tensor([*outer, rows, lanes * columns], b.element)
        x, failed = emit_all(SolveOp, a, reshape(emit(TransposeOp, b, permutation=order), wide))
        apart = reshape(x, types.tensor([*outer, rows, lanes, columns], b.element))
        return [emit(TransposeOp, apart, permutation=[rank - 2, *range(rank - 2), rank - 1]), repeated(failed, lanes)]


@op(loops.inv, cost=WORK, inert=(1,), complex=True)
class InvOp(LoopOp):
    """The inverse y of a: y' = -y @ a' @ y (Giles 2008, section 2.2.3)."""

    name = "nd.inv"
    LOOP: ClassVar = "inv"
    a = operand_def()
    result = result_def()
    failed = result_def()
    assembly_format = "$a attr-dict `:` functional-type(operands, results)"

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        g, y = gs[0], outs[0]
        return (None if g is None else -m.transposed_times(y, m.times_transposed(g, y)),)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (da,), y = given, outs[0]
        return None if da is None else -m.times(y, m.times(da, y)), None


@op(loops.slogdet, cost=WORK, inert=(0,))
class SlogdetOp(LoopOp):
    """The sign s of the determinant, and l = log|det(a)|: l' is the trace of a^-1 @ a' (Giles 2008, section 2.2.4).

    The derivative is nan where a is singular, where l is -inf.
    """

    name = "nd.slogdet"
    LOOP: ClassVar = "slogdet"
    a = operand_def()
    sign = result_def()
    logarithm = result_def()
    assembly_format = "$a attr-dict `:` functional-type(operands, results)"

    def numpy_source(self, source: NumpySource) -> NumpyText:
        return called("np.linalg.slogdet", source.operand(0))

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        (a,), g = operands, gs[1]
        return (None if g is None else m.across(g, a) * m.transposed(inverse(a)),)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (da,), (a,) = given, operands
        return None, None if da is None else m.inner(m.transposed(inverse(a)), da)


class CholeskyOp(LoopOp):
    """A Cholesky factor. One triangle of a is read; the other one has the derivative 0."""

    a = operand_def()
    factor = result_def()
    failed = result_def()
    assembly_format = "$a attr-dict `:` functional-type(operands, results)"


@op(loops.cholesky_lower, cost=WORK, inert=(1,))
class CholeskyLowerOp(CholeskyOp):
    """L with L @ L.T = a: L' = L @ half(L^-1 @ a' @ L^-T), where half takes the lower triangle and half of the diagonal
    (Murray 2016, "Differentiation of the Cholesky decomposition", section 3)."""

    name = "nd.cholesky_lower"
    LOOP: ClassVar = "cholesky_lo"

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        g, factor = gs[0], outs[0]
        return (None if g is None else m.cotangent_of_lower(_cotangent(factor, m.lower(g))),)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (da,), factor = given, outs[0]
        return None if da is None else _tangent(factor, m.symmetric_of_lower(da)), None


@op(loops.cholesky_upper, cost=WORK, inert=(1,))
class CholeskyUpperOp(CholeskyOp):
    """U with U.T @ U = a, by the rules of the lower factor U.T."""

    name = "nd.cholesky_upper"
    LOOP: ClassVar = "cholesky_up"

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        g, factor = gs[0], outs[0]
        if g is None:
            return (None,)
        return (m.cotangent_of_upper(_cotangent(m.transposed(factor), m.lower(m.transposed(g)))),)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (da,), factor = given, outs[0]
        if da is None:
            return None, None
        return m.transposed(_tangent(m.transposed(factor), m.symmetric_of_upper(da))), None


def _tangent(factor: Expr, da: Expr) -> Expr:
    """L', for a symmetric a'."""
    inner = solved(factor, m.transposed(solved(factor, da)))
    return m.times(factor, m.half_lower(inner))


def _cotangent(factor: Expr, g: Expr) -> Expr:
    """The cotangent of a symmetric a, for that of L."""
    upper = m.transposed(factor)
    inner = m.half_lower(m.transposed_times(factor, g))
    return solved(upper, m.transposed(solved(upper, m.transposed(inner))))
