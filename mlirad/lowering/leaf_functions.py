"""Functions that only compute: they use none of the call's memory, and cannot fail.

Reads: blocks. Writes: private functions marked `mlirad.leaf`, and calls of them. Leaves: the contents of the blocks.

A call carries an upper bound of its work, `mlirad.work`, which bounds the time between two polls for signals.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, IntegerAttr, LocationAttr, ModuleOp, SymbolRefAttr, UnitAttr, i64
from xdsl.ir import Block, Operation, Region, SSAValue

from mlirad.analysis.cost import WORK

LEAF = "mlirad.leaf"


def define(module: ModuleOp, name: str, block: Block, location: LocationAttr) -> Operation:
    """Turn a block into a function that returns nothing. Returns its terminator; further ops go before it."""
    end = func.ReturnOp.create(location=location)
    block.add_op(end)
    kind = FunctionType.from_lists([argument.type for argument in block.args], [])
    function = func.FuncOp(name, kind, Region(block), visibility="private")
    function.attributes[LEAF] = UnitAttr()
    function.location = location
    module.body.block.add_op(function)
    return end


class Callee:
    """The common part of a function's calls."""

    def __init__(self, name: str, work: int):
        self._properties = {"callee": SymbolRefAttr(name)}
        self._attributes = {WORK: IntegerAttr(work, i64)}

    def call(self, operands: Sequence[SSAValue], location: LocationAttr) -> func.CallOp:
        return func.CallOp.create(
            operands=operands, properties=self._properties, attributes=self._attributes, location=location
        )
