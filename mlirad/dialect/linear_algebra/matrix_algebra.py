"""Algebra on stacks of matrices, used by the derivatives of ops on them."""

from __future__ import annotations

from string import ascii_uppercase

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, emit, ones_like, sum_of, unknown_dims, where, zeros_like
from mlirad.dialect.functions.complex_parts import ConjOp, RealOp
from mlirad.dialect.ops.choice import annihilated
from mlirad.dialect.ops.compare import cast
from mlirad.dialect.ops.constant import counted
from mlirad.dialect.ops.contraction import contract
from mlirad.dialect.ops.movement import TransposeOp, broadcast, broadcast_like, reshape, size_along


def _outer(x: Expr) -> str:
    return ascii_uppercase[: len(x.shape) - 2]


def times(x: Expr, y: Expr) -> Expr:
    """x @ y."""
    outer = _outer(x)
    return contract(f"{outer}ij,{outer}jk->{outer}ik", x, y)


def times_transposed(x: Expr, y: Expr) -> Expr:
    """x @ y.T"""
    outer = _outer(x)
    return contract(f"{outer}ij,{outer}kj->{outer}ik", x, y)


def transposed_times(x: Expr, y: Expr) -> Expr:
    """x.T @ y"""
    outer = _outer(x)
    return contract(f"{outer}ji,{outer}jk->{outer}ik", x, y)


def transposed(x: Expr) -> Expr:
    rank = len(x.shape)
    return emit(TransposeOp, x, permutation=[*range(rank - 2), rank - 1, rank - 2])


def conjugate(x: Expr) -> Expr:
    """The complex conjugate; a real x unchanged."""
    return emit(ConjOp, x) if types.is_complex(x.type) else x


def real(x: Expr) -> Expr:
    """The real part."""
    return emit(RealOp, x) if types.is_complex(x.type) else x


def imaginary(x: Expr) -> Expr:
    """The imaginary part of a complex x, as an imaginary number."""
    return x - cast(real(x), x.element)


def adjoint(x: Expr) -> Expr:
    """The conjugate of `transposed(x)`."""
    return transposed(conjugate(x))


def times_adjoint(x: Expr, y: Expr) -> Expr:
    """x @ y.T.conj()"""
    return times_transposed(x, conjugate(y))


def adjoint_times(x: Expr, y: Expr) -> Expr:
    """x.T.conj() @ y"""
    return transposed_times(conjugate(x), y)


def _places(x: Expr) -> tuple[Expr, Expr]:
    """The row and the column of each element."""
    rank = len(x.shape)
    sizes = [x.shape[axis] if x.shape[axis] >= 0 else size_along(x.value, axis) for axis in (rank - 2, rank - 1)]
    row, column = (broadcast_like(counted(size), [rank - 2 + place], x) for place, size in enumerate(sizes))
    return row, column


def lower(x: Expr) -> Expr:
    """The lower triangle, the diagonal included, with zeros above it."""
    row, column = _places(x)
    return where(row >= column, x, zeros_like(x))


def strictly_lower(x: Expr) -> Expr:
    row, column = _places(x)
    return where(row > column, x, zeros_like(x))


def upper(x: Expr) -> Expr:
    row, column = _places(x)
    return where(row <= column, x, zeros_like(x))


def half_lower(x: Expr) -> Expr:
    """The lower triangle with half of the diagonal: for a Hermitian x, h + adjoint(h) is x."""
    row, column = _places(x)
    return where(row > column, x, where(row == column, x * 0.5, zeros_like(x)))


def on_diagonal(x: Expr) -> Expr:
    """x on its diagonal, and zeros elsewhere."""
    row, column = _places(x)
    return where(row == column, x, zeros_like(x))


def off_diagonal(x: Expr) -> Expr:
    """x with zeros on its diagonal."""
    row, column = _places(x)
    return where(row == column, zeros_like(x), x)


def with_diagonal(x: Expr, number: float) -> Expr:
    """x with a number everywhere on its diagonal."""
    row, column = _places(x)
    return where(row == column, number * ones_like(x), x)


def diagonal(x: Expr) -> Expr:
    """The diagonal of square matrices."""
    return row_sums(on_diagonal(x))


def row_sums(x: Expr) -> Expr:
    return sum_of(x, [len(x.shape) - 1])


def column_sums(x: Expr) -> Expr:
    return sum_of(x, [len(x.shape) - 2])


def as_array(x: Expr) -> Expr:
    """One number for each matrix of a stack; an array even if there is only one matrix."""
    return reshape(x, types.tensor(x.shape, x.element))


def across(x: Expr, like: Expr) -> Expr:
    """One number for each matrix, broadcast to all elements; as in `of_rows`, complex if the matrices of `like` are."""
    return broadcast_like(_as_those_of(x, like), range(len(like.shape) - 2), like)


def of_rows(x: Expr, like: Expr) -> Expr:
    """One number for each row, broadcast along the row."""
    return broadcast_like(_as_those_of(x, like), range(len(like.shape) - 1), like)


def of_columns(x: Expr, like: Expr) -> Expr:
    """One number for each column, broadcast along the column."""
    rank = len(like.shape)
    return broadcast_like(_as_those_of(x, like), [*range(rank - 2), rank - 1], like)


def _as_those_of(x: Expr, like: Expr) -> Expr:
    return cast(x, like.element) if types.is_complex(like.type) else x


def diagonal_of(x: Expr) -> Expr:
    """Square matrices with x on their diagonals."""
    *outer, size = x.shape
    shape, sizes = (*outer, size, size), unknown_dims(x)
    return on_diagonal(broadcast(x, range(len(x.shape)), shape, [*sizes, *sizes[len(sizes) - (size < 0) :]]))


def inner(x: Expr, y: Expr) -> Expr:
    """The sum of the products of all elements, for each matrix; an array even if there is only one matrix."""
    outer = len(x.shape) - 2
    return as_array(sum_of(x * y, [outer, outer + 1]))


def hermitian_of_lower(x: Expr) -> Expr:
    """The Hermitian matrix that has the lower triangle of x, and the real part of its diagonal."""
    if types.is_complex(x.type):
        return strictly_lower(x) + adjoint(strictly_lower(x)) + cast(real(on_diagonal(x)), x.element)
    return strictly_lower(x) + transposed(lower(x))


def hermitian_of_upper(x: Expr) -> Expr:
    return hermitian_of_lower(adjoint(x))


def cotangent_of_lower(g: Expr) -> Expr:
    """The cotangent of x, given that of `hermitian_of_lower(x)`, for the inner product of `AdjointOp`."""
    if types.is_complex(g.type):
        return strictly_lower(g) + strictly_lower(adjoint(g)) + cast(real(on_diagonal(g)), g.element)
    return lower(g) + strictly_lower(transposed(g))


def cotangent_of_upper(g: Expr) -> Expr:
    return adjoint(cotangent_of_lower(g))


def over(x: Expr, y: Expr) -> Expr:
    """x / y, and 0 where x is 0."""
    return annihilated(x / y, x)
