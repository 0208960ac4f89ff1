"""Calls of one function from many places: one func.func for each function and signature, and NumPy's results."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

import mlirad
from mlirad import pipeline
from mlirad.frontend.join.repeated_calls import Repeats
from mlirad.jit import compilation
from mlirad.jit.live import op_by_op
from mlirad.testing.interpreted import Interpreted

X = np.linspace(0.2, 1.4, 6)
WEIGHTS = np.array([0.5, -0.25, 0.125])


def smoothed(x, a):
    y = np.empty(x.shape[0])
    y[0] = x[0]
    for i in range(1, x.shape[0]):
        y[i] = a * np.sin(y[i - 1]) + x[i]
    return np.exp(-x) * np.sum(y * y) * 0.1 + y


def cumsum(x):
    y, total = np.empty(x.shape[0]), 0.0
    for i in range(x.shape[0]):
        total = total + x[i]
        y[i] = total
    return y


def elementwise(x, a):
    return np.tanh(x * a) + 0.1 * x


def writes(x, a):
    for i in range(1, x.shape[0]):
        x[i] = a * x[i - 1] + 0.5 * x[i]
    return x * 1.0


def counted(x, a):
    """The result is a size."""
    count = 0
    for i in range(3):
        count += i
    return count + a


def checked(x, a):
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        if x[i] > a:
            raise ValueError(f"element {i} is too large")
        y[i] = x[i] + x[i + 1 - x.shape[0]]
    return y


def indexed(x, k):
    total = 0.0
    for i in range(4):
        total += x[k + i] * x[i]
    return total


def view_of(x, k):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i]
    x_view = x[1:]
    return x_view, total


def with_weights(x, a):
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        y[i] = WEIGHTS[i % 3] * x[i] + a
    return y


def to_a_power(x, a):
    total = 0.0
    for i in range(x.shape[0]):
        total = 0.5 * total + x[i] ** (a * 2.0)
    return x * np.tanh(total)


def chosen_by(x, a):
    """If a is unknown, two arrays of different lengths meet."""
    total = 0.0
    for i in range(x.shape[0]):
        total = 0.5 * total + np.sin(x[i])
    y = x[1:] if a > 1.0 else x
    return x * np.tanh(np.sum(y * y)) * total


def nested(x, a):
    y = cumsum(x * a)
    for _ in range(2):
        y = y * 0.5 + 0.1 * cumsum(y)
    return y


def calls_of(helper: Callable[..., Any], count: int, *more: str) -> Callable[..., Any]:
    """A function that calls a helper this often, each time on the previous result."""
    arguments = ", ".join(("x", *more))
    lines = [f"x = helper({arguments}) * 0.5" for _ in range(count)]
    return written(
        "def program(x):\n    x = x * 1.0\n" + textwrap.indent("\n".join(lines), "    ") + "\n    return x\n", helper
    )


def written(source: str, helper: Callable[..., Any]) -> Callable[..., Any]:
    import linecache

    name = f"<{helper.__name__} {hash(source)}>"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    namespace: dict[str, Any] = {"np": np, "helper": helper}
    exec(compile(source, name, "exec"), namespace)
    return namespace["program"]


def summed(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: np.sum(function(x))


def private_functions(kernel: Any, *args: Any) -> list[str]:
    return sorted(re.findall(r"func.func private @([\w.]+)", kernel.lower(*args).as_text("optimized")))


def difference(function: Callable[..., Any], x: np.ndarray, along: np.ndarray) -> Any:
    return (function(x + 1e-6 * along) - function(x - 1e-6 * along)) / 2e-6


def agree(function: Callable[..., Any], x: np.ndarray = X) -> None:
    """The values, gradients and second derivatives of the function, summed."""
    along = np.cos(np.arange(float(len(x))))
    f, given = summed(function), x.copy()
    np.testing.assert_allclose(mlirad.jit(function)(x.copy()), function(given), rtol=1e-12)
    gradient = mlirad.grad(f)
    np.testing.assert_allclose(gradient(x.copy()) @ along, difference(f, x, along), rtol=1e-6, atol=1e-8)
    value, slope = mlirad.jvp(f, (x.copy(),), (along,))
    np.testing.assert_allclose((value, slope), (f(x.copy()), gradient(x.copy()) @ along), rtol=1e-10)
    second = mlirad.jvp(gradient, (x.copy(),), (along,))[1]
    np.testing.assert_allclose(second, difference(gradient, x, along), rtol=1e-5, atol=1e-7)
    again = mlirad.grad(lambda x: np.sum(mlirad.grad(f)(x) * along))(x.copy())
    np.testing.assert_allclose(again, second, rtol=1e-9, atol=1e-11)


HELPERS = [(smoothed, ("1.1",)), (cumsum, ()), (with_weights, ("0.5",)), (nested, ("0.3",))]


@pytest.mark.parametrize(("helper", "more"), HELPERS)
def test_values_and_derivatives(helper: Callable[..., Any], more: tuple[str, ...]) -> None:
    function = calls_of(helper, 12, *more)
    assert private_functions(mlirad.jit(function), X)
    agree(function)


def test_one_forward_sweep_and_one_adjoint() -> None:
    for count in (12, 50):
        program = calls_of(smoothed, count, "1.1")
        assert private_functions(mlirad.jit(program), X) == ["smoothed_0"]
        assert private_functions(mlirad.grad(summed(program)), X) == ["smoothed_0.forward", "smoothed_0.pullback"]
        forward = mlirad.jit(lambda x, program=program: mlirad.jvp(program, (x,), (x,))[1])
        assert private_functions(forward, X) == ["smoothed_0.jvp"]


def given_floats(helper: Callable[..., Any], *floats: float) -> Callable[..., Any]:
    calls = "".join(f"    x = helper(x, {a}) * 0.5\n" for a in floats)
    return written(f"def program(x):\n    x = x * 1.0\n{calls}    return x\n", helper)


# If the first calls agree, they share one function, and the other calls another.
@pytest.mark.parametrize(("floats", "count"), [(np.arange(0.5, 1.4, 0.1), 1), ((0.5, 0.5, 0.5, 0.5, 0.7, 0.9, 0.9), 2)])
@pytest.mark.parametrize("helper", [smoothed, with_weights, nested])
def test_different_floats_are_arguments(helper: Callable[..., Any], floats: tuple[float, ...], count: int) -> None:
    program = given_floats(helper, *floats)
    shared = [name for name in private_functions(mlirad.jit(program), X) if name.startswith(helper.__name__)]
    assert len(shared) == count
    agree(program)


@pytest.mark.parametrize("helper", [to_a_power, chosen_by])
def test_floats_that_must_be_known_are_known(helper: Callable[..., Any]) -> None:
    program = given_floats(helper, 0.5, 1.5, 1.5, 0.5, 1.5, 0.5)
    shared = [name for name in private_functions(mlirad.jit(program), X) if name.startswith(helper.__name__)]
    assert len(shared) == 2
    assert "nd.pow" not in mlirad.jit(program).lower(X).as_text("tensor")
    agree(program)


def test_a_call_more_is_a_few_ops_more() -> None:
    def ops(count: int) -> int:
        text = mlirad.grad(summed(calls_of(smoothed, count, "1.1"))).lower(X).as_text("optimized")
        return text.count("\n")

    few, some, many = ops(10), ops(20), ops(40)
    assert many - some == 2 * (some - few)
    assert some - few <= 60


def test_small_helpers_are_inlined() -> None:
    assert not private_functions(mlirad.grad(summed(calls_of(elementwise, 20, "1.1"))), X)
    assert not private_functions(mlirad.grad(summed(calls_of(smoothed, 2, "1.1"))), X)


def test_each_signature_is_a_function_of_its_own() -> None:
    def program(x):
        x = smoothed(smoothed(smoothed(x, 0.5), 0.5), 0.5)
        y = smoothed(smoothed(smoothed(x[1:], 0.7), 0.7), 0.7)
        return np.sum(x[1:] * y) + smoothed(x, 0.9)

    assert len(private_functions(mlirad.jit(program), X)) == 2
    agree(program)


def test_helpers_that_write_in_their_arguments_are_shared() -> None:
    program = calls_of(writes, 12, "0.3")
    assert len(private_functions(mlirad.jit(program), X)) == 1
    agree(program)


def test_what_helpers_write_is_the_callers() -> None:
    """Writes into arrays, into views of them, and into one array passed twice; the pullback needs the overwritten
    elements."""

    def swept(y, x, a):
        for i in range(y.shape[0]):
            y[i] = y[i] * np.cos(y[i - 1]) + a * x[i]

    def program(x):
        y, z = np.sin(x), np.stack([x, x * 0.5])
        swept(y, x, 0.3)
        swept(y, x * x, 0.4)
        swept(z[0], y, 0.5)
        for i in range(2):
            swept(y, z[i], 0.6)
        swept(y, y, 0.7)
        swept(y[::-1], x, 0.8)
        return y * z[1] + z[0]

    assert "swept_0" in private_functions(mlirad.jit(program), X)
    agree(program)


def test_helpers_that_write_few_elements_are_inlined() -> None:
    """A caller's loop would store the whole array at each of these calls."""

    def relaxed(y, i):
        for k in range(2):
            y[i] = np.sin(y[i] * y[i + 1 + k])

    def program(x):
        y = x * 1.0
        for i in range(x.shape[0] - 70):
            relaxed(y, i)
            relaxed(y, i + 1)
            relaxed(y, i + 2)
        return y

    x, gradient = np.linspace(0.2, 1.0, 90), mlirad.grad(summed(program))
    assert not private_functions(gradient, x)
    along = np.cos(np.arange(90.0))
    np.testing.assert_allclose(gradient(x) @ along, difference(summed(program), x, along), rtol=1e-6)


