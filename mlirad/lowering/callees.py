"""What callers know about the functions of a module: which only compute, and how tensors are passed to them.

Reads: any stage. Writes: nothing. Leaves: the answers that inlining, CSE, DCE and bufferization build on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import Operation
from xdsl.traits import SymbolTable

from mlirad.analysis.call_graph import functions_of
from mlirad.lowering.rewriting import is_removable
from mlirad.lowering.tensor_memory import is_static
from mlirad.xdsl_support.effects import is_terminator, only_computes
from mlirad.xdsl_support.traversal import ops_inside

WRITTEN = "mlirad.written"


def removable(functions: Mapping[str, func.FuncOp]) -> set[str]:
    """The functions without checks: a call may be removed if its results are not used. (Like a loop, it is also removed
    if it might not end.)"""
    known = set(functions)
    while True:
        kept = {name for name in known if all(_is_removable(op, known) for op in ops_inside(functions[name]))}
        if kept == known:
            return known
        known = kept


def _is_removable(op: Operation, known: set[str]) -> bool:
    if only_computes(op.__class__):
        return True
    if isinstance(op, func.CallOp):
        return op.callee.string_value() in known
    if isinstance(op, (scf.IfOp, scf.ForOp, scf.WhileOp)) or is_terminator(op.__class__):
        return True
    return bool(op.regions) or is_removable(op)


class RemovableCalls:
    """The functions of op, or of the module around it, whose calls may be removed if their results are not used. They
    are found when the first call is met: most modules have none."""

    def __init__(self, op: Operation):
        self.op = op

    @cached_property
    def names(self) -> set[str]:
        table: Operation | None = self.op
        while table is not None and not table.has_trait(SymbolTable):
            table = table.parent_op()
        return set() if table is None else removable(functions_of(table))

    def __contains__(self, name: str) -> bool:
        return name in self.names


@dataclass(frozen=True)
class Convention:
    """How tensors are passed to and from a function. written: the arguments that the function may overwrite, each with
    the result that takes over its memory. outputs: the other results of static shape; each is one more argument."""

    written: dict[int, int]
    outputs: tuple[int, ...]


def convention(function: func.FuncOp) -> Convention:
    """The convention of a function of stage `linalg`."""
    written: dict[int, int] = {}
    for index, attributes in enumerate(function.arg_attrs or ()):
        number = attributes.data.get(WRITTEN)
        if isinstance(number, IntegerAttr):
            written[index] = number.value.data
    outputs = [
        number
        for number, type in enumerate(function.function_type.outputs.data)
        if isinstance(type, TensorType) and is_static(type) and number not in written.values()
    ]
    return Convention(written, tuple(outputs))
