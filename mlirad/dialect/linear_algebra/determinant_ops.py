"""Determinants and their derivatives, the cofactors, also for singular matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import operand_def, result_def

from mlirad.dialect.arrays.product import products_of_others
from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Composed, Cotangent
from mlirad.dialect.core.control import branch
from mlirad.dialect.core.derivative import OneOperandOp
from mlirad.dialect.core.expr import Expr, emit, emit_all
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, called
from mlirad.dialect.core.op import op
from mlirad.dialect.core.registry import Properties, op_of
from mlirad.dialect.linear_algebra import matrix_algebra as m
from mlirad.dialect.linear_algebra.loop_op import WORK, LoopOp, MatricesOp
from mlirad.dialect.linear_algebra.singular_value_ops import SvdOp
from mlirad.dialect.linear_algebra.solving_ops import inverse
from mlirad.errors import ShapeError
from mlirad.library.linalg import loops

_WELL_CONDITIONED = 1e5
"""The largest condition number, in the maximum norm, for which cofactors are computed from an inverse."""
_NORMAL = 1e-280
"""Smaller determinants may have lost digits, and those larger than its inverse may overflow."""


@op(loops.det, cost=WORK, complex=True)
class DetOp(OneOperandOp, LoopOp):
    """The determinant. Its derivatives are the cofactors (Giles 2008, section 2.2.4), also for singular matrices; of
    real ones that are well conditioned, they are computed from the inverse.

    If the sizes are known only at run time, they are computed from the inverse, and are nan for singular matrices.
    """

    name = "nd.det"
    LOOP: ClassVar = "det"
    a = operand_def()
    result = result_def()
    assembly_format = "$a attr-dict `:` functional-type(operands, results)"

    def numpy_source(self, source: NumpySource) -> NumpyText:
        return called("np.linalg.det", source.operand(0))

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Cotangent:
        return m.across(g, x) * self._cofactors(out, x)

    def jvp(self, dx: Expr, out: Expr, x: Expr) -> Expr:
        return m.inner(self._cofactors(out, x), dx)

    @staticmethod
    def _cofactors(out: Expr, x: Expr) -> Expr:
        is_static = types.is_static(x.type)
        if is_static and (types.is_complex(x.type) or 0 in x.shape):
            return emit(CofactorsOp, x)
        inverted = inverse(x)

        def quick() -> Expr:
            return m.across(out, x) * m.transposed(inverted)

        if not is_static:
            return quick()
        norms = _largest(m.row_sums(np.abs(x))) * _largest(m.row_sums(np.abs(inverted)))
        size = np.abs(out)
        is_normal = (_largest(size) < 1.0 / _NORMAL) & (_largest(-size) < -_NORMAL)
        return branch((norms < _WELL_CONDITIONED) & is_normal, quick, lambda: emit(CofactorsOp, x))[0]


def _largest(x: Expr) -> Expr:
    return emit(op_of(np.max), x, axes=range(len(x.shape)))


@op(loops.cofactors, cost=8 * WORK, complex=True)
class CofactorsOp(OneOperandOp, MatricesOp):
    """The cofactors of square matrices. Those of diag(s) are the products of the other elements of s. Those of u @
    diag(s) @ w are det(u) * det(w) * conj(u @ cofactors @ w), if u and w are unitary.

    Let k = u.T.conj() @ a' @ w.T.conj(), and p_ij the product of all s except s_i and s_j. In the same basis, the
    derivative is -p_ij k_ji off the diagonal, and on the diagonal the sum of p_ij k_jj over all other j. These are
    polynomials, so they also hold for singular matrices. The next derivatives contain derivatives of the singular
    values, which must differ.
    """

    name = "nd.cofactors"
    a = operand_def()
    result = result_def()
    assembly_format = "$a attr-dict `:` functional-type(operands, results)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        (type,) = operands
        DetOp.infer(operands, {})
        if not isinstance(type, TensorType) or not types.is_static(type):
            raise ShapeError(f"{cls.name}: the sizes of {type} must be known while compiling")
        return [type]

    def loops(self) -> Composed:
        return Composed(self._build)

    def _build(self, a: Expr) -> Sequence[Expr]:
        left, values, right, sign = _basis(a)
        others = products_of_others(values, [len(values.shape) - 1])
        return [sign * m.conjugate(m.times(left * m.of_columns(others, left), right))]

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return self.jvp(g, out, x)  # the second derivatives of a scalar function are symmetric

    def jvp(self, dx: Expr, out: Expr, x: Expr) -> Expr:
        left, values, right, sign = _basis(x)
        turned = m.adjoint_times(left, m.times_adjoint(dx, right))
        every = m.with_diagonal(m.of_columns(values, dx), 1.0)
        others = m.off_diagonal(products_of_others(every, [len(dx.shape) - 1]))
        sums = m.row_sums(others * m.of_columns(m.diagonal(turned), others))
        inner = m.diagonal_of(sums) - others * m.transposed(turned)
        return sign * m.times(m.conjugate(left), m.times(inner, m.conjugate(right)))


def _basis(a: Expr) -> tuple[Expr, Expr, Expr, Expr]:
    """u, s and w, and the sign det(u) * det(w), broadcast to all elements."""
    left, values, right, _ = emit_all(SvdOp, a)
    return left, values, right, m.across(emit(DetOp, left) * emit(DetOp, right), a)
