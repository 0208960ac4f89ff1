"""How many threads share the work of parallel kernels: one number for the process.

Reads: MLIRAD_NUM_THREADS, when the number is first needed. Writes: the number. Leaves: nothing.
"""

from __future__ import annotations

import ctypes
import operator

from mlirad.options import MOST_THREADS, Environment

_count = ctypes.c_int64(0)  # 0 until it is needed; compiled code reads it at its address


def set_num_threads(n: int) -> None:
    """Let n threads, including the caller, share the work of each call of kernels with `parallel=True`.

    The number holds for the whole process, from the next call on, until it is set again; running calls of other threads
    may use it at once. Forked processes inherit it. Other processes begin with MLIRAD_NUM_THREADS, or with the number
    of usable processors. Results do not depend on it, to the bit. With 1, no thread is woken.

    Raises TypeError if n is not an int, and ValueError if it is not from 1 to 256.
    """
    if isinstance(n, bool):
        raise TypeError(f"set_num_threads(): a number of threads is an int, not {n!r}")
    try:
        number = operator.index(n)
    except TypeError:
        raise TypeError(f"set_num_threads(): a number of threads is an int, not {n!r}") from None
    if not 1 <= number <= MOST_THREADS:
        raise ValueError(f"set_num_threads(): n must be from 1 to {MOST_THREADS}, not {number}")
    _count.value = number


def get_num_threads() -> int:
    """How many threads share the work of parallel kernels: the number set last, or the environment's.

    Raises ValueError if none was set and MLIRAD_NUM_THREADS is not a number of threads.
    """
    if not _count.value:
        _count.value = Environment.read().threads
    return _count.value


def address_of_number() -> int:
    """The address of the 64-bit number that compiled code reads: it is set from now on, and never 0."""
    get_num_threads()
    return ctypes.addressof(_count)
