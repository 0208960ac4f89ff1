"""`heapq` on lists whose elements only the run knows: what is popped, how the list is arranged, and derivatives."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import pytest

import mlirad

X = np.random.default_rng(1).normal(size=11)
WEIGHTS = np.abs(np.random.default_rng(0).normal(size=(6, 6)))


def shortest_path(w):
    n = w.shape[0]
    distance = np.full(n, np.inf)
    distance[0] = 0.0
    heap = [(0.0, 0)]
    while heap:
        d, u = heapq.heappop(heap)
        if d > distance[u]:
            continue
        for v in range(n):
            if d + w[u, v] < distance[v]:
                distance[v] = d + w[u, v]
                heapq.heappush(heap, (distance[v], v))
    return distance[n - 1]


def along_edges(w):
    """The same with lists: what is popped is the index into another list, so the loop cannot be unrolled."""
    n = w.shape[0]
    distance, heap = [np.inf] * n, [(0.0, 0)]
    distance[0] = 0.0
    while heap:
        d, u = heapq.heappop(heap)
        if d <= distance[u]:
            for v in range(n):
                if d + w[u, v] < distance[v]:
                    distance[v] = d + w[u, v]
                    heapq.heappush(heap, (distance[v], v))
    return distance[n - 1]


def events(x):
    heap = [(0.2, 1), (0.1, 0)]
    heapq.heapify(heap)
    t = total = 0.0
    while len(heap) > 0 and t < 3.0:
        t, k = heapq.heappop(heap)
        total += t * x[k] ** 2
        heapq.heappush(heap, (t + 0.3 + x[k] ** 2, k))
    return total


def largest(x):
    heap = list(x[:4])
    heapq.heapify(heap)
    for i in range(4, len(x)):
        if x[i] > heap[0]:
            heapq.heapreplace(heap, x[i])
    return sum(v * v for v in heap)


@pytest.mark.parametrize(
    ("function", "x"), [(shortest_path, WEIGHTS), (along_edges, WEIGHTS[:4, :4]), (events, X), (largest, X)]
)
def test_values_and_slopes(function: Any, x: np.ndarray) -> None:
    value, slope = mlirad.value_and_grad(function)(x)
    assert value == pytest.approx(function(x), rel=1e-14)
    along = np.random.default_rng(2).normal(size=x.shape)
    difference = (function(x + 1e-6 * along) - function(x - 1e-6 * along)) / 2e-6
    assert np.sum(slope * along) == pytest.approx(difference, rel=1e-6, abs=1e-8)


def test_the_list_is_arranged_as_by_heapq() -> None:
    def arranged(x):
        heap = []
        for i in range(len(x)):
            heapq.heappush(heap, x[i])
        first = heapq.heappop(heap)
        return heap, first, heapq.heappushpop(heap, 0.0), heapq.heappushpop(heap, -9.0)

    assert mlirad.jit(arranged)(X) == arranged(X)


def test_an_empty_heap_raises() -> None:
    def popped(x):
        heap = []
        for i in range(len(x)):
            if x[i] > 100.0:
                heapq.heappush(heap, x[i])
        return heapq.heappop(heap)

    with pytest.raises(IndexError, match="index out of range"):
        mlirad.jit(popped)(X)
