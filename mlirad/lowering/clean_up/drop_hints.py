"""Drops what was said to differentiation, or by it, and to no one after it: how loops are checkpointed and reversed.

Reads and writes: any stage, in place. Leaves: no attribute of the dialect `ad`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from mlirad.dialect.ops.request import CHECKPOINT, RECOVERED
from mlirad.xdsl_support.traversal import ops_inside


@dataclass(frozen=True)
class DropHints(ModulePass):
    """Remove the attributes from every loop."""

    name = "mlirad-drop-hints"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in ops_inside(op):
            for hint in (CHECKPOINT, RECOVERED):
                inner.attributes.pop(hint, None)
