"""Systems of linear equations, inverses and logarithms of determinants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.irdl import operand_def, result_def

from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Cotangent, Given
from mlirad.dialect.core.derivative import total
from mlirad.dialect.core.expr import Expr, emit, emit_all
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, called
from mlirad.dialect.core.op import op
from mlirad.dialect.functions.complex_parts import ImagOp
from mlirad.dialect.linear_algebra import matrix_algebra as m
from mlirad.dialect.linear_algebra.loop_op import WORK, LoopOp
from mlirad.dialect.ops.compare import cast
from mlirad.dialect.ops.movement import TransposeOp, repeated, reshape
from mlirad.library.linalg import loops


def solved(a: Expr, b: Expr) -> Expr:
    """x with a @ x = b, for columns b."""
    return emit_all(SolveOp, a, b)[0]


def inverse(a: Expr) -> Expr:
    return emit_all(InvOp, a)[0]


@op(loops.solve, cost=WORK, inert=(1,), complex=True)
class SolveOp(LoopOp):
    """x with a @ x = b. x' solves a @ x' = b' - a' @ x (Giles 2008, section 2.3.1)."""

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
        """If only b has lanes, they are columns of one system, whose matrix is factored once."""
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

    The derivative is nan if a is singular; then l is -inf.
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


@op(loops.slogdet_of_complex, cost=WORK, complex=True)
class SlogdetOfComplexOp(LoopOp):
    """The same for complex matrices. Let t be the trace of a^-1 @ a'. Then l' is the real part of t, and s' is s times
    its imaginary part."""

    name = "nd.slogdet_of_complex"
    LOOP: ClassVar = "slogdet"
    a = operand_def()
    sign = result_def()
    logarithm = result_def()
    assembly_format = "$a attr-dict `:` functional-type(operands, results)"

    def numpy_source(self, source: NumpySource) -> NumpyText:
        return called("np.linalg.slogdet", source.operand(0))

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        (of_sign, of_logarithm), (sign, _), (a,) = gs, outs, operands
        turn = None if of_sign is None else cast(emit(ImagOp, of_sign * sign), a.element) * 1j
        change = total(turn, None if of_logarithm is None else cast(of_logarithm, a.element))
        return (None if change is None else m.across(change, a) * m.transposed(inverse(a)),)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (da,), (a,), (sign, _) = given, operands, outs
        if da is None:
            return None, None
        trace = m.inner(m.transposed(inverse(a)), da)
        return sign * m.imaginary(trace), m.real(trace)
