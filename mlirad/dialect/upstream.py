"""Upstream ops that take more than one line to build."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, IndexType, IntegerAttr, TensorType, i64
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import FillOp, GenericOp, YieldOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineMap

from mlirad.dialect import types
from mlirad.dialect.expr import building, insert


def generic(
    inputs: Sequence[SSAValue],
    outputs: Sequence[SSAValue],
    maps: Sequence[AffineMap],
    iterators: Sequence[IteratorType],
    body: Callable[..., Sequence[SSAValue]],
) -> Sequence[SSAValue]:
    """A `linalg.generic`; `body` gets the elements of inputs and outputs, emits, and gives what is yielded."""
    block = Block(arg_types=[types.element_type(value.type) for value in (*inputs, *outputs)])
    op = GenericOp(
        inputs,
        outputs,
        Region(block),
        ArrayAttr([AffineMapAttr(affine_map) for affine_map in maps]),
        ArrayAttr([IteratorTypeAttr(iterator) for iterator in iterators]),
        [value.type for value in outputs if isinstance(value.type, TensorType)],
    )
    with building(block):
        insert(YieldOp(*body(*block.args)))
    return insert(op).results


def elementwise(body: Callable[..., SSAValue], *operands: SSAValue, element: Attribute | None = None) -> SSAValue:
    """`body` at every place of operands of one static shape, into a new tensor."""
    shape = types.shape(operands[0].type)
    result = types.tensor(shape, element or types.element_type(operands[0].type))
    empty = insert(tensor.EmptyOp([], result)).tensor
    identity = AffineMap.identity(len(shape))
    iterators = [IteratorType.PARALLEL] * len(shape)
    maps = [identity] * (len(operands) + 1)
    return generic(operands, [empty], maps, iterators, lambda *xs: [body(*xs[: len(operands)])])[0]


def filled(value: SSAValue, type: TensorType, sizes: Sequence[SSAValue] = ()) -> SSAValue:
    """A new tensor of one number; sizes are those of its unknown axes, as `index`."""
    empty = insert(tensor.EmptyOp(list(sizes), type)).tensor
    return insert(FillOp([value], [empty], [type])).results[0]


def reshaped(x: SSAValue, shape: Sequence[int]) -> SSAValue:
    """A tensor in another shape of as many elements: axes collapsed, then expanded, as few as possible."""
    source, target = types.shape(x.type), tuple(shape)
    element = types.element_type(x.type)
    if 0 in target:
        return insert(tensor.EmptyOp([], types.tensor(target, element))).tensor
    if not source or not target:
        # One element. (MLIR would expand it along no axes at all; xDSL's verifier refuses that.)
        zeros = [insert(arith.ConstantOp(IntegerAttr(0, IndexType()))).result for _ in source]
        return filled(insert(tensor.ExtractOp(x, zeros, element)).result, types.tensor(target, element))
    groups = _common_groups(source, target)
    middle = [prod(source[axis] for axis in axes) for axes, _ in groups]
    if len(middle) < len(source):
        axes = _axis_lists([axes for axes, _ in groups])
        collapsed = {"reassociation": axes}
        op = tensor.CollapseShapeOp.build(
            operands=[x], result_types=[types.tensor(middle, element)], properties=collapsed
        )
        x = insert(op).result
    if len(middle) < len(target):
        axes = _axis_lists([axes for _, axes in groups])
        x = insert(tensor.ExpandShapeOp(x, [], axes, target, types.tensor(target, element))).result
    return x


def _axis_lists(groups: Sequence[Sequence[int]]) -> ArrayAttr[ArrayAttr[IntegerAttr]]:
    return ArrayAttr([ArrayAttr([IntegerAttr(axis, i64) for axis in axes]) for axes in groups])


def _common_groups(source: Sequence[int], target: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """The finest way to cut both shapes into runs of axes, so that the runs have equally many elements pairwise."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(source) and j < len(target):
        mine, others = [i], [j]
        i, j = i + 1, j + 1
        while (a := prod(source[axis] for axis in mine)) != (b := prod(target[axis] for axis in others)):
            if a < b:
                mine.append(i)
                i += 1
            else:
                others.append(j)
                j += 1
        groups.append((mine, others))
    # What is left is of size 1.
    groups[-1][0].extend(range(i, len(source)))
    groups[-1][1].extend(range(j, len(target)))
    return groups
