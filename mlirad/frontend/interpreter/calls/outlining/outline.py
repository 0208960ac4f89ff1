"""Outlines what is differentiated: interprets the callee into a private func.func.

Reads: a function value and its arguments. Writes: a func.func into the module. Leaves: its symbol, the operands of a
call, and how to assemble its results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Block, BlockArgument, Region, SSAValue

from mlirad.analysis.loops import yields
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, insert
from mlirad.frontend.interpreter import dispatch, storage
from mlirad.frontend.interpreter.calls import recursion
from mlirad.frontend.interpreter.calls.outlining import call_changes, separate_copies
from mlirad.frontend.interpreter.calls.outlining.call_changes import Changes, Mutables
from mlirad.frontend.interpreter.calls.outlining.plain_results import Plain, plain_result, require_sizes, result_leaves
from mlirad.frontend.interpreter.calls.outlining.separate_copies import SharedArgument
from mlirad.frontend.interpreter.calls.outlining.value_trees import (
    contents,
    copy_of,
    leaves_of,
    mapped,
    objects_in,
    original,
    owner_of_copy,
)
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.join.join_columns import discard
from mlirad.frontend.join.steering import Bottom
from mlirad.frontend.values import known_facts
from mlirad.frontend.values.state import reached
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Bound, Closure, Object, Owner, Ref, Static, Transformed, Tuple, Value
from mlirad.requests.python_functions import name_of
from mlirad.xdsl_support.traversal import ops_inside, ops_of


@dataclass(frozen=True, eq=False)
class Outlined:
    """A callee. operands: the operands of a call of it. inputs: for each leaf of the arguments, the number of its
    operand, None if it is static. result: its value; the arrays and numbers in it are `leaves`, the callee's first
    results in order. changes: its changes of the caller's state, which use its further results. is_new: whether every
    part of the result is new: neither an array or container from before the call, nor a view of one, nor equal to
    another part."""

    callee: func.FuncOp
    operands: tuple[SSAValue, ...]
    inputs: tuple[int | None, ...]
    result: Plain
    leaves: tuple[Ref | Traced, ...]
    changes: Changes | None
    is_new: bool


# Outlining.


def outline(
    context: Context,
    function: Value,
    args: Sequence[Value],
    kwargs: dict[str, Value],
    callers: Sequence[Value] | None = None,
) -> Outlined:
    """Interpret a call as a function of its own, to which the arguments are passed in their present state.

    callers: all arguments as the caller has them, if those given are copies of them.
    """
    given = [(f"argument {number}", arg) for number, arg in enumerate(args)]
    given += [(f"argument {name!r}", arg) for name, arg in kwargs.items()]
    named = [(name, leaf) for name, value in given for leaf in leaves_of(context, value)]
    found = [leaf for _, leaf in named]
    traced = [leaf for leaf in found if isinstance(leaf, Ref | Traced)]
    operands = [contents(context, leaf) for leaf in traced]
    positions = iter(range(len(traced)))
    inputs = tuple(next(positions) if isinstance(leaf, Ref | Traced) else None for leaf in found)
    block = Block(arg_types=[operand.type for operand in operands])
    if context.live is not None:
        context.live.bind(block.args, [operand.value for operand in operands])
    outside: dict[SSAValue, SSAValue] = {arg: operand.value for arg, operand in zip(block.args, operands, strict=True)}
    callers = [*args, *kwargs.values()] if callers is None else callers
    objects = [each for arg in callers for each in objects_in(context, arg)]
    active = [each for _, arg in given for each in objects_in(context, arg)]
    arrays = [leaf for leaf in traced if isinstance(leaf, Ref)]
    context.push(Mutables(tuple(arrays), tuple(objects), tuple(active)).value)
    saved, before = context.state, context.state.fork()
    shared = separate_copies.shared_among(context, function, named)
    memory, used, writes = dict(context.memory), context.captures_used, context.writes
    context.captures_used = set()
    context.state, active = context.state.fork(), len(context.active)
    try:
        with building(block), known_facts.scope():
            result, leaves, copies, is_new = traced_call(context, function, args, kwargs, block, shared)
            starts = [arg for arg, leaf in zip(block.args, traced, strict=True) if isinstance(leaf, Ref)]
            changes = call_changes.changes_of_call(
                context, before, copies, outside, starts, block, name_of_value(function)
            )
    except Bottom:
        # It certainly raises: everything before that is done here, and nothing is left to differentiate.
        discard(block)
        del context.active[active:]
        context.state = saved
        context.pop()
        by_keyword = dict(zip(kwargs, callers[len(args) :], strict=True))
        dispatch.call(context, function, callers[: len(args)], by_keyword)
        raise
    except BaseException:
        discard(block)
        context.state = saved
        context.pop()
        raise
    finally:
        context.memory, context.captures_used = memory, used | context.captures_used
        context.writes_copies |= context.writes > writes
    require_sizes(context, result, name_of_value(function))
    context.state = saved
    if changes is None:
        context.pop()
    else:
        leaves += [Expr(value) for value in changes.results]
    callee, captured = callee_of(context, name_of_value(function), block, leaves)
    values = (*(operand.value for operand in operands), *captured)
    return Outlined(callee, values, inputs, result, tuple(result_leaves(context, result)), changes, is_new)


def results_of(context: Context, outlined: Outlined, results: Sequence[SSAValue]) -> Iterator[Expr]:
    """The results of a call or request of a callee, after its changes have been applied."""
    found = [Expr(result) for result in results]
    if outlined.changes is None:
        return iter(found)
    first = len(outlined.leaves)
    last = first + len(outlined.changes.results)
    call_changes.take_over(context, outlined.changes, found[first:last])
    return iter([*found[:first], *found[last:]])


def callee_of(context: Context, name: str, block: Block, leaves: Sequence[Expr]) -> tuple[func.FuncOp, list[SSAValue]]:
    """The function with this body, and the values that it takes from outside, besides the arguments."""
    with building(block):
        insert(func.ReturnOp(*(leaf.value for leaf in leaves)))
    captured = close(block)
    return private_function(context, name, block), captured


def private_function(context: Context, name: str, block: Block) -> func.FuncOp:
    """A function of the module with this body, which uses nothing from outside."""
    ends = yields(block)
    made = func.FuncOp(
        recursion.symbol(context, name),
        FunctionType.from_lists([argument.type for argument in block.args], [end.type for end in ends]),
        Region([block]),
        visibility="private",
    )
    made.location = types.to_location(context.location)
    context.functions.append(made)
    return made


def traced_call(
    context: Context,
    function: Value,
    args: Sequence[Value],
    kwargs: dict[str, Value],
    block: Block,
    shared: Sequence[SharedArgument],
) -> tuple[Any, list[Expr], str, bool]:
    """The result of a call on the arguments of `block`, the contents of its leaves, the place of its copies, and
    whether all of it is new."""
    arguments = iter(block.args)
    copies: list[Ref] = []

    def bound(leaf: Value) -> Value:
        made = copy_of(context, leaf, Expr(next(arguments))) if isinstance(leaf, Ref | Traced) else leaf
        if isinstance(made, Ref):
            copies.append(made)
        return made

    around = reached(context.state, [function], context.seen_by).objects
    met = Counter(original(context, each) for each in map(Object, sorted(around)))
    met.update(original(context, each) for value in (*args, *kwargs.values()) for each in objects_in(context, value))

    def owner(value: Object) -> Owner:
        copy = owner_of_copy(context, value)
        if met[original(context, value)] < 2:
            return copy
        kind = storage.entry_of(context, value).kind.__name__
        return Owner(f"one of two copies of the same {kind}", copy.of, is_shared=True)

    positional = [mapped(context, value, bound, owner) for value in args]
    named = {name: mapped(context, value, bound, owner) for name, value in kwargs.items()}
    kept = separate_copies.kept(context, shared, copies)
    objects = [each for value in (*positional, *named.values()) for each in objects_in(context, value)]
    name = call_changes.keep_copies(context, copies, objects)
    cells, numbers = set(context.state.store), set(context.state.heap)
    value = dispatch.call(context, function, positional, named)
    is_new = _is_new(context, value, cells | call_changes.cells_of_copies(context, name), numbers)
    result = plain_result(context, value)
    separate_copies.require_unwritten(context, kept, name_of_value(function))
    return result, [contents(context, leaf) for leaf in result_leaves(context, result)], name, is_new


def _is_new(context: Context, value: Value, cells: set[int], objects: set[int]) -> bool:
    """Whether the arrays and containers in a result are not among those, and each occurs once. A list that a loop fills
    is assumed not to be the callee's own."""
    if _holds_grown(context, value):
        return False
    arrays = [leaf for leaf in leaves_of(context, value) if isinstance(leaf, Ref)]
    found = [cell for array in arrays for cell in separate_copies.cells_of(array)]
    containers = [each.number for each in objects_in(context, value)]
    are_apart = len(set(found)) == len(found) and len(set(containers)) == len(containers)
    return are_apart and cells.isdisjoint(found) and objects.isdisjoint(containers)


