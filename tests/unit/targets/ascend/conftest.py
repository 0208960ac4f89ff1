"""What Huawei's open compiler says of our kernels."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from mlirad.pipeline import run

# Without the passes for kernels of both cores: with 1.2.0, one of them (CVPipelining) does not end for some of ours.
FLAGS = ("-enable-hivm-compile", "--disable-auto-cv-work-space-manage", "--target=Ascend910B1")


def generic(module: ModuleOp) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    return stream.getvalue()


@cache
def library(tools: Path) -> bytes:
    """The bitcode of the device library of the 910B: what a kernel's calls are linked with."""
    return b"".join(path.read_bytes() for path in sorted((tools.parent / "lib").glob("meta_op*c220.bc")))


@pytest.fixture(scope="session")
def bishengir_accepts(
    ascend_tools: Path, bishengir_opt: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., int]:
    """`bishengir_accepts(kernel, *args)` judges both HIVM stages; gives the number of kernels.

    `bishengir-opt` verifies both. `bishengir-compile` takes each kernel of the virtual stage up to the missing `hivmc`,
    leaves no vector instruction, and calls only functions that the device library has.
    """

    def compiled(kernel: func.FuncOp) -> None:
        folder = tmp_path_factory.mktemp("kernel")
        (folder / "kernel.mlir").write_text(generic(ModuleOp([kernel.clone()])))
        command = [str(ascend_tools / "bishengir-compile"), "kernel.mlir", *FLAGS, "--save-temps=out", "-o", "kernel.o"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=60, check=False)
        said = (done.stderr + done.stdout).splitlines()
        errors = [line for line in said if "error:" in line and "External hivmc run fails" not in line]
        assert not errors, "\n".join(errors)
        text = (folder / "out" / "module.hivm.opt.mlir").read_text()
        called = re.findall(r"func\.func private @(\w+)", text)
        assert called, "a kernel calls its library"
        assert not [name for name in called if f"_mlir_ciface_{name}".encode() not in library(ascend_tools)]
        assert not re.findall(r"hivm\.hir\.v\w+", text)

    def judge(kernel: Any, *args: Any) -> int:
        lowered = kernel.lower(*args)
        count = 0
        for name, value in run(lowered.module.clone(), lowered.target):
            if name in ("hivm-virtual", "hivm-physical"):
                bishengir_opt(generic(value))
            if name == "hivm-virtual":
                for op in value.ops:
                    if isinstance(op, func.FuncOp) and "hacc.entry" in op.attributes:
                        compiled(op)
                        count += 1
        return count

    return judge


@pytest.fixture(scope="session")
def plan_memory(
    ascend_tools: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., tuple[str, int, int] | None]:
    """Huawei's planner: `plan_memory(text of a kernel, *flags)` gives None if it fits.

    Otherwise the first buffer that it does not fit, as "ub", the bytes that it needs there, and those there are.
    """
    folder = tmp_path_factory.mktemp("planner")

    def plan(text: str, *flags: str) -> tuple[str, int, int] | None:
        (folder / "kernel.mlir").write_text(text)
        command = [str(ascend_tools / "bishengir-compile"), "kernel.mlir", *FLAGS, *flags, "-o", "kernel.o"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=60, check=False)
        said = done.stderr + done.stdout
        overflow = re.search(r"(\w+) overflow, requires (\d+) bits while (\d+) bits available", said)
        assert overflow is not None or "External hivmc run fails" in said, said
        return None if overflow is None else (overflow[1], int(overflow[2]) // 8, int(overflow[3]) // 8)

    return plan
