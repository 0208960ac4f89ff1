"""How a target keeps code on disk that it needs besides the one it compiles: jit gives it the door.

Reads: a name, and how the code is made. Writes: what was made. Leaves: the code.
"""

from __future__ import annotations

from collections.abc import Callable

Kept = Callable[[str, Callable[[], bytes]], bytes]
"""Gives what is kept under a name, or else makes it and keeps it."""