def _holds_grown(context: Context, value: Value) -> bool:
    """Whether a value contains a list that a loop fills."""
    value = context.use(value)
    items: Sequence[Value] = value.items if isinstance(value, Tuple) else ()
    if isinstance(value, Object):
        entry = context.as_is(value)
        if entry.growth is not None:
            return True
        items = entry.items
    return any(_holds_grown(context, item) for item in items)


def close(block: Block) -> list[SSAValue]:
    """Turn the values that a block uses from outside into arguments of it; returns those values, in order."""
    captured: dict[SSAValue, SSAValue] = {}
    inside: set[Block | None] = {block}
    ops = [each for op in ops_of(block) for each in (op, *ops_inside(op))]
    for op in ops:
        for region in op.regions:
            inside.update(region.blocks)
    for op in ops:
        for number, operand in enumerate(op.operands):
            home = operand.block if isinstance(operand, BlockArgument) else operand.owner.parent
            if home in inside:
                continue
            if operand not in captured:
                captured[operand] = block.insert_arg(operand.type, len(block.args))
            op.operands[number] = captured[operand]
    return list(captured)


def name_of_value(function: Value) -> str:
    if isinstance(function, Closure | Bound):
        return function.name
    if isinstance(function, Transformed):
        return f"{type(function.request).__qualname__.lower()}_{name_of_value(function.function)}"
    return name_of(function.value) if isinstance(function, Static) else "function"
