"""Counts how often a function is called from different places, to decide whether its calls share one IR function.

Reads: nothing. Writes: nothing. Leaves: RepeatedCalls.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

from mlirad.frontend.values.values import Value
from mlirad.location import SourceLocation


@dataclass
class Repeats:
    """The inlined calls of one function. sites: their places, each the number of a frame and a place in its function.
    alike: the largest number of calls of it in one block. ops: the number of ops in its body."""

    sites: set[tuple[int, SourceLocation | None]] = field(default_factory=set)
    alike: int = 1
    ops: int = 0
    has_loop: bool = False
    has_long_loop: bool = False
    is_in_loop: bool = False

    @property
    def is_worth_sharing(self) -> bool:
        """Whether inlining the calls costs more compile time than calls of one function could cost at run time.

        An inlined helper of a few elementwise ops shares its loop with the code around it; and inside a loop, a call
        may cost as much as a short loop in the helper.
        """
        looped = self.has_long_loop if self.is_in_loop else self.has_loop
        places = self._places
        return (places >= 3 and self.all_ops >= 30) if looped else (places >= 8 and self.all_ops >= 400)

    @property
    def all_ops(self) -> int:
        """The number of ops of all calls."""
        return self.ops * self._places

    @property
    def _places(self) -> int:
        return max(len(self.sites), self.alike)


@dataclass
class RepeatedCalls:
    """The calls of a build. is_allowed: whether any may share a function. wanted: the functions (by the id of their
    nodes) with shared calls, found in this round or earlier ones. refused: functions that must be inlined after all.
    bound: the bindings of the first call of each function; floats: parameters with static floats that differ between
    the first call and others; fixed: the functions that must know these floats. ops: the number of ops of all inlined
    calls."""

    is_allowed: bool = True
    wanted: set[int] = field(default_factory=set)
    refused: set[Hashable] = field(default_factory=set)
    bound: dict[Hashable, dict[str, Value]] = field(default_factory=dict)
    floats: dict[Hashable, frozenset[str]] = field(default_factory=dict)
    fixed: set[Hashable] = field(default_factory=set)
    repeats: dict[Hashable, Repeats] = field(default_factory=dict)
    ops: int = 0

    def forget_frames(self, first: int) -> None:
        """Forget the calls in the frames from this number on: the code that contains them is interpreted again."""
        for repeats in self.repeats.values():
            repeats.sites = {site for site in repeats.sites if site[0] < first}

    def again(self) -> RepeatedCalls:
        """The calls of the next round, which knows the wanted functions."""
        return replace(self, repeats={}, ops=0)
