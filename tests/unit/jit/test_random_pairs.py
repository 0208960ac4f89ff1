"""Random pairs of views of one array, passed to kernels that write them: what NumPy does, or the documented refusal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from random_pairs import KERNELS, outcome, random_pair, refused, require_same

import mlirad
from mlirad import stages
from mlirad.testing.interpreted import Interpreted

# How many kernels of few shapes share their specialisations; more would only be searched through.
GENERATION = 100


def check_pair(seed: int, function: Callable[..., Any], kernel: Callable[..., Any]) -> str:
    """The outcome, in one word. The interpreter does not make the writes before an error visible."""
    make = random_pair(seed)
    numpys, own = make(), make()
    wanted, found = outcome(function, numpys), outcome(kernel, own)
    is_bits = numpys[0].dtype != numpys[1].dtype
    if refused(found) or (is_bits and isinstance(found, mlirad.CompileError)):
        for a, b in zip(make(), own, strict=True):
            np.testing.assert_array_equal(a, b)  # nothing has been written
        return "refused"
    if isinstance(wanted, Exception):
        kinds = [kind for kind in (ValueError, IndexError, TypeError, ZeroDivisionError) if isinstance(wanted, kind)]
        assert isinstance(found, tuple(kinds)), f"seed {seed}: {wanted!r}, but {found!r}"
        if not isinstance(found, mlirad.CompileError) and not isinstance(kernel, Interpreted):
            require_same((numpys, None), (own, None))  # what was written before stays written
        return "raised"
    assert not isinstance(found, Exception), f"seed {seed}: {found!r}"
    require_same((numpys, wanted), (own, found))
    return "shared" if np.shares_memory(numpys[0], numpys[1]) else "apart"


def check_pairs(seeds: range, make_kernel: Callable[[Any], Callable[..., Any]]) -> Counter[str]:
    happened: Counter[str] = Counter()
    kernels: list[Callable[..., Any]] = []
    for seed in seeds:
        if not kernels or seed % GENERATION == 0:
            kernels = [make_kernel(each) for each in KERNELS]
        number = seed % len(KERNELS)
        happened[check_pair(seed, KERNELS[number], kernels[number])] += 1
    return happened


@pytest.mark.parametrize(
    ("seeds", "stage"),
    [
        pytest.param(range(150), stages.AUTODIFF, id="short"),
        pytest.param(range(150, 5000), stages.AUTODIFF, id="full", marks=pytest.mark.full),
        pytest.param(range(5000, 5500), stages.OPTIMIZED, id="optimized", marks=pytest.mark.full),
    ],
)
def test_pairs_of_views(seeds: range, stage: str) -> None:
    happened = check_pairs(seeds, lambda function: Interpreted(function, stage))
    assert happened["refused"] <= 0.05 * len(seeds), happened
    assert happened["shared"] >= 0.5 * len(seeds), happened


@pytest.mark.parametrize(
    "seeds",
    [pytest.param(range(6000, 6016), id="short"), pytest.param(range(6016, 6300), id="full", marks=pytest.mark.full)],
)
def test_pairs_of_views_natively(seeds: range) -> None:
    assert check_pairs(seeds, mlirad.jit)["refused"] <= 0.1 * len(seeds) + 1
