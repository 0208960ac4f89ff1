"""x ** y: by multiplications if y is a small integer known at compile time, which is exact for any x.

Reads: Traced values and numbers. Writes: nd ops. Leaves: Traced values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, apply, constant, emit
from mlirad.dialect.core.registry import op_of
from mlirad.dialect.ops.arithmetic import InversePowerOp, by_squaring
from mlirad.dialect.ops.bits import IntegerPowerOp
from mlirad.dialect.ops.check import check
from mlirad.dialect.ops.compare import cast
from mlirad.errors import StaticValueError, UnsupportedSyntaxError
from mlirad.frontend.numpy import python_integers
from mlirad.frontend.values import nep50
from mlirad.frontend.values.sizes import broadcast_shapes
from mlirad.frontend.values.traced import (
    DATA,
    NeedStatic,
    Number,
    Traced,
    in_type,
    is_python_number,
    origins_of,
    python_kind,
    shape_of,
    stand_in,
)

# Beyond this the rounding errors of the multiplications would exceed those of pow.
_LARGEST_CHAIN = 8
# Whether np.power(x, 0.5) is a square root, as its result for -inf shows: before NumPy 2.3 only the array operator is.
with np.errstate(invalid="ignore"):
    _NUMPYS_POWER_IS_ROOT = bool(np.isnan(np.power(-np.inf, 0.5)))
_NEGATIVE = "Integers to negative integer powers are not allowed."


def power(x: Traced | Number, y: Traced | Number, of_numpy: bool = False) -> Traced:
    """`x ** y`, or `np.power(x, y)`. Two Python numbers follow Python's rules, unless of_numpy."""
    weak = is_python_number(x) and is_python_number(y) and not of_numpy
    exponent = None if isinstance(y, Traced) else y
    stand_ins = (python_kind(x), python_kind(y)) if weak else (stand_in(x), stand_in(y))
    of_array = isinstance(x, Traced) and x.is_array
    first, second, last = nep50.power_dtypes(*stand_ins, exponent, of_numpy=of_numpy, of_array=of_array)
    shape = broadcast_shapes(shape_of(x), shape_of(y))

    def result(expr: Expr) -> Traced:
        return Traced(expr, weak=weak, origins=origins_of(x, y))

    if last.kind in "iu":
        if exponent is None and not weak:
            return result(_to_integers(in_type(x, first, shape), in_type(y, second, shape)))
        return result(_of_integers(in_type(x, first, shape), last, exponent, y, weak))
    base = in_type(x, first, shape)
    count = None if exponent is None else _small_integer(exponent)
    if count is not None:
        # Even for float16 it is one operation, rounded once.
        wide = cast(base, nep50.computed_in(base.element))
        return result(cast(_inverse(wide, -count) if count < 0 else _multiplied(wide, count), base.element))
    if exponent == 0.5 and (_NUMPYS_POWER_IS_ROOT if of_numpy else shape):
        return result(apply(np.sqrt, base))  # as in NumPy, including -inf and -0.0
    return result(apply(np.power, base, in_type(y, second, shape)))


def _small_integer(exponent: Number) -> int | None:
    """The integer value of an exponent, if it is small."""
    if isinstance(exponent, complex | np.complexfloating):
        return None if exponent.imag else _small_integer(exponent.real)
    if not float(exponent).is_integer() or abs(exponent) > _LARGEST_CHAIN:
        return None
    return int(exponent)


def _multiplied(base: Expr, count: int, product: Callable[[Expr, Expr], Expr] = operator.mul) -> Expr:
    """base * ... * base, count times."""
    return constant(1, base.type) if count == 0 else by_squaring(base, count, product)


def _inverse(base: Expr, count: int) -> Expr:
    return 1.0 / base if count == 1 else emit(InversePowerOp, base, count=count)


def _to_integers(base: Expr, exponent: Expr) -> Expr:
    """NumPy's integers to powers known only at run time."""
    if not types.is_unsigned(exponent.element):
        smallest = emit(op_of(np.min), exponent, axes=range(len(exponent.shape))) if exponent.is_tensor else exponent
        check(smallest >= 0, "ValueError", _NEGATIVE)
    return emit(IntegerPowerOp, base, exponent)


def _of_integers(base: Expr, dtype: np.dtype, exponent: Number | None, y: Any, weak: bool) -> Expr:
    if exponent is None:
        origins = origins_of(y)
        if DATA in origins:  # Python's result is a float if it is negative
            raise UnsupportedSyntaxError(
                f"integers to a power that is not known at compile time ({dtype}) are not supported",
                hint="make the base a float: float(x) ** n, or x.astype(float) ** n",
            )
        raise NeedStatic(origins, "the exponent of an integer")
    nep50.convert(exponent, dtype)  # a Python int must fit
    assert not isinstance(exponent, complex | np.complexfloating)
    if exponent < 0:
        raise StaticValueError(_NEGATIVE)
    assert types.is_integer(base.type)
    count = int(exponent)
    if weak:
        return _multiplied(base, count, partial(python_integers.factor, base=base, exponent=count))
    return _multiplied(base, count)
