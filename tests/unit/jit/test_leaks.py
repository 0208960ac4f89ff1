"""Memory stays as it is: calls, compilations and exceptions leave nothing behind, and a kernel's code goes with it."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import weakref
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

import mlirad
from mlirad.requests.python_functions import copied
from mlirad.targets.cpu import engine, pass_builder

X = np.linspace(0.0, 1.0, 5)
PAIR = {"a": X, "b": 1.5}


def total(x):
    return np.sum(np.sin(x) * x)


def doubled(p):
    return {"a": p["a"] * 2.0, "b": (p["b"],)}


def element(x, i):
    return x[i]


def deep(x, n):
    if n == 0:
        return x
    return deep(x, n - 1) + x


def swapped(a, b):
    a[0] = b[1]
    return np.sum(a)


def unknown(x):
    return np.no_such_function(x)


class _Mallinfo(ctypes.Structure):
    """What glibc reports about the part of its heap that is in use."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def _heap() -> int:
    """Bytes that malloc has given and that were not freed."""
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = _Mallinfo
    told = mallinfo()
    return told.uordblks + told.hblkhd


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(unit: Callable[[], Any], count: int, before: int) -> tuple[float, float, float]:
    """By how many bytes of malloc, objects of Python and bytes of memory one unit of work makes the process grow."""
    for _ in range(before):
        unit()
    gc.collect()
    start = _heap(), sys.getallocatedblocks(), _resident()
    for _ in range(count):
        unit()
    gc.collect()
    end = _heap(), sys.getallocatedblocks(), _resident()
    heap, objects, resident = ((b - a) / count for a, b in zip(start, end, strict=True))
    return heap, objects, resident


def steady_growth(unit: Callable[[], Any], count: int, before: int) -> tuple[float, float]:
    """The least growth of five stretches of `count` units: a leak grows in each of them.

    The process's own tables do not: a full one doubles in one stretch (32 KB after thousands of tests), and LLVM's
    take and return a kilobyte from stretch to stretch, however long a stretch is.
    """
    growth(unit, 1, before)
    heaps, objects, _ = zip(*(growth(unit, count, 0) for _ in range(5)), strict=True)
    return min(heaps), min(objects)


pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="asks glibc and /proc"),
    pytest.mark.usefixtures("young_heap"),
]


def call() -> Callable[[], Any]:
    gradient, function = mlirad.grad(total), mlirad.jit(doubled)
    return lambda: (gradient(X), function(PAIR))


def call_slowly() -> Callable[[], Any]:
    gradient, part = mlirad.grad(total), np.zeros(10)[::2]
    return lambda: gradient(part)


def pull_back() -> Callable[[], Any]:
    return lambda: mlirad.vjp(total, X)[1](1.0)


def fail() -> Callable[[], Any]:
    function = mlirad.jit(element)

    def unit() -> None:
        with pytest.raises(IndexError):
            function(X, 99)

    return unit


def fail_deep() -> Callable[[], Any]:
    function = mlirad.jit(deep)

    def unit() -> None:
        with pytest.raises(RecursionError):
            function(1.0, 10**6)

    return unit


def refuse() -> Callable[[], Any]:
    def unit() -> None:
        with pytest.raises(mlirad.CompileError):
            mlirad.jit(copied(unknown))(X)

    return unit


STRETCHES = {call: 4000, call_slowly: 400, pull_back: 200, fail: 400, fail_deep: 10, refuse: 160}


@pytest.mark.parametrize("work", STRETCHES)
def test_calls_and_exceptions_leave_nothing(work: Callable[[], Callable[[], Any]]) -> None:
    count = STRETCHES[work]
    heap, objects = steady_growth(work(), count, 4 * count)
    assert heap * count < 1024
    assert objects * count < 40


def compile_function() -> Any:
    return mlirad.jit(copied(total))(X)


def compile_gradient() -> Any:
    """Another function each time, which is dropped after its call."""
    return mlirad.grad(lambda x: np.sum(x * x))(X)


