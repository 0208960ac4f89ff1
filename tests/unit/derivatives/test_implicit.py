"""root, fixed_point and minimize: derivatives compared with closed forms, dense algebra and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize

import mlirad

MODES = [(first, second) for first in (mlirad.grad, mlirad.jacfwd) for second in (mlirad.grad, mlirad.jacfwd)]


def test_iterates_whose_length_overflows_have_not_converged() -> None:
    """The change and the length were both inf, and inf <= inf."""
    with pytest.raises(ArithmeticError, match="has not converged"):
        mlirad.fixed_point(lambda x: 2.0 * x, np.ones(3), maxiter=1_000)


def test_a_cubic_in_all_modes_to_second_order() -> None:
    def x(a):
        return mlirad.root(lambda x, a: x**3 + x - a, 1.0, a)

    def all_of(a):
        second = mlirad.jacfwd(mlirad.jacrev(x))(a), mlirad.jacrev(mlirad.jacfwd(x))(a)
        return x(a), mlirad.grad(x)(a), mlirad.jvp(x, (a,), (2.0,))[1], second

    value, gradient, tangent, second = mlirad.jit(all_of)(10.0)
    assert abs(value - 2.0) < 1e-15
    np.testing.assert_allclose([gradient, tangent], [1 / 13, 2 / 13], rtol=1e-14)
    np.testing.assert_allclose(second, -12.0 / 13**3, rtol=1e-13)


UNKNOWNS = 1000


def beam(x, k):
    """A grid's second differences, and a cubic spring at each point."""
    r = 2.0 * x
    r[1:] -= x[:-1]
    r[:-1] -= x[1:]
    return 100.0 * r + k * x**3 - 1.0


def along_three_diagonals(lower, diagonal, upper, b):
    n = b.size
    c, y = np.zeros(n), np.zeros(n)
    for i in range(n):
        m = diagonal[i] - lower[i] * (c[i - 1] if i > 0 else 0.0)
        c[i] = upper[i] / m
        y[i] = (b[i] - lower[i] * (y[i - 1] if i > 0 else 0.0)) / m
    for back in range(1, n):
        i = n - 1 - back
        y[i] -= c[i] * y[i + 1]
    return y


def newton(f, x, k):
    moved = 1.0
    while moved > 1e-13:
        beside = np.full(x.size, -100.0)
        step = along_three_diagonals(beside, 200.0 + 3.0 * k * x**2, beside, f(x, k))
        x, moved = x - step, np.max(np.abs(step))
    return x


def by_three_products(product, b):
    """A tridiagonal system, its matrix by three products."""
    print("a linear system")
    n = b.size
    lower, diagonal, upper = np.zeros(n), np.zeros(n), np.zeros(n)
    for s in range(3):
        unit = np.zeros(n)
        unit[s::3] = 1.0
        column = product(unit)
        for j in range(s, n, 3):
            diagonal[j] = column[j]
            if j > 0:
                upper[j - 1] = column[j - 1]
            if j < n - 1:
                lower[j + 1] = column[j + 1]
    return along_three_diagonals(lower, diagonal, upper, b)


def test_a_thousand_unknowns_cost_one_linear_system_and_no_tape(capfd: pytest.CaptureFixture[str]) -> None:
    def total(k, start):
        x0 = start + np.zeros(UNKNOWNS)
        return np.sum(mlirad.root(beam, x0, k, solver=newton, linear_solver=by_three_products))

    k = np.linspace(1.0, 2.0, UNKNOWNS)
    gradient = mlirad.grad(total)
    found = gradient(k, 0.0)
    assert capfd.readouterr().out.count("a linear system") == 1
    needed = gradient.last_memory()
    np.testing.assert_allclose(gradient(k, 1e6), found, rtol=1e-11)  # some forty steps more
    assert gradient.last_memory() == needed
    assert needed is not None and needed < 16 * 8 * UNKNOWNS
    x = newton(beam, np.zeros(UNKNOWNS), k)  # plain NumPy
    jacobian = 100.0 * (2 * np.eye(UNKNOWNS) - np.eye(UNKNOWNS, k=1) - np.eye(UNKNOWNS, k=-1)) + np.diag(3 * k * x**2)
    np.testing.assert_allclose(found, -np.linalg.solve(jacobian.T, np.ones(UNKNOWNS)) * x**3, rtol=1e-11)
    (second,) = mlirad.hvp(lambda k: total(k, 0.0), (k,), (np.ones(UNKNOWNS),))
    differences = (gradient(k + 1e-4, 0.0) - gradient(k - 1e-4, 0.0)) / 2e-4
    np.testing.assert_allclose(second, differences, rtol=1e-7)


