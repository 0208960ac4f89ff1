"""Functions of their own for what is differentiated: a private func.func, made by interpreting the callee.

Reads: a function value and its arguments. Writes: a func.func into the module. Leaves: its symbol, the operands of a
call of it, and how its results are put together.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue

from mlirad.analysis.loops import yields
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, insert
from mlirad.frontend.interpreter import dispatch, storage
from mlirad.frontend.interpreter.calls import call_changes, recursion, separate_copies
from mlirad.frontend.interpreter.calls.call_changes import Changes, Mutables
from mlirad.frontend.interpreter.calls.separate_copies import SharedArgument
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.grown_lists import buffers_of, is_short, list_in_arrays
from mlirad.frontend.join.join_columns import discard
from mlirad.frontend.join.steering import Bottom
from mlirad.frontend.values import known_facts, numpy_strides, sizes
from mlirad.frontend.values.state import reached
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import (
    Bound,
    Closure,
    Entry,
    Growth,
    Object,
    Owner,
    Ref,
    Static,
    Transformed,
    Tuple,
    Value,
    kind_of,
)
from mlirad.requests.python_functions import name_of
from mlirad.tree import GeneratorParts, SparseParts
from mlirad.xdsl_support.traversal import ops_inside, ops_of


@dataclass(frozen=True, eq=False)
class MadeObject:
    """A list, dict or dataclass in a plain result."""

    kind: type
    keys: tuple[Hashable, ...]
    items: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class InArrays:
    """A list that loops have filled, in a plain result. parts: its length, and the array of each leaf of its elements,
    whose length only the run knows."""

    growth: Growth
    parts: tuple[Static | Traced, ...]


# A result without its heap.
Plain = MadeObject | InArrays | Tuple | Ref | Traced | Static


@dataclass(frozen=True, eq=False)
class Outlined:
    """A callee. operands: of a call of it. inputs: for each leaf of the arguments, the number of its operand, None if
    it is static. result: what it gives; the arrays and numbers in it are `leaves`, the callee's first results in order.
    changes: what it changes of the caller's state, which its further results are for. is_new: whether no part of the
    result is, or is a view of, an array or container that was there before the call, or another part."""

    callee: func.FuncOp
    operands: tuple[SSAValue, ...]
    inputs: tuple[int | None, ...]
    result: Plain
    leaves: tuple[Ref | Traced, ...]
    changes: Changes | None
    is_new: bool


# Pytrees of values.


def leaves_of(context: Context, value: Value) -> Iterator[Value]:
    """The leaves of a value, as `mlirad.tree` orders them."""
    value = context.use(value)
    if isinstance(value, Tuple):
        for item in value.items:
            yield from leaves_of(context, item)
    elif isinstance(value, Object):
        for item in storage.entry_of(context, value).items:
            yield from leaves_of(context, item)
    else:
        yield value


def mapped(
    context: Context,
    value: Value,
    function: Callable[[Value], Value],
    owner: Callable[[Object], Owner | None] | None = None,
    has_patterns: bool = False,
) -> Value:
    """A value of the same structure with other leaves; its lists, dicts and dataclasses are new. owner: of each.

    has_patterns: the index arrays of sparse matrices stay as they are.
    """
    value = context.use(value)
    if isinstance(value, Tuple):
        items = tuple(mapped(context, item, function, owner, has_patterns) for item in value.items)
        return Tuple(items, value.kind)
    if isinstance(value, Object):
        entry = storage.entry_of(context, value)
        first = 1 if has_patterns and isinstance(entry.keys, SparseParts) else len(entry.items)
        changed = (mapped(context, item, function, owner, has_patterns) for item in entry.items[:first])
        items = (*changed, *entry.items[first:])
        return context.new_object(Entry(entry.kind, entry.keys, items, None if owner is None else owner(value)))
    return function(value)


def owner_of_copy(context: Context, value: Object) -> Owner:
    """The owner of a copy of a list, dict or dataclass."""
    entry = storage.entry_of(context, value)
    owner = entry.borrowed or Owner(f"a copy of a {entry.kind.__name__}")
    return dataclasses.replace(owner, of=original(context, value))


def original(context: Context, value: Object) -> int:
    """What a list, dict or dataclass is a copy of; itself, if it is none."""
    owner = context.state.heap[value.number].borrowed
    return value.number if owner is None or owner.of is None else owner.of


def objects_in(context: Context, value: Value) -> Iterator[Object]:
    """The lists, dicts and dataclasses in a value."""
    value = context.use(value)
    if isinstance(value, Object):
        yield value
    items = (
        storage.entry_of(context, value).items
        if isinstance(value, Object)
        else value.items
        if isinstance(value, Tuple)
        else ()
    )
    for item in items:
        yield from objects_in(context, item)


def contents(context: Context, value: Ref | Traced) -> Expr:
    """What a leaf is as an operand or a result: a tensor of an array, a scalar of a number."""
    return context.read(value).contents if isinstance(value, Ref) else value.expr


def contents_type(leaf: Ref | Traced) -> Attribute:
    """The type of the contents of a leaf of a plain result."""
    if isinstance(leaf, Traced):
        return leaf.expr.type
    return types.tensor(sizes.pattern(leaf.shape), types.from_dtype(leaf.dtype))


def like(context: Context, leaf: Ref | Traced, expr: Expr, strides: tuple[int, ...] | None = None) -> Value:
    """A new value of the kind of `leaf`: a C-contiguous array, if no strides are given."""
    if isinstance(leaf, Ref):
        return context.new_array(expr, strides, tuple(leaf.shape) if sizes.is_static(leaf.shape) else None)
    return dataclasses.replace(leaf, expr=expr)


def copy_of(context: Context, leaf: Ref | Traced, expr: Expr) -> Value:
    """A copy of an argument, which is to the function what the argument is: as to its layout too."""
    if isinstance(leaf, Traced):
        return like(context, leaf, expr)
    made = context.new_array(expr, numpy_strides.strides_of_all(leaf), leaf.shape)
    (alternative,) = made.alternatives
    readonly = all(each.view.readonly for each in leaf.alternatives)
    view = dataclasses.replace(alternative.view, readonly=readonly)
    return Ref((dataclasses.replace(alternative, view=view),))


# Outlining.


def outline(
    context: Context,
    function: Value,
    args: Sequence[Value],
    kwargs: dict[str, Value],
    callers: Sequence[Value] | None = None,
) -> Outlined:
    """Interpret a call as a function of its own, to which the arguments are passed as they are now.

    callers: all arguments as the caller has them, where those given are copies of them.
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
        # It certainly raises: what it does before that is done here, and there is nothing to differentiate.
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
    """The results of a call or request of a callee, once what it changes has taken place."""
    found = [Expr(result) for result in results]
    if outlined.changes is None:
        return iter(found)
    first = len(outlined.leaves)
    last = first + len(outlined.changes.results)
    call_changes.take_over(context, outlined.changes, found[first:last])
    return iter([*found[:first], *found[last:]])


