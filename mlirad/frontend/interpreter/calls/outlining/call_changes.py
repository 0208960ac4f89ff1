"""The changes that a differentiated function makes to its caller's state: further results, put in place after the call.

Reads: the state where such a function ends. Writes: nothing. Leaves: Changes.

Such a function takes copies of the arrays and containers in its arguments, and uses the rest of the caller's state
directly. After the call, writes to a copy are repeated in the argument, and the rest of its state replaces the
caller's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, OpResult, SSAValue

from mlirad.dialect.core.expr import Expr
from mlirad.errors import DifferentiationError
from mlirad.frontend.interpreter import storage
from mlirad.frontend.interpreter.calls.outlining.separate_copies import COPY, cells_of
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.values.descriptions import describe, is_same
from mlirad.frontend.values.poison import Poison
from mlirad.frontend.values.state import State, reached
from mlirad.frontend.values.value_parts import Renaming, parts_of, with_leaves
from mlirad.frontend.values.values import Alternative, Entry, Object, Ref, Tuple, Value

_COPIES = f"{COPY}of all "


@dataclass(frozen=True, eq=False)
class Mutables:
    """The arrays and containers in the arguments of a call, in one order.

    arrays, objects: those of the caller. active: the objects as passed, either the caller's or copies.
    """

    arrays: tuple[Ref, ...]
    objects: tuple[Object, ...]
    active: tuple[Object, ...]

    @property
    def value(self) -> Tuple:
        """The same as an operand, which follows changes that the call makes to the state."""
        return Tuple((Tuple(self.arrays), Tuple(self.objects), Tuple(self.active)))

    @staticmethod
    def of(value: Value) -> Mutables:
        assert isinstance(value, Tuple)
        arrays, objects, active = (part.items for part in value.items if isinstance(part, Tuple))
        return Mutables(
            tuple(each for each in arrays if isinstance(each, Ref)),
            tuple(each for each in objects if isinstance(each, Object)),
            tuple(each for each in active if isinstance(each, Object)),
        )


@dataclass(frozen=True, eq=False)
class Changes:
    """What a call changes, in terms of the values inside the called function.

    state: the caller's new state, with the arguments as its last operand. arrays: the new contents of passed arrays.
    replaced: passed arrays that were written, and are other cells in `state`. entries: the new items of objects. All
    three use the numbers in Mutables. operands: the values outside of the function's arguments. results: the values
    inside that are further results of the function.
    """

    state: State
    arrays: dict[int, Expr]
    replaced: frozenset[int]
    entries: dict[int, Entry]
    operands: Mapping[SSAValue, SSAValue]
    results: tuple[SSAValue, ...]


def keep_copies(context: Context, arrays: Sequence[Ref], objects: Sequence[Object]) -> str:
    """Keep alive the copies with which a function is interpreted. Returns their name in frame 0."""
    name = f"{_COPIES}{context.fresh()}"
    context.state.frames.setdefault(0, {})[name] = Tuple((Tuple(tuple(arrays)), Tuple(tuple(objects))))
    return name


def cells_of_copies(context: Context, copies: str) -> set[int]:
    """The present cells of the arrays among the copies."""
    held = context.state.frames[0][copies]
    assert isinstance(held, Tuple) and isinstance(held.items[0], Tuple)
    return {cell for copy in held.items[0].items if isinstance(copy, Ref) for cell in cells_of(copy)}


def changes_of_call(
    context: Context,
    before: State,
    copies: str,
    operands: Mapping[SSAValue, SSAValue],
    starts: Sequence[SSAValue],
    block: Block,
    function: str,
) -> Changes | None:
    """The changes of the call that ends in the present state; None if there are none. `before`: the state it began in.

    copies: see `keep_copies`. operands: the outside value of each argument of `block`, the function's body. starts: the
    initial contents of the copies.
    """
    after = context.state
    held = after.frames[0][copies]
    assert isinstance(held, Tuple)
    for part in held.items:
        assert isinstance(part, Tuple)
        if any(isinstance(copy, Poison) for copy in part.items):
            why = f"which of the caller's lists or arrays is changed in {function} depends on a loop"
            raise context.refusal(why, "give the loop a copy under a name of its own: ys = list(xs), or y = x.copy()")
    inner, passed = Mutables.of(Tuple((*held.items, Tuple(())))), Mutables.of(after.temps[-1])
    arrays = {
        number: contents
        for number, (copy, start) in enumerate(zip(inner.arrays, starts, strict=True))
        if (copies, number) in context.reached_by_writes and (contents := whole(context, copy)).value is not start
    }
    outwards = _Outwards(inner, passed)
    entries = changed_copies(context, inner, passed, outwards, operands)
    if not arrays and not entries and _Comparison(before, after).is_pure:
        return None
    replaced = frozenset(outwards.replaced.intersection(arrays))
    arrays = {number: contents for number, contents in arrays.items() if number not in replaced}
    require_apart(context, before, Mutables.of(before.temps[-1]).arrays, passed.arrays, function)
    frames = {
        number: {
            name: outwards.value(value)
            for name, value in names.items()
            if not name.startswith(COPY) or name in before.frames[number]
        }
        for number, names in after.frames.items()
        if number in before.frames
    }
    heap = {
        number: dataclasses.replace(entry, items=tuple(map(outwards.value, entry.items)))
        for number, entry in after.heap.items()
    }
    state = State(frames, heap, after.store, tuple(map(outwards.value, after.temps)))
    changed = [item for entry in entries.values() for item in entry.items]
    found = reached(state, [*(value for _, value in state.places()), *changed], context.seen_by)
    if outwards.stale & found.cells or any(copy.number in found.objects for copy in inner.objects):
        raise DifferentiationError(
            f"{function} is differentiated, and keeps a view or a part of one of its arguments outside itself",
            context.location,
            "keep a copy of it: x.copy()",
        )
    state.heap = {number: entry for number, entry in heap.items() if number in found.objects}
    state.store = {cell: value for cell, value in after.store.items() if cell in found.cells}
    results = _made_inside(state, changed, list(arrays.values()), block)
    return Changes(state, arrays, replaced, entries, operands, results)


def whole(context: Context, array: Ref) -> Expr:
    """The contents of an array that is not a view of another one."""
    if array.selector is None and array.alternatives[0].view.is_whole:
        return context.state.store[array.alternatives[0].cell]
    return context.read(array).contents


def changed_copies(
    context: Context,
    inner: Mutables,
    passed: Mutables,
    outwards: _Outwards,
    operands: Mapping[SSAValue, SSAValue],
) -> dict[int, Entry]:
    """The items, in the caller's terms, of the containers with copies that have changed."""
    found: dict[int, Entry] = {}
    renaming = Renaming(ssa=lambda value: operands.get(value, value))

    def outer(value: Value) -> Value:
        return renaming.value(outwards.value(value))

    for number, copy in enumerate(inner.objects):
        entry = context.state.heap[copy.number]
        first, mine = (context.state.heap[each[number].number] for each in (passed.active, passed.objects))
        if entry.poison is None and entry.keys == first.keys:
            items = tuple(
                old if is_same(now := outer(item), outer(_outer_of(start, passed))) else now
                for item, start, old in zip(entry.items, first.items, mine.items, strict=True)
            )
            if all(new is old for new, old in zip(items, mine.items, strict=True)):
                continue
        else:
            items = tuple(map(outer, entry.items))
        found[number] = dataclasses.replace(mine, keys=entry.keys, items=items, poison=entry.poison)
    return found


