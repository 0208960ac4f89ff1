"""Ctrl-C in a long kernel: KeyboardInterrupt within 0.2 s, nothing is lost, the next call works."""

from __future__ import annotations

import ctypes
import gc
import itertools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from llvmlite.binding import ffi

import mlirad
from mlirad import forking
from mlirad.requests import python_functions
from mlirad.targets.cpu import engine, llvm_lock
from mlirad.targets.cpu.calls.abi import CpuArtifact, EntryPoint

pytestmark = [
    pytest.mark.skipif(
        threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"),
        reason="needs the main thread, and timers",
    ),
    pytest.mark.usefixtures("young_heap"),
]

FOREVER = 10**14
ROUNDS = 1000 if os.environ.get("MLIRAD_FULL") else 10
SOON = 0.2
# On a machine that does other things too; alone, it takes less than 0.1 s.
PATIENCE = SOON if os.environ.get("MLIRAD_QUIET_MACHINE") else 2.0


def decay(x, n):
    s = 0.0
    for _ in range(n):
        s = s * 0.999 + x
    return s


def climb(x, n):
    s = 0.0
    while s < n:
        s = s + x * 0.001
    return s


def nest(x, n):
    s = 0.0
    for i in range(n):
        for j in range(i):
            for _ in range(3):
                s = s * 0.99 + x
            if j > 10:
                s *= 0.5
    return s


def left_early(x, n):
    s = 0.0
    for i in range(n):
        if s < 0.0:
            break
        s = abs(s * 0.5 + x)
    return s


def fib(x, n):
    if n < 2:
        return x
    return fib(x, n - 1) + fib(x, n - 2)


def written(x, n):
    a = np.zeros(64)
    for i in range(n):
        a[i % 64] += x
    return a[0]


def wide(x, n):
    a = np.full((300, 300), x)
    for _ in range(n):
        a = np.sin(a @ a)
    return a[0, 0]


def copied(x, n):
    a, b = np.zeros(1_000_000), np.zeros(1_000_000)
    for i in range(n):
        b[:] = a
        a[i % 7] = b[3] + x
    return b[3]


def cleared(x, n):
    a = np.ones(1_000_000)
    for i in range(n):
        a[:] = 0.0
        a[i % 7] = x
    return a[3]


def copied_in_part(x, n):
    a, b = np.zeros(1_000_000), np.zeros(1_000_000)
    for i in range(n):
        b[: 1_000_000 - i % 5] = a[: 1_000_000 - i % 5]
        a[i % 7] = b[3] + x
    return b[3]


def sorted_in_part(x, n):
    a = np.arange(1_000_000.0)
    for i in range(n):
        a[: 1_000_000 - i % 5].sort(kind="stable")
        a[i % 7] = x
    return a[3]


@contextmanager
def _sent(number: signal.Signals, handler: Callable[..., Any], send: Callable[[], Any]) -> Iterator[None]:
    """A signal with this handler. It is sent again where Python loses what the handler raises, in `__del__` and in
    callbacks of weak references: on a busy machine it may come before the compiled code has begun."""
    raised: list[BaseException] = []

    def handle(signal_number: int, frame: Any) -> None:
        try:
            handler(signal_number, frame)
        except BaseException as error:
            raised.append(error)
            raise

    def lost(what: Any) -> None:
        if any(what.exc_value is error for error in raised):
            send()
        else:
            hook(what)

    hook, sys.unraisablehook = sys.unraisablehook, lost
    before = signal.signal(number, handle)
    send()
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(number, before)
        sys.unraisablehook = hook


def _alarm(after: float, handler: Callable[..., Any]) -> AbstractContextManager[None]:
    """A signal after so many seconds, as a terminal would send SIGINT."""

    def send() -> None:
        if isinstance(handler, _Arrival):
            handler.due = time.perf_counter() + after
        signal.setitimer(signal.ITIMER_REAL, after)

    return _sent(signal.SIGALRM, handler, send)


class _Arrival:
    """Handles a signal as Python handles Ctrl-C, and keeps the time when it was sent, if that is known."""

    due = 0.0

    def __call__(self, number: int, frame: Any) -> None:
        signal.default_int_handler(signal.SIGINT, frame)

    @property
    def late(self) -> float:
        return time.perf_counter() - self.due


