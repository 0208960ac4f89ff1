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


class _Own(threading.local):
    """What belongs to one thread."""

    lock: threading.RLock | None = None  # who has it is in the middle of what is whole

    def __init__(self) -> None:
        self.taken: list[threading.RLock] = []  # what a fork has to release


_own = _Own()
_locks_of_threads: weakref.WeakSet[threading.RLock] = weakref.WeakSet()
_gate = threading.RLock()  # who forks has it, and who gets a lock of its own
_held: list[threading.RLock] = []
_locks: weakref.WeakSet[threading.RLock] = weakref.WeakSet()


def new_lock() -> threading.RLock:
    """A lock that one thread may take several times. In a forked child it is free, unless the thread that forked has
    it."""
    made = threading.RLock()
    _locks.add(made)
    return made


def hold(lock: threading.RLock) -> None:
    """From now on forks wait for this lock, which others than we take, and which one thread may take several times."""
    _held.append(lock)


def whole() -> threading.RLock:
    """Forks of other threads wait until this is over: `with whole(): ...`."""
    if _own.taken:
        _release()  # Ctrl-C has come before the first instruction of _after
    return _own_lock()


def _own_lock() -> threading.RLock:
    if _own.lock is not None:
        return _own.lock
    with _gate:
        made = threading.RLock()
        _locks_of_threads.add(made)
    _own.lock = made
    return made


def _before() -> None:
    try:
        _take_all()
    except BaseException:  # what a signal handler raises; Python prints it, and forks
        _take_all()
        raise


def _take_all() -> None:
    own = _own_lock()
    # A thread that forks in the middle of what is whole does not wait: another thread that forks may be waiting for it.
    if not _has(own):
        _take(_gate)
        for each in list(_locks_of_threads):
            if each is not own:
                _take(each)
    for lock in _held:
        _take(lock)


def _take(lock: threading.RLock) -> None:
    _own.taken.append(lock)  # first: who is interrupted here releases what it may not have
    lock.acquire()


def _has(lock: threading.RLock) -> bool:
    """Whether this thread has it."""
    return lock._is_owned()  # pyright: ignore[reportAttributeAccessIssue]  # as threading.Condition asks


def _release() -> None:
    """Release what a fork has taken. Where this is interrupted, it may be called again."""
    while _own.taken:
        with contextlib.suppress(RuntimeError):
            _own.taken[-1].release()
        _own.taken.pop()


def _after() -> None:
    try:
        _release()
    except BaseException:  # what a signal handler raises
        _release()
        raise


def _after_in_child() -> None:
    own = _own_lock()
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
        lock._at_fork_reinit()  # pyright: ignore[reportAttributeAccessIssue]  # as threading does with its own


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
