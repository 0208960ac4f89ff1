"""Third-party checks of the text that the Ascend target emits: Huawei's open compiler, and MLIR's on the CPU.

Reads: stages `hivm-virtual` and `hivm-physical`. Writes: files of its own. Leaves: `Judged`, or raises Refused.
"""

from __future__ import annotations

import re
import resource
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any

import ascend_cpu
import llvmlite.binding as llvm
import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from mlirad.pipeline import run
from mlirad.targets.ascend.hivm.hivm_attributes import FunctionKind
from mlirad.targets.ascend.hivm.instruction import element_name
from mlirad.targets.ascend.simulator.simulated_program import SimulatedProgram, kind_of
from mlirad.targets.reading import parsed

# The second flag skips passes for kernels of both cores: in 1.2.0, one of them never ends for some kernels.
FLAGS = ("-enable-hivm-compile", "--disable-auto-cv-work-space-manage", "--target=Ascend910B1")
OTHER_SYNC = "--enable-hivm-graph-sync-solver=false"
"""The older of two passes that insert flags; the time of the newer one grows with the cube of a kernel's length."""
SECONDS = 10
"""Of processor time that `bishengir-compile` has, and a twentieth of its time by the clock."""
STAGES = "hivm-virtual", "hivm-physical"
BANDS = {"f32": 1e-5, "f16": 2e-3}
LEFT = re.compile(r"hivm\.hir\.(?:v[a-z]+|load|store|copy|nd2nz|mmadL1|fixpipe)\b")
"""Instructions that should have become calls."""


class Refused(AssertionError):
    """A judge does not accept a program."""


class TooLong(Refused):
    """It does not end in time."""


class Overflow(Refused):
    """A kernel does not fit. args: the memory, as "ub", the bytes that Huawei's planner needs, and those there are."""


@dataclass(frozen=True)
class Compiled:
    """called: the library functions. long: the kernels for which the newer pass for flags did not end in time."""

    called: frozenset[str]
    long: int


