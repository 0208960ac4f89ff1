"""Functions of itertools and `filter` in kernels: what Python gives, and that loops over them stay loops."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np
import pytest
from random_pairs import require_same
from run_frontend import call, compile_for

import mlirad
from mlirad.errors import CompileError

X, M = np.array([0.5, -1.25, 2.0, 3.5]), np.arange(6.0).reshape(3, 2)


def of_items(x, m):
    pairs = [a * b for a, b in itertools.combinations(x, 2)], list(itertools.combinations_with_replacement("ab", 2))
    threes = [a + b * c for a, b, c in itertools.combinations([x[0], x[1], 2.0, 3], 3)]
    orders = list(itertools.permutations((1, 2, 3), 2)), len(list(itertools.permutations(range(3))))
    neighbours = sum(a * b for a, b in itertools.pairwise(x)), [q - p for p, q in itertools.pairwise(m)]
    sums = list(itertools.accumulate(x)), list(itertools.accumulate([1, 2, 3], operator.mul, initial=x[0]))
    both = sum(v * k for k, v in enumerate(itertools.chain(x, m[0], [7.0])))
    rest = list(itertools.islice(x, 1, None, 2)), list(itertools.islice(m, 2)), list(itertools.repeat(x[0], 2))
    counted = sum(k * v for k, v in zip(itertools.count(2, 3), x))
    mapped = list(itertools.starmap(max, ((a, 0.0 * a) for a in x)))
    kept = sum(filter(lambda v: v > 0.6, x)), list(filter(None, [0, 3, 4]))
    nothing = list(itertools.pairwise([])), list(itertools.accumulate(())), list(itertools.product((), x))
    return pairs, threes, orders, neighbours, sums, both, rest, counted, mapped, kept, nothing


def with_writes(x, m):
    """What an iterator has read, a later write does not change; what it has not, it does."""
    seen = []
    for a, b in itertools.pairwise(x):
        x[1:] = x[1:] * 2
        seen.append(a * b)
    for a, b in itertools.combinations(x, 2):
        x[0] += 1.0
        seen.append(a - b)
    for row, other in itertools.product(m, m):
        row += other[0]
    for v in itertools.chain(x, x):
        x[3] += 1.0
        seen.append(v)
    return np.array(seen)


@pytest.mark.parametrize("function", [of_items, with_writes])
def test_items_are_pythons(function: Any) -> None:
    expected, given = (X.copy(), M.copy()), (X.copy(), M.copy())
    require_same(function(*expected), call(function, *given))
    require_same(expected, given)


def test_loops_over_pairs_and_products_of_ranges_stay_loops() -> None:
    def over(x, n):
        total = 0.0
        for i, j in itertools.combinations(range(n), 2):
            total += x[i] * x[j] ** 2 * (j - i)
        for i, j in itertools.product(range(n), repeat=2):
            total += x[i] / (1 + x[j] ** 2)
        return total

    x = np.linspace(-1.0, 1.0, 12)
    require_same(over(x, 12), call(over, x, 12))
    assert str(compile_for(over, x, 12).module).count("scf.for") == 2
    for n in range(1, 4):
        require_same(over(x, n), call(over, x, n))
    slope = mlirad.grad(over)(x[:7], 7)
    step = np.eye(7) * 1e-6
    differences = [(over(x[:7] + each, 7) - over(x[:7] - each, 7)) / 2e-6 for each in step]
    np.testing.assert_allclose(slope, differences, rtol=1e-6, atol=1e-7)


def test_numbers_of_elements_that_a_loop_counts() -> None:
    """Rows of two are read in another way than others: the loop is unrolled."""

    def subsets(x):
        total = 0.0
        for k in range(1, 4):
            for row in itertools.combinations(range(3), k):
                total += np.prod(x[list(row)])
            for row in itertools.combinations_with_replacement(x, k):
                total += sum(row)
        return total

    x = np.array([0.5, 2.0, 3.0])
    require_same(subsets(x), call(subsets, x))


def test_pairs_have_the_order_of_python() -> None:
    def weighted(n):
        place, total = 0, 0
        for i, j in itertools.combinations(range(n), 2):
            total += (i * 3 + j * 7) * place % 1000
            place += 1
        return total

    for size in (2, 3, 30):
        assert call(weighted, size) == weighted(size)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: sum(itertools.chain((v for v in x), x)), "make a list of it"),
        (lambda x: sum(v * k for k, v in zip(itertools.count(0.5), x)), "count ints"),
        (lambda x: sum(itertools.islice(map(abs, x), 2)), "make a list of it"),
    ],
)
def test_others_are_refused_at_their_line(function: Any, message: str) -> None:
    with pytest.raises((CompileError, ValueError), match=message):
        call(function, X)
