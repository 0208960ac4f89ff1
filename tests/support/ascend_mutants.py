"""Damages kernels: each synchronisation, pipe, event id, address, size, mask and count, one at a time.

Reads: text with kernels. Writes: their mutants, with names. Leaves: nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, MemRefType, ModuleOp, i64
from xdsl.ir import Operation, SSAValue

from mlirad.targets.ascend.hivm.cube_intrinsics import CustomOp
from mlirad.targets.ascend.hivm.hivm_attributes import CoreType, CoreTypeAttr, EventAttr, EventId, Pipe, PipeAttr
from mlirad.targets.ascend.hivm.instruction import element_dtype
from mlirad.targets.ascend.hivm.synchronisation import FlagOp, PipeBarrierOp, SetFlagOp, WaitFlagOp
from mlirad.targets.ascend.hivm.transfers import PointerCastOp
from mlirad.targets.ascend.simulator.pipe_order import PIPES_OF

Change = Callable[[list[Operation]], None]
"""Damages a kernel, given as the list of its ops."""
_MASKS = (arith.MinUIOp, arith.MinSIOp)


@dataclass(frozen=True)
class Mutant:
    """A module with a kernel that has one mistake. more_blocks: than the original runs on.

    The name says what was changed, and of equal ops the how manieth.
    """

    name: str
    module: ModuleOp
    more_blocks: int = 0


def described(op: Operation) -> str:
    match op:
        case FlagOp():
            event = "dynamic" if op.static_event_id is None else op.static_event_id.data.number
            return f"{op.name.removeprefix('hivm.hir.')} {op.set_pipe.data[5:]}->{op.wait_pipe.data[5:]} {event}"
        case PipeBarrierOp():
            return f"barrier {op.pipe.data[5:]}"
        case CustomOp():
            return op.called.data
        case _:
            return op.name.split(".")[-1]


def erase(*numbers: int) -> Change:
    def change(ops: list[Operation]) -> None:
        for number in numbers:
            ops[number].detach()

    return change


def put(number: int, **properties: Any) -> Change:
    def change(ops: list[Operation]) -> None:
        ops[number].properties.update(properties)

    return change


def add(number: int, place: int, by: int) -> Change:
    """Add a constant to an operand."""

    def change(ops: list[Operation]) -> None:
        op = ops[number]
        block = op.parent
        assert block is not None
        type = op.operands[place].type
        assert isinstance(type, IndexType | IntegerType)
        constant = arith.ConstantOp(IntegerAttr(by, type))
        moved = arith.AddiOp(op.operands[place], constant.result)
        block.insert_ops_before([constant, moved], op)
        op.operands[place] = moved.result

    return change


def take(number: int, place: int) -> Change:
    """Replace the result of an op by one of its operands."""

    def change(ops: list[Operation]) -> None:
        ops[number].results[0].replace_all_uses_with(ops[number].operands[place])

    return change


def changes(ops: Sequence[Operation], pipes: Sequence[Pipe]) -> Iterator[tuple[str, Change]]:
    counts: Counter[str] = Counter()
    names: list[str] = []
    for op in ops:
        what = described(op)
        counts[what] += 1
        names.append(f"{what} ({counts[what]})")
    for number, (op, what) in enumerate(zip(ops, names, strict=True)):
        for change, made in changes_of(number, op, pipes):
            yield f"{change} {what}", made
    sets = [number for number, op in enumerate(ops) if isinstance(op, SetFlagOp)]
    waits = [number for number, op in enumerate(ops) if isinstance(op, WaitFlagOp)]
    for first in sets:
        for second in waits:
            one, other = ops[first], ops[second]
            if one.properties == other.properties and [*one.operands] == [*other.operands]:
                yield f"delete {names[first]} and {names[second]}", erase(first, second)


def changes_of(number: int, op: Operation, pipes: Sequence[Pipe]) -> Iterator[tuple[str, Change]]:
    match op:
        case FlagOp():
            yield from changes_of_flag(number, op, pipes)
        case PipeBarrierOp():
            yield "delete", erase(number)
            for pipe in pipes:
                if pipe is not op.pipe.data:
                    yield f"pipe {pipe[5:]} in", put(number, pipe=PipeAttr(pipe))
            if op.pipe.data is not Pipe.ALL:
                yield "pipe ALL in", put(number, pipe=PipeAttr(Pipe.ALL))
        case PointerCastOp():
            for shift in sorted({-32, 32, 4, 196_608, -own_bytes(op), own_bytes(op)} - {0}):
                yield f"address {shift:+} in", add(number, 0, shift)
            yield from additions(number, op, "size", op.dynamic_sizes)
        case memref.SubviewOp() | memref.ReinterpretCastOp():
            yield from additions(number, op, "offset", op.offsets)
            yield from additions(number, op, "size", op.sizes)
        case CustomOp():
            yield from additions(
                number, op, "number", [each for each in op.ins if not isinstance(each.type, MemRefType)]
            )
        case scf.ForOp():
            for place, name in enumerate(("first trip", "end")):
                for by in (1, -1):
                    yield f"{name} {by:+} of", add(number, place, by)
        case arith.SelectOp() if op.result.type == i64:  # the address of a buffer that takes turns
            yield "always the first in", take(number, 1)
            yield "always the second in", take(number, 2)
        case _ if isinstance(op, _MASKS):
            yield "without the mask in", take(number, 0)
            yield "as if whole in", take(number, 1)
        case _:
            pass


def changes_of_flag(number: int, op: FlagOp, pipes: Sequence[Pipe]) -> Iterator[tuple[str, Change]]:
    yield "delete", erase(number)
    pair = {"set_pipe": op.set_pipe, "wait_pipe": op.wait_pipe}
    yield "swap the pipes of", put(number, set_pipe=op.wait_pipe, wait_pipe=op.set_pipe)
    for name, given in pair.items():
        for pipe in pipes:
            if pipe is not given.data:
                yield f"{name} {pipe[5:]} in", put(number, **{name: PipeAttr(pipe)})
    known = None if op.static_event_id is None else op.static_event_id.data
    for event in (EventId.ID0, EventId.ID1, EventId.ID2, EventId.ID5, EventId.ID6):
        if event is known:
            continue

        def change(ops: list[Operation], event: EventId = event) -> None:
            ops[number].operands = ()
            ops[number].properties["static_event_id"] = EventAttr(event)

        yield f"event {event.number} in", change


def additions(number: int, op: Operation, name: str, operands: Sequence[SSAValue]) -> Iterator[tuple[str, Change]]:
    """Each of these numbers, one more and one less."""
    for which, operand in enumerate(operands):
        place = op.operands.index(operand)
        by_one = (1,) if element_dtype(operand.type).kind == "b" else (1, -1)
        for by in by_one:
            yield f"{name} {which} {by:+} in", add(number, place, by)


def own_bytes(op: PointerCastOp) -> int:
    """The size of a buffer, if it is known."""
    assert isinstance(op.result.type, MemRefType)
    shape = op.result.type.get_shape()
    return prod(shape) * element_dtype(op.result.type).itemsize if min(shape, default=1) >= 0 else 0


def mutants(kernel: func.FuncOp, blocks: int, deletions_only: bool = False) -> Iterator[Callable[[], Mutant]]:
    """All of one kernel; each is made when it is called. blocks: on how many it runs, at least.

    deletions_only: of single flags and barriers.
    """
    core = kernel.attributes.get("hivm.func_core_type")
    pipes = PIPES_OF[core.data if isinstance(core, CoreTypeAttr) else CoreType.VECTOR]

    def damaged(name: str, change: Change) -> Mutant:
        copy = kernel.clone()
        change(list(copy.walk()))
        return Mutant(name, ModuleOp([copy]))

    for name, change in changes(list(kernel.walk()), pipes):
        if not deletions_only or (name.startswith("delete") and " and " not in name):
            yield lambda name=name, change=change: damaged(name, change)
    if not deletions_only:
        yield lambda: Mutant("one block more", ModuleOp([kernel.clone()]), 1)
        if blocks > 1:
            yield lambda: Mutant("one block less", ModuleOp([kernel.clone()]), -1)
