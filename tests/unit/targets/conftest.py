"""Reads: text of stage `loops`. Writes: LLVM IR, and loaded artifacts. Leaves: nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, math, memref, scf, vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from mlirad.targets.cpu import CpuTarget
from mlirad.targets.cpu.calls.abi import CpuArtifact
from mlirad.targets.cpu.emit.module import emit_llvm
from mlirad.xdsl_support.remf import RemfOp

_DIALECTS = (
    arith.Arith,
    builtin.Builtin,
    func.Func,
    math.Math,
    memref.MemRef,
    scf.Scf,
    vector.Vector,
)


def _parse(text: str) -> ModuleOp:
    context = Context()
    for dialect in _DIALECTS:
        context.load_dialect(dialect)
    context.load_op(RemfOp)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


@pytest.fixture(scope="session")
def parse() -> Callable[[str], ModuleOp]:
    return _parse


@pytest.fixture(scope="session")
def emit() -> Callable[[str], str]:
    """The LLVM IR of a module."""
    return lambda text: emit_llvm(_parse(text))


@pytest.fixture(scope="session")
def load() -> Callable[[str], CpuArtifact]:
    """A module compiled and loaded, by the same steps as a user's function."""
    target = CpuTarget()
    return lambda text: target.load(target.compile(emit_llvm(_parse(text), vector_bits=8 * target.width)))
