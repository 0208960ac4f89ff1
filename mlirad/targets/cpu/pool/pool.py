"""The threads that run the blocks of parallel loops, and the `parallel_for` that compiled code calls.

Reads: the number of threads (`mlirad.threads`). Writes: the addresses of `parallel_for` and `parallel_poll`, created
once per process. Leaves: no thread at the end of the process, or across a fork.

Before a fork each worker finishes its block and stops; parent and child start their own workers when needed. A child
that was forked without Python's knowledge detects this by its process number.
"""

from __future__ import annotations

import atexit
import ctypes
import os

from mlirad import forking, threads
from mlirad.contract.code_cache import CodeCache
from mlirad.options import usable_processors
from mlirad.targets.cpu.call_context import PARALLEL_FOR, PARALLEL_POLL
from mlirad.targets.cpu.engine import Library, compile_object
from mlirad.targets.cpu.pool.parallel_for import CALLS
from mlirad.targets.cpu.pool.shared_state import STATE
from mlirad.targets.cpu.pool.waiting import PROCESSORS, STOPPED, THREADS, WAITING
from mlirad.targets.cpu.pool.workers import STOP, WORKERS
from mlirad.targets.cpu.runtime import runtime_text

# The functions of the C library that the code calls.
_DECLARED = {
    "getpid": "i32 @getpid()",
    "pthread_cond_broadcast": "i32 @pthread_cond_broadcast(ptr)",
    "pthread_cond_init": "i32 @pthread_cond_init(ptr, ptr)",
    "pthread_cond_wait": "i32 @pthread_cond_wait(ptr, ptr)",
    "pthread_create": "i32 @pthread_create(ptr, ptr, ptr, ptr)",
    "pthread_join": "i32 @pthread_join(i64, ptr)",
    "pthread_mutex_init": "i32 @pthread_mutex_init(ptr, ptr)",
    "pthread_mutex_lock": "i32 @pthread_mutex_lock(ptr)",
    "pthread_mutex_trylock": "i32 @pthread_mutex_trylock(ptr)",
    "pthread_mutex_unlock": "i32 @pthread_mutex_unlock(ptr)",
    "pthread_sigmask": "i32 @pthread_sigmask(i32, ptr, ptr)",
    "sigfillset": "i32 @sigfillset(ptr)",
}


class Pool:
    """The code, never unloaded, because threads may be in it when the process ends."""

    def __init__(self, code_cache: CodeCache | None) -> None:
        symbols = {THREADS: threads.address_of_number()}
        code = _compiled() if code_cache is None else code_cache(PARALLEL_FOR, _compiled)
        library = ctypes.CDLL(None)
        for name in _DECLARED:
            symbols[name] = ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
        self._library = Library(code, (PARALLEL_FOR, PARALLEL_POLL, STOP, STOPPED, PROCESSORS), symbols)
        self.symbols = {name: self._library[name] for name in (PARALLEL_FOR, PARALLEL_POLL)}
        self._stop = ctypes.CFUNCTYPE(None)(self._library[STOP])  # releases the GIL
        self._is_stopped = ctypes.c_int64.from_address(self._library[STOPPED])
        ctypes.c_int64.from_address(self._library[PROCESSORS]).value = usable_processors()

        self._turn = forking.new_lock()
        self._forks = 0  # the number of forks in progress
        self._is_over = False

    def before_fork(self) -> None:
        """Until no fork is in progress, every call runs alone: the end of one fork must not restart workers while
        another fork waits for them to stop."""
        with self._turn:
            self._forks += 1
            self._stop()

    def after_fork(self) -> None:
        with self._turn:
            self._forks = max(0, self._forks - 1)
            if not self._forks and not self._is_over:
                self._is_stopped.value = 0

    def after_fork_in_child(self) -> None:
        """The forks of other threads do not exist in this process."""
        self._forks = 0
        self.after_fork()

    def end(self) -> None:
        with self._turn:
            self._is_over = True
            self._stop()


def _compiled() -> bytes:
    definitions, declarations = runtime_text(["mlirad.poll"])
    needed = [*declarations.values(), *(f"declare {each} nounwind" for each in _DECLARED.values())]
    return compile_object("\n".join([STATE, WAITING, CALLS, WORKERS, *definitions, *needed, ""]), is_optimised=True)


_pool: list[Pool] = []
_lock = forking.new_lock()


def the_pool(code_cache: CodeCache | None = None) -> Pool:
    """The pool of this process. code_cache: keeps its code on disk, if it has to be compiled.

    Raises ValueError if MLIRAD_NUM_THREADS is not a valid number of threads.
    """
    if not _pool:
        with _lock:
            if not _pool:
                made = Pool(code_cache)
                if hasattr(os, "register_at_fork"):
                    os.register_at_fork(
                        before=made.before_fork,
                        after_in_parent=made.after_fork,
                        after_in_child=made.after_fork_in_child,
                    )
                atexit.register(made.end)
                _pool.append(made)
    return _pool[0]
