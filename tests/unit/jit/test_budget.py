"""`checkpoint=` bytes: what a reverse sweep keeps stays within a budget; its gradient is the plain one to the bit."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import scf
from xdsl.dialects import test as unregistered
from xdsl.ir import Block

import mlirad
from mlirad.autodiff.requests.budget import SLOT, Checkpointed
from mlirad.dialect.core import types

RNG = np.random.default_rng(0)
X = RNG.random(50) * 0.8 + 0.2
W = RNG.standard_normal((20, 20)) * 0.3


def stencil(x, n):
    a = x.copy()
    for t in range(n):
        for i in range(1, len(a) - 1):
            a[i] = np.sin(a[i - 1] * a[i] * a[i + 1] + 0.01 * t) * x[0]
    return np.sum(a * a)


def recurrent(h, w, n):
    for _ in range(n):
        h = np.tanh(h @ w) + np.sin(h)
    return np.sum(h * h)


def nested(x, n):
    """The trips of the inner loop do not fit in a part of the budget: both loops are checkpointed."""
    a = x.copy()
    for _ in range(20):
        for j in range(n):
            a = np.sin(a * x + j)
        a = a * np.cos(a)
    return np.sum(a)


def until(x):
    v, w = x[0], x[1] * 0.1
    while v * v + w * w < 200.0:
        v = v + 0.01 * w + 0.002 * x[2] * np.cos(v)
        w = w + 0.02 * np.sin(v) * x[3] + 0.01
    return v * w


def layer(h, w):
    return np.tanh(np.sin(np.tanh(h @ w)) * h)


def with_a_helper(h, w, n):
    for _ in range(n):
        h = layer(layer(h, w), w)
    return np.sum(h * h)


def deep(ws, h):
    """Straight code: little crosses from layer to layer, and a layer keeps arrays of 32 columns."""
    for w, v in ws:
        a = np.tanh(h @ w)
        h = np.tanh(np.sin(a * a) @ v) + h
    return np.sum(h * h)


WEIGHTS = tuple((RNG.standard_normal((2, 32)), RNG.standard_normal((32, 2)) * 0.3) for _ in range(36))
PROGRAMS: list[tuple[Any, tuple[Any, ...], int]] = [
    (stencil, (X, 100), X.nbytes),
    (recurrent, (X[:20], W, 200), X[:20].nbytes),
    (nested, (X, 60), X.nbytes),
    (until, (X,), X.nbytes),
    (with_a_helper, (RNG.random((30, 20)), W, 100), 30 * 20 * 8),
    (deep, (WEIGHTS, RNG.random((100, 2))), 100 * 32 * 8),
]
"""Each with the bytes of the arrays that it computes with."""


@pytest.mark.parametrize(
    "share", [pytest.param(1, marks=pytest.mark.full), pytest.param(4, marks=pytest.mark.full), 16]
)
@pytest.mark.parametrize(("f", "args", "array"), PROGRAMS, ids=lambda each: getattr(each, "__name__", ""))
def test_the_budget_is_kept(f: Any, args: Any, array: int, share: int) -> None:
    """The arrays that a sweep computes with come on top: a few."""
    plain = mlirad.grad(f)
    expected, all_of_it = plain(*args), plain.last_memory()
    assert all_of_it is not None
    bounded = mlirad.grad(f, checkpoint=all_of_it // share)
    found = bounded(*args)
    for one, other in zip(mlirad.tree.leaves(expected), mlirad.tree.leaves(found), strict=True):
        np.testing.assert_array_equal(other, one)
    memory = bounded.last_memory()
    assert memory is not None and memory <= all_of_it // share + 6 * array


def test_two_loops_share_a_budget_and_a_small_tape_is_left_alone() -> None:
    def f(x):
        a = b = x
        for _ in range(3):
            a = np.sin(a)
        for _ in range(300):
            b = np.sin(b * a)
        for _ in range(200):
            b = np.cos(b * a)
        return np.sum(b)

    plain, bounded = mlirad.grad(f), mlirad.grad(f, checkpoint=40_000)
    np.testing.assert_array_equal(plain(X), bounded(X))
    memory = bounded.last_memory()
    assert memory is not None and 0 < memory < 45_000
    assert bounded.lower(X).as_text("autodiff").count("checkpointed = ") == 2


def test_legs_have_a_slot_and_keep_their_budget() -> None:
    """A leg's tape gets half of the budget, but never the room of the state that it starts from: without a slot, that
    state was written outside of its memory."""
    one = unregistered.TestOp(result_types=[types.I64]).results[0]
    op = scf.ForOp(one, one, one, [], Block(arg_types=[types.I64]))
    for state, trip, fixed, step, initial, more in product(*[(8, 90, 900)] * 2, *[(0, 300)] * 4):
        loop = Checkpointed(op, state, trip, fixed, step + 1, initial)
        legs = loop.legs(loop.least + more)
        assert legs.slots >= 1 and legs.leg >= 1
        of_a_leg = fixed + legs.leg * trip if legs.budget is None else legs.budget
        assert initial + legs.slots * (state + SLOT) + of_a_leg <= loop.least + more


def test_second_order_and_split_sweeps() -> None:
    f, v = mlirad.jit(lambda x: stencil(x, 30), checkpoint=2000), np.cos(X)
    plain = mlirad.jit(lambda x: stencil(x, 30))
    np.testing.assert_array_equal(mlirad.vjp(f, X)[1](1.0)[0], mlirad.vjp(plain, X)[1](1.0)[0])
    np.testing.assert_array_equal(mlirad.hvp(f, (X,), (v,))[0], mlirad.hvp(plain, (X,), (v,))[0])

    def along(g: Any) -> Any:
        return mlirad.grad(lambda x: np.sum(g(x) * v))

    twice = mlirad.jit(along(mlirad.grad(lambda x: stencil(x, 30))), checkpoint=2000)(X)
    np.testing.assert_allclose(twice, mlirad.hvp(plain, (X,), (v,))[0], rtol=1e-10)


def test_a_budget_that_cannot_be_kept_is_refused_with_one_that_can() -> None:
    with pytest.raises(
        mlirad.DifferentiationError, match=r"stores more than 100 bytes[\s\S]*for _ in range\(n\)"
    ) as caught:
        mlirad.grad(recurrent, checkpoint=100)(X[:20], W, 50)
    least = int(str(caught.value.hint).split("about ")[1].split(" ")[0].replace(",", ""))
    assert 160 < least < 2000
    gradient = mlirad.grad(recurrent, checkpoint=least)(X[:20], W, 50)
    np.testing.assert_array_equal(gradient, mlirad.grad(recurrent)(X[:20], W, 50))
    with pytest.raises(mlirad.DifferentiationError, match="stores more than 9,999 bytes"):
        mlirad.grad(deep, checkpoint=9999)(WEIGHTS, np.ones((100, 2)))


def test_what_is_no_budget_is_refused() -> None:
    for wrong, error in ((1.5, TypeError), (True, TypeError), ("sqrt", TypeError), (-1, ValueError)):
        with pytest.raises(error, match="checkpoint is a number of bytes"):
            mlirad.jit(stencil, checkpoint=wrong)