@pytest.mark.parametrize(
    "function", [decay, climb, nest, left_early, fib, written, wide, copied, cleared, copied_in_part, sorted_in_part]
)
def test_a_long_call_is_left(function: Callable[..., Any]) -> None:
    compiled = mlirad.jit(function)
    few, many = (5, 200) if function is fib else (5, FOREVER)
    expected = compiled(1.5, few)
    for _ in range(2):
        arrival = _Arrival()
        with pytest.raises(KeyboardInterrupt), _alarm(0.05, arrival):
            compiled(1.5, many)
        assert arrival.late < PATIENCE
        assert compiled(1.5, few) == expected == pytest.approx(function(1.5, few))


def test_a_gradient_is_left() -> None:
    gradient = mlirad.grad(checkpointed)
    expected = gradient(1.5, 100)
    with pytest.raises(KeyboardInterrupt), _alarm(0.05, _Arrival()):
        gradient(1.5, FOREVER)
    assert gradient(1.5, 100) == expected == pytest.approx((1 - 0.999**100) / 0.001)


def checkpointed(x, n):
    s = 0.0
    for _ in mlirad.checkpointed(range(n), 10):
        s = s * 0.999 + x
    return s


@pytest.mark.usefixtures("control_c")
def test_it_is_control_c() -> None:
    """The signal itself, with Python's own handler."""
    compiled = mlirad.jit(decay)
    compiled(1.0, 3)
    senders: list[threading.Timer] = []

    def send() -> None:
        senders.append(threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)))
        senders[-1].start()

    with pytest.raises(KeyboardInterrupt), _sent(signal.SIGINT, signal.default_int_handler, send):
        compiled(1.0, FOREVER)
    for sender in senders:
        sender.join()
    assert compiled(1.0, 1) == 1.0


def test_a_handler_that_does_not_raise_lets_the_call_go_on() -> None:
    seen: list[int] = []
    compiled = mlirad.jit(decay)
    expected = compiled(1.0, 3_000_000)
    started = time.perf_counter()
    compiled(1.0, 3_000_000)
    trips = int(3_000_000 * 0.4 / (time.perf_counter() - started)) + 3_000_000
    with _alarm(0.02, lambda number, frame: seen.append(compiled(1.0, 3_000_000))):
        assert compiled(1.0, trips) == pytest.approx(1000.0)
    assert seen == [expected]  # the same kernel, called in the handler, while it runs


def test_a_signal_that_python_loses_is_sent_again() -> None:
    class Deleted:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGALRM)

    def call() -> None:
        Deleted()
        compiled(1.0, FOREVER)

    def send() -> None:
        sent.append(None)
        if len(sent) > 1:
            signal.setitimer(signal.ITIMER_REAL, 0.05)

    sent: list[None] = []
    compiled = mlirad.jit(decay)
    with pytest.raises(KeyboardInterrupt), _sent(signal.SIGALRM, signal.default_int_handler, send):
        call()
    assert len(sent) > 1


def test_what_a_handler_raises_comes_out() -> None:
    class Enough(Exception):
        pass

    def handler(number: int, frame: Any) -> None:
        raise Enough(f"signal {number}")

    compiled = mlirad.jit(decay)
    compiled(1.0, 3)
    with pytest.raises(Enough, match="signal"), _alarm(0.05, handler):
        compiled(1.0, FOREVER)


def test_what_was_written_stays_written() -> None:
    """An argument holds intermediate values of the call: only values of its own loop."""

    def fill(a, n):
        for i in range(n):
            a[i % 8] = i

    compiled = mlirad.jit(fill)
    compiled(np.zeros(8), 8)
    a = np.full(8, -1.0)
    with pytest.raises(KeyboardInterrupt), _alarm(0.05, _Arrival()):
        compiled(a, FOREVER)
    np.testing.assert_array_equal(np.sort(a % 8), np.arange(8.0))
    assert np.ptp(a) <= 2**20
    b = np.full(8, -1.0)
    compiled(b, 8)
    np.testing.assert_array_equal(b, np.arange(8.0))