def _outer_of(value: Value, passed: Mutables) -> Value:
    """An item as it is passed, containing the caller's own containers."""
    own = {each.number: mine for each, mine in zip(passed.active, passed.objects, strict=True)}
    return own.get(value.number, value) if isinstance(value, Object) else value


def require_apart(context: Context, before: State, old: Sequence[Ref], new: Sequence[Ref], function: str) -> None:
    """Raise DifferentiationError if a passed array is written in another way than through an argument."""
    for a, b in zip(old, new, strict=True):
        contents = {before.store[cell].value for cell in cells_of(a)}
        if contents != {context.state.store[cell].value for cell in cells_of(b)}:
            raise DifferentiationError(
                f"{function} is differentiated, and writes an array of the code around it that shares memory with "
                f"one of its arguments",
                context.location,
                "pass a copy of it: x.copy()",
            )


def take_over(context: Context, changes: Changes, results: Sequence[Expr]) -> None:
    """Apply the changes of the call to the present state; `results`: its further results."""
    given = dict(changes.operands)
    given.update((inside, result.value) for inside, result in zip(changes.results, results, strict=True))
    renaming = Renaming(ssa=lambda value: given.get(value, value))
    context.state = changes.state.renamed(lambda value: given.get(value, value))
    for number in changes.replaced:
        storage.note_write(context, cells_of(Mutables.of(context.state.temps[-1]).arrays[number]))
    for number, contents in changes.arrays.items():
        array = Mutables.of(context.state.temps[-1]).arrays[number]
        storage.require_writable(context, array)
        storage.write(context, array, renaming.expr(contents))
    for number, entry in changes.entries.items():
        target = Mutables.of(context.state.temps[-1]).objects[number]
        items = tuple(renaming.value(item) for item in entry.items)
        storage.change(context, target, dataclasses.replace(entry, items=items))
    context.pop()


