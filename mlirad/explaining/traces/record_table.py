"""The rows of a recorded gradient: by lines of the program and trips of its loops.

Reads: cotangents. Writes: nothing. Leaves: rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from mlirad.explaining.row_tables import Row
from mlirad.explaining.traces.notation import value_text
from mlirad.explaining.traces.recorded_cotangent import RecordedCotangent
from mlirad.explaining.traces.shown_trips import ShownTrips

TITLES = ("cotangent", "of", "norm", "largest", "")


def parts_of_record(found: Sequence[RecordedCotangent], notes: Mapping[str, RecordedCotangent]) -> list[list[Row]]:
    """The rows of all cotangents, trips of long loops elided, and of the notes: remarkable cotangents, by name."""
    return [list(_rows(found, notes)), [Row(heading=_told(name, each)) for name, each in notes.items()]]


def _rows(found: Sequence[RecordedCotangent], notes: Mapping[str, RecordedCotangent]) -> Iterator[Row]:
    trips = ShownTrips(each.trips for each in found)
    before = None
    for each, headings, is_shown in trips.headed(found, lambda each: each.trips):
        yield from headings
        if not is_shown:
            continue
        line = each.line, each.trips
        if line != before and each.line is not None:
            yield Row(heading=f"line {each.line}: {each.source}", depth=len(each.trips))
        before = line
        yield _row(each, ", ".join(name for name, noted in notes.items() if noted is each))


def _row(each: RecordedCotangent, note: str) -> Row:
    numbers = value_text(each.norm), value_text(each.largest)
    columns = f"{each.symbol} = {each.expression}", each.name or "", *numbers, note and f"← {note}"
    return Row(tuple((text,) for text in columns))


def _told(name: str, each: RecordedCotangent) -> str:
    """A note, as a sentence."""
    of = f"{each.symbol}, of {each.name}" if each.name else each.symbol
    where = "" if each.line is None else f", in the adjoint of line {each.line}: {each.source}"
    loops = [f"trip {trip.number} of the {trip.kind} at line {trip.line}" for trip in each.trips if trip.number]
    share = (
        f" ({value_text(each.largest)})"
        if name == "largest"
        else f" ({each.nans} of {np.size(each.value)})"
        if each.nans
        else ""
    )
    return f"{name}: {of}{share}{where}{''.join(f', {loop}' for loop in loops)}"
