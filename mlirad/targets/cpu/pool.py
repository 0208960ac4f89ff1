"""The threads that run the blocks of parallel loops, and the `parallel_for` that compiled code calls. See pool_code.py.

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
from mlirad.targets.cpu.pool_code import PTHREAD, STOP, pool_text
from mlirad.targets.cpu.pool_waiting import PROCESSORS, STOPPED, THREADS


class Pool:
    """The code, never unloaded, because threads may be in it when the process ends."""

    def __init__(self, code_cache: CodeCache | None) -> None:
        symbols = {THREADS: threads.address_of_number()}
        code = _compiled() if code_cache is None else code_cache(PARALLEL_FOR, _compiled)
        library = ctypes.CDLL(None)
        for name in PTHREAD:
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
    return compile_object(pool_text(), is_optimised=True)


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
