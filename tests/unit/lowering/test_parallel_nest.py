"""Nests cut into blocks: the right numbers, and bit for bit the same for any number of threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from random_nests import random_nest
from run_loops import Kernel

import mlirad
from mlirad import nn
from mlirad.lowering.to_loops import linalg_to_loops, parallel_nest
from mlirad.lowering.to_loops.products import block_loops, planned_product, product_blocks, register_tiles

SEEDS = 400 if os.environ.get("MLIRAD_FULL") else 12


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Blocks of very little work, so that small nests have many."""
    monkeypatch.setattr(parallel_nest, "BLOCK", 64)
    monkeypatch.setattr(parallel_nest, "BLOCK_ROWS", 2)
    monkeypatch.setattr(parallel_nest, "TILE", 2)
    monkeypatch.setattr(parallel_nest, "_COLUMNS", 8)
    monkeypatch.setattr(parallel_nest, "_LINE", 2)
    before = mlirad.get_num_threads()
    mlirad.set_num_threads(3)
    yield
    mlirad.set_num_threads(before)


def test_random_nests() -> None:
    shared = 0
    for seed in range(SEEDS):
        vector_bytes = (16, 32, 64)[seed % 3]
        nests = [random_nest(seed) for _ in range(3)]
        compiled = Kernel(nests[0].text, vector_bytes, parallel=True)
        shared += compiled.is_shared
        for threads, nest in zip((3, 1, 2), nests, strict=True):
            mlirad.set_num_threads(threads)
            compiled(*[operand.whole for operand in nest.operands])
            for mine, other in zip(nest.operands, nests[0].operands, strict=True):
                np.testing.assert_array_equal(mine.whole, other.whole, err_msg=f"seed {seed}, {threads} threads")
        first, untouched = nests[0], random_nest(seed).operands
        for before, after in zip(untouched[:-1], first.operands[:-1], strict=True):
            np.testing.assert_array_equal(before.whole, after.whole)
        np.testing.assert_array_equal(untouched[-1].outside(), first.operands[-1].outside())
        tolerance = {"f64": 1e-11, "f32": 1e-4}.get(first.element, 0)
        np.testing.assert_allclose(first.result, first.expected, rtol=tolerance, atol=tolerance, err_msg=f"seed {seed}")
    assert shared > SEEDS // 2


def test_products_in_blocks_have_the_bits_of_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several blocks along each dimension, in strips that are ragged, and share what is packed of b."""
    small = {
        "_LARGE": 1,
        "_SCATTERED": 1,
        "_FEWEST_COLUMNS": 1,
        "_ROWS_BYTES": 3072,
        "_COLUMNS_BYTES": 4096,
        "_STRIP_BYTES": 3072,
        "_SHARED_BYTES": 4096,
        "_SHARED": 1,
        "_NARROW": 1,
    }
    for name, value in small.items():
        monkeypatch.setattr(product_blocks, name, value)
    for module in (block_loops, linalg_to_loops, planned_product, product_blocks, register_tiles):
        monkeypatch.setattr(module, "DEPTH", 16)
    for module in (block_loops, product_blocks):
        monkeypatch.setattr(module, "STRIPS", 3)
    rng = np.random.default_rng(3)
    cases: list[tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...], type]] = [
        (lambda x, y: x @ y, (2, 53, 35), (2, 35, 67), np.float64),
        (lambda x, y: x.T @ y.T, (40, 61), (33, 40), np.float32),
    ]
    for function, a, b, dtype in cases:
        x, y = rng.normal(size=a).astype(dtype), rng.normal(size=b).astype(dtype)
        shared = mlirad.jit(function, parallel=True, cache=False)
        text = shared.lower(x, y).as_text("loops")
        assert text.count("scf.parallel") >= 2 and "memref.alloca" not in text  # as parts would have
        expected = mlirad.jit(function, cache=False)(x, y)
        np.testing.assert_allclose(expected, function(x, y), rtol=1e-4, atol=1e-4)
        for threads in (3, 1, 2):
            mlirad.set_num_threads(threads)
            np.testing.assert_array_equal(shared(x, y), expected)


def test_products_of_windows_have_the_bits_of_one_thread() -> None:
    """Their blocks are rows, columns, groups; rows of the gradient by the weights are parts of channels and taps."""
    rng = np.random.default_rng(5)
    cases = [((2, 3, 11, 13), (5, 3, 3, 5), 1), ((1, 3, 7, 13), (9, 3, 3, 5), 1), ((2, 6, 12, 9), (6, 2, 4, 3), 3)]
    for x, w, groups in cases:
        image, weights = rng.normal(size=x), rng.normal(size=w)

        def loss(image: Any, weights: Any, groups: int = groups) -> Any:
            y = nn.conv2d(image, weights, groups=groups)
            return y, y**3

        shared, alone = (mlirad.jit(loss, parallel=each, cache=False) for each in (True, False))
        _, pull = mlirad.vjp(shared, image, weights)
        expected, pull_alone = mlirad.vjp(alone, image, weights)
        assert "scf.parallel" in shared.lower(image, weights).as_text("loops")
        for threads in (3, 1, 2):
            mlirad.set_num_threads(threads)
            found = (*shared(image, weights), *pull(expected))
            for mine, other in zip(found, (*expected, *pull_alone(expected)), strict=True):
                np.testing.assert_array_equal(mine, other)
