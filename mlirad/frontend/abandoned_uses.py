"""Drops the uses of a module's values that abandoned attempts leave behind.

Reads: a finished module. Writes: ops outside of it, which lose their operands. Leaves: values that only the module
uses.

A loop is interpreted several times, and each attempt may be abandoned halfway. The ops built so far are never inserted,
but they use values that the next attempt keeps. Passes would treat these values as needed.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from mlirad.xdsl_support.traversal import ops_inside


def drop_abandoned_uses(module: ModuleOp) -> None:
    """Drop every use of the module's values by an op outside of it."""
    ops = ops_inside(module)
    inside = set(ops)
    for value in _values(ops):
        for use in list(value.uses):
            if use.operation not in inside:
                use.operation.drop_all_references()


def _values(ops: list[Operation]) -> Iterator[SSAValue]:
    for op in ops:
        yield from op.results
        for region in op.regions:
            for block in region.blocks:
                yield from block.args
