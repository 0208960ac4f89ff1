"""vmap: what each lane gives, by a loop in NumPy; derivatives of it, and of what it maps; what it refuses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad import tree

RNG = np.random.default_rng(13)
X = RNG.normal(size=(5, 3))


def stacked(function: Any, *lanes: Any) -> Any:
    """The results of calls in a loop, stacked."""
    results = [function(*each) for each in zip(*lanes, strict=True)]
    _, structure = tree.flatten(results[0])
    leaves = zip(*(tree.flatten(result)[0] for result in results), strict=True)
    return tree.unflatten(structure, [None if each[0] is None else np.stack(each) for each in leaves])


def assert_same(found: Any, expected: Any) -> None:
    (leaves, structure), (wanted, as_expected) = tree.flatten(found), tree.flatten(expected)
    assert structure == as_expected
    for leaf, want in zip(leaves, wanted, strict=True):
        if want is None:
            assert leaf is None
            continue
        assert leaf.shape == want.shape and leaf.dtype == want.dtype
        np.testing.assert_allclose(leaf, want, rtol=1e-6 if leaf.dtype == np.float32 else 1e-12)


# --- programs of one lane -----------------------------------------------------------------------------------------


def straight(x, w):
    return np.tanh(x @ w) * x[::-1].copy() + np.sort(x), x.max() - np.float32(1.0), 3, {"none": None, "some": [x[1]]}


def branched(x, w):
    y = np.zeros(3)
    if x[0] > 0:
        y[0] = x[0] * w[0, 0]
        return y.sum() * 2.0
    for i in range(3):
        y[i] = x[i] ** 2
        if y[i] > 1.0:
            break
    return y.sum()


def looped(x, w):
    y = x.copy()
    for i in range(1, 3):
        y[i] = np.sin(y[i - 1]) + w[i] @ x
    return y


def searched(x, w):
    a = abs(x[0]) + 1.0
    y, trips = a, 0
    while abs(y * y - a) > 1e-12:
        y = 0.5 * (y + a / y)
        trips += 1
    return y, trips


def indexed(x, w):
    order = np.argsort(x)
    y = x[order] + 0.0
    y[order[:2]] += 1.0
    return y, x[int(order[0])], np.where(x > 0, x, -x)


def nested(x, w):
    return mlirad.vmap(lambda row, a: row @ x + a)(w, x), mlirad.vmap(lambda a: a * x, out_axes=1)(w[0])


def stepped(x, w):
    """A loop and a branch on which all lanes agree."""
    y, c = x, 1.0
    for _ in range(4):
        y = y + 0.1 * np.cos(y) @ w
        c = c * 1.5
    return np.modf(y * 3.0), c, y.mean() if w[0, 0] > -9.0 else y[0] * 2.0, np.cumsum(y) > 0.0, y[:, None] * y[None, 1:]


PROGRAMS = (straight, stepped, branched, looped, searched, indexed, nested)


@mlirad.jit
def all_programs(x, w):
    return [mlirad.vmap(each, in_axes=(0, None))(x, w) for each in PROGRAMS]


def nested_numpy(x, w):
    return np.array([row @ x + a for row, a in zip(w, x, strict=True)]), np.outer(w[0], x).T


@pytest.mark.parametrize("x", [X, X[:1], np.asfortranarray(X)[::-1]], ids=["five", "one", "strided"])
def test_values(x: np.ndarray) -> None:
    w = RNG.normal(size=(3, 3))
    for program, found in zip(PROGRAMS, all_programs(x, w), strict=True):
        plain = nested_numpy if program is nested else program
        expected = stacked(lambda lane, plain=plain: plain(lane, w), x)
        assert_same(found, expected)


def test_axes_are_pytrees() -> None:
    @dataclass
    class Pair:
        first: Any
        second: Any

    def lane(x, named, pair, *, scale):
        return (x * named["a"] + pair.second, [pair.first * scale, named["b"]])

    batch = mlirad.vmap(lane, in_axes=(-1, {"a": None, "b": 0}, Pair(0, None)), out_axes=(1, [0, -1]))
    b, first, scale = RNG.normal(size=(5, 2)), np.arange(5), np.linspace(1, 2, 5, dtype=np.float32)
    found = batch(X.T, {"a": 2.0, "b": b}, Pair(first, 1.5), scale=scale)
    assert_same(found, ((X * 2.0 + 1.5).T, [first * scale, b.T]))
    unmapped = mlirad.vmap(
        lambda x, c: (x + c, c * 2, "as it is", None), in_axes=[0, None], out_axes=(0, None, None, 0)
    )
    shifted, doubled, *rest = unmapped(X, 3.0)
    assert_same(shifted, X + 3.0)
    assert doubled == 6.0 and rest == ["as it is", None]


def test_no_lanes() -> None:
    found = mlirad.vmap(looped, in_axes=(0, None))(np.zeros((0, 3)), np.eye(3))
    assert found.shape == (0, 3)
    with pytest.raises(ValueError, match="there are no lanes"):
        mlirad.vmap(lambda x, c: c, in_axes=(0, None), out_axes=None)(np.zeros((0, 3)), 1.0)


def test_lanes_write_their_own_arguments() -> None:
    def lane(x, y):
        x[0] = x.sum()
        y[:] = x
        return x[0]

    found, expected = [X.copy(), np.zeros((3, 5))], [X.copy(), np.zeros((5, 3))]
    result = mlirad.vmap(lane, in_axes=(0, 1))(*found)
    assert_same(result, stacked(lane, *expected))
    assert_same(found, [expected[0], expected[1].T])


def test_lengths_that_only_the_run_knows() -> None:
    @mlirad.jit
    def selected(x):
        chosen = x[x > 0]
        return mlirad.vmap(lambda a, b: a * 2 + b)(chosen, chosen)

    x = X.ravel()
    assert_same(selected(x), x[x > 0] * 3)


def test_checks_are_those_of_each_lane_in_order() -> None:
    def lane(x, i):
        assert x[0] > -100.0, "too small"
        return x[i]

    batch = mlirad.vmap(lane)
    i = np.array([0, 1, 2, 0, 0])
    assert_same(batch(X, i), X[np.arange(5), i])
    wrong = X.copy()
    wrong[3, 0] = -200.0
    with pytest.raises(AssertionError, match="too small"):
        batch(wrong, i)
    i[2] = 3
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        batch(wrong, i)  # the lane that fails first


def test_a_branch_that_only_raises_raises_in_its_own_lanes() -> None:
    """The exception depends on nothing, but the branch depends on the lane: all lanes at once would raise."""

    def lane(x):
        if x < 0.0:
            raise ValueError("negative")
        return x * 2.0

    assert_same(mlirad.vmap(lane)(np.array([1.0, 2.0])), np.array([2.0, 4.0]))
    with pytest.raises(ValueError, match="negative"):
        mlirad.vmap(lane)(np.array([1.0, -2.0]))
    chosen = mlirad.vmap(lambda x: np.choose(1 * (x > 0.0), [x * 2.0, x]))(np.array([[-1.0, 1.0], [2.0, 0.0]]))
    assert_same(chosen, np.array([[-2.0, 1.0], [2.0, 0.0]]))


# --- derivatives --------------------------------------------------------------------------------------------------


def smooth(x, c):
    y = x.copy()
    for i in range(1, 3):
        y[i] = np.sin(y[i - 1]) * c + y[i]
    total = 0.0
    while y[0] < 4.0:
        y[0] = y[0] * 1.5 + 0.5
        total += y[0] ** 2
    return np.sum(y * y) + total


def test_derivatives_of_lanes_and_lanes_of_derivatives() -> None:
    x, c = np.abs(X) + 0.1, 0.7

    @mlirad.jit
    def all_orders(x, c):
        lanes = mlirad.vmap(smooth, in_axes=(0, None))
        total = lambda x, c: lanes(x, c).sum()
        return (
            mlirad.grad(total, argnums=(0, 1))(x, c),
            mlirad.vmap(mlirad.grad(smooth, argnums=(0, 1)), in_axes=(0, None))(x, c),
            mlirad.jvp(total, (x, c), (x, 1.0))[1],
            mlirad.vmap(lambda x, c: mlirad.jvp(smooth, (x, c), (x, 1.0))[1], in_axes=(0, None))(x, c),
            mlirad.vmap(mlirad.grad(mlirad.grad(smooth, argnums=1), argnums=1), in_axes=(0, None))(x, c),
            mlirad.grad(lambda c: mlirad.vmap(mlirad.grad(smooth, argnums=1), in_axes=(0, None))(x, c).sum())(c),
        )

    (dx, dc), (each_dx, each_dc), along, each_along, second, total_second = all_orders(x, c)

    def f(x, c):
        return np.array([smooth(lane, c) for lane in x])

    h = 1e-6
    steps = h * np.eye(3)
    expected = np.stack([(f(x + step, c) - f(x - step, c)) / (2 * h) for step in steps], axis=1)
    by_c = (f(x, c + h) - f(x, c - h)) / (2 * h)
    np.testing.assert_allclose(each_dx, expected, rtol=1e-6)
    np.testing.assert_allclose(each_dc, by_c, rtol=1e-6)
    np.testing.assert_allclose(dx, each_dx, rtol=1e-12)
    np.testing.assert_allclose(dc, each_dc.sum(), rtol=1e-12)
    np.testing.assert_allclose(each_along, np.sum(expected * x, axis=1) + by_c, rtol=1e-6)
    np.testing.assert_allclose(along, each_along.sum(), rtol=1e-12)
    h = 1e-4
    np.testing.assert_allclose(second, (f(x, c + h) - 2 * f(x, c) + f(x, c - h)) / h**2, rtol=1e-5)
    np.testing.assert_allclose(total_second, second.sum(), rtol=1e-12)


def settled(a, b):
    """A loop that each lane leaves for itself, some at once, with a branch in it and behind it."""
    x, y = a, 1.0
    while abs(x * x - a) > 1e-13 * a:
        y = y * b + x
        x = 0.5 * (x + a / x) if x < 1e3 * b else x * 0.25
    return np.sin(y) / x if x == 1.0 or y > 3.0 else 2.0 * y / (x - 1.0), y


def test_blocks_of_lanes() -> None:
    """Lanes with different trip counts run in blocks, the last 22 one by one."""
    a = np.exp(RNG.uniform(-7.0, 7.0, 150))
    a[::7] = 1.0  # no trip, and the other side of the branch would divide by 0

    @mlirad.jit
    def all_orders(a, b):
        first = lambda a, b: settled(a, b)[0]
        lanes = mlirad.vmap(settled, in_axes=(0, None))
        slopes = mlirad.vmap(mlirad.grad(first, argnums=(0, 1)), in_axes=(0, None))
        return (
            lanes(a, b),
            slopes(a, b),
            mlirad.grad(lambda a, b: lanes(a, b)[0].sum(), argnums=(0, 1))(a, b),
        )

    values, (by_a, by_b), (total_by_a, total_by_b) = all_orders(a, 0.3)
    assert_same(values, stacked(lambda a: settled(a, 0.3), a))
    assert not np.isnan(total_by_a).any()
    np.testing.assert_allclose(total_by_a, by_a, rtol=1e-11)
    assert total_by_b == pytest.approx(by_b.sum(), rel=1e-11)
    h = 1e-6
    f = lambda b: np.array([settled(x, b)[0] for x in a])
    np.testing.assert_allclose(by_b, (f(0.3 + h) - f(0.3 - h)) / (2 * h), rtol=1e-5, atol=1e-7)


def factorials(n, x):
    return x if n < 1 else n * factorials(n - 1, x) * x


def test_recursion() -> None:
    n, x = np.array([0, 3, 5]), np.array([2.0, 0.5, 1.5])
    batch = mlirad.vmap(factorials)
    np.testing.assert_allclose(batch(n, x), [factorials(*each) for each in zip(n, x, strict=True)])
    slopes = mlirad.vmap(mlirad.grad(factorials, argnums=1))(n, x)
    np.testing.assert_allclose(slopes, [1.0, 6 * 4 * 0.5**3, 120 * 6 * 1.5**5])


# --- refusals -----------------------------------------------------------------------------------------------------

TOTAL = np.zeros(1)


def writes_outside(x):
    TOTAL[0] += x[0]
    return x


def writes_shared(x, y):
    y[0] = x[0]
    return x


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mlirad.vmap(looped)(X, 2.0), "argument 1 of looped is a Python float, which has no axis 0"),
        (lambda: mlirad.vmap(looped)(X, np.eye(3)), "one argument has 5 lanes, and another one 3"),
        (lambda: mlirad.vmap(looped, in_axes=(2, None))(X, X), "argument 0 of looped has 2 axes, and no axis 2"),
        (lambda: mlirad.vmap(looped, in_axes=(0,))(X, X), "in_axes of looped has 1 item for 2 arguments"),
        (lambda: mlirad.vmap(looped, in_axes=None)(X, X), "no argument of looped has lanes"),
        (
            lambda: mlirad.vmap(looped, in_axes=([0, 1], None))(X, X),
            "axes of argument 0 of looped have another structure",
        ),
        (
            lambda: mlirad.vmap(looped, in_axes=(0, None), out_axes=3)(X, X[:3]),
            "the stacked result of looped has 2 axes",
        ),
        (lambda: mlirad.vmap(looped, in_axes=(0, None), out_axes=None)(X, X[:3]), "differs from lane to lane"),
        (lambda: mlirad.vmap(looped, (0, None), (0, 0))(X, X[:3]), "out_axes has another structure"),
        (lambda: mlirad.vmap(lambda x: x[x > 0])(X), "may differ from lane to lane"),
        (lambda: mlirad.vmap(writes_outside)(X), "writes_outside is called for each lane, and writes data"),
        (lambda: mlirad.vmap(writes_shared, (0, None))(X, X[0]), "writes data that all lanes share"),
        (lambda: mlirad.vmap(looped, in_axes="rows"), "an axis of vmap is an int or None"),
    ],
)
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError, mlirad.CompileError), match=message) as caught:
        call()
    if isinstance(caught.value, mlirad.CompileError):
        assert caught.value.filename == __file__
