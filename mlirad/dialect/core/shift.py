"""How values change with a number that is added to another value.

Reads: nothing. Writes: nothing. Leaves: records, and the rules that several ops share.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Shift:
    """The change of a value if t is added to another one: it becomes the value + by * t, or the value * exp(by * t) if
    `is_factor`. axes: for each axis of t that has not the size 1, the axis of the value along which it runs."""

    by: float = 0
    is_factor: bool = False
    axes: tuple[int, ...] = ()

    def along(self, places: dict[int, int]) -> Shift | None:
        """The same in an array whose axis `places[i]` is the value's axis i; None if an axis of t has no place."""
        if any(axis not in places for axis in self.axes):
            return None
        return replace(self, axes=tuple(places[axis] for axis in self.axes))


UNCHANGED = Shift()


def total(x: Shift, y: Shift, sign: int) -> Shift | None:
    """The shift of x + sign * y; None if it is not known."""
    if x.is_factor or y.is_factor:
        return x if x == y else None
    return _together(x, y, sign)


def product(x: Shift, y: Shift, sign: int) -> Shift | None:
    """The shift of x * y**sign; None if it is not known."""
    if (x.by and not x.is_factor) or (y.by and not y.is_factor):
        return None
    return _together(x, y, sign)


def _together(x: Shift, y: Shift, sign: int) -> Shift | None:
    if x.by and y.by and x.axes != y.axes:
        return None
    return Shift(x.by + sign * y.by, x.is_factor or y.is_factor, x.axes if x.by else y.axes)
