"""Which trips of a loop are shown: of a long one the first two and the last."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import TypeVar

from mlirad.explaining.row_tables import Row
from mlirad.explaining.traces.wengert_list import TracedTrip

T = TypeVar("T")

_FIRST_TRIPS, _LAST_TRIPS = 2, 1
"""Of a loop with more trips than these and one more, these are shown."""


class ShownTrips:
    """For all loops on some paths, from the outermost in. last: the number of each loop's last trip, by its run."""

    def __init__(self, paths: Iterable[Sequence[TracedTrip]]):
        self.last: dict[int, int] = {}
        for path in paths:
            for trip in path:
                self.last[trip.run] = max(trip.number, self.last.get(trip.run, 0))

    def hides(self, trip: TracedTrip) -> bool:
        last = self.last[trip.run]
        return last > _FIRST_TRIPS + _LAST_TRIPS + 1 and _FIRST_TRIPS < trip.number <= last - _LAST_TRIPS

    def heading(self, trip: TracedTrip) -> str:
        """What is written over a trip, or over all that are hidden with it, or over a side of a branch."""
        where = "" if trip.line is None else f" at line {trip.line}"
        if trip.kind in ("if", "else"):
            return f"{trip.kind}{where}" if trip.kind == "if" else f"else, of the if{where}"
        if self.hides(trip):
            return f"⋮ trips {_FIRST_TRIPS + 1} to {self.last[trip.run] - _LAST_TRIPS} of the {trip.kind}{where}"
        return f"{trip.kind}{where}, trip {trip.number}"

    def headed(
        self, items: Iterable[T], trips_of: Callable[[T], Sequence[TracedTrip]]
    ) -> Iterator[tuple[T, list[Row], bool]]:
        """Each item with the headings that come before it, and whether it is shown. trips_of: gives those it is in."""
        before: tuple[str, ...] = ()
        for item in items:
            path = trips_of(item)
            seen = len([*takewhile(lambda trip: not self.hides(trip), path)])
            headings = tuple(self.heading(each) for each in path[: seen + 1])
            kept = len([*takewhile(lambda pair: pair[0] == pair[1], zip(before, headings, strict=False))])
            yield (
                item,
                [Row(heading=each, depth=depth) for depth, each in enumerate(headings[kept:], kept)],
                seen == len(path),
            )
            before = headings
