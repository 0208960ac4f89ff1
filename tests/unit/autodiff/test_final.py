"""Reading a final array instead of a tape: where it is allowed, where it is not, and random loop nests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from expanded import callable_of, expand
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from mlirad.autodiff.final import FinalArrays
from mlirad.dialect.arrays.elements import ExtractOp
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant
from mlirad.dialect.ops.check import check_index
from mlirad.testing.derivatives import check_vjp
from mlirad.testing.expr_functions import ask_vjp, branch, for_loop, function, get, put, while_loop

SIZE = 12
ARRAY = types.tensor([SIZE], types.F64)
MATRIX = types.tensor([SIZE, SIZE], types.F64)

Step = Callable[[Expr, Expr], Expr]


def reads_final(body: Callable[[Expr], Expr], array: Any = ARRAY) -> list[bool]:
    """For every element read in a loop of the program: whether it may read from a final array instead."""
    module = ModuleOp([])
    entry = function(module, "f", [array], lambda y: body(y)).body.block
    arrays = FinalArrays(entry)
    reads = [op for op in entry.walk() if isinstance(op, ExtractOp) and op.parent is not entry]
    return [arrays.array(op) is not None for op in reads]


def loop(step: Step, n: int = 5) -> Callable[[Expr], Expr]:
    return lambda y: for_loop(n, [y], step)[0]


@pytest.mark.parametrize(
    ("step", "allowed"),
    [
        (lambda i, y: put(get(y, i), y, i + 1), True),
        (lambda i, y: put(get(y, i + 1), y, i + 1), False),  # read before it is written
        (lambda i, y: put(get(y, i + 2), y, i + 1), False),  # written in the next trip
        (lambda i, y: put(get(y, 0), y, i + 1), True),
        (lambda i, y: put(get(y, 1), y, i + 1), False),  # written in the first trip
        (lambda i, y: put(get(y, 7), y, i + 1), True),  # i + 1 <= 5
        (lambda i, y: put(get(y, 5), y, i + 1), False),
        (lambda i, y: put(get(y, i * 2), y, i), False),
        (lambda i, y: put(get(y, 6 - i), y, 5 - i), True),  # downwards
        (lambda i, y: put(get(y, 4 - i), y, 5 - i), False),
        (lambda i, y: put(get(y, i), y, 3), False),
    ],
)
def test_one_loop(step: Step, allowed: bool) -> None:
    assert reads_final(loop(step)) == [allowed]


def test_a_read_after_the_write_of_the_same_trip() -> None:
    def step(i: Expr, y: Expr) -> Expr:
        written = put(get(y, 0), y, i + 1)
        return put(get(written, i + 1), written, i + 7)

    assert reads_final(loop(step)) == [True, True]


def test_a_read_of_an_old_version_after_the_write() -> None:
    """The order of the versions matters, not the order of the lines."""

    def step(i: Expr, y: Expr) -> Expr:
        written = put(get(y, 0), y, i + 1)
        return put(get(y, i + 1), written, i + 7)

    assert reads_final(loop(step)) == [True, False]


def test_sweeps_overwrite() -> None:
    inner = loop(lambda i, y: put(get(y, i), y, i + 1))
    assert reads_final(lambda y: for_loop(3, [y], lambda _, y: inner(y))[0]) == [True]

    module = ModuleOp([])
    entry = function(module, "f", [ARRAY], lambda y: for_loop(3, [y], lambda _, y: inner(y))[0]).body.block
    (read,) = [op for op in entry.walk() if isinstance(op, ExtractOp)]
    found = FinalArrays(entry).array(read)
    # Final for the inner loop, but not for the sweeps: it is not a value of the function's own block.
    assert found is not None and found[1].owner.parent is not entry


def test_triangular_bounds_are_used() -> None:
    def row(i: Expr, y: Expr) -> Expr:
        (s,) = for_loop(i, [get(y, i + 6)], lambda j, s: s + get(y, j))
        return put(s, y, i)

    assert reads_final(loop(row)) == [True, True]


def test_lengths_of_ranges_are_understood() -> None:
    """range(i) makes max(i, 0) trips, and i counts."""

    def row(i: Expr, y: Expr) -> Expr:
        (s,) = for_loop(np.maximum(i, 0), [get(y, i + 6)], lambda j, s: s + get(y, j))
        return put(s, y, i)

    assert reads_final(loop(row)) == [True, True]


def test_cholesky_reads_the_final_factor() -> None:
    def row(i: Expr, m: Expr) -> Expr:
        def column(j: Expr, m: Expr) -> Expr:
            (s,) = for_loop(j, [constant(1.0, types.F64)], lambda k, s: s - get(m, i, k) * get(m, j, k))
            return put(s / get(m, j, j), m, i, j)

        (m,) = for_loop(i, [m], column)
        return put(np.sqrt(get(m, i, i)), m, i, i)

    # In program order: m[i, k], m[j, k], m[j, j]; m[i, i] is overwritten.
    assert reads_final(lambda m: for_loop(6, [m], row)[0], MATRIX) == [True, True, True, False]


def test_writes_in_branches_and_whiles() -> None:
    def step(i: Expr, y: Expr) -> Expr:
        v = get(y, i)
        return branch(v > 0.5, lambda: put(v, y, i + 1), lambda: put(get(y, i + 2), y, i + 2))[0]

    assert reads_final(loop(step)) == [True, False]

    def counted(y: Expr) -> Expr:
        zero = constant(0, types.I64)
        return while_loop([zero, y], lambda i, y: i < 5, lambda i, y: (i + 1, put(get(y, i), y, i + 1)))[1]

    assert reads_final(counted) == [True]


def test_swapped_arrays_are_left_alone() -> None:
    def swap(y: Expr) -> Expr:
        return for_loop(4, [y, y], lambda i, a, b: (put(get(b, i), b, i + 1), a))[0]

    assert reads_final(swap) == [False]


def test_branches_that_choose_an_array_are_left_alone() -> None:
    def choose(y: Expr) -> Expr:
        other = put(get(y, 0), y, 1)

        def step(i: Expr, y: Expr) -> Expr:
            v = get(y, i)
            (chosen,) = branch(v > 0.5, lambda: y, lambda: other)
            return put(v, chosen, i + 1)

        return for_loop(4, [y], step)[0]

    assert reads_final(choose) == [False]


def test_an_old_version_read_in_an_inner_loop() -> None:
    """The old version does not contain what earlier trips of the inner loop wrote: versions do not follow the trips."""

    def row(i: Expr, m: Expr) -> Expr:
        return for_loop(5, [m], lambda j, new: put(get(m, i, j), new, i, j + 1))[0]

    def row_of_new(i: Expr, m: Expr) -> Expr:
        return for_loop(5, [m], lambda j, new: put(get(new, i, j), new, i, j + 1))[0]

    assert reads_final(loop(row), MATRIX) == [False]
    assert reads_final(loop(row_of_new), MATRIX) == [True]


def test_branches_exclude_one_another_in_one_trip_only() -> None:
    def row(i: Expr, m: Expr) -> Expr:
        def step(j: Expr, new: Expr, s: Expr) -> Any:
            return branch(s > 0.0, lambda: (new, s - get(m, i, j)), lambda: (put(s, new, i, j), s + 1.0))

        return for_loop(5, [m, constant(1.0, types.F64)], step)[0]

    assert reads_final(loop(row), MATRIX) == [False]


def test_an_index_that_may_wrap_is_not_understood() -> None:
    size = lambda: constant(SIZE, types.I64)
    assert reads_final(loop(lambda i, y: put(get(y, check_index(i - 1, size(), 0)), y, i))) == [False]
    assert reads_final(loop(lambda i, y: put(get(y, check_index(i, size(), 0)), y, check_index(i + 1, size(), 0)))) == [
        True
    ]


# --- random nests -----------------------------------------------------------------------------------------------

Index = tuple[int, int, int]
indices = st.tuples(st.sampled_from([-1, 0, 1, 1]), st.sampled_from([-1, 0, 1, 1]), st.integers(0, 5))


def place(index: Index, i: Expr, j: Expr) -> Expr:
    """a*i + b*j + c, shifted so that it is in range for i, j < 4."""
    a, b, c = index
    return i * a + j * b + (c + 3 * ((a < 0) + (b < 0)))


@given(
    writes=st.lists(st.tuples(indices, indices, indices), min_size=1, max_size=3),
    is_triangular=st.booleans(),
    is_outer=st.booleans(),
    is_conditional=st.booleans(),
    is_stale=st.booleans(),
)
def test_random_nests(
    writes: list[tuple[Index, Index, Index]],
    is_triangular: bool,
    is_outer: bool,
    is_conditional: bool,
    is_stale: bool,
) -> None:
    """Some of y[e] = sin(y[f]) * y[g] + x[k], in a nest of two loops: against central differences.

    is_stale: y[f] is read from the array as it was before the inner loop.
    """

    def statement(k: int, i: Expr, j: Expr, y: Expr, x: Expr, old: Expr) -> Expr:
        target, first, second = (place(index, i, j) for index in writes[k])
        value = np.sin(get(old if is_stale else y, first)) * get(y, second) + get(x, k)
        if is_conditional:
            return branch(get(y, first) > 0.6, lambda: put(value, y, target), lambda: y)[0]
        return put(value, y, target)

    def nest(y: Expr, x: Expr) -> Expr:
        def outer(i: Expr, y: Expr) -> Expr:
            def inner(j: Expr, y: Expr) -> Expr:
                for k in range(len(writes)):
                    y = statement(k, i, j, y, x, before)
                return y

            before = y

            (y,) = for_loop(i + 1 if is_triangular else 4, [y], inner)
            return statement(0, i, i, y, x, y) if is_outer else y

        return for_loop(4, [y], outer)[0]

    def define(module: ModuleOp) -> Any:
        return function(module, "f", [ARRAY, types.tensor([3], types.F64)], nest)

    primal, module = ModuleOp([]), ModuleOp([])
    define(primal)
    ask_vjp(module, "vjp", define(module), [0, 1])
    expand(module)
    generator = np.random.default_rng(len(writes))
    at = generator.uniform(0.2, 0.9, SIZE), generator.uniform(-0.5, 0.5, 3)
    check_vjp(callable_of(primal, "f"), callable_of(module, "vjp"), at, rtol=2e-5, seeds=1)
