"""The specialisations that a kernel keeps, by the key of a call.

Reads: keys and leaves of calls. Writes: only itself. Leaves: locks, which its owner takes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlirad.jit.specialization import Specialization

MAX_SPECIALIZATIONS = 64
"""How many specialisations a kernel keeps; the least recently used one is dropped first."""


@dataclass
class _Candidates:
    """The specialisations for a signature as the caller sees it: they differ in static values and in guards."""

    known: list[Specialization]

    def find(self, leaves: Sequence[Any]) -> Specialization | None:
        for each in self.known:
            if each.fits(leaves):
                return each
        return None


class SpecializationTable:
    """The keys are those of `signature.key_and_leaves`; the most recently used one comes last."""

    def __init__(self) -> None:
        self._candidates: OrderedDict[Hashable, _Candidates] = OrderedDict()

    def __iter__(self) -> Iterator[Specialization]:
        return (each for candidates in self._candidates.values() for each in candidates.known)

    def find(self, key: Hashable, leaves: Sequence[Any]) -> Specialization | None:
        """The specialisation that fits a call, which is used now."""
        candidates = self._candidates.get(key)
        found = candidates.find(leaves) if candidates else None
        if found is not None:
            self._candidates.move_to_end(key)
        return found

    def note_plans(self, plans: Sequence[object]) -> None:
        """Note that plans have been used, the first one last: calls by plans count as calls."""
        for plan in reversed(plans):
            for key, candidates in list(self._candidates.items()):
                if any(each.plan is plan for each in candidates.known):
                    self._candidates.move_to_end(key)

    def keep(self, key: Hashable, made: Specialization) -> None:
        """Add a specialisation, and drop those that are too many."""
        candidates = self._candidates.setdefault(key, _Candidates([]))
        # One with changed captures will hardly be valid again.
        candidates.known = [made, *(each for each in candidates.known if each.guards_hold())]
        self._candidates.move_to_end(key)
        while sum(len(each.known) for each in self._candidates.values()) > MAX_SPECIALIZATIONS:
            oldest = next(iter(self._candidates.values()))
            oldest.known.pop()
            if not oldest.known:
                self._candidates.popitem(last=False)

    def clear(self) -> None:
        self._candidates.clear()
