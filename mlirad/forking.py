"""Forks while other threads work: a fork interrupts no compilation, and leaves no lock held.

Reads: nothing. Writes: nothing. Leaves: a forked child in which everything can be used. The parent's other threads do
not exist in it, so what they were doing would remain unfinished: a module half imported, a lock held for ever.

All locks here are the interpreter's own, in `with` statements: only there Ctrl-C cannot interrupt between taking a lock
and making sure that it is released.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from contextlib import AbstractContextManager
from typing import Any

_own = threading.local()  # `lock`: who has it is in the middle of what is whole; `taken`: what a fork has to give back
_locks_of_threads: weakref.WeakSet[threading.RLock] = weakref.WeakSet()
_gate = threading.RLock()  # who forks has it, and who gets a lock of its own
_held: list[AbstractContextManager[Any]] = []
_locks: weakref.WeakSet[threading.RLock] = weakref.WeakSet()


def new_lock() -> threading.RLock:
    """A lock that one thread may take several times. In a forked child it is free, unless the thread that forked has
    it."""
    made = threading.RLock()
    _locks.add(made)
    return made


def hold(lock: AbstractContextManager[Any]) -> None:
    """From now on forks wait for this lock, which others than we take, and which one thread may take several times."""
    _held.append(lock)


def whole() -> threading.RLock:
    """Forks of other threads wait until this is over: `with whole(): ...`."""
    try:
        return _own.lock
    except AttributeError:
        with _gate:
            made = threading.RLock()
            _locks_of_threads.add(made)
        _own.lock = made
        return made


def _before() -> None:
    own = whole()
    _own.taken = []
    # A thread that forks in the middle of what is whole does not wait: another thread that forks may be waiting for it.
    if not _has(own):
        _take(_gate)
        for each in list(_locks_of_threads):
            if each is not own:
                _take(each)
    for lock in _held:
        lock.__enter__()


def _take(lock: threading.RLock) -> None:
    _own.taken.append(lock)  # first: who is interrupted here gives back what it may not have
    lock.acquire()


def _has(lock: threading.RLock) -> bool:
    """Whether this thread has it."""
    return lock._is_owned()  # type: ignore[attr-defined]  # as threading.Condition asks


def _after() -> None:
    for lock in reversed(_held):
        lock.__exit__(None, None, None)
    while _own.taken:
        with contextlib.suppress(RuntimeError):
            _own.taken.pop().release()


def _after_in_child() -> None:
    own = whole()
    _after()
    for lock in (_gate, *_locks):
        _renew(lock)
    for each in [each for each in _locks_of_threads if each is not own]:
        _locks_of_threads.discard(each)


def _renew(lock: threading.RLock) -> None:
    """Take it from threads that are no more."""
    if lock.acquire(blocking=False):
        lock.release()
    else:
        lock._at_fork_reinit()  # type: ignore[attr-defined]  # as the threading module does with its own


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
