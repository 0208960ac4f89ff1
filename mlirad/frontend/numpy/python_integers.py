"""Arithmetic on Python's ints, which grow: a result that does not fit in 64 bits is an OverflowError, never wrong.

Reads: i64 scalars and ints. Writes: nd ops, with their checks. Leaves: i64 scalars.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, apply, emit
from mlirad.dialect.core.intervals import HIGHEST, LOWEST
from mlirad.dialect.ops.check import check
from mlirad.dialect.ops.compare import cast
from mlirad.dialect.ops.overflow import AddFitsOp, FitsOp, FloorDivFitsOp, MulFitsOp, SubFitsOp

_FITS: Mapping[np.ufunc, tuple[str, type[FitsOp]]] = {
    np.add: ("+", AddFitsOp),
    np.subtract: ("-", SubFitsOp),
    np.multiply: ("*", MulFitsOp),
    np.floor_divide: ("//", FloorDivFitsOp),
}
_MESSAGE = "the Python integer {} does not fit in 64 bits"


def binary(ufunc: np.ufunc, x: Expr, y: Expr) -> Expr:
    """x + y, x - y, x * y, x // y or a shift, checked; x % y, x & y, x | y and x ^ y always fit."""
    if ufunc in (np.left_shift, np.right_shift):
        return _shift(ufunc, x, y)
    if ufunc in _FITS:
        symbol, _ = _FITS[ufunc]
        require_fit(ufunc, x, y, _MESSAGE.format(f"{{0}} {symbol} {{1}}"), x, y)
    return apply(ufunc, x, y)


def require_fit(ufunc: np.ufunc, x: Expr, y: Expr, message: str, *arguments: Expr) -> None:
    """Raise OverflowError at run time, unless 64 bits hold the ufunc's result for x and y."""
    _, predicate = _FITS[ufunc]
    check(emit(predicate, x, y), "OverflowError", message, *arguments)


def _shift(ufunc: np.ufunc, x: Expr, y: Expr) -> Expr:
    check(y >= 0, "ValueError", "negative shift count")
    shifted = apply(ufunc, x, y)
    if ufunc is np.left_shift:
        check(apply(np.right_shift, shifted, y) == x, "OverflowError", _MESSAGE.format("{0} << {1}"), x, y)
    return shifted


def negative(x: Expr) -> Expr:
    check(x > LOWEST, "OverflowError", _MESSAGE.format("-({0})"), x)
    return -x


def absolute(x: Expr) -> Expr:
    check(x > LOWEST, "OverflowError", _MESSAGE.format("abs({0})"), x)
    return apply(np.absolute, x)


def factor(x: Expr, y: Expr, base: Expr, exponent: int) -> Expr:
    """x * y as a step of base ** exponent, which is not smaller."""
    require_fit(np.multiply, x, y, _MESSAGE.format(f"{{0}} ** {exponent}"), base)
    return x * y


def converted(x: Expr) -> Expr:
    """The Python int equal to a NumPy integer, or to a bool."""
    if x.element == types.from_dtype(np.dtype(np.uint64)):
        check(x <= HIGHEST, "OverflowError", "an unsigned integer of 2**63 or more does not fit in 64 bits with a sign")
    return cast(x, types.I64)
