"""Reads: text of stage `loops`. Writes: LLVM IR, and loaded artifacts. Leaves: nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import run_loops
from xdsl.dialects.builtin import ModuleOp

from mlirad.targets.cpu import CpuTarget
from mlirad.targets.cpu.calls.abi import CpuArtifact
from mlirad.targets.cpu.emit.module import emit_llvm


@pytest.fixture(scope="session")
def parse() -> Callable[[str], ModuleOp]:
    return run_loops.parse


@pytest.fixture(scope="session")
def emit() -> Callable[[str], str]:
    """The LLVM IR of a module."""
    return lambda text: emit_llvm(run_loops.parse(text))


@pytest.fixture(scope="session")
def load() -> Callable[[str], CpuArtifact]:
    """A module compiled and loaded, with the same steps as a user's function."""
    target = CpuTarget()
    return lambda text: target.load(target.compile(emit_llvm(run_loops.parse(text), vector_bits=8 * target.width)))
