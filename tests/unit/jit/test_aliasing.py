"""Arrays of a call that share memory, and results that do: values, side effects and sharing are NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view as sliding
from random_pairs import require_same

import mlirad
from mlirad.jit.aliasing import overlapping
from mlirad.requests.python_functions import copied
from mlirad.testing.interpreted import Interpreted


def same_as_numpy(function: Callable[..., Any], make: Callable[[], Any], kernel: Any = None) -> None:
    """Runs both on equal arguments; compares values, side effects, sharing, identity and writability."""
    numpys, own = make(), make()
    expected = function(*numpys)
    require_same((numpys, expected), (own, (mlirad.jit(function) if kernel is None else kernel)(*own)))


def of_line(*views: Callable[[np.ndarray], Any]) -> Callable[[], list[Any]]:
    def make() -> list[Any]:
        base = np.arange(12.0)
        return [view(base) for view in views]

    return make


def writes_both(x, y):
    x[0] = 50.0
    y[1] += np.sum(x[0]) * 2 + np.sum(x[1])
    x[1] -= np.sum(y[0])
    return x.sum() + (y * y).sum()


VIEWS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "itself": lambda b: b,
    "tail": lambda b: b[1:],
    "backwards": lambda b: b[::-1],
    "every third": lambda b: b[1::3],
    "every second backwards": lambda b: b[::-2],
    "matrix": lambda b: b.reshape(3, 4),
    "transpose": lambda b: b.reshape(3, 4).T,
    "block": lambda b: b.reshape(3, 4)[1:, 1:3],
    "flipped block": lambda b: b.reshape(3, 4)[::-1, ::2],
    "column": lambda b: b.reshape(3, 4)[:, 2],
    "cube": lambda b: b.reshape(2, 3, 2).transpose(2, 0, 1),
    "diagonal": lambda b: b[:9].reshape(3, 3).ravel()[::4],
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("base", ["itself", "transpose"])
def test_a_view_of_another_argument(base: str, view: Callable[[np.ndarray], np.ndarray]) -> None:
    order = (VIEWS[base], view) if base == "itself" else (view, VIEWS[base])
    same_as_numpy(writes_both, of_line(*order))


def test_two_views_of_a_third() -> None:
    def f(a, b, c):
        a[0] = 10.0
        b[0] = a[0] + c[2]
        return a, b[1:], c

    same_as_numpy(f, of_line(lambda b: b[1:5], lambda b: b[2:], lambda b: b))


def test_arrays_in_containers() -> None:
    def f(state, rows):
        state["a"][1] = 50.0
        return rows[0][0] + rows[1][1]

    same_as_numpy(f, of_line(lambda b: {"a": b}, lambda b: [b[1:], b]))


GRID = np.zeros((3, 4))


def writes_grid(x):
    GRID[1] += x[0]
    x[1] = GRID[1, 0] * 2
    return GRID[1].sum()


def test_a_captured_array_and_its_row() -> None:
    def make() -> list[Any]:
        GRID[:] = np.arange(12.0).reshape(3, 4)
        return [GRID[1]]

    (numpys,) = make()
    expected, contents = writes_grid(numpys), GRID.copy()
    (own,) = make()
    assert mlirad.jit(writes_grid)(own) == expected
    np.testing.assert_array_equal(GRID, contents)


def test_interleaved_arrays_share_nothing() -> None:
    kernel = mlirad.jit(writes_both)
    same_as_numpy(writes_both, of_line(lambda b: b[::2], lambda b: b[1::2]), kernel)
    same_as_numpy(writes_both, of_line(lambda b: b[:6], lambda b: b[6:]), mlirad.jit(writes_both))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda b: b[1:], lambda b: b[:-1]),
        (lambda b: b, lambda b: b.view(np.int64)),
        (lambda b: b, lambda b: np.lib.stride_tricks.sliding_window_view(b, 3, writeable=True)),
    ],
)
def test_other_overlaps_are_refused(first: Any, second: Any) -> None:
    base = np.arange(12.0)
    with pytest.raises(ValueError, match=r"argument 0 is written .* shares memory with argument 1.*pass a copy"):
        mlirad.jit(lambda x, y: x.fill(y.sum()))(first(base), second(base))
    np.testing.assert_array_equal(base, np.arange(12.0))


def test_each_pattern_is_compiled_once() -> None:
    kernel = mlirad.jit(copied(writes_both))
    for _ in range(2):
        for view in (lambda b: b, lambda b: b[::-1], lambda b: b.copy()):
            same_as_numpy(writes_both, of_line(lambda b: b, view), kernel)
    codes = [code for each in kernel.specializations() for code in each.shared_memory.codes()]
    assert len(codes) == 2


def test_overlaps_of_many_arrays_are_found() -> None:
    base = np.arange(400.0)
    values: list[Any] = [base[k : k + 4] for k in range(0, 400, 4)]
    assert overlapping(values, range(100)) == []
    assert overlapping([*values, 3, base[10:11]], range(100)) == [(2, 101)]


# Results.

RESULTS: dict[str, Callable[..., Any]] = {
    "a slice": lambda x, i: x[1:],
    "several": lambda x, i: (x[:4], x[::-2], x[1], x),
    "traced starts": lambda x, i: (x[i : i + 3], x[i : i + 3][::-1]),
    "a matrix": lambda x, i: (x.reshape(3, 4).T[1:], x.reshape(3, 4)[:, None, i : i + 1]),
    "a diagonal": lambda x, i: np.diagonal(x[:9].reshape(3, 3), 1),
    "windows": lambda x, i: (sliding(x, 3), sliding(x[::-1], 3)[i:, ::2], sliding(x.reshape(3, 4), (2, 2))[i - 1].T),
    "whole, read-only": lambda x, i: np.broadcast_to(x, (12,)),
    "read-only": lambda x, i: np.broadcast_to(x, (2, 12)),
    "nothing": lambda x, i: (x[3:3], x),
    "of rank 0": lambda x, i: x[i, ...],
}


@pytest.mark.parametrize("function", RESULTS.values(), ids=RESULTS)
@pytest.mark.parametrize("view", [lambda b: b, lambda b: np.repeat(b, 2)[::2], lambda b: b[::-1]])
def test_views_of_arguments_are_returned(function: Callable[..., Any], view: Callable[..., Any]) -> None:
    same_as_numpy(function, of_line(view, lambda b: 2))


def test_new_arrays_share_memory_with_one_another() -> None:
    def f(x):
        a = x * 2
        b = x + 1
        return a, a[::2], a.reshape(3, 4).T, a, b[1:], b[:-1]

    same_as_numpy(f, of_line(lambda b: b))
    a, part, *_ = mlirad.jit(f)(np.arange(12.0))
    part[0] = -7.0
    assert a[0] == -7.0


@pytest.mark.parametrize("c", [1, -1])
def test_what_is_returned_may_depend_on_the_run(c: int) -> None:
    def f(a, b, c):
        u = a * 2
        v = a * 3
        y = a[1:] if c > 0 else b[:-1]
        z = u if c > 0 else v
        w = a if c > 0 else u
        return y, a, z, u, w

    same_as_numpy(f, of_line(lambda b: b, lambda b: b * 2, lambda b: c))


@pytest.mark.parametrize("n", [0, 1, 4])
def test_references_that_rotate(n: int) -> None:
    def f(a, b, n):
        for _ in range(n):
            a[0] += 1.0
            a, b = b, a
        return a, b[1:]

    same_as_numpy(f, of_line(lambda b: b, lambda b: b * 2, lambda b: n))


def test_views_of_captured_arrays_are_returned() -> None:
    table = np.arange(6.0)
    out = mlirad.jit(lambda i: table[i : i + 2])(3)
    assert np.shares_memory(out, table)
    np.testing.assert_array_equal(out, [3.0, 4.0])


def test_diagonal_of_strided_arrays() -> None:
    grid = np.arange(36.0).reshape(6, 6)
    for array in (grid, grid.T, grid[::2, ::2], grid[::-1, ::3].T):
        same_as_numpy(lambda m: (np.diagonal(m), m.T), lambda array=array: [array])


def test_a_writable_array_is_not_returned_for_a_readonly_view_of_it() -> None:
    def make() -> list[Any]:
        base = np.arange(4.0)
        view = base[:]
        view.flags.writeable = False
        return [base, view]

    def f(x, y):
        x[0] = 5.0
        return y, x, y[1:]

    same_as_numpy(f, make)


def test_an_empty_view_is_writable() -> None:
    def f(x, y):
        x[0] = 5.0
        return y[1:], y[:, 1:]

    same_as_numpy(f, of_line(lambda b: b, lambda b: b[3:4].reshape(1, 1)))


def test_a_view_with_elements_that_are_one_is_not_written() -> None:
    base = np.arange(6.0)
    repeated = np.lib.stride_tricks.as_strided(base, (2, 3), (0, 8))
    kernel = mlirad.jit(writes_both)
    for order in ((repeated, base), (base, repeated)):
        with pytest.raises(ValueError, match=r"is written, and some of its elements share memory; copy it first"):
            kernel(*order)

    def reads_it(x, y):
        x[0] = 50.0
        return y.sum(), y[:, 0]

    # Arrays that are only read may share memory with written ones.
    same_as_numpy(reads_it, of_line(lambda b: b, lambda b: np.lib.stride_tricks.as_strided(b, (2, 3), (0, 8))))


ITSELF_OR_COPIES: list[Callable[[np.ndarray], np.ndarray]] = [
    lambda x: np.array(x, copy=False),
    lambda x: np.array(x, copy=None),
    lambda x: np.array(x, copy=True),
    lambda x: np.array(x, np.float32, copy=None),
    lambda x: np.asarray(x, copy=None),
    lambda x: np.asarray(x, dtype=float),
    lambda x: x.astype(float, copy=False),
    lambda x: x.astype(copy=None, dtype=np.float32),
    lambda x: np.astype(x, float, copy=False),
    lambda x: np.astype(x, float),
    lambda x: x.conj(),
    lambda x: x.conjugate(),
    lambda x: x.real,
    lambda x: np.positive(x),
    lambda x: np.copy(x),
]


@pytest.mark.parametrize("function", ITSELF_OR_COPIES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_itself_or_a_copy(function: Callable[[np.ndarray], np.ndarray], order: Any) -> None:
    def program(x):
        y = function(x)
        y[0] = 7.0
        x[1] = 5.0
        return y

    theirs, own = (np.arange(6.0).reshape(2, 3).copy(order) for _ in range(2))
    expected, found = program(theirs), Interpreted(program)(own)
    np.testing.assert_array_equal(own, theirs)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype
    assert np.shares_memory(found, own) == np.shares_memory(expected, theirs)


def test_an_array_of_another_dtype_is_not_itself() -> None:
    with pytest.raises(mlirad.CompileError, match="use copy=None"):
        Interpreted(lambda x: np.array(x, np.float32, copy=False))(np.arange(3.0))
    assert Interpreted(lambda x: x.sum().conjugate())(np.arange(3.0)) == 3.0


# Captured arrays that share memory with one another.

BASE = np.zeros(6)
AROUND: dict[str, Any] = {}


def writes_captured(x):
    AROUND["a"][2] += x
    total = AROUND["b"].sum()
    AROUND["b"][-1] = 7.0
    return total, AROUND["a"].sum()


def test_captured_arrays_that_share_memory() -> None:
    kernel = mlirad.jit(writes_captured)
    pairs: list[Callable[[], tuple[np.ndarray, np.ndarray]]] = [
        lambda: (BASE, BASE[1:4]),
        lambda: (BASE, np.ones(3)),
        lambda: (BASE, BASE),
        lambda: (BASE[::-1], BASE.reshape(2, 3)[1]),
        lambda: (BASE[::2], BASE[1::2]),
    ]
    for pair in [*pairs, *pairs]:
        outcomes = []
        for function in (writes_captured, kernel):
            BASE[:] = np.arange(6.0)
            AROUND["a"], AROUND["b"] = pair()
            outcomes.append((function(3.0), BASE.copy(), AROUND["b"].copy()))
        np.testing.assert_equal(outcomes[1], outcomes[0])
    AROUND["a"], AROUND["b"] = BASE[1:], BASE[:-1]
    with pytest.raises(ValueError, match=r"AROUND\['a'\] is written .* shares memory with AROUND\['b'\]"):
        kernel(3.0)
