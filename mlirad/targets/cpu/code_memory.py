"""Whether the process may still map memory for code, asked before LLVM needs it: LLVM's linker aborts if it may not.

Reads: what the system allows. Writes: nothing. Leaves: no mapping.

A library takes three mappings, one each for code, constants and other data, and a system limits the number of mappings
of a process (`vm.max_map_count` of Linux, 65,530 by default). LLVM cuts them out of one mapping after it has written
the code; if the system refuses that, an assertion of LLVM fails.
"""

from __future__ import annotations

import ctypes
import mmap
from functools import cache
from typing import Any

_SPLITS = 8  # each makes two mappings more; other threads may map memory before the linker does
_MESSAGE = (
    "no memory for compiled code: the process has as many mappings of memory as the system allows it; drop kernels "
    "that are no longer called, or let the system allow more (vm.max_map_count)"
)


def check_room_for_code() -> None:
    """Raise MemoryError if the process may not map memory for one more library."""
    map_memory, protect, unmap = _functions()
    size = (2 * _SPLITS + 1) * mmap.PAGESIZE
    start = map_memory(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    if start == ctypes.c_void_p(-1).value:
        raise MemoryError(_MESSAGE)
    try:
        for k in range(_SPLITS):
            if protect(start + (2 * k + 1) * mmap.PAGESIZE, mmap.PAGESIZE, mmap.PROT_READ):
                raise MemoryError(_MESSAGE)
    finally:
        unmap(start, size)


@cache
def _functions() -> tuple[Any, Any, Any]:
    """The C library's mmap, mprotect and munmap."""
    library = ctypes.CDLL(None)
    address, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    library.mmap.argtypes, library.mmap.restype = [address, size, number, number, number, ctypes.c_longlong], address
    library.mprotect.argtypes, library.munmap.argtypes = [address, size, number], [address, size]
    return library.mmap, library.mprotect, library.munmap
