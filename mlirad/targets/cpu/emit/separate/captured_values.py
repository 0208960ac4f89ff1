"""The values of a function that a part of it uses. Reads: emitted values. Writes: nothing. Leaves: nothing."""

from __future__ import annotations

import sys

from xdsl.ir import Operation, SSAValue

from mlirad.lowering.to_buffers.plan_arena import BLOCK, OFFSET
from mlirad.targets.cpu.emit.descriptor import MemRef, is_literal, to_parts
from mlirad.targets.cpu.emit.function import FunctionEmitter, ops_in


def captured_inside(e: FunctionEmitter, op: Operation) -> dict[str, str]:
    """The names of all values that the regions of an op capture, with their LLVM types."""
    ops = ops_in(op)
    made: set[SSAValue] = {argument for region in op.regions for block in region.blocks for argument in block.args}
    for inner in ops:
        made.update(inner.results)
        for region in inner.regions:
            for block in region.blocks:
                made.update(block.args)
    found: dict[str, str] = {}
    for inner in ops:
        if BLOCK in inner.attributes:
            found["%arena"] = "ptr"
        for operand in inner.operands:
            if operand not in made:
                found |= dict(_parts_of(e, operand))
    return found


def captured_by(e: FunctionEmitter, op: Operation) -> dict[str, str]:
    """The same, with the op's operands, and with the call's memory if arrays are there."""
    found = captured_inside(e, op)
    for operand in op.operands:
        found |= dict(_parts_of(e, operand))
    if any(OFFSET in inner.attributes for inner in ops_in(op)):
        found["%arena"] = "ptr"
        e.ranges["%arena"] = 0, sys.maxsize
    return found


def _parts_of(e: FunctionEmitter, operand: SSAValue) -> list[tuple[str, str]]:
    """The names that stand for a value, with their LLVM types."""
    value = e.value(operand)
    if isinstance(value, MemRef):
        words = [(value.pointer, "ptr"), *((word, "i64") for word in (value.offset, *value.sizes, *value.strides))]
        return [(word, type) for word, type in words if not is_literal(word)]
    return [(word, part) for part, word in to_parts(value, operand.type) if not is_literal(word)]
