"""Arrays of which trips use columns or planes, stored by these: NumPy's values, and gradients of both modes."""

from __future__ import annotations

import numpy as np
import pytest
from adjoints_by_hand import program_of

import mlirad
from mlirad.lowering.layouts import sliced_arrays

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


def growing(alpha, c, a, b):
    """Columns of growing length, some of no element, beside single elements: read, written and added to."""
    n, m = a.shape
    p = np.ones((n, m))
    for i in range(n):
        for k in range(m):
            c[i, : i + 1] += a[: i + 1, k] * alpha * b[i, k] + b[: i + 1, k] * a[i, k]
            p[i:, k] = p[i:, k] * c[i, 0] + b[i:, k]
            p[i, k] = p[i, k] + 0.5
            p[:i:2, k] += a[:i:2, k] * p[i, k]
    return c, p


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_slices_of_growing_length_and_elements_are_laid_out(dtype: type) -> None:
    tolerance = {"rtol": 1e-11 if dtype is np.float64 else 1e-3, "atol": 1e-4}
    alpha, n, m = dtype(0.3), 18, 7
    c, a, b = (0.1 * RANDOM.normal(size=shape).astype(dtype) for shape in ((n, n), (n, m), (n, m)))
    compiled = mlirad.jit(lambda alpha, c, a, b: growing(alpha, c.copy(), a, b))
    text = compiled.lower(alpha, c, a, b).as_text("linalg")
    assert "tensor<7x18x" in text
    assert "into tensor<18x7x" not in text
    for each in ((c, a, b), (c[:1, :1], a[:1], b[:1]), (c[::-1, ::-1], a[::-1, ::-1], b[::-1])):
        expected = growing(alpha, each[0].copy(), *each[1:])
        for found, wanted in zip(compiled(alpha, *each), expected, strict=True):
            np.testing.assert_allclose(found, wanted, **tolerance)
    if dtype is np.float32:
        return

    def loss(alpha, c, a, b):
        c, p = growing(alpha, c.copy(), a, b)
        return np.sum(c * c) + np.sum(p * p * p)

    point = (alpha, c, a, b)
    direction = tuple(np.asarray(RANDOM.normal(size=np.shape(each)))[()] for each in point)
    _, forward = mlirad.jvp(loss, point, direction)
    gradient = mlirad.grad(loss, argnums=(0, 1, 2, 3))(*point)
    moved = sum(np.sum(g * d) for g, d in zip(gradient, direction, strict=True))
    np.testing.assert_allclose(moved, forward, rtol=1e-10)
    ends = [loss(*(x + step * d for x, d in zip(point, direction, strict=True))) for step in (1e-6, -1e-6)]
    np.testing.assert_allclose(forward, (ends[0] - ends[1]) / 2e-6, rtol=1e-6)


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
    monkeypatch.setattr(sliced_arrays, "_PAYS", 0)
    program = program_of(f"programs.{name}", monkeypatch)
    arguments = program.arguments(program.SIZES[0])
    ours, by_hand = mlirad.grad(program.loss, program.ARGNUMS)(*arguments), program.adjoint(*arguments)
    for found, expected in zip(
        *((each if isinstance(each, tuple) else (each,)) for each in (ours, by_hand)), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
