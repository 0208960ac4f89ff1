"""mlirad.jet against nested jvp and published series."""

from __future__ import annotations

from math import factorial
from typing import Any, NamedTuple, cast

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mlirad

RNG = np.random.default_rng(5)


class Pair(NamedTuple):
    u: Any
    v: Any


def march(x, c, n):
    """Writes in place, a branch, a `while`, loops in a loop, a recursive function, an array of a size known late."""
    y = x.copy()
    for i in range(1, n):
        for k in range(i):
            y[i] += np.sin(y[k]) * c
        if y[i] > 0.3:
            y[i] /= x[i - 1]
    total = y @ x
    while abs(total) < 5.0:
        total = total * 1.5 + c
    order = np.argsort(y)
    return Pair({"y": y[order] ** 2.5, "n": n}, [power(x, 2) @ np.outer(x, y), np.max(y) * total, np.sqrt(y[y > 0.4])])


def power(x, n):
    return x if n == 0 else np.exp(-x) * power(x * 0.5 + x[::-1], n - 1)


def test_is_jvp_and_its_difference() -> None:
    primals = RNG.uniform(0.1, 1.0, 5), 0.7, 5
    (a, b), (c, d) = (RNG.normal(size=5), RNG.normal(size=5)), (0.3, -1.0)

    @mlirad.jit
    def first(x, y, t):
        return mlirad.jvp(lambda t: march(x + a * t + 0.5 * b * t**2, y + c * t + 0.5 * d * t**2, 5), (t,), (1.0,))

    out, (one, two) = mlirad.jet(march, primals, [[a, b], [c, d], None])
    h = 1e-5
    here, before, after = (first(primals[0], primals[1], t) for t in (0.0, -h, h))
    for found, expected in ((out, march(*primals)), (one, here[1])):
        (leaves, structure), (others, same) = mlirad.tree.flatten(found), mlirad.tree.flatten(expected)
        assert structure == same
        for leaf, other in zip(leaves, others, strict=True):
            assert_allclose(leaf, other, rtol=1e-11, atol=1e-12)
    for leaf, high, low in zip(*(mlirad.tree.leaves(each) for each in (two, after[1], before[1])), strict=True):
        assert_allclose(leaf, (high - low) / (2 * h), rtol=1e-6, atol=1e-6)


def root(a, tolerance=1e-14):
    x = a
    while abs(x * x - a) > tolerance:
        x = 0.5 * (x + a / x)
    return x


def test_known_series() -> None:
    """The derivatives at 0 of functions with tabulated series, and of a root found by iteration."""

    def many(x):
        return np.tan(x), x * np.exp(x) / (1 - x), np.arcsin(x), np.log1p(x)

    _, found = mlirad.jet(many, (0.0,), ([1.0, 0, 0, 0, 0, 0, 0],))
    tan, fraction, arcsin, log = zip(*found, strict=True)
    assert_allclose(tan, [1, 0, 2, 0, 16, 0, 272], atol=1e-10)  # OEIS A000182
    assert_allclose(fraction, [1, 4, 15, 64, 325, 1956, 13699], rtol=1e-13)  # OEIS A007526
    assert_allclose(arcsin, [1, 0, 1, 0, 9, 0, 225], atol=1e-10)  # OEIS A001818
    assert_allclose(log, [(-1) ** k * factorial(k) for k in range(7)], rtol=1e-13)
    _, roots = mlirad.jet(root, (2.0,), ([1.0, 0.0, 0.0],))
    assert_allclose(roots, [2**-1.5, -(2**-3.5), 3 * 2**-5.5], rtol=1e-12)


def test_choices_follow_the_primal() -> None:
    x = np.array([-1.0, 0.0, 4.0])
    function = lambda x: (np.where(x > 0, np.sqrt(x) * np.log(x), 0.0), abs(x), np.maximum(x, 1.0) ** 2)
    _, (first, second) = mlirad.jet(function, (x,), ([np.ones(3), np.zeros(3)],))
    assert_allclose(first[0], [0.0, 0.0, (np.log(4.0) / 2 + 1) / 2], rtol=1e-14)
    assert_allclose(second[0], [0.0, 0.0, -np.log(4.0) / 32], rtol=1e-14)
    assert_allclose(first[1], [-1.0, 0.0, 1.0])
    assert_allclose(second[2], [0.0, 0.0, 2.0])
    _, ((slope, _),) = mlirad.jet(lambda x: (np.sqrt(x), x), (np.array([0.0, 4.0]),), ([np.array([0.0, 1.0])],))
    assert_allclose(slope, [0.0, 0.25])  # a path that does not move annihilates the infinite slope


