"""The functions of a module and who calls whom.

Reads: any stage. Writes: nothing. Leaves: the answers that differentiation, inlining and emission build on.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import func
from xdsl.ir import Operation

from mlirad.xdsl_support.traversal import find

SHARED = "mlirad.shared"
"""On a private function: it stays a function while several calls name it."""


def functions_of(module: Operation) -> dict[str, func.FuncOp]:
    """The functions of a module that have a body, by name."""
    found: dict[str, func.FuncOp] = {}
    for region in module.regions:
        for block in region.blocks:
            for op in block.ops:
                if isinstance(op, func.FuncOp) and not op.is_declaration:
                    found[op.sym_name.data] = op
    return found


def calls_in(function: func.FuncOp) -> list[func.CallOp]:
    return find(function, func.CallOp)


def recursive(functions: Mapping[str, func.FuncOp]) -> set[str]:
    """The functions that call themselves, directly or through others."""
    called = {
        name: [other for call in calls_in(function) if (other := call.callee.string_value()) in functions]
        for name, function in functions.items()
    }
    found: set[str] = set()
    for name in functions:
        seen: set[str] = set()
        pending = list(called[name])
        while pending:
            other = pending.pop()
            if other not in seen:
                seen.add(other)
                pending += called[other]
        if name in seen:
            found.add(name)
    return found
