"""Forks while other threads are at work: no compilation is cut in two by one, and no lock is left held.

Reads: nothing. Writes: nothing. Leaves: a forked child in which everything can be used. The parent's threads do not
exist in it, so that what they were at would stay as it was: a module half imported, a lock held for ever.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any


class Lock:
    """A lock that one thread may take several times. In a forked child it is free, unless the thread that forked has
    it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *exception: object) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Take it from threads that are no more."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()


_locks: weakref.WeakSet[Lock] = weakref.WeakSet()
_held: list[AbstractContextManager[Any]] = []
_changed = threading.Condition()
_under_way: dict[int, int] = {}  # by thread: how deep it is in what is whole
_forks = 0  # how many threads wait to fork


def hold(lock: AbstractContextManager[Any]) -> None:
    """From now on forks wait for this lock, which others than we take, and which one thread may take several times."""
    _held.append(lock)


@contextmanager
def whole() -> Iterator[None]:
    """Forks of other threads wait until this is over."""
    thread = threading.get_ident()
    with _changed:
        while _forks and thread not in _under_way:
            _changed.wait()
        _under_way[thread] = _under_way.get(thread, 0) + 1
    try:
        yield
    finally:
        with _changed:
            _under_way[thread] -= 1
            if not _under_way[thread]:
                del _under_way[thread]
                _changed.notify_all()


def _before() -> None:
    global _forks
    thread = threading.get_ident()
    _changed.acquire()  # until the fork is over
    _forks += 1
    try:
        # Another thread that waits to fork, in the middle of what is whole, would wait for this one.
        while any(each != thread for each in _under_way) and thread not in _under_way:
            _changed.wait()
    finally:
        _forks -= 1
        for lock in _held:
            lock.__enter__()


def _after() -> None:
    for lock in reversed(_held):
        lock.__exit__(None, None, None)
    _changed.notify_all()
    _changed.release()


def _after_in_child() -> None:
    global _changed
    thread = threading.get_ident()
    _after()
    _changed = threading.Condition()
    for each in [each for each in _under_way if each != thread]:
        del _under_way[each]
    for lock in list(_locks):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
