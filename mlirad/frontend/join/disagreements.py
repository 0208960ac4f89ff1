"""Explains why the two values of a place do not join.

Reads: the two values. Writes: nothing. Leaves: a Poison, which says why, and what to write instead.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from mlirad.frontend.join.list_elements import Element
from mlirad.frontend.join.numbers import number_dtype
from mlirad.frontend.values.poison import Poison
from mlirad.frontend.values.sizes import is_static
from mlirad.frontend.values.state import Place
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Entry, Ref, Static, Value, is_none, is_number, kind_of
from mlirad.location import SourceLocation


@dataclass(frozen=True)
class Disagreements:
    """Where a merge is: the place in the source, and the loop whose header it is, if any."""

    location: SourceLocation | None
    loop: Hashable | None

    def poison(self, place: Place, why: str, hint: str | None = None) -> Poison:
        return Poison(f"{_name_of(place)} {why}", self.location, self.loop, hint)

    def disagreement(self, place: Place, a: Value, b: Value) -> Poison:
        x, y = kind_of(a), kind_of(b)
        is_of_data = _is_of_data(a, b)
        if self.loop is None:
            hint = (
                "make the other one a selection too: y[np.ones(len(y), bool)]" if is_of_data else _instead_of_none(a, b)
            )
            why = f"is {x} on one path and {y} on another"
            return self.poison(place, why, hint or "give both the same type")
        if isinstance(a, Ref) and isinstance(b, Ref):
            hint = "start from a selection too: y = y[np.ones(len(y), bool)]" if is_of_data else "preallocate it"
            return self.poison(place, f"is {x} before the loop and {y} after an iteration", hint)
        if is_number(a) and isinstance(b, Ref):
            hint = f"start from np.zeros({b.shape})"
            return self.poison(place, f"is a number before the loop and {y} in it", hint=hint)
        hint = "use an int or a bool" if isinstance(a, Static) and isinstance(b, Static) else "give both the same type"
        return self.poison(place, f"is {x} before the loop and {y} after an iteration", hint=hint)

    def copied(self, place: Place) -> Poison:
        """Why an array that a join has copied may not be written, nor the copy."""
        why = "may be either of two arrays here, whose sizes are known only at run time, and one of them is written"
        return self.poison(place, why, "make it a copy on both paths: y = x.copy()")

    def undecided(self, place: Place, a: Static | Traced, b: Static | Traced) -> Poison:
        """Why a number cannot be used that is Python's on one path and NumPy's on another."""
        for side in (a, b):
            if isinstance(side, Traced) and side.either is not None:
                return side.either.poison
        dtype = next(known[0] for known in map(number_dtype, (a, b)) if known is not None and not known[1])
        poison = self.disagreement(place, a, b)
        why = f"{poison.why}; these take different dtypes here"
        pythons = (side.value for side in (a, b) if isinstance(side, Static) and type(side.value) in (bool, int, float))
        text = next(map(_text, pythons), "0")
        hint = f"give both the same type: start from np.{dtype}({text}), or x.dtype.type({text}), and not from {text}"
        return dataclasses.replace(poison, why=why, hint=hint)

    def several(self, place: Place, a: Static | Traced, b: Static | Traced, kinds: tuple[type, ...]) -> Poison:
        """Why a Python number cannot be used where its class matters, if the class differs between paths."""
        for side in (a, b):
            if isinstance(side, Traced) and side.several is not None:
                return side.several.poison
        poison = self.disagreement(place, a, b)
        hint = "begin with 0 and not with False, or write bool(...) or int(...) on both paths"
        if kinds[-1] is float:
            hint = "begin with 0.0 and not with 0, or write float(...) on both paths"
        return dataclasses.replace(poison, why=f"{poison.why}; these mean different things here", hint=hint)

    def lengths_differ(self, number: int, left: Entry, right: Entry, element: Element | None) -> Poison:
        """Why a list or dict is unknown if the two sides disagree on its length or keys."""
        kinds = {left.kind, right.kind} - {list, dict}
        if kinds:
            name = min(kind.__name__ for kind in kinds)
            hint = "assign all attributes in __init__, always in the same order"
            return Poison(f"which attributes this {name} has depends on data", self.location, self.loop, hint)
        if left.kind is list and (owner := left.borrowed or right.borrowed) is not None:
            why = f"the change in the length of {owner.name} is known only at run time"
            return Poison(why, self.location, self.loop, "append to a list that is made here, and return it")
        hint = "use an array and a count"
        if element is not None or left.kind is not list or self.loop is None:
            why = f"the length of this {left.kind.__name__} depends on data"
        else:
            why = "this list grows in the loop, and its elements differ in type or shape"
            if any(isinstance(item, Ref) and not is_static(item.shape) for item in (*left.items, *right.items)):
                why = "this list grows in the loop, and the sizes of its arrays are known only at run time"
                hint = "put them into one array, made before the loop: out[i : i + n] = part"
        grows = None if element is None else (number, element)
        return Poison(why, self.location, self.loop, hint, grows)


def _instead_of_none(a: Value, b: Value) -> str | None:
    """What to write in place of None beside a number, where the value itself is needed: as a result, for example."""
    if is_none(a) == is_none(b):
        return None
    other = b if is_none(a) else a
    if not is_number(other):
        return None
    known = type(other.value) if isinstance(other, Static) else other.kind if isinstance(other, Traced) else None
    instead = "-1" if known is int else "np.nan"
    return f"take a number in place of None, such as {instead}"


def _text(number: Any) -> str:
    """A Python number as a program may write it."""
    return str(number) if math.isfinite(number) else f"np.{number}".replace("np.-", "-np.")


def _is_of_data(a: Value, b: Value) -> bool:
    """Whether two arrays differ only in that one has a run-time length."""
    if not (isinstance(a, Ref) and isinstance(b, Ref)) or (a.dtype, a.ndim) != (b.dtype, b.ndim):
        return False
    return is_static(a.shape) != is_static(b.shape)


def _name_of(place: Place) -> str:
    if place[0] == "frame":
        return "the result" if place[2] == "$return" else f"{str(place[2])!r}"
    return "an item of a list, dict or dataclass" if place[0] == "item" else "the value of this expression"
