"""The kinds of values that variables of a random program hold.

Reads: nothing. Writes: nothing. Leaves: kinds, and the views of one kind that have the shape of another.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Array:
    """An array of doubles, or of another dtype."""

    shape: Shape
    dtype: str = "float64"


@dataclass(frozen=True)
class Float:
    """A float, of Python or of NumPy."""


@dataclass(frozen=True)
class Complex:
    """A complex number, of Python or of NumPy."""


@dataclass(frozen=True)
class Generator:
    """A random generator."""


@dataclass(frozen=True)
class Int:
    """An int from `low` to `high`, both included."""

    low: int
    high: int


@dataclass(frozen=True)
class Scalar:
    """A number of NumPy, of this dtype."""

    dtype: str


@dataclass(frozen=True)
class Number:
    """A number of a dtype that the generator does not follow."""


@dataclass(frozen=True)
class Bool:
    """A truth value."""


@dataclass(frozen=True)
class Several:
    """A tuple, a list, a dict, or a dataclass (`record`), of numbers and arrays."""

    holder: str
    items: tuple[Array | Float, ...]

    def path(self, name: str, number: int) -> str:
        """The source of item `number` of the variable `name`."""
        match self.holder:
            case "dict":
                return f"{name}[{FIELDS[number]!r}]"
            case "record":
                return f"{name}.{FIELDS[number]}"
            case _:
                return f"{name}[{number}]"

    def made(self, values: list[str]) -> str:
        """The expression that makes one."""
        match self.holder:
            case "tuple":
                return f"({', '.join(values)},)"
            case "list":
                return f"[{', '.join(values)}]"
            case "dict":
                return "{" + ", ".join(f"{key!r}: {value}" for key, value in zip(FIELDS, values, strict=False)) + "}"
            case _:
                return f"Record{len(values)}({', '.join(values)})"


FIELDS = ("u", "v", "w")
Kind = Array | Float | Complex | Generator | Int | Scalar | Number | Bool | Several


def slice_of(rng: Random, size: int, length: int) -> str:
    """A slice with `length` of the `size` elements of an axis, sometimes backwards."""
    if length == size and rng.random() < 0.5:
        return rng.choice([":", "::-1"])
    steps = [step for step in (1, 2, 3, -1, -2) if (length - 1) * abs(step) < size] or [1]
    step = rng.choice(steps)
    span = (length - 1) * abs(step)
    first = rng.randrange(size - span)
    if step > 0:
        stop = first + span + 1
        shown = "" if stop == size and rng.random() < 0.5 else stop
        return f"{first or ''}:{shown}" + ("" if step == 1 else f":{step}")
    start, stop = first + span, first - 1
    return f"{start if start < size - 1 else ''}:{'' if stop < 0 else stop}:{step}"


def views(rng: Random, name: str, source: Shape, shape: Shape) -> list[str]:
    """Views of the array `name` that have another shape (or the same one)."""
    found: list[str] = []
    if len(source) == 1 and len(shape) == 1 and shape[0] <= source[0]:
        found.append(f"{name}[{slice_of(rng, source[0], shape[0])}]")
        if rng.random() < 0.3:
            found.append(f"{name}[::-1][{slice_of(rng, source[0], shape[0])}]")
    if len(source) == 2:
        rows, columns = source
        if shape == (columns,):
            found.append(f"{name}[{rng.randrange(-rows, rows)}]")
        if shape == (rows,):
            column = rng.randrange(-columns, columns)
            found += [f"{name}[:, {column}]", f"{name}.T[{column}]"]
        if len(shape) == 1 and shape[0] <= rows * columns:
            flat = rng.choice([".reshape(-1)", ".ravel()"])
            found.append(f"{name}{flat}[{slice_of(rng, rows * columns, shape[0])}]")
        if shape == source:
            found += [f"{name}[::-1]", f"{name}[:, ::-1]", f"{name}.T.T"]
        if shape == (columns, rows):
            found.append(f"{name}.T")
        if len(shape) == 2 and shape[0] <= rows and shape[1] <= columns:
            found.append(f"{name}[{slice_of(rng, rows, shape[0])}, {slice_of(rng, columns, shape[1])}]")
    if len(source) == 3:
        first, second, third = source
        one, other = rng.randrange(-first, first), rng.randrange(-second, second)
        parts = {
            (second, third): [f"{name}[{one}]", f"{name}[::-1][{one}]"],
            (first, third): [f"{name}[:, {other}]"],
            (third,): [f"{name}[{one}, {other}]", f"{name}[{one}][{other}]"],
            (second,): [f"{name}[{one}, :, {rng.randrange(third)}]"],
            (third, second, first): [f"{name}.T"],
        }
        found += parts.get(shape, [])
        if len(shape) == 1 and shape[0] <= first * second * third:
            found.append(f"{name}.reshape(-1)[{slice_of(rng, first * second * third, shape[0])}]")
    if source == shape and rng.random() < 0.3:
        found.append(name)
    return found
