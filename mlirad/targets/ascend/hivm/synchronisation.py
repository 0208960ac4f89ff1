"""Flags between pipes, barriers, and the number of the running block.

Reads: nothing. Writes: the state of a core. Leaves: nothing.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i32, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from mlirad.targets.ascend.hivm.hivm_attributes import EventAttr, EventId, Pipe, PipeAttr

MULTI_BUFFER = "hivm.multi_buffer"


class FlagOp(IRDLOperation):
    """A flag of the pair (`set_pipe`, `wait_pipe`) with an event id: a constant, or computed by the scalar unit."""

    set_pipe = prop_def(PipeAttr)
    wait_pipe = prop_def(PipeAttr)
    static_event_id = opt_prop_def(EventAttr)
    dynamic_event_id = opt_operand_def(i64)

    def __init__(self, set_pipe: Pipe, wait_pipe: Pipe, event: EventId | SSAValue):
        properties = {"set_pipe": PipeAttr(set_pipe), "wait_pipe": PipeAttr(wait_pipe)}
        if isinstance(event, EventId):
            super().__init__(operands=[None], properties=properties | {"static_event_id": EventAttr(event)})
        else:
            super().__init__(operands=[event], properties=properties)

    def verify_(self) -> None:
        if (self.static_event_id is None) == (self.dynamic_event_id is None):
            raise VerifyException(f"{self.name} needs one event id, either static or dynamic")

    def pair(self) -> tuple[Pipe, Pipe]:
        return self.set_pipe.data, self.wait_pipe.data


@irdl_op_definition
class SetFlagOp(FlagOp):
    """The flag is set when all earlier instructions of `set_pipe` have finished. This op does not wait."""

    name = "hivm.hir.set_flag"


@irdl_op_definition
class WaitFlagOp(FlagOp):
    """Later instructions of `wait_pipe` wait until the flag is set; then it is cleared."""

    name = "hivm.hir.wait_flag"


@irdl_op_definition
class PipeBarrierOp(IRDLOperation):
    """Later instructions of `pipe` wait until all earlier ones have finished; with PIPE_ALL, those of all pipes."""

    name = "hivm.hir.pipe_barrier"
    pipe = prop_def(PipeAttr)

    def __init__(self, pipe: Pipe):
        super().__init__(properties={"pipe": PipeAttr(pipe)})


class BlockQuestionOp(IRDLOperation):
    result = result_def(i64)

    def __init__(self) -> None:
        super().__init__(result_types=[i64])


@irdl_op_definition
class GetBlockIdxOp(BlockQuestionOp):
    """The number of the running block, from 0."""

    name = "hivm.hir.get_block_idx"


@irdl_op_definition
class GetBlockNumOp(BlockQuestionOp):
    """How many blocks the kernel was launched with."""

    name = "hivm.hir.get_block_num"


@irdl_op_definition
class SetMaskNormOp(IRDLOperation):
    """All lanes of later vector instructions are enabled."""

    name = "hivm.hir.set_mask_norm"


@irdl_op_definition
class MarkOp(IRDLOperation):
    """A hint about a value for Huawei's passes, in the op's attributes. It does nothing."""

    name = "annotation.mark"
    src = operand_def()

    @classmethod
    def twice(cls, buffer: SSAValue) -> MarkOp:
        """Mark a buffer to exist twice, used alternately."""
        return cls(operands=[buffer], attributes={MULTI_BUFFER: IntegerAttr(2, i32)})
