"""Loops, branches and in-place updates, natively: values against NumPy, gradients against central differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad


def newton(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


def recurrence(x, c):
    y = np.zeros_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = c * np.sin(y[i - 1]) + x[i]
    return np.sum(y * y)


def recurrence_traced(x, n):
    y = x.copy()
    for i in range(1, n):
        y[i] = 1.1 * np.sin(y[i - 1]) + x[i]
    return np.sum(y * y)


def stencil(u, steps):
    u = u.copy()
    n, m = u.shape
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = 0.2 * (u[i, j] + u[i - 1, j] * u[i, j + 1] + u[i + 1, j] + u[i, j - 1])
    return np.sum(u**2)


def branches(x, t):
    s = 0.0
    y = x * 1.0
    for i in range(len(x)):
        if x[i] > t:
            y[i] = y[i] * y[i - 1]
            s += y[i]
        elif x[i] < -t:
            s = s - x[i] ** 2
        else:
            s *= 0.5
    return s + y.sum()


def stops_by_flag(x, limit):
    total = 0.0
    going = True
    i = 0
    while going and i < len(x):
        total += x[i] ** 2
        if total > limit:
            going = False
        i += 1
    return total * x[0]


def swapped_buffers(a, n):
    a = a.copy()
    b = np.zeros_like(a)
    for _ in range(n):
        b[1:-1] = 0.5 * (a[:-2] + a[2:]) * a[1:-1]
        a, b = b, a
    return np.sum(a * a)


def slices(x):
    y = x * 2.0
    y[1:] += y[:-1] ** 2
    v = y[::-2]
    v *= 3.0
    y[0] = v[0] * x[1]
    return y @ x


def matrix_rows(m):
    total = 0.0
    for i in range(m.shape[0]):
        row = m[i] * 1.0
        row[1:] = np.tanh(row[:-1])
        total += row @ m[0] + np.max(row)
    return total


X = np.array([0.7, -1.2, 0.4, 1.9, -0.3, 0.8])
U = np.linspace(-1, 1, 30).reshape(5, 6) ** 3 + 0.4

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], tuple[int, ...]]] = {
    "newton": (newton, (2.0,), (0,)),
    "recurrence": (recurrence, (X, 1.1), (0, 1)),
    "recurrence_traced": (recurrence_traced, (X, 5), (0,)),
    "recurrence_zero_trips": (recurrence_traced, (X, 1), (0,)),
    "stencil": (stencil, (U, 3), (0,)),
    "stencil_zero_trips": (stencil, (U, 0), (0,)),
    "branches": (branches, (X, 0.5), (0,)),
    "stops_by_flag": (stops_by_flag, (X, 2.0), (0,)),
    "never_stops_by_flag": (stops_by_flag, (X, 200.0), (0,)),
    "swapped_buffers": (swapped_buffers, (X, 3), (0,)),
    "swapped_no_trips": (swapped_buffers, (X, 0), (0,)),
    "slices": (slices, (X,), (0,)),
    "matrix_rows": (matrix_rows, (U,), (0,)),
}


def directional(
    f: Callable[..., Any], args: tuple[Any, ...], argnums: tuple[int, ...], directions: Any, step: float
) -> Any:
    def moved(sign: int) -> float:
        held = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]
        for number, direction in zip(argnums, directions, strict=True):
            held[number] = held[number] + sign * step * direction
        return f(*held)

    return (moved(1) - moved(-1)) / (2 * step)


@pytest.mark.parametrize("name", PROGRAMS)
def test_value_and_gradient(name: str) -> None:
    f, args, argnums = PROGRAMS[name]
    rng = np.random.default_rng(0)
    before = [np.copy(arg) for arg in args]
    value, gradients = mlirad.value_and_grad(f, argnums=argnums)(*args)
    assert mlirad.jit(f)(*args) == pytest.approx(f(*args), rel=1e-13)
    assert value == pytest.approx(f(*args), rel=1e-13)
    for kept, arg in zip(before, args, strict=True):
        np.testing.assert_array_equal(kept, arg)
    for number, gradient in zip(argnums, gradients, strict=True):
        assert np.shape(gradient) == np.shape(args[number])
    for _ in range(3):
        directions = [rng.normal(size=np.shape(args[number])) for number in argnums]
        expected = directional(f, args, argnums, directions, 1e-6)
        found = sum(float(np.vdot(d, g)) for d, g in zip(directions, gradients, strict=True))
        assert found == pytest.approx(expected, rel=2e-7, abs=1e-8)


@pytest.mark.parametrize("name", PROGRAMS)
def test_second_order(name: str) -> None:
    """Forward over reverse against central differences of the gradient, and against reverse over reverse."""
    f, args, argnums = PROGRAMS[name]
    rng = np.random.default_rng(1)
    number = argnums[0]
    others = args[:number] + args[number + 1 :]
    direction = rng.normal(size=np.shape(args[number]))

    def of_one(x):
        return f(x, *others)

    gradient = mlirad.grad(of_one)

    def slope(x):
        return np.sum(gradient(x) * direction)

    _, forward_over_reverse = mlirad.jvp(gradient, (args[number],), (direction[()],))
    reverse_over_reverse = mlirad.grad(slope)(args[number])
    expected = directional(gradient, (args[number],), (0,), (direction,), 1e-6)
    np.testing.assert_allclose(forward_over_reverse, expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(reverse_over_reverse, forward_over_reverse, rtol=1e-10, atol=1e-10)


def test_newton_at_two() -> None:
    """d sqrt(a) / da = 1 / (2 sqrt a), then -1 / (4 a sqrt a)."""
    assert mlirad.grad(newton)(2.0) == pytest.approx(0.3535533905932738, abs=1e-9)
    assert mlirad.grad(mlirad.grad(newton))(2.0) == pytest.approx(-0.08838834764831845, abs=1e-9)
    assert mlirad.jvp(mlirad.grad(newton), (2.0,), (1.0,))[1] == pytest.approx(-0.08838834764831845, abs=1e-9)
    assert mlirad.grad(mlirad.grad(mlirad.grad(newton)))(2.0) == pytest.approx(0.0662912607362388, abs=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_vjp_and_jvp_are_dual(dtype: type) -> None:
    rng = np.random.default_rng(2)
    x, c = X.astype(dtype), dtype(1.1)
    u, v = rng.normal(size=X.shape).astype(dtype), dtype(0.7)

    def f(x, c):
        y = np.zeros_like(x)
        for i in range(1, len(x)):
            y[i] = c * np.sin(y[i - 1]) + x[i]
        return y

    out, pullback = mlirad.vjp(f, x, c)
    same, tangent = mlirad.jvp(f, (x, c), (u, v))
    w = rng.normal(size=out.shape).astype(dtype)
    dx, dc = pullback(w)
    np.testing.assert_array_equal(out, same)
    assert dx.dtype == tangent.dtype == dtype
    assert np.vdot(w, tangent) == pytest.approx(float(np.vdot(dx, u) + dc * v), rel=50 * float(np.finfo(dtype).eps))
