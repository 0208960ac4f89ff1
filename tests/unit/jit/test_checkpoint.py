"""`mlirad.checkpoint`: the same derivatives to the bit, of all orders and modes, and less memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad

Wrap = Callable[[Any], Any]
RNG = np.random.default_rng(0)
X = RNG.standard_normal(5)


def plain(f: Any) -> Any:
    return f


def mixed(wrap: Wrap) -> Any:
    """Helpers in a loop that write, capture, return numbers, and contain loops."""

    def helper(a, s, *, k=2):
        b = a * s
        for i in range(1, len(b)):
            b[i] = np.sin(b[i - 1] * b[i]) + k
        return b, np.sum(b)

    def writes(a, t):
        a[1:] *= np.exp(-a[:-1] * t)

    def f(x):
        y, total, c = x.copy(), 0.0, x[0] * 2
        for t in range(4):
            z, s = wrap(helper)(y, 0.5 + t, k=3)
            wrap(writes)(y, 0.1)
            y += wrap(lambda q: np.tanh(q * c))(z)
            if s > 1.0:
                total += wrap(lambda v: v * v)(s)
        return np.sum(y * y) + total

    return f


def derivatives(f: Any) -> Any:
    """In all modes, and twice, in one kernel."""

    def all_of_them(x, v):
        out, pullback = mlirad.vjp(f, x)
        return (
            mlirad.grad(f)(x),
            mlirad.jvp(f, (x,), (v,)),
            mlirad.hvp(f, (x,), (v,)),
            (out, pullback(2.0)),
            mlirad.vmap(mlirad.grad(f))(np.stack((x, v))),
        )

    return mlirad.jit(all_of_them)(X, np.cos(X))


@pytest.mark.parametrize("wrap", [mlirad.checkpoint, lambda f: mlirad.checkpoint(mlirad.checkpoint(f))])
def test_derivatives_are_equal_to_the_bit(wrap: Wrap) -> None:
    expected, found = derivatives(mixed(plain)), derivatives(mixed(wrap))
    for one, other in zip(mlirad.tree.leaves(expected), mlirad.tree.leaves(found), strict=True):
        np.testing.assert_array_equal(one, other)


def test_reverse_over_reverse() -> None:
    def along(f: Any) -> Any:
        return mlirad.grad(lambda x: np.sum(np.sin(mlirad.grad(f)(x))))(X)

    np.testing.assert_allclose(along(mixed(mlirad.checkpoint)), along(mixed(plain)), rtol=1e-12)


def block(h, w, v):
    return np.tanh(np.sin(np.tanh(h @ w)) @ v) + h


def straight(wrap: Wrap) -> Any:
    def net(ws, x):
        h = x
        for w, v in ws:
            h = wrap(block)(h, w, v)
        return np.sum(h * h)

    return net


def in_a_loop(wrap: Wrap) -> Any:
    def net(ws, x):
        h = x
        for i in range(len(ws)):
            h = wrap(block)(h, ws[i, 0], ws[i, 1])
        return np.sum(h * h)

    return net


WEIGHTS = RNG.standard_normal((8, 2, 8, 8)) * 0.3
INPUT = RNG.standard_normal((64, 8))


@pytest.mark.parametrize(
    ("program", "weights"),
    [(straight, [(w[0], w[1]) for w in WEIGHTS]), (in_a_loop, WEIGHTS)],
    ids=["straight", "loop"],
)
def test_a_deep_network_needs_40_percent_less(program: Any, weights: Any) -> None:
    """For each layer, the plain gradient keeps four arrays, and the checkpointed one its input."""
    kept, again = (mlirad.grad(program(wrap)) for wrap in (plain, mlirad.checkpoint))
    for one, other in zip(
        mlirad.tree.leaves(kept(weights, INPUT)), mlirad.tree.leaves(again(weights, INPUT)), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    report = again.lower(weights, INPUT).memory()
    assert report.is_exact and report.total.static == again.last_memory()
    assert again.last_memory() <= 0.6 * kept.last_memory()


@mlirad.checkpoint
def decorated(x, power=2):
    """Decorated, and called as it is."""
    return np.sum(x**power)


def test_a_decorator() -> None:
    np.testing.assert_allclose(decorated(X, power=3), decorated.numpy(X, power=3))
    assert mlirad.grad(lambda x: decorated(x, 2))(np.ones(2)).tolist() == [2.0, 2.0]
    assert decorated.__doc__ is not None and "Decorated" in decorated.__doc__


def test_an_error_inside_is_raised_once_at_its_line() -> None:
    @mlirad.checkpoint
    def at(y):
        return y[int(y[0])] * 2.0

    assert mlirad.grad(lambda x: at(x))(np.array([1.0, 2.0])).tolist() == [0.0, 2.0]
    with pytest.raises(IndexError, match=r"index 7 is out of bounds[^\n]*\n *return y\[int"):
        mlirad.grad(lambda x: at(x))(np.array([7.0, 2.0]))


def test_what_it_prints_is_printed_once(capfd: pytest.CaptureFixture[str]) -> None:
    def says(y):
        print("y is", y)
        return np.sin(y)

    mlirad.grad(lambda x: mlirad.checkpoint(says)(x) * 2.0)(1.0)
    assert capfd.readouterr().out == "y is 1.0\n"


@pytest.mark.parametrize("f", [lambda x: x, lambda x: x[1:], lambda x: (x + 1.0,) * 2])
def test_what_is_returned_is_new(f: Any) -> None:
    with pytest.raises(mlirad.UnsupportedSyntaxError, match=r"returns one of its arguments[\s\S]*x.copy\(\)"):
        mlirad.jit(lambda x: mlirad.checkpoint(f)(x))(X)


def recursive(x, n):
    return x if n == 0 else mlirad.checkpoint(recursive)(np.sin(x), n - 1) * 0.9


def around_recursion(x, n):
    return x if n == 0 else mlirad.checkpoint(lambda y: np.sin(y) * y)(around_recursion(x, n - 1)) * 0.9


def test_recursion() -> None:
    n = np.int64(4)
    expected = (around_recursion(1.1 + 1e-6, n) - around_recursion(1.1 - 1e-6, n)) / 2e-6
    np.testing.assert_allclose(mlirad.grad(around_recursion)(1.1, n), expected, rtol=1e-8)
    with pytest.raises(mlirad.DifferentiationError, match="a function that calls itself is checkpointed"):
        mlirad.grad(recursive)(1.1, n)
