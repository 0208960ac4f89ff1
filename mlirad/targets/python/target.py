"""Reads: the module of stage `optimized`. Writes: stage source, NumPy source that CPython runs. Leaves: nothing."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from mlirad.errors import TargetError
from mlirad.targets.target import RuntimeInfo, Stage, Target

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from mlirad.contract.code_cache import CodeCache
    from mlirad.targets.python.artifact import PythonArtifact
    from mlirad.targets.python.printed_program import Program


@dataclass(frozen=True)
class PythonTarget(Target):
    """NumPy source with the user's names, for functions and their derivatives: for reading and debugging."""

    name: ClassVar[str] = "python"
    api_version: ClassVar[tuple[int, int]] = (1, 0)
    loads: ClassVar[str] = "source"
    raises_loops: ClassVar[bool] = True

    def check(self, module: ModuleOp) -> list[TargetError]:
        from mlirad.targets.python.unwritable import problems_in

        return problems_in(module)

    def stages(self) -> tuple[Stage, ...]:
        return (Stage("source", _source, "py"),)

    def runtime_info(self) -> RuntimeInfo:
        return RuntimeInfo("interpreter", platform.python_implementation(), platform.python_version())

    def compile(self, value: Program) -> bytes:
        return value.to_bytes()

    def load(self, code: bytes, code_cache: CodeCache | None = None) -> PythonArtifact:
        from mlirad.targets.python.artifact import PythonArtifact
        from mlirad.targets.python.printed_program import Program

        return PythonArtifact(Program.from_bytes(code))

    def fingerprint(self) -> str:
        return "python"


def _source(module: ModuleOp) -> Any:
    from mlirad.targets.python.printed_program import program_of

    return program_of(module)
