"""Sums of strips: numbers and arrays that strips of rows or of trips add up apart, and what they make together.

Reads: memory. Writes: memory for the sums, their clears, and nests that combine them in the order of the strips.
Leaves: the strips.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import ArrayAttr, IndexType, MemRefType, StridedLayoutAttr
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import insert
from mlirad.dialect.core.scalars import number
from mlirad.dialect.core.upstream import map_of, segments
from mlirad.lowering.loop_body import Combiner


def index(value: int) -> SSAValue:
    return number(value, IndexType())


def allocated(element: Attribute, shape: Sequence[int]) -> SSAValue:
    return insert(memref.AllocOp.get(element, shape=shape)).memref


def cell_of(array: SSAValue, place: SSAValue) -> SSAValue:
    """A view of one number of an array of one dimension."""
    assert isinstance(array.type, MemRefType)
    result = MemRefType(array.type.element_type, [], StridedLayoutAttr([], None))
    return insert(memref.SubviewOp.get(array, [place], [1], [1], result)).results[0]


def cleared_part(array: SSAValue, strip: SSAValue, combiner: Combiner) -> SSAValue:
    """The part of an array in which a strip adds up, cleared. The first axis of the array is along the strips."""
    shape = _shape(array)[1:]
    strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    result = MemRefType(combiner.element, shape, StridedLayoutAttr(strides, None))
    offsets = [strip, *[0] * len(shape)]
    view = memref.SubviewOp.get(array, offsets, [1, *shape], [1] * len(offsets), result)
    made = insert(view).results[0]
    insert(FillOp([number(combiner.neutral_number, combiner.element)], [made], []))
    return made


def strip_of(strip: SSAValue, length: int, count: int) -> tuple[SSAValue, SSAValue]:
    """The first of `length` numbers below `count` that are a strip's, and the end."""
    first = insert(arith.MuliOp(strip, index(length))).result
    return first, insert(arith.MinSIOp(insert(arith.AddiOp(first, index(length))).result, index(count))).result


def parallel_body(count: int) -> Block:
    """The body of a parallel loop over `count` numbers. It needs a terminator."""
    body = Block(arg_types=[IndexType()])
    bounds = [index(value) for value in (0, count, 1)]
    properties = {"operandSegmentSizes": segments(1, 1, 1, 0)}
    insert(scf.ParallelOp.create(operands=bounds, properties=properties, regions=[Region(body)]))
    return body


def cleared(combiner: Combiner, shape: Sequence[int]) -> SSAValue:
    """New memory, filled with the number that changes nothing."""
    made = allocated(combiner.element, shape)
    insert(FillOp([number(combiner.neutral_number, combiner.element)], [made], []))
    return made


def combine(value: SSAValue, memory: SSAValue, place: Sequence[SSAValue], combiner: Combiner) -> None:
    """Combine a number with one in memory. The wider of them is rounded to, or extended from, the narrower."""
    if value.type != combiner.element:
        is_wider = types.itemsize(value.type) > types.itemsize(combiner.element)
        value = insert((arith.TruncFOp if is_wider else arith.ExtFOp)(value, combiner.element)).result
    before = insert(memref.LoadOp.get(memory, place)).res
    made = combiner.op_class.create(
        operands=[before, value], result_types=[combiner.element], properties=combiner.properties
    )
    insert(memref.StoreOp.get(insert(made).results[0], memory, place))


def add_up_widened(array: SSAValue, whole: SSAValue, combiner: Combiner) -> None:
    """Combine the numbers in an array with the one in `whole`, and round once if they have more digits."""
    if combiner.widened is combiner:
        add_up(array, whole, combiner)
        return
    wide = cleared(combiner.widened, [])
    add_up(array, wide, combiner.widened)
    combine(insert(memref.LoadOp.get(wide, [])).res, whole, [], combiner)


def add_up(array: SSAValue, whole: SSAValue, combiner: Combiner) -> None:
    """Combine the numbers or arrays in an array with the one in `whole`, in order."""
    dims = range(1, rank := len(_shape(array)))
    kinds = [IteratorType.REDUCTION, *[IteratorType.PARALLEL] * len(dims)]
    insert(
        GenericOp.create(
            operands=[array, whole],
            properties={
                "indexing_maps": ArrayAttr([map_of(rank, (0, *dims)), map_of(rank, tuple(dims))]),
                "iterator_types": ArrayAttr([IteratorTypeAttr(each) for each in kinds]),
                "operandSegmentSizes": segments(1, 1),
            },
            regions=[Region(combiner.block)],
        )
    )


def _shape(array: SSAValue) -> tuple[int, ...]:
    assert isinstance(array.type, MemRefType)
    return array.type.get_shape()
