"""Settings of the whole process, such as its recursion limit, that have another value during some work.

Reads: the setting. Writes: the setting, from when the first thread enters until the last one has left. Leaves: the
original value, or the value that the program has set meanwhile.

The number of threads inside is not counted: it is the number of existing scopes. So a scope that Ctrl-C interrupts
before it can leave disappears with its frame, and the next thread that leaves restores the setting.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Generic, TypeVar

from mlirad import forking

T = TypeVar("T")
_all: weakref.WeakSet[ProcessSetting] = weakref.WeakSet()


class ProcessSetting(Generic[T]):
    """`with setting.changed(): ...`, in any number of threads.

    meanwhile: computes the value inside from the usual value.
    """

    def __init__(self, read: Callable[[], T], write: Callable[[T], None], meanwhile: Callable[[T], T]):
        self._read = read
        self._write = write
        self._meanwhile = meanwhile
        self._lock = forking.new_lock()
        self._inside: weakref.WeakSet[_Scope] = weakref.WeakSet()
        self._usual: list[T] = []  # the value to restore, if any
        _all.add(self)

    def changed(self) -> _Scope:
        """A scope with the other value of the setting."""
        return _Scope(self)

    def enter(self, scope: _Scope) -> None:
        with self._lock:
            self._inside.add(scope)
            self._settle()

    def leave(self, scope: _Scope) -> None:
        with self._lock:
            self._inside.discard(scope)
            self._settle()

    def keep_thread(self, thread: int) -> None:
        """Keep only this thread's scopes: the other threads do not exist in this process."""
        with self._lock:
            self._inside = weakref.WeakSet(scope for scope in self._inside if scope.thread == thread)
            self._settle()

    def _settle(self) -> None:
        """The next thread repeats a step if Ctrl-C comes between that step and the one after it."""
        now = self._read()
        if self._inside:
            if self._usual in ([], [now]) and (wanted := self._meanwhile(now)) != now:
                self._usual = [now]
                self._write(wanted)
        elif self._usual:
            if now == self._meanwhile(self._usual[0]):  # otherwise the program has set another value since
                try:
                    self._write(self._usual[0])
                except RecursionError:
                    return  # this thread is deeper than the limit to restore: the next one restores it
            self._usual = []


class _Scope:
    """One entry of one thread."""

    def __init__(self, setting: ProcessSetting):
        self.setting = setting
        self.thread = threading.get_ident()

    def __enter__(self) -> None:
        self.setting.enter(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.setting.leave(self)


def _after_in_child() -> None:
    for setting in list(_all):
        setting.keep_thread(threading.get_ident())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_in_child)
