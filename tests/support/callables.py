"""Public callables of Python and NumPy, and arguments that each accepts: what the walk of purity_walk.py calls.

Reads: modules. Writes: nothing. Leaves: calls, as users write them; SURROUNDINGS is the code that they stand in.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import io
import itertools
import math
import operator
import os
import random
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

SURROUNDINGS = """
import builtins, datetime, functools, itertools, math, operator, os, random, time
import numpy as np

L, D, S, B = [], {}, set(), bytearray()
A, M, N = np.empty(3), np.empty((2, 2)), np.empty(3, np.int64)
LOG = []
K = 2.0

def user(*args):
    LOG.append(len(args))
    return K * args[0]

def key(v):
    return -K * v
"""
"""The containers are filled before each call; G, R, P and IT are made again."""

STARTS: Sequence[Mapping[str, Any]] = (
    {"L": [3.0, 1.0, 2.0], "D": {"a": 1.0, "b": 2.0}, "A": [3.0, 1.0, 2.0], "K": 2.0, "seed": 1},
    {"L": [5.0, 4.0, 9.0], "D": {"a": 7.0, "b": 8.0}, "A": [0.5, 0.25, 0.75], "K": 3.0, "seed": 2},
)
"""The surroundings at the first call, and at the second."""


def set_surroundings(space: dict[str, Any], start: Mapping[str, Any]) -> None:
    """Make everything around the kernels what it is at a start."""
    space["L"][:] = start["L"]
    space["D"].clear()
    space["D"].update(start["D"])
    space["S"].clear()
    space["S"].update(start["L"])
    space["B"][:] = bytes(int(each) for each in start["L"])
    space["A"][:] = start["A"]
    space["M"][:] = [[start["A"][0] + 2.0, 1.0], [1.0, start["A"][1] + 2.0]]
    space["N"][:] = [int(each) for each in start["L"]]
    space["LOG"].clear()
    space["K"] = start["K"]
    seed = start["seed"]
    space["G"] = space["G"] if "G" in space else np.random.default_rng(0)
    space["G"].bit_generator.state = _seeded(seed)
    space["R"] = space["R"] if "R" in space else np.random.RandomState(0)
    space["R"].seed(seed)
    space["P"] = space["P"] if "P" in space else random.Random(0)
    space["P"].seed(seed)
    space["IT"] = iter(list(start["L"]))
    np.random.seed(seed)
    random.seed(seed)
    os.environ["MLIRAD_WALK"] = f"of {seed}"
    np.seterr(all="ignore" if seed == 1 else "warn")
    np.set_printoptions(precision=seed + 2, legacy=False if seed == 1 else "1.25")
    np.setbufsize(8192)


@functools.cache
def _seeded(seed: int) -> Any:
    """The state of a new generator."""
    return np.random.default_rng(seed).bit_generator.state


def observed(space: dict[str, Any]) -> list[Any]:
    """Everything that a call may have changed."""
    state = [str(space["G"].__getstate__())] if hasattr(space["G"], "__getstate__") else []
    containers = [list(space["L"]), dict(space["D"]), set(space["S"]), bytes(space["B"]), list(space["LOG"])]
    arrays = [space[name].tolist() for name in ("A", "M", "N")]
    modes = [np.geterr(), np.getbufsize(), os.environ.get("MLIRAD_WALK")]
    drawn = [random.getstate(), space["P"].getstate(), _drawn(np.random.get_state()), _drawn(space["R"].get_state())]
    return [*containers, *arrays, *modes, *drawn, *state, space["G"].bit_generator.state]


def _drawn(state: Any) -> tuple[Any, ...]:
    """The state of a generator of NumPy, with its 624 numbers as bytes: printing or comparing them one by one takes as
    long as compiling."""
    return tuple(each.tobytes() if isinstance(each, np.ndarray) else each for each in state)


_OWNERS: Mapping[str, Any] = {
    "L": list,
    "D": dict,
    "S": set,
    "B": bytearray,
    "G": np.random.Generator,
    "R": np.random.RandomState,
    "P": random.Random,
    "IT": type(iter([])),
    "'ab c'": str,
    "b'ab'": bytes,
    "(3)": int,
    "2.5": float,
    "(1.0, 2.0)": tuple,
    "np.float64(2.5)": np.float64,
    "A": np.ndarray,
    "N": np.ndarray,
    **{f"datetime.{name}": getattr(datetime, name) for name in ("date", "datetime", "time", "timedelta")},
}
MODULES: Mapping[str, ModuleType] = {
    "np": np,
    "np.random": np.random,
    "np.linalg": np.linalg,
    "math": math,
    "builtins": __import__("builtins"),
    "operator": operator,
    "itertools": itertools,
    "functools": functools,
    "random": random,
    "time": time,
    "datetime": datetime,
    "os": os,
}

# Nothing of os is run by the walk but these, which only read.
_READS_OF_OS = frozenset(
    """cpu_count fspath fsencode fsdecode getcwd getcwdb getegid getenv getenvb geteuid getgid getgroups getlogin getpid
getppid getuid get_exec_path listdir stat lstat times uname umask urandom scandir walk access strerror WEXITSTATUS
WIFEXITED getloadavg sched_getaffinity get_terminal_size PathLike stat_result""".split()
)
# Callables that would stop, write, wait or ask.
_NEVER = frozenset(
    """
