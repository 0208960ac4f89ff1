"""Upstream ops that take more than one line to build."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from math import prod

from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    TensorType,
    i32,
    i64,
)
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import CopyOp, FillOp, GenericOp, YieldOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.rewriter import InsertPoint

from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Dims
from mlirad.dialect.core.expr import building, insert, insertion_point


def generic(inputs: Sequence[SSAValue], out: SSAValue, maps: tuple[Dims, ...], body: Block) -> SSAValue:
    """A `linalg.generic` that writes into the memory of `out`. maps: see `op.Generic`."""
    indexing, iterators = _structure(maps)
    op = GenericOp.create(
        operands=[*inputs, out],
        result_types=[out.type],
        properties={
            "indexing_maps": indexing,
            "iterator_types": iterators,
            "operandSegmentSizes": segments(len(inputs), 1),
        },
        regions=[Region(body)],
    )
    return insert(op).results[0]


def map_of(loops: int, dims: Dims) -> AffineMapAttr:
    """The indexing map of an array whose axes run along `dims`, in a nest of `loops` loops."""
    return AffineMapAttr(AffineMap(loops, 0, tuple(map(AffineDimExpr, dims))))


@lru_cache(1024)
def _structure(maps: tuple[Dims, ...]) -> tuple[ArrayAttr, ArrayAttr]:
    """The indexing maps and the iterator types."""
    loops = 1 + max((dim for dims in maps for dim in dims), default=-1)
    kinds = [IteratorType.PARALLEL if dim in maps[-1] else IteratorType.REDUCTION for dim in range(loops)]
    indexing = [map_of(loops, dims) for dims in maps]
    return ArrayAttr(indexing), ArrayAttr([IteratorTypeAttr(kind) for kind in kinds])


@cache
def segments(*counts: int) -> DenseArrayBase:
    """The number of operands in each operand group of an op."""
    return DenseArrayBase.from_list(i32, counts)


def empty(type: Attribute, sizes: Sequence[SSAValue] = ()) -> SSAValue:
    """A new tensor with undefined elements; `sizes` has the sizes of its unknown axes, as `index`."""
    (made,) = insert(tensor.EmptyOp.create(operands=sizes, result_types=[type])).results
    return made


def unknown_sizes(x: SSAValue) -> list[SSAValue]:
    """The unknown sizes of a tensor, in the order of their axes, as `index`."""
    return [size_of_axis(x, axis) for axis, size in enumerate(types.shape(x.type)) if size < 0]


def size_of_axis(x: SSAValue, axis: int) -> SSAValue:
    """A tensor's size along an axis, an `index`: the value that it was created with, if visible."""
    while (found := _size_source(x, axis)) is not None:
        if isinstance(found, SSAValue):
            return found
        x, axis = found
    number = insert(arith.ConstantOp(IntegerAttr(axis, IndexType()))).result
    return insert(tensor.DimOp(x, number)).result


def _size_source(x: SSAValue, axis: int) -> SSAValue | tuple[SSAValue, int] | None:
    """The source of an unknown size, one op back."""
    shape = types.shape(x.type)
    if shape[axis] >= 0:
        return None
    match op := x.owner:
        case tensor.EmptyOp():
            return op.dynamic_sizes[shape[:axis].count(-1)]
        case tensor.ExtractSliceOp() if len(op.sizes) == shape.count(-1):
            return op.sizes[shape[:axis].count(-1)]
        case tensor.InsertOp() | tensor.InsertSliceOp():
            return op.dest, axis
        case FillOp() | GenericOp():
            return op.outputs[op.results.index(x)], axis
        case tensor.CollapseShapeOp() | tensor.ExpandShapeOp() if is_thin(op):
            unknown = [place for place, size in enumerate(types.shape(op.src.type)) if size < 0]
            return op.src, unknown[shape[:axis].count(-1)]
    return None


def is_thin(op: tensor.CollapseShapeOp | tensor.ExpandShapeOp) -> bool:
    """Whether a view only drops axes of size 1, or adds some."""
    one, other = ([size for size in types.shape(value.type) if size != 1] for value in (op.src, op.result))
    return one == other


