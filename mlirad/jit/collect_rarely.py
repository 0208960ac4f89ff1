"""Collects garbage less often while code is compiled.

Reads: the thresholds of Python's collector. Writes: the first threshold, for that time. Leaves: the thresholds as
before.

A compilation makes some hundred thousand objects that refer to one another and survive every collection. So Python's
collector would scan them, and everything else in the program, again and again: a tenth of the time in a small process,
more in a large one.
"""

from __future__ import annotations

import gc
from contextlib import AbstractContextManager

from mlirad.process_setting import ProcessSetting

YOUNG = 100_000
"""How many objects are made between two collections: at most some 60 MB of garbage go unnoticed."""


def _rarer(usual: tuple[int, int, int]) -> tuple[int, int, int]:
    return (YOUNG, *usual[1:]) if 0 < usual[0] < YOUNG else usual


_thresholds = ProcessSetting(gc.get_threshold, lambda thresholds: gc.set_threshold(*thresholds), _rarer)


def collect_rarely() -> AbstractContextManager[None]:
    """Active while at least one thread is inside. Does not change a program that collects more rarely, or never."""
    return _thresholds.changed()
