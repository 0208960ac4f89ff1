"""The output of `print` in a compiled function: a template with placeholders for run-time values.

Reads: the values. Writes: `sys.stdout` or `sys.stderr`, as they are at the time. Gives: `Printed`, which compiled code
carries as text.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mlirad.errors import format_located
from mlirad.location import SourceLocation
from mlirad.raised_exceptions import PLACE, PYTHON, filled

FILES = ("stdout", "stderr")
"""The files that `print` may write to, by their names in the module `sys`."""


@dataclass(frozen=True)
class Printed:
    """template: as for `raised_exceptions.filled`. A placeholder's kind is the value's dtype, or int, float or bool."""

    template: str
    file: str = "stdout"
    flush: bool = False
    location: SourceLocation | None = None

    def write(self, values: Sequence[Any]) -> None:
        """Print NumPy numbers and arrays. An error of the file, or of a format, names the line of the print."""
        try:
            file = getattr(sys, self.file)
            if file is not None:  # in a process without a console
                file.write(filled(self.template, lambda number, kind: PYTHON.get(kind, _same)(values[number])))
                if self.flush:
                    file.flush()
        except Exception as error:
            if self.location is not None:
                error.add_note(format_located("raised by this print", self.location))
                error.location = self.location  # pyright: ignore[reportAttributeAccessIssue]  # exceptions take any
            raise

    def dtypes(self) -> dict[int, np.dtype]:
        """The dtype of each value."""
        return {int(place[1]): np.dtype(place[2]) for place in PLACE.finditer(self.template) if place[1]}

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @staticmethod
    def from_bytes(data: bytes) -> Printed:
        read = json.loads(data)
        location = read.pop("location")
        return Printed(location=None if location is None else SourceLocation(**location), **read)


def _same(value: Any) -> Any:
    return value
