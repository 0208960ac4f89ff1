"""Where the elements of memrefs are in memory, and views that begin at an element.

Reads: memrefs. Writes: memref.extract_strided_metadata, memref.reinterpret_cast. Leaves: the memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, StridedLayoutAttr
from xdsl.ir import SSAValue

from mlirad.dialect.core.upstream import segments
from mlirad.lowering.loop_builder import Index, LoopBuilder, integers, memref_of
from mlirad.xdsl_support.once_per_object import once


@once
def known_shape(type: MemRefType) -> tuple[int, ...]:
    """A memref's sizes; -1 for those known only at run time."""
    return tuple([-1 if size == DYNAMIC_INDEX else size for size in type.get_shape()])


@once
def known_layout(type: MemRefType) -> tuple[int | None, tuple[int | None, ...]]:
    """A memref's offset and strides; None if known only at run time."""
    if isinstance(type.layout, StridedLayoutAttr):
        return type.layout.get_offset(), tuple(type.layout.get_strides())
    strides: list[int | None] = []
    stride: int | None = 1
    for size in reversed(known_shape(type)):
        strides.append(stride)
        stride = stride * size if stride is not None and size >= 0 else None
    return 0, tuple(reversed(strides))


def layout_of(builder: LoopBuilder, buffer: SSAValue) -> tuple[SSAValue, Index, Sequence[Index]]:
    """The base of a buffer's addresses, its offset, and its strides."""
    type = buffer.type
    assert isinstance(type, MemRefType)
    offset, strides = known_layout(type)
    if offset is not None and None not in strides:
        return buffer, offset, [stride for stride in strides if stride is not None]
    parts = memref.ExtractStridedMetaDataOp(buffer)
    builder.insert(parts)
    return parts.base_buffer, parts.offset, parts.strides


def view_from(
    builder: LoopBuilder, buffer: SSAValue, place: Sequence[Index], sizes: Sequence[int], steps: Sequence[int]
) -> SSAValue:
    """An array of these sizes, whose first element is that at a place, and whose axes have these strides in memory."""
    base, position, strides = layout_of(builder, buffer)
    for index, stride in zip(place, strides, strict=True):
        position = builder.add(position, builder.multiply(index, stride))
    assert isinstance(buffer.type, MemRefType)
    return builder.op(
        memref.ReinterpretCastOp,
        [base, builder.value(position)],
        memref_of(buffer.type.element_type, tuple(sizes), StridedLayoutAttr(list(steps), None)),
        static_offsets=integers(DYNAMIC_INDEX),
        static_sizes=integers(*sizes),
        static_strides=integers(*steps),
        operandSegmentSizes=segments(1, 1, 0, 0),
    )