def require_sizes(context: Context, result: Any, name: str) -> None:
    """What a function gives that is differentiated has shapes that are known, or depend on data."""
    for leaf in result_leaves(context, result):
        if not isinstance(leaf, Ref):
            continue  # a number, or of a list
        try:
            sizes.require_known(leaf.shape, f"the shape of what {name} returns")
        except sizes.NeedStatic as need:
            need.place(context.returned.get(name, context.location))
            raise


def callee_of(context: Context, name: str, block: Block, leaves: Sequence[Expr]) -> tuple[func.FuncOp, list[SSAValue]]:
    """The function with this body, and what it takes, besides the arguments, from the code around it."""
    with building(block):
        insert(func.ReturnOp(*(leaf.value for leaf in leaves)))
    captured = close(block)
    return private_function(context, name, block), captured


def private_function(context: Context, name: str, block: Block) -> func.FuncOp:
    """A function of the module with this body, which uses nothing of the code around it."""
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
    """The result of a call on the arguments of `block`, the contents of its leaves, where its copies are, and whether
    all of it is new."""
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
        return Owner(f"one of two copies of what is one {kind}", copy.of, is_shared=True)

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
    """Whether the arrays and containers in a result are none of those, and each stands in it once. A list that a loop
    fills is taken as none of the callee's own."""
    if _holds_grown(context, value):
        return False
    arrays = [leaf for leaf in leaves_of(context, value) if isinstance(leaf, Ref)]
    found = [cell for array in arrays for cell in separate_copies.cells_of(array)]
    containers = [each.number for each in objects_in(context, value)]
    are_apart = len(set(found)) == len(found) and len(set(containers)) == len(containers)
    return are_apart and cells.isdisjoint(found) and objects.isdisjoint(containers)


def _holds_grown(context: Context, value: Value) -> bool:
    """Whether a list that a loop fills is in a value."""
    value = context.use(value)
    items: Sequence[Value] = value.items if isinstance(value, Tuple) else ()
    if isinstance(value, Object):
        entry = context.as_is(value)
        if entry.growth is not None:
            return True
        items = entry.items
    return any(_holds_grown(context, item) for item in items)


