"""`mlirad.record_grad`: a gradient, and each cotangent that its reverse sweep computes.

Reads: a function, and calls of it. Writes: what the function writes. Leaves: gradients with a `GradientRecord`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from mlirad import tree
from mlirad.contract.interface import Interface
from mlirad.dialect.core.types import from_location
from mlirad.errors import DifferentiationError
from mlirad.explaining.row_tables import Row, page_of_rows, text_of_rows
from mlirad.explaining.traces.notation import BAR, accented, shown
from mlirad.explaining.traces.record_table import TITLES, parts_of_record
from mlirad.explaining.traces.recorded_cotangent import RecordedCotangent
from mlirad.explaining.traces.sweeps import AdjointTerm, Sweeps, sweeps_of
from mlirad.explaining.traces.trace import recorded_call
from mlirad.explaining.traces.wengert_list import Variable
from mlirad.jit.transforms.gradients import grad
from mlirad.requests.argnums import argnums_of
from mlirad.requests.python_functions import name_of, plain
from mlirad.requests.request import parameters_of


@dataclass(frozen=True)
class GradientRecord:
    """The cotangents of a call, in the order in which the reverse sweep computes them: iterate over it, or print it.

    value: of the function. sweeps: the steps of the call, as `mlirad.trace` has them.
    """

    title: str
    value: Any
    cotangents: tuple[RecordedCotangent, ...]
    sweeps: Sweeps

    def __iter__(self) -> Iterator[RecordedCotangent]:
        return iter(self.cotangents)

    def __len__(self) -> int:
        return len(self.cotangents)

    @cached_property
    def first_nan(self) -> RecordedCotangent | None:
        """The first cotangent with a NaN; None if there is none."""
        return next((each for each in self if each.nans), None)

    @cached_property
    def first_infinity(self) -> RecordedCotangent | None:
        """The first cotangent with an infinity; None if there is none."""
        return next((each for each in self if each.has_infinity), None)

    @cached_property
    def largest(self) -> RecordedCotangent | None:
        """The cotangent with the largest absolute value, without those that have a NaN; None if there is none."""
        return max((each for each in self if not each.nans), key=lambda each: each.largest, default=None)

    @property
    def _parts(self) -> list[list[Row]]:
        notes = {"first NaN": self.first_nan, "first infinity": self.first_infinity, "largest": self.largest}
        return parts_of_record(self.cotangents, {name: each for name, each in notes.items() if each is not None})

    def of(self, name: str) -> list[RecordedCotangent]:
        """The cotangents of the variable with this name in the program."""
        return [each for each in self if each.name == name]

    def __str__(self) -> str:
        return text_of_rows(TITLES, self._parts)

    def html(self) -> str:
        """The table as a page that needs nothing else."""
        return page_of_rows(f"Cotangents of {self.title}", TITLES, self._parts)

    _repr_html_ = html


def record_grad(
    function: Callable[..., Any],
    argnums: int | Sequence[int] | None = None,
    has_aux: bool = False,
    *,
    argnames: str | Sequence[str] | None = None,
) -> Callable[..., tuple[Any, GradientRecord]]:
    """A function that returns (gradient, record): the result of `mlirad.grad(function)`, and all cotangents on the way.

    argnums, has_aux, argnames: as of `grad`.

    The function runs once, op by op with NumPy, and so does its reverse sweep, of the program before anything is
    simplified: record gradients to find out why, not to train. Memory grows with the number of steps. It gives
    the gradient of `grad` up to rounding, because sums may have another order.

    Raises what `grad` raises.
    """
    compiled, chosen = grad(function, argnums, has_aux, argnames=argnames), argnums_of(argnums, None, argnames)
    names = parameters_of(plain(function))

    def recorded(*args: Any, **kwargs: Any) -> tuple[Any, GradientRecord]:
        compiled.lower(*args, **kwargs).as_text("autodiff")  # refuses what has no gradient
        wengert, value = recorded_call(plain(function), args, kwargs, partial(_require_apart, (args, kwargs)))
        found = sweeps_of(wengert, {}, wengert.results[:1])
        by_position, by_keyword = _gradients(found, (args, kwargs))
        by_name = {**dict(zip(names, by_position, strict=False)), **by_keyword}

        def gradient(argument: int | str) -> Any:
            if isinstance(argument, int) and argument < len(args):
                return by_position[argument]
            return by_name[names[argument] if isinstance(argument, int) else argument]

        asked = tuple(map(gradient, chosen)) if isinstance(chosen, tuple) else gradient(chosen)
        record = GradientRecord(
            f"grad({name_of(function)})", value[0] if has_aux else value, tuple(_recorded(found)), found
        )
        return ((asked, value[1]) if has_aux else asked), record

    return recorded


def _require_apart(args: Any, built: Interface) -> None:
    """Refuse arguments that are views of others: they have no variables, nor cotangents, of their own."""
    leaves = tree.leaves(args)
    if any(number not in built.leaves for number, leaf in enumerate(leaves) if _is_inexact(leaf)):
        raise DifferentiationError(
            f"{built.name} is differentiated, and writes an argument that shares memory with another one",
            hint="pass a copy of one of them: x.copy()",
        )


def _is_inexact(leaf: Any) -> bool:
    return np.asarray(leaf).dtype.kind in "fc"


def _recorded(found: Sweeps) -> Iterator[RecordedCotangent]:
    for result in found.wengert.results[:1]:
        if isinstance(result, Variable):
            one = np.ones_like(result.value)
            yield RecordedCotangent(result.name, shown(result, BAR), accented("y", BAR), one, None, ())
    for step in reversed(found.steps):
        op = step.variable.op
        location = None if op is None else from_location(op.location)
        for term in step.adjoints:
            yield RecordedCotangent(
                term.of.name, shown(term.of, BAR), _expression(term), term.cotangent, location, step.variable.trips
            )


def _expression(term: AdjointTerm) -> str:
    return term.expression if term.is_first else f"{shown(term.of, BAR)} + {term.expression}"


def _gradients(found: Sweeps, args: Any) -> Any:
    """The gradients for all arguments, in a container; a leaf without floats is its own."""
    variables = iter(found.wengert.arguments)

    def gradient(leaf: Any) -> Any:
        if not _is_inexact(leaf):
            return leaf
        number = next(variables).number
        cotangent = found.cotangents.get(number, np.zeros_like(leaf))
        if isinstance(leaf, np.ndarray):
            return np.array(cotangent)
        return type(leaf)(cotangent)

    return tree.map(gradient, args)
