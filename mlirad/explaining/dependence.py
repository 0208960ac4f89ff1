"""`mlirad.dependence`: which numbers of a function's arguments reach which numbers of its results.

Reads: a function, and arguments. Writes: nothing. Leaves: a `Dependence`.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlirad import tree
from mlirad.errors import DifferentiationError, DTypeError
from mlirad.explaining.pictures.dot_matrix import dot_matrix
from mlirad.jit.kernel import kernel_for
from mlirad.options import Options
from mlirad.requests.kinds_of_derivatives import Paths
from mlirad.requests.python_functions import name_of, plain, require_arguments

_SHOWN = 60
"""Matrices with more rows or columns are printed as counts."""


@dataclass(frozen=True)
class Dependence:
    """Which inputs reach which outputs: `print` it, or draw it with `svg()`.

    inputs, outputs: the names of the arrays and numbers that are floats. blocks: for each output a list with a boolean
    matrix for each input; a row is a number of the output, a column a number of the input, in C order.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    blocks: tuple[tuple[np.ndarray, ...], ...]

    def __getitem__(self, pair: tuple[str, str]) -> np.ndarray:
        """The matrix of an output and an input, by their names."""
        output, given = pair
        return self.blocks[self.outputs.index(output)][self.inputs.index(given)]

    def __str__(self) -> str:
        width = sum(each.shape[1] for each in self.blocks[0])
        height = sum(row[0].shape[0] for row in self.blocks)
        lines = [*(self._matrix() if max(width, height) <= _SHOWN else self._counts())]
        return "\n".join(line.rstrip() for line in lines)

    def svg(self) -> str:
        """A picture that needs nothing else: a square where an input reaches an output."""
        return dot_matrix(f"Which inputs of {self.name} reach which outputs", self.outputs, self.inputs, self.blocks)

    _repr_svg_ = svg

    def _matrix(self) -> Iterator[str]:
        widths = [max(len(name), each.shape[1]) for name, each in zip(self.inputs, self.blocks[0], strict=True)]
        margin = max(map(len, self.outputs))
        yield "  ".join([" " * margin, *(f"{name:{n}}" for name, n in zip(self.inputs, widths, strict=True))])
        for name, row in zip(self.outputs, self.blocks, strict=True):
            for number in range(row[0].shape[0]):
                cells = ("".join(".x"[int(reaches)] for reaches in each[number]) for each in row)
                padded = (f"{cell:{n}}" for cell, n in zip(cells, widths, strict=True))
                yield "  ".join([f"{name if not number else '':{margin}}", *padded])

    def _counts(self) -> Iterator[str]:
        for name, row in zip(self.outputs, self.blocks, strict=True):
            for given, each in zip(self.inputs, row, strict=True):
                yield f"{given} reaches {name}: {np.count_nonzero(each)} of {each.size} pairs of numbers"


def dependence(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Dependence:
    """Which numbers of the arguments reach which numbers of the results: where a derivative may be other than 0.

    args, kwargs: numbers, arrays, and containers of them; those that are floats are inputs. A branch that floats decide
    counts with both sides, so the answer holds for all values of the floats. It holds only for these integers. The
    condition of a branch has no derivative, and reaches nothing.
    Arrays of the arguments are not written. It costs a run of the function for each number of the inputs.

    Raises TypeError for arguments that the function does not take, DTypeError if no argument or no result is a float,
    and DifferentiationError where the values of floats decide which element is read or how often a loop runs: there is
    no answer for all of them.
    """
    function = plain(function)
    require_arguments(function, args, kwargs)
    leaves, structure = tree.flatten(copy.deepcopy((args, kwargs)))
    seeds = [np.zeros_like(leaf)[()] for leaf in leaves]
    floats = [number for number, leaf in enumerate(leaves) if np.asarray(leaf).dtype.kind == "f"]
    if not floats:
        raise DTypeError(f"{name_of(function)} has no float among its arguments")

    def called(args: Any, kwargs: Any) -> Any:
        return function(*args, **kwargs)

    kernel = kernel_for(lambda given, counts: _PATHS(called, given, counts), Options())
    columns: list[list[list[np.ndarray]]] = []
    names: tuple[str, ...] = ()
    for number in floats:
        columns.append([])
        for place in range(np.size(leaves[number])):
            seed = np.zeros_like(leaves[number])
            seed.reshape(-1)[place] = 1
            counts = [
                *seeds[:number],
                seed if isinstance(leaves[number], np.ndarray) else seed[()],
                *seeds[number + 1 :],
            ]
            found = _paths(kernel, tree.unflatten(structure, leaves), tree.unflatten(structure, counts))
            names, reached = _reached(found)
            columns[-1].append(reached)
    if not names:
        raise DTypeError(f"no result of {name_of(function)} is a float")
    blocks = tuple(tuple(np.stack([each[k] for each in of], 1) for of in columns) for k in range(len(names)))
    inputs = [name for name, leaf in _named_arguments(function, args, kwargs) if np.asarray(leaf).dtype.kind == "f"]
    return Dependence(name_of(function), tuple(inputs), names, blocks)


_PATHS: Any = Paths
"""The transform, which the kernel calls as users call `jvp`."""


def _paths(kernel: Callable[..., Any], args: Any, counts: Any) -> Any:
    try:
        return kernel(args, counts)
    except DifferentiationError as error:
        why = error.message.partition("cannot be found: ")[2]
        message = f"what reaches what cannot be said for all calls: {why}" if why else error.message
        hint = "mlirad.trace shows what reaches what in one call"
        if "loop" in why:
            hint = f"write a loop with a fixed number of trips, and an `if` for `while` and `break`; {hint}"
        raise DifferentiationError(message, error.location, hint) from None


def _reached(found: Any) -> tuple[tuple[str, ...], list[np.ndarray]]:
    """The names of the outputs, and which of their numbers paths lead to."""
    named = [(name, leaf) for name, leaf in _named("y", found) if np.asarray(leaf).dtype.kind == "f"]
    return tuple(name for name, _ in named), [np.ravel(leaf) != 0 for _, leaf in named]


def _named_arguments(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    parameters = [*inspect.signature(function).parameters.values()]
    names = [each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    rest = [each.name for each in parameters if each.kind is each.VAR_POSITIONAL]
    for number, value in enumerate(args):
        yield from _named(names[number] if number < len(names) else f"{rest[0]}[{number - len(names)}]", value)
    for name, value in kwargs.items():
        yield from _named(name, value)


def _named(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The leaves of a container with their names: `p["w"]`, `y[0]`, `state.x`."""
    inner = tree.children(value)
    if inner is None:
        yield name, value
        return
    keys, items = inner
    for number, item in enumerate(items):
        if keys is None:
            yield from _named(f"{name}[{number}]", item)
        else:
            yield from _named(
                f"{name}[{keys[number]!r}]" if isinstance(value, dict) else f"{name}.{keys[number]}", item
            )
