"""Nests cut into blocks, run by three threads: the same numbers, to the bit, as whole ones."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pytest
from random_nests import random_nest
from run_loops import Kernel

from mlirad.lowering import parallel_nest
from mlirad.options import Environment
from mlirad.targets.cpu.pool import the_pool

SEEDS = 400 if os.environ.get("MLIRAD_FULL") else 12


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Blocks of hardly any work, so that small nests have many."""
    monkeypatch.setattr(parallel_nest, "BLOCK", 64)
    monkeypatch.setattr(parallel_nest, "BLOCK_ROWS", 2)
    monkeypatch.setattr(parallel_nest, "TILE", 2)
    monkeypatch.setattr(parallel_nest, "_COLUMNS", 8)
    monkeypatch.setattr(parallel_nest, "_LINE", 2)
    the_pool().set_threads(3)
    yield
    the_pool().set_threads(Environment.read().threads)


def test_random_nests() -> None:
    shared = 0
    for seed in range(SEEDS):
        vector_bytes = (16, 32, 64)[seed % 3]
        nest, same = random_nest(seed), random_nest(seed)
        compiled = Kernel(nest.text, vector_bytes, parallel=True)
        shared += compiled.is_shared
        compiled(*[operand.whole for operand in nest.operands])
        Kernel(nest.text, vector_bytes)(*[operand.whole for operand in same.operands])
        for mine, other in zip(nest.operands, same.operands, strict=True):
            np.testing.assert_array_equal(mine.whole, other.whole, err_msg=f"seed {seed}")
    assert shared > SEEDS // 4
