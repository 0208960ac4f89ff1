"""Arrays of which trips use columns or planes, stored by these: NumPy's values, and gradients of both modes."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

import mlirad
from mlirad.lowering.clean_up import sliced_arrays

RANDOM = np.random.default_rng(3)


def swept(x, y, steps):
    """Columns and planes of arrays that only the loops see: in a loop, in a branch, backwards, with a stride."""
    n = x.shape[0]
    p, q = np.zeros((n, n)), np.ones((n, n))
    planes, other = np.empty((n, n - 1, 3)), np.zeros((n, 3))
    for step in range(steps):
        p[1:, 0] = x[0, 1:]
        for j in range(1, n):
            p[1:, j] = x[j, 1:] / (2.0 + p[1:, j - 1] * p[1:, j - 1])
            q[::2, j] = q[::2, j - 1] * y[::2, j] - q[::-2, j - 1]
        for j in range(n - 2, -1, -1):
            x[:, j] = p[:, j] * x[:, j + 1] + q[:, j]
        if step % 2 == 0:
            planes[:, :, step] = x[:, 1:]
        else:
            planes[:, :, step] = planes[:, :, step - 1] * y[:, :1]
            q[:, 0] = planes[:, 1, step]
        other[:, step] += planes[:, 0, 0]
    total = np.zeros((n, n - 1))
    for step in range(steps):
        total += planes[:, :, step] * other[:, step][:, None]
    return total


def arguments(dtype: type, n: int = 7) -> tuple[np.ndarray, np.ndarray, int]:
    x, y = RANDOM.normal(size=(2, n, n))
    return 0.3 * x.astype(dtype), 0.3 * y.astype(dtype), 3


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_are_numpys(dtype: type) -> None:
    x, y, steps = arguments(dtype)
    expected = swept(x.copy(), y, steps)
    found = mlirad.jit(swept)(x.copy(), y, steps)
    np.testing.assert_allclose(found, expected, rtol=1e-12 if dtype is np.float64 else 1e-4)


def test_derivatives_agree_with_one_another_and_with_differences() -> None:
    x, y, steps = arguments(np.float64)

    def loss(x, y):
        return np.sum(swept(x.copy(), y, steps) ** 2)

    direction = RANDOM.normal(size=(2, *x.shape))
    backward = mlirad.grad(loss, argnums=(0, 1))(x, y)
    _, forward = mlirad.jvp(loss, (x, y), tuple(direction))
    h = 1e-6
    change = loss(x + h * direction[0], y + h * direction[1]) - loss(x - h * direction[0], y - h * direction[1])
    np.testing.assert_allclose(np.sum(np.multiply(backward, direction)), forward, rtol=1e-12)
    np.testing.assert_allclose(change / (2 * h), forward, rtol=1e-6)


def test_columns_that_only_loops_see_are_contiguous() -> None:
    def eliminated(x):
        n = x.shape[0]
        p = np.empty((n, 5))
        p[:, 0] = 0.0
        for j in range(1, 5):
            p[:, j] = x / (p[:, j - 1] + 2.0)
        return p[:, 4].copy()

    lowered = mlirad.jit(eliminated).lower(np.ones(9))
    assert "tensor<5x9xf64>" in lowered.as_text("linalg")
    assert "tensor<9x5xf64>" not in lowered.as_text("linalg")
    np.testing.assert_array_equal(mlirad.jit(eliminated)(np.ones(9)), eliminated(np.ones(9)))


def orthogonalised(a):
    """In place, by columns; the last column and the sum see the array as a whole."""
    n = a.shape[1]
    r = np.zeros((n, n))
    for k in range(n):
        r[k, k] = np.sqrt(np.sum(a[:, k] * a[:, k]))
        a[:, k] /= r[k, k]
        for j in range(k + 1, n):
            r[k, j] = np.sum(a[:, k] * a[:, j])
            a[:, j] -= a[:, k] * r[k, j]
    a[:, -1] *= 2.0
    return r + np.sum(a * a)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_an_argument_that_nested_loops_sweep_by_columns_is_transposed_before_and_after(dtype: type) -> None:
    matrix = RANDOM.normal(size=(14, 12)).astype(dtype)
    compiled = mlirad.jit(orthogonalised)
    text = compiled.lower(matrix).as_text("linalg")
    assert "tensor<12x14x" in text
    wide = np.repeat(matrix, 2, 1)
    layouts = (matrix, np.asfortranarray(matrix), matrix[::-1, ::-1], wide[:, ::2], matrix[:, :1], matrix[:0])
    for each in layouts:
        ours, numpys = each.copy(order="K"), each.copy(order="K")
        with np.errstate(all="ignore"):
            expected = orthogonalised(numpys)
        tolerance = {"rtol": 1e-10 if dtype is np.float64 else 1e-3, "atol": 1e-5}
        np.testing.assert_allclose(compiled(ours), expected, **tolerance)
        np.testing.assert_allclose(ours, numpys, **tolerance)
    matrix.setflags(write=False)
    kept = mlirad.jit(lambda a: orthogonalised(a.copy()))(matrix)
    np.testing.assert_allclose(kept, orthogonalised(matrix.copy()), **tolerance)
    direction = RANDOM.normal(size=matrix.shape).astype(dtype)

    def loss(a):
        return np.sum(orthogonalised(a.copy()) ** 2)

    _, forward = mlirad.jvp(loss, (matrix,), (direction,))
    np.testing.assert_allclose(
        np.sum(mlirad.grad(loss)(matrix) * direction), forward, rtol=1e-9 if dtype is np.float64 else 1e-2
    )


def test_an_array_that_fails_in_the_middle_is_as_numpy_leaves_it() -> None:
    def swept(a, columns):
        for k in range(a.shape[1]):
            for j in range(a.shape[1]):
                a[:, j] += a[:, k] * 0.5
                if columns[k] < 0:
                    raise ValueError("a negative column")

    ours, numpys = np.ones((9, 8)), np.ones((9, 8))
    columns = np.array([0, 1, 2, 3, -1, 5, 6, 7])
    for function, array in ((mlirad.jit(swept), ours), (swept, numpys)):
        with pytest.raises(ValueError, match="a negative column"):
            function(array, columns)
    np.testing.assert_array_equal(ours, numpys)


@pytest.mark.parametrize("name", ["gramschmidt", "adi", "vadv", "columns", "hand_tracking", "trisolve"])
def test_programs_whose_arrays_are_all_transposed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it pays or not."""
    monkeypatch.syspath_prepend(Path(__file__).parents[3] / "benchmarks")
    monkeypatch.setattr(sliced_arrays, "_PAYS", 0)
    program = importlib.import_module(f"programs.{name}")
    arguments = program.arguments(program.SIZES[0])
    ours, by_hand = mlirad.grad(program.loss, program.ARGNUMS)(*arguments), program.adjoint(*arguments)
    for found, expected in zip(
        *((each if isinstance(each, tuple) else (each,)) for each in (ours, by_hand)), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