def test_what_a_helper_may_not_write() -> None:
    def program(x, frozen):
        for _ in range(2):
            y = x * 1.0
            writes(y, 0.1), writes(y, 0.2), writes(y, 0.3)
        return writes(frozen, 0.4)

    frozen = X.copy()
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        mlirad.jit(program)(X, frozen)


def test_arguments_that_are_one_array() -> None:
    def product(x, y):
        total = 0.0
        for i in range(x.shape[0]):
            total = 0.9 * total + x[i] * y[-1 - i]
        return total

    def program(x):
        y = np.sin(x)
        total = product(x, x) + product(x, x) * product(x, x)
        total += product(x, y) * product(y, x) + product(x, y) + product(x[1:], x[:-1]) * product(x[1:], x[:-1])
        total += product(x[1:], x[:-1]) - product(x[::2], y[1::2]) * product(x[::2], y[1::2])
        x[0] = 0.5 * x[1]
        return x * (total + product(x, x) + product(x, y))

    assert len(private_functions(mlirad.jit(program), X)) >= 3
    agree(program)


def test_a_view_that_is_returned() -> None:
    def program(x):
        x = x * 1.0
        a, s = view_of(x, 0)
        b, t = view_of(x, 0)
        a[0] += s
        c, u = view_of(x, 0)
        c[-1] *= t
        d, v = view_of(x, 0)
        return x * u + d[0] * b[1] + v

    agree(program)


