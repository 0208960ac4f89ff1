"""The limit of a thread's stack, so that recursive compiled functions stop in time.

Reads: the C library's thread attributes. Writes: nothing. Gives: an address for each thread, found once.
"""

from __future__ import annotations

import ctypes
import sys
import threading

# The reserve for functions that compiled code calls, and for the part of a function's frame below the checked address.
RESERVE = 64 << 10


class _Known(threading.local):
    bottom: int | None = None
    is_known = False


_known = _Known()


def stack_bottom() -> int | None:
    """The lowest address to which compiled code may extend the current thread's stack; None if unknown."""
    if not _known.is_known:
        _known.bottom, _known.is_known = _find(), True
    return _known.bottom


def _find() -> int | None:
    library = ctypes.CDLL(None)
    library.pthread_self.restype = ctypes.c_void_p
    thread = ctypes.c_void_p(library.pthread_self())
    if sys.platform == "darwin":
        library.pthread_get_stackaddr_np.restype = ctypes.c_void_p
        library.pthread_get_stacksize_np.restype = ctypes.c_size_t
        top, size = library.pthread_get_stackaddr_np(thread), library.pthread_get_stacksize_np(thread)
        return top - size + RESERVE if top else None
    if not hasattr(library, "pthread_getattr_np"):
        return None
    attributes = ctypes.create_string_buffer(256)  # glibc's has 56 bytes
    if library.pthread_getattr_np(thread, attributes):
        return None
    lowest, size, guard = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t()
    try:
        if library.pthread_attr_getstack(attributes, ctypes.byref(lowest), ctypes.byref(size)):
            return None
        library.pthread_attr_getguardsize(attributes, ctypes.byref(guard))
    finally:
        library.pthread_attr_destroy(attributes)
    return (lowest.value or 0) + guard.value + RESERVE if size.value else None
