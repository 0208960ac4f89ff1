"""`mlirad.random`: published words of Philox, equal numbers with and without compiling, distributions, derivatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import mlirad
import mlirad.random as mr
from mlirad.library.random.philox import blocks

# Random123's kat_vectors for philox4x32 with 10 rounds: counter, key, words.
PUBLISHED: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = [
    ((0,) * 4, (0,) * 2, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
LOGITS = np.log([[0.1, 0.9], [0.5, 0.5]])


def test_published_words() -> None:
    counters, keys, words = (np.array(each, np.uint64) for each in zip(*PUBLISHED, strict=True))
    for run in (blocks, mlirad.jit(blocks)):
        found = run(tuple(keys.T), tuple(counters.T))
        np.testing.assert_array_equal(np.array(found).T, words)


def integers(seed, weights):
    keys = mr.split(mr.key(seed), 8)
    made = mr.fold_in(keys[0], seed), mr.bits(keys[0], 5, np.uint8), mr.bits(keys[0], (2, 2), np.uint64)
    unit = mr.uniform(keys[1], (3,)), mr.uniform(keys[1], (5,), np.float32), mr.uniform(keys[1])
    drawn = mr.randint(keys[2], (5,), -3, 10), mr.bernoulli(keys[3], weights), mr.rademacher(keys[4], (8,))
    orders = mr.permutation(keys[5], 10), mr.permutation(keys[5], np.arange(6.0).reshape(3, 2))
    chosen = (
        mr.choice(keys[6], 10, (2, 2)),
        mr.choice(keys[6], weights, (4,), p=weights),
        mr.choice(keys[6], 9, 3, False),
    )
    return keys, made, unit, drawn, orders, chosen, mr.categorical(keys[7], LOGITS)


def reals(seed):
    keys = mr.split(mr.key(seed), 6)
    wide = [
        f(keys[n], (3,))
        for n, f in enumerate((mr.normal, mr.exponential, mr.gumbel, mr.logistic, mr.laplace, mr.cauchy))
    ]
    return (*wide, mr.normal(keys[0]), mr.normal(keys[1], 5, np.float32), mr.gumbel(keys[2], 4, np.float32))


def same(found: Any, expected: Any, rtol: float = 0.0) -> None:
    for own, numpys in zip(mlirad.tree.leaves(found), mlirad.tree.leaves(expected), strict=True):
        assert type(own) is type(numpys) and np.asarray(own).dtype == np.asarray(numpys).dtype
        np.testing.assert_allclose(own, numpys, rtol=rtol if np.asarray(own).dtype != np.float32 else 3e-6)


def test_the_same_numbers_in_kernels() -> None:
    """Integers and uniform numbers, to the bit."""
    weights = np.array([0.2, 0.5, 0.3])
    for seed in (0, -1, 2**40 + 3):
        same(mlirad.jit(integers)(seed, weights), integers(seed, weights))
        same(mlirad.jit(reals)(seed), reals(seed), 1e-13)
    assert not np.array_equal(integers(0, weights)[2][0], integers(1, weights)[2][0])
    assert mr.key(0).dtype == np.uint32 and mr.key(-1).tolist() == [2**32 - 1, 2**32 - 1]


def test_distributions() -> None:
    key, n = mr.key(5), 20_000
    for sample, law in (
        (mr.uniform(key, n), stats.uniform.cdf),
        (mr.uniform(key, n, np.float32), stats.uniform.cdf),
        (mr.normal(key, n), stats.norm.cdf),
        (mr.normal(key, n, np.float32), stats.norm.cdf),
        (mr.exponential(key, n), stats.expon.cdf),
        (mr.gumbel(key, n), stats.gumbel_r.cdf),
        (mr.logistic(key, n), stats.logistic.cdf),
        (mr.laplace(key, n), stats.laplace.cdf),
        (mr.cauchy(key, n), stats.cauchy.cdf),
    ):
        assert stats.kstest(sample, law).pvalue > 1e-3
    p = np.array([0.1, 0.2, 0.7])
    for places in (mr.choice(key, 3, n, p=p), mr.categorical(key, np.log(p), shape=(n,))):
        assert stats.chisquare(np.bincount(places, minlength=3), n * p).pvalue > 1e-3
    counts = np.bincount(mr.randint(key, n, -2, 5) + 2)
    assert len(counts) == 7 and stats.chisquare(counts).pvalue > 1e-3
    assert stats.chisquare(np.bincount(mr.bits(key, n, np.uint8), minlength=256)).pvalue > 1e-3
    assert abs(np.corrcoef(mr.normal(key, n), mr.normal(mr.split(key)[0], n))[0, 1]) < 4 / math.sqrt(n)
    assert abs(mr.rademacher(key, n).mean()) < 4 / math.sqrt(n)
    orders = np.array([mr.permutation(each, 3) for each in mr.split(key, 1200)])
    assert stats.chisquare(np.unique(orders @ [9, 3, 1], return_counts=True)[1]).pvalue > 1e-3


def test_lanes_and_derivatives() -> None:
    keys = mr.split(mr.key(1), 4)
    lanes = mlirad.vmap(lambda key, s: s * mr.normal(key, (3,)), in_axes=(0, None))(keys, 2.0)
    np.testing.assert_allclose(lanes, [2.0 * mr.normal(each, (3,)) for each in keys], rtol=1e-13)
    slope = mlirad.grad(lambda a: np.sum(mr.uniform(mr.key(0), 4, minval=a, maxval=3.0)))(1.0)
    np.testing.assert_allclose(slope, np.sum(1.0 - mr.uniform(mr.key(0), 4)), rtol=1e-12)


def test_refusals() -> None:
    with pytest.raises(TypeError, match="a key is an array of two uint32"):
        mr.uniform(np.zeros(2), 3)
    with pytest.raises(TypeError, match="float64 or float32"):
        mr.normal(mr.key(0), 3, np.int64)
    with pytest.raises(ValueError, match="without replacement"):
        mr.choice(mr.key(0), 3, 4, replace=False)
