"""llvmlite's lock, taken in such a way that Ctrl-C cannot leave it taken.

Reads: llvmlite's lock and its callbacks. Writes: how llvmlite calls LLVM, when this is imported. Leaves: a free lock
after every call.

llvmlite takes its lock in methods that are written in Python. A signal handler may raise there after the lock was taken
and before `with` knows it, or before it is released. Then every compilation in another thread waits for ever. The
interpreter's own lock has no such place in a `with` statement.
"""

from __future__ import annotations

import threading
from typing import Any

from llvmlite.binding import ffi

lock: threading.RLock = ffi.lib._lock._lock
"""What every call of LLVM takes."""


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    """A call of a function of LLVM, between the callbacks that are registered for the lock."""
    with lock:
        for acquired, _ in self._lock._cblist:
            acquired()
        try:
            return self._cfn(*args, **kwargs)
        finally:
            for _, released in self._lock._cblist:
                released()


ffi._lib_fn_wrapper.__call__ = _call