def test_nothing_leaks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The context of a call that was left is used by the next one, and the exception is freed."""
    made: list[EntryPoint] = []
    entry_point = CpuArtifact.entry_point
    monkeypatch.setattr(CpuArtifact, "entry_point", lambda *args: made.append(entry_point(*args)) or made[-1])
    compiled = mlirad.jit(python_functions.copied(decay))
    compiled(1.0, 3)
    gc.collect()  # what other tests have left
    count = sys.getrefcount(KeyboardInterrupt)
    for _ in range(5):
        with pytest.raises(KeyboardInterrupt), _alarm(0.02, _Arrival()):
            compiled(1.0, FOREVER)
        gc.collect()
    (entry,) = set(made)
    assert len(entry._contexts) == 1
    assert tuple(entry._contexts[0].raised) == (None, None, None)
    assert abs(sys.getrefcount(KeyboardInterrupt) - count) <= 2


def scaled(weight: float) -> Callable[[float], float]:
    return lambda x: x * x * weight


def in_thread(work: Callable[[], Any]) -> None:
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive(), "it waits for what the interrupted thread has left locked"
    assert not raised


def check_anew(weight: float) -> None:
    assert mlirad.grad(scaled(weight))(1.5) == 3.0 * weight


# Python prints what the __del__ of an object of LLVM's says that was interrupted while it was made.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_compilation_is_left() -> None:
    """At any moment: the same kernel is compiled when it is called again, and others, in other threads and children."""
    check_anew(1.0)
    started = time.perf_counter()
    check_anew(2.0)
    seconds = time.perf_counter() - started
    left = 0
    for number in range(ROUNDS):
        gradient = mlirad.grad(scaled(number + 3.0))
        moment = seconds * (number % 10 + 0.5) / 10
        try:
            with _alarm(moment, _Arrival()):
                gradient(1.5)
        except KeyboardInterrupt:
            left += 1
        assert gradient(1.5) == 3.0 * (number + 3.0)
        in_thread(lambda: check_anew(0.5))
        if hasattr(os, "fork") and number % 5 == 0:
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                check_anew(0.25)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    assert left  # how many depends on how busy the machine is


def interrupted(work: Callable[[], Any], count: int) -> Iterator[None]:
    """Calls work again and again until a signal handler raises; as often as `count`, at different moments."""
    for number in range(count):
        try:
            with _alarm(1e-4 + number * 1e-7, signal.default_int_handler):
                while True:
                    work()
        except KeyboardInterrupt:
            yield


def test_a_call_of_llvm_leaves_no_lock() -> None:
    """Wherever it is left. In 39 of 300 interrupts, llvmlite's own lock stayed taken."""
    left = sum(llvm_lock.lock._is_owned() for _ in interrupted(ffi.lib.LLVMPY_GetVersionInfo, 300))
    assert left == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_string_of_llvms_is_freed_once() -> None:
    """A second time aborts the process."""

    llvm_lock.lock.acquire()  # no other thread is in LLVM when this one forks
    child = os.fork()
    if child == 0:
        sys.unraisablehook = lambda what: None
        os._exit(len(list(interrupted(llvm.get_process_triple, 1000))) == 0)
    llvm_lock.lock.release()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def interrupted_at_every_step(work: Callable[[], Any]) -> Iterator[None]:
    """Calls work until it comes to its end; each time it is interrupted one bytecode later, wherever Python can be."""
    for step in itertools.count(1):
        steps = itertools.count(1)

        def trace(frame: Any, event: str, value: Any) -> Any:
            frame.f_trace_opcodes = True
            if event == "opcode" and next(steps) == step:
                raise KeyboardInterrupt
            return trace

        sys.settrace(trace)
        try:
            work()
        except KeyboardInterrupt as error:
            error.args = (error,)  # so that all that its frames hold is freed by the collector, in any order
        finally:
            sys.settrace(None)
        gc.collect()
        if next(steps) <= step:
            return
        yield


def _parse() -> None:
    with engine._parsed("define i64 @f(i64 %x) {\n  ret i64 %x\n}\n"):
        pass


