"""Finds the values that a loop carries: a fix-point of merging the states before the loop and after an iteration.

If the text of a loop foresees them (foreseen_writes.py), one pass confirms it; else the search begins with none.

Reads: the state before the loop, and passes over its body. Writes: conversions at the ends of the two blocks that a
merge joins. Leaves: a Header that an iteration does not change, and the pass over the body that began with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field

from xdsl.ir import Operation

from mlirad.dialect.core.expr import building
from mlirad.errors import CompileError
from mlirad.frontend.interpreter import attempts, branches
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.loops import filled_lists, foreseen_writes, loop_ops, unrolling
from mlirad.frontend.join.carried.collapse import collapsed
from mlirad.frontend.join.carried.handed_on import Moves
from mlirad.frontend.join.carried.loop_header import Header, Loop, LoopNumbering, Pass
from mlirad.frontend.join.join_columns import Columns
from mlirad.frontend.join.merging.merge import Merge
from mlirad.frontend.join.outcomes import Exit, Outcome
from mlirad.frontend.join.steering import Grows, NoFixpoint, NotConfirmed, NotEntered
from mlirad.frontend.join.widening import Widening, leaves_of
from mlirad.frontend.values import known_facts
from mlirad.frontend.values.descriptions import Skeleton
from mlirad.frontend.values.origins import dependent, resolved
from mlirad.frontend.values.poison import PoisonUsed
from mlirad.frontend.values.state import Place, State
from mlirad.frontend.values.traced import NeedStatic
from mlirad.frontend.values.values import Ref, kind_of

# How many passes may change more than numbers, for example which arrays are referred to. After PATIENCE such passes,
# the search changes its order (LoopNumbering); after PASSES more than there are places, it gives up.
PATIENCE, PASSES = 4, 8
# If an if joins arrays that could be paired by place, this is tried after so many passes.
SWAPS = 2
# How often the next pass is predicted from the moves of one.
PREDICTIONS = 4


@dataclass
class Search:
    """An unfinished fix-point search. entry: the state before the loop. mark: the last op before it. places: the places
    of numbers that are carried although one iteration leaves them unchanged. moves: how many passes have changed more
    than numbers; moving: the places that the last one changed, and moved: how often each place has changed, in this
    order. sources: the places that predicted places take their values from; predictions: how often there were some.
    has_swapped: whether arrays joined by ifs could be paired by place. begun: `moves` when this order began."""

    loop: Loop
    entry: State
    mark: Operation | None
    places: frozenset[Place] = frozenset()
    moves: int = 0
    passes: int = 0
    moving: set[Place] = field(default_factory=set)
    moved: Counter[Place] = field(default_factory=Counter)
    sources: dict[Place, Place] = field(default_factory=dict)
    predictions: int = 0
    has_swapped: bool = False
    begun: int = 0

    @property
    def size(self) -> int:
        return sum(1 for _ in leaves_of(self.entry))

    @property
    def is_too_long(self) -> bool:
        """Whether there were more passes than places, or one place has changed more often than there are arrays."""
        most = PASSES + self.size
        is_growing = max(self.moved.values(), default=0) > PATIENCE + len(self.entry.store)
        return self.moves > most or self.passes > 4 * most or is_growing

    def note_moves(self, before: Header, after: Header) -> bool:
        """Note which places differ between two headers in more than numbers; returns whether any do."""
        self.moving = places_moved(before, after)
        self.moves += bool(self.moving)
        self.moved.update(self.moving)
        return bool(self.moving)


def places_moved(before: Header, after: Header) -> set[Place]:
    """The places in which two headers differ in more than numbers."""
    old, new = before.apart_from_numbers(), after.apart_from_numbers()
    return {place for place in old.keys() | new.keys() if old.get(place) != new.get(place)}


def rolled(context: Context, loop: Loop) -> Outcome:
    return filled_lists.filling(context, loop, lambda: fixpoint(context, loop))


def fixpoint(context: Context, loop: Loop) -> Outcome:
    attempt = attempts.begin(context)
    search = Search(loop, entry_of(context, loop), context.current_block.last_op)
    outcome = foreseen(context, search, attempt)
    if outcome is not None:
        return outcome
    try:
        return searched(context, search)
    except (NeedStatic, PoisonUsed, CompileError, NotConfirmed):
        if not search.places and not search.predictions:
            raise
    # A carried number may be needed statically. The second search finds one by one which numbers vary.
    context.stepwise.add(loop.key)
    attempts.begin_again(context, attempt)
    return searched(context, Search(loop, entry_of(context, loop), search.mark))


def entry_of(context: Context, loop: Loop) -> State:
    return branches.without_dead(context, context.state, Exit.NEXT, unrolling.header_live(context, loop))


def foreseen(context: Context, search: Search, attempt: attempts.Attempt) -> Outcome | None:
    """The outcome of a loop that one pass understands: it begins with a header foreseen from the text. None if there is
    no such header, or if the pass does not confirm it; the search then begins with nothing widened."""
    loop = search.loop
    skeleton = Skeleton.of(search.entry)
    if loop.key in context.surprising or known_header(context, loop, skeleton) is not None:
        return None
    before = Header.before(loop, search.entry, numbering_of(context, loop))
    imagined = foreseen_writes.pass_of(loop, before, context.frame.number)
    if imagined is None:
        return None
    header = merged_header(context, search, before, imagined, Widening(imagined.start))
    drop(context, search, imagined)
    findings = attempts.findings_of(context)
    try:
        made = resolved_pass(context, loop, header)
        if Exit.NEXT in made.outcome.states:
            merged = merged_header(context, search, header, made, Widening(made.start))
            if foreseen_writes.is_confirmed(header, merged, made):
                return found(context, loop, skeleton, header, merged, made)
        made.discard()
    except (NeedStatic, PoisonUsed, CompileError):
        pass
    context.surprising.add(loop.key)
    attempts.begin_again(context, attempt)
    attempts.forget_since(context, findings)
    return None


def found(context: Context, loop: Loop, skeleton: Skeleton, header: Header, merged: Header, made: Pass) -> Outcome:
    """The outcome of a loop whose header an iteration does not change."""
    context.headers[loop.key] = skeleton, header
    header.origins = merged.origins
    return filled_lists.after_filling(context, loop, made, loop_ops.emit(context, loop, header, merged, made))


def searched(context: Context, search: Search) -> Outcome:
    loop, entry = search.loop, search.entry
    skeleton = Skeleton.of(entry)
    header, previous = guess(context, loop, entry, skeleton)
    while True:
        try:
            made = resolved_pass(context, loop, header)
        except NotEntered:
            context.state = entry
            loop_ops.tested(context, loop)  # it may raise
            return unrolling.exhausted(context, loop)
        if Exit.NEXT not in made.outcome.states:
            drop(context, search, made)
            context.state = entry
            return loop_ops.first_only(context, loop)
        search.has_swapped = search.has_swapped or made.has_swapped
        merged = merged_header(context, search, header, made, Widening(made.start, search.places))
        description = merged.description()
        if description == previous:
            require_confirmed(search, header, made, merged)
            return found(context, loop, skeleton, header, merged, made)
        if previous is not None and loop.key not in context.stepwise and not places_moved(header, merged):
            merged = with_groups(context, search, header, made, merged)
        if search.predictions < PREDICTIONS and loop.key not in context.stepwise:
            merged = with_moves(context, search, header, made, merged)
        drop(context, search, made)
        header, previous = next_header(context, search, header, merged)


def resolved_pass(context: Context, loop: Loop, header: Header) -> Pass:
    """A pass over the body. Origins in its exceptions are resolved to ones outside the loop."""
    outer = context.chosen, context.through_ifs, context.has_swapped
    context.chosen, context.through_ifs, context.has_swapped = (
        {},
        context.through_ifs or header.numbering.through_ifs,
        False,
    )
    try:
        made = loop_ops.one_pass(context, loop, header)
        made.chosen, made.has_swapped = context.chosen, context.has_swapped
        return made
    except NeedStatic as need:
        need.origins = resolved(need.origins, header.origins)
        raise
    except PoisonUsed as used:
        if used.poison.grows is not None:
            number, element = used.poison.grows
            before = header.numbering.origin.get(number, number)
            if before is not None:
                raise Grows(before, element, used.poison) from used
        raise
    finally:
        context.chosen, context.through_ifs, context.has_swapped = outer


def next_header(context: Context, search: Search, header: Header, merged: Header) -> tuple[Header, Hashable]:
    """The header of the next pass, and its description if it should be compared."""
    has_moved = search.note_moves(header, merged)
    search.passes += 1
    if search.is_too_long:
        raise NoFixpoint(_reason(search.moving, merged.state))
    numbering = header.numbering
    if (
        has_moved
        and search.has_swapped
        and search.moves >= SWAPS
        and not (numbering.through_ifs or numbering.by_identity)
    ):
        return begun_again(context, search, through_ifs=True)
    if has_moved and search.moves >= PATIENCE + search.begun and not numbering.by_identity:
        return begun_again(context, search, by_identity=True)
    return merged, merged.description()


def begun_again(context: Context, search: Search, **order: bool) -> tuple[Header, Hashable]:
    """A header with nothing widened, to be searched in another order."""
    search.predictions, search.sources, search.begun = 0, {}, search.moves
    search.moved.clear()
    return Header.before(search.loop, search.entry, numbering_of(context, search.loop, **order)), None


def drop(context: Context, search: Search, made: Pass) -> None:
    """Forget a pass, and the ops emitted for it."""
    made.discard()
    attempts.roll_back(context.current_block, search.mark)


def merged_header(context: Context, search: Search, header: Header, made: Pass, widening: Widening) -> Header:
    """The merge of the states before the loop and after an iteration."""
    return header_of(search, merge_of(context, search, header, made, state_after(context, search.loop, made), widening))


def state_after(context: Context, loop: Loop, made: Pass) -> State:
    """The state after an iteration."""
    with building(made.block), known_facts.scope():
        # Two arrays that names share may take turns. If three have met, a fourth would follow.
        most = 1 if loop.key in context.crowded else 2
        state, is_crowded = collapsed(made.outcome.states[Exit.NEXT], context.fresh, most)
    if is_crowded:
        context.crowded.add(loop.key)
    return state


def merge_of(context: Context, search: Search, header: Header, made: Pass, back: State, widening: Widening) -> Merge:
    columns = Columns(context.current_block, made.block, is_loop=True)
    key = search.loop.key
    origins = frozenset({("loop", key)})
    return Merge(search.entry, back, columns, header.numbering, origins, key, context.location, widening)


def header_of(search: Search, merge: Merge) -> Header:
    numbering = merge.numbering
    assert isinstance(numbering, LoopNumbering)
    state = merge.run()
    filled_lists.require_known_lists(search.entry, merge, state)
    merged = Header.of(state, merge.columns, numbering, search.loop.key)
    merged.merge = merge
    merged.numbering.origin = {number: sides[0] for number, sides in merge.paired.cells.sides.items()}
    merged.numbering.origin |= {number: sides[0] for number, sides in merge.paired.objects.sides.items()}
    return merged


def guess(context: Context, loop: Loop, entry: State, skeleton: Skeleton) -> tuple[Header, Hashable]:
    """The initial header: the one found in an enclosing loop's last pass, or one with nothing widened."""
    header = known_header(context, loop, skeleton)
    if header is not None:
        return header, header.description()
    return Header.before(loop, entry, numbering_of(context, loop)), None


