"""Reads: text of stage `bufferized`. Writes: what its functions compute natively, into NumPy arrays. Leaves: nothing.

A function's arguments are C-contiguous arrays and scalars; it returns nothing, and writes into its arguments.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, linalg, math, memref, scf, vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from mlirad.lowering.to_loops.expand_math import ExpandMath
from mlirad.lowering.to_loops.linalg_to_loops import LinalgToLoops
from mlirad.targets.cpu import CpuTarget
from mlirad.targets.cpu.emit.module import emit_llvm
from mlirad.xdsl_support.prefetch import PrefetchOp
from mlirad.xdsl_support.remf import RemfOp

_DIALECTS = (
    arith.Arith,
    builtin.Builtin,
    func.Func,
    linalg.Linalg,
    math.Math,
    memref.MemRef,
    scf.Scf,
    vector.Vector,
)


def parse(text: str) -> ModuleOp:
    context = Context()
    for dialect in _DIALECTS:
        context.load_dialect(dialect)
    context.load_op(RemfOp)
    context.load_op(PrefetchOp)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def lowered(text: str, vector_bytes: int = 32, parallel: bool = False) -> ModuleOp:
    """The text at stage `loops`, verified."""
    module = parse(text)
    for step in (LinalgToLoops(vector_bytes, parallel), ExpandMath()):
        step.apply(Context(), module)
        module.verify()
    return module


class Kernel:
    """A compiled function `f`."""

    def __init__(self, text: str, vector_bytes: int, parallel: bool = False):
        target = CpuTarget(vector_bytes)
        module = lowered(text, vector_bytes, parallel)
        self.is_shared = any(op.name == "scf.parallel" for op in module.walk())
        code = target.compile(emit_llvm(module, vector_bits=8 * vector_bytes))
        self.entry = target.load(code).entry_point("f")

    def __call__(self, *arguments: Any) -> None:
        assert self.entry(arguments) == ()


@cache
def kernel(text: str, vector_bytes: int = 32) -> Kernel:
    return Kernel(text, vector_bytes)
