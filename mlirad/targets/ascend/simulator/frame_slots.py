"""Functions as lists of steps on a frame of numbered slots: what an op becomes before it is executed.

Reads: nothing. Writes: the shape of translated code. Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import func
from xdsl.ir import Block, Operation, SSAValue

from mlirad.targets.ascend.simulator.faults import NotSimulated

Frame = list[Any]
"""The values of a running function; slot 0 is the machine, or the core, that it runs on."""
Step = Callable[[Frame], None]
Translators = dict[type[Operation], Callable[[Any, "Slots"], Step | None] | None]
"""How ops become steps; None: there is nothing to do."""
MACHINE = 0


@dataclass
class Slots:
    """The slot of each value of one function, and the translators of its ops."""

    translators: Translators
    numbers: dict[SSAValue, int] = field(default_factory=dict)
    template: Frame = field(default_factory=lambda: [None])
    """A frame that has the constants."""

    def of(self, value: SSAValue) -> int:
        if value not in self.numbers:
            self.numbers[value] = len(self.template)
            self.template.append(None)
        return self.numbers[value]

    def all(self, values: Any) -> tuple[int, ...]:
        return tuple(self.of(value) for value in values)

    def steps(self, block: Block) -> tuple[list[Step], tuple[int, ...]]:
        """The ops of a block before its terminator, and the slots of the terminator's operands."""
        self.all(block.args)
        *ops, last = block.ops
        steps = [step for op in ops if (step := self.step(op)) is not None]
        return steps, self.all(last.operands)

    def step(self, op: Operation) -> Step | None:
        if type(op) not in self.translators:
            raise NotSimulated(f"the simulator does not execute {op.name}")
        translate = self.translators[type(op)]
        return None if translate is None else translate(op, self)


@dataclass(frozen=True)
class FunctionCode:
    """A translated function."""

    op: func.FuncOp
    steps: list[Step]
    arguments: tuple[int, ...]
    results: tuple[int, ...]
    template: Frame

    @property
    def name(self) -> str:
        return self.op.sym_name.data

    def run(self, machine: Any, values: list[Any]) -> tuple[Any, ...]:
        frame = self.template.copy()
        frame[MACHINE] = machine
        for slot, value in zip(self.arguments, values, strict=True):
            frame[slot] = value
        for step in self.steps:
            step(frame)
        return tuple(frame[slot] for slot in self.results)
