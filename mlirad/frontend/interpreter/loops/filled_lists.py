"""Loops that append to lists: the lists are put into arrays before the loop, with room for all appended elements.

Reads: the state before a loop, and passes over its body. Writes: arrays before the loop. Leaves: the loop's Outcome, in
which the lists grow.

A list is found to grow when the states before the loop and after an iteration are merged. Then the list is put into
arrays, and the search for the loop's header begins again. The room needed is known when the search has ended: the
number of iterations times what one iteration appends. If it cannot be known before the loop, the arrays are doubled
whenever they are full.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable
from typing import Any

from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building
from mlirad.frontend.interpreter import attempts, grown_lists
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.grown_lists import NeedList
from mlirad.frontend.interpreter.loops.unrolling import UNROLL_LIMIT
from mlirad.frontend.join.append_counts import AppendBound, AppendCounts
from mlirad.frontend.join.carried.loop_header import Loop, Pass
from mlirad.frontend.join.fillings import Filling, Fillings
from mlirad.frontend.join.list_elements import Element, joined
from mlirad.frontend.join.merging.merge import Merge
from mlirad.frontend.join.outcomes import Exit, Outcome
from mlirad.frontend.join.steering import Grows, Unbounded
from mlirad.frontend.values import affine, known_facts
from mlirad.frontend.values.poison import PoisonUsed
from mlirad.frontend.values.state import State
from mlirad.frontend.values.traced import DATA, Traced, origins_of
from mlirad.frontend.values.values import Entry, Growth, Static

# How many times a loop may be found to grow further lists.
TRIES = 12
# The initial number of elements with room, if the final number is unknown.
ROOM = 8


def filling(context: Context, loop: Loop, search: Callable[[], Outcome]) -> Outcome:
    """The result of `search`, with the lists that the loop appends to in arrays."""
    attempt, covered, outer = attempts.begin(context), set(context.covered), context.fillings
    wanted: dict[int, Element] = {}
    unbounded: set[int] = set()
    for _ in range(TRIES):
        try:
            # Facts found in an abandoned try may refer to values that no longer exist.
            with known_facts.scope():
                made = [filled(context, loop, number, element) for number, element in wanted.items()]
                context.fillings = Fillings(made)
                context.doubling.update(each.number for each in made if each.place in unbounded)
                outcome = search()
                fill(context, context.fillings, context.appended)  # in case it turned out to be no loop
            return outcome
        except Grows as found:
            entry = attempt.state.heap.get(found.number)
            if entry is None or entry.poison is not None or entry.kind is not list or entry.borrowed is not None:
                raise PoisonUsed(found.poison) from None
            before = wanted.get(found.number)
            element = found.element if before is None else joined(before, found.element)
            if element is None:
                raise PoisonUsed(dataclasses.replace(found.poison, grows=None)) from None
            wanted[found.number] = element
        except Unbounded as found:
            unbounded.add(found.place)
        finally:
            context.covered, context.fillings = set(covered), outer
        attempts.begin_again(context, attempt)
    with context.at(loop.node):
        why = "this loop appends to a list and changes it in other ways too"
        refusal = context.refusal(why, "only append to it, or use an array and a count")
    raise NeedList({("loop", loop.key)}, "the use of a list that it appends to", refusal)


def filled(context: Context, loop: Loop, number: int, element: Element) -> Filling:
    """Put a list into arrays."""
    entry = context.state.heap[number]
    is_decided = loop.key in context.decided_by_run
    growth = Growth(element, context.fresh(), None if is_decided else loop.key, not is_decided and may_unroll(loop))
    count = len(entry.items) if entry.growth is None else grown_lists.count_of(entry)
    last = context.current_block.last_op
    capacity = Expr(Block(arg_types=[types.I64]).args[0])
    grown = grown_lists.with_room(context, entry, growth, capacity)
    context.state.heap[number] = grown
    context.covered.add(growth.number)
    first = context.current_block.first_op if last is None else last.next_op
    assert first is not None
    return Filling(number, growth.number, capacity, count.expr if isinstance(count, Traced) else count, first)


def fill(context: Context, fillings: Fillings, appended: AppendCounts) -> dict[int, AppendBound]:
    """Give the arrays their capacity. appended: what the loop appends. Returns the lengths known afterwards."""
    lengths: dict[int, AppendBound] = {}
    for each in () if fillings.done else fillings.lists:
        bound = appended.of(each.number)
        if each.number in context.doubling:
            bound = AppendBound(ROOM, False)
        if bound.most is None:
            raise Unbounded(each.place)
        later = _results_from(each.first)
        with building(InsertPoint.before(each.first)):
            most = affine.recomputed(bound.most, lambda value, later=later: value not in later)
            if most is None:
                raise Unbounded(each.place)
            total = affine.add(each.start, most)
            each.capacity.value.replace_all_uses_with(affine.as_expr(total).value)
        lengths[each.number] = AppendBound(total, bound.is_exact)
    fillings.done = True
    return lengths


def after_filling(context: Context, loop: Loop, made: Pass, outcome: Outcome) -> Outcome:
    """The outcome of a loop whose op has been emitted: `made` is the pass over its body."""
    own = {each.number for each in context.fillings.lists}
    trips = loop.length.expr if isinstance(loop.length, Traced) else loop.length
    bounds = {number: bound.times(trips, loop.leaves) for number, bound in made.appended.bounds.items()}
    lengths = fill(context, context.fillings, AppendCounts(bounds))
    others = {number: bound for number, bound in bounds.items() if number not in own}
    context.appended = context.appended.then(AppendCounts(others))
    state = outcome.states.get(Exit.NEXT)
    if state is not None:
        origins = loop.length.origins if isinstance(loop.length, Traced) else frozenset()
        with_lengths(state, lengths, origins, ("loop", loop.key))
    return outcome


def with_lengths(state: State, lengths: dict[int, AppendBound], origins: frozenset, own: Hashable) -> None:
    """Replace the lengths counted by a loop by known ones.

    origins: those of the trip count. own: the loop as an origin, which the lengths do not depend on.
    """
    for number, entry in state.heap.items():
        bound = lengths.get(entry.growth.number) if entry.growth is not None else None
        if bound is None or not bound.is_exact or bound.most is None:
            continue
        most = affine.simplified(bound.most)
        counted = origins | (origins_of(entry.items[0]) - {own})
        length = Static(most) if isinstance(most, int) else Traced(most, weak=True, origins=counted)
        state.heap[number] = dataclasses.replace(entry, items=(length, *entry.items[1:]))


def require_known_lists(entry: State, merge: Merge, merged: State) -> None:
    """Raise Grows for a list that gets longer in an iteration."""
    for number, (before, _) in merge.paired.objects.sides.items():
        poison = merged.heap[number].poison
        if poison is not None and poison.grows is not None and before is not None:
            old: Entry = entry.heap[before]
            if old.poison is None:
                raise Grows(before, poison.grows[1], poison)


def _results_from(op: Operation) -> set[SSAValue]:
    """The results of an op and of all later ops in its block."""
    found: set[SSAValue] = set()
    current: Operation | None = op
    while current is not None:
        found.update(current.results)
        current = current.next_op
    return found


def may_unroll(loop: Loop) -> bool:
    """Whether unrolling a loop may be tried: it has few iterations, or a number that depends only on arguments."""
    length: Any = loop.length
    if isinstance(length, Traced):
        return DATA not in length.origins
    return length is None or length <= UNROLL_LIMIT