def compile_aliased() -> Any:
    array = X.copy()
    return mlirad.jit(copied(swapped))(array, array)


COMPILATIONS = [compile_function, compile_gradient, compile_aliased]


@pytest.mark.parametrize("unit", COMPILATIONS)
def test_compilations_leave_nothing(unit: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing to speak of: LLVM's passes would be 90,000 bytes, the callbacks of one builder of passes 1,488."""
    monkeypatch.setattr(engine._Session, "MOST_LIBRARIES", 4)
    heap, objects = steady_growth(unit, 8, 16)
    assert heap < 700
    assert objects < 10


def test_builders_of_passes_leave_nothing() -> None:
    options = llvm.create_pipeline_tuning_options()

    def unit() -> None:
        with engine._pass_builder(options):
            pass

    assert steady_growth(unit, 40, 50)[0] < 50


def test_without_the_place_of_callbacks_they_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pass_builder, "_place_of_callbacks", lambda machine: None)
    assert mlirad.jit(lambda x: np.sum(x * x))(X) == np.sum(X * X)


def test_what_llvm_knows_of_libraries_goes_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine._Session, "MOST_LIBRARIES", 2)
    kernels = [mlirad.jit(copied(total)) for _ in range(5)]
    for kernel in kernels:
        kernel(X)
    sessions = [weakref.ref(kernel.specializations()[0].artifact._library._session) for kernel in kernels]
    assert 3 <= len(set(sessions)) <= 4
    del kernels[:3]
    gc.collect()
    assert [kernel(X) for kernel in kernels] == [total(X)] * 2
    alive = {each() for each in sessions if each() is not None}
    assert alive
    assert len(alive) <= 2


@pytest.mark.full
@pytest.mark.parametrize("work", [call, fail])
def test_many_calls_and_exceptions_leave_nothing(work: Callable[[], Callable[[], Any]]) -> None:
    count = 1_000_000 if work is call else 10_000
    assert growth(work(), count, 1000)[2] * count < 2 << 20


@pytest.mark.full
@pytest.mark.parametrize("unit", COMPILATIONS)
def test_many_compilations_leave_nothing(unit: Callable[[], Any]) -> None:
    """LLVM knows of 64 libraries at most, and malloc keeps room for the highest peak: both stay as they are."""
    count = 10_000 if unit is compile_function else 1000
    heap, _, resident = growth(unit, count, 200)
    assert heap * count < 1 << 20
    assert resident * count < 8 << 20


def test_code_goes_with_its_function() -> None:
    def function(x):
        return np.sum(x * x)

    kernel = mlirad.jit(function)
    for _ in range(10):  # some of them go by a plan
        kernel(X)
    watched = weakref.ref(kernel)
    specialization = kernel.specializations()[0]
    code = weakref.ref(specialization.artifact)
    del kernel, specialization
    gc.collect()
    assert mlirad.jit(function) is watched()
    assert code() is not None
    del function
    gc.collect()
    assert watched() is None
    assert code() is None


def test_kernels_of_transforms_go_with_their_function() -> None:
    def function(x):
        return np.sum(x * x)

    gradient = mlirad.grad(function)
    for _ in range(10):
        gradient(X)
    assert mlirad.grad(function) is gradient
    watched, user = weakref.ref(gradient), weakref.ref(function)
    del gradient
    gc.collect()
    assert mlirad.grad(function) is watched(), "it lives as long as the function"
    del function
    gc.collect()
    assert watched() is None
    assert user() is None


def test_a_function_has_so_many_kernels() -> None:
    def function(x):
        return np.sum(x * x)

    made = [mlirad.grad(function, (k,)) for k in range(200)]
    watched = [weakref.ref(each) for each in made]
    assert mlirad.grad(function, (199,)) is made[-1]
    del made
    gc.collect()
    assert sum(each() is not None for each in watched) <= 64
