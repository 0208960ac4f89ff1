"""What is known about a value from the op that defines it: a number, or the number that an array is filled with.

Reads: nd and arith. Writes: nothing. Leaves: everything.
"""

from __future__ import annotations

from math import copysign
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.ir import Attribute, SSAValue

from mlirad.dialect.core import types
from mlirad.dialect.ops.constant import ConstantOp, FullOp
from mlirad.xdsl_support.once_per_type import once

_CONSTANTS = frozenset({ConstantOp, arith.ConstantOp})


def number_of(attribute: Attribute, type: Attribute) -> Any:
    """The NumPy number that a constant's attribute holds, everywhere if it is an array's; None if there are several."""
    dtype = types.to_dtype(types.element_type(type))
    if isinstance(attribute, FloatAttr | IntegerAttr):
        return dtype.type(attribute.value.data)
    if not isinstance(attribute, DenseIntOrFPElementsAttr):
        return None
    # By bytes: the elements as Python numbers would take longer than all the rest of the compiler.
    data = attribute.data.data
    width = len(data) // max(len(attribute), 1)
    if not data or data != data[:width] * len(attribute):
        return None
    return np.frombuffer(data[:width], np.int8 if types.is_bool(type) else dtype).astype(dtype)[0]


def known_number(value: SSAValue) -> Any:
    """The NumPy number that a scalar is, or that is everywhere in an array; None if it is not known."""
    owner = value.owner
    kind = owner.__class__  # asked of every operand, and to ask for xDSL's abstract classes is slow
    if kind is FullOp:
        assert isinstance(owner, FullOp)
        return known_number(owner.value)
    if kind in _CONSTANTS:
        assert isinstance(owner, ConstantOp | arith.ConstantOp)
        return _number(owner.value)
    return None


@once
def _number(attribute: Any) -> Any:
    return number_of(attribute, attribute.type)


def is_number(value: SSAValue, number: Any) -> bool:
    """Whether a value is (everywhere) this number, to the bit: -0.0 is not 0.0."""
    known = known_number(value)
    return known is not None and bool(known == number) and copysign(1, known) == copysign(1, number)


def never_negative_zero(value: SSAValue) -> bool:
    """Whether no element of a value can be -0.0, so that adding 0.0 to it changes nothing."""
    if not types.is_float(value.type):
        return True
    known = known_number(value)
    return known is not None and not (known == 0 and copysign(1, known) < 0)
