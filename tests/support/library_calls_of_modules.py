"""Calls of functions of the library that spell those of the modules math and operator, and NumPy's of integers."""

from __future__ import annotations

import collections
import heapq
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy

np: Any = numpy  # its types would refuse the calls that raise an exception


def first(a: Any) -> Any:
    """A Python int made of an array: 0 of one without elements."""
    return int(np.sum(np.abs(a[:1, :1]) * 3.0))


def whole(a: Any) -> Any:
    return np.round(a * 9).astype(np.int64)


def numbers(a: Any) -> list[Any]:
    """Numbers in no order, one of them an array's."""
    return [4.5, 2.0, 7.0 + first(a), 1.5, 3.0 * first(a)]


def heap_of(a: Any) -> list[Any]:
    items = numbers(a)
    heapq.heapify(items)
    return items


def pushed(a: Any) -> list[Any]:
    items = heap_of(a)
    heapq.heappush(items, 2.5 * first(a))
    return items


def popped(a: Any) -> Any:
    items = heap_of(a)
    return [heapq.heappop(items), heapq.heappop(items), *items]


def replaced(a: Any) -> Any:
    items = heap_of(a)
    return [heapq.heapreplace(items, 3.5), *items]


def pushed_and_popped(a: Any) -> Any:
    items = heap_of(a)
    return [heapq.heappushpop(items, 6.0), heapq.heappushpop(items, -1.0), *items]


