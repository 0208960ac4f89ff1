"""How many threads share the work of parallel kernels: one number for the process.

Reads: MLIRAD_NUM_THREADS, when the number is first needed. Writes: the number. Leaves: nothing.
"""

from __future__ import annotations

import ctypes
import operator

from mlirad.options import MOST_THREADS, Environment

_count = ctypes.c_int64(0)  # 0 until it is needed; compiled code reads it at its address


def set_num_threads(n: int) -> None:
    """Let n threads, with the one that calls, share the work of each call of kernels with `parallel=True`.

    It is the number of the whole process, from the next call on, until it is set again; calls of other threads that are
    under way may take it up at once. Forked processes inherit it, others begin with MLIRAD_NUM_THREADS, or with as many
    as they may use processors. Results do not depend on it, to the bit. With 1 no thread is woken.

    Raises TypeError for what is no int, and ValueError for one that is not from 1 to 256.
    """
    if isinstance(n, bool):
        raise TypeError(f"set_num_threads(): a number of threads is an int, not {n!r}")
    try:
        number = operator.index(n)
    except TypeError:
        raise TypeError(f"set_num_threads(): a number of threads is an int, not {n!r}") from None
    if not 1 <= number <= MOST_THREADS:
        raise ValueError(f"set_num_threads(): there can be 1 to {MOST_THREADS} threads, not {number}")
    _count.value = number


def get_num_threads() -> int:
    """How many threads share the work of parallel kernels: what was set last, or what the environment says.

    Raises ValueError if MLIRAD_NUM_THREADS is no number of threads and none was set.
    """
    if not _count.value:
        _count.value = Environment.read().threads
    return _count.value


def address_of_number() -> int:
    """Where compiled code reads the number, 64 bits: it is there from now on, and never 0."""
    get_num_threads()
    return ctypes.addressof(_count)
