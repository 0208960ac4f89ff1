"""Reads: a seed. Writes: a linalg.generic on memrefs, as text, with arguments and what NumPy says. Leaves: nothing.

Sizes run from 0 over ragged ones to several vectors; axes are permuted, missing, of size 1, unknown, strided, reversed.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

DTYPES: dict[str, type[np.generic]] = {
    "f64": np.float64,
    "f32": np.float32,
    "i64": np.int64,
    "i32": np.int32,
    "i1": np.bool_,
}
SIZES = (0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33)


@dataclass
class Operand:
    """An argument. `axes`: per axis of the memref its dimension, None for an axis of size 1.

    `view` is what the op sees of the argument `whole`; `steps` are None if that is all of it.
    """

    name: str
    axes: list[int | None]
    whole: Array
    view: Array
    steps: list[int] | None
    argument: str
    type: str
    prologue: str

    def over(self, sizes: list[int]) -> Array:
        """The view with one axis per dimension, of size 1 where it has none."""
        kept = [axis for axis in self.axes if axis is not None]
        array = self.view.reshape([n for n, axis in zip(self.view.shape, self.axes, strict=True) if axis is not None])
        array = array.transpose(sorted(range(len(kept)), key=kept.__getitem__))
        return array.reshape([size if d in kept else 1 for d, size in enumerate(sizes)])

    def outside(self) -> Array:
        """The part that the op must not touch: the argument with the view filled with zeros."""
        saved = self.view.copy()
        self.view[...] = 0
        rest = self.whole.copy()
        self.view[...] = saved
        return rest


@dataclass
class Nest:
    """A random op: `expected` is the output over all dimensions, reduced ones of size 1."""

    text: str
    operands: list[Operand]
    sizes: list[int]
    element: str
    expected: Array

    @property
    def result(self) -> Array:
        return self.operands[-1].over(self.sizes)


@dataclass
class _Maker:
    chance: random.Random
    numbers: np.random.Generator
    element: str
    sizes: list[int]
    unknown: list[bool] = field(default_factory=list)

    def operand(self, name: str, dimensions: list[int]) -> Operand:
        chance = self.chance
        axes: list[int | None] = list(dimensions)
        if chance.random() < 0.4:
            chance.shuffle(axes)
        if chance.random() < 0.25:
            axes.insert(chance.randint(0, len(axes)), None)
        shape = [1 if axis is None else self.sizes[axis] for axis in axes]
        strided = bool(axes) and chance.random() < 0.25
        return self._strided(name, axes, shape) if strided else self._plain(name, axes, shape)

    def _plain(self, name: str, axes: list[int | None], shape: list[int]) -> Operand:
        words = [
            "?" if axis is not None and self.unknown[axis] else str(n) for axis, n in zip(axes, shape, strict=True)
        ]
        type = f"memref<{''.join(word + 'x' for word in words)}{self.element}>"
        array = self.values(shape)
        return Operand(f"%{name}", axes, array, array, None, f"%{name}: {type}", type, "")

    def _strided(self, name: str, axes: list[int | None], shape: list[int]) -> Operand:
        steps = [self.chance.choice([1, 1, 2, -1, 3]) for _ in axes]
        spans = [max(n - 1, 0) * abs(step) for n, step in zip(shape, steps, strict=True)]
        starts = [1 if step > 0 else 1 + span for step, span in zip(steps, spans, strict=True)]
        whole = self.values([span + 3 for span in spans])
        unit = [stride // whole.itemsize for stride in whole.strides]
        strides = [u * step for u, step in zip(unit, steps, strict=True)]
        offset = sum(u * start for u, start in zip(unit, starts, strict=True))
        full = f"memref<{''.join(f'{n}x' for n in whole.shape)}{self.element}>"
        sizes = "".join(f"{n}x" for n in shape)
        type = f"memref<{sizes}{self.element}, strided<[{', '.join(map(str, strides))}], offset: {offset}>>"
        bounds = zip(starts, steps, shape, strict=True)
        view = whole[tuple(slice(s, s + step * n if s + step * n >= 0 else None, step) for s, step, n in bounds)]
        lists = "".join(f"[{', '.join(map(str, each))}]" for each in (starts, shape, steps))
        prologue = f"  %{name}_view = memref.subview %{name}{lists} : {full} to {type}\n"
        return Operand(f"%{name}_view", axes, whole, view, steps, f"%{name}: {full}", type, prologue)

    def values(self, shape: list[int]) -> Array:
        dtype = DTYPES[self.element]
        if self.element == "i1":
            return self.numbers.integers(0, 2, shape).astype(dtype)
        if self.element[0] == "i":
            return self.numbers.integers(-9, 9, shape).astype(dtype)
        return self.numbers.normal(size=shape).astype(dtype)


Binary = tuple[str, Callable[[Any, Any], Any]]


def binary_ops(element: str) -> dict[str, Binary]:
    """Name -> (MLIR's op, NumPy's function)."""
    if element == "i1":
        return {"add": ("xori", np.bitwise_xor), "mul": ("andi", np.bitwise_and), "max": ("ori", np.bitwise_or)}
    if element[0] == "i":
        return {"add": ("addi", np.add), "mul": ("muli", np.multiply), "max": ("maxsi", np.maximum)}
    return {"add": ("addf", np.add), "mul": ("mulf", np.multiply), "max": ("maximumf", np.maximum)}


def _neutral(kind: str, element: str) -> Any:
    if element == "i1":
        return kind == "mul"
    if kind != "max":
        return int(kind == "mul")
    # A union of classes does not say that the others are classes of integers.
    return -np.inf if element[0] == "f" else np.iinfo(DTYPES[element]).min  # pyright: ignore[reportArgumentType, reportCallIssue]


def _map(axes: list[int | None], count: int) -> str:
    results = ", ".join("0" if axis is None else f"d{axis}" for axis in axes)
    return f"affine_map<({', '.join(f'd{d}' for d in range(count))}) -> ({results})>"


def random_nest(seed: int) -> Nest:
    chance = random.Random(seed)
    element = chance.choice(["f64", "f64", "f32", "i64", "i32", "i1"])
    count = chance.randint(0, 4)
    sizes = [chance.choice(SIZES) if chance.random() < 0.9 else chance.choice([64, 70, 100]) for _ in range(count)]
    while np.prod(sizes) > 40000:
        sizes[chance.randrange(count)] = 3
    unknown = [chance.random() < 0.4 for _ in sizes]
    maker = _Maker(chance, np.random.default_rng(seed), element, sizes, unknown)
    reduced = [d for d in range(count) if chance.random() < chance.choice([0, 0.5])]
    used = [[d for d in range(count) if chance.random() < 0.75] for _ in range(chance.randint(1, 3))]
    used[0] += [d for d in range(count) if all(d not in dims for dims in used) and d in reduced]
    inputs = [maker.operand(f"a{i}", dims) for i, dims in enumerate(used)]
    output = maker.operand("out", [d for d in range(count) if d not in reduced])
    lines, name, value = _body(chance, element, sizes, inputs)
    if reduced:
        kind = chance.choice(["add", "max"] if element[0] == "f" else ["add", "mul", "max"])
        word, function = binary_ops(element)[kind]
        pair = chance.choice([f"%z, {name}", f"{name}, %z"])
        lines.append(f"%r = arith.{word} {pair} : {element}")
        total = np.full([1 if d in reduced else n for d, n in enumerate(sizes)], _neutral(kind, element), value.dtype)
        for point in np.ndindex(*[sizes[d] for d in reduced]):
            index: list[Any] = [slice(None)] * count
            for d, i in zip(reduced, point, strict=True):
                index[d] = slice(i, i + 1)
            total = function(total, value[tuple(index)])
        name, value = "%r", function(output.over(sizes), total)
    operands = [*inputs, output]
    arguments = ", ".join(operand.argument for operand in operands)
    block = ", ".join([*(f"%x{i}: {element}" for i in range(len(inputs))), f"%z: {element}"])
    kinds = ", ".join('"reduction"' if d in reduced else '"parallel"' for d in range(count))
    text = (
        f"func.func @f({arguments}) {{\n{''.join(operand.prologue for operand in operands)}"
        f"  linalg.generic {{indexing_maps = [{', '.join(_map(operand.axes, count) for operand in operands)}],"
        f" iterator_types = [{kinds}]}}"
        f" ins({', '.join(o.name for o in inputs)} : {', '.join(o.type for o in inputs)})"
        f" outs({output.name} : {output.type}) {{\n  ^bb0({block}):\n    "
        + "\n    ".join([*lines, f"linalg.yield {name} : {element}"])
        + "\n  }\n  func.return\n}\n"
    )
    return Nest(text, operands, sizes, element, np.array(value))


def _body(chance: random.Random, element: str, sizes: list[int], inputs: list[Operand]) -> tuple[list[str], str, Array]:
    """Lines of a random expression, its name, and its value over all dimensions."""
    lines: list[str] = []
    names = [f"%x{i}" for i in range(len(inputs))]
    values = [operand.over(sizes) for operand in inputs]

    def apply(word: str, value: Array, *operands: str) -> None:
        names.append(f"%e{len(names)}")
        lines.append(f"{names[-1]} = {word} {', '.join(operands)} : {element}")
        values.append(value)

    for _ in range(chance.randint(0, 4)):
        word, function = binary_ops(element)[chance.choice(["add", "mul", "max"])]
        a, b = chance.randrange(len(names)), chance.randrange(len(names))
        apply(f"arith.{word}", function(values[a], values[b]), names[a], names[b])
    if element[0] == "f" and chance.random() < 0.4:
        apply("math.tanh", np.tanh(values[-1]), names[-1])
    if element in ("i64", "f64") and sizes and chance.random() < 0.2:
        d = chance.randrange(len(sizes))
        lines += [f"%i = linalg.index {d} : index", "%j = arith.index_cast %i : index to i64"]
        if element == "f64":
            lines.append("%k = arith.sitofp %j : i64 to f64")
        index = np.arange(sizes[d]).reshape([-1 if axis == d else 1 for axis in range(len(sizes))])
        word = binary_ops(element)["add"][0]
        value = values[-1] + index.astype(DTYPES[element])
        apply(f"arith.{word}", value, names[-1], "%k" if element == "f64" else "%j")
    return lines, names[-1], np.broadcast_to(values[-1], sizes)
