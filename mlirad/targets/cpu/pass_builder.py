"""LLVM's pass builders, and the freeing of what llvmlite leaks.

Reads: a target machine and options. Writes: a builder for one run. Leaves: nothing, or the 1,488 bytes of the callbacks
if these are not found.

For a builder llvmlite creates two objects, the builder and the callbacks that it refers to, and deletes only the first.
A run adds callbacks that refer to its stack, so a builder cannot be reused for another run either. No function of
llvmlite returns the address of the callbacks, so the builder is searched for it, once.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import llvmlite.binding as llvm

_WORDS = 64
"""How much of a builder, which has 2,192 bytes, is searched."""

# Callbacks begin with an empty list: the address of its items (directly after it), their number, and its capacity.
_EMPTY_LIST = struct.Struct("=QII")
_ROOM = 4


@contextmanager
def pass_builder(machine: llvm.TargetMachine, options: llvm.PipelineTuningOptions) -> Iterator[llvm.PassBuilder]:
    """A builder, for one run of the passes that it creates."""
    place = _place_of_callbacks(machine)
    builder = llvm.create_pass_builder(machine, options)
    callbacks = 0 if place is None else _words(builder)[place]
    try:
        yield builder
    finally:
        builder.close()
        if callbacks:
            # Their destructor is not run: it expects lists of pointers that fit in place.
            _free(callbacks)


@cache
def _place_of_callbacks(machine: llvm.TargetMachine) -> int | None:
    """The word of a builder that refers to its callbacks; None unless it is the only candidate."""
    options = llvm.create_pipeline_tuning_options()
    builders = [llvm.create_pass_builder(machine, options) for _ in range(3)]
    words = [_words(each) for each in builders]
    try:
        memory = os.open("/proc/self/mem", os.O_RDONLY)  # reading any address of it is safe
    except OSError:
        return None
    try:
        places = [k for k in range(_WORDS) if all(_begins_with_empty_list(memory, each[k]) for each in words)]
    finally:
        os.close(memory)
    found = [k for k in places if len({each[k] for each in words}) == len(words)]
    return found[0] if len(found) == 1 else None


def _words(builder: llvm.PassBuilder) -> ctypes.Array[ctypes.c_uint64]:
    pointer: Any = builder._as_parameter_
    address = ctypes.cast(pointer, ctypes.c_void_p).value
    return (ctypes.c_uint64 * _WORDS).from_address(address or 0)


def _begins_with_empty_list(memory: int, address: int) -> bool:
    if not 0 < address < 1 << 47 or address % 16:
        return False
    try:
        found = os.pread(memory, _EMPTY_LIST.size, address)
    except OSError:
        return False
    return found == _EMPTY_LIST.pack(address + _EMPTY_LIST.size, 0, _ROOM)


_free = ctypes.CDLL(None)["free"]
_free.argtypes, _free.restype = [ctypes.c_void_p], None