def extract_slice(
    t: SSAValue,
    starts: Sequence[SSAValue],
    sizes: Sequence[int | SSAValue],
    strides: Sequence[int],
    result: TensorType,
) -> tensor.ExtractSliceOp:
    """The upstream op with dynamic starts and static strides. The result may lack axes of size 1."""
    return tensor.ExtractSliceOp.build(
        operands=[t, list(starts), [size for size in sizes if isinstance(size, SSAValue)], []],
        result_types=[result],
        properties=_slice_properties(sizes, strides),
    )


def insert_slice(
    value: SSAValue,
    t: SSAValue,
    starts: Sequence[SSAValue],
    sizes: Sequence[int | SSAValue],
    strides: Sequence[int],
) -> tensor.InsertSliceOp:
    """The upstream op with dynamic starts and static strides. The value may lack axes of size 1."""
    return tensor.InsertSliceOp.build(
        operands=[value, t, list(starts), [size for size in sizes if isinstance(size, SSAValue)], []],
        result_types=[t.type],
        properties=_slice_properties(sizes, strides),
    )


def _slice_properties(sizes: Sequence[int | SSAValue], strides: Sequence[int]) -> dict[str, Attribute]:
    static = [size if isinstance(size, int) else DYNAMIC_INDEX for size in sizes]
    return {
        "static_offsets": DenseArrayBase.from_list(i64, [DYNAMIC_INDEX] * len(static)),
        "static_sizes": DenseArrayBase.from_list(i64, static),
        "static_strides": DenseArrayBase.from_list(i64, list(strides)),
    }


def sizes_of(value: SSAValue) -> list[int | SSAValue]:
    """The sizes of an upstream tensor, in the form that a slice takes."""
    unknown = iter(unknown_sizes(value))
    return [next(unknown) if size < 0 else size for size in types.shape(value.type)]


def without_thin_axes(value: SSAValue) -> SSAValue:
    """The value without the axes of size 1 that were added for the slice."""
    owner = value.owner
    if isinstance(owner, tensor.ExpandShapeOp) and is_thin(owner) and types.shape(owner.src.type):
        return owner.src
    return value


def written(kind: type[FillOp | CopyOp], source: SSAValue, memory: SSAValue) -> SSAValue:
    """A tensor filled with a number, or copied, into the memory of another tensor.

    The classes' own constructors would build the region with xDSL's implicit builders, which change how operations are
    created in all threads.
    """
    block = Block(arg_types=[types.element_type(value.type) for value in (source, memory)])
    block.add_op(YieldOp.create(operands=block.args[:1]))
    op = kind.create(
        operands=[source, memory],
        result_types=[memory.type],
        properties={"operandSegmentSizes": segments(1, 1)},
        regions=[Region(block)],
    )
    return insert(op).results[0]


def filled(value: SSAValue, type: Attribute, sizes: Sequence[SSAValue] = ()) -> SSAValue:
    """A new tensor filled with one number; `sizes` has the sizes of its unknown axes, as `index`."""
    return written(FillOp, value, empty(type, sizes))


def reshaped(x: SSAValue, shape: Sequence[int]) -> SSAValue:
    """A tensor in another shape with the same number of elements: collapse axes, then expand, as few as possible.

    The unknown sizes (-1) are x's, in the same order; apart from them, only axes of size 1 are added or dropped.
    """
    source, target = types.shape(x.type), tuple(shape)
    element = types.element_type(x.type)
    if 0 in target:
        return empty(types.tensor(target, element))
    if not source or not target:
        # One element. (MLIR would expand it along no axes at all; xDSL's verifier refuses that.)
        zeros = [insert(arith.ConstantOp(IntegerAttr(0, IndexType()))).result for _ in source]
        return filled(insert(tensor.ExtractOp(x, zeros, element)).result, types.tensor(target, element))
    owner = x.owner
    if isinstance(owner, tensor.ExtractSliceOp) and len(owner.static_sizes) == len(source) and _is_drop(source, target):
        type = types.tensor(target, element)
        slice_ = tensor.ExtractSliceOp.create(operands=owner.operands, result_types=[type], properties=owner.properties)
        # Next to its owner: here the array may be overwritten already, and reading the old version would need a copy.
        with building(InsertPoint.after(owner)):
            return insert(slice_).result
    if -1 in target:
        groups = _thin_groups(source, target)
        lengths = unknown_sizes(x) if len(groups) < len(target) else []
    else:
        groups, lengths = _common_groups(source, target), []
    middle = [_product([source[axis] for axis in axes]) for axes, _ in groups]
    if len(middle) < len(source):
        axes = _axis_lists([axes for axes, _ in groups])
        collapsed = {"reassociation": axes}
        op = tensor.CollapseShapeOp.build(
            operands=[x], result_types=[types.tensor(middle, element)], properties=collapsed
        )
        x = insert(op).result
    if len(middle) < len(target):
        axes = _axis_lists([axes for _, axes in groups])
        sizes = [DYNAMIC_INDEX if size < 0 else size for size in target]
        x = insert(tensor.ExpandShapeOp(x, lengths, axes, sizes, types.tensor(target, element))).result
    return x


