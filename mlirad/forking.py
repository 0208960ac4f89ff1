"""Forks while other threads work: a fork does not interrupt a compilation, and leaves no lock held.

Reads: nothing. Writes: nothing. Leaves: a forked child in which everything works. The parent's other threads do not
exist in the child, so their work would stay unfinished: a half-imported module, a lock that is held forever.

All locks here are the interpreter's own, in `with` statements: only these cannot be interrupted by Ctrl-C between
taking a lock and making sure that it is released.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref


class _Own(threading.local):
    """The state of one thread."""

    lock: threading.RLock | None = None  # its owner is in a section that must not be interrupted

    def __init__(self) -> None:
        self.taken: list[threading.RLock] = []  # the locks that a fork has to release


_own = _Own()
_locks_of_threads: weakref.WeakSet[threading.RLock] = weakref.WeakSet()
_gate = threading.RLock()  # held by a thread that forks, and by one that creates its lock
_held: list[threading.RLock] = []
_locks: weakref.WeakSet[threading.RLock] = weakref.WeakSet()


def new_lock() -> threading.RLock:
    """A lock that one thread may take several times. In a forked child it is free, unless the forking thread holds
    it."""
    made = threading.RLock()
    _locks.add(made)
    return made


def hold(lock: threading.RLock) -> None:
    """Let forks wait for this lock from now on. Other code takes it, and a thread may take it several times."""
    _held.append(lock)


def whole() -> threading.RLock:
    """A section that forks of other threads wait for: `with whole(): ...`."""
    if _own.taken:
        _release()  # Ctrl-C came before the first instruction of _after
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
    except BaseException:  # raised by a signal handler; Python prints it, and forks
        _take_all()
        raise


def _take_all() -> None:
    own = _own_lock()
    # A thread that forks inside such a section does not wait: another forking thread may be waiting for it.
    if not _has(own):
        _take(_gate)
        for each in list(_locks_of_threads):
            if each is not own:
                _take(each)
    for lock in _held:
        _take(lock)


def _take(lock: threading.RLock) -> None:
    _own.taken.append(lock)  # first: a thread interrupted here releases a lock that it may not hold
    lock.acquire()


def _has(lock: threading.RLock) -> bool:
    """Whether this thread holds it."""
    return lock._is_owned()  # pyright: ignore[reportAttributeAccessIssue]  # as threading.Condition asks


def _release() -> None:
    """Release the locks that a fork has taken. If this is interrupted, it may be called again."""
    while _own.taken:
        with contextlib.suppress(RuntimeError):
            _own.taken[-1].release()
        _own.taken.pop()


def _after() -> None:
    try:
        _release()
    except BaseException:  # raised by a signal handler
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
    """Take it from threads that no longer exist."""
    if lock.acquire(blocking=False):
        lock.release()
    else:
        lock._at_fork_reinit()  # pyright: ignore[reportAttributeAccessIssue]  # as threading does with its own


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
