"""Reads: loops that need a number both before and after it changes. Leaves: one of the two on the tape.

What a loop yields is what the next trip begins with, so the reverse loop hands it on from trip to trip.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from expanded import callable_of, expand
from xdsl.dialects.builtin import ModuleOp

import mlirad
from mlirad.dialect.ad.tape import TapeOp
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant
from mlirad.testing.derivatives import check_vjp
from mlirad.testing.expr_functions import ask_vjp, for_loop, function, while_loop

F64, I64 = types.F64, types.I64


def one(x: Expr, n: Expr) -> Any:
    """The reverse needs s, both before and after its update."""

    def step(_: Expr, s: Expr, total: Expr) -> Any:
        s = np.sin(s) * 1.1 + x
        return s, total + np.sin(s * s)

    return for_loop(n, [x, constant(0.0, F64)], step)[1]


def two_steps(x: Expr, n: Expr) -> Any:
    """Three numbers in a row: each is recovered from the preceding one, one trip later."""

    def step(_: Expr, old: Expr, s: Expr, total: Expr) -> Any:
        new = np.sin(s) * 0.9 + old * old * 0.1
        return s, new, total + np.sin(new) * s * old

    return for_loop(n, [x, x * 0.5, constant(0.0, F64)], step)[2]


def exchanged(x: Expr, n: Expr) -> Any:
    """If two numbers are exchanged, neither can be recovered from the other forever: one is stored."""

    def step(_: Expr, a: Expr, b: Expr, total: Expr) -> Any:
        return b, a, total * 0.9 + np.sin(a * total) * b * b

    return for_loop(n, [x, x * x, x], step)[2]


def in_a_while(x: Expr, n: Expr) -> Any:
    def step(i: Expr, s: Expr, total: Expr) -> Any:
        s = np.sin(s) * 1.1 + x
        return i + 1, s, total + np.sin(s * s)

    init = [constant(0, I64), x, constant(0.0, F64)]
    return while_loop(init, lambda i, s, total: i < n, step)[2]


def nested(x: Expr, n: Expr) -> Any:
    """The inner loop's result is not available in the reverse of the outer loop: both numbers are stored."""

    def outer(_: Expr, total: Expr) -> Any:
        def step(_: Expr, s: Expr, total: Expr) -> Any:
            s = np.sin(s) * np.cos(s) + x
            return s, total + np.sin(s * s)

        return for_loop(3, [total, constant(0.0, F64)], step)[1]

    return for_loop(n, [x], outer)[0]


def gradient(body: Any) -> ModuleOp:
    module = ModuleOp([])
    ask_vjp(module, "vjp", function(module, "f", [F64, I64], body), [0])
    return expand(module)


@pytest.mark.parametrize(("body", "carried"), [(one, 1), (two_steps, 2), (exchanged, 1), (in_a_while, 1), (nested, 0)])
def test_what_is_carried_is_right(body: Any, carried: int) -> None:
    module, primal = gradient(body), ModuleOp([])
    function(primal, "f", [F64, I64], body)
    text = str(module)
    assert (f"carried = {carried} : i64" in text) if carried else ("carried" not in text)
    for n in (0, 1, 2, 7):
        trips = np.int64(n)
        check_vjp(
            lambda x, trips=trips: callable_of(primal, "f")(x, trips),
            lambda x, u, trips=trips: callable_of(module, "vjp")(x, trips, u),
            (np.float64(0.7),),
        )


def test_one_number_of_the_two_is_stored() -> None:
    text = str(gradient(one))
    assert "stored = 1 : i64, stored_bytes = 8 : i64" in text
    assert sum(isinstance(op, TapeOp) for op in gradient(one).walk()) == 1


def test_steps_of_runge_and_kutta_store_the_state_alone() -> None:
    """Everything else in a step is recomputed, because arithmetic is cheaper than memory. Second order, too."""

    def loss(x, steps):
        u, v = x, 1.0
        total = 0.0
        for _ in range(steps):
            a, b = u - 0.5 * u * v, 0.4 * u * v - v
            p, q = u + 0.05 * a, v + 0.05 * b
            c, d = p - 0.5 * p * q, 0.4 * p * q - q
            u, v = u + 0.1 * c, v + 0.1 * d
            total += u * u + v * v * u
        return total

    lowered = mlirad.grad(loss).lower(1.3, 20)
    assert "carried = 2 : i64" in lowered.as_text("autodiff")
    assert "stored = 2 : i64, stored_bytes = 16 : i64" in lowered.as_text("autodiff")
    first, second = mlirad.grad(loss), mlirad.grad(mlirad.grad(loss))
    np.testing.assert_allclose(first(1.3, 20), loss(1.3 + 1e-30j, 20).imag / 1e-30, rtol=1e-12)
    np.testing.assert_allclose(second(1.3, 20), (first(1.3 + 1e-6, 20) - first(1.3 - 1e-6, 20)) / 2e-6, rtol=1e-7)
