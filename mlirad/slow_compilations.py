"""Reports once, on stderr, which loop a slow compilation is unrolling.

Reads: the clock, and the loops that the frontend reports. Writes: stderr. Leaves: no thread behind.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from mlirad.errors import format_located
from mlirad.location import SourceLocation

PATIENCE = 5.0
"""Seconds."""
_SHOWN = 3
_HINT = "put the loop-carried values into arrays of a fixed shape, so that it stays a loop"


@dataclass
class Unrolled:
    """A loop that is being unrolled: why, and into how many copies of its body so far."""

    why: str
    copies: int = 0


@dataclass
class Compilation:
    """The function that is being compiled, and the loops that have been unrolled."""

    name: str
    loops: dict[SourceLocation, Unrolled] = field(default_factory=dict)
    is_late: bool = False
    is_reported: bool = False

    def report(self) -> None:
        """Report that it takes long. If no loop is unrolled yet, the first unrolled loop will be reported."""
        self.is_late = True
        text = self.text()
        if text is not None and not self.is_reported and sys.stderr is not None:
            self.is_reported = True
            print(text, file=sys.stderr, flush=True)

    def text(self) -> str | None:
        """The report; None if no loop is unrolled."""
        most = sorted(self.loops.copy().items(), key=lambda loop: -loop[1].copies)[:_SHOWN]
        if not most:
            return None
        lines = [
            format_located(
                f"this loop is unrolled because {each.why} (copies of its body so far: {each.copies})", place
            )
            for place, each in most
        ]
        return "\n".join([f"mlirad: compiling {self.name} takes more than {PATIENCE:g} s", *lines, f"  help: {_HINT}"])


_own = threading.local()


@contextmanager
def watched(name: str) -> Iterator[Compilation]:
    """A block around the compilation of a function. Gives the notes about it."""
    before = getattr(_own, "compilation", None)
    _own.compilation = made = Compilation(name)
    timer = threading.Timer(PATIENCE, made.report)
    timer.daemon = True
    timer.start()
    try:
        yield made
    finally:
        _own.compilation = before
        timer.cancel()
        timer.join()  # it ends at once; until then it would count as a thread of the process


def note_copy(place: SourceLocation | None, why: str) -> None:
    """Note that another copy of a loop's body is about to be made."""
    compilation = getattr(_own, "compilation", None)
    if compilation is not None and place is not None:
        compilation.loops.setdefault(place, Unrolled(why)).copies += 1
        if compilation.is_late and not compilation.is_reported:
            compilation.report()
