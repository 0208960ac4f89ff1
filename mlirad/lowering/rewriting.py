"""Safe rewriting: new ops take the position and the source location of the op that they replace.

Reads and writes: single ops. Leaves: no use of a replaced value, no reference from an erased op.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.dialect.core.expr import emitting
from mlirad.xdsl_support.traversal import ops_of


def in_place_of(op: Operation) -> emitting:
    """Ops are emitted before `op`, with its location."""
    assert op.parent is not None
    return emitting(InsertPoint(op.parent, op), op.location)


def erase(op: Operation) -> None:
    """Remove an op with unused results, including its regions."""
    op.detach()
    op.drop_all_references()


def replace(op: Operation, values: Sequence[SSAValue]) -> None:
    """Use `values` in place of the op's results, and erase the op."""
    for result, value in zip(op.results, values, strict=True):
        result.replace_all_uses_with(value)
    erase(op)


def splice(block: Block, before: Operation, arguments: Sequence[SSAValue]) -> list[SSAValue]:
    """Move a block's ops to before `before`, with `arguments` for its own. Returns the operands of its terminator."""
    for arg, value in zip(block.args, arguments, strict=True):
        arg.replace_all_uses_with(value)
    end = block.last_op
    assert end is not None and before.parent is not None
    passed_on = list(end.operands)
    erase(end)
    for op in ops_of(block):
        op.detach()
        before.parent.insert_op_before(op, before)
    return passed_on


def rebuilt(
    op: Operation, operands: Sequence[SSAValue], result_types: Sequence[Attribute], regions: Sequence[Region]
) -> Operation:
    """An op with the properties, attributes and location of `op`, but other operands, result types and regions."""
    return type(op).create(
        operands=operands,
        result_types=result_types,
        properties=op.properties,
        attributes=op.attributes,
        location=op.location,
        regions=regions,
    )