def known_header(context: Context, loop: Loop, skeleton: Skeleton) -> Header | None:
    """The header found in an enclosing loop's last pass, if the state before the loop is of the same kind."""
    old, known = context.headers.get(loop.key, (None, None))
    return known.moved(old, skeleton) if old is not None and old.description == skeleton.description else None


def numbering_of(context: Context, loop: Loop, by_identity: bool = False, through_ifs: bool = False) -> LoopNumbering:
    # The marks are the same in every search, so inner loops recognise what they have carried before.
    marks = context.marks.setdefault(loop.key, {})
    return LoopNumbering(
        context.fresh, loop.used, loop.changed, context.frame.number, by_identity, through_ifs, marks=marks
    )


# Moves.


def with_moves(context: Context, search: Search, header: Header, made: Pass, merged: Header) -> Header:
    """The merge after a pass, with predicted values in the places that the body moves values to."""

    def merge_with(after: State) -> Merge:
        return merge_of(context, search, header, made, after, Widening(made.start, search.places))

    moves = Moves(header, made, merged)
    after = moves.followed(merge_with)
    if after is None:
        return merged
    search.predictions += 1
    search.sources |= moves.sources
    predicted = header_of(search, merge_with(after))
    if predicted.description() != header.description():
        return predicted
    # The pass began with this prediction, and has not confirmed it.
    search.predictions = PREDICTIONS
    assert merged.merge is not None and merged.merge.right is not None
    return header_of(search, merge_with(merged.merge.right))