def descent(f, derivative, x, tol):
    """Gradient descent with a step that gets longer and shorter."""
    rate, value, moved = 0.1, f(x), 1.0
    while moved > tol:
        y = x - rate * derivative(f)(x)
        trial = f(y)
        if trial <= value:
            moved = abs(y - x)
            x, value, rate = y, trial, 1.2 * rate
        else:
            rate = 0.5 * rate
    return x


def objective(w, t, a):
    return (w - t * a) ** 2 + 0.1 * w**4


@pytest.mark.parametrize(("first", "second"), MODES)
def test_a_descent_whose_objective_runs_a_descent(first, second) -> None:
    def study(a):
        def outer(t):
            w = descent(lambda w: objective(w, t, a), first, 0.5, 1e-3)
            return (w - 1.0) ** 2 + 0.05 * t * t

        return descent(outer, first, 0.3, 1e-3)

    # Central differences of the program itself; its descents make the same number of steps on both sides.
    np.testing.assert_allclose(second(study)(1.5), -0.4555019039731434, rtol=1e-8)


@pytest.mark.full
@pytest.mark.parametrize(("first", "second"), MODES)
def test_a_minimum_whose_objective_is_a_minimum(first, second) -> None:
    def study(a):
        def outer(t, a):
            inner = lambda f, w, t, a: descent(lambda w: f(w, t, a), first, w, 1e-10)
            w = mlirad.minimize(objective, 0.5, t, a, method=inner)
            return (w - 1.0) ** 2 + 0.05 * t * t

        return mlirad.minimize(outer, 0.3, a, method=lambda f, t, a: descent(lambda t: f(t, a), first, t, 1e-10))

    def at(a):
        """The minimum of the minimum, by its own two equations: w = w(t, a), and t is where the outer slope is 0."""
        t = 0.3
        for _ in range(200):
            w = 1.0
            for _ in range(50):
                w -= (2 * (w - t * a) + 0.4 * w**3) / (2 + 1.2 * w * w)
            slope = 2 * (w - 1.0) * (2 * a / (2 + 1.2 * w * w)) + 0.1 * t
            t -= 0.2 * slope
        return t

    np.testing.assert_allclose(second(study)(1.5), (at(1.5 + 1e-5) - at(1.5 - 1e-5)) / 2e-5, rtol=1e-5)


def valley(x, p):
    return np.sum(p["a"] * (x[1:] - x[:-1] ** 2) ** 2 + (p["b"] - x[:-1]) ** 2) + 0.1 * np.sum(x**2)


METHODS = ["newton-cg", *(pytest.param(each, marks=pytest.mark.full) for each in ("bfgs", "gradient-descent"))]


@pytest.mark.parametrize("method", METHODS)
def test_minimizers_find_the_minimum_that_scipy_finds(method) -> None:
    p = {"a": 2.0, "b": 1.3}

    def total(p):
        return np.sum(mlirad.minimize(valley, np.zeros(4), p, method=method))

    def scipys(a):
        return optimize.minimize(valley, np.zeros(4), {"a": a, "b": 1.3}, tol=1e-12).x.sum()

    value, found = mlirad.value_and_grad(total)(p)
    np.testing.assert_allclose(value, scipys(2.0), rtol=1e-6)
    assert set(found) == {"a", "b"}
    np.testing.assert_allclose(found["a"], (scipys(2.0 + 1e-2) - scipys(2.0 - 1e-2)) / 2e-2, rtol=1e-3)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_fixed_points_of_arrays_and_parameters_without_derivatives(dtype) -> None:
    a = np.array([0.9, 0.5], dtype)

    def total(a, n):
        return np.sum(mlirad.fixed_point(lambda x, a, n: np.cos(a * x) / n, np.zeros(2, a.dtype), a, n))

    x = np.ones(2)
    for _ in range(200):
        x = np.cos(a * x) / 2
    slope = -np.sin(a * x) / 2
    gradient = mlirad.grad(total)(a, 2)
    assert gradient.dtype == dtype
    np.testing.assert_allclose(gradient, slope * x / (1 - slope * a), rtol=1e-5 if dtype == np.float32 else 1e-12)


