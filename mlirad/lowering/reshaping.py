"""Views of a tensor in another shape with the same number of elements.

Reads: a tensor of static shape. Writes: tensor.collapse_shape and tensor.expand_shape, no copies. Leaves: the tensor.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects import tensor
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, TensorType, i64
from xdsl.ir import Attribute, SSAValue

from mlirad.dialect.core.expr import insert


def reshaped(value: SSAValue, type: Attribute) -> SSAValue:
    """Value in the shape of `type`, at the insertion point; through one dimension if the shapes differ."""
    assert isinstance(value.type, TensorType) and isinstance(type, TensorType)
    if value.type == type:
        return value
    shape = value.type.get_shape()
    flat = TensorType(type.element_type, [prod(shape)])
    if value.type != flat:
        value = _collapsed(value, flat) if shape else _expanded(value, flat)
    if type == flat:
        return value
    return _expanded(value, type) if type.get_shape() else _collapsed(value, type)


def _collapsed(value: SSAValue, type: TensorType) -> SSAValue:
    properties = {"reassociation": _groups(value.type, type)}
    return insert(tensor.CollapseShapeOp.create(operands=[value], result_types=[type], properties=properties)).result


def _expanded(value: SSAValue, type: TensorType) -> SSAValue:
    return insert(tensor.ExpandShapeOp(value, [], _groups(type, value.type), type.get_shape(), type)).result


def _groups(wide: Attribute, narrow: Attribute) -> ArrayAttr[ArrayAttr[IntegerAttr]]:
    """All dimensions of `wide` in the one dimension of `narrow`; none if `narrow` is a single element."""
    assert isinstance(wide, TensorType) and isinstance(narrow, TensorType)
    dimensions = ArrayAttr([IntegerAttr(number, i64) for number in range(len(wide.get_shape()))])
    return ArrayAttr([dimensions] if narrow.get_shape() else [])
