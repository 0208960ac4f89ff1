"""Arguments that a callee certainly needs while compiling are required when it is called, not after its loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import mlirad
from mlirad.frontend.interpreter.loops import loop_ops


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lines of the loops whose bodies are interpreted."""
    found: list[int] = []
    interpret = loop_ops.one_pass

    def noted(context: Any, loop: Any, header: Any) -> Any:
        found.append(loop.node.lineno)
        return interpret(context, loop, header)

    monkeypatch.setattr(loop_ops, "one_pass", noted)
    return found


def halved(x):
    y = np.zeros(x.shape[0] // 2)
    for i in range(x.shape[0] // 2):
        y[i] = x[2 * i] + x[2 * i + 1]
    return y


def reshaped(x, n):
    y = halved(x)
    return np.sum(np.reshape(y, (n, -1)), axis=0)


def reshaped_to(x, n):
    """Its size is known from a local name."""
    y = halved(x)
    n = y.shape[0] // n // n
    return np.reshape(y, (n, -1)) if n > 1 else y


def returns_before(x, n):
    y = halved(x)
    if x.shape[0] > 3:
        return y * n
    return np.reshape(y, (n, -1))


def test_a_loop_before_the_need_is_not_interpreted_twice(passes: list[int]) -> None:
    x = np.arange(12.0)
    known = mlirad.jit(lambda x: reshaped(x, 3))(x)
    once = len(passes)
    assert_array_equal(mlirad.jit(lambda x, n: reshaped(x, n))(x, 3), known)
    assert len(passes) == 2 * once
    assert_array_equal(known, reshaped(x, 3))


def test_statements_that_a_call_may_not_reach_require_nothing() -> None:
    kernel = mlirad.jit(lambda x, n: returns_before(x, n))
    for n in (2, 3):
        assert_array_equal(kernel(np.arange(8.0), n), returns_before(np.arange(8.0), n))
    assert "%n" in kernel.lower(np.arange(8.0), 2).as_text("tensor")


def test_a_name_that_is_bound_again_is_not_the_argument() -> None:
    x = np.arange(16.0)
    assert_array_equal(mlirad.jit(reshaped_to)(x, 2), reshaped_to(x, 2))


def repeated(x, scale, n):
    return x + np.broadcast_to(scale, (n, 2))


def test_only_arguments_in_the_shape_are_required() -> None:
    text = mlirad.jit(repeated).lower(np.ones((3, 2)), 0.5, 3).as_text("tensor")
    assert "%scale: f64" in text and "%n" not in text
