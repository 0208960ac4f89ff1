"""Which trips of a loop are shown: of a long one the first two and the last."""

from __future__ import annotations

from collections.abc import Iterable

from mlirad.explaining.traces.wengert_list import TracedTrip, Variable

_FIRST_TRIPS, _LAST_TRIPS = 2, 1
"""Of a loop with more trips than these and one more, these are shown."""


class ShownTrips:
    """For the loops that these steps are in. last: the number of each loop's last trip, by its run."""

    def __init__(self, steps: Iterable[Variable]):
        self.last: dict[int, int] = {}
        for step in steps:
            for trip in step.trips:
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
