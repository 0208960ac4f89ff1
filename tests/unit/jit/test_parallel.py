"""`parallel=True`: the numbers of one thread, from several; whoever calls, forks or leaves meanwhile."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.analysis import cost
from mlirad.analysis.decision_report import Kind
from mlirad.lowering.to_buffers import share_rows
from mlirad.lowering.to_loops import parallel_nest
from mlirad.options import Environment
from mlirad.targets.cpu import CpuTarget
from mlirad.targets.cpu.call_context import PARALLEL_FOR, PARALLEL_POLL

RNG = np.random.default_rng(7)
N = 20_000
# On a machine that does other things too; alone, it takes less than 0.1 s.
PATIENCE = 0.2 if os.environ.get("MLIRAD_QUIET_MACHINE") else 2.0
ROUNDS = 2000 if os.environ.get("MLIRAD_FULL") else 50


@pytest.fixture(autouse=True)
def three_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Also on a machine with fewer processors; and blocks small enough that arrays of a test's size have several."""
    monkeypatch.setattr(parallel_nest, "BLOCK", 1 << 12)
    before = mlirad.get_num_threads()
    mlirad.set_num_threads(3)
    yield
    mlirad.set_num_threads(before)


def wave(x, y):
    return np.exp(np.sin(x) * y) + x


def energy(x, y):
    z = np.sin(x) * y + x * x
    return np.sum(z * z)


def affine(w, x, b):
    return np.tanh(x @ w + b)


def loss(w, x, b):
    return np.sum(affine(w, x, b) ** 2)


def rows(x):
    return np.sum(np.exp(x), axis=1), np.max(x, axis=0), x / np.sum(x * x, axis=1, keepdims=True)


def sums(x):
    return np.sum(x * x), np.max(x), np.min(x), np.mean(np.exp(x)), np.any(x > 4.0), np.sum(x, axis=0), np.sum(x > 0)


def inner(x, y):
    return x.T @ y


def places(x):
    return x * np.arange(x.shape[0])


def relax(x, n):
    x = x.copy()
    for _ in range(n):
        x = 0.5 * x + 0.25 * np.sin(x)
    return x


def both(function: Callable[..., Any], *args: Any, transform: Callable[..., Any] = lambda f: f) -> tuple[Any, Any]:
    """From threads, and from one. The former's code does share work."""
    shared = transform(mlirad.jit(function, parallel=True, cache=False))
    alone = transform(mlirad.jit(function, cache=False))
    assert "scf.parallel" in shared.lower(*args).as_text("loops")
    return shared(*args), alone(*args)


def weighted(x, w):
    """Softmax, and a whole sum of it: five nests over the same rows."""
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    y = e / np.sum(e, axis=1, keepdims=True)
    return y, np.sum(y * w)


def test_a_chain_of_nests_is_one_parallel_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of a chain are shared once, to the bit as one thread has them; a block of fewer rows is left over."""
    monkeypatch.setattr(parallel_nest, "BLOCK", cost.SHARED)
    x, w = arrays([(1003, 200)] * 2, np.float64)
    shared, alone = (mlirad.jit(weighted, parallel=each, cache=False) for each in (True, False))
    assert shared.lower(x, w).as_text("loops").count("scf.parallel") == 1
    wanted = alone(x, w)
    for threads in (1, 2, 3):
        mlirad.set_num_threads(threads)
        for mine, other in zip(shared(x, w), wanted, strict=True):
            np.testing.assert_array_equal(mine, other)
    np.testing.assert_allclose(wanted[0], weighted(x, w)[0], rtol=1e-13)
    found, expected = (
        mlirad.grad(lambda x, w: weighted(x, w)[1], (0, 1), parallel=each, cache=False)(x, w) for each in (True, False)
    )
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-13, atol=1e-18)


def normalised(x, w):
    """Softmax, and sums over its rows, as in the gradient of a mixture."""
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    y = e / np.sum(e, axis=1, keepdims=True)
    return y, np.sum(y * w, axis=0), np.sum(y)


def test_a_chain_with_sums_over_rows_is_one_parallel_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each strip of rows has sums of its own, which are added up in order; 62 blocks make 13 strips of at most 5."""
    monkeypatch.setattr(parallel_nest, "BLOCK", cost.SHARED)
    monkeypatch.setattr(share_rows, "MOST_STRIPS", 14)
    x, w = arrays([(1003, 200)] * 2, np.float64)
    shared, alone = (mlirad.jit(normalised, parallel=each, cache=False) for each in (True, False))
    text = shared.lower(x, w).as_text("loops")
    assert text.count("scf.parallel") == 1 and "memref<13x200xf64>" in text
    wanted = alone(x, w)
    mlirad.set_num_threads(1)
    first = shared(x, w)
    for place in (0, 2):
        np.testing.assert_array_equal(first[place], wanted[place])
    bound = 1e-13 * np.sum(np.abs(wanted[0] * w), axis=0)
    assert np.all(np.abs(first[1] - np.sum(wanted[0] * w, axis=0)) <= bound)
    for threads in (2, 3):
        mlirad.set_num_threads(threads)
        for mine, other in zip(shared(x, w), first, strict=True):
            np.testing.assert_array_equal(mine, other)


