"""Arguments chosen by name, passed by keyword, and pytrees in and out of every transform."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mlirad

X = np.array([1.0, 2.0, 4.0])


def energy(x, y=2.0, *, z=1.0):
    return np.sum(x * y) * z + z**2


@dataclass
class Layer:
    w: Any
    b: Any


class Pair(NamedTuple):
    u: Any
    v: Any


def apply(p, n):
    return Pair(p.w @ n.u + p.b, {"s": n.v * 2.0}), Layer(n.u, 3)


P, N = Layer(np.array([[2.0, 1.0], [0.0, 3.0]]), np.ones(2)), Pair(np.array([1.0, 2.0]), 3.0)


def same(found: Any, expected: Any) -> None:
    (leaves, structure), (others, wanted) = mlirad.tree.flatten(found), mlirad.tree.flatten(expected)
    assert structure == wanted
    for leaf, other in zip(leaves, others, strict=True):
        assert_allclose(leaf, other, rtol=1e-13)


def test_arguments_by_name() -> None:
    same(mlirad.grad(energy, argnames="y")(X, 3.0), 7.0)
    same(mlirad.grad(energy, argnames=("z", "x"))(X, z=4.0), (22.0, np.full(3, 8.0)))
    same(mlirad.grad(energy, 0, argnames="z")(X, z=4.0), (np.full(3, 8.0), 22.0))
    same(mlirad.grad(energy)(x=X), np.full(3, 2.0))
    same(mlirad.value_and_grad(energy, argnums=1)(X, y=1.0), (8.0, 7.0))
    same(mlirad.jacfwd(energy, argnames="y")(x=X, y=1.0), 7.0)
    same(mlirad.jacrev(energy, argnames=("z",))(X, z=2.0), (18.0,))
    same(mlirad.hessian(energy, argnames=("y", "z"))(X, z=2.0, y=3.0), ((0.0, 7.0), (7.0, 2.0)))

    @mlirad.jit
    def inside(x):
        product = mlirad.value_and_grad(lambda a, b: a * b * b, argnames=("b", "a"))(b=2.0, a=3.0)
        return product, mlirad.grad(energy, argnames="z")(x, z=2.0), mlirad.grad(energy, (0, 1))(x, 5.0)

    same(inside(X), ((12.0, (12.0, 4.0)), 18.0, (np.full(3, 5.0), 7.0)))
    same(mlirad.grad(mlirad.grad(lambda a, b: a**2 * b, argnames="a"), argnames="b")(3.0, b=2.0), 6.0)
    same(mlirad.vjp(energy, X, z=2.0)[1](1.0), (np.full(3, 4.0),))
    same(mlirad.linearize(energy, X, z=2.0)[1](X), 28.0)


def test_what_is_written_in_keyword_arguments() -> None:
    def fill(x, d):
        d["a"][0] = x
        d["c"] = x
        return x * np.sum(d["a"])

    for option, expected in (({"argnames": "x"}, 10.0), ({"argnames": "d"}, {"a": np.array([0.0, 2.0, 2.0])})):
        d = {"a": X.copy()}
        same(mlirad.grad(fill, **option)(2.0, d=d), expected)
        same(d, {"a": np.array([2.0, 2.0, 4.0]), "c": 2.0})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mlirad.grad(energy, argnames="q")(X), "argnames='q' of energy, which is called with 1 argument"),
        (lambda: mlirad.grad(energy, argnames="z")(X, y=1.0), "called with 1 argument by position and y by keyword"),
        (lambda: mlirad.grad(energy, 0, argnames="x")(X), "names an argument twice"),
        (lambda: mlirad.grad(energy, (0, 0)), r"argnums=\(0, 0\) names an argument twice"),
        (lambda: mlirad.grad(energy, argnames=3), "argnames must be a name or a sequence of names, not 3"),
        (lambda: mlirad.grad(energy, argnums=True), "argnums must be an int or a sequence of ints, not True"),
        (lambda: mlirad.jit(lambda x: mlirad.grad(energy, argnames=0)(x))(X), "argnames must be a name"),
    ],
)
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_dataclasses_and_named_tuples_in_and_out() -> None:
    out, aux = Pair(P.w @ N.u + 1.0, {"s": 6.0}), Layer(N.u, 3)
    by_p, by_n = Layer(np.array([[1.0, 2.0], [1.0, 2.0]]), np.ones(2)), Pair(P.w.sum(0), 2.0)
    value, pullback, rest = mlirad.vjp(apply, P, N, has_aux=True)
    same((value, rest), (out, aux))
    same(pullback(Pair(np.ones(2), {"s": 1.0})), (by_p, by_n))
    tangent = Pair(2 * (P.w @ N.u) + 1.0, {"s": 6.0})
    same(mlirad.jvp(apply, (P, N), (P, N), has_aux=True), (out, tangent, aux))
    value, linear, rest = mlirad.linearize(apply, P, N, has_aux=True)
    same((linear(P, N), rest), (tangent, aux))
    loss = lambda p, n: (np.sum(p.w @ n.u) * n.v, (p, n), 3)
    slopes = Layer(3 * by_p.w, np.zeros(2)), Pair(3 * by_n.u, np.sum(P.w @ N.u))
    same(mlirad.grad(loss, argnums=(0, 1), has_aux=True)(P, N), (slopes, ((P, N), 3)))
    scaled = lambda n: Layer(n.u * n.v, n.v)
    jacobian = Layer(Pair(3 * np.eye(2), N.u), Pair(np.zeros(2), 1.0))
    same(mlirad.jacrev(scaled)(N), jacobian)
    same(mlirad.jacfwd(scaled)(N), jacobian)
    square = lambda n: np.sum(n.u) ** 2 * n.v
    hessian = Pair(Pair(np.full((2, 2), 6.0), np.full(2, 6.0)), Pair(np.full(2, 6.0), 0.0))
    same(mlirad.hessian(square)(N), hessian)
    same(mlirad.hvp(square, (N,), (N,)), (Pair(np.full(2, 36.0), 18.0),))


def test_none_in_an_argument_has_the_gradient_none() -> None:
    """A layer without a bias; None by itself is refused, as any argument without a derivative."""

    def energy(layer):
        return np.sum(layer.w**2) if layer.b is None else np.sum(layer.w * layer.b)

    for bias, of_weights, of_bias in ((None, 2 * X, None), (X, X, X)):
        found = mlirad.grad(energy)(Layer(X, bias))
        assert_allclose(found.w, of_weights)
        assert (found.b is None) if of_bias is None else np.array_equal(found.b, of_bias)
    pair = (X, None)
    (rows, none), nothing = mlirad.hessian(lambda p: np.sum(p[0] ** 3))(pair)
    assert_allclose(rows, np.diag(6 * X))
    assert none is nothing is None
    assert mlirad.jacfwd(lambda p: p[0] ** 2)(pair)[1] is mlirad.jacrev(lambda p: p[0] ** 2)(pair)[1] is None
    assert mlirad.hvp(lambda p: np.sum(p[0] ** 3), (pair,), (pair,))[0][1] is None
    assert mlirad.grad(lambda p: 3.0)(pair)[1] is None
    with pytest.raises(mlirad.CompileError, match="argument 0 of <lambda> is None"):
        mlirad.grad(lambda p: 3.0)(None)


def test_lanes_of_dataclasses_and_named_tuples() -> None:
    layers, pairs = Layer(np.stack([P.w] * 4), P.b), Pair(np.stack([N.u] * 4), np.arange(4.0))
    out, aux = mlirad.vmap(apply, in_axes=(Layer(0, None), Pair(0, 0)), out_axes=(Pair(1, 0), Layer(0, None)))(
        layers, pairs
    )
    same(out, Pair(np.stack([P.w @ N.u + 1.0] * 4, axis=1), {"s": 2.0 * np.arange(4.0)}))
    same(aux, Layer(pairs.u, 3))
    slopes = mlirad.vmap(mlirad.grad(lambda p, n: np.sum(p.w @ n.u)), in_axes=(Layer(0, None), 0))(layers, pairs)
    same(slopes, Layer(np.broadcast_to(N.u, (4, 2, 2)), np.zeros((4, 2))))


def test_aux_of_several_outputs() -> None:
    def many(x):
        return x * 2, x, [x + 1], {"k": 3}

    aux = (2.0, [3.0], {"k": 3})
    value, pullback, rest = mlirad.vjp(many, 2.0, has_aux=True)
    same((value, pullback(1.0), rest), (4.0, (2.0,), aux))
    same(mlirad.jvp(many, (2.0,), (1.0,), has_aux=True), (4.0, 2.0, aux))
    same(mlirad.jit(lambda x: mlirad.jvp(many, (x,), (1.0,), has_aux=True))(2.0), (4.0, 2.0, aux))
    with pytest.raises(mlirad.DifferentiationError, match="with has_aux=True returns no pair"):
        mlirad.jvp(lambda x: x, (2.0,), (1.0,), has_aux=True)
