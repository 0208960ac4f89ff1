"""An extreme that cancels has no derivative: no ties are counted. Others keep their derivative."""

from __future__ import annotations

import numpy as np
import pytest

import mlirad
import mlirad.nn

S = pytest.importorskip("scipy.special")
ROWS, COLUMNS = 4, 5
WEIGHTS = np.cos(np.arange(20.0)).reshape(ROWS, COLUMNS)
LABELS = np.array([0, 2, 1, 2])


def lowered(x, axis):
    return x - np.max(x, axis=axis, keepdims=True)


def entropy(x, labels):
    shifted = lowered(x, 1)
    return np.mean(np.log(np.sum(np.exp(shifted), axis=1)) - shifted[np.arange(len(labels)), labels])


def attention(x):
    powers = np.exp(lowered(x @ x.T, 1))
    return np.sum(WEIGHTS * (powers @ x / np.sum(powers, 1)[:, None]))


CANCELS = {
    "logarithm": lambda x: np.max(x) + np.log(np.sum(np.exp(x - np.max(x)))),
    "least": lambda x: np.min(x) - np.log(np.sum(np.exp(np.min(x) - x))),
    "entropy": lambda x: entropy(x, LABELS),
    "softmax": lambda x: np.sum(WEIGHTS * S.softmax(x, 0)) + np.sum(WEIGHTS * mlirad.nn.log_softmax(x)),
    "logsumexp": lambda x: np.sum(WEIGHTS[0] * S.logsumexp(x, 0)) + np.sum(WEIGHTS * S.log_softmax(x.T, 0).T),
    "attention": attention,
}
STAYS = {
    "a factor": lambda x: np.sum(np.exp(lowered(x, 1)) * WEIGHTS),
    "twice": lambda x: 2.0 * np.max(x) + np.log(np.sum(np.exp(x - np.max(x)))),
    "another function": lambda x: np.max(x) + np.sum(lowered(x, None) ** 2),
    "other rows": lambda x: np.sum(np.log(np.sum(np.exp(lowered(x, 1)), 1)) - lowered(x, 1)[LABELS, LABELS]),
    "across rows": lambda x: (lambda e: np.sum(WEIGHTS * (e / np.sum(e, 0))))(np.exp(lowered(x, 1))),
    "transposed": lambda x: (lambda z: np.sum(WEIGHTS[:, :4] * (z - z.T)))(lowered(x, 1)[:, :4]),
    "transposed sums": lambda x: (lambda e: np.sum(WEIGHTS[:, :4] * e / np.sum(e, 1)))(np.exp(lowered(x[:, :4], 1))),
    "in a loop": lambda x: carried(np.max(x), x),
}


def carried(high, x):
    total = 0.0
    for i in range(len(x)):
        total = total * 0.5 + np.sum(x[i] - high)
    return total


def counts_ties(function):
    text = mlirad.grad(function).lower(np.zeros((ROWS, COLUMNS))).as_text("optimized")
    return "nd.equal" in text


def test_an_extreme_that_cancels_is_stopped():
    assert not [name for name, function in CANCELS.items() if counts_ties(function)]
    assert not [name for name, function in STAYS.items() if not counts_ties(function)]


def test_derivatives():
    def of_all(x):
        return sum(function(x) for function in (*CANCELS.values(), *STAYS.values()))

    x, change = np.random.default_rng(0).normal(size=(2, ROWS, COLUMNS))
    found = np.sum(mlirad.grad(of_all)(x) * change)
    step = 1e-3
    points = [(1.0, 4 / 5), (2.0, -1 / 5), (3.0, 4 / 105), (4.0, -1 / 280)]
    expected = sum(w * (of_all(x + k * step * change) - of_all(x - k * step * change)) for k, w in points) / step
    assert abs(found - expected) < 1e-9 * abs(expected)
    assert abs(mlirad.jvp(of_all, (x,), (change,))[1] - found) < 1e-12 * abs(found)


def test_equal_elements_and_second_derivatives():
    ones = np.ones((ROWS, COLUMNS))

    def logarithm(x):
        return np.sum(np.max(x, 1) + np.log(np.sum(np.exp(lowered(x, 1)), 1)))

    np.testing.assert_allclose(mlirad.grad(logarithm)(ones), ones / COLUMNS, rtol=1e-15)
    change = WEIGHTS
    expected = change / COLUMNS - np.mean(change, 1, keepdims=True) / COLUMNS
    found = mlirad.jvp(mlirad.grad(logarithm), (ones,), (change,))[1]
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)
