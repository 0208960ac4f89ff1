"""Nests that are merged, and run by blocks of rows, compute the same as one after the other."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from compare_buffers import count, parse, run_bufferized
from run_tensors import Machine
from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp

import mlirad
from mlirad.lowering.to_buffers.bufferize import Bufferize
from mlirad.lowering.to_buffers.plan_arena import PlanArena
from mlirad.lowering.to_buffers.share_rows import ShareRows
from mlirad.lowering.to_linalg.merge_nests import MergeNests
from mlirad.xdsl_support.verify import verify_dominance

SHAPES = {(7, 4): "d0, d1", (7,): "d0", (4,): "d1", (): ""}
ARGUMENTS = ((7, 4), (7, 4), (7,), (4,))
# For each reduction, the neutral element.
REDUCTIONS = {"arith.addi": 0, "arith.muli": 1}


def type_of(shape: tuple[int, ...]) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}i64>"


class RandomNests:
    """The `text` of a function of nests over rows. They read one another's rows, and sums of rows, columns and all."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.lines = [f"%n{each} = arith.constant {value} : i64" for each, value in enumerate(REDUCTIONS.values())]
        self.lines.append("%at = arith.constant 2 : index")
        self.arrays = [(f"%a{number}", shape) for number, shape in enumerate(ARGUMENTS)]
        for number in range(self.random.randint(3, 9)):
            self.random.choice([self.nest, self.nest, self.nest, self.nest, self.other])(number)
        results = [*self.random.sample(self.arrays[len(ARGUMENTS) :], k=2), self.arrays[-1]]
        names, types = ", ".join(name for name, _ in results), ", ".join(type_of(shape) for _, shape in results)
        arguments = ", ".join(f"{name}: {type_of(shape)}" for name, shape in self.arrays[: len(ARGUMENTS)])
        body = "\n".join(f"  {line}" for line in self.lines)
        self.text = f"func.func @f({arguments}) -> ({types}) {{\n{body}\n  func.return {names} : {types}\n}}\n"

    def nest(self, number: int) -> None:
        """Over all points, or only over rows."""
        random, name = self.random, f"%v{number}"
        space = random.choice([(7, 4), (7, 4), (7, 4), (7,)])
        loops = SHAPES[space]
        fitting = [(array, shape) for array, shape in self.arrays if set(shape) <= set(space)]
        # One that has all the loops; later nests more often have further loops.
        inputs = [random.choice([each for each in fitting[-5:] if each[1] == space] or [("%a0", (7, 4))])]
        if inputs[0][1] != space:
            space, loops = (7, 4), SHAPES[7, 4]
        inputs += random.sample(fitting[-6:], k=min(len(fitting), random.randint(0, 2)))
        shape = random.choice([space, space, *(each for each in SHAPES if set(each) < set(space))])
        reduction = random.choice(list(REDUCTIONS))
        maps = [SHAPES[each] for _, each in (*inputs, ("", shape))]
        kinds = ", ".join('"parallel"' if d in SHAPES[shape] else '"reduction"' for d in loops.split(", "))
        self.lines.append(f"{name}_m = tensor.empty() : {type_of(shape)}")
        out = f"{name}_m"
        if shape != space:
            start = f"%n{list(REDUCTIONS).index(reduction)}"
            self.lines.append(
                f"{name}_f = linalg.fill ins({start} : i64) outs({out} : {type_of(shape)}) -> {type_of(shape)}"
            )
            out = f"{name}_f"
        indexing = ", ".join(f"affine_map<({loops}) -> ({each})>" for each in maps)
        elements = [f"%x{each}" for each in range(len(inputs))]
        self.lines += [
            f"{name} = linalg.generic {{indexing_maps = [{indexing}], iterator_types = [{kinds}]}} ins("
            f"{', '.join(each for each, _ in inputs)} : {', '.join(type_of(each) for _, each in inputs)}) "
            f"outs({out} : {type_of(shape)}) {{",
            f"^bb0({', '.join(f'{each}: i64' for each in elements)}, %old: i64):",
        ]
        value = elements[0]
        for each, element in enumerate([*elements[1:], elements[0]]):
            op = random.choice(["arith.addi", "arith.muli"])
            self.lines.append(f"  %y{each} = {op} {value}, {element} : i64")
            value = f"%y{each}"
        if shape != space:
            self.lines.append(f"  %z = {reduction} %old, {value} : i64")
            value = "%z"
        self.lines += [f"  linalg.yield {value} : i64", f"}} -> {type_of(shape)}"]
        self.arrays.append((name, shape))

    def other(self, number: int) -> None:
        """An op between nests: it writes an element, or reads a row alone, or a whole sum as a number."""
        random, name = self.random, f"%v{number}"
        array, shape = random.choice(self.arrays)
        if shape == ():
            self.lines.append(f"{name}_e = tensor.extract {array}[] : tensor<i64>")
            self.lines.append(f"{name} = tensor.splat {name}_e : tensor<7xi64>")
            self.arrays.append((name, (7,)))
        elif shape == (7,):
            line, column = "tensor<7xi64>", "tensor<7x1xi64>"
            expanded = f"tensor.expand_shape {array} [[0, 1]] output_shape [7, 1] : {line} into {column}"
            self.lines.append(f"{name}_e = {expanded}")
            self.lines.append(f"{name} = tensor.collapse_shape {name}_e [[0, 1]] : {column} into {line}")
            self.arrays.append((name, (7,)))
        elif shape == (4,):
            self.lines.append(f"{name} = tensor.insert %n1 into {array}[%at] : tensor<4xi64>")
            self.arrays.append((name, (4,)))
        else:
            self.lines.append(f"{name} = tensor.insert %n1 into {array}[%at, %at] : tensor<7x4xi64>")
            self.arrays.append((name, (7, 4)))


