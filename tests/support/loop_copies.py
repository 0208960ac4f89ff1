"""The copies of arrays inside loops, each with its purpose.

Reads: modules of stage `bufferized`. Writes: nothing. Leaves: the modules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from enum import Enum
from math import prod

from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from mlirad.dialect.ad.tape import SLOT
from mlirad.lowering.registers.keep_in_registers import MOST_ELEMENTS
from mlirad.lowering.to_buffers.row_nests import MEMREF_VIEWS

LOOPS = (scf.ForOp, scf.WhileOp, scf.ParallelOp)


class Purpose(Enum):
    """Why an array is copied."""

    TAPE = "to the tape what will be overwritten, or back from the tape"
    ASIDE = "what was computed from elements that it now overwrites"
    REGISTERS = "few elements, which later become numbers"
    OTHER = "none of these"


def purposes(module: ModuleOp) -> Counter[Purpose]:
    """How many copies inside loops have each purpose."""
    return Counter(_purpose(op, source, target) for op, source, target in _copies(module))


def _copies(module: ModuleOp) -> Iterator[tuple[Operation, SSAValue, SSAValue]]:
    """The copies inside loops, with what they read and write; nests that only move elements included."""
    for op in module.walk():
        if not any(isinstance(each, LOOPS) for each in _around(op)):
            continue
        if isinstance(op, memref.CopyOp):
            yield op, op.source, op.destination
        elif isinstance(op, GenericOp) and len(op.body.block.ops) == 1:
            (end,) = op.body.block.ops
            for target, value in zip(op.outputs, end.operands, strict=True):
                if isinstance(value, BlockArgument) and value.block is op.body.block and value.index < len(op.inputs):
                    if isinstance(op.inputs[value.index].type, MemRefType):
                        yield op, op.inputs[value.index], target


def _around(op: Operation) -> Iterator[Operation]:
    while (parent := op.parent_op()) is not None:
        yield parent
        op = parent


def _purpose(op: Operation, source: SSAValue, target: SSAValue) -> Purpose:
    read, written = _memory(source), _memory(target)
    if _is_tape(read) or _is_tape(written):
        return Purpose.TAPE
    shape = source.type.get_shape() if isinstance(source.type, MemRefType) else ()
    if DYNAMIC_INDEX not in shape and prod(shape) <= MOST_ELEMENTS:
        return Purpose.REGISTERS
    return Purpose.ASIDE if written in _reads_of(read, op) else Purpose.OTHER


def _reads_of(memory: SSAValue, copy: Operation) -> set[SSAValue]:
    """What the contents of memory are computed from, by the ops of the block before its copy."""
    found, wanted, op = set[SSAValue](), {memory}, copy.prev_op
    while op is not None:
        if isinstance(op, GenericOp | FillOp) and wanted & {_memory(each) for each in op.outputs}:
            read = {_memory(each) for each in op.inputs if isinstance(each.type, MemRefType)}
            found |= read
            wanted |= read
        op = op.prev_op
    return found


def _memory(value: SSAValue) -> SSAValue:
    """What a memref is a view of, through loops that carry it."""
    while True:
        owner = value.owner
        if isinstance(owner, MEMREF_VIEWS):
            value = owner.operands[0]
            continue
        if isinstance(owner, scf.ForOp) and isinstance(value, OpResult):
            value = owner.iter_args[value.index]
        elif (
            isinstance(value, BlockArgument) and isinstance(loop := value.owner.parent_op(), scf.ForOp) and value.index
        ):
            value = loop.iter_args[value.index - 1]
        else:
            return value


def _is_tape(memory: SSAValue) -> bool:
    """Whether memory is a tape, which may have grown."""
    owner = memory.owner
    return isinstance(owner, func.CallOp) or (isinstance(owner, Operation) and SLOT in owner.attributes)
