"""`disable_jit`: the function runs once, in Python; its derivatives equal those of compiled code up to rounding."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import mlirad


def squares(v):
    return np.sqrt(v * v + 1)


@mlirad.jit
def jitted(v, w):
    return np.array([v, w]).sum() * v


def everything(x, n):
    """Loops, branches, writes, views, masks, functions of math and NumPy, helpers, closures, containers."""
    s = x[0] * 0
    y = np.zeros(4)
    rows: list[Any] = []
    for i in range(n):
        s += math.sin(x[i]) * squares(x[i])
        y[i] = float(s) * 2
        if s > 1 and not isinstance(s, np.ndarray):
            y[0] += x[i] ** 2
        rows.append(x[i] * y[:2])
    view = y[1:3]
    view *= x[:2]
    view[-1] = 0.5
    z = np.stack(rows)
    scaled = {"a": z.T @ x, "b": (lambda v: v * s)(y)}
    print(f"s = {float(s):.4f}")
    picked = y[y > 0.5] + np.where(x > 0.5, x, 0.1)[0]
    order = np.argsort(-x)
    return (
        s * z.sum()
        + scaled["a"].max()
        + np.cumsum(scaled["b"])[-1]
        + picked.sum()
        + (x[order] * np.arange(3)).sum()
        + jitted(s, x[0])
        + np.linalg.norm(x)
        + abs(-s) ** 2 / 3
        - mlirad.grad(lambda v: (v**3 * s).sum())(x)[1]
    )


X = np.array([0.3, 0.7, 1.1])


def of_x(x):
    return everything(x, 3)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_numbers_are_those_of_compiled_code(dtype: Any, capsys: pytest.CaptureFixture[str]) -> None:
    x = X.astype(dtype)
    tolerance = {"rtol": 1e-12 if dtype is np.float64 else 2e-5}
    expected, gradient = mlirad.value_and_grad(everything)(x, 3)
    assert capsys.readouterr().out == "s = 2.4198\n"
    with mlirad.disable_jit():
        value, found = mlirad.value_and_grad(everything)(x, 3)
        assert capsys.readouterr().out == "s = 2.4198\n"  # it ran once
        assert type(value) is type(expected) and found.dtype == gradient.dtype
        np.testing.assert_allclose(value, expected, **tolerance)
        np.testing.assert_allclose(found, gradient, **tolerance)
        out, pullback = mlirad.vjp(of_x, x)
        np.testing.assert_allclose(pullback(dtype(1))[0], gradient, **tolerance)
        along = mlirad.jvp(of_x, (x,), (x,))[1]
        np.testing.assert_allclose([out, along], [expected, gradient @ x], **tolerance)
        np.testing.assert_allclose(mlirad.jit(everything)(x, 3), expected, **tolerance)


def test_higher_derivatives_and_jacobians() -> None:
    def curve(x):
        return np.array([math.exp(x[0]) * x[1], x[1] ** 3]) if x[0] > 0 else x

    def sine(t):
        return math.sin(t)

    wanted = mlirad.hessian(of_x)(X), mlirad.jacrev(curve)(X[:2]), mlirad.grad(lambda t: mlirad.grad(sine)(t))(0.5)
    with mlirad.disable_jit():
        found = mlirad.hessian(of_x)(X), mlirad.jacfwd(curve)(X[:2]), mlirad.grad(lambda t: mlirad.grad(sine)(t))(0.5)
        lanes = mlirad.vmap(mlirad.grad(lambda t: t**3 if t > 1 else -t))(np.array([0.5, 2.0]))
    for one, other in zip(wanted, found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11)
    assert lanes.tolist() == [-1.0, 12.0]


def test_a_debugger_stops_in_the_function_and_sees_values() -> None:
    lines, first = inspect.getsourcelines(everything)
    stop = first + next(number for number, line in enumerate(lines) if "view = y[1:3]" in line)
    stops: list[Any] = []

    def traced(frame: Any, event: str, _: Any) -> Any:
        if event == "line" and frame.f_lineno == stop and frame.f_code.co_name == "everything":
            now = frame.f_locals
            stops.append((f"{now['s']:.4f}", str(now["y"]), now["y"].shape, now["n"]))
        return traced

    before = sys.gettrace()
    with mlirad.disable_jit():
        sys.settrace(traced)
        try:
            mlirad.grad(everything)(X, 3)
        finally:
            sys.settrace(before)
    ((s, y, shape, n),) = stops
    assert float(s) == pytest.approx(2.4198, abs=1e-4) and y.startswith("[2.317") and (shape, n) == ((4,), 3)


@dataclass
class State:
    x: Any
    steps: int = 0


def moves(state, items, x):
    state.x = state.x * x[0]
    state.steps += 1
    items.append(state.x)
    x[1] = 5.0
    return (state.x**2).sum() + x.sum()


def test_what_the_function_writes_is_written() -> None:
    def run(call: Callable[..., Any]) -> Any:
        state, items, x = State(np.array([1.0, 2.0])), [], np.array([2.0, 3.0])
        found = call(moves, 2)(state, items, x)
        return found, state.x, state.steps, items, x

    wanted = run(lambda f, n: mlirad.grad(f, n))
    with mlirad.disable_jit():
        found = run(lambda f, n: mlirad.grad(f, n))
    for one, other in zip(wanted, found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


def test_prints_and_errors_are_pythons(capsys: pytest.CaptureFixture[str]) -> None:
    def fails(x, i):
        print("x is", x, f"{x.sum():.2f}")
        try:
            return x[i]
        except IndexError:
            raise ValueError(f"no {i}") from None

    with mlirad.disable_jit():
        assert mlirad.grad(fails)(X, 1).tolist() == [0, 1, 0]
        assert capsys.readouterr().out == "x is [0.3 0.7 1.1] 2.10\n"
        with pytest.raises(ValueError, match="no 7"):
            mlirad.grad(fails)(X, 7)
        assert capsys.readouterr().out == "x is [0.3 0.7 1.1] 2.10\n"


OUTSIDE = np.zeros(3)


def test_no_derivative_is_lost() -> None:
    def stores(x):
        OUTSIDE[0] = x[0]
        return OUTSIDE[0] * x[1]

    with mlirad.disable_jit(), pytest.raises((TypeError, ValueError)):
        mlirad.grad(stores)(X)
    with mlirad.disable_jit(), pytest.raises(TypeError, match="another file"):
        mlirad.grad(lambda x: x[0] * sys.modules["math"].sin(x[0]))(X)


CALLS = 0


def counts(x):
    global CALLS
    CALLS += 1
    return x * x


def test_functions_are_compiled_again_behind_the_block() -> None:
    with mlirad.disable_jit():
        assert mlirad.grad(counts)(3.0) == 6.0 and mlirad.grad(counts)(4.0) == 8.0
    assert CALLS == 2
    with pytest.raises(mlirad.CompileError, match="global"):
        mlirad.grad(counts)(3.0)