def _compile_and_load() -> None:
    code = engine.compile_object("define i64 @f(i64 %x) {\n  ret i64 %x\n}\n")
    engine.Library(code, ("f",))["f"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("work", [_parse, pytest.param(_compile_and_load, marks=pytest.mark.full)])
def test_llvms_objects_are_freed_in_order(work: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that is freed after its context may end the process. The interrupt comes at every bytecode."""

    def address(llvm_object: Any) -> int | None:
        pointer = getattr(llvm_object, "_as_parameter_", llvm_object)
        return ctypes.cast(pointer, ctypes.c_void_p).value

    def parse(context: Any, *rest: Any) -> Any:
        module = functions["LLVMPY_ParseAssembly"](context, *rest)
        contexts[address(module)] = address(context)
        return module

    def dispose_context(context: Any) -> None:
        freed.add(address(context))
        functions["LLVMPY_ContextDispose"](context)

    def dispose_module(module: Any) -> None:
        disordered.extend({contexts[address(module)]} & freed)
        functions["LLVMPY_DisposeModule"](module)

    contexts: dict[int | None, int | None] = {}
    freed: set[int | None] = set()
    disordered: list[int | None] = []
    functions: dict[str, Callable[..., Any]] = {}
    for name, function in (
        ("LLVMPY_ParseAssembly", parse),
        ("LLVMPY_ContextDispose", dispose_context),
        ("LLVMPY_DisposeModule", dispose_module),
    ):
        functions[name] = getattr(ffi.lib, name)
        monkeypatch.setitem(ffi.lib._fntab, name, function)
    work()
    assert len(freed) == 1
    llvm_lock.lock.acquire()  # no other thread is in LLVM when this one forks
    child = os.fork()
    if child == 0:
        sys.unraisablehook = lambda what: None
        gc.freeze()  # what the parent has is not searched for garbage each time
        left = 0
        for _ in interrupted_at_every_step(work):
            left += 1
            freed.clear()
        work()
        os._exit(1 if left < 500 else 2 if disordered else 0)
    llvm_lock.lock.release()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_callbacks_of_llvms_lock_are_called() -> None:
    """Numba's are."""
    seen: list[str] = []
    callbacks = (lambda: seen.append("taken"), lambda: seen.append("released"))
    ffi.register_lock_callback(*callbacks)
    try:
        ffi.lib.LLVMPY_GetVersionInfo()
    finally:
        ffi.unregister_lock_callback(*callbacks)
    ffi.lib.LLVMPY_GetVersionInfo()
    assert seen == ["taken", "released"]


def test_the_hooks_of_a_fork_leave_no_lock() -> None:
    """Python prints what is raised in a hook, and forks. Another thread can then compile and fork."""
    ready, done = threading.Event(), threading.Event()
    others: list[Any] = []

    def other() -> None:
        others.append(forking.whole())
        ready.set()
        done.wait(60)

    thread = threading.Thread(target=other)
    thread.start()
    assert ready.wait(60)

    def fork() -> None:
        raised: list[BaseException] = []
        for hook in (forking._before, forking._after):
            try:
                hook()
            except KeyboardInterrupt as error:
                raised.append(error)
        if raised:
            raise raised[0]

    locks = (*others, forking._gate, *forking._held)
    left = 0
    for _ in interrupted(fork, 300):
        with forking.whole():
            left += sum(lock._is_owned() for lock in locks)
    done.set()
    thread.join()
    assert left == 0


def test_other_threads_go_on() -> None:
    """Signals are the main thread's: a kernel in another thread ends as it would."""
    compiled = mlirad.jit(decay)
    compiled(1.0, 3_000_000)
    done: list[float] = []
    threads = [threading.Thread(target=lambda: done.append(compiled(1.0, 30_000_000))) for _ in range(3)]
    for thread in threads:
        thread.start()
    with pytest.raises(KeyboardInterrupt), _alarm(0.03, _Arrival()):
        compiled(1.0, FOREVER)
    for thread in threads:
        thread.join()
    assert done == [compiled(1.0, 30_000_000)] * 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_after_a_fork_in_another_thread() -> None:
    """There the thread that forked is the main one."""
    compiled = mlirad.jit(decay)
    compiled(1.0, 3)
    codes: list[int] = []

    def fork() -> None:
        child = os.fork()
        if child == 0:
            try:
                with _alarm(0.05, signal.default_int_handler):
                    compiled(1.0, FOREVER)
            except KeyboardInterrupt:
                os._exit(0 if compiled(1.0, 1) == 1.0 else 2)
            os._exit(1)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    thread = threading.Thread(target=fork)
    thread.start()
    thread.join()
    assert codes == [0]
