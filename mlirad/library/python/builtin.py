"""Python's builtins on arrays, in Python: they are interpreted like the user's functions.

Reads: nothing. Writes: nothing. Leaves: functions that behave like the builtins.
"""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

import numpy as np


def places_in(*shape: Any) -> Any:
    """np.ndindex: the indices of an array of a given shape, in row-major order."""
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
    total = 1
    for size in sizes:
        total *= size
    return map(partial(place_in, sizes), range(total))


def place_in(sizes: Any, number: Any) -> Any:
    """The index of an element from its number in row-major order."""
    found = []
    for size in sizes[::-1]:
        found.append(number % size)
        number = number // size
    return tuple(found[::-1])


def places_and_elements(arr: Any) -> Any:
    """np.ndenumerate."""
    x = np.asarray(arr)
    return map(partial(_with_element, x), places_in(x.shape))


def _with_element(x: Any, place: Any) -> Any:
    return place, x[place]


def collected(items: Any) -> Any:
    """`list(items)` for a generator."""
    found = []
    for item in items:
        found.append(item)  # noqa: PERF402  # this is what list() does
    return found


def enumerated(items: Any, start: Any) -> Any:
    """`enumerate(items, start)` for a generator."""
    number = start
    for item in items:
        yield number, item
        number += 1


def zipped(items: Any, before: Any, after: Any) -> Any:
    """`zip(*before, items, *after)` for a generator among iterables that have a length."""
    first, last = [_indexed(each) for each in before], [_indexed(each) for each in after]
    place = 0
    if all(len(each) > 0 for each in first):
        for item in items:
            if any(place >= len(each) for each in last):
                return
            yield (*[each[place] for each in first], item, *[each[place] for each in last])
            place += 1
            if any(place >= len(each) for each in first):
                return


def _indexed(items: Any) -> Any:
    return items if isinstance(items, (np.ndarray, list, tuple, range)) else list(items)


def any_of(items: Any) -> bool:
    """any() of a generator, which stops early."""
    for item in items:  # noqa: SIM110  # any() would call this function
        if item:
            return True
    return False


def all_of(items: Any) -> bool:
    """all() of a generator."""
    for item in items:  # noqa: SIM110  # all() would call this function
        if not item:
            return False
    return True


def sum_(items: Any, start: Any) -> Any:
    total = start
    for item in items:
        total = total + item
    return total


def sum_of_arrays(items: Any, start: Any) -> Any:
    total = start + items[0]
    for index in range(1, len(items)):
        total = total + items[index]
    return total


def max_(items: Any) -> Any:
    return _first(operator.gt, items)


def min_(items: Any) -> Any:
    return _first(operator.lt, items)


def _first(comes_before: Any, items: Any) -> Any:
    found = items[0]
    for index in range(1, len(items)):
        if comes_before(items[index], found):
            found = items[index]
    return found


def sorted_(items: Any, reverse: Any) -> Any:
    """The elements of an array in order; equal elements keep their order."""
    ordered = np.sort(items[::-1], kind="stable")[::-1] if reverse else np.sort(items, kind="stable")
    return [item for item in ordered]  # noqa: C416  # a loop fills it: list() would need the length


def sorted_by_keys(items: Any, keys: Any, reverse: Any) -> Any:
    """The items, sorted by keys that are numbers or tuples of numbers; equal ones keep their order."""
    columns = np.array(keys)
    columns = columns[None] if np.ndim(columns) == 1 else columns.T[::-1]
    places = len(items) - 1 - np.lexsort(columns[:, ::-1])[::-1] if reverse else np.lexsort(columns)
    return [items[place] for place in places]


def max_by(items: Any, key: Any) -> Any:
    return _first_by(operator.gt, items, key)


def min_by(items: Any, key: Any) -> Any:
    return _first_by(operator.lt, items, key)


def _first_by(comes_before: Any, items: Any, key: Any) -> Any:
    found = items[0]
    by = key(found)
    for index in range(1, len(items)):
        value = key(items[index])
        if comes_before(value, by):
            found = items[index]
            by = value
    return found


def round_(number: Any) -> int:
    return int(np.rint(number))


def any_(items: Any) -> bool:
    found = False
    for item in items:
        if item:
            found = True
    return found


def all_(items: Any) -> bool:
    found = True
    for item in items:
        if not item:
            found = False
    return found


def reduce_(function: Any, items: Any) -> Any:
    total = items[0]
    for index in range(1, len(items)):
        total = function(total, items[index])
    return total


def reduce_from(function: Any, items: Any, start: Any) -> Any:
    total = start
    for item in items:
        total = function(total, item)
    return total


def identity(function: Any) -> Any:
    return function


def first_of(generator: Any) -> Any:
    """`next(generator)`."""
    for item in generator:
        return item
    raise StopIteration("")


def first_of_or(generator: Any, default: Any) -> Any:
    """`next(generator, default)`."""
    for item in generator:
        return item
    return default


def nothing() -> None:
    """The `__init__` of `object`."""


def item_of_range(items: Any, first: Any, by: Any, index: Any) -> Any:
    length = len(items)
    place = index + length if index < 0 else index
    if place < 0 or place >= length:
        raise IndexError("range object index out of range")
    return first + by * place


def slice_of_range(items: Any, first: Any, by: Any, start: Any, stop: Any, step: Any) -> Any:
    length = len(items)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    lowest = 0 if step > 0 else -1
    highest = length if step > 0 else length - 1
    if start is None:
        begin = lowest if step > 0 else highest
    else:
        begin = start + length if start < 0 else start
        begin = lowest if begin < lowest else highest if begin > highest else begin
    if stop is None:
        end = highest if step > 0 else lowest
    else:
        end = stop + length if stop < 0 else stop
        end = lowest if end < lowest else highest if end > highest else end
    return range(first + by * begin, first + by * end, by * step)


def extend(xs: Any, items: Any) -> None:
    for item in items:
        xs.append(item)


def joined(xs: Any, ys: Any) -> Any:
    """`xs + ys` for lists."""
    both = xs.copy()
    for item in ys:
        both.append(item)
    return both


def at_places(xs: Any, places: Any) -> Any:
    """`xs[...]` for a list and a slice."""
    return [xs[place] for place in places]


def take_out(xs: Any, place: int) -> None:
    """`xs.pop(place)` for a list that has this place."""
    first = place + len(xs) if place < 0 else place
    for k in range(first, len(xs) - 1):
        xs[k] = xs[k + 1]
    xs.pop()


def index_in(items: Any, x: Any) -> int:
    """`xs.index(x)` for a list."""
    for place, item in enumerate(items):
        if item == x:
            return place
    raise ValueError("list.index(x): x not in list")


def remove(xs: Any, x: Any) -> None:
    """`xs.remove(x)` for a list."""
    del xs[index_in(xs, x)]


def insert(xs: Any, place: int, item: Any) -> None:
    """`xs.insert(place, item)` for a list."""
    length = len(xs)
    first = place + length if place < 0 else place
    first = 0 if first < 0 else length if first > length else first
    xs.append(item)
    for k in range(length, first, -1):
        xs[k] = xs[k - 1]
    xs[first] = item


def place_of_key(keys: Any, key: Any) -> Any:
    """The place of a key among the int keys of a dict. Raises KeyError."""
    known = np.array(keys)
    place = np.argmax(known == key)
    if known[place] != key:
        raise KeyError(key)
    return place
