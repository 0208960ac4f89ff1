"""Translates `hivm`: the ops that the scalar unit of a core issues.

Reads: ops of hivm. Writes: steps. Leaves: nothing.
"""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType

from mlirad.targets.ascend.hivm.hivm import HIVM
from mlirad.targets.ascend.hivm.instruction import Instruction, element_dtype, element_name, space_of
from mlirad.targets.ascend.hivm.synchronisation import (
    FlagOp,
    GetBlockIdxOp,
    GetBlockNumOp,
    MarkOp,
    PipeBarrierOp,
    SetFlagOp,
    SetMaskNormOp,
    WaitFlagOp,
)
from mlirad.targets.ascend.hivm.transfers import PointerCastOp
from mlirad.targets.ascend.simulator.frame_slots import MACHINE, Frame, Slots, Step, Translators
from mlirad.targets.ascend.simulator.memref_code import mixed


def instruction(op: Instruction, slots: Slots) -> Step:
    inputs, output, scratch = slots.all(op.inputs()), slots.of(op.output()), slots.all(op.scratch())
    rows = slots.all(op.row_buffers())

    def run(frame: Frame) -> None:
        if rows:
            frame[MACHINE].check_rows(op, [frame[each] for each in rows])
        frame[MACHINE].issue(op, [frame[each] for each in inputs], frame[output], [frame[each] for each in scratch])

    return run


def pointer_cast(op: PointerCastOp, slots: Slots) -> Step:
    addresses, out = slots.all(op.addrs), slots.of(op.result)
    type = op.result.type
    assert isinstance(type, MemRefType)
    sizes = mixed(type.get_shape(), op.dynamic_sizes, slots)
    element, dtype, space = element_name(type), element_dtype(type), space_of(type)

    def run(frame: Frame) -> None:
        known = [frame[each] for each in addresses]
        frame[out] = frame[MACHINE].at_address(op, known, sizes(frame), element, dtype, space)

    return run


def flag(op: FlagOp, slots: Slots) -> Step:
    pair, is_set = op.pair(), isinstance(op, SetFlagOp)
    if op.static_event_id is not None:
        known = (*pair, op.static_event_id.data.number)
        if is_set:
            return lambda frame: frame[MACHINE].set_flag(known, op)
        return lambda frame: frame[MACHINE].wait_flag(known, op)
    (event,) = slots.all(op.operands)
    if is_set:
        return lambda frame: frame[MACHINE].set_flag((*pair, frame[event]), op)
    return lambda frame: frame[MACHINE].wait_flag((*pair, frame[event]), op)


def barrier(op: PipeBarrierOp, _slots: Slots) -> Step:
    return lambda frame: frame[MACHINE].barrier(op.pipe.data, op)


def block_index(op: GetBlockIdxOp, slots: Slots) -> Step:
    out = slots.of(op.result)

    def run(frame: Frame) -> None:
        frame[out] = frame[MACHINE].block

    return run


def block_number(op: GetBlockNumOp, slots: Slots) -> Step:
    out = slots.of(op.result)

    def run(frame: Frame) -> None:
        frame[out] = frame[MACHINE].blocks

    return run


TRANSLATORS: Translators = {
    **{each: instruction for each in HIVM.operations if issubclass(each, Instruction)},
    PointerCastOp: pointer_cast,
    SetFlagOp: flag,
    WaitFlagOp: flag,
    PipeBarrierOp: barrier,
    GetBlockIdxOp: block_index,
    GetBlockNumOp: block_number,
    SetMaskNormOp: None,
    MarkOp: None,
}
