"""Names that are bound to things which cannot be one value, and the exception where such a name is used.

Reads: nothing. Writes: nothing. Leaves: Poison, which a join binds; PoisonUsed, which whoever needs the value raises.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from mlirad.errors import LibraryCall
from mlirad.location import SourceLocation


@dataclass(frozen=True, eq=False)
class Poison:
    """Bound, but to things that cannot be one value. Raises only where it is used; `loop` can be unrolled then.

    grows: of a list, its number and what its elements have in common, if it can be kept in arrays that grow.
    """

    why: str
    where: SourceLocation | None = None
    loop: Hashable | None = None
    hint: str | None = None
    grows: tuple[int, Any] | None = None


class Unresolved(Exception):
    """A value is needed that is not known while compiling, or that is not one value.

    location, callers, library: as of a CompileError, which it becomes if compiling in another way does not help.
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
