"""Translates control flow: `scf`, and calls.

Reads: ops of scf and func. Writes: steps. Leaves: nothing.
"""

from __future__ import annotations

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.ir import Operation

from mlirad.dialect.core import types
from mlirad.dialect.ops.check import CHECK, CheckFailed
from mlirad.raised_exceptions import message_of
from mlirad.targets.ascend.simulator.faults import Fault
from mlirad.targets.ascend.simulator.frame_slots import MACHINE, Frame, Slots, Step, Translators, assign

BLOCK_COUNTS = ("mlirad.block_dim", "hacc.block_dim")
"""The attributes that give the number of blocks, of a launch or of a kernel; without them there is one block."""


def counted_loop(op: scf.ForOp, slots: Slots) -> Step:
    lower, upper, by = slots.all((op.lb, op.ub, op.step))
    initial, results = slots.all(op.iter_args), slots.all(op.results)
    body = slots.block(op.body.block)

    def run(frame: Frame) -> None:
        values = [frame[each] for each in initial]
        if frame[by] <= 0:
            raise frame[MACHINE].placed(Fault.LOOP, f"a loop has a step of {frame[by]}; it is to be positive", op)
        for number in range(frame[lower], frame[upper], frame[by]):
            values = body.run(frame, (number, *values))
        assign(frame, results, values)

    return run


def branch(op: scf.IfOp, slots: Slots) -> Step:
    condition, results = slots.of(op.cond), slots.all(op.results)
    no, yes = (slots.block(region.block) if region.blocks else None for region in (op.false_region, op.true_region))

    def run(frame: Frame) -> None:
        side = yes if frame[condition] else no
        if side is not None:
            assign(frame, results, side.run(frame))

    return run


def while_loop(op: scf.WhileOp, slots: Slots) -> Step:
    initial, results = slots.all(op.arguments), slots.all(op.results)
    test, body = slots.block(op.before_region.block), slots.block(op.after_region.block)

    def run(frame: Frame) -> None:
        goes_on, *values = test.run(frame, [frame[each] for each in initial])
        while goes_on:
            goes_on, *values = test.run(frame, body.run(frame, values))
        assign(frame, results, values)

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
        assign(frame, results, given)

    return run


def _check(op: func.CallOp, arguments: tuple[int, ...]) -> Step:
    """Raise the check's exception unless its first argument is true; the other arguments go into its message."""
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
    """The number of blocks given by an op, if any."""
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
