"""QR factors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.ir import Attribute
from xdsl.irdl import operand_def, result_def

from mlirad.dialect.arrays.slices import extract_slice, insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Composed, Cotangent, Given
from mlirad.dialect.core.derivative import total
from mlirad.dialect.core.expr import Expr, constant, emit_all, zeros_like
from mlirad.dialect.core.op import op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.linear_algebra import matrix_algebra as m
from mlirad.dialect.linear_algebra.loop_op import WORK, AdjointOp, LoopOp, no_derivative
from mlirad.dialect.linear_algebra.solving_ops import solved
from mlirad.dialect.ops.movement import size_along
from mlirad.errors import DifferentiationError
from mlirad.library.linalg import loops


class PackedOp(LoopOp):
    """A step of LAPACK's QR factorisation. Its results encode reflections and have no derivative."""

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        raise self._no_derivative()

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        raise self._no_derivative()

    def _no_derivative(self) -> DifferentiationError:
        return no_derivative("np.linalg.qr with mode='raw' has no derivative", "write mode='reduced'")


@op(loops.reflections, cost=WORK, complex=True)
class ReflectionsOp(PackedOp):
    """The reflections that make a upper triangular, their factors, and the triangle; stored in a's memory."""

    name = "nd.reflections"
    LOOP: ClassVar = "qr_r_raw"
    a = operand_def()
    packed = result_def()
    factors = result_def()
    failed = result_def()
    assembly_format = "$a attr-dict `:` functional-type(operands, results)"


class OfReflectionsOp(PackedOp):
    """The orthogonal matrix composed of reflections."""

    packed = operand_def()
    factors = operand_def()
    orthogonal = result_def()
    failed = result_def()
    assembly_format = "$packed `,` $factors attr-dict `:` functional-type(operands, results)"


@op(loops.of_reflections, cost=WORK, complex=True)
class ReducedOfReflectionsOp(OfReflectionsOp):
    """Its columns, as many as there are reflections."""

    name = "nd.of_reflections"
    LOOP: ClassVar = "qr_reduced"


@op(loops.whole_of_reflections, cost=WORK, complex=True)
class WholeOfReflectionsOp(OfReflectionsOp):
    name = "nd.whole_of_reflections"
    LOOP: ClassVar = "qr_complete"


class FactorsOp(AdjointOp):
    """q with orthonormal columns, and upper triangular r with a real diagonal: q @ r = a. Computed by a few loops.

    For at least as many rows as columns, the rules are those of Walter and Lehmann, "Algorithmic differentiation of
    linear algebra functions" (2010); for others, those of Roberts and Roberts, "QR and LQ decomposition matrix
    backpropagation algorithms" (2020). The derivative is not finite if the first columns are linearly dependent.
    """

    a = operand_def()
    q = result_def()
    r = result_def()
    failed = result_def()
    assembly_format = "$a attr-dict `:` functional-type(operands, results)"

    @classmethod
    def columns(cls, rows: int, columns: int) -> int:
        """The number of columns of q."""
        return min(rows, columns)

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        packed, _, failed = ReflectionsOp.infer(operands, {})
        element = types.element_type(packed)
        *outer, rows, columns = types.shape(packed)
        count = cls.columns(rows, columns)
        shapes = [*outer, rows, count], [*outer, count, columns]
        return [*(types.tensor(shape, element) for shape in shapes), failed]

    def loops(self) -> Composed:
        return Composed(self._build)

    def _build(self, a: Expr) -> Sequence[Expr]:
        packed, factors, failed = emit_all(ReflectionsOp, a)
        rows, columns = a.shape[-2:]
        count = self.columns(rows, columns)
        step = WholeOfReflectionsOp if count > columns else ReducedOfReflectionsOp
        q, _ = emit_all(step, packed, factors)
        return q, m.upper(_block(packed, (0, count), (0, columns))), failed


def _block(x: Expr, rows: tuple[int, int], columns: tuple[int, int]) -> Expr:
    """The elements of x in these rows and columns."""
    *outer, height, width = x.shape
    if (rows, columns) == ((0, height), (0, width)):
        return x
    zero = constant(0, types.I64)
    starts = [*(zero for _ in outer), *(constant(each[0], types.I64) for each in (rows, columns))]
    sizes = [*(size if size >= 0 else size_along(x.value, axis) for axis, size in enumerate(outer))]
    return extract_slice(x, starts, [*sizes, rows[1] - rows[0], columns[1] - columns[0]])


