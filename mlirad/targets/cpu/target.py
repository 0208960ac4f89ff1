"""Reads: the module of stage `optimized`. Writes: stages linalg to asm, object code, an artifact. Leaves: nothing.

LLVM is imported when it is first used, and xDSL when a stage is run: options are checked without either, and existing
object code is loaded without xDSL.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mlirad.errors import TargetError
from mlirad.targets.target import RuntimeInfo, Stage, Target

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from mlirad.contract.code_cache import CodeCache
    from mlirad.targets.cpu.calls.abi import CpuArtifact
    from mlirad.targets.memory_report import MemoryReport

WIDTHS = (16, 32, 64)
"""The vector sizes, in bytes, that processors have registers for."""
_LANES = WIDTHS[-1] // 8  # of float64


@dataclass(frozen=True)
class CpuTarget(Target):
    """The host's processor. `vector_bytes`: the width of the vectors, one of WIDTHS, even if the processor has narrower
    registers; by default the widest one that pays.

    parallel: whether threads share the work of large nests. fastmath: whether arithmetic may be rounded in another
    order. unoptimised: whether LLVM optimises nothing, so that it takes a fifth of the time and the code is slower.
    """

    name: ClassVar[str] = "cpu"
    api_version: ClassVar[tuple[int, int]] = (1, 0)
    loads: ClassVar[str] = "llvmir"
    shares_calls: ClassVar[bool] = True
    raises_loops: ClassVar[bool] = True

    vector_bytes: int | None = None
    parallel: bool = False
    fastmath: bool = False
    unoptimised: bool = False

    def __post_init__(self) -> None:
        value = self.vector_bytes
        if value is not None and type(value) is not int:
            raise TypeError(f"vector_bytes is 16, 32 or 64, or None for the widest that pays, not {value!r}")
        if value is not None and value not in WIDTHS:
            raise ValueError(f"vector_bytes is 16, 32 or 64, or None for the widest that pays, not {value}")

    @property
    def width(self) -> int:
        from mlirad.targets.cpu import engine

        return self.vector_bytes or engine.host_vector_bytes()

    def check(self, module: ModuleOp) -> list[TargetError]:
        from mlirad.targets.cpu.support import problems_in

        return problems_in(module)

    def stages(self) -> tuple[Stage, ...]:
        return (
            Stage("linalg", self._to_linalg),
            Stage("bufferized", self._to_buffers),
            Stage("loops", self._to_loops),
            Stage("llvmir", self._emit, "ll"),
            Stage("llvmopt", self._optimise, "ll"),
            Stage("asm", self._assemble, "s"),
        )

    def _to_linalg(self, module: ModuleOp) -> ModuleOp:
        return _passes(lambda: _linalg(self.fastmath))(module)

    def _to_buffers(self, module: ModuleOp) -> ModuleOp:
        return _passes(lambda: _bufferized(self.parallel))(module)

    def _to_loops(self, module: ModuleOp) -> ModuleOp:
        from mlirad.targets.cpu.vector_width import choose_width

        width = self.vector_bytes or choose_width(module, self.width)
        return _passes(lambda: _loops(width, self.parallel, self.fastmath))(module)

    def _emit(self, module: ModuleOp) -> str:
        from mlirad.targets.cpu.emit.module import emit_llvm
        from mlirad.targets.cpu.vector_width import chosen_width

        return emit_llvm(module, vector_bits=8 * chosen_width(module, self.width))

    def _optimise(self, text: str) -> str:
        from mlirad.targets.cpu.engine import optimise

        return text if self.unoptimised else optimise(text)

    def _assemble(self, text: str) -> str:
        from mlirad.targets.cpu.engine import assemble

        return assemble(text, is_plain=self.unoptimised)

    def memory(self, module: ModuleOp, name: str) -> MemoryReport:
        from mlirad.targets.cpu.memory_needs import arenas_of, report_on

        bufferized = self._to_buffers(self._to_linalg(module))
        return report_on(bufferized, name, arenas_of(self._to_loops(bufferized.clone())))

    def runtime_info(self) -> RuntimeInfo:
        from mlirad.targets.cpu.engine import host_name

        return RuntimeInfo("native", host_name())

    def compile(self, value: str) -> bytes:
        from mlirad.targets.cpu.engine import compile_object

        return compile_object(value, is_plain=True) if self.unoptimised else compile_object(value)

    def load(self, code: bytes, code_cache: CodeCache | None = None) -> CpuArtifact:
        from mlirad.targets.cpu.calls.abi import CpuArtifact

        return CpuArtifact(code, code_cache)

    def fingerprint(self) -> str:
        from mlirad.targets.cpu.engine import host_fingerprint

        return f"cpu;{self.width};{host_fingerprint()}{';unoptimised' if self.unoptimised else ''}"


def _passes(make: Callable[[], list[ModulePass]]) -> Callable[[ModuleOp], ModuleOp]:
    """A stage that runs passes in place. They are imported when the stage runs, not when the target is found."""

    def run(module: ModuleOp) -> ModuleOp:
        from xdsl.context import Context

        context = Context()
        for each in make():
            each.apply(context, module)
        return module

    return run


def _linalg(fastmath: bool) -> list[ModulePass]:
    from mlirad.lowering.clean_up.carry_elements import CarryElements
    from mlirad.lowering.layouts.lay_out_arrays import LayOutArrays
    from mlirad.lowering.layouts.repeat_broadcasts import RepeatBroadcasts
    from mlirad.lowering.planes.exchange_loops import ExchangeLoops
    from mlirad.lowering.to_linalg.accumulate_products import AccumulateProducts
    from mlirad.lowering.to_linalg.advance_checks import AdvanceChecks
    from mlirad.lowering.to_linalg.delay_clears import DelayClears
    from mlirad.lowering.to_linalg.drop_overwritten_fills import DropOverwrittenFills
    from mlirad.lowering.to_linalg.drop_unread_writes import DropUnreadWrites
    from mlirad.lowering.to_linalg.fill_borders import FillBorders
    from mlirad.lowering.to_linalg.gather_slices import GatherSlices
    from mlirad.lowering.to_linalg.mask_rows import MaskRows
    from mlirad.lowering.to_linalg.merge_nests import MergeNests
    from mlirad.lowering.to_linalg.nd_to_linalg import NdToLinalg
    from mlirad.lowering.to_linalg.read_written_slices import ReadWrittenSlices
    from mlirad.lowering.to_linalg.widen_halves import WidenHalves
    from mlirad.lowering.windows.fold_windows import FoldWindows
    from mlirad.lowering.windows.overlap_algebra import MultiplyOverlaps

    writes = [DropUnreadWrites(), DelayClears(), GatherSlices(), ReadWrittenSlices(), DropOverwrittenFills()]
    return [
        WidenHalves(),
        ExchangeLoops(),
        LayOutArrays(),
        CarryElements(),
        MultiplyOverlaps(),
        *writes,
        FillBorders(),
        MaskRows(),
        AdvanceChecks(),
        RepeatBroadcasts(),
        NdToLinalg(fastmath=fastmath, lanes=_LANES),
        FoldWindows(),
        AccumulateProducts(),
        MergeNests(),
    ]


def _bufferized(parallel: bool) -> list[ModulePass]:
    from mlirad.lowering.to_buffers.bufferize import Bufferize
    from mlirad.lowering.to_buffers.plan_arena import PlanArena
    from mlirad.lowering.to_buffers.share_rows import ShareRows
    from mlirad.lowering.to_buffers.stagger_rows import StaggerRows
    from mlirad.lowering.trips.share_trips import ShareTrips

    shared = [StaggerRows(parallel=parallel), ShareRows(parallel=parallel), ShareTrips(parallel=parallel)]
    return [Bufferize(), *shared, PlanArena()]


def _loops(vector_bytes: int, parallel: bool, fastmath: bool) -> list[ModulePass]:
    from mlirad.lowering.registers.carry_numbers import CarryNumbers
    from mlirad.lowering.registers.decide_before_loops import DecideBeforeLoops
    from mlirad.lowering.registers.hoist_reciprocals import HoistReciprocals
    from mlirad.lowering.registers.keep_in_registers import KeepInRegisters
    from mlirad.lowering.to_loops.expand_math import ExpandMath
    from mlirad.lowering.to_loops.linalg_to_loops import LinalgToLoops

    return [
        LinalgToLoops(vector_bytes=vector_bytes, parallel=parallel),
        CarryNumbers(),
        KeepInRegisters(),
        *([HoistReciprocals()] if fastmath else []),
        DecideBeforeLoops(),
        ExpandMath(),
    ]
