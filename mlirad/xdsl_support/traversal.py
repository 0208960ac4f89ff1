"""The ops of a block, or of all regions of an op, as lists, so that passes may change the program while they iterate.

Reads: any IR. Writes: nothing. Leaves: everything. xDSL's own walks are nested generators, several times slower.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, TypeVar

from xdsl.ir import Block, Operation, SSAValue

_Op = TypeVar("_Op", bound=Operation)


def ops_of(block: Block) -> list[Operation]:
    """The ops of a block, in their order, without the ops in their regions."""
    found: list[Operation] = []
    op = block._first_op  # the fields: this is called for every op, and xDSL's views and properties take twice as long
    while op is not None:
        found.append(op)
        op = op._next_op
    return found


def defining_block(value: SSAValue) -> Block | None:
    """The block whose argument the value is, or that has the op whose result it is."""
    owner = value.owner
    return owner if isinstance(owner, Block) else owner.parent


def blocks_around(block: Block | None) -> Iterator[Block]:
    """The block and those around it, the innermost first."""
    while block is not None:
        yield block
        block = block.parent_block()


def ops_inside(op: Operation) -> list[Operation]:
    """All ops in the regions of op, in program order: an op comes before those in its own regions."""
    found: list[Operation] = []
    _collect(op, found)
    return found


def find(op: Operation, kind: type[_Op]) -> list[_Op]:
    """The ops of a class, and of its subclasses, in the regions of op. (An isinstance check per op is slow.)"""
    inside: list[Any] = ops_inside(op)
    return [inner for inner in inside if _is_of(inner.__class__, kind)]


@cache
def _is_of(kind: type[Operation], base: type[Operation]) -> bool:
    return issubclass(kind, base)


def _collect(op: Operation, found: list[Operation]) -> None:
    for region in op.regions:
        block = region._first_block
        while block is not None:
            inner = block._first_op
            while inner is not None:
                found.append(inner)
                if inner.regions:
                    _collect(inner, found)
                inner = inner._next_op
            block = block._next_block