def test_the_report_names_the_lines_that_are_shared() -> None:
    x, w = arrays([(1003, 200)] * 2, np.float64)
    report = mlirad.jit(weighted, parallel=True).lower(x, w).report()
    lines = {fact.location.lineno for fact in report.of(Kind.SHARED) if fact.location and "rows" in fact.subject}
    first = weighted.__code__.co_firstlineno
    assert lines == {first + 2, first + 3, first + 4}
    assert not mlirad.jit(weighted).lower(x, w).report().of(Kind.SHARED)


def test_an_index_out_of_range_is_raised_as_without_threads() -> None:
    """By the first trip that has one, though the other trips are independent."""

    def gathered(x, k):
        y = np.zeros(k.size)
        for i in range(k.size):
            y[i] = np.exp(np.sin(x[k[i]]))
        return y

    (x,), k = arrays([(N,)], np.float64), np.arange(N)
    np.testing.assert_allclose(mlirad.jit(gathered, parallel=True)(x, k), gathered(x, k), rtol=1e-13)
    k[[N // 2, N - 1]] = N + 7, N + 8
    messages = []
    for shared in (False, True):
        with pytest.raises(IndexError) as caught:
            mlirad.jit(gathered, parallel=shared)(x, k)
        messages.append(str(caught.value))
    assert messages[0] == messages[1] and str(N + 7) in messages[0]


def stored_and_added(x, w):
    y = np.exp(x * w)
    return y, np.sum(y, axis=0), np.sum(y)


@pytest.mark.parametrize("shape", [(700, 90), (40, 3000), (30_000, 20)])
def test_a_nest_that_stores_rows_and_adds_them_up_is_shared(shape: tuple[int, int]) -> None:
    x, w = arrays([shape, shape[1:]], np.float64)
    found, wanted = both(stored_and_added, x, w)
    np.testing.assert_array_equal(found[0], wanted[0])
    for mine, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12)


VALUES = {
    "wave": (wave, [(N,), (N,)], np.float64),
    "wave of f32": (wave, [(N,), (N,)], np.float32),
    "places": (places, [(N,)], np.float64),
    "affine": (affine, [(70, 90), (300, 70), (90,)], np.float64),
    "affine of f32": (affine, [(70, 96), (300, 70), (96,)], np.float32),
    "rows": (rows, [(600, 500)], np.float64),
    "sums": (sums, [(N // 5, 5)], np.float64),
    "inner": (inner, [(N // 5, 5), (N // 5, 7)], np.float64),
}
# By what docs/running.md promises: the results that are sums with few results. All others are equal to the bit.
IN_ANOTHER_ORDER = {"sums": {0, 3, 5}, "inner": {0}}


def arrays(shapes: Sequence[tuple[int, ...]], dtype: Any) -> list[np.ndarray]:
    return [RNG.normal(size=shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("name", VALUES)
def test_values_are_those_of_one_thread(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, shapes, dtype = VALUES[name]
    if name == "rows":
        monkeypatch.setattr(parallel_nest, "BLOCK", cost.SHARED)
    args = arrays(shapes, dtype)
    if name in IN_ANOTHER_ORDER:
        args = [np.abs(each) for each in args]  # nothing cancels in the sums
    found, wanted = both(function, *args)
    relative, absolute = (1e-4, 1e-5) if dtype == np.float32 else (1e-10, 1e-12)
    listed = [each if isinstance(each, tuple) else (each,) for each in (found, wanted, function(*args))]
    for place, (mine, other, numpy) in enumerate(zip(*listed, strict=True)):
        is_exact = place not in IN_ANOTHER_ORDER.get(name, ())
        np.testing.assert_allclose(mine, other, rtol=0.0 if is_exact else 1e-13)
        np.testing.assert_allclose(mine, numpy, rtol=relative, atol=absolute)


@pytest.mark.parametrize(("function", "dtype"), [(energy, np.float64), (loss, np.float32)])
def test_gradients_are_those_of_one_thread(function: Callable[..., Any], dtype: Any) -> None:
    args = arrays([(N,), (N,)] if function is energy else [(70, 90), (300, 70), (90,)], dtype)
    argnums = tuple(range(len(args)))
    found, wanted = both(function, *args, transform=lambda f: mlirad.grad(f, argnums=argnums))
    exact = len(args) if function is energy else 2
    for mine, other in zip(found[:exact], wanted[:exact], strict=True):
        np.testing.assert_array_equal(mine, other)
    if function is loss:  # the gradient of the bias is a sum over rows: each order is as good as the other
        w, x, b = (each.astype(np.float64) for each in args)
        y = np.tanh(x @ w + b)
        terms = 2.0 * y * (1.0 - y * y)
        for each in (found[2], wanted[2]):
            error = np.abs(each - np.sum(terms, axis=0))
            assert np.all(error <= 8.0 * np.finfo(dtype).eps * np.sum(np.abs(terms), axis=0))
    if function is energy:
        x, y = args
        factor = 2.0 * (np.sin(x) * y + x * x)
        np.testing.assert_allclose(found[0], factor * (np.cos(x) * y + 2.0 * x), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found[1], factor * np.sin(x), rtol=1e-9, atol=1e-12)


def nearest(x, centres):
    return np.sum(np.min(np.sum((x[:, None] - centres) ** 2, axis=2), axis=1))


def test_a_nest_that_skips_zero_terms_is_cut_into_single_points() -> None:
    """A block of one row has no loop along the rows, which the condition of the skipped terms compares."""
    x, centres = arrays([(40, 130), (33, 130)], np.float64)
    found, wanted = both(nearest, x, centres, transform=lambda f: mlirad.grad(f, argnums=(0, 1)))
    chosen = np.argmin(np.sum((x[:, None] - centres) ** 2, axis=2), axis=1)
    terms = 2.0 * (x - centres[chosen])
    np.testing.assert_allclose(found[0], terms, rtol=1e-13)
    for mine, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-13, atol=1e-13)


def test_large_products_are_those_of_one_thread() -> None:
    """In blocks of the whole product, and in parts of a product that is too small for these."""
    for function, m, n in ((np.matmul, 520, 520), (inner, 520, 520), (inner, 300, 128)):
        a, b = arrays([(600, m) if function is inner else (m, 600), (600, n)], np.float64)
        found, wanted = both(function, a, b)
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_allclose(found, function(a, b), rtol=1e-11, atol=1e-11)


def test_strided_reversed_and_read_only_arguments() -> None:
    whole = RNG.normal(size=(2 * N, 2))
    for x, y in ((whole[::2, 0], whole[::-2, 1]), (whole[::-2, 1], whole[:N, 0])):
        y.flags.writeable = False
        found, wanted = both(wave, x, y)
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_allclose(found, wave(x, y), rtol=1e-12, atol=1e-12)


def test_arguments_written_in_place() -> None:
    def step(x, y):
        x += np.sin(y)
        y[1:] = x[:-1] * 2.0

    x, y = RNG.uniform(1.0, 2.0, size=(2, N))
    x_numpy, y_numpy = x.copy(), y.copy()
    mlirad.jit(step, parallel=True, cache=False)(x, y)
    step(x_numpy, y_numpy)
    np.testing.assert_allclose(x, x_numpy, rtol=1e-14)
    np.testing.assert_allclose(y, y_numpy, rtol=1e-14)


def part(x, n):
    return np.sum(np.exp(x[:n] * 2.0) * x[:n]) + np.sum(np.sin(x[n:]))


def test_sizes_that_only_the_run_knows() -> None:
    x = RNG.normal(size=N)
    shared = mlirad.jit(part, parallel=True, cache=False)
    gradient = mlirad.grad(shared)
    assert "scf.parallel" in gradient.lower(x, 1).as_text("loops")
    for size in (0, 1, 2, 63, N - 1, N):
        np.testing.assert_allclose(shared(x, size), part(x, size), rtol=1e-11)
        wanted = np.where(np.arange(N) < size, np.exp(2 * x) * (1 + 2 * x), np.cos(x))
        np.testing.assert_allclose(gradient(x, size), wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("transform", [lambda f: f, mlirad.grad], ids=["function", "gradient"])
@pytest.mark.parametrize("function", [energy, loss, part])
def test_memory_is_told_beforehand(function: Callable[..., Any], transform: Callable[..., Any]) -> None:
    """The results of blocks that are put together count; what is on a thread's stack does not."""
    shapes = {energy: [(N,), (N,)], loss: [(70, 90), (300, 70), (90,)], part: [(N,)]}
    args = [*arrays(shapes[function], np.float64), *([N // 3] if function is part else [])]
    shared = transform(mlirad.jit(function, parallel=True, cache=False))
    lowered = shared.lower(*args)
    assert "scf.parallel" in lowered.as_text("loops")
    predicted = lowered.memory()
    for threads in (1, 3):
        mlirad.set_num_threads(threads)
        shared(*args)
        assert predicted.is_exact
        assert shared.last_memory() == predicted.total.static
    if transform is not mlirad.grad:
        assert predicted.arena > mlirad.jit(function, cache=False).lower(*args).memory().arena or function is loss


def _never_shared(x, y, k):
    if x[0, 0] > 1e9 or k - 3 <= k:  # always, which LLVM finds out
        return x[0, 0]
    y[:] = x @ x
    return x[1, 1]


def test_a_task_may_stay_when_its_only_call_goes() -> None:
    """Such code refers to the function that threads poll, but not to the one that shares work: a random program found
    that it could not be linked."""
    compiled = mlirad.jit(_never_shared, parallel=True)
    x, y = np.ones((600, 600)), np.zeros((600, 600))
    text = compiled.lower(x, y, 4).as_text("llvmopt")
    assert f"call i64 @{PARALLEL_POLL}" in text
    assert f"call i32 @{PARALLEL_FOR}" not in text
    assert compiled(x, y, 4) == 1.0


@pytest.mark.parametrize("shape", [(0,), (1,), (0, 5), (5, 0), (1, N), (N, 1)])
def test_empty_and_thin_arrays(shape: tuple[int, ...]) -> None:
    x, y = RNG.normal(size=(2, *shape))
    np.testing.assert_allclose(mlirad.jit(wave, parallel=True, cache=False)(x, y), wave(x, y), rtol=1e-12, atol=1e-12)


def test_the_number_of_threads_does_not_matter() -> None:
    w, a, b = RNG.normal(size=(70, 90)), RNG.normal(size=(300, 70)), RNG.normal(size=90)
    gradient = mlirad.value_and_grad(mlirad.jit(loss, parallel=True, cache=False), argnums=(0, 1, 2))
    first = gradient(w, a, b)
    for threads in (1, 2, 3, 7, 3, 7, 2, 1):
        mlirad.set_num_threads(threads)
        assert mlirad.get_num_threads() == threads
        for _ in range(10):
            again = gradient(w, a, b)
            assert again[0] == first[0]
            for mine, other in zip(again[1], first[1], strict=True):
                np.testing.assert_array_equal(mine, other)


def test_four_threads_call_at_once() -> None:
    shared = mlirad.jit(relax, parallel=True, cache=False)
    x = RNG.normal(size=N)
    wanted = shared(x, 30)
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(ROUNDS):
            if not np.array_equal(shared(x, 30), wanted):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def in_child(work: Callable[[], bool]) -> int:
    """Fork; the exit code of the child: 0 if `work` is true in it. It is given up after a while."""
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        os._exit(0 if work() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_child_has_threads_of_its_own() -> None:
    shared = mlirad.jit(relax, parallel=True, cache=False)
    x = RNG.normal(size=N)
    wanted = shared(x, 5)

    def again() -> bool:
        return np.array_equal(shared(x, 5), wanted) and in_child(lambda: np.array_equal(shared(x, 5), wanted)) == 0

    for _ in range(5):
        assert in_child(again) == 0
        np.testing.assert_array_equal(shared(x, 5), wanted)


def test_a_child_that_c_code_forks() -> None:
    """Python runs no hook then; the pool finds that the process is another one."""
    shared, alone = mlirad.jit(relax, parallel=True, cache=False), mlirad.grad(energy)
    x = RNG.normal(size=N)
    wanted, slope = shared(x, 5), alone(x, x)
    for _ in range(5):
        child = ctypes.PyDLL(None).fork()
        if child == 0:
            signal.alarm(30)
            is_right = np.array_equal(alone(x, x), slope) and np.array_equal(shared(x, 5), wanted)
            os._exit(0 if is_right and mlirad.jit(lambda x: x + 1.0)(1.0) == 2.0 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        np.testing.assert_array_equal(shared(x, 5), wanted)


def test_forks_while_threads_work() -> None:
    shared = mlirad.jit(relax, parallel=True, cache=False)
    x = RNG.normal(size=N)
    wanted = shared(x, 5)
    is_over, wrong = threading.Event(), []

    def work() -> None:
        while not is_over.is_set():
            if not np.array_equal(shared(x, 5), wanted):
                wrong.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(ROUNDS // 5):
            assert in_child(lambda: np.array_equal(shared(x, 5), wanted)) == 0
    finally:
        is_over.set()
        thread.join()
    assert wrong == []


PREAMBLE = """
import atexit, os, threading, time
import numpy as np
import mlirad
from mlirad.lowering.to_loops import parallel_nest

parallel_nest.BLOCK = 1 << 12

def threads():
    # A thread that has been joined may still be leaving the process.
    return min(time.sleep(0.01) or len(os.listdir("/proc/self/task")) for _ in range(10))

def wave(x):
    return np.sin(x) * x

shared = mlirad.jit(wave, parallel=True, cache=False)
x = np.linspace(0.0, 9.0, 20_000)
"""


def run(directory: Path, program: str, **environment: str) -> subprocess.CompletedProcess:
    """A program in a separate process, with three threads."""
    path = directory / "program.py"
    path.write_text(PREAMBLE + textwrap.dedent(program))
    env = {**os.environ, "MLIRAD_NUM_THREADS": "3", **environment}
    return subprocess.run([sys.executable, path], capture_output=True, text=True, env=env, timeout=100)


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="only Linux lists the threads of a process")
def test_a_process_has_the_threads_that_it_is_told_and_ends(tmp_path: Path) -> None:
    # Daemons are in calls when the interpreter ends, and callbacks of its end call too.
    program = """
        alone = threads()
        assert np.allclose(shared(x), wave(x))
        print(threads() - alone)

        def forever():
            while True:
                shared(x)

        for _ in range(2):
            threading.Thread(target=forever, daemon=True).start()
        for _ in range(100):
            shared(x)
        atexit.register(lambda: print("late", np.allclose(shared(x), wave(x))))
    """
    done = run(tmp_path, program)
    assert (done.stdout, done.stderr, done.returncode) == ("2\nlate True\n", "", 0)


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="only Linux lists the threads of a process")
def test_workers_sleep_through_rare_short_calls(tmp_path: Path) -> None:
    """Waking both in each call would be eighty switches; a long call wakes them.

    A short call takes a tenth of the work that is worth it, so that it is short on a slow and busy machine too.
    """
    program = """
        def switches():
            others = set(os.listdir("/proc/self/task")) - {str(os.getpid())}
            lines = [line for each in others for line in open(f"/proc/self/task/{each}/status")]
            return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary"))

        few, many = np.linspace(0.0, 9.0, 4_000), np.linspace(0.0, 9.0, 4_000_000)
        shared(few), shared(many)
        time.sleep(0.1)
        before = switches()
        for _ in range(40):
            time.sleep(0.002)
            shared(few)
        after = switches()
        shared(many)
        time.sleep(0.1)
        print(after - before < 40, switches() > after)
    """
    done = run(tmp_path, program)
    assert (done.stdout, done.stderr) == ("True True\n", "")


@pytest.mark.parametrize("wrong", ["0", "two", "257", "-1"])
def test_a_wrong_number_of_threads_in_the_environment_is_refused(wrong: str) -> None:
    environment = Environment(None, False, False, None, wrong)
    with pytest.raises(ValueError, match=f"MLIRAD_NUM_THREADS must be from 1 to 256, not '{wrong}'"):
        _ = environment.threads


def test_a_wrong_number_of_threads_is_refused() -> None:
    for wrong in (0, -1, 257, 10**30):
        with pytest.raises(ValueError, match=f"n must be from 1 to 256, not {wrong}"):
            mlirad.set_num_threads(wrong)
    for wrong in (True, 2.0, "2", None):
        with pytest.raises(TypeError, match="a number of threads is an int, not"):
            mlirad.set_num_threads(wrong)
    assert mlirad.get_num_threads() == 3
    mlirad.set_num_threads(np.int8(2))
    assert mlirad.get_num_threads() == 2


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="only Linux lists the threads of a process")
@pytest.mark.parametrize("environment", ["3", "nonsense"])
def test_the_number_of_threads_is_set_before_and_after_the_first_call(tmp_path: Path, environment: str) -> None:
    program = """
    alone = threads()
    mlirad.set_num_threads(2)
    assert np.allclose(shared(x), wave(x))
    assert threads() - alone == 1
    mlirad.set_num_threads(4)
    assert threads() - alone == 1
    results = [shared(x)]
    assert threads() - alone == 3
    mlirad.set_num_threads(1)
    results.append(shared(x))
    assert (results[0] == results[1]).all()

    # A child inherits the number; who sets it in a thread sets it for all.
    mlirad.set_num_threads(4)
    child = os.fork()
    if not child:
        same = mlirad.get_num_threads() == 4 and threads() == 1 and (shared(x) == results[0]).all() and threads() == 4
        mlirad.set_num_threads(2)
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert mlirad.get_num_threads() == 4
    thread = threading.Thread(target=mlirad.set_num_threads, args=(3,))
    thread.start()
    thread.join()
    print(mlirad.get_num_threads())
    """
    done = run(tmp_path, program, MLIRAD_NUM_THREADS=environment)
    assert (done.stdout, done.stderr, done.returncode) == ("3\n", "", 0)


def test_the_number_of_threads_that_the_environment_tells(tmp_path: Path) -> None:
    done = run(tmp_path, "print(mlirad.get_num_threads())", MLIRAD_NUM_THREADS="5")
    assert (done.stdout, done.stderr, done.returncode) == ("5\n", "", 0)
    done = run(tmp_path, "shared(x)", MLIRAD_NUM_THREADS="nonsense")
    assert done.returncode == 1
    assert "ValueError: MLIRAD_NUM_THREADS must be from 1 to 256, not 'nonsense'" in done.stderr


def test_the_number_changes_while_others_call() -> None:
    shared = mlirad.jit(relax, parallel=True, cache=False)
    x = RNG.normal(size=N)
    wanted, short = shared(x, 30), shared(x, 5)
    is_over, wrong = threading.Event(), []

    def work() -> None:
        while not is_over.is_set():
            if not np.array_equal(shared(x, 30), wanted):
                wrong.append(1)

    callers = [threading.Thread(target=work) for _ in range(2)]
    for caller in callers:
        caller.start()
    for number in range(ROUNDS):
        mlirad.set_num_threads(1 + number % 5)
        np.testing.assert_array_equal(shared(x, 5), short)
    is_over.set()
    for caller in callers:
        caller.join()
    assert wrong == []


@pytest.mark.usefixtures("control_c")
@pytest.mark.parametrize("transform", [lambda f: f, mlirad.grad], ids=["product", "gradient"])
def test_ctrl_c_leaves_a_shared_call(transform: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # blocks as they are for users
    mlirad.set_num_threads(2)
    shared = transform(mlirad.jit(lambda a: np.sum(a @ a), parallel=True, cache=False))
    small, large = RNG.normal(size=(300, 300)), np.ones((2364, 2364))
    wanted = shared(small)
    compiled = shared.lower(large).compile()
    sent: list[float] = []

    def send() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    def call() -> None:
        for _ in range(100):
            compiled(large)

    threading.Timer(0.15, send).start()
    with pytest.raises(KeyboardInterrupt):
        call()
    assert time.perf_counter() - sent[0] < PATIENCE
    np.testing.assert_array_equal(shared(small), wanted)


@pytest.mark.parametrize("block", [1 << 50, 1 << 29], ids=["one block", "two blocks"])
def test_signals_are_looked_for_in_the_middle_of_a_block(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks may take long, for example in a product of many matrices. The call takes several times as long as the
    runtime waits between two looks."""

    def turned(x):
        return np.exp(np.sin(np.cos(np.tanh(x))))

    def part(x, n):
        return turned(turned(turned(turned(turned(turned(x[:n]))))))[::1000].sum()

    mlirad.set_num_threads(2)
    monkeypatch.setattr(parallel_nest, "BLOCK", block)
    shared = mlirad.jit(part, parallel=True, cache=False)
    x = RNG.normal(size=8_000_000)
    few, expected = shared(x, 50), shared(x, len(x))
    seen: list[int] = []

    def look(*_: Any) -> None:
        seen.append(1)
        if len(seen) == 2:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    try:
        with pytest.raises(KeyboardInterrupt):
            shared(x, len(x))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert (shared(x, 50), shared(x, len(x))) == (few, expected)


def test_a_handler_may_call_the_kernel_that_it_interrupts() -> None:
    shared = mlirad.jit(relax, parallel=True, cache=False)
    x = RNG.normal(size=N)
    wanted, seen = shared(x, 400), []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(np.array_equal(shared(x, 400), wanted)))
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    try:
        while not seen:
            np.testing.assert_array_equal(shared(x, 400), wanted)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen == [True]


def test_a_handler_may_fork_in_the_middle_of_a_call() -> None:
    shared = mlirad.jit(relax, parallel=True, cache=False)
    x = RNG.normal(size=N)
    short, long = shared(x, 3), shared(x, 400)
    children: list[int] = []

    def fork(*_: Any) -> None:
        children.append(os.fork())
        if children[0] == 0:
            signal.alarm(30)
            if not np.array_equal(shared(x, 3), short):
                os._exit(1)

    before = signal.signal(signal.SIGUSR1, fork)
    timer = threading.Timer(0.02, lambda: os.kill(os.getpid(), signal.SIGUSR1))
    timer.start()
    try:
        while not children:
            found = shared(x, 400)
        if children[0] == 0:
            os._exit(0 if np.array_equal(found, long) else 2)
    finally:
        signal.signal(signal.SIGUSR1, before)
    timer.join()
    np.testing.assert_array_equal(found, long)
    assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 0


def test_products_on_a_small_stack() -> None:
    # The panel of a product is on the stack of whoever computes it.
    product = mlirad.jit(inner, parallel=True, cache=False)
    a, b = RNG.normal(size=(2, 300, 300))
    found = [product(a, b)]
    assert "memref.alloca" in product.lower(a, b).as_text("loops")
    before = threading.stack_size(64 << 10)
    try:
        thread = threading.Thread(target=lambda: found.append(product(a, b)))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    np.testing.assert_array_equal(found[1], found[0])


def test_a_target_that_knows_no_threads_refuses() -> None:
    with pytest.raises(mlirad.TargetError, match="target 'python' has no option 'parallel'"):
        mlirad.jit(wave, target="python", parallel=True)(1.0, 2.0)


def test_options() -> None:
    assert mlirad.grad(mlirad.jit(energy, parallel=True)).options.parallel
    assert not mlirad.grad(energy).options.parallel
    for wrong in (1, "yes", None):
        with pytest.raises(TypeError, match=r"jit\(\): parallel is True or False, not"):
            mlirad.jit(energy, parallel=wrong)


def test_the_cache_tells_them_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIRAD_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("MLIRAD_CACHE", "1")
    x, y = RNG.normal(size=(2, N))
    alone, shared = mlirad.jit(wave)(x, y), mlirad.jit(wave, parallel=True)(x, y)
    codes = [path for path in tmp_path.rglob("*") if path.is_file() and PARALLEL_FOR.encode() in path.read_bytes()]
    assert len(codes) == 1
    monkeypatch.setattr(CpuTarget, "compile", None)
    for again in (mlirad.jit(wave)(x, y), mlirad.jit(wave, parallel=True)(x, y)):
        np.testing.assert_array_equal(again, alone)
    np.testing.assert_array_equal(alone, shared)


def test_the_code_of_the_pool_is_kept_on_disk(tmp_path: Path) -> None:
    """A process that finds its kernel there asks LLVM for nothing."""
    program = """
        kept = mlirad.jit(wave, parallel=True)
        assert np.allclose(kept(x), wave(x))
        from mlirad.targets.cpu.pool import pool
        assert pool._pool
    """
    refusing = """
        from mlirad.targets.cpu import engine
        def refuse(*_, **named):
            raise AssertionError("asked LLVM to compile")
        engine._parsed = refuse
    """
    cache = {"MLIRAD_CACHE": "1", "MLIRAD_CACHE_DIR": str(tmp_path / "cache")}
    for text in (program, textwrap.dedent(refusing) + textwrap.dedent(program)):
        done = run(tmp_path, textwrap.dedent(text), **cache)
        assert (done.stderr, done.returncode) == ("", 0)
