"""The cotangent of a matrix, given that of its Cholesky factor."""

from __future__ import annotations

import numpy as np

from mlirad.dialect.arrays.slices import add_slice, extract_slice, insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.control import for_loop
from mlirad.dialect.core.expr import Expr, apply, constant, dim
from mlirad.dialect.linear_algebra import matrix_algebra as m
from mlirad.dialect.linear_algebra.solving_ops import inverse

_FEW_ROWS = 48
"""Matrices with fewer rows are one block."""


def cotangent_of_factored(factor: Expr, g: Expr) -> Expr:
    """The cotangent of the lower triangle of a = L @ L.T.conj(), given that of L, for the inner product of `AdjointOp`.

    Large matrices are read by blocks of columns, from the last to the first, so that no product has the zeros of L as
    an operand (Murray 2016, "Differentiation of the Cholesky decomposition", section 4.2).
    """
    rows = factor.shape[-1]
    if rows < _FEW_ROWS:  # also if the number is not known
        return m.cotangent_of_lower(_cotangent_of_block(factor, inverse(factor), m.lower(g)))
    width = 32 if rows < 512 else 64
    count = -(-rows // width)

    def step(number: Expr, held: Expr) -> Expr:
        start = (count - 1 - number) * width
        return _before_block(factor, held, start, apply(np.minimum, start + width, constant(rows, types.I64)))

    return for_loop(count, [m.lower(g)], step)[0]


def _cotangent_of_block(factor: Expr, inverted: Expr, g: Expr) -> Expr:
    """The cotangent of a Hermitian a, given also the inverse of L."""
    inner = m.half_lower(m.adjoint_times(factor, g))
    return m.adjoint_times(inverted, m.times(inner, inverted))


def _before_block(factor: Expr, held: Expr, start: Expr, end: Expr) -> Expr:
    """`held` before the columns from `start` to `end` of L were computed. To their left and right, it has cotangents of
    L and of a. The rows of the block are [left own], those below it [below_left below]."""
    rows, first = constant(factor.shape[-1], types.I64), constant(0, types.I64)
    left, own = _part(factor, (start, end), (first, start)), _part(factor, (start, end), (start, end))
    below_left, below = _part(factor, (end, rows), (first, start)), _part(factor, (end, rows), (start, end))
    inverted = inverse(own)
    of_below = m.times(_part(held, (end, rows), (start, end)), inverted)
    of_own = m.lower(_part(held, (start, end), (start, end)) - m.adjoint_times(of_below, below))
    found = _cotangent_of_block(own, inverted, of_own)
    of_left = -m.adjoint_times(of_below, below_left) - m.times(found + m.adjoint(found), left)
    held = insert_slice(of_below, held, _at(held, end, start))
    held = add_slice(-m.times(of_below, left), held, _at(held, end, first))
    held = add_slice(of_left, held, _at(held, start, first))
    return insert_slice(m.cotangent_of_lower(found), held, _at(held, start, start))


def _at(x: Expr, row: Expr, column: Expr) -> list[Expr]:
    return [*(constant(0, types.I64) for _ in x.shape[:-2]), row, column]


def _part(x: Expr, rows: tuple[Expr, Expr], columns: tuple[Expr, Expr]) -> Expr:
    """The elements of x in these rows and columns."""
    outer = [size if size >= 0 else dim(x, axis) for axis, size in enumerate(x.shape[:-2])]
    return extract_slice(x, _at(x, rows[0], columns[0]), [*outer, rows[1] - rows[0], columns[1] - columns[0]])
