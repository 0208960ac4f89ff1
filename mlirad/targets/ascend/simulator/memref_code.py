"""Translates `memref`: allocation, views, and single elements.

Reads: ops of memref. Writes: steps. Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IntegerAttr, MemRefType
from xdsl.ir import Operation, SSAValue

from mlirad.targets.ascend.hivm.instruction import element_dtype, element_name, integers, space_of
from mlirad.targets.ascend.simulator.device_memory import DeviceBuffer, row_major
from mlirad.targets.ascend.simulator.faults import Fault, SimulatorFault
from mlirad.targets.ascend.simulator.frame_slots import MACHINE, Frame, Slots, Step, Translators

Sizes = Callable[[Frame], tuple[int, ...]]


def mixed(static: Sequence[int], dynamic: Sequence[SSAValue], slots: Slots) -> Sizes:
    """Numbers, some of them known when the program is loaded."""
    if DYNAMIC_INDEX not in static:
        known = tuple(static)
        return lambda frame: known
    rest = iter(slots.all(dynamic))
    sources = [(next(rest), None) if each == DYNAMIC_INDEX else (None, each) for each in static]
    return lambda frame: tuple(known if slot is None else frame[slot] for slot, known in sources)  # pyright: ignore[reportReturnType]: one of the two is an integer


def memref_type(value: SSAValue) -> MemRefType:
    assert isinstance(value.type, MemRefType)
    return value.type


def allocate(op: memref.AllocOp | memref.AllocaOp, slots: Slots) -> Step:
    out, type = slots.of(op.memref), memref_type(op.memref)
    sizes = mixed(type.get_shape(), op.dynamic_sizes, slots)
    space = space_of(type)

    def run(frame: Frame) -> None:
        frame[out] = frame[MACHINE].allocate(op, sizes(frame), element_name(type), element_dtype(type), space)

    return run


def subview(op: memref.SubviewOp, slots: Slots) -> Step:
    source, out = slots.of(op.source), slots.of(op.result)
    offsets = mixed(integers(op.static_offsets), op.offsets, slots)
    sizes = mixed(integers(op.static_sizes), op.sizes, slots)
    strides = mixed(integers(op.static_strides), op.strides, slots)
    kept = kept_axes(integers(op.static_sizes), memref_type(op.result).get_shape())

    def run(frame: Frame) -> None:
        base: DeviceBuffer = frame[source]
        first, shape, steps = offsets(frame), sizes(frame), strides(frame)
        for axis, (offset, size, step) in enumerate(zip(first, shape, steps, strict=True)):
            last = offset + (size - 1) * step if size else offset - 1
            if offset < 0 or size < 0 or max(offset, last) >= max(base.shape[axis], size and 1) or last < -1:
                raise frame[MACHINE].placed(
                    Fault.BOUNDS,
                    f"a view of elements {offset} to {last} along axis {axis} of a buffer of shape {base.shape}",
                    op,
                )
        moved = sum(offset * stride for offset, stride in zip(first, base.strides, strict=True))
        scaled = [stride * step for stride, step in zip(base.strides, steps, strict=True)]
        try:
            frame[out] = base.moved(moved, tuple(shape[axis] for axis in kept), tuple(scaled[axis] for axis in kept))
        except SimulatorFault as fault:
            raise frame[MACHINE].placed(fault.kind, fault.message, op) from None

    return run


def kept_axes(sizes: Sequence[int], result: Sequence[int]) -> tuple[int, ...]:
    """The axes of a view that its type has: it may omit axes of size 1."""
    kept: list[int] = []
    surplus = len(sizes) - len(result)
    for axis, size in enumerate(sizes):
        if surplus and size == 1 and (len(kept) == len(result) or result[len(kept)] != 1):
            surplus -= 1
        else:
            kept.append(axis)
    if surplus:
        kept = [axis for axis, size in enumerate(sizes) if size != 1][: len(result)]
    return tuple(kept)


def same_view(op: memref.CastOp | memref.MemorySpaceCastOp, slots: Slots) -> Step:
    source, out = slots.of(op.source), slots.of(op.dest)

    def run(frame: Frame) -> None:
        frame[out] = frame[source]

    return run


def reinterpret(op: memref.ReinterpretCastOp, slots: Slots) -> Step:
    """A view with an offset from the beginning of the allocation."""
    source, out = slots.of(op.source), slots.of(op.result)
    offsets = mixed(integers(op.static_offsets), op.offsets, slots)
    sizes = mixed(integers(op.static_sizes), op.sizes, slots)
    strides = mixed(integers(op.static_strides), op.strides, slots)

    def run(frame: Frame) -> None:
        frame[out] = frame[source].from_base().moved(offsets(frame)[0], sizes(frame), strides(frame))

    return run


def strided_metadata(op: memref.ExtractStridedMetaDataOp, slots: Slots) -> Step:
    source, base = slots.all((op.source, op.base_buffer))
    offset, sizes, strides = slots.of(op.offset), slots.all(op.sizes), slots.all(op.strides)

    def run(frame: Frame) -> None:
        view: DeviceBuffer = frame[source]
        frame[base] = view.from_base()
        frame[offset] = view.elements_from_base()
        for slot, value in zip((*sizes, *strides), (*view.shape, *view.strides), strict=True):
            frame[slot] = value

    return run


def get_global(op: memref.GetGlobalOp, slots: Slots) -> Step:
    out, name = slots.of(op.memref), op.name_.string_value()

    def run(frame: Frame) -> None:
        frame[out] = frame[MACHINE].constant_array(name)

    return run


def typed_view(op: memref.ViewOp, slots: Slots) -> Step:
    """`memref.view`: bytes as elements of another type, from a given byte on."""
    source, shift, out = slots.all((op.source, op.byte_shift, op.result))
    type = memref_type(op.result)
    sizes = mixed(type.get_shape(), op.sizes, slots)
    element, dtype = element_name(type), element_dtype(type)

    def run(frame: Frame) -> None:
        base, shape = frame[source], sizes(frame)
        first = base.first + frame[shift]
        frame[out] = DeviceBuffer(base.memory, first, shape, row_major(shape), element, dtype, base.allocated)

    return run


def axis_groups(op: memref.CollapseShapeOp | memref.ExpandShapeOp) -> tuple[tuple[int, ...], ...]:
    """The axes of the longer shape that make up each axis of the shorter one."""
    return tuple(
        tuple(axis.value.data for axis in group if isinstance(axis, IntegerAttr))
        for group in op.reassociation
        if isinstance(group, ArrayAttr)
    )


def collapse(op: memref.CollapseShapeOp, slots: Slots) -> Step:
    source, out, groups = slots.of(op.src), slots.of(op.result), axis_groups(op)

    def run(frame: Frame) -> None:
        view: DeviceBuffer = frame[source]
        shape, strides = [], []
        for group in groups:
            axes = [axis for axis in group if view.shape[axis] != 1] or list(group[-1:])
            for outer, inner in pairwise(axes):
                if view.strides[outer] != view.strides[inner] * view.shape[inner]:
                    raise frame[MACHINE].placed(Fault.BOUNDS, f"axes {outer} and {inner} are not contiguous", op)
            shape.append(prod(view.shape[axis] for axis in axes))
            strides.append(view.strides[axes[-1]] if axes else 1)
        frame[out] = view.moved(0, tuple(shape), tuple(strides))

    return run


def expand(op: memref.ExpandShapeOp, slots: Slots) -> Step:
    source, out, groups = slots.of(op.src), slots.of(op.result), axis_groups(op)
    sizes = mixed(integers(op.static_output_shape), op.output_shape, slots)

    def run(frame: Frame) -> None:
        view, shape = frame[source], sizes(frame)
        strides = [1] * len(shape)
        for group, stride in zip(groups, view.strides, strict=True):
            for axis in reversed(group):
                strides[axis] = stride
                stride *= shape[axis]
        frame[out] = view.moved(0, shape, tuple(strides))

    return run


def size_of(op: memref.DimOp, slots: Slots) -> Step:
    source, axis, out = slots.all((op.source, op.index, op.result))

    def run(frame: Frame) -> None:
        frame[out] = frame[source].shape[frame[axis]]

    return run


def element_of(op: Operation, view: DeviceBuffer, indices: Sequence[int], frame: Frame) -> DeviceBuffer:
    """One element. Raises a fault if the index is out of bounds."""
    if any(not 0 <= index < size for index, size in zip(indices, view.shape, strict=True)):
        raise frame[MACHINE].placed(Fault.BOUNDS, f"element {list(indices)} of a buffer of shape {view.shape}", op)
    return view.moved(sum(index * stride for index, stride in zip(indices, view.strides, strict=True)), (), ())


def load(op: memref.LoadOp, slots: Slots) -> Step:
    source, out, indices = slots.of(op.memref), slots.of(op.res), slots.all(op.indices)
    is_integer = element_dtype(op.res.type).kind in "ib"

    def run(frame: Frame) -> None:
        view = element_of(op, frame[source], [frame[each] for each in indices], frame)
        value = frame[MACHINE].read_element(view, op)
        frame[out] = int(value) if is_integer else value

    return run


def store(op: memref.StoreOp, slots: Slots) -> Step:
    value, target, indices = slots.of(op.value), slots.of(op.memref), slots.all(op.indices)

    def run(frame: Frame) -> None:
        view = element_of(op, frame[target], [frame[each] for each in indices], frame)
        frame[MACHINE].write_element(view, np.asarray(frame[value]), op)

    return run


def copy(op: memref.CopyOp, slots: Slots) -> Step:
    source, target = slots.all((op.source, op.destination))

    def run(frame: Frame) -> None:
        frame[MACHINE].copy(frame[source], frame[target], op)

    return run


TRANSLATORS: Translators = {
    memref.AllocOp: allocate,
    memref.AllocaOp: allocate,
    memref.DeallocOp: None,
    memref.SubviewOp: subview,
    memref.CastOp: same_view,
    memref.MemorySpaceCastOp: same_view,
    memref.ReinterpretCastOp: reinterpret,
    memref.CollapseShapeOp: collapse,
    memref.ExpandShapeOp: expand,
    memref.ExtractStridedMetaDataOp: strided_metadata,
    memref.DimOp: size_of,
    memref.LoadOp: load,
    memref.StoreOp: store,
    memref.CopyOp: copy,
    memref.ViewOp: typed_view,
    memref.GetGlobalOp: get_global,
}
