"""Memories of bytes, and typed views of them.

Reads: types of buffers. Writes: bytes. Leaves: nothing. Every byte knows whether it has been written.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from mlirad.targets.ascend.hivm.hivm_attributes import AddressSpace
from mlirad.targets.ascend.simulator.faults import Fault, SimulatorFault


class ByteMemory:
    """`size` bytes. A read-only memory refuses writes; `initialised` is None if all bytes are initialised."""

    __slots__ = ("data", "initialised", "is_written", "name", "space")

    def __init__(self, name: str, space: AddressSpace, data: np.ndarray, is_initialised: bool):
        self.name = name
        self.space = space
        self.data = data
        self.initialised = None if is_initialised else np.zeros(data.size, np.bool_)
        self.is_written = False

    @classmethod
    def empty(cls, name: str, space: AddressSpace, size: int) -> ByteMemory:
        try:
            return cls(name, space, np.empty(size, np.uint8), False)
        except (MemoryError, ValueError, OverflowError):
            raise SimulatorFault(Fault.LAUNCH, f"there is no memory for {name} of {size} bytes") from None

    def forget(self) -> None:
        """Mark all bytes as not written."""
        if self.initialised is not None:
            self.initialised[:] = False


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides in elements."""
    strides = [1] * len(shape)
    for axis in reversed(range(len(shape) - 1)):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return tuple(strides)


class DeviceBuffer:
    """A typed buffer: element `index` is `dot(index, strides)` elements after byte `first`.

    A core packs eight bits into a byte. low, high: the byte range that contains it. allocated: the bytes of all views
    of the same buffer. run: how many bytes at its end are contiguous, from axis `inner` on.
    """

    __slots__ = (
        *("_array", "allocated", "dtype", "element", "first", "high", "inner", "low", "memory", "run", "shape"),
        "strides",
    )

    def __init__(
        self,
        memory: ByteMemory,
        first: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        element: str,
        dtype: np.dtype[Any],
        allocated: tuple[int, int] | None = None,
    ):
        self.memory = memory
        self.first = first
        self.shape = shape
        self.strides = strides
        self.element = element
        self.dtype = dtype
        self._array: np.ndarray | None = None
        if shape and min(shape) < 0:
            raise SimulatorFault(Fault.SHAPE, f"a buffer of shape {shape}")
        size, inner = 1, len(shape)
        while inner and (shape[inner - 1] == 1 or strides[inner - 1] == size):
            inner -= 1
            size *= shape[inner]
        self.inner, self.run = inner, self.bytes_of(size)
        self.low = self.high = first
        if 0 not in shape:
            for size, stride in zip(shape[:inner], strides, strict=False):
                last = self.bytes_of((size - 1) * stride)
                self.low += min(last, 0)
                self.high += max(last, 0)
            self.high += self.run
        self.allocated = (self.low, self.high) if allocated is None else allocated

    @property
    def is_packed(self) -> bool:
        """Whether eight elements share a byte."""
        return self.element == "i1" and self.memory.space is not AddressSpace.GM

    @property
    def is_contiguous(self) -> bool:
        return self.inner == 0 or 0 in self.shape

    def bytes_of(self, elements: int) -> int:
        return -(-elements // 8) if self.is_packed else elements * self.dtype.itemsize

    def moved(self, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> DeviceBuffer:
        """A view with the same element type, shifted by `offset` elements."""
        if self.is_packed and offset % 8:
            raise SimulatorFault(Fault.ALIGNMENT, f"a mask begins at bit {offset % 8} of a byte")
        shift = offset // 8 if self.is_packed else offset * self.dtype.itemsize
        return DeviceBuffer(self.memory, self.first + shift, shape, strides, self.element, self.dtype, self.allocated)

    def from_base(self) -> DeviceBuffer:
        """The first element of the allocation."""
        return DeviceBuffer(self.memory, self.allocated[0], (), (), self.element, self.dtype, self.allocated)

    def elements_from_base(self) -> int:
        bytes = self.first - self.allocated[0]
        return bytes * 8 if self.is_packed else bytes // self.dtype.itemsize

    def check_bounds(self) -> None:
        size = self.memory.data.size
        if self.low < 0 or self.high > size:
            held = f"{self.memory.name}, which has {size} bytes"
            raise SimulatorFault(Fault.BOUNDS, f"bytes [{self.low}, {self.high}) of {held}")
        first, behind = self.allocated
        if self.low < first or self.high > behind:
            held = f"{self.memory.name}, of a buffer that is [{first}, {behind})"
            raise SimulatorFault(Fault.BOUNDS, f"bytes [{self.low}, {self.high}) of {held}")

    def on(self, data: np.ndarray) -> np.ndarray:
        """The items of `data`, which has one per byte, for the bytes of this view; the last axis is the run."""
        if self.is_contiguous:
            return data[self.low : self.high]
        outer = self.shape[: self.inner]
        strides = tuple(self.bytes_of(stride) * data.itemsize for stride in self.strides[: self.inner])
        return np.ndarray((*outer, self.run), data.dtype, data, self.first * data.itemsize, (*strides, data.itemsize))

    def array(self) -> np.ndarray:
        """The elements, in place. Not for packed bits."""
        if self._array is None:
            self.check_bounds()
            strides = tuple(stride * self.dtype.itemsize for stride in self.strides)
            self._array = np.ndarray(self.shape, self.dtype, self.memory.data, self.first, strides)
        return self._array

    def read(self) -> np.ndarray:
        """The elements; packed bits as booleans."""
        if not self.is_packed:
            return self.array()
        self.check_packed()
        count = prod(self.shape)
        bits = np.unpackbits(self.memory.data[self.low : self.high], count=count, bitorder="little")
        return bits.astype(np.bool_).reshape(self.shape)

    def write(self, values: np.ndarray) -> None:
        """Overwrite the elements; the bits after packed ones, up to a whole byte, become 0."""
        if not self.memory.data.flags.writeable:
            raise SimulatorFault(Fault.READ_ONLY, f"{self.memory.name} may not be written")
        self.memory.is_written = True
        if not self.is_packed:
            self.array()[...] = values
            return
        self.check_packed()
        self.memory.data[self.low : self.high] = np.packbits(values.reshape(-1), bitorder="little")

    def check_packed(self) -> None:
        self.check_bounds()
        if not self.is_contiguous:
            raise SimulatorFault(Fault.ALIGNMENT, "a mask of bits has to be contiguous")

    def mark(self, is_initialised: bool = True) -> None:
        """Mark the bytes as initialised (or not)."""
        if self.memory.initialised is not None:
            self.on(self.memory.initialised)[...] = is_initialised

    def check_initialised(self) -> None:
        known = self.memory.initialised
        if known is None or (bytes_known := self.on(known)).all():
            return
        missing = int(bytes_known.size - np.count_nonzero(bytes_known))
        raise SimulatorFault(
            Fault.UNINITIALISED,
            f"{missing} of the {bytes_known.size} bytes read from {self.memory.name} at {self.low} were never written",
        )
