"""Facts about integer results: mlirad's ops answer `integer`; for arith's ops there is the table here.

Reads: nd and arith. Writes: nothing. Leaves: linear forms and intervals (`dialect/core/intervals.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from mlirad.analysis.constants import constant_int
from mlirad.dialect.core import intervals, types
from mlirad.dialect.core.intervals import HIGHEST, LOWEST, UNKNOWN, Integer, Interval, LinearForm, Values
from mlirad.dialect.core.op import NdOp
from mlirad.xdsl_support.once_per_object import once

_OF_ARITH: dict[type[Operation], Callable[..., Integer]] = {
    arith.AddiOp: intervals.total,
    arith.SubiOp: intervals.difference,
    arith.MuliOp: intervals.product,
    arith.MinSIOp: intervals.smallest,
    arith.MaxSIOp: intervals.largest,
    arith.AndIOp: intervals.masked,
    arith.SelectOp: intervals.selected,
    arith.IndexCastOp: intervals.same,
}


@once
def interval_of_type(type: Attribute) -> Interval:
    """Every number of an integer type; of other types, every i64."""
    if not isinstance(type, IntegerType) or type.width.data > 64:
        return Interval()
    bits = type.width.data
    return Interval(0, 2**bits - 1) if types.is_unsigned(type) else Interval(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


@once
def has_64_bits(type: Attribute) -> bool:
    """Whether the numbers of a type are i64 or index."""
    return type == types.I64 or isinstance(type, IndexType)


def answers_integer(op: Operation) -> bool:
    """Whether an op may have a fact about its result."""
    return _question(op.__class__) is not None and has_64_bits(op.results[0].type)


def integer_of(op: Operation, interval_of: Callable[[SSAValue], Interval]) -> Integer:
    """The op's fact about its result, if the result has 64 bits; its operands lie in these intervals."""
    question = _question(op.__class__)
    return question(op, *map(interval_of, op.operands)) if question and answers_integer(op) else UNKNOWN


@cache
def _question(kind: type[Operation]) -> Callable[..., Integer] | None:
    if issubclass(kind, NdOp):
        return None if kind.integer is NdOp.integer else kind.integer
    if kind is arith.ConstantOp:
        return _constant
    of_arith = _OF_ARITH.get(kind)
    return None if of_arith is None else lambda _op, *operands: of_arith(*operands)


def size_axis(op: Operation) -> int | None:
    """The axis of its operand whose size an op returns; None for any other op."""
    size = integer_of(op, constant_interval).size
    return None if size is None else size[1]


def _constant(op: arith.ConstantOp) -> Integer:
    return intervals.constant(op.value.value.data) if isinstance(op.value, IntegerAttr) else UNKNOWN


def constant_interval(value: SSAValue) -> Interval:
    """The interval of a value without context: its number, if it is a constant."""
    number: Any = constant_int(value)
    return interval_of_type(value.type) if number is None else Interval(number, number)


def largest(value: SSAValue, depth: int = 8) -> int:
    """An upper bound of an i64, from the ops that compute it."""
    return _interval(value, depth).high


def _interval(value: SSAValue, depth: int) -> Interval:
    op = value.owner
    if not isinstance(op, Operation) or not depth or not has_64_bits(value.type):
        return constant_interval(value)
    found = integer_of(op, lambda operand: _interval(operand, depth - 1)).interval
    return found if found.fits else interval_of_type(value.type)


def constant_added(op: Operation) -> tuple[SSAValue, int] | None:
    """The operand and the constant that an op adds, modulo 2**64."""
    sum_ = integer_of(op, constant_interval).sum
    if sum_ is None:
        return None
    step, added = sum_.constant, None
    for place, factor in sum_.terms.items():
        number = constant_int(op.operands[place])
        if number is not None:
            step += factor * number
        elif factor == 1 and added is None:
            added = op.operands[place]
        else:
            return None
    return (added, step) if added is not None and LOWEST <= step <= HIGHEST else None


def increment(value: SSAValue, before: SSAValue) -> int | None:
    """The constant that the op defining `value` adds to `before`; None for any other op."""
    addition = constant_added(value.owner) if isinstance(value.owner, Operation) else None
    return addition[1] if addition is not None and addition[0] is before else None


def linear_form(value: SSAValue) -> Values:
    """A value as a linear form, modulo 2**64, of values that are not computed linearly."""
    known: dict[SSAValue, Values] = {}

    def form_of(value: SSAValue) -> Values:
        if value not in known:
            operands = value.owner.operands if isinstance(value.owner, Operation) else ()
            sum_ = integer_of(value.owner, constant_interval).sum if isinstance(value.owner, Operation) else None
            known[value] = LinearForm.of(value) if sum_ is None else sum_.put(lambda place: form_of(operands[place]))
        return known[value]

    return form_of(value)
