"""Reads: random matrices. Writes: the speed of products relative to NumPy's on one thread, worst first. Leaves: 0.

    OPENBLAS_NUM_THREADS=1 taskset -c 0 python benchmarks/products.py [--quick] [f32|f64|WORD of a row ...]

Processor time, contenders in turns, medians. A ratio above 1 means that mlirad is faster than `np.matmul` into an
existing array. Values are compared first.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy, which reads it once

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

import mlirad

GOAL = 0.95
SAMPLE = 4e-3  # seconds; shorter calls are repeated
BUDGET = 0.4  # seconds for each contender of a row


@dataclass(frozen=True)
class Row:
    """A product of m x k by k x n, for this many matrices, with one factor stored transposed."""

    kind: str
    m: int
    k: int
    n: int
    batch: int = 0
    transposed: str = ""

    @property
    def name(self) -> str:
        batch = f"{self.batch} x " if self.batch else ""
        return f"{self.kind:10s} {batch}{self.m}x{self.k}x{self.n}{' ' + self.transposed if self.transposed else ''}"

    def arrays(self, dtype: str) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(0)
        outer = (self.batch,) if self.batch else ()
        left = (self.k, self.m) if self.transposed == "A.T@B" else (self.m, self.k)
        right = (self.n, self.k) if self.transposed == "A@B.T" else (self.k, self.n)
        a, b = (rng.standard_normal((*outer, *shape)).astype(dtype) for shape in (left, right))
        return a, b


def rows(*, is_quick: bool) -> Iterator[Row]:
    for size in (16, 32, 64, 128, 256, 512, 1024, 2048):
        yield Row("square", size, size, size)
    for m, k, n in ((17, 17, 17), (33, 65, 31), (100, 100, 100), (250, 250, 250), (509, 511, 513), (1000, 1000, 1000)):
        yield Row("ragged", m, k, n)
    for size in (64, 256, 1024):
        yield Row("transposed", size, size, size, transposed="A.T@B")
        yield Row("transposed", size, size, size, transposed="A@B.T")
    for batch, size in ((256, 16), (64, 32), (32, 64), (16, 128), (4, 512)):
        yield Row("batched", size, size, size, batch=batch)
    for size in (64, 256, 1024, 2048):
        for thin in (1, 4, 32):
            yield Row("few rows", thin, size, size)
            yield Row("short sums", size, thin, size)
            yield Row("few columns", size, size, thin)
    if not is_quick:
        yield Row("ragged", 1999, 1777, 1501)
        for size in (250, 1000):
            yield Row("few rows", 7, size, size, transposed="A@B.T")
            yield Row("few columns", size, size, 7, transposed="A.T@B")
            yield Row("short sums", size, 7, size, transposed="A.T@B")
        for size in (16, 2048):
            yield Row("transposed", size, size, size, transposed="A.T@B")
            yield Row("transposed", size, size, size, transposed="A@B.T")


def product_of(transposed: str) -> Callable[..., np.ndarray]:
    if transposed == "A.T@B":
        return lambda a, b: a.T @ b
    if transposed == "A@B.T":
        return lambda a, b: a @ b.T
    return lambda a, b: a @ b


def seconds(work: Callable[[], object], calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        work()
    return (time.process_time() - start) / calls


def measure(row: Row, dtype: str) -> tuple[float, float]:
    """Seconds of processor time of a product: mlirad's and NumPy's."""
    a, b = row.arrays(dtype)
    product = product_of(row.transposed)
    compiled = mlirad.jit(product)
    expected = product(a, b)
    tolerance = {"f4": 1e-4, "f8": 1e-9}[dtype]
    np.testing.assert_allclose(compiled(a, b), expected, rtol=tolerance, atol=tolerance * row.k)
    left = a.T if row.transposed == "A.T@B" else a
    right = b.T if row.transposed == "A@B.T" else b
    contenders = [lambda: compiled(a, b), lambda: left @ right]
    once = [min(seconds(work, 3) for _ in range(2)) for work in contenders]
    calls = [max(1, int(SAMPLE / max(each, 1e-8))) for each in once]
    turns = max(5, min(41, int(BUDGET / max(SAMPLE, *once))))
    found = [[seconds(work, count) for work, count in zip(contenders, calls, strict=True)] for _ in range(turns)]
    ours, theirs = (statistics.median(each) for each in zip(*found, strict=True))
    return ours, theirs


def main(words: list[str]) -> int:
    is_quick = "--quick" in words
    kinds = [word for word in words if word in ("f32", "f64")] or ["f32", "f64"]
    wanted = [word for word in words if word not in ("f32", "f64", "--quick")]
    results: list[tuple[float, str]] = []
    for kind in kinds:
        for row in rows(is_quick=is_quick):
            if wanted and not any(word in row.name for word in wanted):
                continue
            ours, theirs = measure(row, f"f{int(kind[1:]) // 8}")
            rate = 2e-9 * max(row.batch, 1) * row.m * row.k * row.n
            line = (
                f"{kind} {row.name:38s} {ours * 1e6:11.2f} us {rate / ours:7.1f} GFLOP/s, NumPy's {rate / theirs:7.1f}"
            )
            results.append((theirs / ours, line))
    for ratio, line in sorted(results):
        print(f"{ratio:6.2f} {line}")
    lost = sum(ratio < GOAL for ratio, _ in results)
    print(f"{lost} of {len(results)} below {GOAL} of NumPy's speed")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
