"""`donate_argnums`: results use the memory of arguments that are no longer needed, and only that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.jit.kernel import SLOW_CALLS

X = np.array([0.5, -1.25, 2.0, 3.0])


def increment(x):
    return x + 1.0


def loss(x):
    return np.sum(np.sin(x) * x)


def descend(parameters, gradients, rate):
    return {key: parameters[key] - rate * gradients[key] for key in parameters}


def swapped(x, y):
    return y + 1.0, x + 2.0


def summed(x, y):
    return x + y


def of_other_shape(x):
    return np.concatenate((x, x))


def as_integers(x):
    return (x * 2).astype(np.uint64)


def itself_too(x):
    return x, x + 1.0


def a_view_too(x):
    return x[::2], x + 1.0


def backwards(x):
    return x[::-1] * 1.0


def in_place(x):
    x[0] = 7.0
    return x * 2.0


def chosen(x, p):
    if p > 0.0:
        y = x * p
    else:
        y = np.zeros(4)
        y[1] = x[2]
    return y


def iterated(x, n):
    y = x * 0.5
    for _ in range(n):
        y = np.sin(y) + 0.1
    return y


def perhaps_itself(x, n):
    for _ in range(n):
        x = np.sin(x) + 0.1
    return x


def donating(function: Any, argnums: Any = 0) -> mlirad.jit:
    return mlirad.jit(function, donate_argnums=argnums)


def test_the_result_is_the_donated_array() -> None:
    """By the slow path first, then by a plan."""
    kernel = donating(increment)
    for _ in range(SLOW_CALLS + 4):
        x = X.copy()
        y = kernel(x)
        assert y is x
        np.testing.assert_array_equal(y, X + 1.0)
    assert kernel._plans is None or kernel._plans.hits > 0


def test_without_the_option_nothing_is_taken() -> None:
    x = X.copy()
    kernel = mlirad.jit(increment)
    assert kernel(x) is not x and (x == X).all()


def test_less_memory_is_needed() -> None:
    assert donating(iterated).lower(X, 5).memory().results == 0
    assert mlirad.jit(iterated).lower(X, 5).memory().results == 32


@pytest.mark.parametrize(
    "function", [increment, of_other_shape, as_integers, backwards, np.tanh], ids=lambda each: each.__name__
)
def test_values(function: Any) -> None:
    def called(x):
        return function(x)

    x = X.copy() if function is not as_integers else np.arange(4)
    expected = called(x.copy())
    result = donating(called)(x)
    np.testing.assert_allclose(result, expected, rtol=1e-14)
    assert result.dtype == expected.dtype


@pytest.mark.parametrize("p", [2.0, -1.0])
def test_branches(p: float) -> None:
    np.testing.assert_array_equal(donating(chosen)(X.copy(), p), chosen(X, p))


def test_loops() -> None:
    for function in (iterated, perhaps_itself):
        kernel = donating(function)
        for n in (0, 1, 2, 7):
            np.testing.assert_allclose(kernel(X.copy(), n), function(X, n), rtol=1e-14)


def test_dtypes_must_agree() -> None:
    """An array of int64 does not become a result of uint64, although the elements have the same size."""
    x = np.arange(4)
    result = donating(as_integers)(x)
    assert result is not x and result.dtype == np.uint64 and x.dtype == np.int64


def test_pytrees() -> None:
    kernel = donating(descend)
    gradients = {"w": np.ones((2, 2)), "b": np.ones(3)}
    for _ in range(SLOW_CALLS + 4):
        parameters = {"w": np.full((2, 2), 2.0), "b": np.arange(3.0)}
        w, b = parameters["w"], parameters["b"]
        new = kernel(parameters, gradients, 0.5)
        assert new["w"] is w and new["b"] is b
        np.testing.assert_array_equal(w, np.full((2, 2), 1.5))
        np.testing.assert_array_equal(b, np.arange(3.0) - 0.5)
    assert (gradients["w"] == 1.0).all()


def test_several_arguments() -> None:
    """Each result goes to an argument that may still be needed; none of the values is wrong."""
    kernel = donating(swapped, (0, 1))
    for _ in range(SLOW_CALLS + 4):
        a, b = kernel(X.copy(), 2.0 * X)
        np.testing.assert_array_equal(a, 2.0 * X + 1.0)
        np.testing.assert_array_equal(b, X + 2.0)


def test_arguments_that_share_memory_are_left_alone() -> None:
    kernel = donating(summed)
    for _ in range(SLOW_CALLS + 4):
        whole = np.arange(8.0)
        x, y = whole[:4], whole[2:6]
        result = kernel(x, y)
        np.testing.assert_array_equal(result, np.arange(4.0) + np.arange(2.0, 6.0))
        np.testing.assert_array_equal(whole, np.arange(8.0))
        x = X.copy()
        np.testing.assert_array_equal(kernel(x, x), 2.0 * X)
        np.testing.assert_array_equal(x, X)
        x = X.copy()
        assert kernel(x, X) is x


surrounding = np.arange(4.0)


def add_surrounding(x):
    return x + surrounding * x


def test_a_captured_array_is_left_alone() -> None:
    kernel = donating(add_surrounding)
    for _ in range(SLOW_CALLS + 4):
        expected = add_surrounding(surrounding)
        np.testing.assert_array_equal(kernel(surrounding), expected)
        np.testing.assert_array_equal(surrounding, np.arange(4.0))
        x = X.copy()
        assert kernel(x) is x


@pytest.mark.parametrize("kind", ["strided", "reversed", "read-only", "unaligned", "Fortran"])
def test_arrays_that_cannot_be_used_are_left_alone(kind: str) -> None:
    kernel = donating(increment)
    kernel(X.copy())
    for _ in range(SLOW_CALLS + 4):
        x = {
            "strided": np.arange(8.0)[::2],
            "reversed": np.arange(4.0)[::-1],
            "read-only": np.arange(4.0),
            "unaligned": np.frombuffer(bytearray(33), np.uint8)[1:].view(np.float64),
            "Fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        }[kind]
        x.flags.writeable = kind != "read-only"
        before = x.copy()
        np.testing.assert_array_equal(kernel(x), before + 1.0)
        np.testing.assert_array_equal(x, before)


def test_empty_and_numbers() -> None:
    kernel = donating(increment)
    assert kernel(np.empty(0)).shape == (0,)
    assert kernel(2.0) == 3.0 and kernel(np.float64(2.0)) == 3.0
    np.testing.assert_array_equal(kernel(np.array([[1.0]])), [[2.0]])


def test_what_is_returned_itself_is_left_alone() -> None:
    for _ in range(3):
        x = X.copy()
        same, more = donating(itself_too)(x)
        assert same is x and (x == X).all() and (more == X + 1.0).all()
        view, more = donating(a_view_too)(x)
        assert np.shares_memory(view, x) and (x == X).all() and (more == X + 1.0).all()


def test_what_is_written_anyway() -> None:
    x = X.copy()
    result = donating(in_place)(x)
    expected = X.copy()
    np.testing.assert_array_equal(result, in_place(expected))
    np.testing.assert_array_equal(x, expected)  # as without the option


def test_gradients() -> None:
    expected = mlirad.grad(loss)(X)
    kernel = donating(mlirad.grad(loss))
    for _ in range(SLOW_CALLS + 4):
        x = X.copy()
        assert kernel(x) is x
        np.testing.assert_array_equal(x, expected)
    kernel = donating(mlirad.value_and_grad(loss))
    x = X.copy()
    value, gradient = kernel(x)
    assert gradient is x and value == pytest.approx(loss(X))
    np.testing.assert_array_equal(x, expected)


def test_transforms_of_a_donating_function_take_nothing() -> None:
    kernel = donating(increment)
    x = X.copy()
    np.testing.assert_array_equal(mlirad.jvp(kernel, (x,), (X,))[0], X + 1.0)
    _, pullback = mlirad.vjp(kernel, x)
    np.testing.assert_array_equal(pullback(np.ones(4))[0], np.ones(4))
    np.testing.assert_array_equal(mlirad.grad(lambda x: np.sum(kernel(x)))(x), np.ones(4))
    np.testing.assert_array_equal(x, X)
    assert mlirad.grad(mlirad.jit(loss, donate_argnums=0))(x) is not x
    np.testing.assert_array_equal(x, X)


def test_pullbacks_keep_what_they_need() -> None:
    def both(x):
        return mlirad.vjp(lambda x: np.sin(x) * x, x)

    x = X.copy()
    expected = mlirad.grad(loss)(X)
    _, pullback = donating(both)(x)
    x[:] = 0.0
    np.testing.assert_allclose(pullback(np.ones(4))[0], expected, rtol=1e-14)


def test_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that donates and code that does not are not taken for one another."""
    monkeypatch.delenv("MLIRAD_CACHE", raising=False)
    monkeypatch.setenv("MLIRAD_CACHE_DIR", str(tmp_path))
    for _ in range(2):  # the second time around it is found
        x = X.copy()
        assert mlirad.jit(increment)(x) is not x and (x == X).all()
        assert donating(increment)(x) is x and (x == X + 1.0).all()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"donate_argnums": "x"}, TypeError, "numbers of arguments, not 'x'"),
        ({"donate_argnums": True}, TypeError, "not True"),
        ({"donate_argnums": -1}, ValueError, "count from 0"),
        ({"donate_argnums": (0, 1), "static_argnums": 1}, ValueError, "argument 1 is static"),
    ],
)
def test_what_is_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        mlirad.jit(summed, **options)
