"""Kernels in several processes: pickled, copied, forked in the middle of anything, alive at the end of a process."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sent_functions as sent

import mlirad
from mlirad import forking

ROUNDS = 1000 if os.environ.get("MLIRAD_FULL") else 10
X = np.array([0.5, -1.25, 2.0])

# Kernels, what they are called with, and what they give.
KERNELS: dict[str, tuple[Any, tuple[Any, ...], Any]] = {
    "function": (mlirad.jit(sent.total), (X,), sent.total(X)),
    "decorated": (sent.decorated, (X,), np.sum(X**3)),
    "options": (sent.with_options, (X, 3), 3 * X),
    "gradient": (sent.gradient, (X,), sent.total_by_hand(X)),
    "gradient of a kernel": (mlirad.grad(sent.decorated), (X,), 3 * X**2),
    "value and gradient": (mlirad.value_and_grad(sent.decorated, (0,)), (X,), (np.sum(X**3), (3 * X**2,))),
    "second derivative": (mlirad.grad(mlirad.grad(sent.cube)), (2.0,), 12.0),
    "function that calls kernels": (mlirad.grad(sent.stacked), (X,), 3 * X**2 + [2.0, 0.0, 0.0]),
    "method": (mlirad.grad(sent.Model(3.0).loss), (X,), 6 * X),
}


def same(found: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        for a, b in zip(found, expected, strict=True):
            same(a, b)
    else:
        np.testing.assert_allclose(found, expected)


# pickled and copied


@pytest.mark.parametrize("name", KERNELS)
def test_a_pickled_kernel_is_one_of_the_same_function(name: str) -> None:
    kernel, arguments, expected = KERNELS[name]
    for protocol in (2, pickle.HIGHEST_PROTOCOL):
        again = pickle.loads(pickle.dumps(kernel, protocol))
        assert repr(again) == repr(kernel)
        assert again.options == kernel.options
    same(again(*arguments), expected)


def test_a_kernel_that_is_sent_many_times_is_compiled_once() -> None:
    for kernel in (mlirad.jit(sent.total), sent.gradient, mlirad.grad(sent.decorated)):
        first, second = (pickle.loads(pickle.dumps(kernel)) for _ in range(2))
        assert first is second
    assert pickle.loads(pickle.dumps(sent.decorated)) is sent.decorated
    assert pickle.loads(pickle.dumps(sent.gradient)) is sent.gradient


def test_what_no_name_leads_to_is_not_pickled() -> None:
    def local(x):
        return x * 2.0

    for kernel in (mlirad.jit(local), mlirad.grad(local), mlirad.jit(lambda x: x)):
        kernel(1.0)
        with pytest.raises((AttributeError, pickle.PicklingError), match="local"):
            pickle.dumps(kernel)
        assert copy.deepcopy([kernel])[0](1.0) == kernel(1.0)


def test_copies() -> None:
    for kernel, *_ in KERNELS.values():
        assert copy.copy(kernel) is kernel
    for kernel in (mlirad.jit(sent.total), sent.decorated, sent.gradient):
        assert copy.deepcopy(kernel) is kernel
    model = sent.Model(3.0)
    held = {"model": model, "gradient": mlirad.grad(model.loss), "loss": mlirad.jit(model.loss)}
    copied = copy.deepcopy(held)
    copied["model"].scale = 10.0
    same(copied["gradient"](X), 20 * X)
    same(copied["loss"](X), 10 * np.sum(X * X))
    same(held["gradient"](X), 6 * X)


def test_a_pullback_stays_in_its_process() -> None:
    _, pullback = mlirad.vjp(sent.total, X)
    with pytest.raises(TypeError, match="pickle the function"):
        pickle.dumps(pullback)
    same(copy.deepcopy(pullback)(1.0)[0], sent.total_by_hand(X))


def work_of(name: str) -> Any:
    kernel, arguments, _ = KERNELS[name]
    return kernel, *arguments


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_multiprocessing(method: str) -> None:
    names = ("decorated", "gradient", "second derivative", "method")
    with multiprocessing.get_context(method).Pool(1) as pool:
        found = pool.starmap(sent.run, [work_of(name) for name in names])
    for name, each in zip(names, found, strict=True):
        same(each, KERNELS[name][2])


def test_joblib() -> None:
    joblib = pytest.importorskip("joblib", reason="scikit-learn, of the extra `examples`, brings it")

    def local(x):  # joblib sends functions by value
        return np.sum(np.exp(x))

    works = [work_of("gradient"), work_of("decorated"), (mlirad.grad(local), X)]
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(sent.run)(*work) for work in works)
    same(tuple(found), (KERNELS["gradient"][2], KERNELS["decorated"][2], np.exp(X)))
    threads = joblib.Parallel(n_jobs=4, prefer="threads")(joblib.delayed(sent.gradient)(X * k) for k in range(20))
    same(tuple(threads), tuple(sent.total_by_hand(X * k) for k in range(20)))


# the contents of a script's own __main__

SCRIPT = """
import pickle, sys
import numpy as np
import mlirad

