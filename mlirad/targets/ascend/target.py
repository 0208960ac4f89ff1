"""Reads: the module of stage `optimized`. Writes: stages ascend-legal to hivm-physical. Leaves: nothing.

A simulator executes the text of hivm-physical. Nothing here has run on hardware.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mlirad.errors import TargetError
from mlirad.targets.target import MemorySpace, RuntimeInfo, Stage, Target

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Dialect
    from xdsl.passes import ModulePass

    from mlirad.contract.code_cache import CodeCache
    from mlirad.targets.ascend.memory_plan import DeviceReport
    from mlirad.targets.ascend.simulated_artifact import SimulatedArtifact
    from mlirad.targets.ascend.soc import Soc


@dataclass(frozen=True)
class AscendTarget(Target):
    """The vector and cube cores of Huawei's Ascend 910B, executed by a simulator.

    soc: the chip, by Huawei's name. tile: for kernels of the vector cores, the elements of a tile, or its rows and
    columns; None lets the solver choose.
    """

    name: ClassVar[str] = "ascend"
    api_version: ClassVar[tuple[int, int]] = (1, 1)
    loads: ClassVar[str] = "hivm-physical"

    soc: str = "Ascend910B1"
    tile: int | tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if type(self.soc) is not str:
            raise TypeError(f"soc is the name of a chip, not {self.soc!r}")
        _ = self.chip
        if self.tile is not None:
            self._check_tile(self._tile)

    @property
    def _tile(self) -> tuple[int, ...]:
        """The option in the form that passes take: empty if it is not given."""
        return () if self.tile is None else self.tile if isinstance(self.tile, tuple) else (self.tile,)

    def _check_tile(self, tile: tuple[int, ...]) -> None:
        from mlirad.targets.ascend.soc import LINE

        if len(tile) not in (1, 2) or any(type(each) is not int for each in tile) or self.tile == tile[:1]:
            raise TypeError(f"tile is a number of elements, or a tuple of rows and columns, not {self.tile!r}")
        if min(tile) < 1 or tile[-1] % LINE:
            what = "elements are" if len(tile) == 1 else "rows are positive, and columns"
            reason = "then lines of any element type begin at multiples of 32 bytes"
            raise ValueError(f"tile={self.tile!r}: {what} a positive multiple of {LINE}; {reason}")

    @property
    def chip(self) -> Soc:
        from mlirad.targets.ascend.soc import for_soc

        return for_soc(self.soc)

    @property
    def memory_spaces(self) -> Mapping[str, MemorySpace]:
        chip = self.chip
        return {
            "gm": MemorySpace(None, 32),
            "ub": MemorySpace(chip.ub_bytes, chip.ub_alignment),
            "cbuf": MemorySpace(chip.l1_bytes, chip.l1_alignment),
            "ca": MemorySpace(chip.l0a_bytes, chip.l0_alignment),
            "cb": MemorySpace(chip.l0b_bytes, chip.l0_alignment),
            "cc": MemorySpace(chip.l0c_bytes, chip.l0_alignment),
        }

    def dialects(self) -> tuple[Dialect, ...]:
        from mlirad.targets.ascend.hivm.hivm import ANNOTATION, HACC, HIVM

        return (HIVM, HACC, ANNOTATION)

    def passes(self) -> tuple[type[ModulePass], ...]:
        from mlirad.targets.ascend.emit.physical import HivmPhysical
        from mlirad.targets.ascend.emit.virtual import HivmVirtual
        from mlirad.targets.ascend.kernels.kernel_outlining import AscendKernels
        from mlirad.targets.ascend.legal.legalize import AscendLegal

        return (AscendLegal, AscendKernels, HivmVirtual, HivmPhysical)

    def check(self, module: ModuleOp) -> list[TargetError]:
        from mlirad.targets.ascend.legal.problems import problems_in

        return problems_in(module, self.chip, self._tile)

    def stages(self) -> tuple[Stage, ...]:
        return (
            Stage("ascend-legal", _pass(_legal)),
            Stage("ascend-kernels", _kernels_of_checked),
            Stage("hivm-virtual", _pass(self._virtual)),
            Stage("hivm-physical", _pass(self._physical)),
        )

    def _virtual(self) -> ModulePass:
        from mlirad.targets.ascend.emit.virtual import HivmVirtual

        return HivmVirtual(self.soc, self._tile)

    def _physical(self) -> ModulePass:
        from mlirad.targets.ascend.emit.physical import HivmPhysical

        return HivmPhysical(self.soc)

    def runtime_info(self) -> RuntimeInfo:
        return RuntimeInfo("simulator", f"{self.soc}, a model: never run on hardware")

    def compile(self, value: ModuleOp) -> bytes:
        from mlirad.targets.ascend.simulated_artifact import code_of

        return code_of(value)

    def load(self, code: bytes, code_cache: CodeCache | None = None) -> SimulatedArtifact:
        from mlirad.targets.ascend.simulated_artifact import SimulatedArtifact

        return SimulatedArtifact(code.decode(), self.chip)

    def memory(self, module: ModuleOp, name: str) -> DeviceReport:
        from mlirad.targets.ascend.memory_plan import report_on

        *lowering, place = self.stages()
        for stage in lowering:
            module = stage.run(module)
        room = {space: each.bytes for space, each in self.memory_spaces.items() if each.bytes is not None}
        return report_on(module, place.run(module.clone()), name, self.chip, room)

    def pictures(self, call: Callable[[], object]) -> Mapping[str, str]:
        from mlirad.targets.ascend.simulator.pictures import pictures_of

        return pictures_of(call, self.chip)

    def export(self, module: ModuleOp, name: str) -> Mapping[str, str]:
        from mlirad.targets.ascend.exporting import files_of

        return files_of(module, name, (_legal(), _kernels(), self._virtual(), self._physical()), self.soc)

    def fingerprint(self) -> str:
        return f"ascend;{self.soc};{self._tile}"


def _pass(make: Callable[[], ModulePass]) -> Callable[[ModuleOp], ModuleOp]:
    """A stage that runs a pass in place. The pass is imported when the stage runs, not when the target is found."""

    def run(module: ModuleOp) -> ModuleOp:
        from xdsl.context import Context

        make().apply(Context(), module)
        return module

    return run


def _kernels_of_checked(module: ModuleOp) -> ModuleOp:
    from mlirad.targets.ascend.legal.problems import finish_checked

    return module if finish_checked(module) else _pass(_kernels)(module)


def _legal() -> ModulePass:
    from mlirad.targets.ascend.legal.legalize import AscendLegal

    return AscendLegal()


def _kernels() -> ModulePass:
    from mlirad.targets.ascend.kernels.kernel_outlining import AscendKernels

    return AscendKernels()