def _beside(x: Expr, y: Expr, like: Expr) -> Expr:
    """x and y side by side, in an array of the shape of `like`."""
    outer = [constant(0, types.I64)] * (len(like.shape) - 1)
    whole = insert_slice(x, zeros_like(like), [*outer, constant(0, types.I64)])
    return insert_slice(y, whole, [*outer, constant(x.shape[-1], types.I64)])


@op(loops.qr, cost=WORK, inert=(2,), complex=True)
class QrOp(FactorsOp):
    """q with as many columns as r has rows."""

    name = "nd.qr"

    def adjoints(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (of_q, of_r, _), (q, r, _), (a,) = gs, outs, operands
        rows, columns = a.shape[-2:]
        if rows >= columns:
            return (_cotangent_of_qr(of_q, of_r, q, r),)
        rest = _block(a, (0, rows), (rows, columns))
        of_first, other = None, zeros_like(rest)
        if of_r is not None:
            of_first, of_rest = (_block(of_r, (0, rows), each) for each in ((0, rows), (rows, columns)))
            of_q, other = total(of_q, m.times_adjoint(rest, of_rest)), m.times(q, of_rest)
        first = _cotangent_of_qr(of_q, of_first, q, _block(r, (0, rows), (0, rows)))
        return (None if first is None else _beside(first, other, a),)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (da,), (q, r, _), (a,) = given, outs, operands
        if da is None:
            return None, None, None
        rows, columns = a.shape[-2:]
        if rows >= columns:
            return *_tangent_of_qr(da, q, r), None
        first, rest = (_block(da, (0, rows), each) for each in ((0, rows), (rows, columns)))
        dq, d_first = _tangent_of_qr(first, q, _block(r, (0, rows), (0, rows)))
        d_rest = m.adjoint_times(dq, _block(a, (0, rows), (rows, columns))) + m.adjoint_times(q, rest)
        return dq, _beside(d_first, d_rest, r), None


def _cotangent_of_qr(of_q: Expr | None, of_r: Expr | None, q: Expr, r: Expr) -> Expr | None:
    """The cotangent of a with at least as many rows as columns, for the inner product of `AdjointOp`."""
    inner = None if of_r is None else m.times_adjoint(r, m.upper(of_r))
    if of_q is not None:
        inner = total(inner, -m.adjoint_times(of_q, q))
    if inner is None:
        return None
    whole = total(of_q, m.times(q, m.hermitian_of_lower(inner)))
    assert whole is not None
    return m.adjoint(solved(r, m.adjoint(whole)))


def _tangent_of_qr(da: Expr, q: Expr, r: Expr) -> tuple[Expr, Expr]:
    """The tangents of q and r, for a with at least as many rows as columns."""
    scaled = m.transposed(solved(m.transposed(r), m.transposed(da)))
    inner = m.adjoint_times(q, scaled)
    below = m.strictly_lower(inner)
    turn = below - m.adjoint(below)
    if types.is_complex(inner.type):
        turn = turn + m.on_diagonal(m.imaginary(inner))
    return m.times(q, turn - inner) + scaled, m.times(m.upper(inner - turn), r)


@op(loops.qr_complete, cost=WORK, inert=(2,), complex=True)
class QrCompleteOp(FactorsOp):
    """A square q, for a with more rows than columns. The columns that QrOp does not have are not unique and have no
    derivative; nor has q as a whole, because it is not known which columns are used."""

    name = "nd.qr_complete"

    @classmethod
    def columns(cls, rows: int, columns: int) -> int:
        return rows

    def adjoints(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        of_q, of_r, _ = gs
        if of_q is not None:
            raise self._no_derivative()
        assert of_r is not None, "an op is asked for cotangents only if a result has one"
        columns = operands[0].shape[-1]
        q, r, _ = emit_all(QrOp, operands[0])
        return (_cotangent_of_qr(None, _block(of_r, (0, columns), (0, columns)), q, r),)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        if given[0] is None:
            return None, None, None
        raise self._no_derivative()

    @staticmethod
    def _no_derivative() -> DifferentiationError:
        what = "q of np.linalg.qr with mode='complete', of a matrix with more rows than columns, has no derivative"
        return no_derivative(f"{what}: some columns are not unique", "write mode='reduced'")
