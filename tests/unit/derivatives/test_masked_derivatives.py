"""If a program takes one branch, the other has no influence on any derivative, even if it is infinite or nan there.

Each piece is singular somewhere in its first three derivatives; each way keeps the singular points from the result, as
select, mask, branch, slice, write or extremum. Forward and reverse mode, in every order of three, give the derivatives
of the branch that is taken, which Taylor series give (tests/support/jets.py).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from jets import derivatives

import mlirad
from mlirad.testing.interpreted import Interpreted

# (what is computed, the points at which it is not needed, the points at which it is)
PIECES: dict[str, tuple[Callable[[Any], Any], tuple[float, ...], tuple[float, ...]]] = {
    "x log x": (lambda x: x * np.log(x), (0.0, -1.0), (0.5, 2.0)),
    "log x": (lambda x: np.log(x), (0.0, -2.0), (0.5, 1.0)),
    "log x squared": (lambda x: np.log(x) * np.log(x), (0.0,), (1.0, 2.0)),
    "exp x": (lambda x: np.exp(x), (800.0, 1e5), (1.0, 2.0)),
    "exp of exp": (lambda x: np.exp(np.exp(x)), (7.0, 800.0), (0.5, 1.0)),
    "sin x / x": (lambda x: np.sin(x) / x, (0.0,), (0.5, -2.0)),
    "1 / x": (lambda x: 1.0 / x, (0.0,), (0.5, -2.0)),
    "x / (x - 1)": (lambda x: x / (x - 1.0), (1.0,), (0.5, 3.0)),
    "sqrt x": (lambda x: np.sqrt(x), (0.0, -1.0), (0.5, 2.0)),
    "x sqrt x": (lambda x: x * np.sqrt(x), (0.0,), (0.5, 2.0)),
    "x ** 1.5": (lambda x: x**1.5, (0.0,), (0.5, 2.0)),
    "x ** 2.5": (lambda x: x**2.5, (0.0, -1.0), (0.5, 2.0)),
    "exp(-1 / x)": (lambda x: np.exp(-1.0 / x), (0.0,), (0.5, 2.0)),
    "tanh(1 / x)": (lambda x: np.tanh(1.0 / x), (0.0,), (0.5, -2.0)),
    "sqrt x log x": (lambda x: np.sqrt(x) * np.log(x), (0.0,), (0.5, 2.0)),
    "x exp(x) / (exp(x) + 1)": (lambda x: x * np.exp(x) / (np.exp(x) + 1.0), (800.0,), (0.5, -2.0)),
}

Way = Callable[[Callable[[Any], Any]], Callable[..., Any]]
"""From a piece to a program of (x, needed): the sum of the piece where it is needed, and of x**3 elsewhere."""


def select(f):
    return lambda x, needed: np.sum(np.where(needed, f(x), x * x * x))


def select_twice(f):
    def program(x, needed):
        y = np.where(needed, f(x), 1.0)
        return np.sum(np.where(needed, y * 2.0 - y, x * x * x))

    return program


def mask_write(f):
    def program(x, needed):
        y = f(x)
        y[~needed] = 0.0
        return np.sum(y) + np.sum(np.where(needed, 0.0, x * x * x))

    return program


def mask_read(f):
    def program(x, needed):
        y = f(x)
        return y[needed].sum() + (x[~needed] * x[~needed] * x[~needed]).sum()

    return program


def branch(f):
    def program(x, needed):
        total = 0.0
        for i in range(x.shape[0]):
            total += f(x[i]) if needed[i] else x[i] * x[i] * x[i]
        return total

    return program


def branch_after(f):
    """The value is computed before the branch that needs it."""

    def program(x, needed):
        total = 0.0
        for i in range(x.shape[0]):
            y = f(x[i])
            if needed[i]:
                total += y
            else:
                total += x[i] * x[i] * x[i]
        return total

    return program


def element_after(f):
    """The array is computed before the loop that reads some elements."""

    def program(x, needed):
        y, total = f(x), 0.0
        for i in range(x.shape[0]):
            if needed[i]:
                total += y[i]
            else:
                total += x[i] * x[i] * x[i]
        return total

    return program


def element_write(f):
    def program(x, needed):
        y = np.empty(x.shape[0])
        for i in range(x.shape[0]):
            y[i] = f(x[i])
        for i in range(x.shape[0]):
            if not needed[i]:
                y[i] = x[i] * x[i] * x[i]
        return np.sum(y)

    return program


def zero_trips(f):
    """A loop of no trips does not need what it would read."""

    def program(x, needed):
        total = 0.0
        for i in range(x.shape[0]):
            y = f(x[i])
            for _ in range(1 * needed[i]):
                total += y
            for _ in range(1 - 1 * needed[i]):
                total += x[i] * x[i] * x[i]
        return total

    return program


def callee(f):
    def chosen(x, y, is_needed):
        if is_needed:
            return y
        return x * x * x

    def program(x, needed):
        total = 0.0
        for i in range(x.shape[0]):
            total += chosen(x[i], f(x[i]), needed[i])
        return total

    return program


def gather(f):
    def program(x, needed):
        y = np.where(needed, f(x), x * x * x)
        return np.sum(y[np.arange(x.shape[0])[::-1]] * 1.0)

    return program


def slices(f):
    """The first half of the points is not needed."""

    def program(x, needed):
        y, h = f(x), x.shape[0] // 2
        return np.sum(y[h:]) + np.sum(x[:h] * x[:h] * x[:h])

    return program


def overwritten(f):
    def program(x, needed):
        y, h = f(x), x.shape[0] // 2
        y[:h] = x[:h] * x[:h] * x[:h]
        return np.sum(y)

    return program


def loop_carried(f):
    def program(x, needed):
        y = 0.0 * np.where(needed, 1.0, 1.0)
        for _ in range(2):
            y = np.where(needed, y + 0.5 * f(x), x * x * x)
        return np.sum(y)

    return program


WAYS: dict[str, Way] = {way.__name__: way for way in (
    select, select_twice, mask_write, mask_read, branch, branch_after, element_after, element_write, zero_trips, callee,
    gather, slices, overwritten, loop_carried,
)}  # fmt: skip


def _ones(x):
    return np.where(x == x, 1.0, 1.0)


def r(f):
    return mlirad.grad(f)


def f(program):
    def columns(x, needed):
        found = np.empty(4)
        for i in range(4):
            one = np.zeros(4)
            one[i] = 1.0
            found[i] = mlirad.jvp(lambda y: program(y, needed), (x,), (one,))[1]
        return found

    return columns


def rr(f):
    return mlirad.grad(lambda x, needed: np.sum(r(f)(x, needed)))


def fr(f):
    return lambda x, needed: mlirad.jvp(lambda y: r(f)(y, needed), (x,), (_ones(x),))[1]


def rf(f):
    return mlirad.grad(lambda x, needed: mlirad.jvp(lambda y: f(y, needed), (x,), (_ones(x),))[1])


def rrr(f):
    return mlirad.grad(lambda x, needed: np.sum(rr(f)(x, needed)))


def frr(f):
    return lambda x, needed: mlirad.jvp(lambda y: rr(f)(y, needed), (x,), (_ones(x),))[1]


def rfr(f):
    return mlirad.grad(lambda x, needed: np.sum(fr(f)(x, needed)))


def ffr(f):
    return lambda x, needed: mlirad.jvp(lambda y: fr(f)(y, needed), (x,), (_ones(x),))[1]


def frf(f):
    return lambda x, needed: mlirad.jvp(lambda y: rf(f)(y, needed), (x,), (_ones(x),))[1]


ORDERS = {1: (r, f), 2: (rr, fr, rf), 3: (rrr, frr, rfr, ffr, frf)}
MODES = [(order, mode) for order, modes in ORDERS.items() for mode in modes]


def check(
    piece: str, way: str, order: int, mode: Callable[..., Any], compiled: Callable[..., Any] = mlirad.jit
) -> None:
    function, needless, needed = PIECES[piece]
    x = np.array([*needless, *needed] if len(needless) == 2 else [*needless, *needless, *needed])
    holds = np.array([False, False, True, True])
    expected = [_cube(order, at) for at in x[:2]] + [derivatives(function, at)[order] for at in x[2:]]
    found = compiled(mode(WAYS[way](function)))(x, holds)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=f"{piece}, {way}, {mode.__name__}")


def _cube(order: int, x: float) -> float:
    return (x * x * x, 3.0 * x * x, 6.0 * x, 6.0)[order]


CASES = [(piece, way, order, mode) for piece in PIECES for way in WAYS for order, mode in MODES]


@pytest.mark.parametrize(("piece", "way", "order", "mode"), random.Random(6).sample(CASES, 50))
def test_what_is_not_needed_has_no_say(piece, way, order, mode) -> None:
    check(piece, way, order, mode, Interpreted)


@pytest.mark.parametrize("piece", ["x log x", "x ** 1.5"])
@pytest.mark.parametrize("mode", [rr, fr])
def test_what_is_not_needed_has_no_say_natively(piece, mode) -> None:
    check(piece, "select", 2, mode)


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("piece", PIECES)
def test_every_piece_in_every_way(piece, way) -> None:
    for order, mode in MODES:
        check(piece, way, order, mode)


def test_a_cotangent_of_zero_by_its_value_keeps_its_own_derivative() -> None:
    """d/dx of 2 log(x) / x at 1; the first factor is the cotangent of the logarithm."""
    f = mlirad.grad(lambda x: np.log(x) ** 2)
    assert (f(1.0), mlirad.grad(f)(1.0), mlirad.jvp(f, (1.0,), (1.0,))[1]) == (0.0, 2.0, 2.0)
    assert mlirad.grad(mlirad.grad(lambda x, y: (x / y) ** 2))(0.0, 2.0) == 0.5


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lambda x: np.sum(np.minimum(np.exp(x), 5.0)), [800.0, 1.0], [0.0, np.e]),
        (lambda x: np.sum(np.maximum(x * np.log(x), -0.25)), [0.5, 2.0], [0.0, 1.0 + np.log(2.0)]),
        (lambda x: np.sum(np.clip(np.exp(x), 0.0, 5.0)), [800.0, 1.0], [0.0, np.e]),
        (lambda x: np.min(np.exp(x) * x), [800.0, 1.0], [0.0, 2.0 * np.e]),
        (lambda x: np.where(x[0] > 0.0, np.max(np.log(x)), x[1]), [-1.0, 3.0], [0.0, 1.0]),
    ],
)
def test_extrema_keep_what_they_do_not_choose_from_the_derivative(f, x, expected) -> None:
    np.testing.assert_allclose(mlirad.grad(f)(np.array(x)), expected)


def test_one_row_of_a_jacobian() -> None:
    """A cotangent of one 1 asks for one element of the result."""
    _, pullback = mlirad.vjp(lambda x: x * np.log(x), np.array([0.0, 2.0]))
    (row,) = pullback(np.array([0.0, 1.0]))
    np.testing.assert_allclose(row, [0.0, 1.0 + np.log(2.0)])
