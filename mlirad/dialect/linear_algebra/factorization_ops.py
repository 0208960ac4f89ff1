"""QR factors, eigenvalues of symmetric matrices, singular values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.ir import Attribute
from xdsl.irdl import operand_def, result_def

from mlirad.dialect.arrays.slices import extract_slice, insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.derivative import total
from mlirad.dialect.core.expr import Expr, constant, current_location, emit_all, zeros_like
from mlirad.dialect.core.op import Composed, Cotangent, Given, op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.linear_algebra import matrix_algebra as m
from mlirad.dialect.linear_algebra.loop_op import WORK, LoopOp, MatricesOp
from mlirad.dialect.linear_algebra.solving_ops import solved
from mlirad.dialect.ops.movement import size_along
from mlirad.errors import DifferentiationError
from mlirad.library.linalg import loops


def _refusal(what: str, hint: str) -> DifferentiationError:
    return DifferentiationError(what, types.from_location(current_location()), hint)


# --- eigenvalues of symmetric matrices ------------------------------------------------------------------------------


class SymmetricOp(LoopOp):
    """An op on symmetric matrices, of which it reads one triangle; the other one has the derivative 0."""

    IS_LOWER: ClassVar[bool]

    @classmethod
    def whole(cls, triangle: Expr) -> Expr:
        return m.symmetric_of_lower(triangle) if cls.IS_LOWER else m.symmetric_of_upper(triangle)

    @classmethod
    def cotangent(cls, g: Expr) -> Expr:
        return m.cotangent_of_lower(g) if cls.IS_LOWER else m.cotangent_of_upper(g)


class EighOp(SymmetricOp):
    """Eigenvalues w in ascending order, and eigenvectors v in columns. With p = v.T @ a' @ v: w' is its diagonal, and
    v' = v @ (p / (w_j - w_i)) off the diagonal (Giles 2008, section 3.1).

    Eigenvectors of a repeated eigenvalue are not unique: their derivative is not finite, except where it is
    multiplied by 0.
    """

    a = operand_def()
    values = result_def()
    vectors = result_def()
    failed = result_def()
    assembly_format = "$a attr-dict `:` functional-type(operands, results)"

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        (of_values, of_vectors, _), (values, vectors, _) = gs, outs
        inner = None if of_vectors is None else _over_gaps(m.transposed_times(vectors, of_vectors), values)
        if of_values is not None:
            inner = total(inner, m.diagonal_of(of_values))
        if inner is None:
            return (None,)
        return (self.cotangent(m.times(vectors, m.times_transposed(inner, vectors))),)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (da,), (values, vectors, _) = given, outs
        if da is None:
            return None, None, None
        turned = m.transposed_times(vectors, m.times(self.whole(da), vectors))
        return m.diagonal(turned), m.times(vectors, _over_gaps(turned, values)), None


def _over_gaps(x: Expr, values: Expr) -> Expr:
    """x_ij / (values_j - values_i) off the diagonal."""
    return m.over(m.off_diagonal(x), m.with_diagonal(m.of_columns(values, x) - m.of_rows(values, x), 1.0))


@op(loops.eigh_lower, cost=WORK, inert=(2,))
class EighLowerOp(EighOp):
    name = "nd.eigh_lower"
    LOOP: ClassVar = "eigh_lo"
    IS_LOWER: ClassVar = True


@op(loops.eigh_upper, cost=WORK, inert=(2,))
class EighUpperOp(EighOp):
    name = "nd.eigh_upper"
    LOOP: ClassVar = "eigh_up"
    IS_LOWER: ClassVar = False


class EigvalshOp(SymmetricOp):
    """Eigenvalues alone, in ascending order; see EighOp."""

    a = operand_def()
    values = result_def()
    failed = result_def()
    assembly_format = "$a attr-dict `:` functional-type(operands, results)"

    def _vectors(self, a: Expr) -> Expr:
        return emit_all(EighLowerOp if self.IS_LOWER else EighUpperOp, a)[1]

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        g, vectors = gs[0], self._vectors(operands[0])
        if g is None:
            return (None,)
        return (self.cotangent(m.times_transposed(vectors * m.of_columns(g, vectors), vectors)),)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (da,) = given
        if da is None:
            return None, None
        vectors = self._vectors(operands[0])
        return m.diagonal(m.transposed_times(vectors, m.times(self.whole(da), vectors))), None


@op(loops.eigvalsh_lower, cost=WORK, inert=(1,))
class EigvalshLowerOp(EigvalshOp):
    name = "nd.eigvalsh_lower"
    LOOP: ClassVar = "eigvalsh_lo"
    IS_LOWER: ClassVar = True


@op(loops.eigvalsh_upper, cost=WORK, inert=(1,))
class EigvalshUpperOp(EigvalshOp):
    name = "nd.eigvalsh_upper"
    LOOP: ClassVar = "eigvalsh_up"
    IS_LOWER: ClassVar = False


# --- singular values -------------------------------------------------------------------------------------------------


class DecompositionOp(LoopOp):
    """u, s and v.T with u @ diag(s) @ v.T = a, s in descending order. With p = u.T @ a' @ v: s' is its diagonal. The
    rules of u and v are those of Townsend, "Differentiating the singular value decomposition" (2016).

    Vectors of a repeated singular value are not unique: their derivative is not finite, except where it is multiplied
    by 0. So it is of those of the singular value 0 where a is not square.
    """

    a = operand_def()
    left = result_def()
    values = result_def()
    right = result_def()
    failed = result_def()
    assembly_format = "$a attr-dict `:` functional-type(operands, results)"

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        (of_left, of_values, of_right, _), (left, values, right, _) = gs, outs
        rows, columns = operands[0].shape[-2:]
        inner, beside = None, None
        if of_left is not None:
            turned = m.transposed_times(left, of_left)
            gaps = _over_squared_gaps(turned - m.transposed(turned), values)
            inner = gaps * m.of_columns(values, gaps)
            if rows > columns:
                outside = of_left - m.times(left, turned)
                beside = m.times(m.over(outside, m.of_columns(values, outside)), right)
        if of_right is not None:
            turned = m.times_transposed(right, of_right)
            gaps = _over_squared_gaps(turned - m.transposed(turned), values)
            inner = total(inner, gaps * m.of_rows(values, gaps))
            if columns > rows:
                outside = of_right - m.transposed_times(turned, right)
                beside = m.times(left, m.over(outside, m.of_rows(values, outside)))
        if of_values is not None:
            inner = total(inner, m.diagonal_of(of_values))
        whole = None if inner is None else m.times(left, m.times(inner, right))
        return (total(whole, beside),)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (da,), (left, values, right, _) = given, outs
        if da is None:
            return None, None, None, None
        rows, columns = operands[0].shape[-2:]
        of_rows, of_columns = m.times_transposed(da, right), m.transposed_times(left, da)
        turned = m.transposed_times(left, of_rows)
        by_columns, by_rows = turned * m.of_columns(values, turned), turned * m.of_rows(values, turned)
        d_left = m.times(left, _over_squared_gaps(by_columns + m.transposed(by_columns), values))
        d_right = m.transposed_times(_over_squared_gaps(by_rows + m.transposed(by_rows), values), right)
        if rows > columns:
            outside = of_rows - m.times(left, turned)
            d_left = d_left + m.over(outside, m.of_columns(values, outside))
        if columns > rows:
            outside = of_columns - m.times(turned, right)
            d_right = d_right + m.over(outside, m.of_rows(values, outside))
        return d_left, m.diagonal(turned), d_right, None


def _over_squared_gaps(x: Expr, values: Expr) -> Expr:
    """x_ij / (values_j^2 - values_i^2) off the diagonal."""
    one, other = m.of_columns(values, x), m.of_rows(values, x)
    return m.over(m.off_diagonal(x), m.with_diagonal((one - other) * (one + other), 1.0))


@op(loops.svd, cost=WORK, inert=(3,))
class SvdOp(DecompositionOp):
    """With as many vectors as singular values."""

    name = "nd.svd"
    LOOP: ClassVar = "svd_s"


@op(loops.svd_full, cost=WORK, inert=(3,))
class SvdFullOp(DecompositionOp):
    """With square u and v. What is beside the vectors of singular values is not unique, and has no derivative."""

    name = "nd.svd_full"
    LOOP: ClassVar = "svd_f"

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        if self._is_square(operands[0]):
            return super().cotangents(gs, outs, operands)
        of_left, of_values, of_right, _ = gs
        if of_left is not None or of_right is not None:
            raise self._no_derivative()
        left, _, right, _ = emit_all(SvdOp, operands[0])
        assert of_values is not None, "an op is asked for cotangents where it is given one"
        return (m.times(left, m.times(m.diagonal_of(of_values), right)),)

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
        return _refusal(f"{what}: some are not unique", "write full_matrices=False, or np.linalg.svdvals")


@op(loops.singular_values, cost=WORK, inert=(1,))
class SingularValuesOp(LoopOp):
    """Singular values alone, in descending order; see DecompositionOp."""

    name = "nd.singular_values"
    LOOP: ClassVar = "svd"
    a = operand_def()
    values = result_def()
    failed = result_def()
    assembly_format = "$a attr-dict `:` functional-type(operands, results)"

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
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
        return m.diagonal(m.transposed_times(left, m.times_transposed(da, right))), None


# --- QR factors ------------------------------------------------------------------------------------------------------


class PackedOp(LoopOp):
    """A step of LAPACK's QR factors, whose results are compositions of reflections: they have no derivative."""

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        raise self._no_derivative()

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        raise self._no_derivative()

    def _no_derivative(self) -> DifferentiationError:
        return _refusal("np.linalg.qr with mode='raw' has no derivative", "write mode='reduced'")