@dataclass(frozen=True)
class Bishengir:
    """Huawei's open compiler, in the folder of the package `ascendnpu-ir`."""

    folder: Path

    @property
    def opt(self) -> str:
        return str(self.folder / "bin" / "bishengir-opt")

    @cached_property
    def library(self) -> dict[str, set[str]]:
        """The functions of the 910B's library, by the core that they are for."""
        found: dict[str, set[str]] = {}
        for core in ("aic", "aiv"):
            for name in (f"meta_op.{core}.c220.bc", f"meta_op.mix.{core}.c220.bc"):
                module = llvm.parse_bitcode((self.folder / "lib" / name).read_bytes())
                defined = {each.name for each in module.functions if not each.is_declaration}
                found.setdefault(core.upper(), set()).update(defined)
        return found

    def verify(self, text: str, *flags: str) -> str:
        """`bishengir-opt` reads and verifies it; gives what it prints."""
        return ran([self.opt, *flags], text)

    def compile(self, module: ModuleOp) -> Compiled:
        """`bishengir-compile` takes a module's kernels up to `hivmc`, which is not public.

        Refuses kernels of which an instruction is left, and calls of functions that the library lacks. What is refused
        together is judged alone: a pass of 1.2.0 mixes up values of several functions, in some of its runs.
        """
        kernels = kernels_of(module)
        with suppress(Refused):
            return Compiled(self.called(generic(kernels)), 0)
        called, long = set[str](), 0
        for kernel in kernels.ops:
            text = generic(ModuleOp([kernel.clone()]))
            try:
                called |= self.called(text)
            except TooLong:
                long += 1
                called |= self.called(text, OTHER_SYNC)
        return Compiled(frozenset(called), long)

    def called(self, text: str, *flags: str) -> frozenset[str]:
        """The library functions that kernels call."""
        lowered = self.lowered(text, *flags)
        if left := LEFT.findall(lowered):
            raise Refused(f"bishengir-compile leaves {left}:\n{lowered}")
        called = re.findall(r"func\.func private @(\w+)\(.*func_core_type<(\w+)>", lowered)
        if len(called) != lowered.count("func.func private"):
            raise Refused(f"a function is for no core:\n{lowered}")
        if lacking := [name for name, core in called if f"_mlir_ciface_{name}" not in self.library[core]]:
            raise Refused(f"the device's library lacks {lacking}")
        return frozenset(name for name, _ in called)

    def lowered(self, text: str, *flags: str) -> str:
        """Its output for `hivmc`."""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "kernels.mlir").write_text(text, encoding="utf-8")
            command = [str(self.folder / "bin" / "bishengir-compile"), "kernels.mlir", *FLAGS, *flags]
            done = subprocess.run(
                [*command, "--save-temps=.", "-o", "k.o"],
                capture_output=True,
                text=True,
                cwd=folder,
                timeout=20 * SECONDS,
                check=False,
                preexec_fn=_limit,
            )
            if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
                raise TooLong(f"bishengir-compile takes more than {SECONDS} s\n--- the text ---\n{text}")
            said = done.stdout + done.stderr
            if overflow := re.search(r"(\w+) overflow, requires (\d+) bits while (\d+) bits available", said):
                raise Overflow(overflow[1], int(overflow[2]) // 8, int(overflow[3]) // 8)
            errors = [line for line in said.splitlines() if "error:" in line]
            if len(errors) != 1 or "External hivmc run fails" not in errors[0]:
                raise Refused(f"bishengir-compile refuses it ({done.returncode}):\n{said}\n--- the text ---\n{text}")
            return (Path(folder) / "module.hivm.opt.mlir").read_text(encoding="utf-8")


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def kernels_of(module: ModuleOp) -> ModuleOp:
    functions = [each for each in module.ops if isinstance(each, func.FuncOp)]
    return ModuleOp([each.clone() for each in functions if kind_of(each) is FunctionKind.DEVICE])


def ran(command: Sequence[str], text: str) -> str:
    """The output of a program for a text."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=20 * SECONDS, check=False)
    if done.returncode:
        raise Refused(f"{Path(command[0]).name} refuses it:\n{done.stderr}\n--- the text ---\n{text}")
    return done.stdout


def generic(module: ModuleOp) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    return stream.getvalue()


@dataclass(frozen=True)
class Judged:
    """instructions: the ops of hivm in both stages. error: of the simulator, beside the CPU."""

    kernels: int
    instructions: frozenset[str]
    compiled: Compiled
    error: float


def read_again(module: ModuleOp, target: Any) -> None:
    """Our parser reads what is printed, and prints the same."""
    for show in (generic, str):
        text = show(module)
        again = parsed(text, target)
        again.verify()
        if show(again) != text:
            raise Refused(f"it is read as something else:\n{show(again)}\n--- the text ---\n{text}")


def stages_of(lowered: Any) -> tuple[ModuleOp, ModuleOp]:
    """Stages `hivm-virtual` and `hivm-physical` of what a kernel's `lower` gives."""
    stages = run(lowered.module.clone(), lowered.target)
    virtual, physical = (module.clone() for name, module in stages if name in STAGES)
    return virtual, physical


def judge(bishengir: Bishengir, kernel: Any, *args: Any) -> Judged:
    """All judges, on all kernels of a program. args: arrays and numbers, in the order of the function's parameters."""
    lowered = kernel.lower(*args)
    virtual, physical = stages_of(lowered)
    for module in (virtual, physical):
        read_again(module, lowered.target)
        bishengir.verify(generic(module))
    compiled = bishengir.compile(virtual)
    used = {op.name for module in (virtual, physical) for op in module.walk() if op.name.startswith("hivm.")}
    error = difference(bishengir, virtual, physical, args)
    return Judged(len(kernels_of(virtual).ops), frozenset(used), compiled, error)


def difference(bishengir: Bishengir, virtual: ModuleOp, physical: ModuleOp, args: Sequence[Any]) -> float:
    """Of the simulator, which runs the physical stage, and the CPU, which runs the virtual one; refuses a large one."""
    (called,) = (each for each in virtual.ops if isinstance(each, func.FuncOp) and each.sym_visibility is not None)
    name = called.sym_name.data
    text = bishengir.verify(generic(ascend_cpu.upstream(virtual, name)), "--execution-engine-convert-hivm-to-upstream")
    ir = ran(["mlir-translate-19", "--mlir-to-llvmir"], ran(["mlir-opt-19", *ascend_cpu.LOWERING], text))
    given, results = ascend_cpu.places(called, args)
    theirs = [each.copy() if each.ndim else each[()] for each in given]
    ascend_cpu.execute(ir, [*given, *results])
    simulated = SimulatedProgram(physical).run(name, theirs)
    types = called.function_type.inputs.data, called.function_type.outputs.data
    pairs = [*zip(given, theirs, types[0], strict=True), *zip(results, simulated, types[1], strict=True)]
    return max((_apart(*each) for each in pairs), default=0.0)


def _apart(one: np.ndarray, other: Any, type: Any) -> float:
    """The largest difference, relative to the element or a tenth of the largest one."""
    one, other = np.asarray(one), np.asarray(other)
    name = element_name(type)
    if one.dtype.kind != "f":
        if not np.array_equal(one, other):
            raise Refused(f"the CPU gives {one}, and the simulator {other}")
        return 0.0
    one, other = one.astype(np.float64), other.astype(np.float64)
    largest = np.abs(one[np.isfinite(one)]).max(initial=1.0)
    if not np.allclose(other, one, BANDS[name], 0.1 * BANDS[name] * largest, equal_nan=True):
        raise Refused(f"the CPU gives {one}, and the simulator {other}")
    with np.errstate(invalid="ignore"):
        relative = np.abs(one - other) / (np.abs(one) + 0.1 * largest)
    return float(np.nanmax(relative, initial=0.0))
