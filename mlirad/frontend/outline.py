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
from xdsl.ir import Block, BlockArgument, Region, SSAValue

from mlirad.dialect import types
from mlirad.dialect.expr import Expr, building, insert
from mlirad.dialect.traversal import ops_inside, ops_of
from mlirad.frontend import known, sizes
from mlirad.frontend.captures import CAPTURE
from mlirad.frontend.columns import discard
from mlirad.frontend.core import Bottom
from mlirad.frontend.merge import kind_of
from mlirad.frontend.separate_copies import SeparateCopies, Shared
from mlirad.frontend.state import State, reached
from mlirad.frontend.traced import Traced
from mlirad.frontend.values import (
    Bound,
    Closure,
    Entry,
    Object,
    Owner,
    Ref,
    Static,
    Transformed,
    Tuple,
    Value,
    describe,
    parts_of,
)
from mlirad.requests import name_of


@dataclass(frozen=True, eq=False)
class Made:
    """A list, dict or dataclass in a plain result."""

    kind: type
    keys: tuple[Hashable, ...]
    items: tuple[Any, ...]


# A result without its heap.
Plain = Made | Tuple | Ref | Traced | Static


@dataclass(frozen=True, eq=False)
class Outlined:
    """A callee. operands: of a call of it. inputs: for each leaf of the arguments, the number of its operand, None if
    it is static. result: what it gives; the arrays and numbers in it are `leaves`, the callee's results in order."""

    callee: func.FuncOp
    operands: tuple[SSAValue, ...]
    inputs: tuple[int | None, ...]
    result: Plain
    leaves: tuple[Ref | Traced, ...]


