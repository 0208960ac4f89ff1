"""The options of a compilation, and the environment variables, all read here."""

from __future__ import annotations

import ast
import os
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mlirad.signature import StaticLeaf

SOURCE_TARGET, SOURCE_STAGE = "python", "source"
"""The target, and its stage, that `mlirad explain` shows."""
MOST_THREADS = 256
"""The largest number of threads that share the work of a call."""


@dataclass(frozen=True)
class Options:
    """The options that `mlirad.jit` takes besides the function.

    static_argnums, static_argnames: arguments that the code is specialised on by value. target: the target that takes
    over after the stage `optimized`. boundscheck: whether indices out of range raise IndexError (without it they are
    the user's responsibility). cache: whether the disk cache is used. parallel: whether threads share the work on large
    arrays. fastmath: whether floating-point arithmetic may be reassociated and contracted, and divisions replaced by
    reciprocals. checkpoint: how many bytes of the forward sweep a reverse sweep may keep. donate_argnums: positional
    arguments; results may overwrite their arrays. of_target: the target's own options, by name, in order; the target's
    class is not loaded until one is given.
    """

    static_argnums: tuple[int, ...] = ()
    static_argnames: tuple[str, ...] = ()
    target: str = "cpu"
    boundscheck: bool = True
    cache: bool = True
    parallel: bool = False
    fastmath: bool = False
    checkpoint: int | None = None
    donate_argnums: tuple[int, ...] = ()
    of_target: tuple[tuple[str, StaticLeaf], ...] = ()

    @property
    def for_target(self) -> dict[str, Any]:
        """The options for the target, which refuses unknown ones."""
        return {name: leaf.value for name, leaf in self.of_target} | {
            name: True for name in sorted(SHARED_OPTIONS) if getattr(self, name)
        }

    def with_environment(self) -> Options:
        """These options, completed by those of MLIRAD_TARGET_OPTIONS for this target."""
        given = Environment.target_options().get(self.target)
        if not given:
            return self
        leaves = {name: StaticLeaf(value, is_declared=True) for name, value in given.items()} | dict(self.of_target)
        return replace(self, of_target=tuple(sorted(leaves.items(), key=lambda each: each[0])))


OWN_OPTIONS = tuple(name for name in Options.__dataclass_fields__ if name != "of_target")
"""The options that `jit` has whatever the target is."""
SHARED_OPTIONS = frozenset({"parallel", "fastmath"})
"""Options that a target may declare, too, and then receives; one that does not refuses True."""


@dataclass(frozen=True)
class Environment:
    """The environment variables that mlirad knows."""

    dump: Path | None
    disable_jit: bool
    full_traceback: bool
    cache: Path | None
    """The directory of the disk cache; None if it is off."""
    num_threads: str = ""

    @property
    def threads(self) -> int:
        """How many threads share the work of parallel kernels: MLIRAD_NUM_THREADS, or the number of usable
        processors."""
        if not self.num_threads:
            return min(usable_processors(), MOST_THREADS)
        if not (self.num_threads.isdecimal() and 1 <= int(self.num_threads) <= MOST_THREADS):
            raise ValueError(f"MLIRAD_NUM_THREADS must be from 1 to {MOST_THREADS}, not {self.num_threads!r}")
        return int(self.num_threads)

    @classmethod
    def read(cls) -> Environment:
        """MLIRAD_DUMP=dir, MLIRAD_DISABLE_JIT=1, MLIRAD_TRACEBACK=full, MLIRAD_CACHE=0, MLIRAD_CACHE_DIR=dir and
        MLIRAD_NUM_THREADS=n, as they are now. Without MLIRAD_CACHE_DIR, the directory is `mlirad` in XDG_CACHE_HOME, or
        in ~/.cache.

        A kernel reads MLIRAD_DISABLE_JIT and MLIRAD_TARGET_OPTIONS when it is made; MLIRAD_NUM_THREADS is read once
        (see threads.py), the others whenever they are needed.
        """
        dump = os.environ.get("MLIRAD_DUMP")
        return cls(
            Path(dump) if dump else None,
            cls.has_jit_disabled(),
            os.environ.get("MLIRAD_TRACEBACK") == "full",
            None if os.environ.get("MLIRAD_CACHE") == "0" else _cache_directory(),
            os.environ.get("MLIRAD_NUM_THREADS", ""),
        )

    @staticmethod
    def has_jit_disabled() -> bool:
        """MLIRAD_DISABLE_JIT; each call of `jit` reads it."""
        return os.environ.get("MLIRAD_DISABLE_JIT", "") not in ("", "0")

    @staticmethod
    def target_options() -> dict[str, dict[str, Any]]:
        """MLIRAD_TARGET_OPTIONS="cpu.vector_bytes=32 toy.model=small": by target, options by name.

        Words are split as a shell does. Values are numbers, strings, True, False and None, as in Python; any other
        value is taken as a string. Raises ValueError for any other word.
        """
        found: dict[str, dict[str, Any]] = {}
        for word in shlex.split(os.environ.get("MLIRAD_TARGET_OPTIONS", "")):
            place, is_given, text = word.partition("=")
            target, _, name = place.rpartition(".")
            if not (is_given and target and name.isidentifier()):
                raise ValueError(f"MLIRAD_TARGET_OPTIONS has words such as cpu.vector_bytes=32, unlike {word!r}")
            try:
                value = ast.literal_eval(text)
            except (SyntaxError, ValueError):
                value = text
            found.setdefault(target, {})[name] = value
        return found


def usable_processors() -> int:
    """How many processors the process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not everywhere
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def _cache_directory() -> Path | None:
    if directory := os.environ.get("MLIRAD_CACHE_DIR"):
        return Path(directory).absolute()
    # The XDG specification says to ignore relative paths.
    if (directory := os.environ.get("XDG_CACHE_HOME")) and os.path.isabs(directory):
        return Path(directory, "mlirad")
    home = os.path.expanduser("~")
    return Path(home, ".cache", "mlirad") if os.path.isabs(home) else None
