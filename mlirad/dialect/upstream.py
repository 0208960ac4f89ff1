"""Upstream ops that take more than one line to build."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import linalg, tensor
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, TensorType
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineMap

from mlirad.dialect import types
from mlirad.dialect.expr import building, insert


def generic(
    inputs: Sequence[SSAValue],
    outputs: Sequence[SSAValue],
    maps: Sequence[AffineMap],
    iterators: Sequence[linalg.IteratorType],
    body: Callable[..., Sequence[SSAValue]],
) -> Sequence[SSAValue]:
    """A `linalg.generic`; `body` gets the elements of inputs and outputs, emits, and gives what is yielded."""
    block = Block(arg_types=[types.element_type(value.type) for value in (*inputs, *outputs)])
    op = linalg.GenericOp(
        inputs,
        outputs,
        Region(block),
        ArrayAttr([AffineMapAttr(affine_map) for affine_map in maps]),
        ArrayAttr([linalg.IteratorTypeAttr(iterator) for iterator in iterators]),
        [value.type for value in outputs if isinstance(value.type, TensorType)],
    )
    with building(block):
        insert(linalg.YieldOp(*body(*block.args)))
    return insert(op).results


def elementwise(body: Callable[..., SSAValue], *operands: SSAValue, element: Attribute | None = None) -> SSAValue:
    """`body` at every place of operands of one static shape, into a new tensor."""
    shape = types.shape(operands[0].type)
    result = types.tensor(shape, element or types.element_type(operands[0].type))
    empty = insert(tensor.EmptyOp([], result)).tensor
    identity = AffineMap.identity(len(shape))
    iterators = [linalg.IteratorType.PARALLEL] * len(shape)
    maps = [identity] * (len(operands) + 1)
    return generic(operands, [empty], maps, iterators, lambda *xs: [body(*xs[: len(operands)])])[0]
