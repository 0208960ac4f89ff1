"""How often a function is called from different places, and whether its calls share one function of the IR.

Reads: nothing. Writes: nothing. Leaves: RepeatedCalls.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

from mlirad.frontend.values.values import Value
from mlirad.location import SourceLocation


@dataclass
class Repeats:
    """The inlined calls of one function. sites: where they stand, the number of a frame and a place in its function.
    alike: how many calls stand in a row with one of them. ops: how many its body takes."""

    sites: set[tuple[int, SourceLocation | None]] = field(default_factory=set)
    alike: int = 1
    ops: int = 0
    has_loop: bool = False
    has_long_loop: bool = False
    is_in_loop: bool = False

    @property
    def is_worth_sharing(self) -> bool:
        """Whether the calls cost more to compile one by one than calls of one function could cost at run time.

        What a helper of a few elementwise ops computes shares its loop with what is around it, if it is inlined; and in
        a loop a call may cost as much as a short loop in the helper.
        """
        looped = self.has_long_loop if self.is_in_loop else self.has_loop
        places = self._places
        return (places >= 3 and self.all_ops >= 30) if looped else (places >= 8 and self.all_ops >= 400)

    @property
    def all_ops(self) -> int:
        """Of all calls."""
        return self.ops * self._places

    @property
    def _places(self) -> int:
        return max(len(self.sites), self.alike)


@dataclass
class RepeatedCalls:
    """The calls of a build. is_allowed: whether any may share a function. wanted: the functions (by the id of their
    nodes) whose calls do, found in this round or earlier ones. refused: those that must be inlined after all. bound:
    what the first call of each function binds; floats: its parameters whose static floats differ, from that call to
    others; fixed: the functions to which these must be known. ops: of all calls that were interpreted in place."""

    is_allowed: bool = True
    wanted: set[int] = field(default_factory=set)
    refused: set[Hashable] = field(default_factory=set)
    bound: dict[Hashable, dict[str, Value]] = field(default_factory=dict)
    floats: dict[Hashable, frozenset[str]] = field(default_factory=dict)
    fixed: set[Hashable] = field(default_factory=set)
    repeats: dict[Hashable, Repeats] = field(default_factory=dict)
    ops: int = 0

    def forget_frames(self, first: int) -> None:
        """Forget the calls in the frames from this number on: what they were part of is interpreted again."""
        for repeats in self.repeats.values():
            repeats.sites = {site for site in repeats.sites if site[0] < first}

    def again(self) -> RepeatedCalls:
        """For the next round, which knows what is wanted."""
        return replace(self, repeats={}, ops=0)
