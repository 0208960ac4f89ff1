"""The part of Python that is compiled: calls, closures, containers, loops and branches, against Python itself."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from run_frontend import call, compile_for, is_same

from mlirad.dialect.ops.check import CheckFailed
from mlirad.errors import CompileError
from mlirad.frontend.interpreter.loops import loop_ops


@dataclass
class Point:
    x: np.ndarray
    y: float

    def scaled(self, k: float) -> np.ndarray:
        return self.x * k + self.y


class Pair(NamedTuple):
    u: float
    v: np.ndarray


def mixed(a, k=3, *rest, z=1, **named):
    return a * k + z + sum(rest) + named.get("q", 0)


def calls(x):
    return mixed(x) + mixed(x, 2, 5, 6, z=3, q=4) + mixed(*[x, 2], **{"z": 5})  # noqa: PIE804  (as users write it)


def dataclasses_in_and_out(p):
    p = Point(p.x * 2, y=p.y + 1)
    p.y += 2
    return p.scaled(3.0), p.y


def named_tuples(t):
    u, _ = t
    return Pair(t.u + 1, t.v * u), t.v.shape, len(t.v), t._replace if False else None


def dicts(p):
    d = dict(p)
    d["c"] = d.pop("a") + 1
    d |= {} if False else d
    total = 0.0
    for key, value in d.items():
        total += value.sum() * len(key)
    return {"n": d["c"], "m": [d["b"], total], "has": "a" in d}


def loops_with_continue(x, n):
    s = 0.0
    for i in range(n):
        if x[i] < 0:
            continue
        s += x[i]
    return s


def newton(x, eps):
    k = 0
    while abs(x * x - 2) > eps:
        x = x - (x * x - 2) / (2 * x)
        k += 1
        if k > 50:
            break
    return x, k


def fibonacci(n):
    a, b = 0, 1
    while a < n:
        a, b = b, a + b
    return a


def closures(x):
    count = 0

    def step(y):
        nonlocal count
        count += 1
        return y + x[0]

    return step(x[1]) + (lambda q: q * 2)(x[2]) + step(1.0), count


def triangle(x, n):
    for i in range(n):
        for j in range(i):
            x[i] += x[j] * 0.5
    return x


def first_above(x, t):
    for i in range(10):
        if x[i] > t:
            return i
    return -1


def stars(x):
    a, *b, c = x
    return a, b, c


def comprehensions(m):
    products = [i * j for i in range(3) for j in range(i) if i > 1]
    return [row.sum() for row in m], {k: m[k, k] for k in range(2)}, products


def static_arguments(s, mode):
    z = None
    if mode == "a":
        z = s * 2
    elif mode == "b":
        z = s * 3
    assert z is not None, f"no mode {mode}"
    return z


def raises(x):
    if x.sum() < 0:
        raise ValueError("negative")
    return x.sum()


def asserts(x):
    assert x[0] > 0, "not positive"
    return x[0]


def zips(x, y):
    total = 0
    for i, (a, b) in enumerate(zip(x, reversed(y)), start=1):
        total += i * a * b
    return total


def nested_exits(m, t):
    found = 0
    for i in range(3):
        j = 0
        while True:
            if m[i, j] > t:
                found += 1
                break
            if m[i, j] < -t:
                return -i
            j += 1
            if j == 4:
                break
        if found > 1:
            break
    else:
        found = 100
    return found


def either(a, b, c):
    best = a if c > 0 else b
    best += 1
    return best


def conversions(x, i):
    numbers = float(i), int(x[0]), bool(x[1]), abs(-x[0]), divmod(i, 3)
    return numbers, min(x[0], x[2], x[1]), max(x), sum(x[:2], 1.0)


def shapes(m):
    rows, columns = m.shape
    return np.zeros((columns, rows)), m.reshape(-1, 2)[1].copy(), m.T.shape, m.size, m.ndim, len(m), m.dtype == float


def walrus(x):
    if (n := len(x)) > 2 and (top := x.max()) > 1:
        return top * n
    return 0.0


M = np.arange(12.0).reshape(3, 4)
RUNS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (calls, (np.ones(2),)),
    (dataclasses_in_and_out, (Point(np.ones(2), 1.0),)),
    (named_tuples, (Pair(2.0, np.ones(3)),)),
    (dicts, ({"a": np.ones(2), "b": np.arange(3.0)},)),
    (loops_with_continue, (np.array([1.0, -1, 2]), 3)),
    (newton, (1.0, 1e-9)),
    (fibonacci, (50,)),
    (closures, (np.arange(3.0),)),
    (triangle, (np.arange(4.0), 4)),
    (first_above, (np.arange(10.0), 2.0)),
    (first_above, (np.arange(10.0), 20.0)),
    (stars, (np.arange(4.0),)),
    (comprehensions, (M,)),
    (static_arguments, (2.0, "b")),
    (raises, (np.ones(2),)),
    (raises, (-np.ones(2),)),
    (asserts, (-np.ones(2),)),
    (zips, (np.arange(4.0), np.arange(4.0) + 1)),
    (nested_exits, (M, 5.0)),
    (nested_exits, (M, 100.0)),
    (nested_exits, (-M, 3.0)),
    (either, (np.ones(2), np.zeros(2), 1.0)),
    (either, (np.ones(2), np.zeros(2), -1.0)),
    (conversions, (np.array([2.5, 0.0, 7.0]), 8)),
    (shapes, (M,)),
    (walrus, (np.arange(3.0),)),
]


def is_equal(a: Any, b: Any) -> bool:
    if isinstance(a, Pair):
        return type(b) is Pair and is_same(tuple(a), tuple(b))
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(is_equal(x, y) for x, y in zip(a, b, strict=True))
    return is_same(a, b)


@pytest.mark.parametrize(("function", "args"), RUNS, ids=lambda x: x.__name__ if callable(x) else "")
def test_means_what_python_means(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    expected, actual = copy.deepcopy(args), copy.deepcopy(args)
    try:
        want = function(*expected)
    except Exception as error:
        with pytest.raises(CheckFailed) as raised:
            call(function, *actual)
        assert (raised.value.error, raised.value.message) == (type(error).__name__, str(error).split("\n")[0])
    else:
        assert is_equal(want, call(function, *actual))
        leaves = zip(expected, actual, strict=True)
        assert all(np.array_equal(a, b) for a, b in leaves if isinstance(a, np.ndarray))


def test_keywords_of_the_call() -> None:
    assert call(mixed, 2.0, z=4, q=1.5) == mixed(2.0, z=4, q=1.5)


def test_lambdas_of_one_line_are_told_apart() -> None:
    first, second = (lambda x: x + 1), (lambda x: x * 10)
    assert (call(first, 3.0), call(second, 3.0)) == (4.0, 30.0)


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    function.mark = True
    return function


@decorated
def marked(x):
    return x + 1


def test_decorated_functions_are_found() -> None:
    assert call(marked, 3.0) == 4.0


def test_code_without_a_source_is_refused() -> None:
    namespace: dict[str, Any] = {}
    exec("def made(x):\n    return x", namespace)
    with pytest.raises(CompileError, match="source of made cannot be found"):
        compile_for(namespace["made"], 1.0)


class Kernel:
    """The part of a kernel of `mlirad.jit` that the frontend looks at."""

    __mlirad_function__: Any = None

    def __init__(self, function: Callable[..., Any]):
        self.__mlirad_function__ = function

    def __call__(self, *args: Any) -> Any:
        raise AssertionError("a kernel inside a kernel is interpreted, not called")


kernel = Kernel(fibonacci)


def calls_kernel(n):
    return kernel(n) + 1


def test_kernels_are_inlined() -> None:
    assert call(calls_kernel, 50) == fibonacci(50) + 1


def test_a_static_loop_is_not_unrolled_unless_it_must() -> None:
    def rolled(x):
        for i in range(1000):
            x = x * 0.5 + i
        return x

    text = str(compile_for(rolled, 1.0).module)
    assert text.count("nd.mul") == 1 and text.count("scf.for") == 1


def test_nested_loops_cost_a_linear_number_of_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    def nest(x, n):
        for i in range(n):
            for j in range(n):
                for k in range(n):
                    for m in range(n):
                        x[0] += x[1] * (i + j + k + m)
        return x

    passes = []
    one_pass = loop_ops.one_pass
    monkeypatch.setattr(loop_ops, "one_pass", lambda *args: passes.append(args[1]) or one_pass(*args))
    compile_for(nest, np.ones(2), 3)
    depth = 4
    assert len(passes) <= depth * (depth + 3) / 2


def test_traced_bounds_are_not_specialised_on() -> None:
    for function, args in ((triangle, (np.arange(4.0), 4)), (fibonacci, (50,)), (loops_with_continue, (np.ones(3), 3))):
        built = compile_for(function, *args)
        assert built.leaves == tuple(range(len(args)))
        assert "scf.for" in str(built.module) or "scf.while" in str(built.module)


def test_an_unrolling_without_end_is_refused() -> None:
    def grows(x):
        items = []
        for i in range(1000):
            items.append(x * i)
            items.append(i)
        return items[3]

    with pytest.raises(CompileError, match="unrolled 1000 times because this list grows"):
        compile_for(grows, 1.0)
