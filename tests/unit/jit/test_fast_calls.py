"""Calls that go without Python: what they check, that they give what the slow path gives, and that nothing leaks."""

from __future__ import annotations

import functools
import gc
import operator
import os
import subprocess
import sys
import threading
from collections import namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import MethodType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from thread_turns import turns_during

import mlirad
from mlirad.contract.call_recipes import StepKind
from mlirad.jit import specialization_table
from mlirad.jit.kernel import SLOW_CALLS, Kernel
from mlirad.requests.python_functions import copied
from mlirad.targets.cpu.calls.cpython_objects import is_supported

pytestmark = [
    pytest.mark.skipif(not is_supported(), reason="this Python's calls all go the slow path"),
    pytest.mark.usefixtures("young_heap"),
]


def hits(kernel: Kernel) -> int:
    """How many calls went by a plan."""
    return kernel._plans.hits if kernel._plans is not None else 0


def warmed(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Kernel:
    """A kernel that uses a plan for its next call like this one."""
    kernel = function if isinstance(function, Kernel) else mlirad.jit(function)
    before = hits(kernel)
    for _ in range(SLOW_CALLS + 2):
        kernel(*args, **kwargs)
    assert hits(kernel) > before, "calls go the slow path"
    return kernel


def require_fast(kernel: Kernel, *args: Any, **kwargs: Any) -> Any:
    before = hits(kernel)
    result = kernel(*args, **kwargs)
    assert hits(kernel) == before + 1
    return result


def require_slow(kernel: Kernel, *args: Any, **kwargs: Any) -> Any:
    before = hits(kernel)
    result = kernel(*args, **kwargs)
    assert hits(kernel) == before
    return result


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def multiply_add(a, b, c):
    return a * b + c


def arrays(count: int, size: int = 4) -> list[np.ndarray]:
    return [np.arange(float(size)) + k for k in range(count)]


# what goes fast


def test_arrays() -> None:
    a, b, c = arrays(3)
    kernel = warmed(multiply_add, a, b, c)
    result = require_fast(kernel, a + 1.0, b, c)
    np.testing.assert_array_equal(result, (a + 1.0) * b + c)
    assert result.flags.owndata and result.flags.writeable and result.dtype == np.float64


@pytest.mark.parametrize(
    "value",
    [1.5, 7, True, np.float64(1.5), np.float32(1.5), np.int64(-3), np.int8(-3), np.uint8(200), np.bool_(True),
     np.uint64(2**64 - 1)],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_numbers(value: Any) -> None:
    def several(x, y):
        return x, x + y, x > y, -1.0 * x

    kernel = warmed(several, value, value)
    results, expected = require_fast(kernel, value, value), several(value, value)
    assert [type(each) for each in results] == [type(each) for each in expected]
    assert results == expected


def test_arrays_of_every_dtype_and_shape() -> None:
    for dtype in "?bhilBHILfd":
        for shape in ((), (0,), (3,), (2, 0), (2, 1, 3)):
            x = np.ones(shape, dtype)
            kernel = warmed(lambda x: x * x, x)
            result = require_fast(kernel, x)
            assert result.dtype == (x * x).dtype and np.shape(result) == shape
            np.testing.assert_array_equal(result, x * x)


def test_keywords_go_in_the_order_of_the_plan() -> None:
    def scaled(x, scale=2.0, shift=1.0):
        return x * scale + shift

    x = np.arange(3.0)
    kernel = warmed(scaled, x, scale=3.0, shift=0.5)
    np.testing.assert_array_equal(require_fast(kernel, x, scale=4.0, shift=0.5), x * 4.0 + 0.5)
    np.testing.assert_array_equal(require_slow(kernel, x, shift=0.5, scale=4.0), x * 4.0 + 0.5)
    np.testing.assert_array_equal(require_slow(kernel, x, scale=4.0), x * 4.0 + 1.0)
    np.testing.assert_array_equal(require_slow(kernel, x), x * 2.0 + 1.0)
    with pytest.raises(TypeError):
        kernel(x, scales=4.0)
    with pytest.raises(TypeError):
        kernel()
    with pytest.raises(TypeError):
        kernel(x, 1.0, 2.0, 3.0)


def test_gradients() -> None:
    def loss(w, b, x):
        return np.sum(np.tanh(w @ x + b) ** 2)

    w, b, x = np.ones((3, 2)) * 0.1, np.zeros(3), np.arange(2.0)
    for kernel in (mlirad.grad(loss), mlirad.grad(loss, (0, 1)), mlirad.value_and_grad(loss, (0, 1))):
        expected = kernel(w, b, x)
        warmed(kernel, w, b, x)
        result = require_fast(kernel, w, b, x)
        for one, other in zip(mlirad_leaves(result), mlirad_leaves(expected), strict=True):
            assert type(one) is type(other)
            np.testing.assert_array_equal(one, other)


def mlirad_leaves(value: Any) -> list[Any]:
    from mlirad import tree

    return tree.leaves(value)


Point = namedtuple("Point", "x y")


@dataclass
class Layer:
    weights: Any
    bias: Any


def test_pytrees_in_and_out() -> None:
    def swap(tree, pair):
        a, b = tree["layers"]
        return {"p": Point(a.weights + pair[0], b.bias), "q": [tree["x"].y * 2.0, (a.bias,)], "l": Layer(pair[1], ())}

    def made(k: float) -> tuple[Any, Any]:
        layers = [Layer(np.full(2, k), np.full(3, k + 1)), Layer(np.zeros(1), np.full(2, k + 2))]
        return {"layers": layers, "x": Point(1, np.full(4, k + 3))}, (k, np.full(2, k + 4))

    kernel = warmed(swap, *made(0.0))
    args = made(5.0)
    result, expected = require_fast(kernel, *args), swap(*args)
    assert list(result) == list(expected) and type(result["p"]) is Point and type(result["l"]) is Layer
    np.testing.assert_array_equal(result["p"].x, expected["p"].x)
    assert result["p"].y is args[0]["layers"][1].bias
    np.testing.assert_array_equal(result["q"][0], expected["q"][0])
    assert result["q"][1][0] is args[0]["layers"][0].bias
    assert result["l"].weights is args[1][1] and result["l"].bias == ()
    tree, pair = made(1.0)
    swapped = {"x": tree["x"], "layers": tree["layers"]}  # another order of keys
    assert list(require_slow(kernel, swapped, pair)) == list(expected)
    tree["layers"].append(None)
    with pytest.raises(ValueError):
        kernel(tree, pair)


def test_results_that_are_arguments_or_the_same() -> None:
    constant = ("word", None)

    def several(x, y):
        x[0] = 7.0
        z = x + y
        return x, z, z, constant, y, None

    x, y = arrays(2)
    kernel = warmed(several, x, y)
    out = require_fast(kernel, x, y)
    assert out[0] is x and out[4] is y and out[1] is out[2] and out[3] == constant and out[5] is None
    assert x[0] == 7.0


# what does not fit


class Subclass(np.ndarray):
    pass


def hostile(x: np.ndarray) -> Iterator[Any]:
    """Possible replacements of a float64 array of shape (4,)."""
    yield from (
        None,
        "word",
        b"abcd",
        1,
        2**70,
        -(2**63),
        1.5,
        True,
        np.float64(2.0),
        np.float32(1.0),
        1 + 2j,
        object(),
        type,
        len,
    )
    yield from ([], (), {}, [1.0, 2.0, 3.0, 4.0], (x,), {"x": x}, range(4), memoryview(x), x.tolist(), x.dtype)
    yield from (
        x.view(Subclass),
        np.ma.masked_array(x, [0, 1, 0, 0]),
        np.matrix(x),
        x.astype(object),
        x.astype("M8[s]"),
    )
    yield from (
        x.astype(np.float32),
        x.astype(np.int64),
        x.astype(np.longlong),
        x.astype(np.longdouble),
        x.astype(complex),
    )
    yield from (x.astype(">f8"), x.astype("S8"), x.astype("U2"), x.view([("a", "f8")]), x.astype(np.float16))
    yield from (
        np.zeros(()),
        np.zeros(0),
        np.zeros(3),
        np.zeros(5),
        np.zeros((4, 1)),
        np.zeros((1, 4)),
        np.zeros((2, 2)),
    )
    yield from (
        np.arange(8.0)[::2],
        x[::-1],
        np.broadcast_to(np.zeros(1), 4),
        np.zeros((4, 4))[:, 1],
        np.zeros((4, 4)).T[0],
    )
    yield np.arange(33, dtype=np.uint8)[1:].view(np.float64)  # not aligned
    readonly = x.copy()
    readonly.flags.writeable = False
    yield readonly
    yield np.frombuffer(x.tobytes())  # the only owner of its buffer
    yield np.dtype("f8", metadata={"unit": "m"}) and x.astype(np.dtype("f8", metadata={"unit": "m"}))
    yield np.lib.stride_tricks.as_strided(x, (4,), (8,))
    yield np.array([1.0, np.nan, np.inf, -0.0])
    yield SimpleNamespace(__array__=lambda: x)


def outcome(call: Callable[..., Any], *args: Any) -> Any:
    try:
        return call(*args)
    except Exception as error:
        return type(error), str(error)


def require_equal(result: Any, expected: Any) -> None:
    assert type(result) is type(expected)
    if isinstance(expected, np.ndarray):
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)
    elif isinstance(expected, tuple | list) and not isinstance(expected, str):
        for one, other in zip(result, expected, strict=True):
            require_equal(one, other)
    else:
        assert repr(result) == repr(expected)


@pytest.mark.parametrize("writes", [False, True])
def test_hostile_arguments(writes: bool, tmp_path: Path) -> None:
    """The call gives what a kernel gives that has no plan."""

    def function(x, y):
        if writes:
            x[1] = y[0] * 2.0
        return x + y, y[1]

    x, y = arrays(2)
    fast = warmed(function, x, y)
    file = np.memmap(tmp_path / "array", np.float64, "w+", shape=(4,))
    for value in (*hostile(x), file):
        for place in (0, 1):
            slow = mlirad.jit(function)
            ours = [np.arange(4.0) + 1.0, np.arange(4.0) + 2.0]
            theirs = [each.copy() for each in ours]
            one = value.copy() if type(value) is np.ndarray and value.flags.owndata else value
            other = value.copy() if type(value) is np.ndarray and value.flags.owndata else value
            ours[place], theirs[place] = one, other
            result, expected = outcome(fast, *ours), outcome(slow, *theirs)
            require_equal(result, expected)
            if type(value) is np.ndarray:
                np.testing.assert_array_equal(ours[0], theirs[0])
    require_fast(fast, x, y)


def test_containers_that_only_look_alike() -> None:
    class List(list):
        pass

    class Dict(dict):
        pass

    class Text(str):
        pass

    function = lambda tree: tree["a"][0] + tree["b"][1]
    good = {"a": [np.zeros(2)], "b": (1, np.ones(2))}
    fast = warmed(function, good)
    trees = [
        {**good, "a": List(good["a"])}, Dict(good), {**good, "a": (good["a"][0],)}, {**good, "b": Point(*good["b"])},
        {"a": good["a"]}, {**good, "c": 1}, {"b": good["b"], "a": good["a"]}, {Text("a"): good["a"], "b": good["b"]},
        {"".join("a"): good["a"], "b": good["b"]}, {**good, "a": []}, {**good, "b": (True, np.ones(2))},
        {**good, "a": [good["b"][1]]}, {**good, "a": [[np.zeros(2)]]}, [good], (good,), None,
    ]  # fmt: skip
    for tree in trees:
        require_equal(outcome(fast, tree), outcome(mlirad.jit(function), tree))
    require_fast(fast, good)


def test_ints_at_the_ends_of_their_range() -> None:
    kernel = warmed(lambda n: n, 3)
    for n in (2**63 - 1, -(2**63), 0, -1, 2**31, 2**62):
        assert require_fast(kernel, n) == n
    for n in (2**63, -(2**63) - 1, 2**200):
        with pytest.raises(OverflowError):
            kernel(n)


def test_static_values() -> None:
    def power(x, n, mode):
        return x**n if mode == "power" else x * n

    static = mlirad.jit(power, static_argnums=(1,), static_argnames=("mode",))
    x = np.arange(3.0)
    kernel = warmed(static, x, 2, mode="power")
    np.testing.assert_array_equal(require_fast(kernel, x, 2, mode="".join(["po", "wer"])), x**2)
    for n, mode in ((3, "power"), (2, "other"), (2.0, "power"), (True, "power"), (np.int64(2), "power")):
        require_equal(require_slow(kernel, x, n, mode=mode), power(x, n, mode))
    zeros = mlirad.jit(lambda x, n: np.full(3, n) * x, static_argnums=1)
    warmed(zeros, 1.0, 0.0)
    assert not np.signbit(require_fast(zeros, 1.0, 0.0)).any()
    assert np.signbit(require_slow(zeros, 1.0, -0.0)).all()


def test_a_size_that_the_code_depends_on() -> None:
    kernel = warmed(lambda x, n: x[:n] + np.zeros(n), np.arange(5.0), 2)
    assert require_fast(kernel, np.arange(5.0), 2).shape == (2,)
    assert require_slow(kernel, np.arange(5.0), 3).shape == (3,)


# memory that is shared


def test_written_arrays_that_share_memory_go_the_slow_path() -> None:
    def shift(x, y):
        x[1:] = y[:-1]
        return x + 1.0

    x, y = arrays(2)
    kernel = warmed(shift, x, y)
    whole = np.arange(8.0)
    np.testing.assert_array_equal(require_fast(kernel, whole[:4], whole[4:]), [1.0, 5.0, 6.0, 7.0])
    for a, b in ((slice(0, 4), slice(0, 4)), (slice(0, 4), slice(2, 6)), (slice(2, 6), slice(0, 4))):
        ours, theirs = np.arange(8.0), np.arange(8.0)
        result, expected = outcome(kernel, ours[a], ours[b]), outcome(mlirad.jit(shift), theirs[a], theirs[b])
        require_equal(result, expected)
        np.testing.assert_array_equal(ours, theirs)
    nothing = np.zeros(0)
    kernel = warmed(put_all, np.zeros(0), np.zeros(0))
    require_fast(kernel, nothing, nothing)


def put_all(x, y):
    x[:] = y
    return x


def test_gradients_of_functions_that_write() -> None:
    def loss(x, y):
        x = x.copy()
        x[0] = y[1]
        return np.sum(x * y)

    kernel = mlirad.grad(loss)
    x, y = arrays(2)
    expected = kernel(x, y)
    np.testing.assert_array_equal(require_fast(warmed(kernel, x, y), x, y), expected)
    np.testing.assert_array_equal(kernel(x, x), mlirad.grad(lambda x, y: loss(x, y))(x, x))


# what is captured

WEIGHTS = np.arange(3.0)
SCALE = 2.0
SETTINGS = SimpleNamespace(scale=2.0, table={"shift": np.ones(3), "n": 1}, layers=[np.ones(3), 2.0])


def _uses_globals(x):
    return x * SCALE + WEIGHTS


def _uses_attributes(x):
    return x * SETTINGS.scale + SETTINGS.table["shift"] * SETTINGS.table["n"] + SETTINGS.layers[0] * SETTINGS.layers[1]


def test_globals(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones(3)
    kernel = warmed(_uses_globals, x)
    require_fast(kernel, x)
    module = sys.modules[__name__]
    for name, value in (
        ("WEIGHTS", np.full(3, 5.0)), ("SCALE", 3.0), ("SCALE", 3), ("SCALE", -0.0), ("WEIGHTS", np.ones(1)),
        ("WEIGHTS", np.ones(3, np.float32)), ("SCALE", np.full(3, 4.0)), ("WEIGHTS", 2.0), ("SCALE", 2.0),
        ("WEIGHTS", np.arange(6.0)[::2]),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)
        for _ in range(SLOW_CALLS + 2):
            require_equal(kernel(x), _uses_globals(x))
    WEIGHTS[:] = 9.0
    require_equal(kernel(x), _uses_globals(x))
    monkeypatch.delattr(module, "SCALE")
    with pytest.raises((NameError, mlirad.CompileError)):
        kernel(x)


def test_globals_that_hide_builtins(monkeypatch: pytest.MonkeyPatch) -> None:
    def count(x):
        return x * len(x)

    x = np.ones(3)
    kernel = warmed(count, x)
    require_fast(kernel, x)
    monkeypatch.setitem(count.__globals__, "len", lambda x: 7)
    np.testing.assert_array_equal(kernel(x), 7.0 * x)


def test_attributes_and_items() -> None:
    x = np.ones(3)
    kernel = warmed(_uses_attributes, x)
    require_fast(kernel, x)

    def change(step: Callable[[], None]) -> None:
        step()
        require_equal(kernel(x), _uses_attributes(x))
        require_equal(kernel(x), _uses_attributes(x))

    change(lambda: setattr(SETTINGS, "scale", 5.0))
    change(lambda: SETTINGS.table.update(shift=np.full(3, 4.0)))
    change(lambda: SETTINGS.table.update(n=3))
    change(lambda: SETTINGS.table["shift"].fill(8.0))
    change(lambda: SETTINGS.table.update(other=1))
    change(lambda: SETTINGS.layers.__setitem__(1, 7.0))
    change(lambda: SETTINGS.layers.append(7.0))
    change(lambda: setattr(SETTINGS, "layers", (np.zeros(3), 1.0)))
    del SETTINGS.table["n"]
    with pytest.raises((KeyError, mlirad.CompileError)):
        kernel(x)


def test_closures_and_defaults() -> None:
    weights, scale = np.ones(3), 2.0

    def function(x, shift=1.0):
        return x * weights * scale + shift  # noqa: F821  (deleted below)

    x = np.arange(3.0)
    kernel = warmed(function, x)
    weights = np.full(3, 3.0)
    require_equal(kernel(x), function(x))
    scale = 5.0
    require_equal(kernel(x), function(x))
    weights[1] = 0.0
    require_equal(kernel(x), function(x))
    function.__defaults__ = (9.0,)
    require_equal(kernel(x), function(x))
    weights = 4.0
    require_equal(kernel(x), function(x))
    del weights
    with pytest.raises((NameError, mlirad.CompileError)):
        kernel(x)


# specialisations


def test_calls_look_at_nothing_that_the_library_is_made_of() -> None:
    """Neither at its globals nor at the defaults of its functions: a call runs no Python of ours."""
    kernel = mlirad.jit(lambda x: np.std(x) + np.median(x) + np.ptp(x, axis=0)[0])
    x, called = np.ones((3, 4)), []
    for _ in range(SLOW_CALLS + 3):
        kernel(x)
    sys.setprofile(lambda frame, event, _: called.append(frame.f_code) if event == "call" else None)
    try:
        kernel(x)
    finally:
        sys.setprofile(None)
    assert called == []


def test_many_specialisations() -> None:
    kernel = mlirad.jit(lambda x: x + 1.0)
    sizes = list(range(1, 12))
    for _ in range(3 * (SLOW_CALLS + 2)):
        for n in sizes:
            np.testing.assert_array_equal(kernel(np.arange(float(n))), np.arange(float(n)) + 1.0)
    assert len(kernel._plans.in_order()) == 8
    assert kernel.cache_info()[:2] == (len(sizes) * (3 * (SLOW_CALLS + 2)) - len(sizes), len(sizes))
    for n in (1, 2, 3):
        x = np.zeros(n)
        for _ in range(2 * SLOW_CALLS):
            kernel(x)
        require_fast(kernel, x)
    recipes = [plan.memory.owner[0] for plan in kernel._plans.in_order()[:3]]
    assert [step.p[5] for each in recipes for step in each.steps if step.kind == StepKind.ARRAY] == [3, 2, 1]


def test_evicted_specialisations_have_no_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(specialization_table, "MAX_SPECIALIZATIONS", 3)
    kernel = mlirad.jit(lambda x: x + 1.0)
    often = np.zeros(1)
    warmed(kernel, often)
    for n in range(2, 9):
        for _ in range(SLOW_CALLS + 1):
            kernel(np.zeros(n))
        require_fast(kernel, often)  # what goes by a plan was called
    assert kernel.cache_info().currsize == 3 and len(kernel._plans.in_order()) <= 3


# ways to call


def test_ways_to_call() -> None:
    x, y, z = arrays(3)
    kernel = warmed(multiply_add, x, y, z)
    expected = multiply_add(x, y, z)

    class Owner:
        times = kernel

    given: list[Callable[[], Any]] = [
        lambda: kernel(*[x, y, z]),
        lambda: functools.partial(kernel, x, y)(z),
        lambda: functools.partial(kernel, x)(y, z),
        lambda: MethodType(kernel, x)(y, z),
        lambda: next(map(kernel, [x], [y], [z])),
        lambda: operator.call(kernel, x, y, z),
        lambda: Owner.times(x, y, z),
    ]
    for call in given:
        before = hits(kernel)
        np.testing.assert_array_equal(call(), expected)
        assert hits(kernel) == before + 1
    np.testing.assert_array_equal(kernel.__call__(x, y, z), expected)
    warmed(kernel, x, y, c=z)
    np.testing.assert_array_equal(require_fast(kernel, *[x, y], c=z), expected)
    with pytest.raises(TypeError):
        kernel(x, y)
    with pytest.raises(TypeError):
        kernel(x, y, z, d=1)


def test_kernels_without_plans_are_called_as_before() -> None:
    """Others have plans; these have none yet, or never."""
    warmed(multiply_add, *arrays(3))

    class Own(Kernel):
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return "own", super().__call__(*args, **kwargs)

    x, y, z = arrays(3)
    new, own = mlirad.jit(copied(multiply_add)), Own(multiply_add, mlirad.jit(multiply_add).options)
    np.testing.assert_array_equal(new(x, y, c=z), multiply_add(x, y, z))
    assert new._plans is None
    for _ in range(3 * SLOW_CALLS):
        kind, result = own(x, y, z)
        assert kind == "own"
        np.testing.assert_array_equal(result, multiply_add(x, y, z))


# exceptions, references, memory


def test_exceptions_are_those_of_the_slow_path() -> None:
    def at(x, i):
        x[0] = x[0] + 1.0
        return x[i]

    x = np.zeros(3)
    with pytest.raises(IndexError) as slow:
        mlirad.jit(at)(x, 5)
    kernel = warmed(at, x, 1)
    x[0] = 0.0
    try:
        raise KeyError
    except KeyError:
        with pytest.raises(IndexError) as fast:
            kernel(x, 5)
    assert str(fast.value) == str(slow.value) and fast.value.location == slow.value.location
    assert fast.value.__suppress_context__
    assert x[0] == 1.0  # once
    assert len(fast.traceback) == 1


def _balance(call: Callable[[], Any], objects: list[Any], rounds: int) -> None:
    for _ in range(200):
        call()
    gc.collect()
    before, resident = [sys.getrefcount(each) for each in objects], resident_bytes()
    for _ in range(rounds):
        call()
    gc.collect()
    # None, dtypes and small numbers are everybody's, other threads' too; what a call leaks counts once for each call.
    grown = [sys.getrefcount(each) - count for each, count in zip(objects, before, strict=True)]
    assert all(abs(each) < rounds // 10 for each in grown), grown
    assert resident_bytes() - resident < 1 << 20


@pytest.mark.parametrize("rounds", [3_000, pytest.param(100_000, marks=pytest.mark.full)])
def test_nothing_leaks(rounds: int) -> None:
    def function(tree, n, y):
        y[0] = tree["a"][0][0]
        return {"r": (tree["a"][0] * n + WEIGHTS, y), "s": [y[0], n]}

    keys, items = {"a": [np.zeros(3)], "b": None}, np.zeros(3)
    kernel = warmed(function, keys, 3, items)
    objects = [keys, keys["a"], keys["a"][0], items, WEIGHTS, None, np.dtype(float), kernel, 3, np.ndarray, "r"]
    _balance(lambda: kernel(keys, 3, items), objects, rounds)

    def fails(x, i):
        return x[i] + x

    failing = warmed(fails, items, 1)

    def call() -> None:
        try:
            failing(items, 7)
        except IndexError:
            pass

    _balance(call, [items, np.dtype(float), failing, IndexError], rounds)
    wrong = np.zeros((3, 3))[:, 0]
    before = hits(kernel)
    _balance(lambda: kernel({"a": [wrong], "b": None}, 3, items), [wrong, items, WEIGHTS], rounds // 20)
    assert hits(kernel) == before


def test_kernels_are_freed_with_their_plans() -> None:
    import weakref

    x = np.ones(3)
    kernel = mlirad.jit(lambda x: x + 1.0)
    warmed(kernel, x)
    plan = kernel._plans.in_order()[0]
    watch, memory = weakref.ref(kernel), weakref.ref(plan.memory)
    del kernel, plan
    gc.collect()
    assert watch() is None and memory() is None


# threads


def _count_up(x, n):
    total = 0.0
    for _ in range(n):
        total = total * 0.999 + x[0]
    return total, x + total


def test_threads() -> None:
    x = np.ones(3)
    kernel = warmed(_count_up, x, 10)
    expected = {n: kernel(x, n) for n in (10, 1000, 200_000)}
    wrong: list[Any] = []

    def work(n: int) -> None:
        for _ in range(30 if n > 1000 else 300):
            total, array = kernel(x, n)
            if total != expected[n][0] or not np.array_equal(array, expected[n][1]):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in (10, 1000, 200_000) * 2]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_long_calls_let_other_threads_run() -> None:
    x = np.ones(3)
    kernel = warmed(_count_up, x, 10)
    assert turns_during(lambda: kernel(x, 50_000_000)) == 20


def test_recursion() -> None:
    def deep(n, x):
        if n <= 0:
            return x
        return deep(n - 1, x * 1.0) + 1.0

    kernel = warmed(deep, 5, 1.0)
    assert require_fast(kernel, 40, 1.0) == 41.0
    with pytest.raises(RecursionError):
        kernel(10**7, 1.0)
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(outcome(kernel, 10**7, 1.0)[0]))
    thread.start()
    thread.join()
    assert answers == [RecursionError]


def test_without_plans_calls_take_the_slow_path(monkeypatch: pytest.MonkeyPatch) -> None:
    from mlirad.targets.cpu.calls import cpython_objects

    monkeypatch.setattr(cpython_objects, "_symbols", lambda: None)
    kernel = mlirad.jit(copied(multiply_add))
    for _ in range(3 * SLOW_CALLS):
        np.testing.assert_array_equal(kernel(*arrays(3)), multiply_add(*arrays(3)))
    assert hits(kernel) == 0


def test_the_code_behind_calls_is_kept_on_disk(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, numpy as np, mlirad\n"
        "kernel = mlirad.jit(lambda x: x + 1.0)\n"
        "for _ in range(9): kernel(np.ones(3))\n"
        "print(kernel._plans.hits, 'mlirad.targets.cpu.calls.call_machine' in sys.modules)\n"
    )
    environment = {**os.environ, "MLIRAD_CACHE": "1", "MLIRAD_CACHE_DIR": str(tmp_path / "kept")}
    printed = [
        subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert [each.split()[1] for each in printed] == ["True", "False"]
    assert all(int(each.split()[0]) > 0 for each in printed)


def test_calls_of_many_parts_go_the_slow_path() -> None:
    """Registers are kept on the stack."""
    kernel = mlirad.jit(lambda parts: parts[0] + parts[-1])
    parts = [np.ones(2)] + [1.0] * 600 + [np.ones(2)]
    for _ in range(2 * SLOW_CALLS + 2):
        np.testing.assert_array_equal(kernel(parts), [2.0, 2.0])
    assert hits(kernel) == 0
