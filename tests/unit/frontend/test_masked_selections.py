"""Masks against NumPy: values, side effects, reductions, selections as arrays; and exceptions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from run_frontend import call, is_same

from mlirad.dialect.ops.check import CheckFailed
from mlirad.errors import CompileError, DTypeError, StaticValueError
from mlirad.requests.kinds_of_derivatives import Grad
from mlirad.testing.interpreted import Interpreted

X = np.array([1.0, -2.0, 3.0, -4.0, 5.0])
Y = np.arange(5.0) + 1
A = np.arange(12.0).reshape(3, 4) - 5


def fresh(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(np.array(x) if isinstance(x, np.ndarray) else x for x in args)


def same_mask(x, y):
    m = x > 0
    x[m] = y[m]
    x[~m] *= -1
    return x[m].sum(), x[m].mean(), x[m].max(), x[m].min(), x[m].size


def expressions(x, y):
    m = x > 0
    return (
        (x[m] * 2 + y[m]).sum(),
        np.sum(x[x > 0] * y[x > 0]),
        np.count_nonzero(m),
        x[m].std(),
        np.var(x[m], ddof=1),
        (x[m] > 2).any(),
        len(x[m]),
        x[m].shape[0],
    )


def functions_of_what_is_selected(x):
    m = x > 0
    x[m] = np.sqrt(x[m])
    x[~m] = np.log(-x[~m])
    x[m] += 1
    x[m] **= 2
    return x.sum()


def rows_and_columns(m):
    a = m[:, 0] > -2
    m[a, 0] = 100
    m[a] = np.arange(4.0)
    m[~a] -= np.ones(4)
    m[:, m[0] > 1] *= 2
    return m[a].sum(axis=0), m[a].mean(0), m[a].sum(1).sum(), m[a].max(), m[a, 1].sum()


def whole_array(m):
    m[m > 0] = 0
    m[(m < -2) & (m > -4)] = 7.5
    m[m == 7.5] = m[m == 7.5] * 2
    return m


def integers(z):
    z[z > 2] = 2.7
    z[z < 0] //= 2
    return z[z > 0].sum(), z[z > 0].max(), z[z > 100].sum()


def float32s(x):
    x[x > 1] *= 1.5
    return x[x > 0].mean(), x[x > 0].sum(), (x[x > 0] * 2).max()


def bools(b, m):
    b[m] = True
    b[~m] = False
    return b[m].all(), b[m].sum(), np.count_nonzero(b[~m])


def nothing_selected(x):
    return x[x > 100].sum(), x[x > 100].size, (x[x > 100] * 2).any(), x[x > 100].all()


def known_masks(x):
    m = np.array([True, False, True, False, True])
    y = x[m]
    y[0] = 9
    x[[False, True, False, False, True]] = y[:2]
    return y, x[m].shape[0], x[m]


def mask_written_meanwhile(x):
    m = x > 0
    old = m.copy()
    m[0] = False
    x[old] = x[old] * 2
    x[m] = 0
    return m


def masked_axes(a, i):
    b = a.reshape(3, 2, 2)
    m = b[0] > -4
    r = b[i, m].sum()
    b[i, m] = 1
    b[i, :, m[0]] += 1
    return r, b[:, m].sum(axis=1), b[:, m].sum(axis=0).sum(), b[:, m].mean(axis=-1), b[0, :, m[0]].sum(axis=0)


def in_order(x):
    up, down, total = sorted(x), sorted(x[x > 0], reverse=True), 0.0
    for k in range(len(down)):
        total += down[k] * (k + 1)
    return up[0], up[-1], len(down), down[0], total, len(sorted(x[x > 100]))


def products(x):
    m = x > 0
    return (
        x[m] @ x[m],
        np.dot(x[m], x[m]),
        abs(x[m]).sum(),
        np.where(x[m] > 2, 1.0, 2.0).sum(),
        np.clip(x[m], 2, 4).sum(),
        x[m].astype(np.float32).sum(),
        (-x[m].copy()).sum(),
        np.ptp(x[m]),
        np.maximum(x[m], 2).min(),
    )


def in_loops_and_branches(x, n):
    s = 0.0
    for i in range(n):
        m = x > i
        y = x[m] * 2 if i % 2 == 0 else x[m]
        s += y.sum()
        x[m] -= 0.5
    return s


def helper(v):
    return (v * v).sum()


def in_helper(x):
    return helper(x[x > 0])


def on_views(a):
    v = a[::-1, 1:]
    v[v > 0] = -1
    a.T[a.T < -4] = 9
    return a


def accumulated(x):
    np.add.at(x, x > 0, 0.5)
    np.copyto(x, 3.0, where=x > 4)
    return x


PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (same_mask, (X, Y)),
    (expressions, (X, Y)),
    (functions_of_what_is_selected, (X,)),
    (rows_and_columns, (A,)),
    (whole_array, (A,)),
    (integers, (np.array([1, -3, 4, 2, -6]),)),
    (integers, (np.array([1, -3, 4, 2, -6], np.int8),)),
    (float32s, (X.astype(np.float32),)),
    (bools, (np.array([True, False, True]), np.array([True, True, False]))),
    (nothing_selected, (X,)),
    (known_masks, (X,)),
    (mask_written_meanwhile, (X,)),
    (masked_axes, (A, 1)),
    (products, (X,)),
    (in_order, (X,)),
    (in_order, (np.array([3, -1, 3, 200], np.int16),)),
    (in_loops_and_branches, (X, 3)),
    (in_helper, (X,)),
    (on_views, (A,)),
    (accumulated, (X,)),
    (same_mask, (X[:0] + 1, Y[:0])),
]


@pytest.mark.parametrize(("function", "args"), PROGRAMS, ids=lambda x: getattr(x, "__name__", ""))
def test_is_what_numpy_does(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    expected, actual = fresh(args), fresh(args)
    try:
        with np.errstate(all="ignore"):
            want = function(*expected)
    except ValueError:
        with pytest.raises((CheckFailed, CompileError), match="zero-size array"):
            call(function, *actual)
        return
    assert is_same(want, call(function, *actual))
    assert is_same(expected, actual)


def test_an_extreme_of_nothing_raises() -> None:
    with pytest.raises(CheckFailed, match="zero-size array to reduction operation maximum which has no identity"):
        call(lambda x: x[x > 100].max(), X)


def other_mask(x, y):
    x[x > 2] = y[y > 3]


def as_many(x, y):
    x[x > 0] = y[:3] + 0.5
    x[x < 0] = [7.0]


def needs_shape(x):
    y = x[x > 0]
    return np.zeros(y.shape).sum() + np.ones(len(y)).sum() + y.size


def iterated(x):
    total = 0.0
    for i, v in enumerate(x[x > 0]):
        total = total * 2 + v * i
    return total


def elements(x):
    y = x[x > 0]
    return y[0], y[-1], y[::2].sum(), y[1:] @ y[:-1], max(y), sum(y), 3.0 in y


def a_copy(x):
    y = x[x > 0]
    z = y
    y += 1
    y[0] = 50
    z[1:] *= 2
    return y.sum(), z[0], x.sum()


def into_arrays(x, y):
    y[:3] += x[x > 0]
    y[3:] = x[x < 0]
    np.multiply.at(y, y > 2, 2.0)


def two_masks(a):
    r, c = a[:, 0] > -2, a[0] > -4
    a[r, 1:3][0] = 9
    return a[r, [1, 2]].sum(), a[r, c].max(), a[[0, 1], c][0], a[r][:, c].sum()


def kept(a):
    m = a[:, 0] > -2
    return a[m].sum(axis=0, keepdims=True), a[m].max(keepdims=True), a[a > 0].mean(keepdims=True)


def two_selections(x, y):
    m, n = x > 0, y < 4
    return (x[m] * y[n]).sum(), x[m] @ y[n], np.maximum(x[m], y[n])[-1], (x[m] > y[n]).any()


def masked_again(x):
    y = x[x > 0]
    z = y[y > 1]
    z[z > 4] = y[y < 2]
    return z.sum(), z[z > 2].size, y[y > 100].sum()


def joined(x, c):
    y = x[x > 0] if c > 0 else x[x < 0]
    for i in range(3):
        if len(y) > 1:
            y = y[y != np.max(y)] * 0.5
    return y[0], len(y)


def reassigned(x):
    y = x[x > -10]
    while y.size > 1:
        y = y[y > y.min()]
    return y[0]


def outer(a):
    b = a[a[:, 0] > -2]
    return (b @ b.T).sum(), (b - b.mean(0)).sum(1)[0], b.T[1, 1], (b[:, None, 0] * b[0]).sum()


def argument(v, w):
    v[0] = 100
    return v[::-1] @ w


def passed_on(x):
    m = x > 0
    y = x[m]
    return argument(y, x[m]) + y[0], argument(x[m].copy(), x[m] ** 2), x[0]


def in_containers(x):
    parts = [x[x > 0], x[x < 0]]
    named = {"a": parts[0] * 2, "b": parts}
    return named["a"].sum() + named["b"][1][0] + sum([len(p) for p in parts])


PROGRAMS_OF_ARRAYS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (other_mask, (X, Y)),
    (as_many, (X, Y)),
    (needs_shape, (X,)),
    (iterated, (X,)),
    (iterated, (X[:0],)),
    (elements, (X,)),
    (elements, (X.astype(np.float32),)),
    (elements, (X.astype(np.int16),)),
    (a_copy, (X,)),
    (into_arrays, (X, Y)),
    (two_masks, (A,)),
    (kept, (A,)),
    (two_selections, (X, Y)),
    (masked_again, (X,)),
    (joined, (X, 1)),
    (joined, (X, -1)),
    (reassigned, (X,)),
    (outer, (A,)),
    (passed_on, (X,)),
    (in_containers, (X,)),
]


@pytest.mark.parametrize(("function", "args"), PROGRAMS_OF_ARRAYS, ids=lambda x: getattr(x, "__name__", ""))
@pytest.mark.parametrize("is_strided", [False, True])
def test_what_a_mask_selects_is_an_array(function: Callable[..., Any], args: tuple[Any, ...], is_strided: bool) -> None:
    expected, actual = fresh(args), fresh(args)
    if is_strided:
        actual = tuple(np.repeat(x, 2, 0)[::-2][::-1] if isinstance(x, np.ndarray) else x for x in actual)
    assert is_same(function(*expected), call(function, *actual))
    assert is_same(expected, actual)


@pytest.mark.parametrize("holds", [[0] * 5, [1] * 5, [0, 1, 0, 0, 0], [1, 0, 1, 1, 0]])
def test_selections_of_every_length(holds: list[int]) -> None:
    def program(x, a, m):
        y = x[m]
        y += 1
        total = y[::-1] @ x[m]
        for v in y:
            total = total * 2 + v
        a[m, m] = y
        return total, len(y), y[:2].sum(), a, a[m][:, ~m].sum()

    m = np.array(holds, bool)
    assert is_same(program(X, np.eye(5), m), call(program, X, np.eye(5), m))


def broadcast(x, y):
    return (x[x > 0] + y[y > 1]).sum()


def put(x, y):
    x[x > 0] = y


def put_of_another_mask(x, y):
    x[x > 0] = y[y > 1]


def put_of_two_axes(x, y):
    x[x > 0] = np.ones((1, 3))


def put_rows(x, y):
    a = np.outer(x, y)
    a[x > 0] = np.ones((2, 5))


def indexed(x, y):
    return np.outer(x, y)[x > 0, y > 1].sum()


def beyond(x, y):
    return x[x > 4][1]


def of_another_length(x, y):
    return x[(y > 1)[:4]][0]


def truth(x, y):
    return 1 if x[x > 0] else 2


@pytest.mark.parametrize(
    "function",
    [broadcast, put, put_of_another_mask, put_of_two_axes, put_rows, indexed, beyond, of_another_length, truth],
    ids=lambda function: function.__name__,
)
def test_lengths_that_differ_are_numpys_error_at_the_line(function: Callable[..., Any]) -> None:
    with pytest.raises((ValueError, IndexError, TypeError)) as wanted:
        function(X.copy(), Y.copy())
    with pytest.raises((CheckFailed, CompileError)) as raised:
        call(function, X.copy(), Y.copy())
    text = str(raised.value)
    if function is truth:
        assert isinstance(raised.value, CompileError)
        return
    if function is put_rows:  # NumPy's text differs if the mask does not cover all axes
        assert "could not broadcast input array from shape (2,5) into shape (3,5)" in text
        return
    assert str(wanted.value).strip().rstrip(".") in text
    assert isinstance(raised.value, CompileError) or type(wanted.value).__name__ in text


def shortened(x):
    y = x * 1.0
    while len(y) > 2:
        y = y[y > y.min()]
    return y.sum()


def shortened_from_a_selection(x):
    y = x * 1.0
    y = y[np.ones(len(y), bool)]
    while len(y) > 2:
        y = y[y > y.min()]
    return y.sum()


def reset(x):
    y = x * 1.0
    for i in range(3):
        y = y[y > y.min()] if y.sum() > 12.0 + i else x * 2.0
    return y.sum()


@pytest.mark.parametrize("program", [shortened, shortened_from_a_selection, reset])
def test_an_array_that_becomes_a_selection_in_a_loop(program: Any) -> None:
    for x in (X, X[:2]):
        assert call(program, x) == program(x)


@pytest.mark.parametrize("program", [shortened, shortened_from_a_selection])
def test_no_elements_are_left_alone(program: Any) -> None:
    assert call(program, X[:0]) == 0.0


def test_the_least_of_no_elements_is_refused_on_either_path() -> None:
    with pytest.raises(StaticValueError, match="zero-size array"):
        call(reset, X[:0])


def test_the_dtype_of_what_is_selected_stays() -> None:
    def halves(z):
        z[z > 2] += 0.5

    with pytest.raises(DTypeError, match="same_kind"):
        call(halves, np.arange(5))


def test_a_mask_of_another_shape() -> None:
    with pytest.raises((CompileError, CheckFailed)) as raised:
        call(lambda x: x[x[1:] > 0].sum(), X)
    assert "boolean index did not match indexed array along axis 0" in str(raised.value)


def normal_equations(x, y, shift):
    m = np.arange(len(y)) % 3 == 1
    rows, values = x[m], y[m]
    gram, moments = rows.T @ rows, rows.T @ values
    b = gram[0] + shift
    residual = np.mean((y[~m] - x[~m] @ b) ** 2) + (b @ x[~m].T).sum()
    others = np.dot(rows.T, values), values @ rows, np.transpose(rows).max(axis=0).sum(), x[y > 0].T @ y[y > 0]
    return gram, moments, residual, *others


def weighted_equations(x, y):
    gram, moments, residual, dot, product, greatest, positive = normal_equations(x, y, 0.5)
    return np.sum(gram**2) + np.sum(moments * product) + residual + greatest + np.sum(positive * dot)


def test_matrix_products() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(10, 3)), rng.normal(size=10)
    x[0] = np.inf  # is not selected
    for found, wanted in zip(call(normal_equations, x, y, 0.5)[:2], normal_equations(x, y, 0.5)[:2], strict=True):
        np.testing.assert_allclose(found, wanted)
    x[0] = 0.5
    for found, wanted in zip(call(normal_equations, x, y, 0.5), normal_equations(x, y, 0.5), strict=True):
        np.testing.assert_allclose(found, wanted)
    slopes = Interpreted(Grad(weighted_equations, (0, 1)))(x, y)
    e = 1e-6
    for slope, steps in zip(slopes, (np.eye(30).reshape(30, 10, 3), np.eye(10)), strict=True):
        changes = [(e * step, 0) if step.ndim == 2 else (0, e * step) for step in steps]
        wanted = [
            (weighted_equations(x + dx, y + dy) - weighted_equations(x - dx, y - dy)) / (2 * e) for dx, dy in changes
        ]
        np.testing.assert_allclose(slope.ravel(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, m: (x[m] @ x[m].T).sum(),
        lambda x, m: x[:, 0][~m] @ np.ones(2),
        lambda x, m: x[m].T @ x[~m],
        lambda x, m: np.inner(x[m].T, x[m].T),
        lambda x, m: np.outer(x[m][:, 0], x[~m][:, 1]).sum(0).sum(),
    ],
)
def test_other_products(function: Callable[..., Any]) -> None:
    x = np.arange(12.0).reshape(4, 3)
    assert is_same(function(x, x[:, 0] > 4), call(function, x, x[:, 0] > 4))
