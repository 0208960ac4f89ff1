"""Divides reductions of whole arrays between cores.

Reads: `linalg.generic` with reduction loops only, on memrefs of the host. Writes: up to three of them: parts, one for
each core; their reduction; the rest of the array. Leaves: short reductions, and those with several results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    i64,
)
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import FillOp, GenericOp, YieldOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from mlirad.dialect.core.expr import building, insert
from mlirad.lowering.rewriting import erase
from mlirad.targets.ascend.kernels.host import GLOBAL
from mlirad.targets.ascend.tiles.nest import loops_of, shape_of, strides_of

CORES = 40
"""The most parts: all chips have at least this many vector cores."""
SHORTEST = 16_384
"""Reductions of fewer elements run on one core."""
LAUNCH = 256
"""The number of elements that a core reduces in the time of a launch; ours, not measured."""
_NEUTRAL: dict[type[Operation], float] = {
    arith.AddfOp: 0.0,
    arith.MulfOp: 1.0,
    arith.MaximumfOp: -math.inf,
    arith.MinimumfOp: math.inf,
}
_REDUCTION, _PARALLEL = (IteratorTypeAttr(each) for each in (IteratorType.REDUCTION, IteratorType.PARALLEL))


def divided(op: GenericOp, initial: FillOp | None) -> Iterator[tuple[GenericOp, FillOp | None]]:
    """The ops that replace an op, each with the fill of its output; the op itself if it stays unchanged.

    Each op is inserted when the iterator reaches it, before the original op, which is erased at the end.
    """
    chosen = _division(op)
    if chosen is None:
        yield op, initial
        return
    dim, parts = chosen
    extent = loops_of(op).extents[dim]
    chunk = extent // parts
    *inputs, output = op.operands
    assert isinstance(output.type, MemRefType)
    element = output.type.element_type
    partial = insert(memref.AllocOp([], [], MemRefType(element, [parts], memory_space=GLOBAL))).memref
    combining = _combining(op)
    assert combining is not None
    neutral = insert(arith.ConstantOp(FloatAttr(_NEUTRAL[type(combining)], element))).result
    shown = [_in_parts(each, _axis(op, index, dim), parts, chunk) for index, each in enumerate(inputs)]
    maps = [_with_parts(map.data, dim) for map in op.indexing_maps.data[:-1]]
    maps.append(AffineMap(len(op.iterator_types) + 1, 0, (AffineExpr.dimension(0),)))
    kinds = [_PARALLEL, *op.iterator_types.data]
    fill = insert(FillOp([neutral], [partial], []))
    yield insert(GenericOp(shown, [partial], op.body.clone(), list(map(AffineMapAttr, maps)), kinds)), fill
    yield insert(_of_parts(partial, output, type(combining))), initial
    if rest := extent - parts * chunk:
        shown = [_part(each, _axis(op, index, dim), parts * chunk, rest) for index, each in enumerate(inputs)]
        yield insert(GenericOp(shown, [output], op.body.clone(), op.indexing_maps, op.iterator_types)), None
    erase(op)


def _division(op: GenericOp) -> tuple[int, int] | None:
    """The loop to divide, and the number of parts; None if it is not worth it."""
    extents = loops_of(op).extents
    reduced = [dim for dim, kind in enumerate(op.iterator_types) if kind.data is IteratorType.REDUCTION]
    others = [extent for dim, extent in enumerate(extents) if dim not in reduced]
    if math.prod(extents) < SHORTEST or any(extent > 1 for extent in others) or _combining(op) is None:
        return None

    total = math.prod(extents)

    def longest(dim: int, parts: int) -> int:
        """The elements that one core reduces in sequence: a part, and the rest, in another launch."""
        chunk, rest = divmod(extents[dim], parts)
        return (chunk + rest) * (total // extents[dim]) + LAUNCH * (rest > 0)

    best = {
        dim: min(range(2, min(CORES, extents[dim]) + 1), key=lambda parts: longest(dim, parts))
        for dim in reduced
        if extents[dim] > 1
    }
    # The outermost loop that is good enough: its parts are adjacent in memory.
    good = (each for each in best.items() if longest(*each) <= 2 * total // CORES)
    return next(good, None) or min(best.items(), key=lambda each: longest(*each))


def _combining(op: GenericOp) -> Operation | None:
    """The op that combines an element with the accumulator, if the body does nothing else."""
    end, accumulated = op.body.block.last_op, op.body.block.args[-1]
    assert end is not None
    found = end.operands[0].owner
    if type(found) not in _NEUTRAL or not isinstance(found, Operation) or accumulated.has_more_than_one_use():
        return None
    return found if accumulated in found.operands else None


def _axis(op: GenericOp, index: int, dim: int) -> int | None:
    """The axis of an operand that runs along a loop."""
    places = op.indexing_maps.data[index].data.results
    return next((axis for axis, each in enumerate(places) if each == AffineExpr.dimension(dim)), None)


def _with_parts(map: AffineMap, dim: int) -> AffineMap:
    """With one more loop, the outermost, for the parts of loop `dim`."""
    results: list[AffineExpr] = []
    for each in map.results:
        assert isinstance(each, AffineDimExpr)
        results += [AffineExpr.dimension(0)] * (each.position == dim)
        results.append(AffineExpr.dimension(each.position + 1))
    return AffineMap(map.num_dims + 1, 0, tuple(results))


def _of_parts(partial: SSAValue, output: SSAValue, combine: Callable[..., Operation]) -> GenericOp:
    """The reduction of the parts. The axes of the output have size 1."""
    assert isinstance(partial.type, MemRefType)
    block = Block(arg_types=[partial.type.element_type] * 2)
    with building(block):
        insert(YieldOp(insert(combine(*block.args)).results[0]))
    rank = len(shape_of(output.type))
    places = tuple(AffineExpr.dimension(each + 1) for each in range(rank))
    maps = [AffineMap(rank + 1, 0, (AffineExpr.dimension(0),)), AffineMap(rank + 1, 0, places)]
    kinds = [_REDUCTION, *[_PARALLEL] * rank]
    return GenericOp([partial], [output], Region(block), list(map(AffineMapAttr, maps)), kinds)


def _part(array: SSAValue, axis: int | None, start: int, size: int) -> SSAValue:
    """A view of `size` elements along an axis, from `start` on."""
    shape, strides = list(shape_of(array.type)), strides_of(array.type)
    if axis is None or shape[axis] == size:
        return array
    assert isinstance(array.type, MemRefType)
    starts = [start if each == axis else 0 for each in range(len(shape))]
    shape[axis] = size
    before = _offset_of(array.type)
    offset = None if before is None else before + start * strides[axis]
    type = MemRefType(array.type.element_type, shape, StridedLayoutAttr(strides, offset), array.type.memory_space)
    return insert(memref.SubviewOp(array, [], [], [], starts, shape, [1] * len(shape), type)).result


def _in_parts(array: SSAValue, axis: int | None, parts: int, chunk: int) -> SSAValue:
    """A view that splits an axis in two: the parts, and their elements. Elements that do not fill a part are left
    out."""
    if axis is None:
        return array
    array = _part(array, axis, 0, parts * chunk)
    assert isinstance(array.type, MemRefType)
    shape, strides = list(shape_of(array.type)), list(strides_of(array.type))
    groups = _groups(len(shape), axis)
    strides[axis : axis + 1] = [chunk * strides[axis], strides[axis]]
    shape[axis : axis + 1] = [parts, chunk]
    plain = MemRefType(array.type.element_type, shape, memory_space=array.type.memory_space)
    offset = _offset_of(array.type)
    is_plain = offset == 0 and tuple(strides) == strides_of(plain)
    layout = NoneAttr() if is_plain else StridedLayoutAttr(strides, offset)
    made = memref.ExpandShapeOp.create(
        operands=[array],
        result_types=[MemRefType(array.type.element_type, shape, layout, array.type.memory_space)],
        properties={
            "reassociation": ArrayAttr([ArrayAttr([IntegerAttr(each, i64) for each in group]) for group in groups]),
            "static_output_shape": DenseArrayBase.from_list(i64, shape),
        },
    )
    return insert(made).results[0]


def _offset_of(type: MemRefType) -> int | None:
    """The offset of the first element; None if it is known only at run time."""
    return type.layout.get_offset() if isinstance(type.layout, StridedLayoutAttr) else 0


def _groups(rank: int, axis: int) -> Sequence[Sequence[int]]:
    """The axes of the result that each axis is split into."""
    return [[each + (each > axis)] if each != axis else [axis, axis + 1] for each in range(rank)]