def plain_result(context: Context, value: Value) -> Any:
    """A result with its containers taken out of the heap of the callee's state."""
    value = context.use(value)
    if isinstance(value, Tuple):
        return Tuple(tuple(plain_result(context, item) for item in value.items), value.kind)
    if isinstance(value, Object):
        grown = context.grown(value)
        if grown is not None and grown.growth is not None and not is_short(grown):
            length = grown.items[0]
            assert isinstance(length, Static | Traced)
            return InArrays(grown.growth, (length, *map(Traced, buffers_of(grown))))
        entry = storage.entry_of(context, value)
        return MadeObject(entry.kind, entry.keys, tuple(plain_result(context, item) for item in entry.items))
    if isinstance(value, Ref | Traced | Static):
        return value
    raise context.refusal(f"a function that is differentiated returns {kind_of(value)}", "return arrays and numbers")


def result_leaves(context: Context, value: Any, with_static: bool = False) -> Iterator[Any]:
    """The arrays and traced numbers of a plain result, and what is static in it too if asked for."""
    if isinstance(value, MadeObject | Tuple):
        for item in value.items:
            yield from result_leaves(context, item, with_static)
    elif isinstance(value, InArrays):
        for part in value.parts:
            yield from result_leaves(context, part, with_static)
    elif with_static or isinstance(value, Ref | Traced):
        yield value


def rebuilt(
    context: Context, value: Any, results: Iterator[Expr], *, is_row_major: bool = False, has_patterns: bool = False
) -> Value:
    """A plain result in the caller's state, its leaves made of `results`, with the layouts that they have in it.

    has_patterns: the index arrays of sparse matrices are copies of those in it.
    """
    if has_patterns and isinstance(value, MadeObject) and isinstance(value.keys, SparseParts):
        numbers, *places = value.items
        items = (
            rebuilt(context, numbers, results, is_row_major=is_row_major),
            *(copied(context, each) for each in places),
        )
        return context.new_object(Entry(value.kind, value.keys, items))
    if isinstance(value, MadeObject | Tuple):
        items = tuple(
            rebuilt(context, item, results, is_row_major=is_row_major, has_patterns=has_patterns)
            for item in value.items
        )
        if isinstance(value, Tuple):
            return Tuple(items, value.kind)
        return context.new_object(Entry(value.kind, value.keys, items))
    if isinstance(value, InArrays):
        length, *arrays = (
            like(context, part, next(results)) if isinstance(part, Traced) else part for part in value.parts
        )
        arrays = [each.expr for each in arrays if isinstance(each, Traced)]
        return context.new_object(list_in_arrays(own(context, value.growth), length, arrays))
    if isinstance(value, Ref):
        contents = next(results)
        if is_row_major:
            return like(context, value, contents)
        if not sizes.is_static(value.shape):  # its sizes are values of the callee
            strides = None if value.ndim < 2 else numpy_strides.unknown_strides(sizes.shape_of(contents))
            return like(context, value, contents, strides)
        return like(context, value, contents, numpy_strides.strides_of_all(value))
    return like(context, value, next(results)) if isinstance(value, Traced) else value


def own(context: Context, growth: Growth) -> Growth:
    """Of arrays of their own: loops count by their number what is appended to them."""
    return dataclasses.replace(growth, number=context.fresh())


def opaque_kind_in(context: Context, value: Value) -> str | None:
    """The class of a sparse matrix, or of a random generator, in a value."""
    entries = (storage.entry_of(context, each) for each in objects_in(context, value))
    opaque = (entry.kind.__name__ for entry in entries if isinstance(entry.keys, SparseParts | GeneratorParts))
    return next(opaque, None)


def opaque_kind_in_result(value: Any) -> str | None:
    """The class of a sparse matrix, or of a random generator, in a plain result."""
    if isinstance(value, MadeObject) and isinstance(value.keys, SparseParts | GeneratorParts):
        return value.kind.__name__
    inner = value.items if isinstance(value, MadeObject | Tuple) else ()
    return next(filter(None, map(opaque_kind_in_result, inner)), None)


def cotangents(context: Context, value: Any, results: Iterator[Expr]) -> Value:
    """What has the structure of a plain result, of C-contiguous arrays. The patterns of sparse matrices are copied."""
    return rebuilt(context, value, results, is_row_major=True, has_patterns=True)


def copied(context: Context, value: Value) -> Value:
    """A copy of an array."""
    return context.new_array(context.read(value).contents) if isinstance(value, Ref) else value


def close(block: Block) -> list[SSAValue]:
    """Make what a block uses of the code around it arguments of it; gives the values outside, in order."""
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
