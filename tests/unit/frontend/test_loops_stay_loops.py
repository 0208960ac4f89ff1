"""Loops over coupled numbers stay loops, whatever their first values and however long the chain of numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.errors import UnsupportedSyntaxError

TRIPS = 301


def seir(rate, n):
    susceptible, exposed, infected, recovered, dead = 1.0 - 1e-3, 1e-3, 0.0, 0.0, 0.0
    for _ in range(n):
        new = rate * susceptible * (infected + 0.1 * exposed)
        susceptible, exposed = susceptible - new, exposed + new - 0.2 * exposed
        infected, recovered, dead = infected + 0.2 * exposed - 0.1 * infected, recovered + 0.09 * infected, dead
        dead = dead + 0.01 * infected
    return susceptible + 2 * exposed + 3 * infected + 4 * recovered + 5 * dead


def delay_line(q, n):
    a = b = c = d = e = f = g = 0
    for i in range(n):
        a, b, c, d, e, f, g = q * i - 0.5 * g, a, b, c, d, e, f
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g


def delay_list(q, n):
    line = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    for i in range(n):
        line = [q * i - 0.5 * line[6], *line[:6]]
    return line[0] + 2 * line[3] + 3 * line[6]


def chain_dict(q, n):
    level = {"a": 0, "b": 0, "c": 0, "d": 0, "e": 0, "f": 0}
    for i in range(n):
        level["f"] += level["e"] * level["e"]
        level["e"] += level["d"] - level["e"] // 2
        level["d"] += level["c"] - level["d"] // 2
        level["c"] += level["b"] - level["c"] // 2
        level["b"] += level["a"] - level["b"] // 2
        level["a"] = i % 7 - level["a"] // 2
    return q * level["f"]


@dataclasses.dataclass
class Tank:
    top: float = 0.0
    middle: float = 0.0
    low: float = 0.0
    lower: float = 0.0
    bottom: float = 0.0
    pipe: float = 0.0


def tanks(q, n):
    tank = Tank()
    for _ in range(n):
        tank.pipe += 0.1 * (np.sqrt(tank.bottom + 1.0) - 1.0)
        tank.bottom += 0.1 * (tank.lower - tank.bottom)
        tank.lower += 0.1 * (tank.low - tank.lower)
        tank.low += 0.1 * (tank.middle - tank.low)
        tank.middle += 0.1 * (tank.top - tank.middle)
        tank.top += 0.1 * (q - tank.top)
    return tank.pipe


def while_chain(q, n):
    a = b = c = d = e = 0.0
    while n > 0:
        if c > 0.5:
            e = d * q
        else:
            d = c + 0.1
        e, d, c, b, a = e + d * 0.1, d * 0.5 + c, c * 0.5 + b, b * 0.5 + a, a * 0.5 + q
        n -= 1
    return a + b + c + d + e


MODELS = [seir, delay_line, delay_list, chain_dict, tanks, while_chain]


@pytest.mark.parametrize("known", [True, False], ids=["known", "traced"])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_chain_of_numbers_is_a_loop(model: Callable[..., Any], known: bool):
    kernel = mlirad.jit((lambda q, n: model(q, 301)) if known else model)
    assert kernel(0.3, TRIPS) == pytest.approx(model(0.3, TRIPS), rel=1e-12)
    text = kernel.lower(0.3, TRIPS).as_text("tensor")
    assert text.count("scf.for") + text.count("scf.while") == 1


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_its_derivative(model: Callable[..., Any]):
    step = 1e-6
    slope = (model(0.3 + step, 12) - model(0.3 - step, 12)) / (2 * step)
    assert mlirad.grad(model)(0.3, 12) == pytest.approx(slope, rel=1e-6, abs=1e-9)


def test_a_number_that_does_not_vary_stays_known():
    def f(x, n):
        a = b = c = d = e = 0.0
        axis, order = 0, 0
        for _ in range(n):
            e, d, c, b, a = d, c, b, a, np.sum(x, axis=axis)[1] + 0.5 * e
            order = axis  # bound in each iteration, and needed as a number in the next
            axis = order * 1
        return a + 2 * b + 3 * c + 4 * d + 5 * e

    x = np.arange(6.0).reshape(2, 3)
    assert mlirad.jit(f)(x, TRIPS) == pytest.approx(f(x, TRIPS), rel=1e-12)


def test_a_loop_is_unrolled_for_a_number_that_is_needed_and_varies():
    def f(x, n):
        a, b, c, axis = 1, 0, 1, 0
        for _ in range(4):
            axis, c, b, a = c, b, a, axis
            x = x + np.sum(x, axis=axis, keepdims=True)
        return np.sum(x)

    x = np.arange(6.0).reshape(2, 3)
    kernel = mlirad.jit(f)
    assert kernel(x, 4) == f(x, 4)
    assert "scf.for" not in kernel.lower(x, 4).as_text("tensor")


def test_the_reason_that_is_told_names_what_is_needed():
    def f(x, n):
        a, b, c, d, e, axis = 1, 0, 1, 0, 1, 0
        for _ in range(201):
            axis, e, d, c, b, a = e, d, c, b, a, axis
            x = x - 0.5 * np.sum(x, axis=axis, keepdims=True)
        return np.sum(x)

    with pytest.raises(UnsupportedSyntaxError, match=r"axis.*depends on it"):
        mlirad.jit(f)(np.ones((2, 2)), 1)


def test_a_search_that_is_given_up_inside_a_call_begins_again_outside_of_it():
    def f(z, n):
        k, total = z * 2, 0.0
        for _ in range(len(z)):
            for _ in range(3):
                k, z = z, k

                def g(t):
                    return t * (n + k[0])

                total = total + g(0.5)
        return total, k

    kernel, z = mlirad.jit(f), np.array([1.0, 2.0, 4.0])
    for found, wanted in zip(kernel(z, 2), f(z.copy(), 2), strict=True):
        np.testing.assert_array_equal(found, wanted)
