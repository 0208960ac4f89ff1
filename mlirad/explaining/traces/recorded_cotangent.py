"""A cotangent of a reverse sweep that was recorded.

Reads: nothing. Writes: nothing. Leaves: a `RecordedCotangent`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mlirad.explaining.traces.wengert_list import TracedTrip
from mlirad.location import SourceLocation


@dataclass(frozen=True)
class RecordedCotangent:
    """A cotangent after one step of the reverse sweep: after the adjoint of a line has added to it.

    name: of the variable in the program, None for an intermediate result. symbol: as in the tables of `mlirad.trace`.
    expression: the new cotangent, in these symbols. value: its number or array. location: of the line. trips: of the
    loops and branches around the line.
    """

    name: str | None
    symbol: str
    expression: str
    value: Any
    location: SourceLocation | None
    trips: tuple[TracedTrip, ...]

    @property
    def line(self) -> int | None:
        """The number of the line whose adjoint this is."""
        return None if self.location is None else self.location.lineno

    @property
    def source(self) -> str:
        """The text of the line."""
        found = None if self.location is None else self.location.source_line()
        return "" if found is None else found.strip()

    @property
    def norm(self) -> float:
        """The Euclidean norm."""
        with np.errstate(all="ignore"):
            return float(np.linalg.norm(np.ravel(self.value)))

    @property
    def largest(self) -> float:
        """The largest absolute value in it; NaN if it has one, 0 of an empty array."""
        return float(np.max(np.abs(self.value), initial=0.0))

    @property
    def nans(self) -> int:
        """How many NaNs are in it."""
        return int(np.isnan(self.value).sum())

    @property
    def has_infinity(self) -> bool:
        return bool(np.isinf(self.value).any())
