"""llvmlite's lock, taken in such a way that Ctrl-C cannot leave it taken; and its objects, freed once.

Reads: llvmlite's lock and its callbacks. Writes: how llvmlite calls LLVM and frees its objects, when this is imported.
Leaves: a free lock after every call.

llvmlite takes its lock in methods that are written in Python. A signal handler may raise there after the lock was taken
and before `with` knows it, or before it is released. Then every compilation in another thread waits for ever. The
interpreter's own lock has no such place in a `with` statement.

llvmlite notes that it has freed an object after it has freed it. Where a handler raises in between, `__del__` frees the
object once more, and the process is aborted. Here it is noted first: at worst, an object is never freed.

A context frees the modules that are left in it, so a module has to be freed before. But a handler may raise before the
module knows its context, and Python frees objects that refer to each other in any order. Here a module knows its
context from the first, and does nothing if that was freed before it.
"""

from __future__ import annotations

import threading
from typing import Any

from llvmlite.binding import ffi
from llvmlite.binding.module import ModuleRef

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


def _close_string(self: Any) -> None:
    """Free the memory of a string."""
    pointer = getattr(self, "_ptr", None)  # none if the string was interrupted while it was made
    self._ptr = None
    if pointer is not None and self._owned:
        ffi.lib.LLVMPY_DisposeString(pointer)


def _close_object(self: Any) -> None:
    """Free an object of LLVM, unless it belongs to another one."""
    try:
        if not self._closed and not self._owned:
            self._owned = True
            self._dispose()
    finally:
        self.detach()


def _make_module(self: Any, module_ptr: Any, context: Any) -> None:
    """A module, which knows its context first."""
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
