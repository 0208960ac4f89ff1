"""Nests that run row by row, some rows behind one another, compute what they compute one after the other."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from compare_buffers import staggered_loops

import mlirad
from mlirad.lowering.to_buffers import staggered_strips
from mlirad.lowering.to_buffers.stagger_rows import StaggerRows
from mlirad.lowering.to_buffers.staggered_runs import StaggeredRun

SHAPE = (6, 3)
ARGUMENTS = 3
TAPE = 20


def type_of(shape: tuple[int, ...]) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}i64>"


class RandomStencils:
    """The `text` of a function of nests over slices of arrays, which they read, create, and overwrite in place."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.lines = ["%n = arith.constant 3 : i64", "%at = arith.constant 2 : index"]
        self.arrays = [f"%a{number}" for number in range(ARGUMENTS)]
        self.sums: list[str] = []
        self.tape = "%tape"
        for number in range(self.random.randint(3, 9)):
            steps = [*[self.nest] * 4, self.fill, self.sum, self.other, *[self.store] * 3]
            self.random.choice(steps)(number)
        results = (
            self.random.sample(self.arrays[ARGUMENTS:], k=2) if len(self.arrays) > ARGUMENTS + 1 else self.arrays[:2]
        )
        array = type_of(SHAPE)
        arguments = ", ".join(f"%a{number}: {array}" for number in range(ARGUMENTS))
        arguments += ", %tape: tensor<?xi64> {mlirad.written = 2 : i64}"
        body = "\n".join(f"  {line}" for line in self.lines)
        self.text = (
            f"func.func @f({arguments}) -> ({array}, {array}, tensor<?xi64>) {{\n{body}\n  "
            f"func.return {', '.join([*results, self.tape])} : {array}, {array}, tensor<?xi64>\n}}\n"
        )

    def slice(self) -> tuple[int, ...]:
        rows = self.random.choice([1, 4, 5, 6])
        return rows, self.random.choice([1, 2, 3])

    def read(self, name: str, array: str, sizes: tuple[int, ...]) -> str:
        starts = [self.random.randint(0, whole - size) for whole, size in zip(SHAPE, sizes, strict=True)]
        self.lines.append(
            f"{name} = tensor.extract_slice {array}[{starts[0]}, {starts[1]}] [{sizes[0]}, {sizes[1]}] [1, 1] : "
            f"{type_of(SHAPE)} to {type_of(sizes)}"
        )
        return f"[{starts[0]}, {starts[1]}] [{sizes[0]}, {sizes[1]}] [1, 1]"

    def read_row(self, name: str, array: str, size: int) -> None:
        """A row that all rows of a nest read."""
        row, start = self.random.randint(0, SHAPE[0] - 1), self.random.randint(0, SHAPE[1] - size)
        self.lines.append(
            f"{name} = tensor.extract_slice {array}[{row}, {start}] [1, {size}] [1, 1] : "
            f"{type_of(SHAPE)} to {type_of((size,))}"
        )

    def write(self, name: str, part: str, array: str, place: str, sizes: tuple[int, ...]) -> None:
        self.lines.append(
            f"{name} = tensor.insert_slice {part} into {array}{place} : {type_of(sizes)} into {type_of(SHAPE)}"
        )
        self.arrays = (
            [name if each == array else each for each in self.arrays] if array[1] != "a" else [*self.arrays, name]
        )

    def store(self, number: int) -> None:
        """A part of an array in a slot of a tape, which may overlap other slots."""
        sizes = self.slice()
        count = sizes[0] * sizes[1]
        self.read(f"%s{number}", self.random.choice(self.arrays), sizes)
        place = self.random.choice(["0", "%at"])
        self.lines += [
            f"%f{number} = tensor.collapse_shape %s{number} [[0, 1]] : {type_of(sizes)} into {type_of((count,))}",
            f"%t{number} = tensor.insert_slice %f{number} into {self.tape}[{place}] [{count}] [1] : "
            f"{type_of((count,))} into tensor<?xi64>",
        ]
        self.tape = f"%t{number}"

    def nest(self, number: int) -> None:
        """Writes a slice of an array, or a new array, of two slices of others, and perhaps its old contents."""
        random, name = self.random, f"%v{number}"
        sizes = random.choice([SHAPE, self.slice()])
        inputs = [f"{name}_x{each}" for each in range(2)]
        self.read(inputs[0], random.choice(self.arrays[-4:]), sizes)
        has_row = random.random() < 0.3
        if has_row:
            self.read_row(inputs[1], random.choice(self.arrays[-4:]), sizes[1])
        else:
            self.read(inputs[1], random.choice(self.arrays[-4:]), sizes)
        array = random.choice(self.arrays[-4:])
        if sizes == SHAPE:
            place, out = "", f"{name}_m"
            self.lines.append(f"{out} = tensor.empty() : {type_of(sizes)}")
        else:
            out = f"{name}_o"
            place = self.read(out, array, sizes)
        whole = "affine_map<(d0, d1) -> (d0, d1)>"
        other = "affine_map<(d0, d1) -> (d1)>" if has_row else whole
        self.lines += [
            f"{name}_r = linalg.generic {{indexing_maps = [{whole}, {other}, {whole}], "
            f'iterator_types = ["parallel", "parallel"]}} ins({", ".join(inputs)} : '
            f"{type_of(sizes)}, {type_of(sizes[has_row:])}) outs({out} : {type_of(sizes)}) {{",
            "^bb0(%x: i64, %y: i64, %old: i64):",
            f"  %z = arith.subi %x, {random.choice(['%y', '%n', '%old' if place else '%y'])} : i64",
            "  %u = arith.addi %z, %y : i64",
            "  linalg.yield %u : i64",
            f"}} -> {type_of(sizes)}",
        ]
        if place:
            self.write(name, f"{name}_r", array, place, sizes)
        else:
            self.arrays.append(f"{name}_r")

    def fill(self, number: int) -> None:
        name, sizes, array = f"%v{number}", self.slice(), self.random.choice(self.arrays[-4:])
        place = self.read(f"{name}_o", array, sizes)
        type = type_of(sizes)
        self.lines.append(f"{name}_r = linalg.fill ins(%n : i64) outs({name}_o : {type}) -> {type}")
        self.write(name, f"{name}_r", array, place, sizes)

    def sum(self, number: int) -> None:
        """Of all elements of a slice. An array is filled with it, perhaps much later."""
        name, sizes = f"%v{number}", self.slice()
        self.read(f"{name}_x", self.random.choice(self.arrays[-4:]), sizes)
        self.lines += [
            f"{name}_m = tensor.empty() : tensor<i64>",
            f"{name}_f = linalg.fill ins(%n : i64) outs({name}_m : tensor<i64>) -> tensor<i64>",
            f"{name}_r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], "
            f'iterator_types = ["reduction", "reduction"]}} ins({name}_x : {type_of(sizes)}) '
            f"outs({name}_f : tensor<i64>) {{",
            "^bb0(%x: i64, %total: i64):",
            "  %u = arith.addi %total, %x : i64",
            "  linalg.yield %u : i64",
            "} -> tensor<i64>",
        ]
        self.sums.append(f"{name}_r")

    def other(self, number: int) -> None:
        """An op between nests: it writes or reads an element."""
        name, array = f"%v{number}", self.random.choice(self.arrays[-4:])
        if self.sums and self.random.random() < 0.5:
            self.lines.append(f"{name}_e = tensor.extract {self.random.choice(self.sums)}[] : tensor<i64>")
            self.lines.append(f"{name} = tensor.splat {name}_e : {type_of(SHAPE)}")
        elif self.random.random() < 0.5:
            self.lines.append(f"{name} = tensor.insert %n into {array}[%at, %at] : {type_of(SHAPE)}")
        else:
            self.lines.append(f"{name}_e = tensor.extract {array}[%at, %at] : {type_of(SHAPE)}")
            self.lines.append(f"{name} = tensor.splat {name}_e : {type_of(SHAPE)}")
        self.arrays.append(name)


