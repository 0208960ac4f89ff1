"""The ops of a block, or of all regions of an op, as lists, so that passes may change the program while they iterate.

Reads: any IR. Writes: nothing. Leaves: everything. xDSL's own walks are nested generators, several times slower.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

from xdsl.ir import Block, Operation

_Op = TypeVar("_Op", bound=Operation)


def ops_of(block: Block) -> list[Operation]:
    """The ops of a block, in their order, without the ops in their regions."""
    found: list[Operation] = []
    op = block.first_op
    while op is not None:
        found.append(op)
        op = op.next_op
    return found


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
        for block in region.blocks:
            inner = block.first_op
            while inner is not None:
                found.append(inner)
                if inner.regions:
                    _collect(inner, found)
                inner = inner.next_op