def _axis_lists(groups: Sequence[Sequence[int]]) -> ArrayAttr[ArrayAttr[IntegerAttr]]:
    return ArrayAttr([ArrayAttr([IntegerAttr(axis, i64) for axis in axes]) for axes in groups])


def _is_drop(source: Sequence[int], target: Sequence[int]) -> bool:
    """Whether `target` is `source` without some axes of size 1."""
    left = list(target)
    for size in source:
        if left and size == left[0]:
            del left[0]
        elif size != 1:
            return False
    return not left


def _product(sizes: Sequence[int]) -> int:
    return -1 if -1 in sizes else prod(sizes)


def _thin_groups(source: Sequence[int], target: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Runs of axes with exactly one axis of a size other than 1, equal in both shapes."""
    mine, others = _runs(source), _runs(target)
    return list(zip(mine, others, strict=True))


def _runs(shape: Sequence[int]) -> list[list[int]]:
    """The axes, cut into runs that each end after one axis of a size other than 1; the last run takes the rest."""
    runs: list[list[int]] = [[]]
    has_size = False
    for axis, size in enumerate(shape):
        if size != 1 and has_size:
            runs.append([])
        has_size = has_size or size != 1
        runs[-1].append(axis)
    return runs


def _common_groups(source: Sequence[int], target: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """The finest way to cut both shapes into runs of axes with pairwise equally many elements."""
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
    # The remaining axes are of size 1.
    groups[-1][0].extend(range(i, len(source)))
    groups[-1][1].extend(range(j, len(target)))
    return groups


def counted(
    sizes: Sequence[SSAValue],
    carried: Sequence[SSAValue],
    body: Callable[[list[SSAValue], list[SSAValue]], Sequence[SSAValue]],
) -> list[SSAValue]:
    """A nest of `scf.for`, one for each size (an i64), in row-major order. Returns the final carried values.

    `body` receives the counters (i64) and the carried values, emits ops, and returns the next carried values.
    """
    return _nest(list(sizes), [], list(carried), body)


def _nest(
    sizes: list[SSAValue],
    counters: list[SSAValue],
    carried: list[SSAValue],
    body: Callable[[list[SSAValue], list[SSAValue]], Sequence[SSAValue]],
) -> list[SSAValue]:
    if len(counters) == len(sizes):
        return list(body(counters, carried))
    zero, one = (insert(arith.ConstantOp(IntegerAttr(value, i64))).result for value in (0, 1))
    block = Block(arg_types=[i64, *(value.type for value in carried)])
    counter, *inside = block.args
    with building(block):
        insert(scf.YieldOp(*_nest(sizes, [*counters, counter], list(inside), body)))
    return list(insert(scf.ForOp(zero, sizes[len(counters)], one, carried, Region(block))).results)


def as_indices(values: Sequence[SSAValue]) -> list[SSAValue]:
    """i64 values as upstream `index` values."""
    return [as_index(value) for value in values]


def as_index(value: SSAValue) -> SSAValue:
    """An i64 as an upstream `index`. Reuses the `index` it was cast from, or the last cast of it in this block, if
    any."""
    owner, use = value.owner, value.first_use
    if isinstance(owner, arith.IndexCastOp):
        return owner.operands[0]
    if use is not None and isinstance(use.operation, arith.IndexCastOp):
        if use.operation.parent is insertion_point().block and insertion_point().insert_before is None:
            return use.operation.results[0]
    return insert(arith.IndexCastOp(value, IndexType())).result
