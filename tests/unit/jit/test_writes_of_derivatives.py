"""Every transform makes the writes of a function to its caller's arrays and containers once, as Python does."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad import tree


@dataclass
class Body:
    position: np.ndarray
    velocity: np.ndarray
    time: float = 0.0
    history: list = field(default_factory=list)

    def step(self, force, dt):
        self.velocity += dt * force
        self.position = self.position + dt * self.velocity
        self.time += dt
        return np.sum(self.position**2)


MEAN = np.zeros(2)
TABLE = {"seen": np.zeros(3)}


def running_mean(x, mean):
    mean *= 0.9
    mean += 0.1 * np.mean(x)
    return np.sum((x - mean) ** 2)


def one_element(x, out):
    out[0] = np.mean(x)
    return np.sum(x * x) + out[0]


def own_argument(x):
    x[0] = 3.0 * x[1]
    x *= 2.0
    return np.sum(x**3)


def in_a_loop(x, out):
    total = 0.0
    for i in range(len(x)):
        out[i] = out[i - 1] * x[i] + 1.0
        if x[i] > 1.0:
            out[0] += x[i]
        total = total + out[i] ** 2
    return total


def in_a_while(x, out):
    i = 0
    while x[i] < 2.0:
        out[i] = np.sin(x[i])
        i += 1
    return np.sum(out * x)


def a_view_of_it(x, out):
    last = out[::-1]
    last[0] = x[0]
    out.T[1] = x[1] ** 2
    return np.sum(out * x)


def through_a_choice(x, a, b):
    chosen = a if x[0] > 0 else b
    chosen += x
    return np.sum(chosen * x)


def by_an_inner_function(x, out):
    def put(i, value):
        out[i] = value

    for i in range(3):
        put(i, x[i] * i)
    return np.sum(out * out)


def count_down(x, out, n):
    if n > 0:
        out[n] = x[n] * out[n - 1]
        count_down(x, out, n - 1)


def by_recursion(x, out):
    count_down(x, out, 2)
    return np.sum(out * x)


def one_float(x, d):
    d["n"] = d["n"] + 1.0
    d["last"] = x[0]
    return np.sum(x) * d["n"]


def arrays_in_a_dict(x, d):
    d["a"] += x
    d["b"] = d["a"] * 2.0
    d["c"] = [x[0], "text", None, 3]
    return np.sum(d["b"] * x)


def which_item_depends_on_data(x, d):
    if x[0] > 0:
        d["a"] = x * 2.0
    else:
        d["a"] = x * 3.0
    for i in range(3):
        d["b"] = d["b"] + x[i]
    return np.sum(d["a"])


def a_list_that_grows(x, items):
    items.append(x * 2.0)
    items[0] = x[1]
    items.insert(1, 5.0)
    return np.sum(items[-1] * x)


def a_list_that_shrinks(x, items):
    last = items.pop()
    items.reverse()
    return np.sum(last * x)


def a_step(x, body):
    return body.step(x, 0.5)


def many_steps(x, body):
    total = 0.0
    for _ in range(20):
        total = total + body.step(x, 0.1)
    body.history.append(total)
    return total


def nested_containers(x, state):
    state["body"].step(x, 0.5)
    state["log"][1]["value"] = x[0] * 2.0
    state["log"][0][0] += 1.0
    return np.sum(state["body"].position * x)


def a_global(x):
    MEAN[0] += np.mean(x)
    TABLE["seen"] += x
    return np.sum(x * MEAN[0])


def a_constant(x, out):
    out[0] = x[0]
    return 2.0


def v() -> np.ndarray:
    return np.array([0.5, 1.5, 2.5])


def body() -> Body:
    return Body(v(), np.ones(3), 1.0)


PROGRAMS: dict[Callable[..., Any], Callable[[], tuple]] = {
    running_mean: lambda: (v(), np.zeros(1)),
    one_element: lambda: (v(), np.zeros(2)),
    own_argument: lambda: (v(),),
    in_a_loop: lambda: (v(), np.ones(3)),
    in_a_while: lambda: (v(), np.zeros(3)),
    a_view_of_it: lambda: (v(), np.ones(3)),
    through_a_choice: lambda: (v(), np.zeros(3), np.ones(3)),
    by_an_inner_function: lambda: (v(), np.ones(3)),
    by_recursion: lambda: (v(), np.ones(3)),
    one_float: lambda: (v(), {"n": 1.0, "last": 0.0}),
    arrays_in_a_dict: lambda: (v(), {"a": np.ones(3), "b": 0.0, "c": None}),
    which_item_depends_on_data: lambda: (v(), {"a": np.ones(3), "b": 2.0}),
    a_list_that_grows: lambda: (v(), [np.ones(3), 2.0]),
    a_list_that_shrinks: lambda: (v(), [1.0, np.ones(3), 2.0 * np.ones(3)]),
    a_step: lambda: (v(), body()),
    many_steps: lambda: (v(), body()),
    nested_containers: lambda: (v(), {"body": body(), "log": [np.zeros(2), {"value": 1.0}]}),
    a_global: lambda: (v(),),
    a_constant: lambda: (v(), np.zeros(2)),
}


def by_vjp(function: Callable[..., Any], x: Any, *rest: Any) -> Any:
    value, pullback = mlirad.vjp(lambda x: function(x, *rest), x)
    pullback(1.0)
    pullback(1.0)
    return value


TRANSFORMS: dict[str, Callable[..., Any]] = {
    "jit": lambda f, *args: mlirad.jit(f)(*args),
    "grad": lambda f, *args: (mlirad.grad(f)(*args), None)[1],
    "value_and_grad": lambda f, *args: mlirad.value_and_grad(f)(*args)[0],
    "aux": lambda f, *args: mlirad.value_and_grad(lambda *a: (f(*a), a[0] * 1.0), has_aux=True)(*args)[0][0],
    "vjp of all": lambda f, *args: mlirad.vjp(f, *args)[0],
    "jvp": lambda f, *args: mlirad.jvp(f, args, args)[0],
    "in a kernel": lambda f, *args: mlirad.jit(lambda *a: mlirad.value_and_grad(f)(*a)[0])(*args),
    "vjp in a kernel": lambda f, *args: mlirad.jit(lambda *a: (lambda r: (r[1](1.0), r[0])[1])(mlirad.vjp(f, *a)))(
        *args
    ),
    "grad of grad": lambda f, *args: (mlirad.grad(lambda *a: np.sum(mlirad.grad(f)(*a)))(*args), None)[1],
}
NEEDS_FLOATS = ("vjp of all", "jvp", "vjp in a kernel")


def require_same(wanted: Any, found: Any) -> None:
    (numpys, structure), (own, its_structure) = tree.flatten(wanted), tree.flatten(found)
    assert structure == its_structure
    for a, b in zip(numpys, own, strict=True):
        assert type(a) is type(b) or isinstance(a, float)
        if isinstance(a, np.ndarray | float):
            np.testing.assert_allclose(b, a, rtol=1e-13)
        else:
            assert a == b


def differentiable(args: tuple) -> bool:
    return all(isinstance(leaf, float | np.ndarray) for leaf in tree.leaves(args))


def applies(function: Callable[..., Any], name: str) -> bool:
    """Whether what the transform takes and gives has derivatives."""
    if function is a_constant and name not in ("jit", "grad", "value_and_grad", "aux", "in a kernel"):
        return False
    return name not in NEEDS_FLOATS or differentiable(PROGRAMS[function]())


PAIRS = [(function, name) for function in PROGRAMS for name in TRANSFORMS if applies(function, name)]


@pytest.mark.parametrize(("function", "name"), PAIRS[::4])
def test_written_once(function: Callable[..., Any], name: str) -> None:
    check_written_once(function, name)


@pytest.mark.full
@pytest.mark.parametrize(("function", "name"), PAIRS)
def test_written_once_by_all(function: Callable[..., Any], name: str) -> None:
    check_written_once(function, name)


def check_written_once(function: Callable[..., Any], name: str) -> None:
    numpys, own = PROGRAMS[function](), PROGRAMS[function]()
    arrays = [leaf for leaf in tree.leaves(own) if isinstance(leaf, np.ndarray)]
    around = copy.deepcopy((MEAN, TABLE))
    wanted = function(*numpys)
    after = copy.deepcopy((MEAN, TABLE))
    MEAN[:], TABLE["seen"][:] = around[0], around[1]["seen"]
    found = TRANSFORMS[name](function, *own)
    require_same((numpys, after), (own, (MEAN, TABLE)))
    if found is not None:
        np.testing.assert_allclose(found, wanted, rtol=1e-13)
    kept = [any(each is leaf for each in arrays) for leaf in tree.leaves(own) if isinstance(leaf, np.ndarray)]
    assert any(kept)  # what is written in place stays the caller's own


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_the_gradient_is_that_of_the_argument_as_it_was(function: Callable[..., Any]) -> None:
    around = copy.deepcopy((MEAN, TABLE))

    def value(x: np.ndarray) -> float:
        MEAN[:], TABLE["seen"][:] = around[0], around[1]["seen"]
        return function(x, *PROGRAMS[function]()[1:])

    x = v()
    gradient = mlirad.grad(function)(*PROGRAMS[function]())
    for i in range(3):
        step = np.eye(3)[i] * 1e-6
        assert gradient[i] == pytest.approx((value(x + step) - value(x - step)) / 2e-6, rel=1e-7, abs=1e-7)
    value(x)


def test_outer_arrays_and_names_are_written_within_a_kernel() -> None:
    def kernel(differentiated, x):
        seen, count, log = np.zeros(3), 0, {"last": 0.0}

        def inner(u):
            nonlocal count
            seen[1:] += u[1:]
            count += 2
            log["last"] = u[0] * 3.0
            return np.sum(u * u) + seen[2]

        for _ in range(3):
            differentiated(inner)(x)
            x = x + seen
        return seen, count, log["last"], x

    plain = kernel(lambda f: f, v())
    for name in ("grad", "value_and_grad"):
        transform = getattr(mlirad, name)
        require_same(plain, mlirad.jit(lambda x, t=transform: kernel(t, x))(v()))


def test_what_is_written_is_differentiated_by_the_next_order() -> None:
    def outer(x):
        seen = np.zeros(3)

        def inner(u):
            seen[:] = u**3
            return np.sum(u * u)

        return np.sum(mlirad.grad(inner)(x)) + np.sum(seen)

    np.testing.assert_allclose(mlirad.grad(outer)(v()), 2 + 3 * v() ** 2, rtol=1e-14)


def test_a_pullback_keeps_nothing_of_what_the_caller_can_write() -> None:
    def f(d):
        d["x"] *= 2.0
        d["y"] = d["x"] * 3.0
        return np.sum(d["x"] * d["y"] ** 2)

    d = {"x": v(), "y": v()}
    _, pullback = mlirad.vjp(f, d)
    first = pullback(1.0)[0]["x"].copy()
    np.testing.assert_allclose(first, 3 * 72 * v() ** 2, rtol=1e-14)
    d["x"][:], d["y"][:] = 7.0, 8.0
    np.testing.assert_array_equal(pullback(1.0)[0]["x"], first)


def raises_on_the_way(x, out, n):
    out[0] = 1.0
    if n > 0:
        raise ValueError("stop")
    out[1] = 2.0
    return np.sum(x * out[0])


def always_raises(x, out, n):
    out[0] = 1.0
    out[1:] = x[n:2]
    raise ValueError("stop")


@pytest.mark.parametrize("function", [raises_on_the_way, always_raises])
@pytest.mark.parametrize("name", ["jit", "grad", "value_and_grad", "in a kernel"])
def test_what_was_written_before_an_exception_stays_written(function: Callable[..., Any], name: str) -> None:
    numpys, own = np.zeros(2), np.zeros(2)
    with pytest.raises(ValueError, match="stop"):
        function(v(), numpys, 1)
    with pytest.raises(ValueError, match="stop"):
        TRANSFORMS[name](function, v(), own, 1)
    np.testing.assert_array_equal(own, numpys)


def test_an_array_that_is_written_around_the_function_is_no_argument_of_it() -> None:
    def kernel(x):
        def inner(u):
            x[0] = 5.0
            return np.sum(u * u)

        return mlirad.grad(inner)(x)

    with pytest.raises(mlirad.DifferentiationError, match="shares memory with one of its arguments"):
        mlirad.jit(kernel)(v())


def test_calls_without_python_write_too() -> None:
    kernel, out, wanted = mlirad.value_and_grad(running_mean), np.zeros(1), np.zeros(1)
    for _ in range(20):
        value, _ = kernel(v(), out)
        assert value == pytest.approx(running_mean(v(), wanted), rel=1e-13)
    np.testing.assert_allclose(out, wanted, rtol=1e-13)
    assert kernel._plans is not None and kernel._plans.hits > 0


def test_methods_change_their_object_at_every_call() -> None:
    numpys, own = body(), body()
    kernel = mlirad.jit(Body.step)
    for k in range(8):
        np.testing.assert_allclose(kernel(own, v(), 0.1 * k), numpys.step(v(), 0.1 * k), rtol=1e-13)
        require_same(numpys, own)


IN_ANOTHER_PROCESS = """
import numpy as np, mlirad
def f(x, d):
    d["n"] += 1.0
    d["seen"] += x
    d["last"] = x * 2.0
    return np.sum(x * d["n"])
