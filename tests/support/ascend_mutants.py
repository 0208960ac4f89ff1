"""Damages kernels: each synchronisation, pipe, event id, address and size, one at a time.

Reads: text with kernels. Writes: their mutants, with names. Leaves: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from mlirad.targets.ascend.hivm.hivm_attributes import CoreType, EventAttr, EventId, Pipe, PipeAttr
from mlirad.targets.ascend.hivm.synchronisation import FlagOp, PipeBarrierOp, SetFlagOp, WaitFlagOp
from mlirad.targets.ascend.hivm.transfers import PointerCastOp
from mlirad.targets.ascend.simulator.faults import SimulatorFault
from mlirad.targets.ascend.simulator.pipe_order import PIPES_OF
from mlirad.targets.ascend.simulator.simulated_program import SimulatedProgram, parse

Change = Callable[[list[Operation]], None]


@dataclass(frozen=True)
class Mutant:
    """A module with one mistake. The name says which, by the number of the op in the program."""

    name: str
    module: ModuleOp


def described(op: Operation) -> str:
    match op:
        case FlagOp():
            event = "dynamic" if op.static_event_id is None else op.static_event_id.data.number
            return f"{op.name.removeprefix('hivm.hir.')} {op.set_pipe.data[5:]}->{op.wait_pipe.data[5:]} {event}"
        case PipeBarrierOp():
            return f"barrier {op.pipe.data[5:]}"
        case _:
            return op.name.split(".")[-1]


def erase(*numbers: int) -> Change:
    def change(ops: list[Operation]) -> None:
        for number in numbers:
            ops[number].detach()

    return change


def put(number: int, name: str, value: Any) -> Change:
    def change(ops: list[Operation]) -> None:
        ops[number].properties[name] = value

    return change


def changes(ops: Sequence[Operation], pipes: Sequence[Pipe]) -> Iterator[tuple[str, Change]]:
    sets = [number for number, op in enumerate(ops) if isinstance(op, SetFlagOp)]
    waits = [number for number, op in enumerate(ops) if isinstance(op, WaitFlagOp)]
    for number, op in enumerate(ops):
        what = f"#{number} {described(op)}"
        match op:
            case FlagOp():
                yield f"delete {what}", erase(number)
                for name in ("set_pipe", "wait_pipe"):
                    for pipe in pipes:
                        if pipe is not op.properties[name].data:  # pyright: ignore[reportAttributeAccessIssue]: a PipeAttr
                            yield f"{name} {pipe[5:]} in {what}", put(number, name, PipeAttr(pipe))
                yield from events(number, op, what)
            case PipeBarrierOp():
                yield f"delete {what}", erase(number)
                for pipe in pipes:
                    if pipe is not op.pipe.data:
                        yield f"pipe {pipe[5:]} in {what}", put(number, "pipe", PipeAttr(pipe))
            case PointerCastOp():
                for shift in (-32, 32, 4, 196_608):
                    yield f"address {shift:+} in {what}", move(number, shift)
            case memref.SubviewOp():
                yield from sizes(number, op, what)
            case _:
                pass
    for first in sets:
        for second in waits:
            one, other = ops[first], ops[second]
            if isinstance(one, FlagOp) and one.properties == other.properties and [*one.operands] == [*other.operands]:
                yield f"delete #{first} and #{second} {described(one)}", erase(first, second)


def events(number: int, op: FlagOp, what: str) -> Iterator[tuple[str, Change]]:
    if op.static_event_id is not None:
        for event in (EventId.ID0, EventId.ID1, EventId.ID5, EventId.ID6):
            if event is not op.static_event_id.data:
                yield f"event {event.number} in {what}", put(number, "static_event_id", EventAttr(event))
        return
    for event in (EventId.ID0, EventId.ID1, EventId.ID6):

        def change(ops: list[Operation], event: EventId = event) -> None:
            flag = ops[number]
            flag.operands = ()
            flag.properties["static_event_id"] = EventAttr(event)

        yield f"event {event.number} in {what}", change


def move(number: int, shift: int) -> Change:
    def change(ops: list[Operation]) -> None:
        cast = ops[number]
        block = cast.parent
        assert block is not None
        by = arith.ConstantOp(IntegerAttr(shift, i64))
        moved = arith.AddiOp(cast.operands[0], by.result)
        block.insert_ops_before([by, moved], cast)
        cast.operands[0] = moved.result

    return change


def sizes(number: int, op: memref.SubviewOp, what: str) -> Iterator[tuple[str, Change]]:
    """Another size of the first axis, where it is known only at run time; another offset where it is."""
    for name, operands in (("size", op.sizes), ("offset", op.offsets)):
        if not operands:
            continue
        place = op.operands.index(operands[0])
        for shift in (1, -1):

            def change(ops: list[Operation], shift: int = shift, place: int = place) -> None:
                view = ops[number]
                block = view.parent
                assert block is not None
                by = arith.ConstantOp.from_int_and_width(shift, op.operands[place].type)  # pyright: ignore[reportArgumentType]: index
                moved = arith.AddiOp(view.operands[place], by.result)
                block.insert_ops_before([by, moved], view)
                view.operands[place] = moved.result

            yield f"{name} {shift:+} in {what}", change


def mutants(text: str, core: CoreType = CoreType.VECTOR, every: int = 1) -> Iterator[Mutant]:
    """Those of a module, or every third one and so on. core: of its kernels."""
    module = parse(text)
    for name, change in islice(changes(list(module.walk()), PIPES_OF[core]), 0, None, every):
        copy: ModuleOp = module.clone()
        change(list(copy.walk()))
        yield Mutant(name, copy)


def caught(
    mutant: Mutant,
    values: Sequence[np.ndarray],
    expected: Sequence[np.ndarray],
    flags_count: bool = False,
    entry: str = "main",
) -> str | None:
    """How a mutant is found out: a rule that it breaks, or other numbers; None if it is not."""
    try:
        results = SimulatedProgram(mutant.module, flags_count=flags_count).run(entry, [each.copy() for each in values])
    except SimulatorFault as fault:
        return fault.kind.value
    except VerifyException:
        return "invalid"
    return None if same_bits(results, expected) else "other numbers"


def survives(
    mutant: Mutant,
    values: Sequence[np.ndarray],
    expected: Sequence[np.ndarray],
    orders: int,
    flags_count: bool = False,
    entry: str = "main",
) -> bool:
    """Whether it gives the same bits in so many random legal orders."""
    program = SimulatedProgram(mutant.module, flags_count=flags_count)
    for seed in range(orders):
        try:
            results = program.run(entry, [each.copy() for each in values], seed=seed)
        except SimulatorFault:
            return False
        if not same_bits(results, expected):
            return False
    return True


def same_bits(first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> bool:
    return all(
        np.asarray(one).tobytes() == np.asarray(other).tobytes() for one, other in zip(first, second, strict=True)
    )
