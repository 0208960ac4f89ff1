"""Relations of Python's numbers: exact, even for an int and a float that no conversion represents.

Reads: values and numbers, both Python's. Writes: nd ops. Leaves: an i1 scalar.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, apply, constant, where
from mlirad.dialect.ops.compare import cast as cast_expr
from mlirad.frontend.numpy import numpy_elementwise
from mlirad.frontend.values.nep50 import LARGEST_EXACT
from mlirad.frontend.values.traced import Number, Traced, python_kind


def compared(ufunc: np.ufunc, left: Traced | Number, right: Traced | Number) -> Expr:
    """`left < right` and similar, with one of the two traced."""
    kinds = python_kind(left), python_kind(right)
    if kinds == (int, float):
        return _of_mixed(ufunc, left, right, True)
    if kinds == (float, int):
        return _of_mixed(ufunc, right, left, False)
    return numpy_elementwise.call(ufunc, left, right).expr


def _of_mixed(ufunc: np.ufunc, integer: Traced | Number, number: Traced | Number, is_left: bool) -> Expr:
    """A relation of an int and a float; is_left: the int is on the left."""

    def relation(x: Traced | Number, y: Traced | Number) -> Expr:
        return numpy_elementwise.call(ufunc, *((x, y) if is_left else (y, x))).expr

    assert not isinstance(number, complex | np.complexfloating), "complex numbers are compared as NumPy's"
    if not isinstance(number, Traced):
        is_small = not math.isfinite(number) or abs(number) < LARGEST_EXACT
        return relation(integer, number if is_small else int(number))
    if not isinstance(integer, Traced):
        assert not isinstance(integer, complex | np.complexfloating), "an int"
        return relation(integer, number) if _is_float(integer) else _beside(ufunc, int(integer), number, is_left)
    a, b = integer.scalar, number.scalar
    rounded = cast_expr(a, types.F64)
    exact = (a, cast_expr(b, types.I64)) if is_left else (cast_expr(b, types.I64), a)
    # If both are the same float, it is an integer; 2**63 is larger than all 64-bit integers.
    is_less = bool(ufunc(-1, 0) if is_left else ufunc(0, -1))
    same = where(b < 2.0**63, apply(ufunc, *exact), constant(is_less, types.I1))
    plain = apply(ufunc, rounded, b) if is_left else apply(ufunc, b, rounded)
    return where(rounded == b, same, plain)


def _is_float(integer: Any) -> bool:
    try:
        return float(integer) == integer
    except OverflowError:
        return False


def _beside(ufunc: np.ufunc, integer: int, number: Traced, is_left: bool) -> Expr:
    """A relation with an int that is no float: as with the number between the two neighbouring floats."""
    try:
        near = float(integer)
    except OverflowError:
        near = math.inf if integer > 0 else -math.inf
    below = near if near < integer else math.nextafter(near, -math.inf)
    if ufunc in (np.equal, np.not_equal):
        return constant(ufunc is np.not_equal, types.I1)
    is_less = (ufunc in (np.less, np.less_equal)) != is_left  # the float is to be the smaller one
    return number.scalar <= below if is_less else number.scalar > below
