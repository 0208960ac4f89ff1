"""Reads: the module of stage `optimized`. Writes: stages linalg to asm, object code, an artifact. Leaves: nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import (
    Float32Type,
    Float64Type,
    FunctionType,
    IndexType,
    IntegerType,
    ModuleOp,
    NoneType,
    ShapedType,
    TensorType,
)
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from mlirad.dialect.op import NdOp
from mlirad.dialect.types import from_location
from mlirad.errors import TargetError
from mlirad.targets.cpu import engine
from mlirad.targets.cpu.abi import CpuArtifact
from mlirad.targets.cpu.emit.function import ops_in
from mlirad.targets.cpu.vector_width import choose_width, chosen_width
from mlirad.targets.target import Stage, Target

_WIDTHS = (1, 8, 16, 32, 64)


@dataclass(frozen=True)
class CpuTarget(Target):
    """The host's processor. `vector_bytes`: width of the vectors; by default that of the widest registers that pay."""

    name: ClassVar[str] = "cpu"
    loads: ClassVar[str] = "llvmir"

    vector_bytes: int | None = None

    @property
    def width(self) -> int:
        return self.vector_bytes or engine.host_vector_bytes()

    def check(self, module: ModuleOp) -> list[TargetError]:
        problems: list[TargetError] = []
        for op in ops_in(module):
            place = from_location(op.location)
            if op.name.startswith("ad.") and not isinstance(op, NdOp):
                problems.append(TargetError(f"{op.name} reached the cpu target, which does not differentiate", place))
            odd = [type for type in dict.fromkeys([*op.operand_types, *op.result_types]) if not _is_supported(type)]
            problems += [TargetError(f"the cpu target has no {type} ({op.name})", place) for type in odd]
        return problems

    def stages(self) -> tuple[Stage, ...]:
        return (
            Stage("linalg", _passes(_linalg)),
            Stage("bufferized", _passes(_bufferized)),
            Stage("loops", self._to_loops),
            Stage("llvmir", self._emit, "ll"),
            Stage("llvmopt", engine.optimise, "ll"),
            Stage("asm", engine.assemble, "s"),
        )

    def _to_loops(self, module: ModuleOp) -> ModuleOp:
        width = self.vector_bytes or choose_width(module, self.width)
        return _passes(lambda: _loops(width))(module)

    def _emit(self, module: ModuleOp) -> str:
        from mlirad.targets.cpu.emit.module import emit_llvm

        return emit_llvm(module, vector_bits=8 * chosen_width(module, self.width))

    def compile(self, value: str) -> bytes:
        return engine.compile_object(value)

    def load(self, code: bytes) -> CpuArtifact:
        return CpuArtifact(code)

    def fingerprint(self) -> str:
        return f"cpu;{self.width};{engine.host_fingerprint()}"


def _is_supported(type: Attribute) -> bool:
    if isinstance(type, (ShapedType, TensorType)):
        return _is_supported(type.get_element_type())  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(type, IntegerType):
        return type.width.data in _WIDTHS
    return isinstance(type, (Float32Type, Float64Type, IndexType, NoneType, FunctionType))


def _passes(make: Callable[[], list[ModulePass]]) -> Callable[[ModuleOp], ModuleOp]:
    """A stage that runs passes in place. They are imported when the stage is run, not when the target is found."""

    def run(module: ModuleOp) -> ModuleOp:
        context = Context()
        for each in make():
            each.apply(context, module)
        return module

    return run


def _linalg() -> list[ModulePass]:
    from mlirad.lowering.fuse import FuseElementwise
    from mlirad.lowering.nd_to_linalg import NdToLinalg

    return [NdToLinalg(), FuseElementwise()]


def _bufferized() -> list[ModulePass]:
    from mlirad.lowering.bufferize import Bufferize
    from mlirad.lowering.plan_arena import PlanArena

    return [Bufferize(), PlanArena()]


def _loops(vector_bytes: int) -> list[ModulePass]:
    from mlirad.lowering.expand_math import ExpandMath
    from mlirad.lowering.linalg_to_loops import LinalgToLoops

    return [LinalgToLoops(vector_bytes=vector_bytes), ExpandMath()]
