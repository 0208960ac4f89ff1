"""The memory of a running call: its context, and results that keep it on loan.

Reads: nothing. Writes: a call's arena, slots and blocks. Leaves: no memory without an owner.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

import numpy as np

from mlirad.targets.cpu.call_context import CONTEXT_BYTES, HEADER_BYTES
from mlirad.targets.cpu.engine import runtime_symbols

_ALIGNMENT = 64


class _ContextStruct(ctypes.Structure):
    """The context as compiled code sees it; call_context.py has the offsets."""

    _fields_ = [
        ("arena", ctypes.c_void_p),
        ("error_argument_0", ctypes.c_int64),
        ("error_argument_1", ctypes.c_int64),
        ("segments", ctypes.c_void_p),
        ("segment_bytes", ctypes.c_int64),
        ("high_water", ctypes.c_int64),
        ("used", ctypes.c_int64),
        ("capacity", ctypes.c_int64),
        ("stack_limit", ctypes.c_void_p),
        ("stack_bottom", ctypes.c_void_p),
        ("peak", ctypes.c_int64),
        ("budget", ctypes.c_int64),
        ("next_look", ctypes.c_int64),
        ("raised", ctypes.c_void_p * 3),
        ("reserved", ctypes.c_int64 * 8),
    ]


assert ctypes.sizeof(_ContextStruct) == CONTEXT_BYTES

_free: Callable[[int], None] = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(runtime_symbols()["free"])


class CallContext(_ContextStruct):
    """The memory of a running call: its arena, and its table of growable blocks. Both are kept for the next call.

    Compiled code sees this very memory, so native calls can take a context from the pool.
    """

    def __init__(self, arena_size: int, slot_count: int = 0):
        super().__init__()
        self.address = ctypes.addressof(self)
        # The arguments and results of the call; the same bits as integers and as floats.
        self.slots = (ctypes.c_int64 * max(1, slot_count))()
        self.slots_address = ctypes.addressof(self.slots)
        self.floats = (ctypes.c_double * len(self.slots)).from_buffer(self.slots)
        # The runtime reads the 64 bytes before a buffer to see whether it is a block.
        self._memory = np.empty(arena_size + HEADER_BYTES + _ALIGNMENT, np.uint8)
        start = self._memory.ctypes.data + HEADER_BYTES
        self._memory[: 2 * _ALIGNMENT] = 0
        self.arena = start + (-start % _ALIGNMENT)

    def trim(self) -> None:
        """Free all blocks. Not allowed during a call, or while a result is in one."""
        if self.segments:
            table = (ctypes.c_void_p * self.capacity).from_address(self.segments)
            for block in table:
                if block:
                    _free(block)
            _free(self.segments)
        self.segments, self.capacity, self.used, self.segment_bytes = None, 0, 0, 0

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if not is_finalizing():  # afterwards modules that trim needs may be gone
            self.trim()


class Lease:
    """A context on loan. Results of unknown size are in its blocks and keep it alive; then it returns to the pool."""

    __slots__ = ("context", "kept", "pool")

    def __init__(self, pool: list[CallContext], context: CallContext, kept: object):
        self.pool, self.context, self.kept = pool, context, kept

    def __del__(self) -> None:
        self.pool.append(self.context)


class LeasedArray:
    """An array in memory that a lease owns: NumPy's view of it keeps this object as its base."""

    def __init__(self, address: int, shape: tuple[int, ...], dtype: np.dtype, lease: Lease):
        self.lease = lease
        self.__array_interface__ = {"version": 3, "data": (address, False), "shape": shape, "typestr": dtype.str}