@op(loops.reflections, cost=WORK)
class ReflectionsOp(PackedOp):
    """The reflections that make a an upper triangle, which is in a's memory with them, and their factors."""

    name = "nd.reflections"
    LOOP: ClassVar = "qr_r_raw"
    a = operand_def()
    packed = result_def()
    factors = result_def()
    failed = result_def()
    assembly_format = "$a attr-dict `:` functional-type(operands, results)"


class OfReflectionsOp(PackedOp):
    """The orthogonal matrix that reflections make."""

    packed = operand_def()
    factors = operand_def()
    orthogonal = result_def()
    failed = result_def()
    assembly_format = "$packed `,` $factors attr-dict `:` functional-type(operands, results)"


@op(loops.of_reflections, cost=WORK)
class ReducedOfReflectionsOp(OfReflectionsOp):
    """Its columns, as many as there are reflections."""

    name = "nd.of_reflections"
    LOOP: ClassVar = "qr_reduced"


@op(loops.whole_of_reflections, cost=WORK)
class WholeOfReflectionsOp(OfReflectionsOp):
    name = "nd.whole_of_reflections"
    LOOP: ClassVar = "qr_complete"


class FactorsOp(MatricesOp):
    """q with orthonormal columns, and an upper triangle r with q @ r = a: a few loops of NumPy's.

    Of a with at least as many rows as columns, the rules are those of Walter and Lehmann, "Algorithmic differentiation
    of linear algebra functions" (2010); of others, those of Roberts and Roberts, "QR and LQ decomposition matrix
    backpropagation algorithms" (2020). The derivative is not finite where the first columns depend on one another.
    """

    a = operand_def()
    q = result_def()
    r = result_def()
    failed = result_def()
    assembly_format = "$a attr-dict `:` functional-type(operands, results)"

    @classmethod
    def columns(cls, rows: int, columns: int) -> int:
        """How many columns q has."""
        return min(rows, columns)

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        packed, _, failed = ReflectionsOp.infer(operands, {})
        *outer, rows, columns = types.shape(packed)
        count = cls.columns(rows, columns)
        shapes = [*outer, rows, count], [*outer, count, columns]
        return [*(types.tensor(shape, types.F64) for shape in shapes), failed]

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