CALLS: dict[str, list[Callable[[Any], Any]]] = {
    "heapq.heapify": [heap_of],
    "heapq.heappush": [pushed],
    "heapq.heappop": [popped],
    "heapq.heapreplace": [replaced],
    "heapq.heappushpop": [pushed_and_popped],
    "math.gcd": [
        lambda a: math.gcd(first(a) * 6, -45) + math.gcd() * a,
        lambda a: math.gcd(first(a), 0, 12),
        lambda a: math.gcd(float(first(a)), 2),  # pyright: ignore[reportArgumentType]  (Python refuses it)
    ],
    "math.lcm": [lambda a: math.lcm(first(a), 4, -6) + math.lcm() * a, lambda a: math.lcm(3, first(a) * 2)],
    "math.isqrt": [
        lambda a: math.isqrt(first(a) * 7) + a,
        lambda a: (math.isqrt(first(a) + 2**62), math.isqrt(2**63 - 1 - first(a)), math.isqrt(2**52 * (first(a) + 9))),
        lambda a: math.isqrt(-1 - first(a)),
    ],
    "math.factorial": [
        lambda a: math.factorial(first(a) % 9) * a,
        lambda a: math.factorial(20 + 0 * first(a)),
        lambda a: math.factorial(-1 - first(a)),
    ],
    "math.perm": [
        lambda a: math.perm(first(a) % 9 + 1, 2) * a,
        lambda a: (math.perm(3 + 0 * first(a), 5), math.perm(5, 5 + 0 * first(a)), math.perm(6 + 0 * first(a))),
        lambda a: math.perm(4, -1 - first(a)),
    ],
    "math.comb": [
        lambda a: math.comb(first(a) % 9 + 6, 3) * a,
        lambda a: (math.comb(62 + 0 * first(a), 31), math.comb(3, 5 + 0 * first(a)), math.comb(5 + 0 * first(a), 0)),
        lambda a: math.comb(-1 - first(a), 2),
    ],
    "math.remainder": [
        lambda a: (
            np.array([math.remainder(float(x), 0.7) + math.remainder(-2.5, float(x) ** 2 + 0.3) for x in a[:2, 0]])
            if a.size
            else a
        ),
        lambda a: [
            math.remainder(x + 0 * first(a), y) for x, y in ((5.0, 2.0), (-3.0, 2.0), (1e300, 3.0), (7.0, math.inf))
        ],
    ],
    "math.ulp": [
        lambda a: a + [math.ulp(x + 0.0 * first(a)) for x in (1.0, -5e-324, 3e300, 1.7976931348623157e308)][:1]
    ],
    "math.fsum": [
        lambda a: math.fsum([float(x) ** 2 for x in a[:3, 0]]) * np.ones(2) if a.size else a,
        lambda a: math.fsum([1e100, 1.0, float(first(a)), -1e100, 1e-20]),
        lambda a: math.fsum([2.0**53, 1.0, 2.0**-60 * (first(a) + 1)]),
        lambda a: math.fsum([2.0**53, 1.0, -(2.0**-60) * (first(a) + 1)]),
        lambda a: math.fsum(np.arange(7) * 0.1 + first(a)),
        lambda a: math.fsum([math.inf, float(first(a))]),
    ],
    "builtins.filter": [lambda a: sum(filter(None, [0, 3])) * a, lambda a: sum(filter(lambda k: k > 1, (1, 2, 3))) * a],
    "itertools.accumulate": [
        lambda a: [*itertools.accumulate([a, a + 1])],
        lambda a: [*itertools.accumulate((), initial=a)],
    ],
    "collections.defaultdict": [lambda a: [collections.defaultdict(float)["absent"] + a]],
    "collections.deque": [lambda a: [*collections.deque([a, a + 1, a * 2], 2)]],
    "itertools.chain": [lambda a: [*itertools.chain([a], (a + 1, a * 2))]],
    "itertools.combinations": [lambda a: [b * c for b, c in itertools.combinations([a, a + 1, a + 2], 2)]],
    "itertools.combinations_with_replacement": [
        lambda a: [b + c for b, c in itertools.combinations_with_replacement([a, a + 1], 2)],
    ],
    "itertools.count": [lambda a: [k * a for k, _ in zip(itertools.count(2, 3), range(2), strict=False)]],
    "itertools.islice": [lambda a: [*itertools.islice([a, a + 1, a + 2], 0, None, 2)]],
    "itertools.pairwise": [lambda a: [c - b * 2 for b, c in itertools.pairwise([a, a + 1, a * 3])]],
    "itertools.permutations": [lambda a: [b - c * 2 for b, c in itertools.permutations([a, a + 1, a * 2], 2)]],
    "itertools.product": [lambda a: [b * k for b, k in itertools.product([a, a + 1], range(1, 3))]],
    "itertools.repeat": [lambda a: [*itertools.repeat(a, 2)]],
    "itertools.starmap": [lambda a: [*itertools.starmap(lambda b, k: b * k, [(a, 2), (a + 1, 3)])]],
    "operator.itemgetter": [
        lambda a: operator.itemgetter(0)(a) if len(a) else a,
        lambda a: operator.itemgetter(slice(0, 2), 0)(list(a) if len(a) else [a]),
        lambda a: max([(2.0, a), (1.0, a + 1)], key=operator.itemgetter(0))[1],
    ],
    "operator.attrgetter": [
        lambda a: operator.attrgetter("T")(a) * 2,
        lambda a: operator.attrgetter("T.shape", "ndim")(a),
    ],
    "operator.methodcaller": [
        lambda a: operator.methodcaller("sum", axis=0)(a) + operator.methodcaller("mean", 0)(a + 1),
        lambda a: [*map(operator.methodcaller("sum"), [a, a + 1])],
    ],
    "_operator.countOf": [
        lambda a: operator.countOf([1, first(a), 2], first(a)) + a,
        lambda a: operator.countOf([], first(a)),
    ],
    "_operator.indexOf": [
        lambda a: operator.indexOf([-1, first(a), 2], first(a)) + a,
        lambda a: operator.indexOf([-1, -2], first(a)),
    ],
    "_operator.length_hint": [lambda a: operator.length_hint([a, a, 2]) * a],
    "numpy.gcd": [
        lambda a: np.gcd(whole(a), np.array([[12], [18], [0]])[: len(a)]) * a,
        lambda a: np.gcd(whole(a), 6),
        lambda a: np.gcd(a, a[:1]),
    ],
    "numpy.lcm": [
        lambda a: np.lcm(whole(a), np.array([[12], [18], [0]])[: len(a)]) * a,
        lambda a: np.lcm(whole(a).astype(np.int8), np.int8(6)),
        lambda a: np.lcm(a, a[:1]),
    ],
}
