"""Compiled code on disk: what is found is right, and what cannot be sure to be right is not found."""

from __future__ import annotations

import copy
import dataclasses
import errno
import itertools
import json
import linecache
import os
import pickle
import random
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad import cli
from mlirad.contract.captures import Guard
from mlirad.contract.captures import Path as CapturePath
from mlirad.frontend import build as frontend
from mlirad.jit import compilation, disk_cache, disk_store
from mlirad.jit.disk_store import MAGIC, Store
from mlirad.jit.portable import NotPortable, ObjectTable
from mlirad.options import Environment
from mlirad.targets.cpu import engine
from mlirad.targets.finding import find_target

X = np.array([0.5, -1.25, 2.0])


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("MLIRAD_CACHE")
    monkeypatch.setenv("MLIRAD_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The functions that the frontend is asked for, as they come."""
    asked: list[Any] = []
    build = frontend.build

    def counted(function: Any, *rest: Any, **named: Any) -> Any:
        asked.append(function)
        return build(function, *rest, **named)

    monkeypatch.setattr(frontend, "build", counted)
    return asked


def fresh(function: Callable[..., Any]) -> Callable[..., Any]:
    """A copy that no kernel knows yet, as another process would have it."""
    assert isinstance(function, FunctionType)
    made = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__module__, made.__qualname__ = function.__module__, function.__qualname__
    return made


def entries(root: Path) -> list[Path]:
    return sorted(root.glob("*.entry")) if root.exists() else []


class Session:
    """A module that is written and run again, as by one process after another."""

    def __init__(self, place: Path):
        self.place = place

    def run(self, text: str) -> dict[str, Any]:
        self.place.write_text(text)
        linecache.checkcache(str(self.place))
        space: dict[str, Any] = {"__name__": "session"}
        exec(compile(text, str(self.place), "exec", dont_inherit=True), space)
        return space


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path / "session.py")


# Finding entries.


@dataclasses.dataclass
class Pair:
    first: Any
    second: Any


SCALE = 2.0
WEIGHTS = np.array([1.0, 2.0, 3.0])


def uses_scale(x):
    return SCALE * np.sin(x)


def uses_weights(x):
    return WEIGHTS @ x


def helper(x, power=2):
    return x**power


def calls_helper(x):
    return helper(x) + helper(x, 3)


def writes(x):
    x[0] = 7.0
    return x


def gives_view(x):
    return x[1:], x


def gives_pair(p):
    return Pair(p.second * 2.0, {"old": p.first, "name": "first", "none": None, "nan": float("nan")})


def needs_length(x, n):
    return np.zeros(n) + x[:n]


def is_recursive(x, n):
    return x if n == 0 else np.sin(is_recursive(x, n - 1))


def picks(x, function, mode):
    return function(x) if mode == "on" else x


def loops(x):
    total = 0.0
    for i in range(x.shape[0]):
        total = total * 0.5 + x[i] * x[i]
    return total


def keeps_dtype(x):
    return np.int8(3), np.float32(1.5), True, x.dtype, np.sum