def shared(module: ModuleOp, block: int) -> ModuleOp:
    for each in (Bufferize(), ShareRows(block=block, least=0), PlanArena()):
        each.apply(Context(), module)
    module.verify()
    verify_dominance(module)
    return module


def check(seed: int) -> tuple[int, int]:
    """The numbers of merged nests, and of loops over rows."""
    module = parse(RandomNests(seed).text)
    random = np.random.default_rng(seed)
    args = [random.integers(-3, 4, shape) for shape in ARGUMENTS]
    expected = Machine(module, seed).run(*args)
    merged = module.clone()
    MergeNests().apply(Context(), merged)
    merged.verify()
    verify_dominance(merged)
    loops = 0
    for before in (module, merged):
        after = shared(before.clone(), 32 * int(random.integers(1, 30)))
        actual, _ = run_bufferized(after, args, seed)
        for mine, other in zip(actual, expected, strict=True):
            np.testing.assert_array_equal(mine, other, err_msg=f"seed {seed}")
        loops += count(after, scf.ForOp)
    return count(module, GenericOp) - count(merged, GenericOp), loops


def test_random_nests() -> None:
    found = [check(seed) for seed in range(60)]
    assert sum(merged for merged, _ in found) > 20
    assert sum(loops for _, loops in found) > 20


def softmax(x: Any, w: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return np.sum(e / np.sum(e, axis=1, keepdims=True) * w)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_softmax_and_its_gradient(dtype: Any) -> None:
    """709 rows are not a multiple of any block."""
    x, w = np.random.default_rng(0).normal(size=(2, 709, 67)).astype(dtype)
    kernel = mlirad.value_and_grad(softmax)
    assert "scf.for" in kernel.lower(x, w).as_text("bufferized")
    value, gradient = kernel(x, w)
    wide, weights = x.astype(np.float64), w.astype(np.float64)
    p = np.exp(wide - wide.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    digits = 1e-4 if dtype is np.float32 else 1e-12
    np.testing.assert_allclose(value, np.sum(p * weights), rtol=digits)
    np.testing.assert_allclose(gradient, p * (weights - np.sum(p * weights, 1, keepdims=True)), atol=digits)
    assert kernel.last_memory() < x.nbytes // 4


@pytest.mark.full
@pytest.mark.parametrize("first", range(60, 3000, 100))
def test_more_random_nests(first: int) -> None:
    for seed in range(first, first + 100):
        check(seed)


@pytest.mark.parametrize("rows", [97, 100])
def test_products_in_blocks_of_rows_are_rounded_as_without(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block has the rows of a tile, also if few of them fit in the cache, and no block has a single row."""

    def layers(h, ws):
        for w, v in ws:
            h = np.tanh(np.sin(h @ w) @ v) + h
        return np.sum(h * h)

    rng = np.random.default_rng(0)
    ws = tuple((rng.normal(size=(2, 32)), rng.normal(size=(32, 2)) * 0.3) for _ in range(12))
    h = rng.random((rows, 2))

    def gradients(share: ShareRows | None) -> tuple[list[Any], int]:
        run = ShareRows.apply
        with monkeypatch.context() as patch:
            patch.setattr(ShareRows, "apply", lambda _, ctx, op: run(share, ctx, op) if share is not None else None)
            compiled = mlirad.jit(mlirad.grad(lambda h, ws: layers(h, ws), argnums=(0, 1)), cache=False)
            loops = compiled.lower(h, ws).as_text("bufferized").count("scf.for")
            return mlirad.tree.leaves(compiled(h, ws)), loops

    plain, none = gradients(None)
    shared, some = gradients(ShareRows(least=1))
    assert (none, some > 0) == (0, True)
    for one, other in zip(plain, shared, strict=True):
        np.testing.assert_array_equal(one, other)
