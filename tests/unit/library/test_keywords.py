"""Keywords and forms of calls that many functions of NumPy take, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from library_calls_of_sizes import size
from library_outcomes import outcome_of, require_same

import mlirad
from mlirad.testing.interpreted import Interpreted

np: Any = numpy  # its types would refuse the calls that raise an exception

WHOLE = np.random.default_rng(5).normal(size=(3, 4))
ARRAYS = (
    WHOLE,
    WHOLE.astype(np.float32)[::-1, ::2],
    np.asfortranarray(WHOLE * 50).astype(np.int16),
    WHOLE > 0,
    WHOLE[:, :0],
    WHOLE[:1, :1],
)


def _into(function: Callable[..., Any], a: Any, **keywords: Any) -> Any:
    out = np.full(a.shape, 7.0)
    result = function(a, a, out=out, **keywords)
    return out, result


def _written(a: Any, where: Any) -> Any:
    np.add(a, a, a, where=where)
    return a


BY_KIND: dict[str, list[Callable[[Any], Any]]] = {
    "where": [
        lambda a: np.add(a, 1.5, np.zeros(a.shape), where=a > 0),
        lambda a: _into(np.divide, a, where=a != 0),
        lambda a: _into(np.multiply, a, where=np.zeros(a.shape, bool)),
        lambda a: _into(np.maximum, a, where=True),
        lambda a: _into(np.maximum, a, where=1),
        lambda a: _into(np.maximum, a, where=a),
        lambda a: _into(np.subtract, a, where=(a > 0)[0]),
        lambda a: _written(a, a > 0),
        lambda a: _written(a, [a.shape[0] > 1]),
        lambda a: np.logical_not(a, where=a > 1, out=np.ones(a.shape, bool)),
        lambda a: np.modf(a / 2, np.ones(a.shape), np.ones(a.shape), where=a > 0),
        lambda a: np.exp(a / 1, where=a > 0).shape,
        lambda a: np.modf(a / 2, where=(a > 0)[0])[1].shape,
    ],
    "dtype": [
        lambda a: np.add(a, 1, dtype=np.float32),
        lambda a: np.add(a, a, dtype=float),
        lambda a: np.exp(a, dtype=np.float32),
        lambda a: np.equal(a, a, dtype=bool),
        lambda a: np.multiply(a, 2, dtype=np.int16),
        lambda a: np.add(a, 1, casting="no"),
        lambda a: np.add(a, np.ones(1), casting="safe", order="K", subok=True),
        lambda a: np.sum(a, axis=0, dtype=np.float32, where=a > 0),
        lambda a: np.add(a, 1, out=np.zeros(a.shape, int), casting="unsafe"),
        lambda a: np.add(a, 1.5, out=np.zeros(a.shape, int)),
    ],
    "means": [
        lambda a: np.mean(a, where=a > 0),
        lambda a: np.mean(a, axis=0, keepdims=True, where=(a > 0)[:1]),
        lambda a: a.mean(0, where=a == a),
        lambda a: np.var(a, axis=1, where=a > 0),
        lambda a: np.var(a, axis=1, correction=1),
        lambda a: np.var(a, axis=1, ddof=1, correction=1),
        lambda a: np.std(a, axis=1, dtype=np.float32 if a.dtype == np.float32 else np.float64, ddof=1),
        lambda a: a.std(0, float, keepdims=True, mean=np.mean(a, 0, float, keepdims=True)),
        lambda a: a.var(axis=(0, 1), where=(a > 0) | (a < 0), keepdims=True),
    ],
    "sizes": [
        lambda a: np.arange(stop=3) + a.size,
        lambda a: np.arange(start=1, stop=size(a), step=2),
        lambda a: np.arange(size(a), dtype=np.float32),
        lambda a: np.arange(size(a), 0, -1),
        lambda a: np.arange(1, size(a), 0 * size(a)),
        lambda a: np.arange(np.sum(a) / 1000, 4.0, 0.5),
        lambda a: np.arange(np.sum(a / 1), None),
        lambda a: np.arange(a) if a.size != 1 else a,
        lambda a: np.linspace(0.0, 1.0, size(a)),
        lambda a: np.linspace(np.sum(a) / 1000, 1.0, size(a) + 1, endpoint=False, retstep=True),
        lambda a: np.linspace(0, np.sum(a) / 1000, 5, dtype=int),
        lambda a: np.linspace(a, 2.0, 4, axis=1),
        lambda a: np.linspace(a[0], [1.0], size(a), axis=-1),
        lambda a: np.linspace(0.0, 1.0, 1 if a.size else 0, retstep=True)[0],
        lambda a: np.linspace(0.0, a.size, -1),
        lambda a: np.linspace(np.sum(a), 1.0, 1, retstep=True)[0],
        lambda a: np.eye(size(a)),
        lambda a: np.eye(size(a), 3, k=1, dtype=int),
        lambda a: np.identity(size(a) + 1, dtype=bool),
        lambda a: np.tri(3, size(a), -1),
        lambda a: np.tril(np.ones((size(a), 3)), 1),
        lambda a: np.eye(size(a) - 100),
    ],
    "joined": [
        lambda a: np.hstack((a, a), dtype=np.float32),
        lambda a: np.vstack([a, a[0]], dtype=np.float64, casting="safe"),
        lambda a: np.stack([a, a], -1, dtype=np.float32),
        lambda a: np.stack([a, a], dtype=np.int8, casting="equiv"),
        lambda a: np.concatenate((a, a), axis=None, dtype=np.int16),
        lambda a: np.repeat(a, np.arange(a.shape[1]), axis=1),
        lambda a: np.repeat(a, [1, 2]),
        lambda a: np.diff(a, prepend=0),
        lambda a: np.diff(a, axis=0, prepend=a[:1], append=[[1]]),
        lambda a: np.diff(a, 2, append=2.5),
        lambda a: np.trace(a, 1, dtype=np.float32),
        lambda a: a.compress([True, False], axis=1),
    ],
    "einsum": [
        lambda a: np.einsum("...j,kj->...k", a, a, optimize=True),
        lambda a: np.einsum("...ij,jk", a[None], a.T, optimize="greedy"),
        lambda a: np.einsum("i...", a),
        lambda a: np.einsum("i...->...", a),
        lambda a: np.einsum("ij...,...->i...", a, a[0, :1]),
        lambda a: np.einsum(a, [0, 1], a, [2, 1], [2, 0]),
        lambda a: np.einsum(a, [5, 1], a, [2, 1]),
        lambda a: np.einsum(a, [0, Ellipsis], [Ellipsis, 0]),
        lambda a: np.einsum("i..->i", a),
        lambda a: np.einsum("ijk...", a),
        lambda a: np.einsum(a, [0, -1]),
    ],
    "places": [
        lambda a: [a[place] * 2 for place in np.ndindex(a.shape)],
        lambda a: [i + 2 * j for i, j in np.ndindex(2, 3)],
        lambda a: [a.size for _ in np.ndindex()],
        lambda a: sum([value * (i - j) for (i, j), value in np.ndenumerate(a / 1)]),
    ],
    "inert": [
        lambda a: np.zeros_like(a, dtype=int, order="K", subok=False, shape=(3,), device=None),
        lambda a: np.full_like(a, 2, subok=True, device="cpu"),
        lambda a: np.asarray(a, device="cpu", like=None),
        lambda a: np.asarray(a, float, like=a),
        lambda a: np.array(a, subok=True, like=a),
        lambda a: np.eye(3, device=None, like=None) + a.size,
        lambda a: np.copy(a, subok=True),
        lambda a: np.broadcast_to(a, (2, *a.shape), subok=True),
        lambda a: a.astype(np.float32, subok=False),
    ],
    "out": [
        lambda a: np.cumsum(a * a, axis=0, out=np.zeros(a.shape, a.dtype)) if a.dtype != bool else a,
        lambda a: np.cumsum(a / 1, 0, None, np.zeros_like(a / 1)),
        lambda a: a.cumsum(1, float, np.zeros(a.shape)),
        lambda a: np.maximum.accumulate(a, 0, None, np.zeros_like(a)),
    ],
}


@pytest.mark.parametrize("kind", BY_KIND)
def test_values(kind: str) -> None:
    for number, call in enumerate(BY_KIND[kind]):
        for array in ARRAYS:
            wanted = outcome_of(call, array.copy("K"))
            try:
                require_same(outcome_of(Interpreted(call, "tensor"), array.copy("K")), wanted)
            except AssertionError as error:
                raise AssertionError(f"call {number} of {array.dtype} {array.shape}: {error}") from error


def test_derivatives_where_a_mask_holds() -> None:
    def loss(x, y):
        ratio = np.full(x.shape, 3.0)
        np.divide(x, y, out=ratio, where=y != 0)
        roots = np.sqrt(x, where=x > 0, out=np.zeros(x.shape))
        return np.sum(ratio * ratio) + np.sum(roots) + np.mean(x, where=y != 0) + np.std(x, where=x > 0)

    x, y = np.array([1.0, -2.0, 0.0, 3.0]), np.array([2.0, 0.0, 0.5, 4.0])
    found = mlirad.grad(loss, argnums=(0, 1))(x, y)
    steps = 1e-6 * np.eye(4)
    wanted = [(loss(x + step, y) - loss(x - step, y)) / 2e-6 for step in steps]
    np.testing.assert_allclose(found[0][[0, 1, 3]], np.array(wanted)[[0, 1, 3]], rtol=1e-7)
    np.testing.assert_allclose(found[1], np.where(y != 0, -2.0 * x**2 / np.where(y == 0, 1.0, y) ** 3, 0.0))
    assert found[0][2] == 1 / 3


def test_loops_over_places_are_loops() -> None:
    def weighted(x):
        total = 0.0
        for (i, j), value in np.ndenumerate(x):
            total += np.sin(value) * (i + 2 * j)
        for i, j in np.ndindex(x.shape):
            x[i, j] *= total
        return np.sum(x * x)

    x = WHOLE.copy()
    assert mlirad.jit(weighted)(x.copy()) == pytest.approx(weighted(x.copy()), rel=1e-13)
    gradient, tangent = mlirad.grad(weighted)(x.copy()), np.cos(x)
    wanted = (weighted(x + 1e-6 * tangent) - weighted(x - 1e-6 * tangent)) / 2e-6
    assert np.sum(gradient * tangent) == pytest.approx(wanted, rel=1e-7)
    assert len(mlirad.jit(weighted).lower(np.ones((30, 40))).as_text("tensor")) < 10_000
