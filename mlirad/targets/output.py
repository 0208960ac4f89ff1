"""A target's stages as an output of `mlirad-opt`: `-t 'mlirad{target=cpu after=loops stage=llvmir}'`.

Reads: a module of stage `after`. Writes: the text of stage `stage`. Leaves: nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, Any, ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer
from xdsl.utils.target import Target as Output

from mlirad.errors import TargetError
from mlirad.stages import OPTIMIZED
from mlirad.targets.finding import find_target


@dataclass(frozen=True)
class StageOutput(Output):
    """The result of `target` for a module: starting after one stage, up to and including another."""

    name: ClassVar[str] = "mlirad"

    target: str
    stage: str
    after: str = OPTIMIZED

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        stages = find_target(self.target).stages()
        names = [OPTIMIZED, *[stage.name for stage in stages]]
        for wanted in (self.after, self.stage):
            if wanted not in names:
                raise TargetError(f"there is no stage {wanted!r}", hint=f"the stages are: {', '.join(names)}")
        value: Any = module
        for stage in stages[names.index(self.after) : names.index(self.stage)]:
            value = stage.run(value)
        if isinstance(value, ModuleOp):
            Printer(output).print_op(value)
        else:
            output.write(str(value))
        output.write("\n")