def test_around_loops_and_branches() -> None:
    def program(x):
        y = np.zeros(x.shape[0])
        for t in range(4):
            x = 0.4 * smoothed(x, 0.5)
            if x[0] > 0.3:
                y[t] = 0.5 * smoothed(x, 0.5)[t]
            else:
                y = y + 0.2 * smoothed(y, 0.5)
        t = 0
        while t < 3:
            y = 0.3 * smoothed(y, 0.5) + x
            t += 1
        return smoothed(y, 0.5)

    long = np.linspace(0.2, 1.4, 80)
    assert private_functions(mlirad.jit(program), long) == ["smoothed_0"]
    agree(program, long)


def test_a_result_that_must_be_known() -> None:
    def program(x):
        n, m, k = counted(x, 1), counted(x, 1), counted(x, 1)
        return x[: n - 1] * np.ones(m - 1) + np.zeros(k - 1)

    agree(program)


def test_errors_in_shared_functions_name_their_line() -> None:
    def program(x, limit):
        y = checked(x, limit)
        for _ in range(5):
            y = 0.1 * checked(y, limit) + checked(y * 0.5, limit) * checked(y, limit) * 0.1 + 0.1 * checked(y, limit)
        return np.sum(y)

    long = np.linspace(0.0, 0.01, 70)
    for kernel in (mlirad.jit(program), mlirad.grad(program)):
        assert private_functions(kernel, long, 5.0)
        kernel(long, 5.0)
        with pytest.raises(ValueError, match="element 2 is too large"):
            kernel(np.where(np.arange(70) == 2, 9.0, long), 5.0)

    def out_of_range(x, k):
        total = 0.0
        for j in range(12):
            total += indexed(x, k) * indexed(x, k + 1) + indexed(x, k + 2) * indexed(x, k) + j
        return total + indexed(x, k) + indexed(x, k + 1) + indexed(x, k) + indexed(x, k)

    line = indexed.__code__.co_firstlineno + 3
    with pytest.raises(IndexError, match=rf"test_shared_calls.py:{line}|line {line}"):
        mlirad.jit(out_of_range)(X, 9)


