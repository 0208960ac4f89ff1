"""Functions of heapq, in Python: a list is arranged as `heapq` arranges it, comparison by comparison.

Reads: lists. Writes: the lists. Leaves: items of them.
"""

from __future__ import annotations

from typing import Any

from mlirad.library.spells import spells


def _rise(heap: Any, place: Any, root: Any) -> None:
    """Move an item up, below a parent that is not larger."""
    item = heap[place]
    while place > root and item < heap[(place - 1) >> 1]:
        heap[place] = heap[(place - 1) >> 1]
        place = (place - 1) >> 1
    heap[place] = item


def _sink(heap: Any, root: Any) -> None:
    """Move an item down to a leaf, past the smaller child each time, and up again to its place."""
    item = heap[root]
    size, place = len(heap), root
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and not heap[child] < heap[child + 1]:
            child += 1
        heap[place] = heap[child]
        place = child
    heap[place] = item
    _rise(heap, place, root)


def _replace(heap: Any, item: Any) -> Any:
    smallest = heap[0]
    heap[0] = item
    _sink(heap, 0)
    return smallest


@spells("heapq.heappush", complex=True, changes_list=True)
def heappush(heap: Any, item: Any, /) -> None:
    heap.append(item)
    _rise(heap, len(heap) - 1, 0)


@spells("heapq.heappop", complex=True, changes_list=True)
def heappop(heap: Any, /) -> Any:
    if len(heap) == 0:
        raise IndexError("index out of range")
    last = heap.pop()
    if len(heap) == 0:
        return last
    return _replace(heap, last)


@spells("heapq.heapreplace", complex=True, changes_list=True)
def heapreplace(heap: Any, item: Any, /) -> Any:
    if len(heap) == 0:
        raise IndexError("index out of range")
    return _replace(heap, item)


@spells("heapq.heappushpop", complex=True, changes_list=True)
def heappushpop(heap: Any, item: Any, /) -> Any:
    if len(heap) > 0 and heap[0] < item:
        return _replace(heap, item)
    return item


@spells("heapq.heapify", complex=True, changes_list=True)
def heapify(x: Any, /) -> None:
    for place in range(len(x) // 2 - 1, -1, -1):
        _sink(x, place)
