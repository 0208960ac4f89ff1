"""The request to apply a function to each lane: `ad.vmap`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
)
from xdsl.utils.exceptions import VerifyException

from mlirad.dialect.ad.request_op import RequestOp, Signature
from mlirad.dialect.core import types
from mlirad.dialect.core.attributes import ints
from mlirad.dialect.ops.movement import of_lanes


@irdl_op_definition
class VmapOp(RequestOp):
    """The callee's results for each lane, stacked along a new first axis.

    `wrt` numbers the arguments with lanes: these operands have an additional first axis, whose size is the number of
    lanes. The other operands are shared by all lanes.
    """

    name = "ad.vmap"

    @classmethod
    def of_lanes(cls, callee: func.FuncOp, primals: Sequence[SSAValue], wrt: Sequence[int]) -> VmapOp:
        """A request on a function of the same module."""
        outputs = callee.function_type.outputs.data
        lanes = types.shape(primals[wrt[0]].type)[0]
        symbol, outs = SymbolRefAttr(callee.sym_name.data), range(len(outputs))
        return cls._make(symbol, primals, (), wrt, tuple(outs), [of_lanes(type, lanes) for type in outputs])

    def expected(self, callee: func.FuncOp) -> Signature:
        inputs, outputs = callee.function_type.inputs.data, callee.function_type.outputs.data
        wrt = ints(self.wrt)
        if not wrt or not types.is_tensor(first := self.primals[wrt[0]].type):
            raise VerifyException("ad.vmap: no operand has lanes")
        lanes = types.shape(first)[0]
        given = [of_lanes(type, lanes) if number in wrt else type for number, type in enumerate(inputs)]
        return given, [], [of_lanes(type, lanes) for type in outputs]

    @property
    def variant(self) -> tuple[Attribute, ...]:
        return tuple(operand.type for operand in self.primals)
