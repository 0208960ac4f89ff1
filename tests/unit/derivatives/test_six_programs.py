"""Six loop programs, alone and within others, in every mode and order: derivatives against Taylor series, to 1e-9."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from jets import Jet, derivatives

import mlirad

Scalar = Callable[[Any], Any]


def sine(x: Any) -> Any:
    """The replacement of np.sin when the programs run on series."""
    return x.sin() if isinstance(x, Jet) else np.sin(x)


def newton(a):
    x = a
    while abs(x * x - a) > 1e-13 * a:
        x = 0.5 * (x + a / x)
    return 0.5 * (x + a / x)


def length_five(x):
    return repeated_sine(x, 5)


def repeated_sine(x, n):
    for _ in range(n):
        x = 1.1 * sine(x)
    return x


def array_in_place(x):
    y = np.zeros(50) * x
    y[0] = x
    for i in range(1, 50):
        y[i] = 1.1 * sine(y[i - 1])
    return y[49] * y[25]


def overwrites_one_cell(x):
    c = np.zeros(3) * x
    c[1] = x
    for k in range(5):
        c[1] = sine(c[1]) * (x + k) + 0.3 * c[1] * c[1]
    return c[1] + c[0]


def breaks_and_continues(x):
    total = x * 0.0
    y = x
    for i in range(20):
        y = 1.1 * sine(y) + 0.1
        if y < 0.9:
            continue
        total = total + y * y * (i + 1)
        if total > 6.0:
            break
    return total


def slope_of_newton(a):
    return mlirad.grad(newton)(a)


PROGRAMS: dict[str, tuple[Scalar, float]] = {
    "N": (newton, 2.0),
    "L": (length_five, 0.7),
    "A": (array_in_place, 0.7),
    "O": (overwrites_one_cell, 0.6),
    "B": (breaks_and_continues, 0.35),
    "H": (slope_of_newton, 2.0),
}


def alone(program: Scalar) -> Scalar:
    return program


def in_a_loop(program: Scalar) -> Scalar:
    def function(x):
        total = x * 0.0
        for k in range(3):
            total = total + program(x * (1.0 + 0.125 * k)) * (total + 1.0)
        return total

    return function


def in_an_if(program: Scalar) -> Scalar:
    def function(x):
        if x > 0.0:
            y = program(x) * x
        else:
            y = x * x
        return y

    return function


def not_taken(program: Scalar) -> Scalar:
    def function(x):
        if x < 0.0:
            y = program(x)
        else:
            y = sine(x) * x
        return y

    return function


def in_a_while(program: Scalar) -> Scalar:
    def function(x):
        total, k = x, 0
        while total < 4.0 and k < 3:
            if k == 1:
                total = total + program(x)
            k += 1
        return total * x

    return function


CONTEXTS = [alone, in_a_loop, in_an_if, not_taken, in_a_while]


# Each mode gives derivatives by their orders.


def by_vjp(f: Scalar, x: float) -> dict[int, Any]:
    value, pullback = mlirad.vjp(f, x)
    return {0: value, 1: pullback(1.0)[0]}


def by_jvp(f: Scalar, x: float) -> dict[int, Any]:
    return dict(enumerate(mlirad.jvp(f, (x,), (1.0,))))


def by_reverse_over_reverse(f: Scalar, x: float) -> dict[int, Any]:
    return dict(enumerate(mlirad.value_and_grad(mlirad.grad(f))(x), 1))


def by_forward_over_reverse(f: Scalar, x: float) -> dict[int, Any]:
    return dict(enumerate(mlirad.jvp(mlirad.grad(f), (x,), (1.0,)), 1))


def by_reverse_over_forward(f: Scalar, x: float) -> dict[int, Any]:
    def slope(y):
        return mlirad.jvp(f, (y,), (1.0,))[1]

    return {0: mlirad.jit(f)(x), **dict(enumerate(mlirad.value_and_grad(slope)(x), 1))}


MODES = [by_vjp, by_jvp, by_reverse_over_reverse, by_forward_over_reverse, by_reverse_over_forward]


def expected(name: str, context: Callable[[Scalar], Scalar], x: float) -> list[float]:
    """Of H, the derivative of N: what the series of 1 / (2 sqrt(a)) gives, and N's own series are sqrt(a)'s."""
    program = PROGRAMS[name][0] if name != "H" else lambda a: 0.5 / newton(a)
    return derivatives(context(program), x)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives(name: str, context: Callable[[Scalar], Scalar], mode: Callable[..., Any]) -> None:
    program, x = PROGRAMS[name]
    found = mode(context(program), x)
    wanted = expected(name, context, x)
    assert len(found) >= 2
    for order, each in found.items():
        np.testing.assert_allclose(each, wanted[order], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("n", [0, 1, 5, 12])
def test_the_number_of_trips_is_an_argument(n: int) -> None:
    want = derivatives(lambda x: repeated_sine(x, n), 0.7)
    gradient = mlirad.grad(repeated_sine)
    assert gradient(0.7, n) == pytest.approx(want[1], rel=1e-12)
    assert mlirad.grad(gradient)(0.7, n) == pytest.approx(want[2], rel=1e-11)


def test_the_published_numbers() -> None:
    assert mlirad.grad(newton)(2.0) == pytest.approx(0.3535533905932738, abs=1e-9)
    assert mlirad.grad(slope_of_newton)(2.0) == pytest.approx(-0.08838834764831845, abs=1e-9)