class Outlining(SeparateCopies):
    """`outline(function, args, kwargs)`."""

    # Pytrees of values.

    def leaves(self, value: Value) -> Iterator[Value]:
        """The leaves of a value, as `mlirad.tree` orders them."""
        value = self.use(value)
        if isinstance(value, Tuple):
            for item in value.items:
                yield from self.leaves(item)
        elif isinstance(value, Object):
            for item in self.entry(value).items:
                yield from self.leaves(item)
        else:
            yield value

    def mapped(
        self, value: Value, function: Callable[[Value], Value], owner: Callable[[Object], Owner | None] | None = None
    ) -> Value:
        """A value of the same structure with other leaves; its lists, dicts and dataclasses are new. owner: of each."""
        value = self.use(value)
        if isinstance(value, Tuple):
            return Tuple(tuple(self.mapped(item, function, owner) for item in value.items), value.kind)
        if isinstance(value, Object):
            entry = self.entry(value)
            items = tuple(self.mapped(item, function, owner) for item in entry.items)
            return self.new_object(Entry(entry.kind, entry.keys, items, None if owner is None else owner(value)))
        return function(value)

    def owner_of_copy(self, value: Object) -> Owner:
        """The owner of a copy of a list, dict or dataclass."""
        entry = self.entry(value)
        owner = entry.borrowed or Owner(f"a copy of a {entry.kind.__name__}")
        return dataclasses.replace(owner, of=self.original(value))

    def original(self, value: Object) -> int:
        """What a list, dict or dataclass is a copy of; itself, if it is none."""
        owner = self.state.heap[value.number].borrowed
        return value.number if owner is None or owner.of is None else owner.of

    def objects(self, value: Value) -> Iterator[Object]:
        """The lists, dicts and dataclasses in a value."""
        value = self.use(value)
        if isinstance(value, Object):
            yield value
        items = (
            self.entry(value).items if isinstance(value, Object) else value.items if isinstance(value, Tuple) else ()
        )
        for item in items:
            yield from self.objects(item)

    def contents(self, value: Ref | Traced) -> Expr:
        """What a leaf is as an operand or a result: a tensor of an array, a scalar of a number."""
        return self.read(value).contents if isinstance(value, Ref) else value.expr

    def like(self, leaf: Ref | Traced, expr: Expr) -> Value:
        """A new value of the kind of `leaf`."""
        if isinstance(leaf, Ref):
            return self.new_array(expr, shape=leaf.shape)
        return dataclasses.replace(leaf, expr=expr)

    # Outlining.

    def outline(self, function: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Outlined:
        """Interpret a call as a function of its own; arguments are passed as they are now, and never written."""
        given = [(f"argument {number}", arg) for number, arg in enumerate(args)]
        given += [(f"argument {name!r}", arg) for name, arg in kwargs.items()]
        named = [(name, leaf) for name, value in given for leaf in self.leaves(value)]
        found = [leaf for _, leaf in named]
        traced = [leaf for leaf in found if isinstance(leaf, Ref | Traced)]
        operands = [self.contents(leaf) for leaf in traced]
        positions = iter(range(len(traced)))
        inputs = tuple(next(positions) if isinstance(leaf, Ref | Traced) else None for leaf in found)
        block = Block(arg_types=[operand.type for operand in operands])
        saved, before = self.state, self.state.fork()
        shared = self.shared_among(function, named)
        memory, used, writes = dict(self.memory), self.captures_used, self.writes
        self.captures_used = set()
        self.state = self.state.fork()
        try:
            with building(block), known.scope():
                result, leaves = self.traced_call(function, args, kwargs, block, shared)
        except Bottom:
            # It certainly raises: call it for that.
            self.state = saved
            callee, captured = self.callee(function, block, [])
            insert(func.CallOp(callee.sym_name.data, [*(operand.value for operand in operands), *captured], []))
            raise
        except BaseException:
            discard(block)
            self.state = saved
            raise
        finally:
            self.memory, self.captures_used = memory, used | self.captures_used
            self.writes_copies |= self.writes > writes
        self.require_sizes(result, name_of_value(function))
        after, self.state = self.state, saved
        self.require_pure(before, after, name_of_value(function))
        callee, captured = self.callee(function, block, leaves)
        values = (*(operand.value for operand in operands), *captured)
        return Outlined(callee, values, inputs, result, tuple(self.result_leaves(result)))

    def require_sizes(self, result: Any, name: str) -> None:
        """What a function gives that is differentiated has shapes that are known."""
        for leaf in self.result_leaves(result):
            try:
                sizes.require_static(leaf.shape, f"the shape of what {name} returns")
            except sizes.NeedStatic as need:
                need.__dict__.setdefault("location", self.returned.get(name, self.location))
                raise

    def callee(self, function: Value, block: Block, leaves: Sequence[Expr]) -> tuple[func.FuncOp, list[SSAValue]]:
        """The function with this body, and what it takes, besides the arguments, from the code around it."""
        captured = close(block)
        with building(block):
            insert(func.ReturnOp(*(leaf.value for leaf in leaves)))
        made = func.FuncOp(
            self.symbol(name_of_value(function)),
            FunctionType.from_lists([argument.type for argument in block.args], [leaf.type for leaf in leaves]),
            Region([block]),
            visibility="private",
        )
        made.location = types.to_location(self.location)
        self.functions.append(made)
        return made, captured

    def traced_call(
        self,
        function: Value,
        args: Sequence[Value],
        kwargs: dict[str, Value],
        block: Block,
        shared: Sequence[Shared],
    ) -> tuple[Any, list[Expr]]:
        """The result of a call on the arguments of `block`, and the contents of its leaves."""
        arguments = iter(block.args)
        copies: list[Ref] = []

        def bound(leaf: Value) -> Value:
            made = self.like(leaf, Expr(next(arguments))) if isinstance(leaf, Ref | Traced) else leaf
            if isinstance(made, Ref):
                copies.append(made)
            return made

        around = reached(self.state, [function], self.seen_by).objects
        met = Counter(self.original(each) for each in map(Object, sorted(around)))
        met.update(self.original(each) for value in (*args, *kwargs.values()) for each in self.objects(value))

        def owner(value: Object) -> Owner:
            copy = self.owner_of_copy(value)
            if met[self.original(value)] < 2:
                return copy
            kind = self.entry(value).kind.__name__
            return Owner(f"one of two copies of what is one {kind}", copy.of, is_shared=True)

        positional = [self.mapped(value, bound, owner) for value in args]
        named = {name: self.mapped(value, bound, owner) for name, value in kwargs.items()}
        kept = self.kept(shared, copies)
        result = self.plain_result(self.call(function, positional, named))
        self.require_unwritten(kept, name_of_value(function))
        return result, [self.contents(leaf) for leaf in self.result_leaves(result)]

    def plain_result(self, value: Value) -> Any:
        """A result with its containers taken out of the heap of the callee's state."""
        value = self.use(value)
        if isinstance(value, Tuple):
            return Tuple(tuple(self.plain_result(item) for item in value.items), value.kind)
        if isinstance(value, Object):
            entry = self.entry(value)
            return Made(entry.kind, entry.keys, tuple(self.plain_result(item) for item in entry.items))
        if isinstance(value, Ref | Traced | Static):
            return value
        raise self.refusal(f"a function that is differentiated returns {kind_of(value)}", "return arrays and numbers")

    def result_leaves(self, value: Any, with_static: bool = False) -> Iterator[Any]:
        """The arrays and traced numbers of a plain result, and what is static in it too if asked for."""
        if isinstance(value, Made | Tuple):
            for item in value.items:
                yield from self.result_leaves(item, with_static)
        elif with_static or isinstance(value, Ref | Traced):
            yield value

    def rebuilt(self, value: Any, results: Iterator[Expr]) -> Value:
        """A plain result in the caller's state, its leaves made of `results`."""
        if isinstance(value, Made):
            items = tuple(self.rebuilt(item, results) for item in value.items)
            return self.new_object(Entry(value.kind, value.keys, items))
        if isinstance(value, Tuple):
            return Tuple(tuple(self.rebuilt(item, results) for item in value.items), value.kind)
        return self.like(value, next(results)) if isinstance(value, Ref | Traced) else value

    def require_pure(self, before: State, after: State, name: str) -> None:
        """A differentiated function may not change what it has not made: it would be changed by a copy of it."""
        for number, names in before.frames.items():
            for key, value in names.items():
                # A name that is gone has been found dead.
                now = after.frames.get(number, {}).get(key)
                if now is not None and not is_unchanged(value, now, before, after):
                    hint = "pass it in as an argument, and return what is new"
                    what = key.removeprefix(CAPTURE).strip("$")
                    message = f"{name} is differentiated, and changes {what!r} of the code around it"
                    raise self.refusal(message, hint)


def is_unchanged(a: Value, b: Value, before: State, after: State) -> bool:
    """Whether a value of one state is, contents included, a value of another."""
    if isinstance(a, Ref) and isinstance(b, Ref):
        if len(a.alternatives) != len(b.alternatives) or _value(a.selector) is not _value(b.selector):
            return False
        return all(
            x.view.steps == y.view.steps
            and [_value(p) for p in x.view.params] == [_value(p) for p in y.view.params]
            and before.store[x.cell].value is after.store[y.cell].value
            for x, y in zip(a.alternatives, b.alternatives, strict=True)
        )
    if isinstance(a, Object) and isinstance(b, Object):
        x, y = before.heap[a.number], after.heap[b.number]
        if (x.kind, x.keys) != (y.kind, y.keys):
            return False
        return all(is_unchanged(p, q, before, after) for p, q in zip(x.items, y.items, strict=True))
    parts_a, parts_b = parts_of(a), parts_of(b)
    if parts_a and type(a) is type(b) and len(parts_a) == len(parts_b):
        return all(is_unchanged(p, q, before, after) for p, q in zip(parts_a, parts_b, strict=True))
    return describe(a, lambda ssa: ssa) == describe(b, lambda ssa: ssa)


def _value(x: Expr | int | None) -> SSAValue | int | None:
    return x.value if isinstance(x, Expr) else x


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
