"""Reductions of whole arrays run on many cores: in parts, which another kernel reduces, and the rest of the array."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ascend_judges import Judged

import mlirad
from mlirad.targets.ascend.kernels.divided_reductions import CORES, SHORTEST

RNG = np.random.default_rng(11)


def normal(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def blocks_of(kernel: Any, *args: Any) -> list[int]:
    return [int(each) for each in re.findall(r"block_dim = (\d+)", kernel.lower(*args).as_text("hivm-virtual"))]


def reductions(x: np.ndarray, row: np.ndarray, h: np.ndarray) -> Any:
    return np.sum(np.exp(x - row)), np.max(x[1:, 3:150]), np.prod(1 + h / 1000)


def test_parts_of_any_array_have_the_numbers_of_the_cpu(judged: Callable[..., Judged]) -> None:
    args = normal(113, 160), normal(160), normal(20_011, dtype=np.float16)
    kernel = mlirad.jit(reductions, target="ascend")
    for one, other in zip(kernel(*args), mlirad.jit(reductions)(*args), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-3 if one.dtype == np.float16 else 2e-5, atol=1e-5)
    assert judged(kernel, *args).kernels > 6


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (SHORTEST - 1, [1]),
        (SHORTEST, [32, 1]),
        (40 * 1000, [CORES, 1]),
        (40 * 1000 + 3, [CORES, 1, 1]),
    ],
)
def test_long_arrays_are_divided(size: int, expected: list[int]) -> None:
    x = normal(size)
    kernel = mlirad.jit(lambda x: np.sum(x), target="ascend")
    assert blocks_of(kernel, x) == expected
    np.testing.assert_allclose(kernel(x), np.sum(x), rtol=1e-5, atol=1e-3)


def test_sums_that_add_to_what_is_there() -> None:
    def accumulated(x: np.ndarray, n: int) -> Any:
        total = np.float32(1)
        for _ in range(n):
            total = total + np.sum(x)
            x = x * total / np.float32(20_000)
        return total

    x = normal(20_000)
    expected = mlirad.grad(accumulated)(x, 3)
    np.testing.assert_allclose(mlirad.grad(accumulated, target="ascend")(x, 3), expected, rtol=1e-4, atol=1e-5)
