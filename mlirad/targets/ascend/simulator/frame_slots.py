"""Functions as lists of steps on a frame of numbered slots: the form in which ops are executed.

Reads: nothing. Writes: the shape of translated code. Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import func
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from mlirad.targets.ascend.simulator.faults import NotSimulated

Frame = list[Any]
"""The values of a running function; slot 0 is the machine or core that it runs on."""
Step = Callable[[Frame], None]
Translators = dict[type[Operation], Callable[[Any, "Slots"], Step | None] | None]
"""How ops become steps; None: no step is needed."""
MACHINE = 0


@dataclass(frozen=True, slots=True)
class BlockCode:
    """A translated block: the slots of its arguments, its ops, and the slots of its terminator's operands."""

    arguments: tuple[int, ...]
    steps: list[Step]
    results: tuple[int, ...]

    def run(self, frame: Frame, values: Iterable[Any] = ()) -> list[Any]:
        assign(frame, self.arguments, values)
        for step in self.steps:
            step(frame)
        return [frame[slot] for slot in self.results]


def assign(frame: Frame, slots: Iterable[int], values: Iterable[Any]) -> None:
    for slot, value in zip(slots, values, strict=True):
        frame[slot] = value


@dataclass
class Slots:
    """The slot of each value of one function, and the translators of its ops."""

    translators: Translators
    numbers: dict[SSAValue, int] = field(default_factory=dict)
    template: Frame = field(default_factory=lambda: [None])
    """A frame that contains the constants."""
    known: set[SSAValue] = field(default_factory=set)
    """Whatever the next op may use."""

    def of(self, value: SSAValue) -> int:
        if value not in self.numbers:
            self.numbers[value] = len(self.template)
            self.template.append(None)
        return self.numbers[value]

    def all(self, values: Any) -> tuple[int, ...]:
        return tuple(self.of(value) for value in values)

    def block(self, block: Block) -> BlockCode:
        """Inside, outer definitions are also known; outside, inner definitions are not."""
        outside = self.known
        self.known = {*outside, *block.args}
        arguments = self.all(block.args)
        *ops, last = block.ops
        steps: list[Step] = []
        for op in ops:
            if (step := self.step(op)) is not None:
                steps.append(step)
            self.known.update(op.results)
        self.check_operands(last)
        self.known = outside
        return BlockCode(arguments, steps, self.all(last.operands))

    def check_operands(self, op: Operation) -> None:
        if any(value not in self.known for value in op.operands):
            raise VerifyException(f"{op.name} uses a value before it is defined, or outside of its block")

    def step(self, op: Operation) -> Step | None:
        if type(op) not in self.translators:
            raise NotSimulated(f"the simulator does not execute {op.name}")
        self.check_operands(op)
        translate = self.translators[type(op)]
        return None if translate is None else translate(op, self)


@dataclass(frozen=True)
class FunctionCode:
    """A translated function."""

    op: func.FuncOp
    body: BlockCode
    template: Frame

    @property
    def name(self) -> str:
        return self.op.sym_name.data

    def run(self, machine: Any, values: list[Any]) -> tuple[Any, ...]:
        frame = self.template.copy()
        frame[MACHINE] = machine
        return tuple(self.body.run(frame, values))
