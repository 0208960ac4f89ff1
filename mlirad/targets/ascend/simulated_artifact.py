"""Runs a module of stage `hivm-physical` in the simulator.

Reads: its text, arguments. Writes: the caller's arrays that the function changes. Leaves: results.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from io import StringIO
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp
from xdsl.printer import Printer

from mlirad.dialect.ops.check import CheckFailed
from mlirad.targets.ascend.kernels.host import WRITTEN
from mlirad.targets.ascend.simulator.simulated_program import SimulatedProgram
from mlirad.targets.ascend.soc import Soc
from mlirad.targets.target import Artifact


def code_of(module: ModuleOp) -> bytes:
    """The text of a module, with the lines of the user's source."""
    stream = StringIO()
    Printer(stream, print_debuginfo=True).print_op(module)
    return stream.getvalue().encode()


class SimulatedArtifact(Artifact):
    """A program of the simulator. Results are new arrays, except for the arguments that the function changes."""

    def __init__(self, text: str, soc: Soc):
        self.program = SimulatedProgram(text, soc)
        self.written = {op.sym_name.data: _pairs(op) for op in self.program.module.ops if isinstance(op, func.FuncOp)}

    def __repr__(self) -> str:
        return repr(self.program)

    def result_count(self, name: str) -> int:
        return self.program.result_count(name)

    def inputs_with_results(self, name: str) -> Collection[int]:
        return self.written[name]

    def invoke(
        self, name: str, values: Sequence[Any], dtypes: Sequence[np.dtype | None] | None = None
    ) -> tuple[Any, ...]:
        given = [each.view(np.int8) if isinstance(each, np.ndarray) and each.dtype == bool else each for each in values]
        try:
            results = list(self.program.run(name, given))
        except CheckFailed as failed:
            raise failed.as_raised() from None
        for number, (result, dtype) in enumerate(zip(results, dtypes or [None] * len(results), strict=True)):
            if isinstance(result, np.ndarray):
                results[number] = result.view(bool) if result.dtype == np.int8 else result
            elif dtype is not None:
                results[number] = np.asarray(result).astype(dtype)[()]
        for argument, number in self.written[name].items():
            results[number] = values[argument]
        return tuple(results)


def _pairs(function: func.FuncOp) -> dict[int, int]:
    """The arguments that a function changes, each with the corresponding result."""
    attribute = function.attributes.get(WRITTEN)
    numbers = list(attribute.get_values()) if isinstance(attribute, DenseArrayBase) else []
    return dict(zip(map(int, numbers[::2]), map(int, numbers[1::2]), strict=True))
