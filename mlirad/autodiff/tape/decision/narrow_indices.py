"""Finds stored integers whose upper bits the reverse sweep does not need: they may share an element of a tape.

Reads: what each needed value is recovered from. Writes: nothing. Gives: how many bits each such integer needs.

If the reverse sweep recovers nothing from an integer but indices that checks against constant sizes have wrapped, then
it is within these sizes where the reverse sweep reads it: the checks have passed. Elsewhere it may have any value,
which is cut off and not read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from xdsl.ir import SSAValue

from mlirad.analysis.constants import constant_int
from mlirad.autodiff.tape.decision.forward_values import ForwardValue
from mlirad.dialect.core import types
from mlirad.dialect.ops.check import EffectOp


def narrow_indices(
    users: Mapping[ForwardValue, Sequence[SSAValue]], stored: Collection[ForwardValue], needed: Collection[SSAValue]
) -> dict[ForwardValue, int]:
    """The bits, 16 or 32, of each such stored integer. users: the values that are recovered from each value."""
    if any(not types.is_static(value.type) for value in stored):
        return {}  # an integer may be the size of a stored array
    found = {value: _bits(value, users.get(value, ())) for value in stored if value not in needed}
    return {value: bits for value, bits in found.items() if bits}


def _bits(value: ForwardValue, users: Sequence[SSAValue]) -> int:
    """0 if the reverse sweep may read all bits."""
    if value.type != types.I64 or not users:
        return 0
    sizes = [_size_that_limits(value, user) for user in users]
    if any(size is None for size in sizes):
        return 0
    largest = max(size for size in sizes if size is not None)
    return 16 if largest <= 1 << 15 else 32 if largest <= 1 << 31 else 0


def _size_that_limits(value: ForwardValue, user: SSAValue) -> int | None:
    """The constant size if `user` is the index `value`, checked against it."""
    op = user.owner
    checked = op.checked_index if isinstance(op, EffectOp) else None
    return constant_int(checked[1]) if checked is not None and checked[0] is value and checked[1] is not value else None
