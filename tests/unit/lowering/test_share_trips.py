"""Trips that threads share compute the same as one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import scf

import mlirad
from mlirad.analysis.loops import counts_from_zero, trip_count
from mlirad.lowering.trips.share_trips import ShareTrips

Loss = Callable[..., Any]


@pytest.fixture
def strips_of_three(monkeypatch: pytest.MonkeyPatch) -> None:
    """However short trips are, threads share them in three strips."""

    def strips(_: ShareTrips, loop: scf.ForOp) -> int:
        trips = trip_count(loop)
        return 0 if trips is None or not counts_from_zero(loop) else min(3, trips)

    monkeypatch.setattr(ShareTrips, "_strips", strips)


def layers(x: Any, w: Any) -> Any:
    """Small products and temporaries for each row, and a gradient that all trips add to."""
    y = np.zeros((x.shape[0], w.shape[1]))
    for i in range(x.shape[0]):
        h = np.tanh(x[i].reshape(3, 4) @ w)
        y[i] = np.sum(h * h, axis=0) - h[1] * h[2]
    return np.sum(y * y)


def both_ends(x: Any, w: Any) -> Any:
    """A trip writes a row at each end; near the middle the rows of different trips meet."""
    y = np.zeros((x.shape[0], 12))
    for i in range(x.shape[0]):
        y[i] += np.sin(x[i])
        y[x.shape[0] - 1 - i] += np.cos(x[i]) * w[0, 0]
    return np.sum(y * y)


def two_rows(x: Any, w: Any) -> Any:
    """Pairs of neighbouring rows, each pair written by one trip."""
    y = np.zeros((2 * x.shape[0], 12))
    for i in range(x.shape[0]):
        y[2 * i] = x[i] * w[0, 0]
        y[2 * i + 1] = np.sin(y[2 * i]) + np.sum(x[i])
    return np.sum(y * y)


def each_of_the_last(x: Any, w: Any) -> Any:
    """A row needs the row before."""
    y = np.zeros((x.shape[0] + 1, 12))
    for i in range(x.shape[0]):
        y[i + 1] = np.sin(y[i] + x[i] * w[0, 1])
    return np.sum(y)


def total(x: Any, w: Any) -> Any:
    """A number that all trips add to."""
    t = 1.0
    for i in range(x.shape[0]):
        h = np.sin(x[i]) * w[0, 0]
        t += np.sum(h * h)
    return t


def largest(x: Any, w: Any) -> Any:
    """The largest number so far, which a trip compares with its own."""
    most = w[0, 0]
    for i in range(x.shape[0]):
        most = max(most, np.max(np.sin(x[i])))
    return most


def loop_in_loop(x: Any, w: Any) -> Any:
    """The inner loop carries an array: such a loop stays."""
    y = np.zeros(x.shape)
    for i in range(x.shape[0]):
        z = np.zeros(12)
        for k in range(3):
            z = np.sin(z + x[i] * w[k, 0])
        y[i] = z
    return np.sum(y * y)


LOSSES = (layers, both_ends, two_rows, each_of_the_last, total, largest, loop_in_loop)
SHARED = (layers, two_rows, total)
"""Some loops of these are shared."""


@pytest.mark.usefixtures("strips_of_three")
@pytest.mark.parametrize(("loss", "rows"), [*((loss, 7) for loss in LOSSES), (layers, 1)])
def test_gradients_of_shared_loops(loss: Loss, rows: int) -> None:
    rng = np.random.default_rng(rows)
    x, w = rng.normal(size=(rows, 12)), rng.normal(size=(4, 5))
    alone = mlirad.value_and_grad(loss, argnums=(0, 1), cache=False)
    shared = mlirad.value_and_grad(loss, argnums=(0, 1), parallel=True, cache=False)
    if loss in SHARED and rows > 1:
        assert shared.lower(x, w).as_text("bufferized").count("scf.parallel") > 0
    for _ in range(3):
        for one, other in zip(mlirad.tree.leaves(alone(x, w)), mlirad.tree.leaves(shared(x, w)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)


@pytest.mark.usefixtures("strips_of_three")
def test_products_of_trips_have_memory_of_their_own() -> None:
    """What a product packs does not fit on the stack of a thread, so that each strip has a place in the arena."""
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(7, 100, 20)), rng.normal(size=(20, 140))

    def loss(x: Any, w: Any) -> Any:
        t = 0.0
        for i in range(x.shape[0]):
            h = np.tanh(x[i] @ w)
            g = h.T @ h
            t += np.sum(g * g)
        return t

    alone = mlirad.grad(loss, argnums=(0, 1), cache=False)
    shared = mlirad.grad(loss, argnums=(0, 1), parallel=True, cache=False)
    assert "scf.parallel" in shared.lower(x, w).as_text("bufferized")
    for _ in range(3):
        for one, other in zip(alone(x, w), shared(x, w), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9)