def test_what_a_helper_refuses_is_refused_at_its_line() -> None:
    def helper(x, a):
        y = cumsum(x)
        return np.roots(y) * a

    with pytest.raises(mlirad.CompileError) as caught:
        mlirad.jit(calls_of(helper, 12, "1.1"))(X)
    assert caught.value.location is not None
    assert caught.value.location.lineno == helper.__code__.co_firstlineno + 2


def test_what_is_refused_with_shared_calls_is_compiled_without() -> None:
    """For an array with a size that data decide, the caller's tape would have no size."""

    def positive(x, a):
        parts = []
        for i in range(x.shape[0]):
            if x[i] > a:
                parts.append(np.sin(x[i]))
        total = 0.0
        for each in parts:
            total += each
        return total

    def program(x):
        total = 0.0
        for i in range(3):
            x = x * 0.9
            total += positive(x, 0.3) * positive(x, 0.3) + positive(x, 0.3) + i
        return total * x + positive(x, 0.3) + positive(x, 0.3) * positive(x, 0.3)

    agree(program)


def test_interpreted_functions_are_built_again_only_if_passes_refuse_their_shared_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built: list[bool] = []

    def counted(*args: Any, shares_calls: bool, **options: Any) -> Any:
        built.append(shares_calls)
        return compilation.build_for(*args, shares_calls=shares_calls, **options)

    def refuses_calls(module: ModuleOp, **options: Any) -> ModuleOp:
        if any(isinstance(op, func.CallOp) for op in module.walk()):
            raise mlirad.CompileError("calls are refused")
        return differentiate(module, **options)

    differentiate = pipeline.differentiate
    monkeypatch.setattr(op_by_op, "build_for", counted)
    monkeypatch.setattr(pipeline, "differentiate", refuses_calls)
    with pytest.raises(mlirad.CompileError, match=r"np\.poly"):
        Interpreted(lambda x: np.poly(x[:, :3]))(np.ones((3, 4)))
    assert built == [True]
    program = calls_of(lambda x, a: cumsum(x) * a, 12, "1.1")
    np.testing.assert_allclose(Interpreted(program)(X), program(X), rtol=1e-13)
    assert built == [True, True, False]


def test_nonlocal_counters_and_lists_of_the_caller() -> None:
    def program(x):
        calls, seen = 0, []

        def helper(y):
            nonlocal calls
            calls += 1
            total = 0.0
            for i in range(y.shape[0]):
                total = np.tanh(total + y[i])
            seen.append(total)
            return y * total

        for _ in range(2):
            x = helper(x) + helper(x) * 0.5
        x = helper(x) + helper(helper(x)) - helper(x)
        return x * calls + seen[0] * seen[-1] + len(seen)

    agree(program)


