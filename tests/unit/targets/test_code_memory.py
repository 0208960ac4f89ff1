"""Code links wherever the process has room, and an exhausted process gets MemoryError: LLVM aborts at neither.

Each test exhausts memory in a forked child, as an abort would end pytest.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import traceback
from collections.abc import Callable

import numpy as np
import pytest

from mlirad.targets.cpu import CpuTarget
from mlirad.targets.cpu.code_memory import _functions
from mlirad.targets.cpu.emit.module import emit_llvm

PAGE = mmap.PAGESIZE
_FAR = 8 << 30
_NO_MEMORY = ctypes.c_void_p(-1).value
_NORESERVE = 0x4000

_ADD = """
func.func public @f(%x: f64) -> f64 {
  %k = arith.constant 1.25 : f64
  %y = arith.addf %x, %k : f64
  func.return %y : f64
}"""


@pytest.fixture
def code(parse) -> bytes:
    """Object code that reads a constant from another section."""
    found = CpuTarget().compile(emit_llvm(parse(_ADD)))
    _run(found)
    return found


def _run(code: bytes) -> None:
    assert CpuTarget().load(code).invoke("f", [1.0]) == (2.25,)


def _in_child(work: Callable[[], None]) -> None:
    """Fails if the work does, or ends the process."""
    child = os.fork()
    if child == 0:
        gc.disable()
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _reserve(size: int) -> int:
    """Addresses without memory."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
    found = _functions()[0](None, size, 0, flags, -1, 0)
    assert found != _NO_MEMORY
    return found


@pytest.mark.parametrize("holes", [1, 2, 3])
def test_code_is_near_its_constants_in_a_full_address_space(code, holes: int) -> None:
    """Above a large array there is room for code, but not for its constants: they do not go below the array."""

    def work() -> None:
        unmap = _functions()[2]
        large = _reserve(_FAR)
        above: list[int] = []
        size = 1 << 30
        while size >= PAGE:
            found = _reserve(size)
            if found > large:
                above += [found] if size >= 3 * PAGE else []
            else:
                unmap(found, size)
                size //= 2
        for start in above[-holes:]:
            unmap(start + PAGE, PAGE)
        _run(code)

    _in_child(work)


@pytest.mark.parametrize("spare", [0, 1, 12])
def test_code_is_refused_if_no_mapping_is_left(code, spare: int) -> None:
    """Pages that differ from their neighbours are mappings; as many as the system allows, or a few less."""
    limit = int(np.loadtxt("/proc/sys/vm/max_map_count"))

    def work() -> None:
        protect = _functions()[1]
        count = 2 * limit
        start = _reserve(count * PAGE)
        pages = iter(range(1, count, 2))
        while protect(start + next(pages) * PAGE, PAGE, mmap.PROT_READ) == 0:
            pass
        for k in range(spare):
            protect(start + (2 * k + 1) * PAGE, PAGE, 0)
        refused = False
        try:
            _run(code)
        except MemoryError:
            refused = True
        protect(start, count * PAGE, 0)
        assert refused or spare
        _run(code)

    if limit > 1 << 20:
        pytest.skip(f"it takes too long to make {limit} mappings, which this system allows")
    _in_child(work)
