"""Reads: text of stage `bufferized`. Writes: what its functions compute natively, into NumPy arrays. Leaves: nothing.

A function's arguments are C-contiguous arrays and scalars; it returns nothing, and writes into its arguments.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, linalg, math, memref, scf, vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass

from mlirad.lowering.expand_math import ExpandMath
from mlirad.lowering.linalg_to_loops import LinalgToLoops
from mlirad.lowering.vector_arith import mend_vector_arith
from mlirad.targets.cpu.emit.module import emit_llvm
from mlirad.targets.cpu.runtime import CONTEXT_BYTES


def parse(text: str) -> ModuleOp:
    mend_vector_arith()
    context = Context()
    for dialect in (
        arith.Arith,
        builtin.Builtin,
        func.Func,
        linalg.Linalg,
        math.Math,
        memref.MemRef,
        scf.Scf,
        vector.Vector,
    ):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


def lowered(text: str, vector_bytes: int = 32, *, expand: bool = True) -> ModuleOp:
    """The text at stage `loops`, verified."""
    module = parse(text)
    passes: list[ModulePass] = [LinalgToLoops(vector_bytes)]
    if expand:
        passes.append(ExpandMath())
    for step in passes:
        step.apply(Context(), module)
        module.verify()
    return module


@cache
def _machine() -> llvm.TargetMachine:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2, jit=True
    )


def compile_llvm(text: str, level: int = 2) -> tuple[llvm.ExecutionEngine, llvm.ModuleRef]:
    module = llvm.parse_assembly(text)
    module.verify()
    machine = _machine()
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    backing = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2, jit=True
    )
    engine = llvm.create_mcjit_compiler(module, backing)
    engine.finalize_object()
    return engine, module


class Kernel:
    """A compiled function `f`."""

    def __init__(self, text: str, vector_bytes: int = 32, name: str = "f"):
        module = lowered(text, vector_bytes)
        self.engine, self.module = compile_llvm(emit_llvm(module, vector_bits=8 * vector_bytes))
        address = self.engine.get_function_address(f"mlirad.entry.{name}")
        self.entry: Callable[..., int] = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(address)
        self.arena = np.zeros(1 << 22, np.uint8)
        self.context = np.zeros(CONTEXT_BYTES // 8, np.int64)
        self.context[0] = (self.arena.ctypes.data + 63) & -64
        function = next(op for op in module.ops if isinstance(op, func.FuncOp) and op.sym_name.data == name)
        self.types = function.function_type.inputs.data

    def __call__(self, *arguments: Any) -> None:
        slots = np.array(self.slots(arguments), np.int64)
        code = self.entry(self.context.ctypes.data, slots.ctypes.data)
        assert code == 0

    def slots(self, arguments: Sequence[Any]) -> list[int]:
        words: list[int] = []
        for value, type in zip(arguments, self.types, strict=True):
            if isinstance(type, memref.MemRefType):
                assert value.flags.c_contiguous
                words.append(value.ctypes.data)
                sizes = zip(value.shape, type.get_shape(), strict=True)
                words += [size for size, known in sizes if known == builtin.DYNAMIC_INDEX]
            elif isinstance(type, builtin.Float64Type):
                words.append(struct.unpack("<q", struct.pack("<d", value))[0])
            elif isinstance(type, builtin.Float32Type):
                words.append(struct.unpack("<i", struct.pack("<f", value))[0])
            else:
                words.append(int(value))
        return words


@cache
def kernel(text: str, vector_bytes: int = 32) -> Kernel:
    return Kernel(text, vector_bytes)
