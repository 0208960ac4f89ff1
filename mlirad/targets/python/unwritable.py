"""Finds what this target does not support: ops without NumPy source.

Reads: a module of stage `optimized`. Writes: nothing. Leaves: errors, each with its location.
"""

from __future__ import annotations

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp

from mlirad.dialect.core import types
from mlirad.dialect.core.op import NdOp
from mlirad.errors import TargetError
from mlirad.xdsl_support.traversal import ops_inside

_KNOWN = (func.FuncOp, func.CallOp, func.ReturnOp, scf.ForOp, scf.WhileOp, scf.IfOp, scf.YieldOp, scf.ConditionOp)


def problems_in(module: ModuleOp) -> list[TargetError]:
    """The ops that cannot be written."""
    return [
        TargetError(f"{op.name} cannot be written in NumPy", types.from_location(op.location))
        for op in ops_inside(module)
        if not (op.has_numpy_source() if isinstance(op, NdOp) else type(op) in _KNOWN)
    ]
