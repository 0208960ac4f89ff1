"""The function by which a target keeps code on disk that it needs besides compiled modules; jit provides it.

Reads: a name, and a function that makes the code. Writes: new code to disk. Leaves: the code.
"""

from __future__ import annotations

from collections.abc import Callable

CodeCache = Callable[[str, Callable[[], bytes]], bytes]
"""Returns the code stored under a name; if there is none, makes it and stores it."""