np.test np.info np.show_config np.show_runtime np.save np.savez np.savez_compressed np.savetxt np.memmap
np.lookfor np.random.test np.random.set_bit_generator np.random.set_state builtins.input builtins.breakpoint
builtins.exit builtins.quit builtins.help builtins.license builtins.credits builtins.copyright builtins.open
builtins.exec builtins.eval builtins.compile builtins.__import__ builtins.memoryview time.sleep
time.clock_settime time.clock_settime_ns time.pthread_getcpuclockid A.tofile A.dump A.resize N.tofile N.dump
N.resize np.float64(2.5).tofile np.float64(2.5).dump
""".split()
)


def names(module: str) -> list[str]:
    """The public callables of a module, as its users write them."""
    found = MODULES[module]
    listed = getattr(found, "__all__", None) or [name for name in vars(found) if not name.startswith("_")]
    names: list[str] = sorted({*listed, *(["_exit", "fork", "kill"] if found is os else [])})
    with warnings.catch_warnings(action="ignore"):
        return [f"{module}.{name}" for name in names if callable(getattr(found, name, None))]


def methods() -> list[str]:
    """The public methods of generators, containers, iterators, texts, numbers, arrays and dates."""
    return [
        f"{owner}.{name}"
        for owner, kind in _OWNERS.items()
        for name in [*dir(kind), *(["__next__"] if owner == "IT" else [])]
        if (not name.startswith("_") or name == "__next__") and callable(getattr(kind, name))
    ]


def may_run(name: str) -> bool:
    """Whether the walk may call it in plain Python."""
    return name not in _NEVER and (not name.startswith("os.") or name[3:] in _READS_OF_OS)


CONSTANTS = (
    *(
        "",
        "2.5",
        "3",
        "[1.0, 2.0, 3.0]",
        "(1.0, 2.0)",
        "'abc'",
        "b'ab'",
        "float",
        "True",
        "'now'",
        "[[2.0, 1.0], [1.0, 3.0]]",
    ),
    *("2.5, 1.5", "7, 3", "[1.0, 2.0], [3.0, 4.0]", "[[2.0, 1.0], [1.0, 3.0]], [1.0, 2.0]", "[1.0, 2.0, 3.0], 1"),
    *(
        "[3, 1, 2], 1",
        "'ab', 'b'",
        "'f8', 'f4'",
        "float, int",
        "(2, 3), 1.5",
        "[1, 2], 3, 4",
        "2.0, 3.0, 4",
        "2020, 1, 2",
    ),
    *(
        "[True, False], [1.0, 2.0]",
        "[1.0, 2.0, 3.0], [True, False, True]",
        "1.0, 2.0, 3.0",
        "[0.5], [1.0, 2.0], [3.0, 4.0]",
    ),
    *("2, 3, 4", "'a', 'b', 'c'", "[1.0, 2.0], [3.0, 4.0], 1", "3, [0.2, 0.8]", "'now', 's'", "0", "'2020-01-02'"),
)
CAPTURED = (
    *("L", "D", "S", "A", "IT", "G", "user, L", "user, [1.0, 2.0]", "user", "user, 1, 1", "user, (1.0, 2.0), 1.0"),
    *(
        "L, 0",
        "L, 0, 7.0",
        "L, [8.0]",
        "D, {'c': 3.0}",
        "D, 'a'",
        "A, 1.0",
        "A, 0, 7.0",
        "A, A",
        "M",
        "M, A[:2]",
        "N",
        "N, 1",
    ),
    *(
        "A, [A > 1.0], [user]",
        "user, 0, A",
        "user, A",
        "user, (3,)",
        "'MLIRAD_WALK'",
        "K",
        "K, 1.5",
        "L, L",
        "A, L",
        "A, N",
    ),
    *("user, 1.0, 2.0", "L, 1", "N, N", "L, user", "A, 1", "K, L", "0, L", "1, K, 3"),
)
TRACED = (
    *(
        "x",
        "x, x",
        "x, 1",
        "x, 1.5",
        "x[0]",
        "x[0], x[1]",
        "x[0], 1.5",
        "[x, x]",
        "(x, x)",
        "x, 0, 7.0",
        "x > 1.0",
        "2, x",
    ),
    *(
        "x, [x > 1.0], [user]",
        "user, x",
        "user, 0, x",
        "x > 1.0, x",
        "x > 1.0, x, x",
        "x, x, x",
        "x.reshape(1, 3)",
        "x, 0, 1",
    ),
    *(
        "np.outer(x, x) + np.eye(3)",
        "np.outer(x, x) + np.eye(3), x",
        "'i,i', x, x",
        "x, [1, 2]",
        "int(x[0])",
        "int(x[0]), 2",
    ),
    *("x, 'a'", "user, x, 1.0", "1.0, x", "x[0], x[1], x[2]", "key, x", "x, 1.0, 2.0"),
)


def calls(name: str, accepts: Callable[[str], bool], of_each: int = 1) -> Iterator[str]:
    """Calls of a callable that plain Python accepts: on constants, on captured things, on the kernel's argument."""
    if not may_run(name):
        yield from (f"{name}({arguments})" for arguments in ("", "2.5", "'abc'", "A"))
        return
    found = False
    for pool in (CONSTANTS, CAPTURED, TRACED):
        good = (call for arguments in pool if accepts(call := f"{name}({arguments})"))
        for call in itertools.islice(good, of_each):
            found = True
            yield call
    if not found:
        yield f"{name}()"


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No warning is shown, and nothing is printed."""
    with warnings.catch_warnings(action="ignore"), contextlib.redirect_stdout(io.StringIO()):
        yield
