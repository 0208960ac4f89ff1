"""Nests cut into blocks: the right numbers, and bit for bit the same for any number of threads."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pytest
from random_nests import random_nest
from run_loops import Kernel

import mlirad
from mlirad.lowering.to_loops import parallel_nest

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
