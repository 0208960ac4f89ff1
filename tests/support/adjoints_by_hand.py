"""The programs of the benchmarks, with their adjoints by hand in Python instead of Numba.

Reads: modules of `benchmarks/programs` and `benchmarks/workloads`. Writes: nothing. Leaves: modules of their own.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest
from numba.core import config

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def program_of(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, such as `programs.adi`; its `adjoint` runs in Python.

    At small sizes that takes a tenth of the time that Numba takes to compile it, and checks indices. `make full`
    compiles all of them.
    """
    monkeypatch.setattr(config, "DISABLE_JIT", not os.environ.get("MLIRAD_FULL"))
    benchmarks = sys.modules.setdefault("by_hand", ModuleType("by_hand"))
    benchmarks.__path__ = [str(BENCHMARKS)]
    return importlib.import_module(f"by_hand.{name}")