X = np.array([0.5, -1.25, 2.0])


@mlirad.jit
def cube(x):
    "The sum of cubes."
    return np.sum(x * x * x)


@mlirad.jit(static_argnames=("n",), boundscheck=False)
def times(x, n=3):
    return x * n


@mlirad.jit
def deep(x, n):
    return x if n == 0 else deep(x, n - 1) * 2.0


class Model:
    @mlirad.jit
    def loss(self, x):
        return np.sum(x * x) * 0.5


slope = mlirad.grad(cube)
KERNELS = {
    cube: ((X,), np.sum(X**3)),
    times: ((X,), 3 * X),
    deep: ((1.0, 3), 8.0),
    slope: ((X,), 3 * X**2),
    Model.loss: ((None, X), np.sum(X * X) / 2),
}


def uses(x):
    return cube(x) + slope(x)[0]


def call(kernel, *args):
    return kernel(*args)


def check(found):
    for (_, expected), each in zip(KERNELS.values(), found, strict=True):
        np.testing.assert_allclose(each, expected)
"""

IN_MAIN = {
    "by name": """
for kernel in KERNELS:
    for protocol in (2, 4, 5):
        assert pickle.loads(pickle.dumps(kernel, protocol)) is kernel, (kernel, protocol)
print(repr(cube), cube.__doc__)
""",
    "by value": """
import cloudpickle
import subprocess
data = cloudpickle.dumps([[(kernel, *rest) for kernel, rest in KERNELS.items()], uses, slope])
program = '''
import pickle, sys, numpy as np
kernels, uses, slope = pickle.load(sys.stdin.buffer)
for kernel, arguments, expected in kernels:
    for _ in range(5):
        np.testing.assert_allclose(kernel(*arguments), expected)
assert slope is kernels[3][0] and slope is uses.__globals__["slope"]
assert kernels[1][0].options.boundscheck is False and kernels[0][0].cache_info().misses == 1
print(repr(kernels[0][0]), kernels[0][0].__doc__)
'''
subprocess.run([sys.executable, "-c", program], input=data, check=True)
""",
    "joblib": """
import joblib
if __name__ == "__main__":
    for _ in range(2):
        found = joblib.Parallel(n_jobs=2)(joblib.delayed(kernel)(*args) for kernel, (args, _) in KERNELS.items())
        check(found)
        check(joblib.Parallel(n_jobs=2)(joblib.delayed(call)(kernel, *args) for kernel, (args, _) in KERNELS.items()))
    assert set(joblib.Parallel(n_jobs=2)(joblib.delayed(uses)(X) for _ in range(4))) == {uses(X)}
    print(repr(cube), cube.__doc__)
""",
    "spawn": """