@op(loops.qr, cost=WORK, inert=(2,))
class QrOp(FactorsOp):
    """q with as many columns as r has rows."""

    name = "nd.qr"

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        (of_q, of_r, _), (q, r, _), (a,) = gs, outs, operands
        rows, columns = a.shape[-2:]
        if rows >= columns:
            return (_cotangent_of_qr(of_q, of_r, q, r),)
        rest = _block(a, (0, rows), (rows, columns))
        of_first, other = None, zeros_like(rest)
        if of_r is not None:
            of_first, of_rest = (_block(of_r, (0, rows), each) for each in ((0, rows), (rows, columns)))
            of_q, other = total(of_q, m.times_transposed(rest, of_rest)), m.times(q, of_rest)
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
        d_rest = m.transposed_times(dq, _block(a, (0, rows), (rows, columns))) + m.transposed_times(q, rest)
        return dq, _beside(d_first, d_rest, r), None


def _cotangent_of_qr(of_q: Expr | None, of_r: Expr | None, q: Expr, r: Expr) -> Expr | None:
    """Of a with at least as many rows as columns."""
    inner = None if of_r is None else m.times_transposed(r, m.upper(of_r))
    if of_q is not None:
        inner = total(inner, -m.transposed_times(of_q, q))
    if inner is None:
        return None
    whole = total(of_q, m.times(q, m.symmetric_of_lower(inner)))
    assert whole is not None
    return m.transposed(solved(r, m.transposed(whole)))


def _tangent_of_qr(da: Expr, q: Expr, r: Expr) -> tuple[Expr, Expr]:
    """Of a with at least as many rows as columns."""
    scaled = m.transposed(solved(m.transposed(r), m.transposed(da)))
    inner = m.transposed_times(q, scaled)
    below = m.strictly_lower(inner)
    turn = below - m.transposed(below)
    return m.times(q, turn - inner) + scaled, m.times(m.upper(inner - turn), r)


@op(loops.qr_complete, cost=WORK, inert=(2,))
class QrCompleteOp(FactorsOp):
    """q square, of a with more rows than columns. The columns beside those of QrOp are not unique, and have no
    derivative; nor are they known apart from the others."""

    name = "nd.qr_complete"

    @classmethod
    def columns(cls, rows: int, columns: int) -> int:
        return rows

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        of_q, of_r, _ = gs
        if of_q is not None:
            raise self._no_derivative()
        assert of_r is not None, "an op is asked for cotangents where it is given one"
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
        return _refusal(f"{what}: some columns are not unique", "write mode='reduced'")
