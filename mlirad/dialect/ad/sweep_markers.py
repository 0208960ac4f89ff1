"""The markers between a forward sweep and its reverse.

`ad.record` lists the values that a forward block offers to its reverse block. `ad.replay` pairs the two blocks and
holds the reverse counter. `ad.residual` is one of these values. `ad.turn` marks the end of a forward sweep.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import MemoryWriteEffect, Pure

from mlirad.dialect.ad.ad_types import TRIP, TripType


@irdl_op_definition
class RecordOp(IRDLOperation):
    """The values of forward block number `block` for the reverse block that undoes it. It is at the block's end."""

    name = "ad.record"
    block = prop_def(IntegerAttr.constr(i64))
    values = var_operand_def()
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$block ($values^ `:` type($values))? attr-dict"

    @classmethod
    def of(cls, block: int, values: Sequence[SSAValue]) -> RecordOp:
        return cls.build(operands=[list(values)], properties={"block": IntegerAttr(block, i64)})


@irdl_op_definition
class ReplayOp(IRDLOperation):
    """This block undoes forward block number `block`. If that is a loop's body, it undoes the trip with number
    `counter`. `outer` is the trip of the forward block around it (absent if that is the function's own block).

    It remains even if no value of the block is used: the tape may have writes to undo there."""

    name = "ad.replay"
    block = prop_def(IntegerAttr.constr(i64))
    counter = opt_operand_def(i64)
    outer = opt_operand_def(TRIP)
    trip = result_def(TRIP)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$block (`trip` $counter^)? (`in` $outer^)? attr-dict"

    @classmethod
    def of(cls, block: int, counter: SSAValue | None, outer: SSAValue | None) -> ReplayOp:
        return cls.build(
            operands=[counter, outer], properties={"block": IntegerAttr(block, i64)}, result_types=[TripType()]
        )


@irdl_op_definition
class ResidualOp(IRDLOperation):
    """Value number `number` of the `ad.record` of the trip's forward block, as in that trip."""

    name = "ad.residual"
    trip = operand_def(TRIP)
    number = prop_def(IntegerAttr.constr(i64))
    result = result_def()
    traits = traits_def(Pure())
    assembly_format = "$trip $number attr-dict `:` type($result)"

    @classmethod
    def of(cls, trip: SSAValue, number: int, type: Attribute) -> ResidualOp:
        return cls.build(operands=[trip], properties={"number": IntegerAttr(number, i64)}, result_types=[type])


@irdl_op_definition
class TurnOp(IRDLOperation):
    """The end of a forward sweep, with these results, and the beginning of its pullback, with these cotangents."""

    name = "ad.turn"
    values = var_operand_def()
    cotangents = var_result_def()
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$values attr-dict `:` functional-type($values, $cotangents)"

    @classmethod
    def of(cls, values: Sequence[SSAValue], cotangents: Sequence[Attribute]) -> TurnOp:
        return cls.build(operands=[list(values)], result_types=[list(cotangents)])
