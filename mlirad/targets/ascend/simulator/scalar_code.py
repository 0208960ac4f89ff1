"""Translates ops on scalars: `arith` and `math`.

Reads: ops of arith and math. Writes: steps. Leaves: nothing. Integers are Python's, wrapped to their width; floats are
NumPy scalars, so each op rounds according to its type.
"""

from __future__ import annotations

import math as pymath
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation

from mlirad.targets.ascend.hivm.instruction import element_dtype
from mlirad.targets.ascend.simulator.faults import Fault, NotSimulated
from mlirad.targets.ascend.simulator.frame_slots import MACHINE, Slots, Step, Translators


def width_of(type: Attribute) -> int:
    return 64 if isinstance(type, IndexType) else type.width.data if isinstance(type, IntegerType) else 0


def signed(value: int, width: int) -> int:
    """The number in the lowest `width` bits; for one bit, 0 or 1."""
    if width == 1:
        return value & 1
    half = 1 << (width - 1)
    return ((value + half) & ((half << 1) - 1)) - half


def unsigned(value: int, width: int) -> int:
    return value & ((1 << width) - 1)


def constant(op: arith.ConstantOp, slots: Slots) -> Step | None:
    """Constants are in the frame before anything runs."""
    attribute = op.value
    match attribute:
        case IntegerAttr():
            value: Any = signed(attribute.value.data, width_of(attribute.type))
        case FloatAttr():
            value = element_dtype(attribute.type).type(attribute.value.data)
        case _:
            kind = "arrays" if isinstance(attribute, DenseIntOrFPElementsAttr) else type(attribute).__name__
            raise NotSimulated(f"the simulator does not execute constants that are {kind}")
    slots.template[slots.of(op.result)] = value
    return None


def _towards_zero(x: int, y: int) -> int:
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