def test_the_tape_grows_by_what_a_trip_stores() -> None:
    def program(x, n):
        for _ in range(n):
            x = 0.4 * smoothed(x, 0.5)
            x = 0.4 * smoothed(x, 0.5) + 0.1 * smoothed(x * x, 0.5)
        return np.sum(x)

    x, gradient = np.linspace(0.1, 1.0, 100), mlirad.grad(program)
    assert private_functions(gradient, x, 3)
    used = []
    for n in (50, 100, 200):
        gradient(x, n)
        used.append(gradient.last_memory())
    assert used[2] - used[1] <= 2.2 * (used[1] - used[0])
    assert (used[2] - used[1]) / 100 <= 3 * 4 * 8 * len(x)


def test_work_of_readers_in_loops_is_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that reads a few elements of an array adds to its cotangent in place: no iteration takes as long as the
    array."""
    monkeypatch.setattr(Repeats, "is_worth_sharing", property(lambda self: len(self.sites) >= 2))

    def program(x):
        total = 0.0
        for i in range(x.shape[0] - 8):
            total += indexed(x, i) * indexed(x, i + 1) + np.sin(indexed(x, i + 2))
        return total

    x, gradient = np.linspace(0.0, 1.0, 90), mlirad.grad(program)
    assert private_functions(gradient, x) == ["indexed_0.forward", "indexed_0.pullback"]
    text = gradient.lower(x).as_text("bufferized")
    reverse = text[text.rindex("scf.for", 0, text.index("call @indexed_0.pullback")) :]
    assert not any(each in reverse for each in ("memref.copy", "memref.alloc", "linalg."))
    along = np.cos(np.arange(90.0))
    np.testing.assert_allclose(gradient(x) @ along, difference(program, x, along), rtol=1e-6)


def test_lists_of_a_helper_inside_loops_of_the_caller() -> None:
    """A shared function appends to its own lists, which makes no room in its caller."""

    def helper(x, a):
        parts = []
        for i in range(6):
            parts.append(np.sin(x[i]) * a)
        return parts[0] + parts[5] * parts[2]

    def program(x):
        kept = []
        for t in range(4):
            kept.append(helper(x, 0.5) + helper(x * 0.5, 0.5) * t)
            x = x * 0.9 + 0.1 * helper(x, 0.5)
        kept.append(helper(x, 0.5) * helper(x, 0.5))
        return np.array(kept) * helper(x, 0.5)

    agree(program)


def test_library_functions_that_may_fail_name_each_call() -> None:
    def program(x, y, n):
        first = max(x[:n]) + max(x[:n]) + max(x[:n]) + max(x[:n])
        return first + max(y[:n])

    kernel = mlirad.jit(program)
    assert kernel(X, X, 3) == program(X, X, 3)
    with pytest.raises(ValueError, match="empty") as caught:
        kernel(X, X, 0)
    assert f":{program.__code__.co_firstlineno + 1}:" in str(caught.value)


def test_library_functions_are_shared() -> None:
    """Their loops count from one constant to another: no index can fail."""

    def program(x):
        x = np.cumsum(np.cumsum(np.cumsum(x) * 0.3) * 0.3)
        return np.cumsum(np.cumsum(x * 0.2) * 0.2)

    assert private_functions(mlirad.grad(summed(program)), X) == ["cumsum_0.forward", "cumsum_0.pullback"]
    agree(program)


def test_many_helpers_are_found_in_a_few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time the build restarts for a function, little has been interpreted so far."""
    from mlirad.frontend import build as building

    rounds = 0
    run = building.Build.run

    def counted_run(self: Any) -> Any:
        nonlocal rounds
        rounds += 1
        return run(self)

    monkeypatch.setattr(building.Build, "run", counted_run)
    helper = "def h{k}(x):\n    t = 0.0\n"
    helper += "    for i in range(x.shape[0]):\n        t = np.tanh(t + x[i] * {k}.5)\n    return x * t\n\n"
    helpers = "".join(helper.format(k=k) for k in range(10))
    body = "".join(f"    x = {' + '.join(f'h{k}(x)' for k in range(10))}\n" for _ in range(6))
    program = written(f"{helpers}def program(x):\n{body}    return x\n", cumsum)
    kernel = mlirad.jit(program)
    assert len(private_functions(kernel, X)) == 10
    assert rounds <= 4
    np.testing.assert_allclose(kernel(X), program(X))
