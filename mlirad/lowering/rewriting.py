"""Safe rewriting: new ops take the position and the source location of the op they replace.

Reads and writes: single ops. Leaves: no use of a replaced value, no reference from an erased op.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.traits import EffectInstance, MemoryEffectKind, SymbolOpInterface, get_effects

from mlirad.dialect.core.expr import emitting
from mlirad.xdsl_support.effects import is_terminator, only_computes
from mlirad.xdsl_support.traversal import ops_of


def in_place_of(op: Operation) -> emitting:
    """Ops are emitted before `op`, with its location."""
    assert op.parent is not None
    return emitting(InsertPoint(op.parent, op), op.location)


def erase(op: Operation) -> None:
    """Remove an op whose results nothing uses, with all that it holds."""
    op.detach()
    op.drop_all_references()


def replace(op: Operation, values: Sequence[SSAValue]) -> None:
    """Use `values` in place of the op's results, and erase the op."""
    for result, value in zip(op.results, values, strict=True):
        result.replace_all_uses_with(value)
    erase(op)


def splice(block: Block, before: Operation, arguments: Sequence[SSAValue]) -> list[SSAValue]:
    """Move a block's ops in front of `before`, `arguments` for its own; gives what its terminator passed on."""
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
    """An op like `op`, its properties, attributes and location, of other operands, result types and regions."""
    return type(op).create(
        operands=operands,
        result_types=result_types,
        properties=op.properties,
        attributes=op.attributes,
        location=op.location,
        regions=regions,
    )


def is_removable(op: Operation) -> bool:
    """Whether an op without regions may be removed if its results are not used: it writes no memory of others."""
    if only_computes(op.__class__):
        return True
    if is_terminator(op.__class__) or op.has_trait(SymbolOpInterface):
        return False
    effects = get_effects(op)
    return effects is not None and all(_is_own_or_read(op, effect) for effect in effects)


def _is_own_or_read(op: Operation, effect: EffectInstance) -> bool:
    if effect.kind is MemoryEffectKind.READ:
        return True
    return effect.kind is MemoryEffectKind.ALLOC and isinstance(effect.value, OpResult) and effect.value.op is op


def is_pure(op: Operation) -> bool:
    """Whether an op without regions only computes its results: it may be moved, merged and repeated."""
    return only_computes(op.__class__) or (not is_terminator(op.__class__) and get_effects(op) == frozenset())
