"""Lets an elementwise op overwrite an operand at the operand's last use.

Reads: moved tensors, their webs, and the last uses. Writes: the operand in place of the empty memory with which the
result would begin. Leaves: results that can be computed directly in the caller's memory: in a dead operand's memory,
they would have to be copied to the caller.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.ir import Operation, SSAValue

from mlirad.analysis.memory import input_count, is_empty, takes
from mlirad.lowering.rewriting import erase
from mlirad.lowering.to_buffers.buffer_webs import Web, Webs
from mlirad.lowering.to_buffers.last_use import Reusable


def reuse_buffers(
    reusable: Sequence[Reusable], webs: Webs, written: dict[SSAValue, int], borrowing: Container[SSAValue]
) -> None:
    """`reusable` in program order. borrowing: values whose memory is a slice of an array."""
    left = [found for found in reusable if not _reuse(found, webs, written, borrowing)]
    if written:
        # Before a loop is found to work in place, the values carried into it have several sources.
        for found in left:
            _reuse(found, webs, written, borrowing)


def _reuse(found: Reusable, webs: Webs, written: dict[SSAValue, int], borrowing: Container[SSAValue]) -> bool:
    op, index = found.op, input_count(found.op) + found.number
    memory = op.operands[index]
    if not is_empty(memory):
        return False
    # In the memory that a loop carries on, the next trip finds the result where it began.
    for value in sorted(found.dying, key=lambda value: webs.of(value) is not webs.of(memory)):
        # Memory that a value borrowed belongs to the array once the value is inserted.
        if value not in borrowing and _is_free(value, op) and _is_wise(memory, value, webs, written):
            webs.forget(memory)
            webs.join(memory, value)
            op.operands[index] = value
            assert isinstance(memory.owner, Operation)
            erase(memory.owner)
            return True
    return False


def _is_free(value: SSAValue, op: LinalgStructuredOperation) -> bool:
    """Whether value still owns memory: `op` does not overwrite it; if the value only provides its shape, no op does."""
    operands, first = tuple(op.operands), input_count(op)
    if value in operands[:first]:
        return value not in operands[first:]
    is_gone = isinstance(value.owner, Operation) and value.owner.parent is None
    return not is_gone and not any(takes(use) for use in value.uses)


def _is_wise(memory: SSAValue, value: SSAValue, webs: Webs, written: dict[SSAValue, int]) -> bool:
    result, dying = webs.of(memory), webs.of(value)
    if result is dying:
        return True
    others = [source for source in result.sources if source is not memory]
    argument = next((source for source in dying.sources if source in written), None)
    if argument is not None:
        numbers = {written[argument]}
        return result.result_numbers == numbers and dying.result_numbers <= numbers and not others
    if not result.result_numbers:
        return not (dying.result_numbers and others)
    if result.result_numbers & set(written.values()):
        return False
    if webs.loop_of(memory) is None and not (_is_new(dying) and not others):
        return False
    return dying.result_numbers <= result.result_numbers


def _is_new(web: Web) -> bool:
    """Whether a web's memory is a single buffer of its own, which the caller's memory may replace."""
    return len(web.sources) == 1 and is_empty(web.sources[0])