def check(seed: int, *, parallel: bool = False) -> int:
    """The number of loops over rows; with parallel, of those over strips of rows."""
    random = np.random.default_rng(seed)
    args = [*(random.integers(-9, 9, SHAPE) for _ in range(ARGUMENTS)), random.integers(-9, 9, TAPE)]
    return staggered_loops(RandomStencils(seed).text, args, seed, parallel=parallel)


def test_random_stencils(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StaggeredRun, "is_worthwhile", lambda *_, **__: True)
    assert sum(map(check, (*range(25), 75))) > 15  # in 75, slots of a tape overlap


def test_random_stencils_in_strips(monkeypatch: pytest.MonkeyPatch) -> None:
    """Strips run in any order, and a strip finds garbage in its memory."""
    monkeypatch.setattr(StaggeredRun, "is_worthwhile", lambda *_, **__: True)
    monkeypatch.setattr(staggered_strips, "_AGAIN", 0)
    monkeypatch.setattr(staggered_strips, "_LEAST_PER_WAITING", 1)
    assert sum([check(seed, parallel=True) for seed in range(25)]) > 5


def limited(x: Any, c: Any) -> Any:
    """Two steps of a flow that is limited where it would be uphill, as in a weather model."""
    for _ in range(2):
        flow = x[1:, 1:-1] - x[:-1, 1:-1]
        flow = np.where(flow * (x[1:, 2:] - x[:-1, :-2]) > 0, 0, flow)
        x[1:-1, 1:-1] -= c * (flow[1:] - flow[:-1])
    return np.sum(x * x)


