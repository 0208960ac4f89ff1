"""Finds integers that a pullback computes again, because few ops on other integers give them.

Reads: functions and their calls. Writes: nothing. Leaves: floats, which could round differently elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from mlirad.analysis.call_graph import calls_in
from mlirad.dialect.core import types
from mlirad.xdsl_support.effects import has_no_effect

MOST_COPIED = 8
"""So many ops on integers cost less than to store a number and to load it again."""


def integer_ops(value: SSAValue, given: Collection[SSAValue]) -> list[Operation] | None:
    """The few ops on integers that compute a value from given ones, operands first; None if there are no such ops."""
    ops: dict[Operation, None] = {}

    def is_computed(value: SSAValue) -> bool:
        op = value.owner
        if value in given or op in ops:
            return True
        if not isinstance(op, Operation) or not _is_integer_op(op) or not all(map(is_computed, op.operands)):
            return False
        ops[op] = None
        return sum(not is_constant(each) for each in ops) <= MOST_COPIED

    return list(ops) if is_computed(value) else None


def passed_again(functions: Mapping[str, func.FuncOp], recursive: Collection[str]) -> dict[str, tuple[int, ...]]:
    """For each recursive function, the integer arguments that all its calls compute from the arguments of their
    callers, if those are recursive too: from such arguments of theirs.

    A caller's pullback computes these again and passes them, so no record holds them: `size` of a recursion that calls
    itself with `size - 1`, but not an index that a loop finds.
    """
    found = {name: set(_integers(functions[name])) for name in recursive}
    calls = [(name, call, call.callee.string_value()) for name, each in functions.items() for call in calls_in(each)]
    calls = [(caller, call, callee) for caller, call, callee in calls if callee in found]
    is_changed = True
    while is_changed:
        is_changed = False
        for caller, call, callee in calls:
            args = functions[caller].body.block.args
            given = [args[i] for i in found[caller]] if caller in found else args
            lost = {i for i in found[callee] if integer_ops(call.operands[i], given) is None}
            is_changed |= bool(lost)
            found[callee] -= lost
    return {name: tuple(sorted(numbers)) for name, numbers in found.items()}


def _integers(function: func.FuncOp) -> list[int]:
    inputs = function.function_type.inputs.data
    return [i for i, type in enumerate(inputs) if not types.is_tensor(type) and types.is_integer(type)]


def is_constant(op: Operation) -> bool:
    """Whether an op makes a constant."""
    return not op.operands and not op.regions and len(op.results) == 1 and has_no_effect(op)


def _is_integer_op(op: Operation) -> bool:
    if op.regions or len(op.results) != 1 or not has_no_effect(op):
        return False
    numbers = [value.type for value in (*op.operands, *op.results)]
    return all(not types.is_tensor(each) and (types.is_integer(each) or types.is_bool(each)) for each in numbers)
