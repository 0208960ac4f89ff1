"""When an array's memory is overwritten or handed on: hoisting and fusion ask here if a read would come too late.

Reads: tensor stages, nd and upstream. Writes: nothing. Leaves: everything.

A use *destroys* a value if it overwrites the value's memory, or hands it on. A later read costs a copy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from xdsl.ir import Block, Operation, SSAValue, Use

from mlirad.dialect.core.op import NdOp
from mlirad.lowering.tensor_memory import VIEWS, is_consumed


@cache
def _viewed(kind: type[Operation]) -> int | None:
    """The operand whose memory the result of such an op may be another name for."""
    if issubclass(kind, NdOp):
        return kind.memory.views
    return 0 if kind in VIEWS else None


def destroys(use: Use) -> bool:
    """Whether this use overwrites the value's memory, or hands it on."""
    op = use.operation
    return op.memory.overwrites == use.index if isinstance(op, NdOp) else is_consumed(use)


def is_destroyed(value: SSAValue) -> bool:
    """Whether some op takes the memory of value, directly or through a view of it."""
    for use in value.uses:
        if destroys(use):
            return True
        if use.index == _viewed(use.operation.__class__) and is_destroyed(use.operation.results[0]):
            return True
    return False


def memory_of(value: SSAValue) -> list[SSAValue]:
    """The values whose memory a value may be a view of; itself first."""
    found = [value]
    while isinstance(owner := value.owner, Operation) and (viewed := _viewed(owner.__class__)) is not None:
        value = owner.operands[viewed]
        found.append(value)
    return found


@dataclass
class Lifetimes:
    """The places in one block where values are destroyed. Valid until the order of the block's ops changes."""

    block: Block
    _order: dict[Operation, int] = field(default_factory=dict)
    _destroyed: dict[SSAValue, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._order = {op: number for number, op in enumerate(self.block.ops)}

    def is_destroyed_between(self, value: SSAValue, start: Operation, end: Operation) -> bool:
        """Whether an op after `start` and before `end`, both in the block, takes the memory that value is read from."""
        places = self._places(value)
        if not places:
            return False
        first, last = self._order[start], self._order[end]
        return any(first < place < last for place in places)

    def _places(self, value: SSAValue) -> list[int]:
        """Where the memory that value is read from is taken."""
        places = self._destroyed.get(value)
        if places is None:
            uses = [use for owner in memory_of(value) for use in owner.uses if destroys(use)]
            ops = (self.block.find_ancestor_op_in_block(use.operation) for use in uses)
            places = self._destroyed[value] = [self._order[op] for op in ops if op is not None]
        return places