CASES: list[tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = [
    (uses_scale, lambda: (X,)),
    (uses_weights, lambda: (X,)),
    (calls_helper, lambda: (X,)),
    (writes, lambda: (X.copy(),)),
    (gives_view, lambda: (X.copy(),)),
    (gives_pair, lambda: (Pair(X, np.float32(2)),)),
    (needs_length, lambda: (X, 2)),
    (is_recursive, lambda: (0.5, 3)),
    (picks, lambda: (X, np.cos, "on")),
    (picks, lambda: (X, helper, "on")),
    (loops, lambda: (X,)),
    (loops, lambda: (X.astype(np.float32),)),
    (loops, lambda: (X[::-1],)),
    (keeps_dtype, lambda: (X,)),
    (lambda x: x * SCALE, lambda: (X,)),
]


def same(a: Any, b: Any) -> None:
    """Same types, dtypes and, up to rounding, numbers."""
    (leaves, structure), (others, other) = mlirad.tree.flatten(a), mlirad.tree.flatten(b)
    assert structure == other
    for leaf, wanted in zip(leaves, others, strict=True):
        assert type(leaf) is type(wanted)
        if isinstance(leaf, np.ndarray | np.generic | float):
            assert np.asarray(leaf).dtype == np.asarray(wanted).dtype
            np.testing.assert_allclose(leaf, wanted, rtol=1e-6)
        else:
            assert leaf == wanted


@pytest.mark.parametrize(("function", "make"), CASES)
def test_another_kernel_of_a_function_finds_its_code(function, make, root, built) -> None:
    given = make()
    wanted = fresh(function)(*make())
    same(mlirad.jit(fresh(function))(*given), wanted)
    assert len(entries(root)) == 2 and built
    built.clear()
    again = make()
    kernel = mlirad.jit(fresh(function))
    same(kernel(*again), wanted)
    same(mlirad.tree.leaves(again), mlirad.tree.leaves(given))  # what it has written
    assert built == []
    assert kernel.cache_info().currsize == 1 and len(kernel.signatures) == 1


def test_results_that_are_arguments_and_views_are_so_from_the_cache(root, built) -> None:
    for _ in range(2):
        x = X.copy()
        view, itself = mlirad.jit(fresh(gives_view))(x)
        assert itself is x and view.base is x
        assert mlirad.jit(fresh(writes))(x) is x and x[0] == 7.0
    assert len(built) == 2


def test_derivatives_are_found(root, built) -> None:
    numbers = []
    for _ in range(2):
        out, pullback = mlirad.vjp(fresh(loops), X)
        numbers.append((out, *pullback(1.0), *pullback(2.0)))
        numbers[-1] += (mlirad.grad(mlirad.grad(fresh(lambda x: np.sin(x) * x)))(0.3),)
        numbers[-1] += mlirad.jvp(fresh(loops), (X,), (np.ones(3),))
    same(numbers[0], numbers[1])
    assert len(built) == 3
    expected = X * 2 * 0.5 ** np.arange(3)[::-1]
    np.testing.assert_allclose(numbers[0][1], expected)


def test_an_error_from_the_cache_has_its_place(root, built) -> None:
    def reads(x, i):
        return x[i]

    messages = []
    for _ in range(2):
        with pytest.raises(IndexError) as caught:
            mlirad.jit(fresh(reads))(X, 5)
        messages.append(str(caught.value))
    assert messages[0] == messages[1] and "test_disk_cache.py" in messages[0] and "return x[i]" in messages[0]
    assert len(built) == 1


def shifts(x, y):
    x[1:] = y * 2.0
    return x.sum() + y[0]


def test_arguments_that_share_memory_are_found_by_how_they_do(root, built) -> None:
    """One array, its halves, every other element, backwards, apart: each is compiled once, and is right each time."""
    parts = [slice(0, 3), slice(1, 4), slice(0, 3), slice(None, 3, 1), slice(2, None, -1), slice(3, 0, -1)]
    counts: list[int] = []
    for _ in range(2):
        kernel = mlirad.jit(fresh(shifts))
        for part in parts:
            x, plain = np.arange(4.0) + 1.0, np.arange(4.0) + 1.0
            same(kernel(x, x[part]), shifts(plain, plain[part]))
            same(x, plain)
        same(kernel(np.ones(4), np.ones(3)), np.float64(8.0))
        counts.append(len(built))
    assert counts[1] == counts[0] >= 5


def swaps(a, b, n):
    a[0] = b[1] * n
    return a + np.zeros(n)


def test_one_array_passed_twice_is_found_by_another_kernel(root, built) -> None:
    counts: list[int] = []
    for n in (2, 1, 2, 1):
        x, plain = X[:2].copy(), X[:2].copy()
        same(mlirad.jit(fresh(swaps))(x, x, n), swaps(plain, plain, n))
        same(x, plain)
        counts.append(len(built))
    assert counts[1] == counts[2] == counts[3]


def test_a_captured_array_that_is_passed_too(root) -> None:
    """It has no number that says the same in every process: such code is found by its IR."""
    weights = np.ones(2)

    def adds(a):
        weights[0] += 1.0
        a[1] = weights[0] + weights[1]
        return a.sum()

    for _ in range(2):
        weights[:] = 1.0
        same(mlirad.jit(fresh(adds))(weights), np.float64(5.0))


def test_values_that_were_needed_are_part_of_what_is_found(root, built) -> None:
    for n in (2, 3, 1, 3, 2):
        same(mlirad.jit(fresh(needs_length))(X, n), needs_length(X, n))
    assert len({id(each) for each in built}) == 3


def test_more_values_than_are_kept(root) -> None:
    for n in (*range(12), *range(12)):
        same(mlirad.jit(fresh(lambda x, n: np.zeros(n) + x))(0.5, n), np.zeros(n) + 0.5)
    assert len([each for each in entries(root) if "-" in each.name]) == disk_cache.MAX_VARIANTS


def test_object_code_is_found_by_its_ir(root, session, monkeypatch) -> None:
    text = "import numpy as np\ndef f(x):\n    return np.sin(x) * a\na = {}\n"
    compiled = []
    compile_object = engine.compile_object
    monkeypatch.setattr(engine, "compile_object", lambda text: compiled.append(text) or compile_object(text))
    for number in ("2.0", "2.0 # again", "3.0", "np.float64(2.0)"):
        space = session.run(text.format(number))
        same(mlirad.jit(space["f"])(0.5), space["f"](0.5))
    assert len(compiled) == 2  # 2.0 and 3.0
    assert len(entries(root)) == 5  # np.float64(2.0) has a separate interface, and the code of 2.0


# Changes around the function: the kernel's own text is the same, at the same place.

HEAD = "import numpy as np\nfrom dataclasses import dataclass\nfrom typing import NamedTuple\nimport math\n"
CHANGES = {
    "a number": ("def f(x):\n    return x * a\n", "a = 2.0\n", "a = 3.0\n"),
    "a number's type": ("def f(x):\n    return x[0] * a\n", "a = 2\n", "a = np.float32(2)\n"),
    "the sign of zero": ("def f(x):\n    return x * math.copysign(1.0, a)\n", "a = 0.0\n", "a = -0.0\n"),
    "True and 1": ("def f(x):\n    return a\n", "a = 1\n", "a = True\n"),
    "a string": ("def f(x):\n    return x if a == 'on' else -x\n", "a = 'on'\n", "a = 'off'\n"),
    "a module": ("def f(x):\n    return m.sin(x[0])\n", "m = np\n", "m = math\n"),
    "a NumPy function": ("def f(x):\n    return g(x)\n", "g = np.sin\n", "g = np.cos\n"),
    "a function": ("def f(x):\n    return g(x)\n", "def g(x): return x * 2\n", "def g(x): return x * 3\n"),
    "a function's global": (
        "def f(x):\n    return g(x)\ndef g(x): return x * a\n",
        "a = 2.0\n",
        "a = 4.0\n",
    ),
    "a default": ("def f(x):\n    return g(x)\n", "def g(x, a=1.0): return x * a\n", "def g(x, a=2.0): return x * a\n"),
    "an array": ("def f(x):\n    return x + w\n", "w = np.ones(3)\n", "w = np.full(3, 2.0)\n"),
    "an array's dtype": ("def f(x):\n    return x + w\n", "w = np.ones(3)\n", "w = np.ones(3, np.int32)\n"),
    "an array's shape": ("def f(x):\n    return x + w\n", "w = np.ones(3)\n", "w = np.ones((2, 3))\n"),
    "a list": ("def f(x):\n    return x + a[0] * len(a)\n", "a = [1.0]\n", "a = [1.0, 1.0]\n"),
    "a dict": ("def f(x):\n    return x + a['k']\n", "a = {'k': 1.0}\n", "a = {'k': 2.0}\n"),
    "a class's attribute": (
        "def f(x):\n    return x * C.a\n",
        "class C: a = 1.0\n",
        "class C: a = 2.0\n",
    ),
    "a dataclass's field": (
        "@dataclass\nclass C:\n    a: float\n    b: float = 1.0\ndef f(x):\n    return x * c.a\n",
        "c = C(1.0)\n",
        "c = C(2.0)\n",
    ),
    "a dataclass's default": (
        "def f(x):\n    return x * C(1.0).b\n",
        "@dataclass\nclass C:\n    a: float\n    b: float = 1.0\n",
        "@dataclass\nclass C:\n    a: float\n    b: float = 2.0\n",
    ),
    "a dataclass's method": (
        "def f(x):\n    return c.g(x)\n",
        "@dataclass\nclass C:\n    a: float\n    def g(self, x): return x * self.a\nc = C(3.0)\n",
        "@dataclass\nclass C:\n    a: float\n    def g(self, x): return x + self.a\nc = C(3.0)\n",
    ),
    "a class's method that the function finds": (
        "@dataclass\nclass C:\n    a: float\n    def g(s, x): return x * s.a\ndef f(x):\n    return C(2.0).g(x)\n",
        "",
        "C.g = lambda s, x: x - s.a\n",
    ),
    "what a class makes of being asked": (
        "def f(x):\n    return c.g(x)\n",
        "@dataclass\nclass C:\n    a: float\n    def g(self, x): return x\nc = C(1.0)\n",
        "@dataclass\nclass B:\n    a: float\n    def g(self, x): return -x\nclass C(B): pass\nc = C(1.0)\n",
    ),
    "a property of a number's class": (
        "class I(int):\n    @property\n    def twice(self): return k * self\ndef f(x):\n    return x * i.twice\n",
        "i, k = I(3), 2\n",
        "i, k = I(3), 4\n",
    ),
    "an integer of many digits": ("def f(x):\n    return x * (a % 7)\n", "a = 10**5000\n", "a = 10**5000 + 1\n"),
    "an alias of a module": ("def f(x):\n    return m.pi * x\n", "m = math\n", "class m: pi = 3.0\n"),
    "whether there is an attribute": (
        "def f(x):\n    return x if hasattr(C, 'a') else -x\n",
        "class C: a = 1\n",
        "class C: b = 1\n",
    ),
    "a set": ("def f(x):\n    return x if 2 in a else -x\n", "a = {1, 2, 'x'}\n", "a = {1, 3, 'x'}\n"),
    "a range": ("def f(x):\n    return x * a[1]\n", "a = range(1, 7, 2)\n", "a = range(1, 7, 3)\n"),
    "a named tuple": (
        "class P(NamedTuple):\n    u: float\n    v: float\ndef f(x):\n    return x * p.u\n",
        "p = P(1.0, 2.0)\n",
        "p = P(2.0, 1.0)\n",
    ),
    "closures": (
        "def make(a):\n    def f(x):\n        return x * a\n    return f\n",
        "f = make(2.0)\n",
        "f = make(3.0)\n",
    ),
    "whether closures share a variable": (
        "def make(a):\n    def g(x): return x + a\n    def f(x):\n        return x * a + h(x)\n    return f, g\n",
        "f, h = make(2.0)\n",
        "f, h = make(2.0)[0], make(3.0)[1]\n",
    ),
    "a kernel": (
        "import mlirad\ndef f(x):\n    return k(x)\n",
        "@mlirad.jit\ndef k(x): return x * 2\n",
        "@mlirad.jit\ndef k(x): return x * 5\n",
    ),
    "a function of a table": (
        "def g(x): return x + 1\ndef h(x): return x - 1\ndef f(x):\n    return table['g'](x)\n",
        "table = {'g': g}\n",
        "table = {'g': h}\n",
    ),
    "which of two functions": (
        "def f(x):\n    return x if g is h else -x\n",
        "def g(x): return x\nh = g\n",
        "def g(x): return x\nk = g\ndef make():\n    def g(x): return x\n    return g\ng, h = make(), make()\n",
    ),
    "a partial": (
        "from functools import partial\ndef g(a, x): return a * x\ndef f(x):\n    return p(x)\n",
        "p = partial(g, 2.0)\n",
        "p = partial(g, 3.0)\n",
    ),
    "a flag that is an enum's": (
        "import enum\nclass E(enum.Enum):\n    A = 1\n    B = 2\ndef f(x):\n    return x if e is E.A else -x\n",
        "e = E.A\n",
        "e = E.B\n",
    ),
    "an object": (
        "class C:\n    def __init__(self, a): self.a = a\ndef f(x):\n    return x * c.a\n",
        "c = C(2.0)\n",
        "c = C(3.0)\n",
    ),
}


KNOWN_BY_IDENTITY = ("an object", "a property of a number's class")


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_changed_around_a_function_is_seen_and_what_is_as_it_was_is_found(
    change, root, session, built
) -> None:
    text, one, other = CHANGES[change]
    for after in (one, other, one, other):
        space = session.run(HEAD + text + after)
        same(mlirad.jit(space["f"])(X), space["f"](X))
    kernels = {id(each) for each in built if each.__name__ == "f"}
    # Contents of arrays are not part of the code.
    assert len(kernels) == (4 if change in KNOWN_BY_IDENTITY else 1 if change == "an array" else 2)


def test_what_was_found_is_guarded_as_what_was_compiled(root, session) -> None:
    for _ in range(2):
        space = session.run(HEAD + "def f(x):\n    return g(x) * a\ndef g(x): return x + w\na, w = 2.0, np.ones(3)\n")
        kernel = mlirad.jit(space["f"])
        for change in ({"a": 2.0}, {"a": 3.0}, {"w": X}, {"w": np.ones(())}, {"g": np.sin}, {"a": 2}):
            space.update(change)
            same(kernel(X), space["f"](X))


def test_a_patched_numpy_is_not_what_was_compiled_for(root, built, session, monkeypatch) -> None:
    text = HEAD + "def f(x):\n    return x * np.pi\n"
    mlirad.jit(session.run(text)["f"])(X)
    monkeypatch.setattr(np, "pi", 3.0)
    same(mlirad.jit(session.run(text)["f"])(X), X * 3.0)
    monkeypatch.undo()
    same(mlirad.jit(session.run(text)["f"])(X), X * np.pi)
    assert len(built) == 2


def test_code_that_was_replaced_is_another_key(root, built, session) -> None:
    text = HEAD + "def f(x):\n    return g(x)\ndef g(x):\n    return x + 1\ndef h(x):\n    return x + 2\n"
    for _ in range(2):
        space = session.run(text)
        kernel = mlirad.jit(space["f"])
        for name in ("g", "h"):
            space["g"].__code__ = space[name].__code__
            same(kernel(X), space["f"](X))
    assert len(built) == 2


def test_another_text_of_the_function_is_another_function(root, session, built) -> None:
    for text in ("x + 1", "x + 2", "x  + 2", "(x + 2)"):
        space = session.run(f"def f(x):\n    return {text}\n")
        same(mlirad.jit(space["f"])(X), space["f"](X))
    assert len(built) == 4


def test_a_class_is_known_by_all_that_it_defines(session) -> None:
    text = HEAD + "@dataclass\nclass C:\n    a: float = {}\n    b = 1\n{}\n"
    bodies = ("", "    c = 1", "    def __bool__(self): return False", "    def __bool__(self): return True")
    bodies += ("    @property\n    def c(self): return 1", "    @property\n    def c(self): return 2")
    bodies += ("    @staticmethod\n    def c(): return 1", "    @staticmethod\n    def c(): return 2")
    found = {json.dumps(ObjectTable().encode(session.run(text.format("1.0", body))["C"])) for body in bodies}
    found |= {
        json.dumps(ObjectTable().encode(session.run(text.format(value, ""))["C"])) for value in ("1.0", "1", "-0.0")
    }
    assert len(found) == len(bodies) + 2


def test_code_that_was_made_by_hand_is_compiled(root) -> None:
    def f(x):
        return x + 1.0

    code = f.__code__.replace(co_consts=tuple(object() if each == 1.0 else each for each in f.__code__.co_consts))
    with pytest.raises(NotPortable):
        ObjectTable().encode(FunctionType(code, {}))
    with pytest.raises(mlirad.CompileError):
        mlirad.jit(FunctionType(f.__code__.replace(co_name="g"), {}))(0.5)
    assert entries(root) == []


def test_digests_do_not_depend_on_the_process(tmp_path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import json, dataclasses\nfrom mlirad.jit.portable import ObjectTable\n"
        "@dataclasses.dataclass\nclass C:\n    a: int = 1\n"
        "def f(x):\n    g = lambda y: y in {'a', 'b', 'c'}\n    return g(x) + 1.5\n"
        "print(json.dumps(ObjectTable().encode((f, C, frozenset({'a', 'b', (1, 'c')})))))\n"
    )
    told = {
        subprocess.run(
            [sys.executable, program],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
            timeout=120,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(told) == 1


def test_a_function_whose_file_has_changed_is_not_kept(root, session) -> None:
    old = session.run("def f(x):\n    return x + 1\n")
    session.place.write_text("def f(x):\n    return x + 2\n")
    linecache.checkcache(str(session.place))
    with pytest.raises(mlirad.CompileError, match="is not what its source says"):
        mlirad.jit(old["f"])(X)
    assert [each for each in entries(root) if "-" in each.name] == []


def test_options_are_part_of_what_is_found(root, built) -> None:
    def reads(x, i):
        return x[i]

    assert mlirad.jit(fresh(reads), boundscheck=False)(X, 1) == X[1]
    with pytest.raises(IndexError):
        mlirad.jit(fresh(reads))(X, 3)
    assert len(built) == 2


def test_code_depends_on_the_scipy_beside() -> None:
    scipy = pytest.importorskip("scipy")
    versions = disk_cache._versions()
    assert versions is not None and f"scipy-{scipy.__version__}.dist-info" in versions


@pytest.mark.parametrize("what", ["versions", "processor"])
def test_code_of_another_version_or_processor_is_not_used(what, root, built, monkeypatch) -> None:
    mlirad.jit(fresh(loops))(X)
    before = disk_cache._versions()
    assert before is not None
    with monkeypatch.context() as patch:
        if what == "versions":
            patch.setattr(disk_cache, "_versions", lambda: ("another", *before[1:]))
        else:
            patch.setattr(engine, "host_fingerprint", lambda: "another processor")
        mlirad.jit(fresh(loops))(X)
    assert len(built) == 2
    mlirad.jit(fresh(loops))(X)
    assert len(built) == 2


def test_the_source_of_the_compiler_is_a_version(tmp_path, monkeypatch) -> None:
    package = tmp_path / "package"
    package.mkdir()
    monkeypatch.setattr(disk_cache, "_PACKAGE", package)
    assert disk_cache._source() == ""  # nothing to read: no cache
    (package / "a.py").write_text("a = 1\n")
    one = disk_cache._source()
    (package / "a.py").write_text("a = 2\n")
    two = disk_cache._source()
    (package / "a.py").rename(package / "b.py")
    assert len({one, two, disk_cache._source()}) == 3


# Where it is, and turning it off.


def test_where_it_is(monkeypatch, tmp_path) -> None:
    monkeypatch.delenv("MLIRAD_CACHE")
    monkeypatch.delenv("MLIRAD_CACHE_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert Environment.read().cache == tmp_path / ".cache" / "mlirad"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert Environment.read().cache == tmp_path / "xdg" / "mlirad"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert Environment.read().cache == tmp_path / ".cache" / "mlirad"
    monkeypatch.setenv("MLIRAD_CACHE_DIR", str(tmp_path / "mine"))
    assert Environment.read().cache == tmp_path / "mine"
    monkeypatch.setenv("MLIRAD_CACHE", "0")
    assert Environment.read().cache is None


def test_it_can_be_turned_off(root, monkeypatch) -> None:
    mlirad.jit(fresh(loops), cache=False)(X)
    mlirad.grad(mlirad.jit(fresh(loops), cache=False))(X)
    monkeypatch.setenv("MLIRAD_CACHE", "0")
    mlirad.jit(fresh(loops))(X)
    assert entries(root) == []


def test_dumping_compiles(root, built, monkeypatch, tmp_path) -> None:
    mlirad.jit(fresh(loops))(X)
    monkeypatch.setenv("MLIRAD_DUMP", str(tmp_path / "dump"))
    mlirad.jit(fresh(loops))(X)
    assert len(built) == 2 and list((tmp_path / "dump").rglob("*.ll"))


# Damage.


def check(function: Callable[..., Any] = uses_scale) -> None:
    same(mlirad.jit(fresh(function))(X), function(X))


def damage(path: Path, rng: random.Random, others: list[Path]) -> None:
    """One of the things that happen to files."""
    data = path.read_bytes()
    match rng.randrange(8) if data else 6:
        case 0:
            path.write_bytes(data[: rng.randrange(len(data) + 1)])
        case 1:
            place = rng.randrange(len(data))
            path.write_bytes(data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :])
        case 2:
            path.write_bytes(rng.randbytes(rng.randrange(300)))
        case 3:
            path.write_bytes(data + rng.randbytes(rng.randrange(1, 50)))
        case 4:  # another format
            path.write_bytes(data.replace(MAGIC, MAGIC.replace(b"1", b"0"), 1))
        case 5:  # another entry under its name
            path.write_bytes(rng.choice(others).read_bytes())
        case 6:
            path.unlink()
        case 7:  # zeros where a file system has lost a page
            start = rng.randrange(len(data))
            path.write_bytes(data[:start] + bytes(len(data[start : start + 512])) + data[start + 512 :])


class MissedError(Exception):
    """Nothing was found, and nothing is to be compiled."""


def missed(*whatever: Any, **options: Any) -> Any:
    raise MissedError


def torture(root: Path, rounds: int, seed: int) -> None:
    """Files are damaged, versions and processors change, and the file system fails, at random.

    To compile takes the longest: one round in twenty does, the others put back what compiling would have made.
    """
    rng = random.Random(seed)
    versions = disk_cache._versions()
    assert versions is not None
    functions = [uses_scale, uses_weights]
    for function in functions:
        check(function)
    whole = {path: path.read_bytes() for path in entries(root)}
    found = 0
    for _ in range(rounds):
        for path in entries(root):
            if path.exists() and rng.random() < 0.2:
                damage(path, rng, entries(root))
        with pytest.MonkeyPatch.context() as patch:
            if rng.random() < 0.1:
                patch.setattr(disk_cache, "_versions", lambda: (*versions, "another"))
            if rng.random() < 0.1:
                patch.setattr(engine, "host_fingerprint", lambda: "another processor")
            if rng.random() > 0.05:
                patch.setattr(compilation, "build_for", missed)
            try:
                with failing(rng, rng.choice([0.0, 0.0, 0.1])):
                    check(rng.choice(functions))
                found += 1
            except MissedError:
                for path, data in whole.items():
                    path.write_bytes(data)
    assert rounds / 10 < found < rounds


def test_damaged_entries_are_never_used(root) -> None:
    torture(root, 200, seed=1)
    Store(root).verify()
    assert Store(root).verify().damaged == 0
    check()


@pytest.mark.full
def test_damaged_entries_are_never_used_at_length(root) -> None:
    torture(root, 10_000, seed=2)


def test_what_is_no_file_of_ours_is_left_alone(root) -> None:
    root.mkdir()
    (root / "README").write_text("mine")
    (root / "0123.entry").write_text("mine")
    check()
    names = [each.name for each in entries(root) if each.name != "0123.entry"]
    for name in names:
        (root / name).unlink()
        os.mkfifo(root / name)  # to read it would wait for ever
    check()
    for name in names:
        (root / name).unlink()
        (root / name).mkdir()
    check()
    for name in names:
        (root / name).rmdir()
        (root / name).symlink_to(root / "README")
    check()
    assert Store(root).clear() >= 0
    assert (root / "README").read_text() == "mine" and (root / "0123.entry").read_text() == "mine"


def test_code_that_somebody_else_owns_is_not_run(root, built, monkeypatch) -> None:
    check()
    monkeypatch.setattr(os, "getuid", lambda: os.stat(root).st_uid + 1)
    if os.stat(root).st_uid == 0:
        monkeypatch.setattr(os, "fstat", lambda fd, fstat=os.fstat: _owned_by(fstat(fd), 4242))
    check()
    assert len(built) == 2


def _owned_by(status: os.stat_result, user: int) -> os.stat_result:
    return os.stat_result((*status[:4], user, *status[5:]))


def test_an_entry_that_says_nonsense_is_removed(root, built) -> None:
    check()
    (path,) = [each for each in entries(root) if "-" in each.name]
    name = path.name.removesuffix(".entry")
    content = disk_store.unsealed(name, path.read_bytes())
    assert content is not None
    entry = json.loads(content)
    for wrong in (b"", b"{}", b"[]", b"null", json.dumps({**entry, "object": "0" * 32}).encode()):
        assert Store(root).put(name, wrong)
        check()
    assert len(built) == 6
    check()
    assert len(built) == 6


def mutated(rng: random.Random, data: Any, depth: int = 0) -> Any:
    """JSON with one value in it replaced by another one."""
    if isinstance(data, dict | list) and data and rng.random() < 0.9:
        made = copy.copy(data)
        key = rng.choice(list(made) if isinstance(made, dict) else range(len(made)))
        made[key] = mutated(rng, made[key], depth + 1)
        return made
    kinds = ["tuple", "set", "dict", "object", "enum", "path", "record", "range", "int", "complex", "bytes", "numpy"]
    kinds += ["dtype", "global", "module", "bool", "float", "...", "kernel", "partial"]
    values = [None, 0, -1, 10**30, 0.5, "", "nan", "numpy", "f(", "(2,2)i4,(", "O", "x" * 50, [], {}, [[]], {"a": []}]
    values += [
        [rng.choice(kinds), *rng.choices([0, 1, -5, "a", "<f8", "ff", [], [["a"]], {}, None], k=rng.randint(0, 3))]
    ]
    return rng.choice(values)


@pytest.mark.parametrize("seed", range(8 if os.environ.get("MLIRAD_FULL") else 1))
def test_no_entry_makes_the_reader_fail(seed: int, root) -> None:
    """Entries that are whole, and were not written by mlirad: as if there were none, or right by chance."""
    rng = random.Random(seed)
    box = {"scale": 2.0}
    kernels = [(mlirad.jit(fresh(function)), make) for function, make in CASES[:8]]
    kernels.append((mlirad.jit(lambda x: x * box["scale"]), lambda: (X,)))
    for kernel, make in kernels:
        kernel(*make())
    kept = disk_cache.disk_cache(kernels[0][0].options, find_target("cpu"))
    assert kept is not None
    names = [path.name.removesuffix(".entry") for path in entries(root) if "-" in path.name]
    told = [json.loads(Store(root).get(name) or b"") for name in names]
    assert len(told) == len(kernels)
    for kernel, make in kernels:
        wanted = kept.wanted(kernel.__mlirad_function__, kernel.signatures[0], kernel.options)
        assert wanted is not None
        for _ in range(60):
            Store(root).put(f"{wanted.key}-0", json.dumps(mutated(rng, rng.choice(told))).encode())
            kept.find(wanted, list(make()))


@pytest.mark.parametrize("limit", [1000, 1_000_000])
def test_an_entry_that_is_nested_deeply_is_removed(limit: int, root, built) -> None:
    check()
    (path,) = [each for each in entries(root) if "-" in each.name]
    name = path.name.removesuffix(".entry")
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        for opening, closing in (("[", "]"), ('{"static":["tuple",[', "]]}")):
            for depth in (100, 600, 200_000):
                wrong = '["]]]]", "\\"}}", ' + opening * depth + "0" + closing * depth + "]"
                assert Store(root).put(name, wrong.encode())
                with pytest.raises(ValueError) if depth > 500 else nullcontext():
                    disk_cache._parsed(wrong.encode())
                check()
                assert Store(root).get(name) != wrong.encode()
    finally:
        sys.setrecursionlimit(before)


@pytest.mark.parametrize("text", ["[" * 600, 'x"[', "x\\", 'x\\"y', "\\\\" + "{" * 600])
def test_brackets_in_strings_are_no_nesting(text: str) -> None:
    for data in ([text], [text, "[" * 600], {text: text}, ['"', text, "\\", text]):
        assert disk_cache._parsed(json.dumps(data).encode()) == data
    with pytest.raises(ValueError, match="nested too deeply"):
        disk_cache._parsed(json.dumps([text])[:-1].encode() + b"," + b"[" * 600 + b"]" * 601)


def test_arguments_that_are_nested_deeply(root) -> None:
    for depth in (3, 40):
        nested: Any = X
        for _ in range(depth):
            nested = (nested,)

        def f(x):
            while isinstance(x, tuple):
                x = x[0]
            return x + 1.0

        for _ in range(2):
            same(mlirad.jit(fresh(f))(nested), X + 1.0)


PROPERTY = """class C:
    ok = True
    @property
    def a(self):
        if self.ok:
            return 2.0
        raise ZeroDivisionError("no")
c = C()
def f(x, kind):
    return x * c.a if kind == "a" else x
"""


def test_a_property_that_raises_is_not_asked_in_vain(session) -> None:
    """Objects that other entries of a function rely on may be gone, and looking them up may raise anything."""
    space = session.run(PROPERTY)
    guard = Guard(CapturePath(space["f"], "c", (("attribute", "a"),)), 2.0)
    objects = ObjectTable()
    objects.encode(space["f"])
    assert disk_cache._found(objects, guard.path, None, objects.encode(2.0)) is not None
    space["C"].ok = False
    assert disk_cache._found(objects, guard.path, None, objects.encode(2.0)) is None


# Who may write there.

ME, OTHER = 1000, 1001
MODES = [
    (0o700, ME, ME, True), (0o755, ME, ME, True), (0o775, ME, ME, True), (0o775, ME, OTHER, False),
    (0o777, ME, ME, False), (0o702, ME, ME, False), (0o700, OTHER, ME, False), (0o755, 0, 0, True),
    (0o1777, 0, 0, True), (0o1777, OTHER, OTHER, False), (0o777, 0, 0, False), (0o770, 0, OTHER, False),
]  # fmt: skip


@pytest.mark.parametrize(("mode", "user", "group", "is_trusted"), MODES)
def test_directories_that_are_trusted(mode: int, user: int, group: int, is_trusted: bool, monkeypatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: ME)
    monkeypatch.setattr(os, "getgid", lambda: ME)
    status = os.stat_result((stat.S_IFDIR | mode, 0, 0, 0, user, group, 0, 0, 0, 0))
    assert (disk_store._why_not_trusted(status) is None) is is_trusted


def test_a_directory_that_others_may_write_is_not_used(root, built, capsys) -> None:
    check()
    (kept,) = [each for each in entries(root) if "-" in each.name]
    before = {path: path.read_bytes() for path in entries(root)}
    root.chmod(0o777)
    disk_cache._store.cache_clear()
    with pytest.warns(UserWarning, match=r"does not cache code in .*cache, .* none from there.*chmod go-w") as warned:
        [check() for _ in range(2)]
    assert len(built) == 3 and len(warned) == 1
    assert {path: path.read_bytes() for path in entries(root)} == before
    cli.main(["cache"])
    assert "not used: other users may write there (mode 777)" in capsys.readouterr().out
    root.chmod(0o700)
    check()
    assert len(built) == 3
    kept.chmod(0o666)  # somebody may have written it
    check()
    assert len(built) == 4


# The file system's errors.

_CODES = (errno.EACCES, errno.ENOSPC, errno.EROFS, errno.EIO, errno.EDQUOT, errno.EMFILE, errno.ENAMETOOLONG)


@contextmanager
def watched(before: Callable[[str], None]) -> Iterator[None]:
    """Calls `before`, with its name, before each step that the store makes in the file system, and in the middle of a
    file."""

    def wrapped(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            before(name)
            return real(*args, **named)

        return call

    class Os:
        """The module as disk_store.py sees it."""

        def __getattr__(self, name: str) -> Any:
            real = getattr(os, name)
            if name == "fdopen":
                return lambda *args: _File(real(*args), wrapped)
            return wrapped(name, real) if name in ("open", "replace", "makedirs", "scandir", "utime", "fstat") else real

    unlink = Path.unlink
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disk_store, "os", Os())
        patch.setattr(Path, "unlink", lambda path: wrapped("unlink", unlink)(path))
        yield


@contextmanager
def failing(rng: random.Random, share: float) -> Iterator[list[str]]:
    """This many calls of the store fail, each in some way."""
    failed: list[str] = []

    def fail(name: str) -> None:
        if rng.random() < share:
            failed.append(name)
            code = rng.choice(_CODES)
            raise OSError(code, os.strerror(code))

    with watched(fail):
        yield failed


class _File:
    def __init__(self, file: Any, wrapped: Callable[..., Any]):
        self.file, self.wrapped = file, wrapped

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()

    def fileno(self) -> int:
        return self.file.fileno()

    def read(self) -> bytes:
        return self.wrapped("read", self.file.read)()

    def write(self, data: bytes) -> None:
        half = len(data) // 2
        self.file.write(data[:half])
        self.file.flush()
        self.wrapped("write", self.file.write)(data[half:])


def errors(rounds: int, seed: int) -> set[str]:
    rng = random.Random(seed)
    seen: set[str] = set()
    for _ in range(rounds):
        disk_cache._store.cache_clear()  # a process's first write checks the existing entries
        with failing(rng, rng.choice([0.1, 0.4, 1.0])) as failed:
            check(rng.choice([uses_scale, uses_weights]))
        seen |= set(failed)
    return seen


def test_errors_of_the_file_system_are_no_errors_of_ours(root) -> None:
    assert errors(50, seed=3) >= {"open", "read", "write", "replace", "scandir", "unlink"}
    check()


@pytest.mark.full
def test_errors_of_the_file_system_are_no_errors_of_ours_at_length(root) -> None:
    errors(3_000, seed=4)


def test_a_place_where_no_directory_can_be(root, tmp_path, monkeypatch) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/nowhere/at/all"), Path("/dev/null")):
        monkeypatch.setenv("MLIRAD_CACHE_DIR", str(place))
        check()
    monkeypatch.delenv("MLIRAD_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/nonexistent/home")
    check()
    assert cli.main(["cache"]) == 0


# Processes.


def in_child(work: Callable[[], None]) -> int:
    """The number of a forked process that does the work, and leaves with 0 if it went well."""
    number = os.fork()
    if number:
        return number
    status = 1
    try:
        work()
        status = 0
    finally:
        os._exit(status)


def write_entries(root: Path, before: Callable[[str], None]) -> None:
    """A large entry is written, and those of two kernels that are compiled."""
    for path in entries(root):
        path.unlink()
    with watched(before):
        Store(root).put("f" * 32, random.Random(1).randbytes(1 << 20))
        check(uses_scale)
        check(uses_weights)


def steps(root: Path) -> list[str]:
    """The steps that writing takes in the file system."""
    seen: list[str] = []
    write_entries(root, seen.append)
    return seen


def dies_before(root: Path, step: int, name: str) -> None:
    """A process that writes is killed before one of its steps; what it leaves is whole."""

    def work() -> None:
        coming = itertools.count()

        def kill(own: str) -> None:
            if next(coming) == step:
                assert own == name
                os.kill(os.getpid(), signal.SIGKILL)

        write_entries(root, kill)

    partial = len(list(root.glob("*.partial")))
    _, status = os.waitpid(in_child(work), 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    # From the file's creation until it has its name, half an entry is there, under a name that is no entry's.
    assert len(list(root.glob("*.partial"))) - partial == (name in ("write", "replace"))
    assert Store(root).verify().damaged == 0


def kills(root: Path, share: float, seed: int) -> None:
    """Processes that write are killed before some of their steps: one of each kind at least."""
    check()
    rng, names = random.Random(seed), steps(root)
    assert set(names) >= {"open", "write", "replace"}
    chosen = {names.index(name) for name in names} | {step for step in range(len(names)) if rng.random() < share}
    for step in sorted(chosen):
        dies_before(root, step, names[step])
        check(rng.choice([uses_scale, uses_weights]))
    assert list(root.glob("*.partial"))
    Store(root).clear()
    assert list(root.glob("*.partial")) == []


def test_killed_processes_leave_nothing_broken(root) -> None:
    kills(root, 0.1, seed=5)


@pytest.mark.full
def test_killed_processes_leave_nothing_broken_at_length(root) -> None:
    for seed in range(4):
        kills(root, 1.0, seed)


@pytest.mark.full
def test_processes_that_are_killed_at_any_time_leave_nothing_broken(root) -> None:
    """Also within a step, or between steps of the compiler: wherever they are."""
    rng = random.Random(6)
    check()

    def work() -> None:
        while True:
            write_entries(root, lambda name: None)

    for _ in range(300):
        child = in_child(work)
        time.sleep(rng.uniform(0.0, 0.05))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert Store(root).verify().damaged == 0
        check(rng.choice([uses_scale, uses_weights]))


def races(rounds: int) -> None:
    """Four processes on one cold cache, which a fifth clears all the time."""

    def work() -> None:
        for _ in range(2):
            for function in (uses_scale, uses_weights, calls_helper):
                check(function)

    for _ in range(rounds):
        root = Environment.read().cache
        assert root is not None
        Store(root).clear()
        children = [in_child(work) for _ in range(4)]
        while children:
            Store(root).clear()
            done, status = os.waitpid(-1, os.WNOHANG)
            if done:
                assert status == 0
                children.remove(done)
            time.sleep(0.01)


def test_arrays_that_were_unpickled_are_like_others(root, built) -> None:
    """Their dtypes are separate objects."""
    sent = pickle.loads(pickle.dumps(X))
    assert sent.dtype is not X.dtype
    for x in (X, sent, X.astype(np.float32), pickle.loads(pickle.dumps(X.astype(np.float32)))):
        np.testing.assert_array_equal(mlirad.jit(fresh(helper))(x), helper(x))
    assert len(built) == 2


def test_processes_that_keep_the_same_leave_one_entry(root, monkeypatch) -> None:
    """Each has looked before another was done, and compiles."""

    def joins(x, n):
        for _ in range(n):
            x = x * 0.5
        return x

    monkeypatch.setattr(disk_cache.DiskCache, "find", lambda *_: None)
    for _ in range(3):
        np.testing.assert_array_equal(mlirad.jit(fresh(joins))(X, 3), X * 0.125)
    assert len(entries(root)) == 2  # a specialisation, and its object code


def test_processes_on_one_cache(root) -> None:
    races(1)


@pytest.mark.full
def test_processes_on_one_cache_at_length(root) -> None:
    races(100)


def test_a_hit_imports_nothing_of_the_compiler(root, tmp_path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\nimport numpy as np\nimport mlirad\n"
        "def f(x):\n    return np.sum(np.sin(x) * x)\n"
        "@mlirad.jit\ndef shifts(x, y):\n    x[1:] = y\n    return x.sum()\n"
        "x = np.ones(3)\nshifts(x, x[:2])\nshifts(x, x[:2])\n"
        "print(mlirad.grad(f)(x)[0], 'xdsl.ir' in sys.modules, 'mlirad.frontend.build' in sys.modules)\n"
    )
    answers = [
        subprocess.run(
            [sys.executable, program], capture_output=True, text=True, check=True, timeout=120
        ).stdout.split()
        for _ in range(2)
    ]
    assert answers[0][1:] == ["True", "True"] and answers[1][1:] == ["False", "False"]
    assert answers[0][0] == answers[1][0]


# The store.


def test_the_least_recently_used_goes_first(tmp_path) -> None:
    kept = Store(tmp_path, limit=10_000)
    names = [f"{number:032x}" for number in range(8)]
    for age, name in enumerate(names):
        assert kept.put(name, bytes(1_500))
        os.utime(tmp_path / f"{name}.entry", (1000 + age, 1000 + age))
        if age == 4:
            assert kept.get(names[0]) is not None  # used just now
    left = {each.name.removesuffix(".entry") for each in entries(tmp_path)}
    assert sum(each.stat().st_size for each in entries(tmp_path)) <= 10_000
    assert names[0] in left and names[7] in left and names[1] not in left
    assert not kept.put("f" * 32, bytes(20_000))


def test_what_unfinished_writing_has_left_goes_in_time(tmp_path) -> None:
    kept = Store(tmp_path)
    for name in ("a" * 32 + ".1.0.partial", "b" * 32 + ".2.0.partial"):
        (tmp_path / name).write_bytes(b"half")
    os.utime(tmp_path / ("a" * 32 + ".1.0.partial"), (0, 0))
    kept.put("c" * 32, b"")
    assert sorted(each.name[0] for each in tmp_path.iterdir()) == ["b", "c"]


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch) -> None:
    def interrupt(*paths: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        Store(tmp_path).put("c" * 32, b"content")
    assert list(tmp_path.iterdir()) == []


def test_the_command_line(root, capsys) -> None:
    check()
    assert cli.main(["cache"]) == 0
    size = sum(each.stat().st_size for each in entries(root))
    assert capsys.readouterr().out.splitlines() == [
        str(root),
        f"2 entries, {size} bytes, of at most {disk_store.LIMIT}",
    ]
    assert cli.main(["cache", "verify"]) == 0
    assert "all of them whole" in capsys.readouterr().out
    entries(root)[0].write_bytes(b"")
    assert cli.main(["cache", "verify"]) == 1
    assert "1 entries" in (out := capsys.readouterr().out) and "1 damaged entries removed" in out
    assert cli.main(["cache", "clear"]) == 0
    assert "1 entries removed" in capsys.readouterr().out and entries(root) == []


def test_the_command_line_without_a_cache(capsys) -> None:
    assert cli.main(["cache"]) == 0
    assert "off" in capsys.readouterr().out
