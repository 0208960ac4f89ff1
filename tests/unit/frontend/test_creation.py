"""Arrays with sizes that come from arguments, against NumPy: every function that makes arrays, with and without
dtype."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.errors import CompileError
from mlirad.testing.interpreted import Interpreted

EXPRESSIONS = """
    np.zeros(n)
    np.ones(n, D)
    np.full(n, 3)
    np.full((n, m), 2.5, D)
    np.zeros((n, m))
    np.ones([m, n], dtype=D)
    np.empty(n).shape
    np.empty((n, m), D).shape
    np.ndarray(n).shape
    np.ndarray((n, m), D).dtype
    np.ndarray(shape=(m, )).size
    np.eye(n)
    np.eye(n, m)
    np.eye(n, m, 1)
    np.eye(n, k=-2)
    np.eye(n, dtype=D)
    np.eye(N=n, M=m, k=m-n, dtype=D)
    np.identity(n)
    np.identity(n, D)
    np.tri(n)
    np.tri(n, m)
    np.tri(n, m, -1, D)
    np.tri(n, k=1)
    np.tril(np.ones((n, m)))
    np.triu(np.full((n, n), 2.0), 1)
    np.diag(np.ones(n))
    np.diag(np.arange(n), 1)
    np.arange(n)
    np.arange(n, dtype=D)
    np.arange(1, n)
    np.arange(n, 0, -1)
    np.arange(0, n, 2)
    np.arange(1.0, n, 0.5)
    np.linspace(0, 1, n)
    np.linspace(0.0, n, m)
    np.linspace(0, 1, num=n, endpoint=False)
    np.linspace(1, 2, n, dtype=float)
    np.zeros_like(np.ones(n, D))
    np.ones_like(np.zeros((n, m)), dtype=D)
    np.full_like(np.zeros(n), 7)
    np.empty_like(np.ones(n)).shape
    np.zeros_like(np.ones(3), shape=(n, m))
    np.array([i*2.0 for i in range(n)])
    np.array([[i, j] for i in range(n) for j in range(m)])
    np.array([1.0]*n)
    np.repeat(2.5, n)
    np.tile(np.array([1.0, 2.0]), n)
    np.indices((n, m))
    np.tril_indices(n)[0]
    np.triu_indices(n, 1)[1]
    np.diag_indices(n)[0]
    np.hamming(n)
    np.hanning(n)
    np.bartlett(n)
    np.blackman(n)
    np.kaiser(n, 2.0)
""".strip().splitlines()
SIZES = ((0, 3), (1, 1), (3, 5), (5, 2))


def program(expression: str) -> Callable[..., Any]:
    name, source = f"<creation {expression}>", f"def made(n, m):\n    return {expression}\n"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space: dict[str, Any] = {"np": np}
    exec(compile(source, name, "exec"), space)
    return space["made"]


def require_same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(expected, np.ndarray):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert np.allclose(found, expected, rtol=1e-15, atol=0.0, equal_nan=True)
    else:
        assert found == expected


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", list(map(str.strip, EXPRESSIONS)))
def test_sizes_from_arguments(expression: str) -> None:
    dtypes = ("int", "np.float32", "'u1'") if "D" in expression else ("",)
    for dtype, (n, m) in itertools.product(dtypes, SIZES):
        function = program(expression.replace("D", dtype))
        try:
            expected = function(n, m)
        except ValueError:
            with pytest.raises(ValueError):
                Interpreted(function)(n, m)
        else:
            require_same(Interpreted(function)(n, m), expected)


@pytest.mark.parametrize("expression", ["np.eye(n, m, 2)", "np.tri(n, m, -3)", "np.eye(n, n, -1, int)"])
def test_large_ones_are_no_constants(expression: str) -> None:
    kernel = mlirad.jit(program(expression))
    require_same(kernel(90, 70), kernel.numpy(90, 70))
    assert "dense<" not in kernel.lower(90, 70).as_text("optimized") or "dense<[" not in kernel.lower(90, 70).as_text(
        "optimized"
    )


def test_an_offset_may_be_a_number_of_the_run() -> None:
    @mlirad.jit
    def shifted(x):
        total = np.zeros(3)
        for k in range(-2, 3):
            total += np.eye(3, k=k) @ x * (k + 3.0)
        return total

    x = np.array([1.0, 10.0, 100.0])
    assert np.allclose(shifted(x), shifted.numpy(x), rtol=1e-15)


def test_gradients() -> None:
    def ridge(x, n):
        a = np.outer(x, x) + 2.0 * np.eye(n) + np.tri(n, k=-1)
        return np.sum(a @ a)

    x = np.array([0.5, -1.0, 2.0])
    steps = [(ridge(x + h, 3) - ridge(x - h, 3)) / 2e-6 for h in np.eye(3) * 1e-6]
    assert np.allclose(mlirad.grad(ridge)(x, 3), steps, rtol=1e-6)


def test_refused() -> None:
    def of_a_buffer(x):
        return np.ndarray(3, float, x)

    with pytest.raises(CompileError, match="with a shape and a dtype only"):
        mlirad.jit(of_a_buffer)(np.ones(3))
