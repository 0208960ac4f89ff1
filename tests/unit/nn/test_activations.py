"""Activations, normalisation, attention and losses: values by their definitions, first and second derivatives by
differences, at 0 PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import mlirad
from mlirad import nn

RNG = np.random.default_rng(3)
X = RNG.standard_normal((3, 5))
Q, K, V = RNG.standard_normal((2, 4, 3)), RNG.standard_normal((2, 5, 3)), RNG.standard_normal((2, 5, 2))
MASK = np.array([[True, False, True, True, False], [False] * 5, [True] * 5, [False, False, True, False, False]])
LABELS = np.array([4, 0, 2])
SHARES = special.softmax(RNG.standard_normal((3, 5)), axis=-1)
IMAGES = RNG.standard_normal((4, 3, 2, 2))
ONE, TWO = np.array([0.5, 2.0, 1.5]), np.array([0.1, -0.2, 0.3])


def attended(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Attention, query by query, over the keys that it attends to."""
    out = np.zeros((*q.shape[:-1], v.shape[-1]))
    for b, i in np.ndindex(q.shape[:-1]):
        if mask[i].any():
            scores = k[b, mask[i]] @ q[b, i] / np.sqrt(q.shape[-1])
            out[b, i] = special.softmax(scores) @ v[b, mask[i]]
    return out


def normal(x: np.ndarray, axes: Any) -> np.ndarray:
    return (x - x.mean(axis=axes, keepdims=True)) / np.sqrt(x.var(axis=axes, keepdims=True) + 1e-5)


CALLS: list[tuple[Callable[..., Any], tuple[np.ndarray, ...], Any]] = [
    (lambda x: nn.relu(x), (X,), np.maximum(X, 0)),
    (lambda x: nn.leaky_relu(x, 0.2), (X,), np.where(X > 0, X, 0.2 * X)),
    (lambda x: nn.sigmoid(x), (X,), special.expit(X)),
    (lambda x: nn.silu(x), (X,), X * special.expit(X)),
    (lambda x: nn.softplus(x), (X,), np.log1p(np.exp(X))),
    (lambda x: nn.gelu(x), (X,), X * special.ndtr(X)),
    (lambda x: nn.gelu(x, "tanh"), (X,), X / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (X + 0.044715 * X**3)))),
    (lambda x: nn.softmax(x), (X,), special.softmax(X, axis=-1)),
    (lambda x: nn.softmax(x, (0, 1)), (X,), special.softmax(X)),
    (lambda x: nn.log_softmax(x, 0), (X,), special.log_softmax(X, axis=0)),
    (lambda x, s, b: nn.layer_norm(x, s, b), (X.T, ONE, TWO), normal(X.T, -1) * ONE + TWO),
    (lambda x: nn.layer_norm(x, axis=(1, 2, 3)), (IMAGES,), normal(IMAGES, (1, 2, 3))),
    (
        lambda x, s, b: nn.batch_norm(x, s, b),
        (IMAGES, ONE, TWO),
        normal(IMAGES, (0, 2, 3)) * ONE[:, None, None] + TWO[:, None, None],
    ),
    (
        lambda x, m, v: nn.batch_norm(x, mean=m, variance=v * v, axis=-1),
        (X.T, TWO, ONE),
        (X.T - TWO) / np.sqrt(ONE**2 + 1e-5),
    ),
    (lambda q, k, v: nn.attention(q, k, v), (Q, K, V), attended(Q, K, V, np.ones((4, 5), bool))),
    (lambda q, k, v: nn.attention(q, k, v, is_causal=True), (Q, K, V), attended(Q, K, V, np.tri(4, 5, dtype=bool))),
    (lambda q, k, v: nn.attention(q, k, v, MASK), (Q, K, V), attended(Q, K, V, MASK)),
    (lambda x: nn.cross_entropy(x, LABELS), (X,), -special.log_softmax(X, axis=-1)[range(3), LABELS].mean()),
    (
        lambda x: nn.cross_entropy(x, SHARES, reduction="none"),
        (X,),
        -(SHARES * special.log_softmax(X, axis=-1)).sum(-1),
    ),
    (lambda x, y: nn.mse(x, y), (X, SHARES), np.mean((X - SHARES) ** 2)),
    (lambda x, y: nn.mse(x, y, reduction="sum"), (X, SHARES), np.sum((X - SHARES) ** 2)),
]