def test_inside_of_other_transforms() -> None:
    x = RNG.uniform(0.5, 1.0, size=(3, 2)).astype(np.float32)

    def third(x):
        return mlirad.jet(
            lambda x: np.sum(np.sin(x) * x), (x,), ([np.ones_like(x), np.zeros_like(x), np.zeros_like(x)],)
        )[1][2]

    @mlirad.jit
    def several(x):
        return mlirad.vmap(third)(x), mlirad.grad(third)(x[0])

    lanes, slopes = several(x)
    assert lanes.dtype == slopes.dtype == np.float32
    assert_allclose(lanes, np.sum(-3 * np.sin(x) - x * np.cos(x), axis=1), rtol=1e-5)
    assert_allclose(slopes, -4 * np.cos(x[0]) + x[0] * np.sin(x[0]), rtol=1e-5)
    _, (_, second) = mlirad.jet(mlirad.grad(lambda x: np.sum(np.exp(x) * x)), (x[0],), ([x[1], 0 * x[1]],))
    assert_allclose(second, (x[0] + 3) * np.exp(x[0]) * x[1] ** 2, rtol=1e-5)


def test_coefficients_grow_with_the_square_of_the_order() -> None:
    """And not exponentially, as with nested tangents."""
    kernel = lambda order: mlirad.jit(
        lambda x, s: mlirad.jet(lambda x: np.sin(np.exp(x) * x) / np.sqrt(x), (x,), (s,))[1]
    ).lower(0.5, [1.0] * order)
    counts = [kernel(order).as_text("optimized").count(" = nd.") for order in (2, 4, 8)]
    assert counts[2] < 4.5 * counts[1] < 4.5 * 4.5 * counts[0]


def test_refusals() -> None:
    x = np.ones(3)
    with pytest.raises(mlirad.ShapeError, match="1 primals and 2 series"):
        mlirad.jet(np.sin, (x,), ([x], [x]))
    with pytest.raises(mlirad.ShapeError, match="the series have 1 and 2 coefficients"):
        mlirad.jet(np.hypot, (x, x), ([x], [x, x]))
    with pytest.raises(mlirad.ShapeError, match="the series have no coefficients"):
        mlirad.jet(np.sin, (x,), ([],))
    with pytest.raises(mlirad.ShapeError, match="does not have the argument's structure"):
        mlirad.jet(lambda x: x[0], ([x, x],), ([[x]],))
    with pytest.raises(mlirad.ShapeError, match=r"of shape \(2,\) for a value of shape \(3,\)"):
        mlirad.jet(np.sin, (x,), ([np.ones(2)],))


def test_an_array_is_not_the_primals() -> None:
    x = np.ones(3)
    for transform in (mlirad.jvp, mlirad.hvp, mlirad.jet):
        with pytest.raises(TypeError, match=rf"{transform.__name__}\(\): primals is a tuple .* not ndarray"):
            transform(np.sum, x, (x,))
    with pytest.raises(TypeError, match=r"tangents is a tuple .* not float"):
        mlirad.jvp(np.sin, (1.0,), cast(Any, 1.0))


@mlirad.custom_jvp
def forward_rule(x):
    return np.sin(x)


@forward_rule.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    y = forward_rule(x)
    return y, 3.0 * t * np.cos(x) * y


@mlirad.custom_vjp
def reverse_rule(x, y):
    return np.sin(x) * y


reverse_rule.defvjp(lambda x, y: (reverse_rule(x, y), (x, y)), lambda kept, g: (2.0 * g * kept[1], kept[0] * g))


def climb(s, a):
    return s if s > 3.0 else climb(s * 1.5 + 0.2 * np.sin(a * s), a)


@mlirad.custom_vjp
def recursive_rule(s, a):
    return climb(s, a)


def recursive_bwd(kept, g):
    d_s, d_a = mlirad.vjp(climb, *kept)[1](g)
    return d_s, 2.0 * d_a


recursive_rule.defvjp(lambda s, a: (recursive_rule(s, a), (s, a)), recursive_bwd)


def ruled(x):
    total = forward_rule(x) * x
    for i in range(len(x)):
        if x[i] > 0.0:
            total[i] += reverse_rule(x[i], total[0])
    return total


@pytest.mark.parametrize(
    "function",
    [
        ruled,
        lambda x: recursive_rule(x[0], x[1]) * x,
        lambda x: mlirad.root(lambda y, a: y**3 + y - a, 1.0, x[0] * x[1]) * x,
        lambda x: (np.prod(x), np.prod(np.outer(x, np.sin(x) + x), axis=1), np.cumprod(x)),
    ],
    ids=["rules", "a rule of a recursive function", "an equation", "products"],
)
def test_what_has_tangents_and_no_formula(function) -> None:
    """Rules with derivatives that are false on purpose, and products: compared with nested calls of jvp."""
    x, a, b = np.array([0.5, 1.2, 0.0]), np.array([1.0, -0.4, 0.7]), np.array([0.3, 0.2, -0.5])

    @mlirad.jit
    def nested(x):
        first = lambda t: mlirad.jvp(lambda t: function(x + a * t + 0.5 * b * t**2), (t,), (1.0,))[1]
        second = lambda t: mlirad.jvp(first, (t,), (1.0,))[1]
        return first(0.0), second(0.0), mlirad.jvp(second, (0.0,), (1.0,))[1]

    out, found = mlirad.jet(function, (x,), ([a, b, np.zeros(3)],))
    for leaf, other in zip(mlirad.tree.leaves((out, found)), mlirad.tree.leaves((function(x), nested(x))), strict=True):
        assert_allclose(leaf, other, rtol=1e-11, atol=1e-11)