def require_confirmed(search: Search, header: Header, made: Pass, merged: Header) -> None:
    """Raise NotConfirmed unless predicted places still take their values from the same sources."""
    if search.predictions:
        found = Moves(header, made, merged).sources
        if any(found.get(place, source) != source for place, source in search.sources.items()):
            raise NotConfirmed


# Groups of numbers.


def with_groups(context: Context, search: Search, header: Header, made: Pass, merged: Header) -> Header:
    """The merge after a pass, also carrying the numbers that vary because of those known to vary."""
    moved = Widening(made.start, search.places, is_trial=True)
    trial = merged_header(context, search, header, made, moved)
    added = frozenset(moved.carried) - search.places
    if not added:
        return merged
    varying = varying_of(context, search, trial, added)
    if varying is None:
        context.stepwise.add(search.loop.key)
    if not varying:
        return merged
    search.places |= varying
    return merged_header(context, search, header, made, Widening(made.start, search.places))


def varying_of(context: Context, search: Search, trial: Header, added: frozenset[Place]) -> frozenset[Place] | None:
    """Which numbers carried by a trial pass vary; None: the pass is impossible, because one of them is needed
    statically."""
    loop = search.loop
    findings = attempts.findings_of(context)
    attempt = attempts.begin(context)
    try:
        made = resolved_pass(context, loop, trial)
    except (NeedStatic, PoisonUsed, CompileError):
        made = None
    if made is not None and Exit.NEXT not in made.outcome.states:
        made.discard()
        made = None
    varying = None
    if made is not None:
        again = merged_header(context, search, trial, made, Widening(made.start, search.places | added))
        marks = {trial.numbering.mark((place, "value")): place for place in added}
        found = dependent(marks, again.origins, frozenset({("loop", loop.key)}))
        varying = frozenset(marks[mark] for mark in found)
        made.discard()
    attempts.begin_again(context, attempt)
    if varying != added:
        attempts.forget_since(context, findings)
    return varying


def _reason(places: set[Place], state: State) -> str:
    """Why a loop has no header: the names that refer to something else in every pass."""
    values = {str(place[2]): value for place, value in state.places() if place in places and place[0] == "frame"}
    shared = sorted(name for name, value in values.items() if isinstance(value, Ref) and not name.startswith("$"))
    if not places:
        return "the types of its numbers change in each iteration"
    if shared or not values:
        listed = " and ".join(repr(name) for name in shared[:3]) or "the items of a list"
        return f"it cannot be determined which arrays {listed} share"
    name, value = min(values.items())
    return f"{name!r} is {kind_of(value)} created in it, a different one in each iteration"
