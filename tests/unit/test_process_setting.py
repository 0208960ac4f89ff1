"""The recursion limit, and what else of the process compilations change, is as before when the last of them is over."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import mlirad
from mlirad.process_setting import ProcessSetting

ROUNDS = 400 if os.environ.get("MLIRAD_FULL") else 8
DEEP = 20_000


@pytest.fixture(autouse=True)
def limits() -> Iterator[int]:
    before, interval = sys.getrecursionlimit(), sys.getswitchinterval()
    sys.setrecursionlimit(1100)
    yield 1100
    sys.setrecursionlimit(before)
    sys.setswitchinterval(interval)


class Number:
    """A setting that nothing else uses."""

    def __init__(self) -> None:
        self.value = 10
        self.setting = ProcessSetting(lambda: self.value, self.put, lambda usual: max(usual, 20))

    def put(self, value: int) -> None:
        self.value = value


def in_threads(work: Callable[[int], None], count: int) -> None:
    raised: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:  # raised in the test's own thread
            raised.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for error in raised:
        raise error


def nested(depth: int) -> str:
    return "x" if depth == 0 else f"({nested(depth - 1)} + 1.0)"


def test_threads_that_compile_together_leave_the_recursion_limit(limits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIRAD_CACHE", "0")
    sys.setswitchinterval(1e-5)

    def work(number: int) -> None:
        factor = number + 1.5
        kernel = mlirad.jit(lambda x: [x * factor, x + factor][number % 2] + 1.0)
        assert kernel(2.0) == [2.0 * factor, 2.0 + factor][number % 2] + 1.0

    for _ in range(ROUNDS):
        in_threads(work, 8)
        assert sys.getrecursionlimit() == limits


def test_scopes_that_overlap() -> None:
    """Among random threads, the first to enter changes the setting, and the last to leave restores it."""
    held, chooser = Number(), random.Random(1)
    for _ in range(ROUNDS * 20):
        inside, scopes = [], [held.setting.changed() for _ in range(6)]
        while scopes or inside:
            if scopes and (not inside or chooser.random() < 0.5):
                inside.append(scopes.pop())
                inside[-1].__enter__()
            else:
                inside.pop(chooser.randrange(len(inside))).__exit__(None, None, None)
            assert held.value == (20 if inside else 10)


def test_a_scope_that_is_never_left_is_forgotten() -> None:
    """As if Ctrl-C fell between its end and the first line that restores the setting."""
    held = Number()
    lost = held.setting.changed()
    lost.__enter__()
    with held.setting.changed():
        pass
    assert held.value == 20
    del lost
    with held.setting.changed():
        assert held.value == 20
    assert held.value == 10


@pytest.mark.parametrize("at", range(1, 7))
def test_interrupted_between_any_two_steps(at: int) -> None:
    """The next scope works, and restores the setting."""
    held, steps = Number(), 0

    def step() -> None:
        nonlocal steps
        steps += 1
        if steps == at:
            raise KeyboardInterrupt

    def read() -> int:
        step()
        return held.value

    def write(value: int) -> None:
        step()
        held.value = value
        step()

    setting = ProcessSetting(read, write, lambda usual: max(usual, 20))
    with pytest.raises(KeyboardInterrupt), setting.changed():
        pass
    with setting.changed():
        assert held.value == 20
    assert held.value == 10


def test_what_the_program_sets_meanwhile_stays(limits: int) -> None:
    held = Number()
    with held.setting.changed():
        held.value = 5
    assert held.value == 5


def test_a_thread_too_deep_for_the_limit_leaves_it_to_the_next(limits: int) -> None:
    setting = ProcessSetting(sys.getrecursionlimit, sys.setrecursionlimit, lambda usual: max(usual, DEEP))

    def leave(scope, depth: int) -> None:
        if depth:
            leave(scope, depth - 1)
        else:
            scope.__exit__(None, None, None)

    scope = setting.changed()
    scope.__enter__()
    leave(scope, 3000)
    assert sys.getrecursionlimit() == DEEP
    with setting.changed():
        pass
    assert sys.getrecursionlimit() == limits


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_children_know_only_the_thread_that_forked() -> None:
    """In a small process: a fork copies the page tables of all that the tests so far have made."""
    code = f"import sys; sys.path[:0] = {[str(Path(__file__).parent), *sys.path]!r}; import test_process_setting as t"
    command = [sys.executable, "-c", f"{code}; t.fork_while_others_enter_and_leave()"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr


def fork_while_others_enter_and_leave() -> None:
    """Other threads enter and leave all the time, and hold the lock at some of the forks."""
    held, stop = Number(), threading.Event()

    def enter_and_leave() -> None:
        while not stop.is_set():
            with held.setting.changed():
                pass

    def forked(check: Callable[[], bool]) -> None:
        child = os.fork()
        if child == 0:
            os._exit(0 if check() else 1)
        until = time.monotonic() + 30
        while (done := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < until:
            time.sleep(0.001)
        if done == (0, 0):
            os.kill(child, 9)
            os.waitpid(child, 0)
        assert done == (child, 0)

    def passes_through() -> bool:
        usual = held.value == 10
        with held.setting.changed():
            changed = held.value == 20
        return usual and changed and held.value == 10

    def leaves() -> bool:
        inside = held.value == 20
        scope.__exit__(None, None, None)
        return inside and held.value == 10

    threads = [threading.Thread(target=enter_and_leave) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(ROUNDS * 4):
            forked(passes_through)
            scope = held.setting.changed()
            scope.__enter__()
            forked(leaves)
            scope.__exit__(None, None, None)
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
    assert held.value == 10
