"""`target="ascend"` computes matrix products, and their gradients, on the cube core, with the cpu's numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad

RNG = np.random.default_rng(11)
TOLERANCES = {np.float32: 2e-6, np.float16: 2e-3}


def normal(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def cores(kernel: Any, *args: Any) -> tuple[int, int]:
    """The numbers of kernels on the cube core and on the vector core."""
    text = kernel.lower(*args).as_text("ascend-kernels")
    return text.count("func_core_type<AIC>"), text.count("func_core_type<AIV>")


def agree(function: Callable[..., Any], *args: Any, transform: Any = mlirad.jit) -> Any:
    """Compare with the cpu target. Returns the kernel."""
    kernel = transform(function, target="ascend")
    found, expected = kernel(*args), transform(function)(*args)
    found, expected = (each if isinstance(each, tuple) else (each,) for each in (found, expected))
    for one, other in zip(found, expected, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        tolerance = TOLERANCES[other.dtype.type]
        largest = float(np.abs(other.astype(np.float64)).max(initial=1))
        np.testing.assert_allclose(one.astype(np.float64), other.astype(np.float64), tolerance, tolerance * largest)
    return kernel


def gradients(function: Callable[..., Any], **options: Any) -> Any:
    return mlirad.grad(function, argnums=(0, 1), **options)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_gradient_of_a_layer(dtype: Any) -> None:
    """Three products: the layer, with A transposed, and with B transposed."""
    args = normal(33, 40, dtype=dtype), normal(40, 20, dtype=dtype)
    kernel = agree(lambda x, w: np.sum(np.tanh(x @ w)), *args, transform=gradients)
    assert cores(kernel, *args) == (3, 1)
    text = kernel.lower(*args).as_text("hivm-virtual")
    assert text.count("a_transpose") == text.count("b_transpose") == 1


def products(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> tuple[Any, ...]:
    w = y[0]
    placed = np.zeros((17, 64), np.float32)
    placed[:, 10:19] = x[0] @ w
    contracted = np.einsum("bij,ckj->bick", x, x), np.einsum("aij,jkb->aikb", x, z), np.einsum("ij,jk->ki", x[0], w)
    last_is_batch = np.einsum("bij,bjk->kib", x, y)
    empty = w[:0] @ np.zeros((9, 4), np.float32), x[0, :, :0] @ w[:0]
    views = x[0].T @ x[1], w.T @ w, x[0, 3:16, ::2] @ w[1:21], placed
    return (x @ y, x @ w, np.tensordot(x, z, 1), *views, *contracted, *empty, last_is_batch)


def test_products_of_all_forms() -> None:
    args = normal(3, 17, 40), normal(3, 40, 9), normal(40, 6, 7)
    kernel = agree(products, *args)
    on_cube, _ = cores(kernel, *args)
    assert on_cube == 10


EXTENTS = (1, 2, 15, 16, 17, 31, 33, 64, 100, 127, 129, 256, 500, 1000, 1024)
FORMS: tuple[tuple[Callable[..., Any], Callable[..., Any]], ...] = (
    (lambda x, y: x @ y, lambda x, y: (x, y)),
    (lambda x, y: x.T @ y, lambda x, y: (x.T.copy(), y)),
    (lambda x, y: x @ y.T, lambda x, y: (x, y.T.copy())),
    (lambda x, y: x.T @ y.T, lambda x, y: (x.T.copy(), y.T.copy())),
    (lambda x, y: np.stack([x, x + x]) @ y, lambda x, y: (x, y)),
    (lambda x, y: np.stack([x, -x]) @ np.stack([y, y + 1]), lambda x, y: (x, y)),
)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_products_of_ragged_sizes_and_their_adjoints(seed: int, dtype: Any) -> None:
    """In a form given by the seed: transposed, batched. The first ones have the extents that matter most."""
    rng = np.random.default_rng(seed)
    first = [(1, 1, 1), (1, 17, 16), (129, 1, 127), (1000, 33, 1), (1024, 1024, 16), (1000, 15, 1024), (127, 1000, 129)]
    m, k, n = first[seed] if seed < len(first) else rng.choice(EXTENTS, 3)
    product, placed = FORMS[seed % len(FORMS)]
    x, y = placed(*(rng.standard_normal(shape).astype(dtype) for shape in ((m, k), (k, n))))
    agree(product, x, y)
    agree(lambda x, y: np.mean(product(x, y) ** 2), x, y, transform=gradients)


def test_products_with_vectors_stay_on_the_vector_core() -> None:
    args = normal(17, 40), normal(40)
    kernel = agree(lambda x, v: (x @ v, v @ v * np.ones(2, np.float32), x[:1] @ x.T), *args)
    assert cores(kernel, *args)[0] == 0
