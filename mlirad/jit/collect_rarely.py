"""Fewer collections of garbage while code is compiled.

Reads: the thresholds of Python's collector. Writes: the first of them, for that time. Leaves: them as they were.

A compilation makes some hundred thousand objects that refer to one another and outlive every collection, so that
Python's collector looks through them, and through all that the program holds, again and again for nothing: a tenth of
the time in a small process, more in a large one.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from mlirad import forking

YOUNG = 100_000
"""How many objects are made between two collections: some 60 MB at most are garbage that is not noticed yet."""

_lock = forking.new_lock()
_under_way = 0
_usual: tuple[int, int, int] | None = None


@contextmanager
def collect_rarely() -> Iterator[None]:
    """For as long as one thread or several are in here. A program that collects never, or more rarely, goes on so."""
    _begin()
    try:
        yield
    finally:
        _end()


def _begin() -> None:
    global _under_way, _usual
    with _lock:
        _under_way += 1
        first, *rest = usual = gc.get_threshold()
        if _under_way == 1 and 0 < first < YOUNG:
            _usual = usual
            gc.set_threshold(YOUNG, *rest)


def _end() -> None:
    global _under_way, _usual
    with _lock:
        _under_way -= 1
        if _under_way == 0 and _usual is not None:
            if gc.get_threshold()[0] == YOUNG:  # otherwise the program has set others since
                gc.set_threshold(*_usual)
            _usual = None
