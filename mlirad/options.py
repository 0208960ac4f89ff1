"""The options of a compilation, and the environment variables, all read here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Options:
    """What `mlirad.jit` takes besides the function.

    static_argnums, static_argnames: arguments that the code is specialised on by value. target: who takes over after
    the stage `optimized`. boundscheck: whether indices out of range raise IndexError (without it they are the user's
    responsibility).
    """

    static_argnums: tuple[int, ...] = ()
    static_argnames: tuple[str, ...] = ()
    target: str = "cpu"
    boundscheck: bool = True


@dataclass(frozen=True)
class Environment:
    """The environment variables that mlirad knows."""

    dump: Path | None
    disable_jit: bool
    full_traceback: bool

    @classmethod
    def read(cls) -> Environment:
        """MLIRAD_DUMP=dir, MLIRAD_DISABLE_JIT=1, MLIRAD_TRACEBACK=full, as they are now.

        A kernel reads MLIRAD_DISABLE_JIT when it is made, the others when they are needed.
        """
        dump = os.environ.get("MLIRAD_DUMP")
        return cls(
            Path(dump) if dump else None,
            os.environ.get("MLIRAD_DISABLE_JIT", "") not in ("", "0"),
            os.environ.get("MLIRAD_TRACEBACK") == "full",
        )
