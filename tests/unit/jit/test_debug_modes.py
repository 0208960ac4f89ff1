"""`debug_nans`: which NaN is reported, where, and that kernels are compiled code again behind the block."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad


def line_of(function: Callable[..., Any], text: str) -> int:
    lines, first = inspect.getsourcelines(function)
    (found,) = [first + number for number, line in enumerate(lines) if text in line]
    return found


def reported(function: Callable[..., Any], *args: Any) -> FloatingPointError:
    with mlirad.debug_nans(), pytest.raises(FloatingPointError) as caught:
        function(*args)
    return caught.value


def forward(x, y):
    s = x[0] * 0
    for i in range(3):
        z = np.sqrt(x[i] - 1)
        s = s + helper(z, y)
    w = np.where(x > 0, np.log(np.abs(x)), np.log(x))  # a NaN on the side that is not taken
    return s + w.sum()


def helper(z, y):
    return z / y


def test_the_first_nan_of_a_forward_sweep() -> None:
    kernel, bad = mlirad.jit(forward), np.array([2.0, -1.5, 3.0])
    for _ in range(9):  # by a plan in the end
        expected = kernel(np.array([2.0, 1.0, 3.0]), 2.0)
    error = reported(kernel, bad, 2.0)
    assert error.location.lineno == line_of(forward, "np.sqrt")
    assert "in the forward sweep" in str(error) and "np.sqrt of" in str(error) and "= -2.5" in str(error)
    assert str(error).splitlines()[1].strip() == "z = np.sqrt(x[i] - 1)"
    error = reported(kernel, np.array([1.0, 1.0, 1.0], np.float32), np.float32(0))
    assert error.location.lineno == line_of(helper, "z / y") and "y = 0." in str(error)
    with mlirad.debug_nans():
        assert kernel(np.array([2.0, 1.0, 3.0]), 2.0) == pytest.approx(expected, rel=1e-14)
        assert np.isnan(kernel(np.array([2.0, np.nan, 3.0]), 2.0))  # it came in
        assert np.isnan(mlirad.jit(lambda x: x * np.nan)(1.0))  # it was asked for
    assert np.isnan(kernel(bad, 2.0))


def norm(x):
    r = x * x
    return np.sqrt(r.sum())


def test_the_first_nan_of_a_reverse_sweep() -> None:
    zeros = np.zeros(2)
    _, pullback = mlirad.vjp(norm, zeros)
    with mlirad.debug_nans():
        _, watched = mlirad.vjp(norm, zeros)
    for function, args in ((mlirad.grad(norm), (zeros,)), (watched, (1.0,)), (mlirad.jacrev(norm), (zeros,))):
        error = reported(function, *args)
        assert error.location.lineno == line_of(norm, "x * x")
        assert "reverse sweep, in the adjoint of this line" in str(error) and "[inf inf]" in str(error)
    assert np.isnan(pullback(1.0)[0]).all()  # of compiled code
    np.testing.assert_allclose(mlirad.grad(norm)(zeros + 3), np.sqrt([0.5, 0.5]))


def writes(x, items):
    items.append(x.sum())
    x[0] = np.log(x[0])
    return x[1]


def test_what_a_function_writes_and_raises_is_as_ever() -> None:
    kernel, x, items = mlirad.jit(writes), np.array([1.0, 2.0]), list[Any]()
    with mlirad.debug_nans():
        assert kernel(x, items) == 2.0 and x.tolist() == [0.0, 2.0] and items == [3.0]
        with pytest.raises(IndexError, match="out of bounds"):
            mlirad.jit(lambda x, i: x[i])(x, 5)
        with pytest.raises(mlirad.CompileError):
            mlirad.jit(lambda x: open("nowhere"))(x)
    x[0] = -1.0
    error = reported(kernel, x, items)
    assert error.location.lineno == line_of(writes, "np.log") and x[0] == -1.0


def test_a_block_holds_for_its_thread_and_may_be_nested() -> None:
    kernel, x = mlirad.jit(norm), np.array([np.inf, 1.0])
    nans = mlirad.jit(lambda x: x - x)
    found: list[Any] = []
    with mlirad.debug_nans() as nothing, mlirad.debug_nans():
        assert nothing is None
        thread = threading.Thread(target=lambda: found.extend(nans(x) for _ in range(9)))
        thread.start()
        thread.join()
    assert np.isnan([each[0] for each in found]).all() and len(found) == 9
    reported(nans, x)
    scope = mlirad.debug_nans()
    with scope, scope:
        pass
    assert np.isnan(nans(x)[0]) and kernel(x) == np.inf