@pytest.mark.parametrize(("shape", "dtype"), [((67, 131), np.float32), ((3, 300), np.float64), ((2, 5), np.float64)])
def test_same_bits_as_nest_by_nest(shape: tuple[int, int], dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape).astype(dtype)
    c = rng.normal(size=tuple(max(0, each - 2) for each in shape)).astype(dtype)

    def results(is_on: bool) -> tuple[list[Any], int]:
        with monkeypatch.context() as patch:
            if not is_on:
                patch.setattr(StaggerRows, "apply", lambda *_: None)
            else:
                patch.setattr(StaggeredRun, "is_worthwhile", lambda *_, **__: True)
            kernel = mlirad.jit(mlirad.value_and_grad(lambda x, c: limited(x, c), argnums=(0, 1)), cache=False)
            loops = kernel.lower(x.copy(), c).as_text("bufferized").count("scf.for")
            return mlirad.tree.leaves(kernel(x.copy(), c)), loops

    plain, few = results(False)
    staggered, more = results(True)
    assert more > few or not c.size
    np.testing.assert_allclose(plain[0], staggered[0], rtol=1e-6)  # a sum
    for one, other in zip(plain[1:], staggered[1:], strict=True):
        np.testing.assert_array_equal(one, other)


def test_strips_compute_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that two strips compute are written once for others, and sums are added up in the order of the rows."""
    monkeypatch.setattr(StaggeredRun, "is_worthwhile", lambda *_, **__: True)
    monkeypatch.setattr(staggered_strips, "_AGAIN", 0)
    rng = np.random.default_rng(0)
    x, c = rng.normal(size=(90, 259)), rng.normal(size=(88, 257))

    def flux(x: Any, c: Any) -> Any:
        flow = x[1:, 1:-1] - x[:-1, 1:-1]
        flow = np.where(flow * (x[1:, 2:] - x[:-1, :-2]) > 0, 0, flow)
        y = x[1:-1, 1:-1] - c * (flow[1:] - flow[:-1])
        return np.sum(y * y)

    def results(parallel: bool) -> tuple[list[Any], str]:
        kernel = mlirad.jit(mlirad.value_and_grad(flux, argnums=(0, 1)), cache=False, parallel=parallel)
        return mlirad.tree.leaves(kernel(x, c)), kernel.lower(x, c).as_text("bufferized")

    (alone, _), (together, text) = results(False), results(True)
    assert "scf.parallel" in text and "scf.if" in text
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


def test_seams_compute_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays that a loop updates in place, from their own neighbouring rows."""
    monkeypatch.setattr(StaggeredRun, "is_worthwhile", lambda *_, **__: True)
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 130, 259)).astype(np.float32)

    def waves(a: Any, b: Any) -> Any:
        a, b = a.copy(), b.copy()
        for _ in range(3):
            b[1:-1] = 0.25 * (a[:-2] - 2 * a[1:-1] + a[2:])
            a[1:-1] += 0.25 * (b[:-2] - 2 * b[1:-1] + b[2:])
        return np.sum(a * a)

    def results(parallel: bool) -> tuple[list[Any], str]:
        kernel = mlirad.jit(mlirad.grad(waves, argnums=(0, 1)), cache=False, parallel=parallel)
        return mlirad.tree.leaves(kernel(a, b)), kernel.lower(a, b).as_text("bufferized")

    with monkeypatch.context() as patch:
        patch.setattr(staggered_strips, "_LEAST_PER_WAITING", 1 << 30)
        without = results(True)[1].count("scf.parallel")
    (alone, _), (together, text) = results(False), results(True)
    assert text.count("scf.parallel") >= without + 4, "both loops have strips, and seams"
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


def test_slots_of_a_tape_are_stored_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """The forward loop stores what it overwrites, and the reverse loop restores it, in the same bits."""
    monkeypatch.setattr(StaggeredRun, "is_worthwhile", lambda *_, **__: True)
    x = 0.2 * np.random.default_rng(0).normal(size=(130, 259))

    def moving(x: Any) -> Any:
        a = x.copy()
        for _ in range(3):
            difference = a[:-2, 1:-1] - a[2:, 1:-1] + a[1:-1, :-2] - a[1:-1, 2:]
            a[1:-1, 1:-1] += 0.1 * a[1:-1, 1:-1] * difference
        return np.sum(a * a)

    def result(*, parallel: bool) -> tuple[Any, str]:
        kernel = mlirad.jit(mlirad.grad(moving), cache=False, parallel=parallel)
        return kernel(x.copy()), kernel.lower(x).as_text("bufferized")

    with monkeypatch.context() as patch:
        patch.setattr(StaggerRows, "apply", lambda *_: None)
        plain, text = result(parallel=False)
    assert "memref<128x257xf64, strided<[257, 1], offset: ?>>" in text, "the slot has rows"
    for parallel in (False, True):
        staggered, text = result(parallel=parallel)
        assert "memref<1x257xf64, strided<[257, 1], offset: ?>>" in text, "a row of the slot is stored at a time"
        np.testing.assert_array_equal(staggered, plain)


@pytest.mark.full
@pytest.mark.parametrize("first", range(100, 1100, 100))
def test_more_random_stencils(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StaggeredRun, "is_worthwhile", lambda *_, **__: True)
    monkeypatch.setattr(staggered_strips, "_AGAIN", 0)
    monkeypatch.setattr(staggered_strips, "_LEAST_PER_WAITING", 1)
    for seed in range(first, first + 100):
        check(seed)
        check(seed, parallel=True)
