"""Takes llvmlite's lock such that Ctrl-C cannot leave it locked, and frees llvmlite's objects exactly once.

Reads: llvmlite's lock and its callbacks. Writes: on import, how llvmlite calls LLVM and frees its objects. Leaves: an
unlocked lock after every call.

llvmlite takes its lock in Python methods. A signal handler may raise there after the lock was taken and before `with`
is entered, or before it is released. Then every compilation in another thread waits forever. With the interpreter's own
lock, a `with` statement has no such gap.

llvmlite records that it has freed an object only after freeing it. If a handler raises in between, `__del__` frees the
object again, and the process aborts. Here it is recorded first: at worst, an object is never freed.

A context frees its remaining modules, so a module must be freed earlier. But a handler may raise before the module
knows its context, and Python frees objects that refer to each other in any order. Here a module knows its context from
the start, and does nothing if the context was freed first.
"""

from __future__ import annotations

import threading
from typing import Any

from llvmlite.binding import ffi
from llvmlite.binding.module import ModuleRef

lock: threading.RLock = ffi.lib._lock._lock
"""The lock that every call of LLVM takes."""


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function of LLVM, between the callbacks that are registered for the lock."""
    with lock:
        for acquired, _ in self._lock._cblist:
            acquired()
        try:
            return self._cfn(*args, **kwargs)
        finally:
            for _, released in self._lock._cblist:
                released()


def _close_string(self: Any) -> None:
    """Free the memory of a string."""
    pointer = getattr(self, "_ptr", None)  # absent if its constructor was interrupted
    self._ptr = None
    if pointer is not None and self._owned:
        ffi.lib.LLVMPY_DisposeString(pointer)


def _close_object(self: Any) -> None:
    """Free an object of LLVM, unless another object owns it."""
    try:
        if not self._closed and not self._owned:
            self._owned = True
            self._dispose()
    finally:
        self.detach()


def _make_module(self: Any, module_ptr: Any, context: Any) -> None:
    """Create a module that knows its context from the start."""
    self._context = context
    ffi.ObjectRef.__init__(self, module_ptr)


def _dispose_module(self: Any) -> None:
    """Free a module, unless its context has freed it."""
    if not self._context._owned and not self._context.closed:
        ffi.lib.LLVMPY_DisposeModule(self)


ffi._lib_fn_wrapper.__call__ = _call
ffi.OutputString.close = _close_string
ffi.ObjectRef.close = _close_object
ModuleRef.__init__ = _make_module
ModuleRef._dispose = _dispose_module