class _Outwards:
    """Maps values to their counterparts outside a function: its copies become the caller's own.

    If a loop has put other arrays in a container, it depends on the run which array a copy is. Then the caller's own
    becomes that array, for the caller too (`replaced`: its number).
    """

    def __init__(self, inner: Mutables, passed: Mutables):
        pairs = zip(inner.objects, passed.objects, strict=True)
        self._objects = {copy.number: own for copy, own in pairs}
        self._arrays: dict[int, Ref] = {}
        self.replaced: set[int] = set()
        self._unclear: set[int] = set()
        for number, (copy, own) in enumerate(zip(inner.arrays, passed.arrays, strict=True)):
            if copy.selector is None and copy.alternatives[0].view.is_whole:
                self._arrays[copy.alternatives[0].cell] = own
            elif own.selector is None and own.alternatives[0].view.is_whole:
                self._arrays[own.alternatives[0].cell] = copy
                self.replaced.add(number)
            else:
                self._unclear |= cells_of(copy)

    @property
    def stale(self) -> set[int]:
        """Cells that nothing outside may view any more."""
        return self._unclear.union(self._arrays)

    def value(self, value: Value) -> Value:
        return with_leaves(value, self._leaf)

    def _leaf(self, leaf: Value) -> Value:
        if isinstance(leaf, Object):
            return self._objects.get(leaf.number, leaf)
        return self._array(leaf) if isinstance(leaf, Ref) else leaf

    def _array(self, array: Ref) -> Ref:
        """The array's counterpart; unchanged if it is a choice between arrays that are choices themselves."""
        known = self._arrays
        met = [known[each.cell] for each in array.alternatives if each.cell in known]
        if not met:
            return array
        if len(array.alternatives) == 1:
            made = [Alternative(each.cell, each.view.then(array.alternatives[0].view)) for each in met[0].alternatives]
            return Ref(tuple(made), met[0].selector)
        if any(own.selector is not None for own in met):
            return array
        made = [
            Alternative((first := known[each.cell].alternatives[0]).cell, first.view.then(each.view))
            if each.cell in known
            else each
            for each in array.alternatives
        ]
        return (
            array
            if len({(each.cell, each.view.lens) for each in made}) < len(made)
            else Ref(tuple(made), array.selector)
        )


def _made_inside(state: State, values: Sequence[Value], contents: Sequence[Expr], block: Block) -> tuple[SSAValue, ...]:
    """All these values that are computed in a block, each once."""
    found: dict[SSAValue, None] = {}

    def note(value: SSAValue) -> SSAValue:
        if isinstance(value, OpResult) and value.op.parent_block() is block:
            found[value] = None
        return value

    state.renamed(note)
    renaming = Renaming(ssa=note)
    for value in values:
        renaming.value(value)
    for expr in contents:
        renaming.expr(expr)
    return tuple(found)


def is_unchanged(before: State, after: State, *, with_contents: bool = True) -> bool:
    """Whether the values of a state's names are unchanged in another state; arrays with or without contents."""
    names = State(before.frames, before.heap, before.store), State(after.frames, after.heap, after.store)
    return _Comparison(*names, with_contents=with_contents).is_pure


class _Comparison:
    """A comparison of a call's first and last state."""

    def __init__(self, before: State, after: State, *, with_contents: bool = True):
        self._before, self._after = before, after
        self._with_contents = with_contents
        self._cells: dict[int, int] = {}  # cells of one state, by cells of the other
        self._objects: dict[int, int] = {}

    @property
    def is_pure(self) -> bool:
        """Whether everything that existed before is unchanged, including contents if they are compared."""
        pairs = list(zip(self._before.temps, self._after.temps, strict=True))
        for number, names in self._before.frames.items():
            frame = self._after.frames.get(number, {})
            # A missing name was found dead.
            pairs += [(value, frame[name]) for name, value in names.items() if name in frame]
        return all(self._is_unchanged(value, now) for value, now in pairs)

    def _has_same_contents(self, a: int, b: int) -> bool:
        return not self._with_contents or self._before.store[a].value is self._after.store[b].value

    def _is_unchanged(self, a: Value, b: Value) -> bool:
        if isinstance(a, Ref) and isinstance(b, Ref):
            if len(a.alternatives) != len(b.alternatives) or _value(a.selector) is not _value(b.selector):
                return False
            return all(
                x.view.lens == y.view.lens
                and [_value(p) for p in x.view.params] == [_value(p) for p in y.view.params]
                and self._cells.setdefault(x.cell, y.cell) == y.cell
                and self._has_same_contents(x.cell, y.cell)
                for x, y in zip(a.alternatives, b.alternatives, strict=True)
            )
        if isinstance(a, Object) and isinstance(b, Object):
            if self._objects.setdefault(a.number, b.number) != b.number:
                return False
            x, y = self._before.heap[a.number], self._after.heap[b.number]
            if (x.kind, x.keys) != (y.kind, y.keys):
                return False
            return all(self._is_unchanged(p, q) for p, q in zip(x.items, y.items, strict=True))
        parts_a, parts_b = parts_of(a), parts_of(b)
        if parts_a and type(a) is type(b) and len(parts_a) == len(parts_b):
            return all(self._is_unchanged(p, q) for p, q in zip(parts_a, parts_b, strict=True))
        return describe(a, lambda ssa: ssa) == describe(b, lambda ssa: ssa)


def _value(x: Expr | int | None) -> SSAValue | int | None:
    return x.value if isinstance(x, Expr) else x
