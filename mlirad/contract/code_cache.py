"""The function with which a target caches code other than compiled modules on disk; jit provides it.

Reads: a name, and a function that makes the code. Writes: new code to disk. Leaves: the code.
"""

from __future__ import annotations

from collections.abc import Callable

CodeCache = Callable[[str, Callable[[], bytes]], bytes]
"""Returns the code stored under a name. If there is none, makes and stores it."""
