"""The part of the caller's state that a called function can see, and the state that a call leaves.

Reads: states. Writes: nothing. Leaves: a Seen with a description that says when two calls may share one function; an
Ended, which puts the function's results into the state of any caller.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, SSAValue

from mlirad.dialect.core.expr import Expr
from mlirad.frontend.values.descriptions import Skeleton, describe, layouts
from mlirad.frontend.values.origins import state_with_origins
from mlirad.frontend.values.sizes import shape_of
from mlirad.frontend.values.state import State
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.value_parts import Renaming, without_snapshots
from mlirad.frontend.values.values import Alternative, Object, Ref, Value
from mlirad.frontend.values.views.view import View

# In frame 0 of a called function's state, these names hold the caller's cells and objects, so they are found at the end
# whatever a loop renames them to. FUNCTION keeps alive what the function itself sees.
CELL, OBJECT, FUNCTION = "$cell", "$object", "$function"


@dataclass(frozen=True, eq=False)
class Seen:
    """The part of a state that a call sees. `state`: its arguments are the operands, and each SSA value in it is one of
    `parameters`, in one place only; `operands`: the values of the parameters at this call. numbers: the cells and
    objects, in the order met."""

    state: State
    description: Hashable
    parameters: tuple[SSAValue, ...]
    operands: tuple[SSAValue, ...]
    numbers: tuple[int, ...]

    @staticmethod
    def of(state: State, origins: frozenset[Hashable]) -> Seen:
        """`state`: trimmed to what the call sees. Its numbers get the origins `origins`."""
        scratch = Block()
        given: dict[SSAValue, SSAValue] = {}

        def placeholder(value: SSAValue) -> SSAValue:
            made = scratch.insert_arg(value.type, len(scratch.args))
            given[made] = value
            return made

        own = state_with_origins(state, lambda _: origins).mapped(without_snapshots).renamed(placeholder)
        skeleton = Skeleton.of(own)
        operands = tuple(given[value] for value in skeleton.values)
        return Seen(own, skeleton.description, skeleton.values, operands, skeleton.numbers)

    def entered(self, arguments: Sequence[SSAValue]) -> State:
        """The state in which the function begins, with these arguments."""
        values = dict(zip(self.parameters, arguments, strict=True))
        state = self.state.renamed(values.__getitem__).fork()
        roots = state.frames.setdefault(0, {})
        for index, number in enumerate(self.numbers):
            if number in state.store:
                cell = state.store[number]
                view = View.of(shape_of(cell), Traced(cell).dtype)
                roots[f"{CELL} {index}"] = Ref((Alternative(number, view),))
            else:
                roots[f"{OBJECT} {index}"] = Object(number)
        return state


class Ambiguous(Exception):
    """It depends on data which of the caller's arrays an array is."""


@dataclass(frozen=True, eq=False)
class Ended:
    """What a called function leaves. state: its result (the one operand), the captured frames, and everything they
    refer to.

    own: the caller's cells and objects, by their numbers in `state`, each with its place among the numbers of a Seen.
    parameters: the places of the function's arguments that are unchanged in `state`; results: all other values.
    contents: the final contents of the caller's cells, by place.
    """

    state: State
    description: Hashable
    own: dict[int, int]
    parameters: dict[SSAValue, int]
    results: tuple[SSAValue, ...]
    contents: dict[int, Expr]

    @staticmethod
    def of(
        seen: Seen,
        state: State,
        arguments: Sequence[SSAValue],
        origins: frozenset[Hashable],
        read: Callable[[Ref], Expr],
    ) -> Ended:
        """`state`: the final state, with the result as its operand. read: emits the contents of an array. Raises
        Ambiguous."""
        state = state_with_origins(state, lambda _: origins).mapped(without_snapshots)
        own: dict[int, int] = {}
        contents: dict[int, Expr] = {}
        unclear: set[int] = set()
        for index in range(len(seen.numbers)):
            root = state.frames[0].get(f"{OBJECT} {index}")
            if isinstance(root, Object):
                own[root.number] = index
                continue
            root = state.frames[0][f"{CELL} {index}"]
            assert isinstance(root, Ref)
            if root.selector is None:
                own[root.alternatives[0].cell] = index
                contents[index] = state.store[root.alternatives[0].cell]
            else:
                contents[index] = read(root)
                unclear.update(alternative.cell for alternative in root.alternatives)
        parameters = {argument: index for index, argument in enumerate(arguments)}
        results: dict[SSAValue, int] = {}
        met: dict[int, int] = {}
        waiting: list[int] = list(own)

        def name(value: SSAValue) -> Hashable:
            if value in parameters:
                return "parameter", parameters[value]
            return "result", results.setdefault(value, len(results)), str(value.type)

        def number(each: int) -> Hashable:
            if each in unclear:
                raise Ambiguous
            if each in own:
                return "own", own[each]
            if each not in met:
                met[each] = len(met)
                waiting.append(each)
            return "new", met[each]

        places = [(place, value) for place, value in state.places() if not is_root(place)]
        described: list[Hashable] = [(place, describe(value, name, number), layouts(value)) for place, value in places]
        described.append(tuple((index, name(cell.value)) for index, cell in contents.items()))
        for each in waiting:  # which grows: the contents of an object are appended to it
            if each in state.heap:
                entry = state.heap[each]
                items = tuple((describe(item, name, number), layouts(item)) for item in entry.items)
                described.append((entry.kind, entry.keys, entry.poison is not None, entry.borrowed, items))
            elif each not in own:
                described.append(name(state.store[each].value))
        return Ended(state, tuple(described), own, parameters, tuple(results), contents)

    def written(self, state: State, seen: Seen) -> set[int]:
        """The cells of the caller's state that the call changes."""
        found: set[int] = set()
        for index, expr in self.contents.items():
            place = self.parameters.get(expr.value)
            cell = seen.numbers[index]
            if place is None or seen.operands[place] is not state.store[cell].value:
                found.add(cell)
        return found

    def into(
        self, state: State, seen: Seen, results: Sequence[SSAValue], fresh: Callable[[], int]
    ) -> tuple[Value, State]:
        """The value of a call that saw `seen`, and the state after it; `results`: the results of the call op."""
        given: dict[SSAValue, SSAValue] = {value: seen.operands[index] for value, index in self.parameters.items()}
        given.update(zip(self.results, results, strict=True))
        numbers: dict[int, int] = {number: seen.numbers[index] for number, index in self.own.items()}

        def renumbered(number: int) -> int:
            if number not in numbers:
                numbers[number] = fresh()
            return numbers[number]

        renaming = Renaming(lambda value: given.get(value, value), renumbered, renumbered)
        after = state.fork()
        for frame, names in self.state.frames.items():
            for name, value in names.items():
                if not is_root(("frame", frame, name)):
                    after.frames.setdefault(frame, {})[name] = renaming.value(value)
        (value,) = (renaming.value(value) for value in self.state.temps)
        for index, expr in self.contents.items():
            after.store[seen.numbers[index]] = renaming.expr(expr)
        for number, entry in self.state.heap.items():
            items = tuple(renaming.value(item) for item in entry.items)
            after.heap[renumbered(number)] = dataclasses.replace(entry, items=items)
        for number, expr in self.state.store.items():
            if number in numbers and number not in self.own:
                after.store[numbers[number]] = renaming.expr(expr)
        return value, after


def is_root(place: tuple) -> bool:
    """Whether a place keeps one of the caller's cells or objects for the end."""
    return place[:2] == ("frame", 0) and str(place[2]).startswith((CELL, OBJECT, FUNCTION))
