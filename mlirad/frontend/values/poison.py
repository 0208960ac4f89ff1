"""Poison: a name whose values on different paths cannot be merged. Using such a name raises an exception.

Reads: nothing. Writes: nothing. Leaves: Poison, which a join binds; PoisonUsed, raised where the value is needed.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from mlirad.errors import LibraryCall
from mlirad.location import SourceLocation


@dataclass(frozen=True, eq=False)
class Poison:
    """Bound, but to values that cannot be merged. It raises only where it is used; then `loop` can be unrolled.

    grows: for a list that can be kept in growing arrays, its number and the common element.
    """

    why: str
    where: SourceLocation | None = None
    loop: Hashable | None = None
    hint: str | None = None
    grows: tuple[int, Any] | None = None


class Unresolved(Exception):
    """A value is needed that is unknown while compiling, or that could not be merged.

    location, callers, library: as in CompileError, which it becomes if compiling in another way does not help.
    """

    def __init__(self, message: str):
        super().__init__(message)
        self.location: SourceLocation | None = None
        self.callers: list[SourceLocation] = []
        self.library: LibraryCall | None = None

    def place(self, location: SourceLocation | None) -> None:
        """Note where it is raised, unless that is known already."""
        if self.location is None:
            self.location = location


class PoisonUsed(Unresolved):
    """A value that could not be merged is needed."""

    def __init__(self, poison: Poison):
        super().__init__(poison.why)
        self.poison = poison
