"""Bounds of memory of unknown size, in elements: an attribute of `tensor.empty`, and later of its alloc.

Reads: nd ops while they are lowered, and tensors of stage `linalg`. Writes: `mlirad.bound`, and `mlirad.slot` at what
was an ad.tape: how many of its elements belong to one trip. Leaves: memory without the attribute where no bound is
known, or where it is too large to be reserved.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from xdsl.dialects import tensor
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation, SSAValue

from mlirad.analysis import bounds
from mlirad.analysis.memory import VIEWS, overwritten_by
from mlirad.dialect.core import types
from mlirad.dialect.core.op import NdOp, written_subset
from mlirad.dialect.ops.tape import SLOT
from mlirad.lowering.tensor_memory import is_static

BOUND = "mlirad.bound"
_LARGEST = 1 << 26
"""Bytes. What may be larger comes from the call's growable segments, as large as it turns out to be."""


def keep_bound(op: NdOp, lowered: Iterable[Operation]) -> None:
    """Note the bound of what `op` computes at the memory that was made for it."""
    if (slot := op.attributes.get(SLOT)) is not None:
        for each in lowered:
            if isinstance(each, tensor.EmptyOp):
                each.attributes[SLOT] = slot
        return
    empties = [each for each in lowered if isinstance(each, tensor.EmptyOp) and each.dynamic_sizes]
    if not empties:
        return
    write = written_subset(op)  # it makes memory for what it writes, if for anything
    bound = bounds.element_bound(op.results[0] if write is None else write.part)
    for empty in empties:
        set_bound(empty, bound)


def set_bound(empty: tensor.EmptyOp, bound: int | None) -> None:
    if bound is not None and bound * types.itemsize(empty.tensor.type) <= _LARGEST:
        empty.attributes[BOUND] = IntegerAttr(bound, i64)


def bound_of(value: SSAValue) -> int | None:
    """How many elements a tensor can have, by the ops that it comes from."""
    while True:
        owner = value.owner
        if is_static(value.type):
            return prod(types.shape(value.type))
        if not isinstance(owner, Operation):
            return None
        if isinstance(owner, tensor.EmptyOp):
            return bound_at(owner)
        if type(owner) in VIEWS:
            value = owner.operands[0]
            continue
        tied = overwritten_by(value)
        if tied is None:
            return None
        value = tied


def keep_notes(empty: Operation, alloc: Operation) -> None:
    """What is known of the memory, at the op that it comes from after bufferization."""
    for name in (BOUND, SLOT):
        if (note := empty.attributes.get(name)) is not None:
            alloc.attributes[name] = note


def bound_at(op: Operation) -> int | None:
    bound = op.attributes.get(BOUND)
    return bound.value.data if isinstance(bound, IntegerAttr) else None
