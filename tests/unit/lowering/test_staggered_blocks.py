"""Nests on arrays with one axis that run by blocks of elements compute what they compute one after the other."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from compare_buffers import staggered_loops

import mlirad
from mlirad.lowering.to_buffers import staggered_blocks, staggered_strips
from mlirad.lowering.to_buffers.stagger_rows import StaggerRows
from mlirad.lowering.to_buffers.staggered_runs import StaggeredRun

LENGTH, ARGUMENTS, TAPE = 23, 3, 60
WHOLE = f"tensor<{LENGTH}xi64>"
SAME = "affine_map<(i) -> (i)>"


class RandomLines:
    """The `text` of a function of nests over slices of arrays, which they read, create, overwrite in place, and store
    in slots of a tape."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.lines = ["%n = arith.constant 3 : i64", "%at = arith.constant 2 : index"]
        self.arrays = [f"%a{number}" for number in range(ARGUMENTS)]
        self.tape = "%tape"
        for number in range(self.random.randint(3, 9)):
            self.random.choice([self.nest, self.nest, self.nest, self.fill, self.store])(f"%v{number}")
        results = self.random.sample(self.arrays, k=2)
        arguments = ", ".join(f"%a{number}: {WHOLE}" for number in range(ARGUMENTS))
        arguments += ", %tape: tensor<?xi64> {mlirad.written = 2 : i64}"
        body = "\n".join(f"  {line}" for line in self.lines)
        self.text = (
            f"func.func @f({arguments}) -> ({WHOLE}, {WHOLE}, tensor<?xi64>) {{\n{body}\n  "
            f"func.return {', '.join([*results, self.tape])} : {WHOLE}, {WHOLE}, tensor<?xi64>\n}}\n"
        )

    def read(self, name: str, size: int) -> tuple[str, int]:
        """A slice of an array; that array, and where the slice starts."""
        array, start = self.random.choice(self.arrays[-4:]), self.random.randint(0, LENGTH - size)
        self.lines.append(
            f"{name} = tensor.extract_slice {array}[{start}] [{size}] [1] : {WHOLE} to tensor<{size}xi64>"
        )
        return array, start

    def write(self, name: str, part: str, place: tuple[str, int], size: int) -> None:
        array, start = place
        self.lines.append(
            f"{name} = tensor.insert_slice {part} into {array}[{start}] [{size}] [1] : tensor<{size}xi64> into {WHOLE}"
        )
        if array.startswith("%a"):
            self.arrays.append(name)
        else:
            self.arrays[self.arrays.index(array)] = name

    def nest(self, name: str) -> None:
        size = self.random.choice([1, 2, LENGTH - 3, LENGTH - 2, LENGTH])
        type = f"tensor<{size}xi64>"
        self.read(f"{name}_x", size)
        self.read(f"{name}_y", size)
        is_new = size == LENGTH
        place = None if is_new else self.read(f"{name}_o", size)
        if is_new:
            self.lines.append(f"{name}_o = tensor.empty() : {type}")
        self.lines += [
            f'{name}_r = linalg.generic {{indexing_maps = [{SAME}, {SAME}, {SAME}], iterator_types = ["parallel"]}} '
            f"ins({name}_x, {name}_y : {type}, {type}) outs({name}_o : {type}) {{",
            "^bb0(%x: i64, %y: i64, %old: i64):",
            f"  %z = arith.subi %x, {self.random.choice(['%y', '%n', '%y' if is_new else '%old'])} : i64",
            "  %u = arith.addi %z, %y : i64",
            "  linalg.yield %u : i64",
            f"}} -> {type}",
        ]
        if place is None:
            self.arrays.append(f"{name}_r")
        else:
            self.write(name, f"{name}_r", place, size)

    def fill(self, name: str) -> None:
        size = self.random.choice([1, 5, LENGTH - 2])
        place, type = self.read(f"{name}_o", size), f"tensor<{size}xi64>"
        self.lines.append(f"{name}_r = linalg.fill ins(%n : i64) outs({name}_o : {type}) -> {type}")
        self.write(name, f"{name}_r", place, size)

    def store(self, name: str) -> None:
        size = LENGTH - 2
        self.read(f"{name}_x", size)
        place = self.random.choice(["0", "%at", "30"])
        self.lines.append(
            f"{name}_t = tensor.insert_slice {name}_x into {self.tape}[{place}] [{size}] [1] : "
            f"tensor<{size}xi64> into tensor<?xi64>"
        )
        self.tape = f"{name}_t"


@pytest.fixture
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StaggeredRun, "is_worthwhile", lambda *_, **__: True)
    monkeypatch.setattr(staggered_blocks, "_BYTES", 0)
    monkeypatch.setattr(staggered_blocks, "_SHORTEST", 4)
    monkeypatch.setattr(staggered_strips, "_LEAST_PER_WAITING", 1)


def check(seed: int, *, parallel: bool = False) -> int:
    """The number of loops over blocks; with parallel, of those over strips of blocks."""
    random = np.random.default_rng(seed)
    args = [*(random.integers(-9, 9, LENGTH) for _ in range(ARGUMENTS)), random.integers(-9, 9, TAPE)]
    return staggered_loops(RandomLines(seed).text, args, seed, parallel=parallel)


@pytest.mark.usefixtures("short_blocks")
def test_random_lines() -> None:
    assert sum(map(check, range(20))) > 13


@pytest.mark.usefixtures("short_blocks")
def test_random_lines_in_strips() -> None:
    """Strips run in any order."""
    assert sum([check(seed, parallel=True) for seed in range(20)]) > 5


@pytest.mark.full
@pytest.mark.usefixtures("short_blocks")
@pytest.mark.parametrize("first", range(100, 1100, 100))
def test_more_random_lines(first: int) -> None:
    for seed in range(first, first + 100):
        check(seed)
        check(seed, parallel=True)


def moving(x: Any, sweeps: int) -> Any:
    """Products of neighbours, in place, and a second array between two sweeps."""
    a = x.copy()
    for _ in range(sweeps):
        a[1:-1] += 0.1 * a[:-2] * a[2:]
        b = a[1:] - a[:-1]
        a[2:-1] -= 0.5 * b[2:] * b[:-2]
    return a, np.sum(a * a)


def test_same_bits_as_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """As nests one after the other, too, and in the gradient's reverse loop, which reads a tape."""
    x = (0.3 * np.random.default_rng(0).normal(size=9473)).astype(np.float32)

    def results(*, parallel: bool = False) -> tuple[Any, str]:
        gradient = mlirad.jit(mlirad.grad(lambda x: moving(x, 3)[1]), cache=False, parallel=parallel)
        return gradient(x), gradient.lower(x).as_text("bufferized")

    with monkeypatch.context() as patch:
        patch.setattr(StaggerRows, "apply", lambda *_: None)
        one_by_one, text = results()
    gradient, more = results()
    assert more.count("scf.for") > text.count("scf.for")
    np.testing.assert_array_equal(gradient, one_by_one)
    np.testing.assert_array_equal(results(parallel=True)[0], one_by_one)
    np.testing.assert_array_equal(mlirad.jit(lambda x: moving(x, 3)[0], cache=False)(x), moving(x, 3)[0])
