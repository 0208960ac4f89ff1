"""The Ascend target against the cpu target: numbers from the simulator, text checked by Huawei's open compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ascend_corpus import attention, layernorm, logsumexp, softmax
from ascend_judged import choices, rearranged
from scipy import special

import mlirad
from mlirad.errors import TargetError

RNG = np.random.default_rng(3)
QUICK = ((1, np.float16), (33, np.float32), (65537, np.float32))
SIZES = [
    pytest.param(size, dtype, marks=() if (size, dtype) in QUICK else pytest.mark.full)
    for size in (1, 7, 31, 32, 33, 2048, 65537)
    for dtype in (np.float16, np.float32)
]


def normal(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def leaves(value: Any) -> list[np.ndarray]:
    return [each for one in value for each in leaves(one)] if isinstance(value, tuple | list) else [np.asarray(value)]


def agree(function: Callable[..., Any], *args: Any, transform: Any = mlirad.jit, rtol: float = 1e-5) -> Any:
    """Compare with the cpu target. Returns the kernel."""
    kernel = transform(function, target="ascend")
    copies = [[each.copy() if isinstance(each, np.ndarray) else each for each in args] for _ in range(2)]
    found, expected = leaves(kernel(*copies[0])), leaves(transform(function)(*copies[1]))
    for one, other in zip([*found, *copies[0]], [*expected, *copies[1]], strict=True):
        one, other = np.asarray(one), np.asarray(other)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        largest = np.abs(other[np.isfinite(other)].astype(np.float64)).max(initial=1)
        np.testing.assert_allclose(one.astype(np.float64), other.astype(np.float64), rtol, 0.1 * rtol * largest)
    return kernel


def fused(x: np.ndarray) -> np.ndarray:
    return np.tanh(x) * np.exp(-x * x) + np.where(x > 0, np.sin(x), x)


def total(x: np.ndarray) -> Any:
    return np.sum(fused(x) * x)


@pytest.mark.parametrize(("size", "dtype"), SIZES)
def test_fused_elementwise_of_any_size(size: int, dtype: Any) -> None:
    rtol = 1e-5 if dtype is np.float32 else 2e-3
    x = normal(size, dtype=dtype)
    agree(fused, x, rtol=rtol)
    agree(total, x, transform=mlirad.value_and_grad, rtol=rtol)


def losses(x: np.ndarray, y: np.ndarray, scale: np.ndarray, shift: np.ndarray) -> Any:
    p = softmax(y)
    cross_entropy = -np.mean(np.sum(p * (x - logsumexp(x)[:, None]), axis=1))
    return cross_entropy + np.mean((layernorm(x, scale, shift) - y) ** 2)


def test_losses_and_their_gradients() -> None:
    args = normal(5, 21), normal(5, 21), normal(21), normal(21)
    agree(losses, *args, transform=lambda f, **options: mlirad.value_and_grad(f, argnums=(0, 2, 3), **options))


def test_attention_on_a_tile() -> None:
    args = normal(6, 8), normal(10, 8), normal(10, 5)
    agree(lambda q, k, v: np.sum(attention(q, k, v) ** 2), *args, transform=mlirad.grad)


def test_rearranged_arrays_and_reductions() -> None:
    args = normal(6, 9), normal(3, 4, 5)
    agree(rearranged, *args)


def test_booleans() -> None:
    x = normal(5, 7)
    x[0, :3] = np.nan, np.inf, -np.inf
    agree(choices, x)


def loops(x: np.ndarray, n: Any) -> Any:
    total = np.float32(0)
    for i in range(4):
        x[i] = np.tanh(x[i]) * np.float32(i)
        if np.sum(x) > 1:
            x[:, 0] += total
        total = total + x[0, 0]
    z = np.zeros(7, np.float32)
    while n > 0:
        z = z + x[1] * n
        n = n - np.float32(1)
    return z, total


def powers(x: np.ndarray) -> Any:
    for i in range(3):
        if np.sum(x) > 0:
            x[i] = np.exp(-x[i])
        x = x * x + x[i]
    return np.sum(x)


def test_loops_and_branches_stay_on_the_host() -> None:
    x = normal(5, 7)
    agree(loops, x, np.float32(3))
    agree(powers, x, transform=mlirad.grad)


def until_small(x: np.ndarray, a: Any) -> Any:
    while np.sum(x) > 1e-3:
        x = np.sin(x) * np.float32(0.9)
        x[1:] += np.float32(0.01) * x[:-1]
    while a < 1e4:  # 83 trips: more than a tape has room for at first
        a = a + np.sqrt(a)
    return np.sum(x * x) * np.float32(1e6) + a


def test_gradients_of_loops_whose_trips_are_unknown() -> None:
    x = np.linspace(1, 1.5, 5).astype(np.float32)
    kernel = agree(until_small, x, np.float32(3), transform=lambda f, **options: mlirad.grad(f, (0, 1), **options))
    assert "mlirad_grow" not in kernel.lower(x, np.float32(3)).as_text("hivm-physical")


def test_all_problems_are_listed_with_their_lines() -> None:
    def refused(x: np.ndarray, i: np.ndarray, n: int) -> Any:
        y = np.sort(x)
        z = x.astype(np.float64) * 2
        gathered = x[i]
        logarithm = special.gammaln(x)
        print(x[0])
        counted = np.arange(7) * n
        turned = x * 1j
        begin = np.sum(x[:n] * 2)
        return y, z, gathered, logarithm, counted, turned, begin

    with pytest.raises(TargetError) as caught:
        mlirad.jit(refused, target="ascend")(normal(5), np.arange(3), 4)
    problems = [caught.value, *caught.value.others]
    first = refused.__code__.co_firstlineno
    assert {each.lineno for each in problems} >= {first, *range(first + 1, first + 9)}
    assert all(each.hint and "target='cpu'" in each.hint for each in problems)
    text = str(caught.value)
    for part in ("no f64", "pass dtype=float32, or compile with target='cpu'", "arrays of i64", "y = np.sort(x)"):
        assert part in text
    for part in ("complex<f32>", "prints at run time", "size that is known only at run time"):
        assert part in text


def test_options_and_the_text_of_a_kernel() -> None:
    kernel = mlirad.jit(fused, target="ascend", soc="Ascend910B4")
    assert "simulator" in repr(kernel) and "never run on hardware" in repr(kernel)
    assert kernel.lower(normal(3)).stages[3:] == ("ascend-legal", "ascend-kernels", "hivm-virtual", "hivm-physical")
    with pytest.raises(TargetError, match="Ascend910B9") as caught:
        mlirad.jit(fused, target="ascend", soc="Ascend910B9")
    assert "Ascend910B1" in str(caught.value)