INTEGERS: dict[type[Operation], Callable[..., int]] = {
    arith.AddiOp: lambda x, y: x + y,
    arith.SubiOp: lambda x, y: x - y,
    arith.MuliOp: lambda x, y: x * y,
    arith.DivSIOp: _towards_zero,
    arith.RemSIOp: lambda x, y: x - y * _towards_zero(x, y),
    arith.FloorDivSIOp: lambda x, y: x // y,
    arith.CeilDivSIOp: lambda x, y: -(-x // y),
    arith.MinSIOp: min,
    arith.MaxSIOp: max,
    arith.AndIOp: lambda x, y: x & y,
    arith.OrIOp: lambda x, y: x | y,
    arith.XOrIOp: lambda x, y: x ^ y,
    arith.ShLIOp: lambda x, y: x << y,
    arith.ShRSIOp: lambda x, y: x >> y,
    arith.IndexCastOp: lambda x: x,
    arith.ExtSIOp: lambda x: x,
    arith.TruncIOp: lambda x: x,
}
UNSIGNED: dict[type[Operation], Callable[..., int]] = {
    arith.DivUIOp: lambda x, y: x // y,
    arith.RemUIOp: lambda x, y: x % y,
    arith.CeilDivUIOp: lambda x, y: -(-x // y),
    arith.MinUIOp: min,
    arith.MaxUIOp: max,
    arith.ShRUIOp: lambda x, y: x >> y,
    arith.ExtUIOp: lambda x: x,
}
_DIVISIONS = (
    *(arith.DivSIOp, arith.RemSIOp, arith.FloorDivSIOp, arith.CeilDivSIOp),
    *(arith.DivUIOp, arith.RemUIOp, arith.CeilDivUIOp),
)
_PARTIAL = (*_DIVISIONS, arith.ShLIOp, arith.ShRSIOp, arith.ShRUIOp)
FLOATS: dict[type[Operation], Callable[..., Any]] = {
    arith.AddfOp: lambda x, y: x + y,
    arith.SubfOp: lambda x, y: x - y,
    arith.MulfOp: lambda x, y: x * y,
    arith.DivfOp: lambda x, y: x / y,
    arith.NegfOp: lambda x: -x,
    arith.MaximumfOp: np.maximum,
    arith.MinimumfOp: np.minimum,
    arith.MaxnumfOp: np.fmax,
    arith.MinnumfOp: np.fmin,
    math.AbsFOp: np.abs,
    math.ExpOp: np.exp,
    math.Exp2Op: np.exp2,
    math.ExpM1Op: np.expm1,
    math.LogOp: np.log,
    math.Log2Op: np.log2,
    math.Log10Op: np.log10,
    math.Log1pOp: np.log1p,
    math.SqrtOp: np.sqrt,
    math.RsqrtOp: lambda x: 1 / np.sqrt(x),
    math.CbrtOp: np.cbrt,
    math.SinOp: np.sin,
    math.CosOp: np.cos,
    math.TanOp: np.tan,
    math.AtanOp: np.arctan,
    math.Atan2Op: np.arctan2,
    math.TanhOp: np.tanh,
    math.AsinOp: np.arcsin,
    math.AcosOp: np.arccos,
    math.SinhOp: np.sinh,
    math.CoshOp: np.cosh,
    math.AsinhOp: np.arcsinh,
    math.AcoshOp: np.arccosh,
    math.AtanhOp: np.arctanh,
    math.RoundOp: lambda x: np.trunc(x + np.copysign(0.5, x)),
    math.ErfOp: pymath.erf,
    math.PowFOp: np.power,
    math.FloorOp: np.floor,
    math.CeilOp: np.ceil,
    math.TruncOp: np.trunc,
    math.RoundEvenOp: np.rint,
    math.CopySignOp: np.copysign,
    math.FmaOp: lambda x, y, z: np.float64(x) * np.float64(y) + np.float64(z),
    arith.ExtFOp: lambda x: x,
    arith.TruncFOp: lambda x: x,
    arith.SIToFPOp: lambda x: x,
}

_COMPARED_INTEGERS: tuple[tuple[Callable[[int, int], bool], bool], ...] = (
    (lambda x, y: x == y, False),
    (lambda x, y: x != y, False),
    (lambda x, y: x < y, False),
    (lambda x, y: x <= y, False),
    (lambda x, y: x > y, False),
    (lambda x, y: x >= y, False),
    (lambda x, y: x < y, True),
    (lambda x, y: x <= y, True),
    (lambda x, y: x > y, True),
    (lambda x, y: x >= y, True),
)
"""By the number of the predicate, with a flag: whether the operands are unsigned."""

_COMPARED_FLOATS: tuple[Callable[[Any, Any], bool], ...] = (
    lambda x, y: False,
    lambda x, y: x == y,
    lambda x, y: x > y,
    lambda x, y: x >= y,
    lambda x, y: x < y,
    lambda x, y: x <= y,
    lambda x, y: x != y and x == x and y == y,
    lambda x, y: x == x and y == y,
    lambda x, y: x == y or x != x or y != y,
    lambda x, y: not x <= y,
    lambda x, y: not x < y,
    lambda x, y: not x >= y,
    lambda x, y: not x > y,
    lambda x, y: x != y,
    lambda x, y: x != x or y != y,
    lambda x, y: True,
)


def calling(op: Operation, slots: Slots, function: Callable[..., Any]) -> Step:
    """A step that calls a function with the operands' values, and stores its result."""
    out = slots.of(op.results[0])
    operands = slots.all(op.operands)
    if len(operands) == 1:
        (x,) = operands

        def one(frame: list[Any]) -> None:
            frame[out] = function(frame[x])

        return one
    if len(operands) == 2:
        x, y = operands

        def two(frame: list[Any]) -> None:
            frame[out] = function(frame[x], frame[y])

        return two

    def several(frame: list[Any]) -> None:
        frame[out] = function(*[frame[each] for each in operands])

    return several


def integer(op: Operation, slots: Slots) -> Step:
    function, width = INTEGERS[type(op)], width_of(op.results[0].type)
    return guarded(op, slots, lambda *values: signed(function(*values), width))


def without_sign(op: Operation, slots: Slots) -> Step:
    function, width = UNSIGNED[type(op)], width_of(op.results[0].type)
    from_ = width_of(op.operands[0].type)
    return guarded(op, slots, lambda *values: signed(function(*(unsigned(value, from_) for value in values)), width))


def guarded(op: Operation, slots: Slots, function: Callable[..., int]) -> Step:
    """As `calling`, but only for ops that are undefined for some numbers: division by 0, and shifts by the width or
    more."""
    step = calling(op, slots, function)
    if type(op) not in _PARTIAL:
        return step
    by, width = slots.of(op.operands[1]), width_of(op.operands[1].type)

    def run(frame: list[Any]) -> None:
        if frame[by] == 0 if type(op) in _DIVISIONS else not 0 <= frame[by] < width:
            raise frame[MACHINE].placed(Fault.ARITHMETIC, f"{op.name} by {frame[by]}", op)
        step(frame)

    return run


def floating(op: Operation, slots: Slots) -> Step:
    function, to = FLOATS[type(op)], element_dtype(op.results[0].type).type
    return calling(op, slots, lambda *values: to(function(*values)))


def unsigned_to_float(op: arith.UIToFPOp, slots: Slots) -> Step:
    from_, to = width_of(op.input.type), element_dtype(op.result.type).type
    return calling(op, slots, lambda value: to(unsigned(value, from_)))


def float_to_integer(op: arith.FPToSIOp | arith.FPToUIOp, slots: Slots) -> Step:
    width = width_of(op.result.type)
    return calling(op, slots, lambda value: signed(int(value) if np.isfinite(value) else 0, width))


def compare_integers(op: arith.CmpiOp, slots: Slots) -> Step:
    compared, is_unsigned = _COMPARED_INTEGERS[op.predicate.value.data]
    width = width_of(op.lhs.type)
    if is_unsigned:
        return calling(op, slots, lambda x, y: int(compared(unsigned(x, width), unsigned(y, width))))
    return calling(op, slots, lambda x, y: int(compared(x, y)))


def compare_floats(op: arith.CmpfOp, slots: Slots) -> Step:
    compared = _COMPARED_FLOATS[op.predicate.value.data]
    return calling(op, slots, lambda x, y: int(compared(x, y)))


def select(op: arith.SelectOp, slots: Slots) -> Step:
    return calling(op, slots, lambda condition, x, y: x if condition else y)


def reinterpret(op: arith.BitcastOp, slots: Slots) -> Step:
    from_, to = element_dtype(op.input.type), element_dtype(op.result.type)
    back = int if to.kind == "i" else to.type
    return calling(op, slots, lambda value: back(from_.type(value).view(to)))


TRANSLATORS: Translators = {
    **dict.fromkeys(INTEGERS, integer),
    **dict.fromkeys(UNSIGNED, without_sign),
    **dict.fromkeys(FLOATS, floating),
    arith.ConstantOp: constant,
    arith.UIToFPOp: unsigned_to_float,
    arith.FPToSIOp: float_to_integer,
    arith.FPToUIOp: float_to_integer,
    arith.CmpiOp: compare_integers,
    arith.CmpfOp: compare_floats,
    arith.SelectOp: select,
    arith.BitcastOp: reinterpret,
}
