"""Frames of functions, and reasons to inline a call or unroll a loop.

Reads: nothing. Writes: nothing. Leaves: Frames.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mlirad.frontend.program.scope import NONE, Names, Scope
from mlirad.frontend.program.source import Source


@dataclass(eq=False)
class Frame:
    """A running (or captured) function or comprehension. live: its names that are live at the current statement.

    loops: for each loop around it, the names live after the loop and at its header. site: the call (recursion.py).
    """

    number: int
    source: Source
    scope: Scope
    parent: int | None
    live: Names = NONE
    loops: list[tuple[Names, Names]] = field(default_factory=list)
    site: Any = None


@dataclass(frozen=True)
class Why:
    """Why a loop is unrolled, or a call inlined. refusal: the error to raise if that is impossible, if known."""

    text: str
    refusal: Exception | None = None
