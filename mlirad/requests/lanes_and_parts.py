"""Transforms that call a function again: for each lane, for each part of its arguments, or in the reverse sweep."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from mlirad.requests.python_functions import name_of
from mlirad.requests.request import Request


@dataclass(frozen=True)
class AxesByKey:
    """Axes of the items of a dict, or of the attributes of a dataclass."""

    items: tuple[tuple[Any, Axes], ...]


Axes = int | None | tuple[Any, ...] | AxesByKey
"""The axis of the lanes in every array of a pytree; for a container, the axes of its items; None: no axis."""


def axes_of(given: Any) -> Axes:
    """`in_axes` or `out_axes` as a request stores them. Raises TypeError if it is neither an axis nor a container."""
    if given is None or (isinstance(given, int) and not isinstance(given, bool)):
        return given
    if isinstance(given, AxesByKey):
        return given
    if isinstance(given, tuple | list):
        return tuple(axes_of(each) for each in given)
    if isinstance(given, dict):
        return AxesByKey(tuple((key, axes_of(each)) for key, each in given.items()))
    if is_dataclass(given) and not isinstance(given, type):
        return axes_of({field.name: getattr(given, field.name) for field in fields(given)})
    raise TypeError(f"an axis of vmap is an int or None, or a tuple, list or dict of these, not {given!r}")


@dataclass(frozen=True, eq=False)
class Vmap(Request):
    """The function applied to each lane of its arguments, with stacked results. in_axes: one for each argument, or
    one."""

    in_axes: Axes = 0
    out_axes: Axes = 0

    @property
    def summary(self) -> str:
        return f"{name_of(self.function)} of each lane of its arguments, the results stacked."


@dataclass(frozen=True, eq=False)
class Checkpoint(Request):
    """The function itself. Reverse mode keeps its arguments, and runs it again to recover other values."""

    @property
    def summary(self) -> str:
        return f"{name_of(self.function)}; reverse mode keeps only its arguments."


@dataclass(frozen=True, eq=False)
class Accumulate(Request):
    """The mean or the sum of the function's values for `parts` equal parts of its arguments.

    in_axes: the axes that are split, as in Vmap; None: axis 0 of all arguments except the first. reduce: "mean", "sum".
    """

    parts: int = 1
    in_axes: Axes = None
    reduce: str = "mean"

    def __post_init__(self) -> None:
        if isinstance(self.parts, bool) or not isinstance(self.parts, int):
            raise TypeError(f"accumulate_grad: n_micro is a number of parts, not {self.parts!r}")
        if self.parts < 1:
            raise ValueError(f"accumulate_grad: n_micro is a number of parts, and {self.parts} is less than 1")
        if self.reduce not in ("mean", "sum"):
            raise ValueError(f"accumulate_grad: reduce is 'mean' or 'sum', not {self.reduce!r}")

    @property
    def __name__(self) -> str:
        return f"accumulate_grad({name_of(self.function)})"

    @property
    def summary(self) -> str:
        return f"The {self.reduce} of {name_of(self.function)} of {self.parts} parts of its arguments, one by one."
