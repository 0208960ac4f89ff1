"""Values known at compile time: numbers, and arrays filled with one number.

Reads: ops that answer `contents`, and upstream constants. Writes: nothing. Leaves: everything.
"""

from __future__ import annotations

from functools import cache
from math import copysign
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.dialects.complex import ComplexNumberAttr
from xdsl.ir import Attribute, SSAValue

from mlirad.dialect.core import types
from mlirad.dialect.core.attributes import value_of
from mlirad.dialect.core.op import NdOp
from mlirad.xdsl_support.once_per_object import once


def number_of(attribute: Attribute, type: Attribute) -> Any:
    """The NumPy number that fills a constant's attribute; None if its elements differ."""
    dtype = types.to_dtype(types.element_type(type))
    if isinstance(attribute, FloatAttr | IntegerAttr):
        return dtype.type(attribute.value.data)
    if isinstance(attribute, ComplexNumberAttr):
        return value_of(attribute, type)
    if not isinstance(attribute, DenseIntOrFPElementsAttr):
        return None
    # Compare bytes: converting the elements to Python numbers would take longer than the rest of the compiler.
    data = attribute.data.data
    width = len(data) // max(len(attribute), 1)
    if not data or data != data[:width] * len(attribute):
        return None
    return np.frombuffer(data[:width], np.int8 if types.is_bool(type) else dtype).astype(dtype)[0]


@once
def _number(attribute: Any) -> Any:
    return number_of(attribute, attribute.type)


@cache
def _has_contents(kind: type) -> bool:
    return kind is arith.ConstantOp or (issubclass(kind, NdOp) and kind.contents is not NdOp.contents)


def contents_of(value: SSAValue) -> Attribute | None:
    """The attribute with all elements of a value, or with the single number that fills it."""
    owner: Any = value.owner
    while _has_contents(owner.__class__):  # called for every operand; checks against xDSL's abstract classes are slow
        contents = owner.value if owner.__class__ is arith.ConstantOp else owner.contents()
        if not isinstance(contents, SSAValue):
            return contents
        owner = contents.owner
    return None


def is_constant(value: SSAValue) -> bool:
    """Whether a value is known, array or number."""
    return contents_of(value) is not None


def known_number(value: SSAValue) -> Any:
    """The NumPy number that a scalar equals, or that fills an array; None if it is not known."""
    contents = contents_of(value)
    return None if contents is None else _number(contents)


def constant_int(value: SSAValue) -> int | None:
    """The integer that a scalar is known to equal, or None."""
    while isinstance(cast := value.owner, arith.IndexCastOp):
        value = cast.input
    contents = None if types.is_tensor(value.type) else contents_of(value)
    if not isinstance(contents, IntegerAttr):
        return None
    return contents.value.data & 1 if types.is_bool(value.type) else contents.value.data  # xDSL stores true as -1


def holds_one_number(value: SSAValue) -> bool:
    """Whether an array is filled with one number, known or not."""
    owner: Any = value.owner
    if not _has_contents(owner.__class__) or owner.__class__ is arith.ConstantOp:
        return False
    contents = owner.contents()
    return isinstance(contents, SSAValue) or (contents is not None and _number(contents) is not None)


def is_number(value: SSAValue, number: Any) -> bool:
    """Whether a value is this number, or filled with it, bit for bit: -0.0 is not 0.0. The imaginary part of a complex
    value must be 0.0."""
    known = known_number(value)
    if known is None or not bool(known == number) or copysign(1, known.imag) < 0:
        return False
    return copysign(1, known.real) == copysign(1, number)


def never_negative_zero(value: SSAValue) -> bool:
    """Whether no element of a value can be -0.0, so that adding 0.0 to it changes nothing."""
    if not types.is_inexact(value.type):
        return True
    if types.is_complex(value.type):
        return False
    known = known_number(value)
    if known is not None:
        return not (known == 0 and copysign(1, known) < 0)
    owner = value.owner
    while isinstance(owner, NdOp) and owner.is_reshape():
        owner = owner.operands[0].owner
    return isinstance(owner, NdOp) and owner.sums_from_zero()
