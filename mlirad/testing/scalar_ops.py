"""What an op of arith or math computes from numbers, with NumPy.

Reads: ops of arith and math, and NumPy scalars. Gives: NumPy scalars.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Operation

from mlirad.dialect.core import types
from mlirad.dialect.ops.compare import as_dtype
from mlirad.xdsl_support.remf import RemfOp

Value = Any


def dtype_of(type: Attribute) -> np.dtype:
    element = types.element_type(type)
    return np.dtype(np.int64) if isinstance(element, IndexType) else types.to_dtype(element)


def _unsigned(value: Value) -> Value:
    """The bits of an integer as an unsigned one."""
    return value if value.dtype.kind == "b" else value.view(value.dtype.str.replace("i", "u"))


def _unsigned_op(function: Callable[..., Value]) -> Callable[..., Value]:
    def apply(x: Value, y: Value) -> Value:
        result = function(_unsigned(x), _unsigned(y))
        return result if result.dtype.kind == "b" else result.view(x.dtype)

    return apply


def _truncated(x: Value, y: Value) -> Value:
    """C's division."""
    return x.dtype.type(int(abs(int(x)) // abs(int(y))) * (-1 if (x < 0) != (y < 0) else 1))


def _select(condition: Value, x: Value, y: Value) -> Value:
    return x if condition else y


_FUNCTIONS: dict[type[Operation], Callable[..., Value]] = {
    arith.AddfOp: operator.add,
    arith.SubfOp: operator.sub,
    arith.MulfOp: operator.mul,
    arith.DivfOp: operator.truediv,
    arith.NegfOp: operator.neg,
    arith.MaximumfOp: np.maximum,
    arith.MinimumfOp: np.minimum,
    arith.MaxnumfOp: np.fmax,
    arith.MinnumfOp: np.fmin,
    arith.AddiOp: np.add,
    arith.SubiOp: np.subtract,
    arith.MuliOp: np.multiply,
    arith.DivSIOp: _truncated,
    arith.RemSIOp: lambda x, y: x - _truncated(x, y) * y,
    arith.DivUIOp: _unsigned_op(operator.floordiv),
    arith.RemUIOp: _unsigned_op(operator.mod),
    arith.MaxSIOp: np.maximum,
    arith.MinSIOp: np.minimum,
    arith.MaxUIOp: _unsigned_op(np.maximum),
    arith.MinUIOp: _unsigned_op(np.minimum),
    arith.AndIOp: np.bitwise_and,
    arith.OrIOp: np.bitwise_or,
    arith.XOrIOp: np.bitwise_xor,
    arith.ShLIOp: np.left_shift,
    arith.ShRSIOp: np.right_shift,
    arith.ShRUIOp: _unsigned_op(np.right_shift),
    arith.SelectOp: _select,
    math.ExpOp: np.exp,
    math.LogOp: np.log,
    math.SinOp: np.sin,
    math.CosOp: np.cos,
    math.TanhOp: np.tanh,
    math.SqrtOp: np.sqrt,
    math.AbsFOp: np.abs,
    math.Exp2Op: np.exp2,
    math.ExpM1Op: np.expm1,
    math.Log2Op: np.log2,
    math.Log10Op: np.log10,
    math.Log1pOp: np.log1p,
    math.CbrtOp: np.cbrt,
    math.TanOp: np.tan,
    math.AsinOp: np.arcsin,
    math.AcosOp: np.arccos,
    math.AtanOp: np.arctan,
    math.SinhOp: np.sinh,
    math.CoshOp: np.cosh,
    math.AsinhOp: np.arcsinh,
    math.AcoshOp: np.arccosh,
    math.AtanhOp: np.arctanh,
    math.Atan2Op: np.arctan2,
    math.FloorOp: np.floor,
    math.CeilOp: np.ceil,
    math.TruncOp: np.trunc,
    math.RoundEvenOp: np.rint,
    math.PowFOp: np.power,
    math.CopySignOp: np.copysign,
    RemfOp: np.fmod,
}

_COMPARE_INTEGERS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
_COMPARE_FLOATS = (operator.eq, operator.gt, operator.ge, operator.lt, operator.le, operator.ne)


def _compare_integers(op: arith.CmpiOp, x: Value, y: Value) -> Value:
    predicate = op.predicate.value.data
    if predicate >= len(_COMPARE_INTEGERS):
        predicate, x, y = predicate - 4, _unsigned(x), _unsigned(y)
    return np.bool_(_COMPARE_INTEGERS[predicate](x, y))


def _compare_floats(op: arith.CmpfOp, x: Value, y: Value) -> Value:
    """If an operand is nan, predicates 1 to 6 are false and 8 to 13 are true."""
    predicate = op.predicate.value.data
    is_unordered = bool(np.isnan(x) or np.isnan(y))
    if predicate in (7, 14):
        return np.bool_(is_unordered == (predicate == 14))
    if predicate >= 8:
        return np.bool_(is_unordered or _COMPARE_FLOATS[predicate - 8](x, y))
    return np.bool_(not is_unordered and _COMPARE_FLOATS[predicate - 1](x, y))


def _convert(op: Operation, x: Value) -> Value:
    """A cast; from an unsigned integer if the op says so."""
    if isinstance(op, arith.ExtUIOp | arith.UIToFPOp):
        x = _unsigned(x)
    if isinstance(op, arith.FPToUIOp):
        target = dtype_of(op.results[0].type)
        return as_dtype(np.asarray(x), np.dtype(target.str.replace("i", "u"))).view(target)[()]
    return as_dtype(np.asarray(x), dtype_of(op.results[0].type))[()]


_CONVERSIONS = (
    arith.ExtFOp,
    arith.TruncFOp,
    arith.ExtSIOp,
    arith.ExtUIOp,
    arith.TruncIOp,
    arith.SIToFPOp,
    arith.UIToFPOp,
    arith.FPToSIOp,
    arith.FPToUIOp,
    arith.IndexCastOp,
)


def is_scalar(op: Operation) -> bool:
    """Whether an op computes a number from numbers."""
    return type(op) in _FUNCTIONS or isinstance(op, (arith.CmpiOp, arith.CmpfOp, *_CONVERSIONS))


def scalar(op: Operation, operands: Sequence[Value]) -> Value:
    """The number that the op computes."""
    if isinstance(op, arith.CmpiOp):
        return _compare_integers(op, operands[0], operands[1])
    if isinstance(op, arith.CmpfOp):
        return _compare_floats(op, operands[0], operands[1])
    if isinstance(op, _CONVERSIONS):
        return _convert(op, operands[0])
    return dtype_of(op.results[0].type).type(_FUNCTIONS[type(op)](*operands))
