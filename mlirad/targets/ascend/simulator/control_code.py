"""Translates control flow: `scf`, and calls.

Reads: ops of scf and func. Writes: steps. Leaves: nothing.
"""

from __future__ import annotations

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.ir import Operation, Region

from mlirad.dialect.core import types
from mlirad.dialect.ops.check import CHECK, CheckFailed
from mlirad.raised_exceptions import message_of
from mlirad.targets.ascend.simulator.frame_slots import MACHINE, Frame, Slots, Step, Translators

BLOCK_COUNTS = ("mlirad.block_dim", "hacc.block_dim")
"""The attributes of a launch, or of a kernel, that say how many blocks run; one without them."""


def counted_loop(op: scf.ForOp, slots: Slots) -> Step:
    lower, upper, by = slots.all((op.lb, op.ub, op.step))
    counter, *carried = slots.all(op.body.block.args)
    initial, results = slots.all(op.iter_args), slots.all(op.results)
    steps, yielded = slots.steps(op.body.block)

    def run(frame: Frame) -> None:
        values = [frame[each] for each in initial]
        for number in range(frame[lower], frame[upper], frame[by]):
            frame[counter] = number
            for slot, value in zip(carried, values, strict=True):
                frame[slot] = value
            for step in steps:
                step(frame)
            values = [frame[each] for each in yielded]
        for slot, value in zip(results, values, strict=True):
            frame[slot] = value

    return run


def branch(op: scf.IfOp, slots: Slots) -> Step:
    (condition,), results = slots.all((op.cond,)), slots.all(op.results)

    def side(region: Region) -> tuple[list[Step], tuple[int, ...]]:
        return slots.steps(region.block) if region.blocks else ([], ())

    sides = side(op.false_region), side(op.true_region)

    def run(frame: Frame) -> None:
        steps, yielded = sides[1 if frame[condition] else 0]
        for step in steps:
            step(frame)
        for slot, value in zip(results, [frame[each] for each in yielded], strict=True):
            frame[slot] = value

    return run


def while_loop(op: scf.WhileOp, slots: Slots) -> Step:
    initial, results = slots.all(op.arguments), slots.all(op.results)
    before, after = op.before_region.block, op.after_region.block
    tested, carried = slots.all(before.args), slots.all(after.args)
    test, (condition, *passed) = slots.steps(before)
    steps, yielded = slots.steps(after)

    def run(frame: Frame) -> None:
        values = [frame[each] for each in initial]
        while True:
            for slot, value in zip(tested, values, strict=True):
                frame[slot] = value
            for step in test:
                step(frame)
            values = [frame[each] for each in passed]
            if not frame[condition]:
                break
            for slot, value in zip(carried, values, strict=True):
                frame[slot] = value
            for step in steps:
                step(frame)
            values = [frame[each] for each in yielded]
        for slot, value in zip(results, values, strict=True):
            frame[slot] = value

    return run


def call(op: func.CallOp, slots: Slots) -> Step:
    """A call of a host function, the launch of a kernel, or a check."""
    arguments, results = slots.all(op.operands), slots.all(op.results)
    name = op.callee.string_value()
    if name == CHECK:
        return _check(op, arguments)
    blocks = block_count(op)

    def run(frame: Frame) -> None:
        given = frame[MACHINE].call(name, [frame[each] for each in arguments], blocks, op)
        for slot, value in zip(results, given, strict=True):
            frame[slot] = value

    return run


def _check(op: func.CallOp, arguments: tuple[int, ...]) -> Step:
    """Raise what the check says unless its first argument is true; the others stand in its message."""
    error, message = op.attributes["mlirad.error"], op.attributes["mlirad.message"]
    assert isinstance(error, StringAttr) and isinstance(message, StringAttr)
    ok, *words = arguments

    def run(frame: Frame) -> None:
        if not frame[ok]:
            failed = CheckFailed(error.data, message_of(message.data, [int(frame[each]) for each in words]))
            failed.location = types.from_location(op.location)
            raise failed

    return run


def block_count(op: Operation) -> int | None:
    """How many blocks an op says, if it does."""
    for name in BLOCK_COUNTS:
        attribute = op.attributes.get(name)
        if isinstance(attribute, IntegerAttr):
            return attribute.value.data
    return None


TRANSLATORS: Translators = {
    scf.ForOp: counted_loop,
    scf.IfOp: branch,
    scf.WhileOp: while_loop,
    func.CallOp: call,
}