d = {"n": 0.0, "seen": np.zeros(2), "last": None}
kernel = mlirad.value_and_grad(f)
for _ in range(5):
    value, gradient = kernel(np.ones(2), d)
print(value, gradient, d)
"""


def test_code_from_the_disk_writes_too(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIRAD_CACHE", str(tmp_path / "cache"))
    script = tmp_path / "script.py"
    script.write_text(IN_ANOTHER_PROCESS)
    told = [
        subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True, timeout=120).stdout
        for _ in range(2)
    ]
    assert told[0] == told[1] == "10.0 [5. 5.] {'n': 5.0, 'seen': array([5., 5.]), 'last': array([2., 2.])}\n"


REFUSED: dict[str, tuple[Callable[..., Any], Callable[[], tuple], str]] = {
    "which items there are": (
        lambda x, items: items.append(x) if x[0] > 0 else None,
        lambda: (v(), []),
        "the change in the length of the caller's list",
    ),
    "a container in another": (
        lambda x, d: d.update({"a": d["b"]}),
        lambda: (v(), {"a": [1.0], "b": [2.0]}),
        "puts the caller's list in a list, dict or dataclass of the caller",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_changed_is_refused(name: str) -> None:
    function, make, message = REFUSED[name]
    with pytest.raises(mlirad.CompileError, match=message):
        mlirad.jit(function)(*make())