def surrounded(a):
    """An equation of what is around it: numbers, a view, a dict, another function, a default; its solver, too."""
    scale, settings, row = np.sin(a), {"shift": a * 2.0, "n": 3}, np.array([1.0, 2.0]) * a
    view = row[1:]

    def line(x):
        return x * scale + settings["shift"]

    def equation(x, q, k=a):
        return x ** settings["n"] + line(x) - q * view[0] - row[0] * k

    def solver(f, x, q):
        moved = 1.0
        while moved > 1e-13:
            step = f(x, q) / mlirad.grad(f)(x, q) * (1.0 if a > 0.0 else scale)
            x, moved = x - step, np.abs(step)
        return x

    return mlirad.root(equation, 1.0, a, solver=solver, linear_solver=lambda product, b: b / product(1.0 + 0.0 * a))


def test_what_is_around_the_equation_is_differentiated() -> None:
    def x(a):
        found = 1.0
        for _ in range(60):
            f = found**3 + found * np.sin(a) + 2.0 * a - 2.0 * a * a - a * a
            found -= f / (3.0 * found**2 + np.sin(a))
        return found

    assert abs(mlirad.jit(surrounded)(2.0) - x(2.0)) < 1e-12
    first = mlirad.grad(surrounded)
    np.testing.assert_allclose(first(2.0), (x(2.0 + 1e-5) - x(2.0 - 1e-5)) / 2e-5, rtol=1e-8)
    second = mlirad.jacfwd(first)(2.0)
    np.testing.assert_allclose(second, (first(2.0 + 1e-5) - first(2.0 - 1e-5)) / 2e-5, rtol=1e-8)
    with mlirad.disable_jit():
        np.testing.assert_allclose(mlirad.grad(surrounded)(2.0), first(2.0), rtol=1e-12)

    def spread(a):
        t = a * a
        return np.sum(mlirad.minimize(lambda w: np.sum((w - t) ** 2) + 0.1 * np.sum(w**4), np.zeros(2)))

    a = np.array([0.7, 0.3])
    w = mlirad.jit(lambda a: mlirad.minimize(lambda w: np.sum((w - a) ** 2) + 0.1 * np.sum(w**4), np.zeros(2)))(a * a)
    np.testing.assert_allclose(mlirad.grad(spread)(a), 2.0 * a / (1.0 + 0.6 * w**2), rtol=1e-12)


def writes(a):
    box = np.zeros(1) * a

    def f(x):
        box[0] = x
        return box[0] * x - a

    return mlirad.root(f, 1.0)


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda a: mlirad.root(lambda x, a: x * x + a, 1.0, a), ArithmeticError, "root: "),
        (writes, mlirad.UnsupportedSyntaxError, "f changes an array"),
        (lambda a: mlirad.minimize(lambda x, a: x * x, 1.0, a, method="sgd"), ValueError, "newton-cg"),
        (
            lambda a: np.sum(
                mlirad.root(lambda x, a: np.sum(x) - a + 0.0 * x, np.zeros(2), a, solver=lambda f, x, a: x)
            ),
            ArithmeticError,
            "singular",
        ),
    ],
)
def test_what_has_no_solution_or_no_derivative_is_told(function, error, message) -> None:
    with pytest.raises(error, match=message):
        mlirad.grad(function)(2.0)


def test_an_equation_does_not_draw() -> None:
    """Each derivative would evaluate another equation. A solver may."""

    def noisy(x: Any, rng: Any) -> Any:
        total = 0.0
        for _ in range(3):
            total = total + rng.normal()
        return 0.3 * np.cos(x) + total

    def around(a: Any, rng: Any) -> Any:
        return mlirad.fixed_point(lambda x: a * noisy(x, rng), 0.5)

    def as_parameter(a: Any, rng: Any) -> Any:
        return mlirad.minimize(lambda x, rng: (x - a * rng.normal()) ** 2, 0.5, rng)

    for function in (around, as_parameter):
        with pytest.raises(
            mlirad.UnsupportedSyntaxError, match="draws random numbers: each evaluation would be a different equation"
        ):
            mlirad.grad(function)(1.2, np.random.default_rng(0))

    def by_restarts(a: Any, rng: Any) -> Any:
        def solver(f: Any, x0: Any) -> Any:
            x = x0 + 0.1 * rng.normal()
            for _ in range(60):
                x = f(x)
            return x

        return mlirad.fixed_point(lambda x: 0.3 * np.cos(a * x), 0.5, solver=solver)

    rng = np.random.default_rng(0)
    slope = (by_restarts(1.2 + 1e-6, rng) - by_restarts(1.2 - 1e-6, rng)) / 2e-6
    np.testing.assert_allclose(mlirad.grad(by_restarts)(1.2, rng), slope, rtol=1e-7)