import multiprocessing
if __name__ == "__main__":
    for method in ("spawn", "forkserver", "fork"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            check(pool.starmap(call, [(kernel, *args) for kernel, (args, _) in KERNELS.items()]))
            check([pool.apply(kernel, args) for kernel, (args, _) in KERNELS.items()])
    print(repr(cube), cube.__doc__)
""",
}


@pytest.mark.parametrize(
    "how", ["by name", "by value", *(pytest.param(each, marks=pytest.mark.full) for each in ("joblib", "spawn"))]
)
def test_kernels_of_a_script(how: str, tmp_path: Path) -> None:
    if how in ("by value", "joblib"):
        pytest.importorskip("joblib", reason="scikit-learn, of the extra `examples`, brings it")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT + IN_MAIN[how])
    done = run_script(script)
    assert (done.returncode, done.stdout) == (0, "<mlirad kernel cube> The sum of cubes.\n"), done.stderr


# forked


def in_child(work: Callable[[], None], seconds: int = 120) -> None:
    """Run it in a forked child; fails if it fails there, or does not end."""
    child = os.fork()
    if not child:
        status = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(seconds)
            work()
            status = 0
        except BaseException as error:
            os.write(2, f"in the child: {error!r}\n".encode())
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert status == 0, f"the child ended with status {status}"


def fresh(weight: float) -> Callable[..., Any]:
    return lambda x: np.sum(x * x) * weight


def check_fresh(weight: float) -> None:
    same(mlirad.grad(fresh(weight))(X), 2 * weight * X)


def test_fork_while_others_compile_and_call() -> None:
    """The child has all that the parent has, and no lock is held by a thread that it does not have."""
    is_over = threading.Event()
    kernel = mlirad.jit(sent.total)
    rng = random.Random(1)
    raised: list[BaseException] = []

    def compile_on() -> None:
        weight = 0.0
        try:
            while not is_over.is_set():
                check_fresh(weight := weight + 1.0)
        except BaseException as error:
            raised.append(error)

    def call_on() -> None:
        try:
            while not is_over.is_set():
                same(kernel(X), sent.total(X))
                same(kernel(X[::2]), sent.total(X[::2]))
        except BaseException as error:
            raised.append(error)

    def work() -> None:
        same(kernel(X), sent.total(X))
        check_fresh(0.5)

    threads = [threading.Thread(target=each) for each in (compile_on, compile_on, call_on)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(ROUNDS):
            time.sleep(rng.uniform(0.0, 0.02))
            in_child(work)
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    assert not raised


FIRST_COMPILATION = """
import os, signal, sys, threading, time
import numpy as np
import mlirad
import sent_functions as sent

X = np.array([0.5, -1.25, 2.0])
thread = threading.Thread(target=sent.gradient, args=(X,))
thread.start()
time.sleep(float(sys.argv[1]))
child = os.fork()
if not child:
    signal.alarm(120)
    os._exit(0 if np.allclose(mlirad.grad(sent.cube)(2.0), 12.0) else 1)
assert os.waitpid(child, 0)[1] == 0
thread.join()
"""


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_script("-c", program, *arguments)


def run_script(*words: str | Path) -> subprocess.CompletedProcess[str]:
    support = Path(sent.__file__).parent
    paths = [str(Path(mlirad.__file__).parents[1]), str(support)]
    return subprocess.run(
        [sys.executable, *words],
        # Later versions of Python warn of forks beside threads.
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "MLIRAD_CACHE": "0", "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.parametrize("seconds", [0.3] if ROUNDS < 100 else np.linspace(0.0, 1.0, 20).tolist())
def test_fork_while_the_compiler_is_imported(seconds: float) -> None:
    done = run(FIRST_COMPILATION, str(seconds))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_fork_waits_for_what_is_whole() -> None:
    begun, is_over = threading.Event(), threading.Event()
    order: list[str] = []

    def whole() -> None:
        with forking.whole(), forking.whole():
            begun.set()
            is_over.wait(60)
            order.append("whole")

    thread = threading.Thread(target=whole)
    thread.start()
    begun.wait(60)
    threading.Timer(0.2, is_over.set).start()
    in_child(lambda: None)
    order.append("forked")
    thread.join()
    assert order == ["whole", "forked"]
    with forking.whole():  # its own work it does not wait for, and goes on with it in the child
        in_child(lambda: forking.whole().__enter__())
    in_child(lambda: in_child(lambda: check_fresh(2.0)))


def test_a_lock_is_free_in_the_child() -> None:
    lock, mine = forking.new_lock(), forking.new_lock()
    begun, is_over = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            begun.set()
            is_over.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    begun.wait(60)

    def work() -> None:
        with lock, mine:
            pass

    with mine:
        in_child(work)
    is_over.set()
    thread.join()


# the end of a process

ENDS = {
    "kernels in cycles, and calls at exit": """
import atexit
atexit.register(lambda: sys.stdout.write(str(mlirad.grad(sent.cube)(2.0))))
kernel = mlirad.grad(sent.total)
for _ in range(10):
    kernel(X)
kernel.itself = kernel
_, sys.pullback = mlirad.vjp(sent.total, X)
""",
    "a thread in a kernel": """
def endless(x):
    while x > 0.0:
        x = x + 1.0
    return x
threading.Thread(target=mlirad.jit(endless), args=(1.0,), daemon=True).start()
time.sleep(0.5)
""",
    "a thread in the compiler": """
def compile_on():
    while True:
        mlirad.jit(lambda x: np.sum(x * x))(X)
for _ in range(2):
    threading.Thread(target=compile_on, daemon=True).start()
time.sleep(1.0)
""",
}


@pytest.mark.parametrize("name", ENDS)
def test_the_end_of_a_process(name: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, threading, time\nimport numpy as np\nimport mlirad, sent_functions as sent\n"
        "X = np.array([0.5, -1.25, 2.0])\n" + ENDS[name]
    )
    done = run("import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')", str(program))
    assert (done.returncode, done.stderr) == (0, "")