@pytest.mark.parametrize("first", range(0, len(CALLS), 10))
def test_values_and_derivatives(first: int) -> None:
    """One kernel for ten calls: values, gradients, and the gradient of a slope of the gradient."""
    pack = CALLS[first : first + 10]

    def values(arguments):
        return [call(*each) for (call, _, _), each in zip(pack, arguments, strict=True)]

    def loss(arguments):
        return sum([np.sum(np.sin(value)) for value in values(arguments)])

    arguments = [each for _, each, _ in pack]
    for found, plain, (_, _, expected) in zip(mlirad.jit(values)(arguments), values(arguments), pack, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(plain, expected, rtol=1e-12, atol=1e-14)
    ways = [tuple(RNG.standard_normal(x.shape) for x in each) for each in arguments]

    def moved(h):
        return [tuple(x + h * way for x, way in zip(*pair, strict=True)) for pair in zip(arguments, ways, strict=True)]

    gradient, h = mlirad.grad(loss), 1e-6

    def slope(arguments):
        found = gradient(arguments)
        return sum([np.sum(g * d) for gs, ds in zip(found, ways, strict=True) for g, d in zip(gs, ds, strict=True)])

    np.testing.assert_allclose(slope(arguments), (loss(moved(h)) - loss(moved(-h))) / (2 * h), rtol=1e-6)
    second = mlirad.grad(slope)(arguments)
    higher, lower = gradient(moved(h)), gradient(moved(-h))
    for found, one, other in zip(second, higher, lower, strict=True):
        for part, above, below in zip(found, one, other, strict=True):
            np.testing.assert_allclose(part, (above - below) / (2 * h), rtol=1e-5, atol=1e-6)


def test_derivatives_at_0_and_far_away() -> None:
    def slopes(x):
        return [mlirad.grad(f)(x) for f in (nn.relu, nn.leaky_relu, nn.sigmoid, nn.silu, nn.softplus)]

    assert mlirad.jit(slopes)(0.0) == [0.0, 0.01, 0.25, 0.5, 0.5]
    assert mlirad.jit(slopes)(-1e4) == [0.0, 0.01, 0.0, 0.0, 0.0]
    assert mlirad.jit(slopes)(1e4) == [1.0, 1.0, 0.0, 1.0, 1.0]


def test_dtypes_and_special_numbers() -> None:
    x = np.array([-np.inf, -800.0, 0.0, 800.0, np.nan], np.float32)
    found = mlirad.jit(lambda x: (nn.relu(x), nn.sigmoid(x), nn.softplus(x), nn.gelu(x[1:4]), nn.softmax(x[1:4])))(x)
    expected = (
        np.maximum(x, 0),
        special.expit(x),
        np.array([0, 0, np.log(2), 800, np.nan]),
        np.array([0, 0, 800]),
        np.array([0, 0, 1]),
    )
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, other, rtol=1e-6)
    integers = np.array([-3, 0, 4])
    assert mlirad.jit(nn.relu)(integers).dtype == integers.dtype
    np.testing.assert_array_equal(mlirad.jit(nn.relu)(integers), [0, 0, 4])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: nn.attention(x, x[:, :2], x), "do not fit"),
        (lambda x: nn.cross_entropy(x, np.arange(2)), "labels of shape (2,) for logits of shape (3, 5)"),
        (lambda x: nn.cross_entropy(x, x[0]), "labels of shape (5,)"),
        (lambda x: nn.mse(x, x[0]), "a prediction of shape (3, 5) for a target of shape (5,)"),
        (lambda x: nn.mse(x, x, reduction="max"), "reduction must be"),
        (lambda x: nn.batch_norm(x, np.ones(3)), "scale must have 5 numbers"),
    ],
)
def test_what_does_not_fit_is_refused(call: Any, message: str) -> None:
    for function in (call, mlirad.jit(call)):
        with pytest.raises(ValueError) as error:
            function(X)
        assert message in str(error.value)
