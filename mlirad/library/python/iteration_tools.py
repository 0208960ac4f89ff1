"""Functions of itertools, and `filter`, in Python.

Reads: ranges, lists, tuples, texts, arrays. Writes: nothing. Leaves: iterators, which read an array's elements when
Python would: `product`, `combinations` and `permutations` all of them at once. The places of the items are computed
from the number of the trip where that is short, so that loops over them stay loops.
"""

from __future__ import annotations

import itertools
import math
import operator
from typing import Any

import numpy as np

from mlirad.library.primitives import fixed
from mlirad.library.spells import spells

_ENDLESS = 1 << 62


def _sequence(iterable: Any) -> Any:
    """An iterable with numbered elements; iterators have none."""
    if isinstance(iterable, (np.ndarray, list, tuple, range, str)):
        return iterable
    raise NotImplementedError("itertools takes lists, tuples, ranges and arrays here", "make a list of it: list(...)")


def _pool(iterable: Any) -> Any:
    """The elements as they are now."""
    if isinstance(iterable, np.ndarray):
        return iterable.copy() if iterable.ndim == 1 else iterable  # the elements of others are views
    return iterable if isinstance(iterable, range) else tuple(iterable)


def _numbered(item: Any, places: Any) -> Any:
    """An iterator whose element `k` is `item(places[k])`, called when it is read."""
    return map(item, places)


@spells("builtins.filter", complex=True)
def filter_(function: Any, iterable: Any) -> Any:
    if function is None:
        return (item for item in iterable if item)
    return (item for item in iterable if function(item))


@spells("itertools.product", complex=True)
def product(*iterables: Any, repeat: int = 1) -> Any:
    pools = [_pool(each) for each in iterables] * repeat
    total = 1
    for pool in pools:
        total *= len(pool)

    def row(number: Any) -> Any:
        found: tuple[Any, ...] = ()
        for pool in pools[::-1]:
            found = (pool[number % len(pool)], *found)
            number //= len(pool)
        return found

    return _numbered(row, range(total))


def _of_two(pool: Any, span: int, gap: int) -> Any:
    """The pairs i, j of `span` numbers with i < j, in order; the second element is number j - gap of the pool."""
    total = span * (span - 1) // 2

    def pair(number: Any) -> Any:
        left = total - 1 - number
        back = int((math.sqrt(8 * left + 1) - 1) / 2)  # rows after this one
        first = span - 2 - back
        second = span - 1 - (left - back * (back + 1) // 2)
        return pool[first], pool[second - gap]

    return _numbered(pair, range(total))


@spells("itertools.combinations", complex=True)
def combinations(iterable: Any, r: int) -> Any:
    pool = _pool(iterable)
    if fixed(r) == 2:
        return _of_two(pool, len(pool), 0)
    return _rows(pool, choices("combinations", len(pool), r))


@spells("itertools.combinations_with_replacement", complex=True)
def combinations_with_replacement(iterable: Any, r: int) -> Any:
    pool = _pool(iterable)
    if fixed(r) == 2 and len(pool) > 0:
        return _of_two(pool, len(pool) + 1, 1)
    return _rows(pool, choices("combinations_with_replacement", len(pool), r))


@spells("itertools.permutations", complex=True)
def permutations(iterable: Any, r: Any = None) -> Any:
    pool = _pool(iterable)
    return _rows(pool, choices("permutations", len(pool), len(pool) if r is None else r))


def _rows(pool: Any, places: Any) -> Any:
    return _numbered(lambda number: tuple([pool[place] for place in places[number]]), range(len(places)))


def choices(kind: str, size: int, count: int) -> tuple[tuple[int, ...], ...]:
    """The places that combinations or permutations of so many elements take; computed by the compiler."""
    return tuple(getattr(itertools, kind)(range(size), count))


@spells("itertools.pairwise", complex=True)
def pairwise(iterable: Any) -> Any:
    items = _sequence(iterable)
    if len(items) == 0:
        return iter(())
    before = items[0]

    def pair(place: Any) -> Any:
        nonlocal before
        made = (before, items[place])
        before = made[1]
        return made

    return _numbered(pair, range(1, len(items)))


@spells("itertools.accumulate", complex=True)
def accumulate(iterable: Any, func: Any = None, *, initial: Any = None) -> Any:
    items, combined = _sequence(iterable), operator.add if func is None else func
    total, first = initial, 1 if initial is None else 0
    if initial is None:
        if len(items) == 0:
            return iter(())
        total = items[0]

    def step(place: Any) -> Any:
        nonlocal total
        if place >= first:
            total = combined(total, items[place])
        return total

    return _numbered(step, range(first - 1, len(items)))


@spells("itertools.chain", complex=True)
def chain(*iterables: Any) -> Any:
    parts = [_sequence(each) for each in iterables]
    total = 0
    for part in parts:
        total += len(part)

    def item(number: Any) -> Any:
        for part in parts[:-1]:
            if number < len(part):
                return part[number]
            number -= len(part)
        return parts[-1][number]

    return _numbered(item, range(total))


@spells("itertools.starmap", complex=True)
def starmap(function: Any, iterable: Any) -> Any:
    return _numbered(lambda given: function(*given), iterable)


@spells("itertools.islice", complex=True)
def islice(iterable: Any, *bounds: Any) -> Any:
    items = _sequence(iterable)
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, None)[:3]
    start, step = (0 if start is None else start), (1 if step is None else step)
    stop = len(items) if stop is None else stop
    if start < 0 or stop < 0:
        raise ValueError("Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    if step < 1:
        raise ValueError("Step for islice() must be a positive integer or None.")
    return _numbered(lambda place: items[place], range(start, min(stop, len(items)), step))


@spells("itertools.repeat", complex=True)
def repeat(object: Any, times: int = _ENDLESS) -> Any:
    return _numbered(lambda _: object, range(times))


@spells("itertools.count")
def count(start: Any = 0, step: Any = 1) -> Any:
    if not isinstance(start, int) or not isinstance(step, int):
        raise NotImplementedError("itertools.count of numbers that are no ints is not compiled", "count ints")
    return _numbered(lambda number: start + number * step, range(_ENDLESS))


PURE = frozenset({choices})
