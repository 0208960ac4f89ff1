"""The functions of a module: their calls, which of them have no effects, and which arguments they overwrite.

Reads: any stage. Writes: numbers on arguments. Leaves: facts for differentiation, inlining, CSE, DCE and emission.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, i64
from xdsl.ir import Operation
from xdsl.traits import SymbolTable

from mlirad.dialect.ad.request_op import RequestOp
from mlirad.dialect.core.effect_table import Effect, effect_of, is_removable
from mlirad.dialect.core.op import NdOp
from mlirad.xdsl_support.effects import is_terminator, only_computes
from mlirad.xdsl_support.traversal import find, ops_inside

SHARED = "mlirad.shared"
"""On a private function: it is not inlined while several calls refer to it."""
APART = "mlirad.apart"
"""On a private function: it is never inlined. Otherwise CSE would merge its recomputations with the original."""
WRITTEN = "mlirad.written"
"""On an argument that a function may overwrite: the number of the result that takes over its memory."""
DONATED = "mlirad.donated"
"""On an argument that is dead after the call: the number of the result that may take its memory."""


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


# --- arguments --------------------------------------------------------------------------------------------------


def numbers_on(function: func.FuncOp, name: str) -> dict[int, int]:
    """The arguments with an attribute, and the attribute's number."""
    found: dict[int, int] = {}
    for index, attributes in enumerate(function.arg_attrs or ()):
        number = attributes.data.get(name)
        if isinstance(number, IntegerAttr):
            found[index] = number.value.data
    return found


def written_by(function: func.FuncOp) -> dict[int, int]:
    """The arguments that a function may overwrite, each with the result that takes over its memory."""
    return numbers_on(function, WRITTEN)


def set_numbers(function: func.FuncOp, numbers: Mapping[str, Mapping[int, int]]) -> None:
    """Give arguments exactly these attributes."""
    function.properties.pop("arg_attrs", None)
    if any(numbers.values()):
        function.arg_attrs = ArrayAttr(
            DictionaryAttr({name: IntegerAttr(of[index], i64) for name, of in numbers.items() if index in of})
            for index in range(len(function.function_type.inputs.data))
        )


def set_written(function: func.FuncOp, written: Mapping[int, int]) -> None:
    set_numbers(function, {WRITTEN: written})


# --- calls that may be removed ----------------------------------------------------------------------------------


def removable(functions: Mapping[str, func.FuncOp]) -> set[str]:
    """The functions without checks: a call may be removed if its results are unused. (Like a loop, a call is removed
    even if it might not terminate.)"""
    known = set(functions)
    while True:
        kept = {name for name in known if all(_is_removable(op, known) for op in ops_inside(functions[name]))}
        if kept == known:
            return known
        known = kept


def has_ordered_effect(module: Operation, function: func.FuncOp) -> bool:
    """Whether an op in a function, or in one that it calls, has an ordered effect, such as a print."""
    return any(_is_ordered(op) for op in ops_reached(functions_of(module), function))


def ordered_value_in(functions: Mapping[str, func.FuncOp], *ops: Operation) -> Operation | None:
    """The first op that returns another value each time it runs, such as a draw. Searches these ops, their regions, and
    the functions that they call or differentiate."""
    return next((op for op in ops_reached(functions, *ops) if is_ordered_value(op)), None)


def ops_reached(functions: Mapping[str, func.FuncOp], *ops: Operation) -> Iterator[Operation]:
    """These ops (such as a function), the ops in their regions, and the ops in functions named by calls and requests in
    them."""
    seen = {op.sym_name.data for op in ops if isinstance(op, func.FuncOp)}
    pending = list(ops)
    while pending:
        root = pending.pop()
        for op in (root, *ops_inside(root)):
            yield op
            if isinstance(op, func.CallOp | RequestOp) and (name := op.callee.string_value()) in functions:
                if name not in seen:
                    seen.add(name)
                    pending.append(functions[name])


def is_ordered_value(op: Operation) -> bool:
    """Whether an op returns another value each time it runs."""
    return bool(op.results) and _is_ordered(op)


def _is_ordered(op: Operation) -> bool:
    return isinstance(op, NdOp) and effect_of(op) is Effect.ORDERED


def _is_removable(op: Operation, known: set[str]) -> bool:
    if only_computes(op.__class__):
        return True
    if isinstance(op, func.CallOp):
        return op.callee.string_value() in known
    if isinstance(op, (scf.IfOp, scf.ForOp, scf.WhileOp)) or is_terminator(op.__class__):
        return True
    return bool(op.regions) or is_removable(op)


class RemovableCalls:
    """The functions in op's module whose calls may be removed if their results are unused. They are computed at the
    first call, because most modules have no call."""

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
