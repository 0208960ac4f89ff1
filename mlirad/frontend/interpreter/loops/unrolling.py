"""Unrolled loops: each iteration has its own values, which are needed at compile time.

Reads: ast and the state. Writes: the body, once for each iteration. Leaves: an Outcome.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

from mlirad.frontend.interpreter import branches, consuming, dispatch
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.expressions import conditions
from mlirad.frontend.interpreter.grown_lists import NeedList
from mlirad.frontend.interpreter.iteration import is_generator, iterated
from mlirad.frontend.join.carried.loop_header import Loop
from mlirad.frontend.join.frames import Why
from mlirad.frontend.join.outcomes import Exit, Outcome
from mlirad.frontend.program.scope import Names
from mlirad.frontend.values.poison import PoisonUsed
from mlirad.frontend.values.traced import DATA, NeedStatic, Traced
from mlirad.frontend.values.values import Lazy, Object, Static, Tuple, Value
from mlirad.slow_compilations import note_copy

# A loop is unrolled into at most this many copies of its body.
UNROLL_LIMIT = 200
KINDS = "its elements are of different kinds"


class UnknownTrips(NeedStatic):
    """A `while` is to be unrolled for the items of a list that it fills, and only the run knows how often it runs."""

    def __init__(self, key: Hashable, origins: Iterable[Hashable], what: str):
        super().__init__(origins, what)
        self.key = key


@dataclass(frozen=True, eq=False)
class Reason:
    """Why a loop is unrolled; `poison`: the value that could not be merged, if that is why. refusal: the error to raise
    if the loop cannot be unrolled, if known."""

    why: str
    poison: PoisonUsed | None = None
    refusal: Exception | None = None

    @property
    def kept(self) -> Why:
        """The reason, as later attempts see it."""
        return Why(self.why, self.refusal)

    @staticmethod
    def of(error: Exception) -> Reason:
        if isinstance(error, NeedList):
            return Reason(error.what, refusal=error.refusal)
        if isinstance(error, NeedStatic):
            return Reason(f"{error.what} depends on it")
        if isinstance(error, PoisonUsed):
            return Reason(error.poison.why, error)
        return Reason(str(error))

    def unless_known(self, origins: frozenset, what: str) -> Exception:
        """The exception for an unknown trip count: it must be known, or the loop is refused for the reason."""
        if self.refusal is not None and (DATA in origins or not origins):
            return self.refusal
        if self.poison is not None and (DATA in origins or not origins):
            final = PoisonUsed(dataclasses.replace(self.poison.poison, loop=None))
            final.place(self.poison.location)
            return final
        if self.refusal is not None:
            return NeedList(origins, f"{what} ({self.why})", self.refusal)
        return NeedStatic(origins, f"{what} ({self.why})")


def must_unroll(context: Context, iterable: Value, length: int | Traced) -> bool:
    """Whether the iterable is neither an array nor a range, so each element is a value of its own."""
    if isinstance(length, Traced):
        return False
    if isinstance(iterable, Lazy):
        iterable = consuming.spent(context, iterable)
        if not isinstance(iterable, Lazy):
            return must_unroll(context, iterable, length)
        return is_generator(iterable) or any(must_unroll(context, part, length) for part in iterated(iterable))
    is_constant = isinstance(iterable, Static) and isinstance(iterable.value, str | tuple)
    return is_constant or (isinstance(iterable, Tuple | Object) and context.grown(iterable) is None)


def unroll(context: Context, loop: Loop, reason: Reason) -> Outcome:
    if isinstance(loop.length, Traced):
        raise reason.unless_known(loop.length.origins, "the number of iterations of this loop")
    if loop.length is not None and loop.length > UNROLL_LIMIT and reason.why != KINDS:
        if reason.refusal is not None:
            raise reason.refusal
        hint = reason.poison.poison.hint if reason.poison is not None else None
        hint = hint or "use arrays of a fixed shape in it, and numbers that keep their type"
        if reason.why.startswith("the shape of"):
            hint = "make one array of the largest shape before the loop, and use slices of it: work[:i]"
        raise context.refusal(f"this loop would be unrolled {loop.length} times because {reason.why}", hint)
    return unrolled_from(context, loop, 0, reason)


def unrolled_from(context: Context, loop: Loop, trip: int, reason: Reason) -> Outcome:
    """The iterations from number `trip` on, and the else clause."""
    while is_another(context, loop, trip, reason):
        with context.at(loop.node):  # for a builtin such as max: where it is called
            note_copy(context.location, reason.why)
        if loop.bind is not None:
            loop.bind(Static(trip))
        outcome = dispatch.block(context, loop.node.body)
        outcome = branches.relabelled(context, outcome, {Exit.CONTINUE: Exit.NEXT}, header_live(context, loop))
        trip += 1
        if len(outcome.states) > 1 or Exit.NEXT not in outcome.states:
            return followed(context, outcome, lambda n=trip: unrolled_from(context, loop, n, reason))
        context.state = outcome.states[Exit.NEXT]
    return exhausted(context, loop)


def followed(context: Context, outcome: Outcome, others: Callable[[], Outcome]) -> Outcome:
    """The outcome of an iteration, and of the others unless it has left the loop."""
    if Exit.NEXT not in outcome.states:
        return ended(context, outcome)

    def go_on() -> Outcome:
        context.state = outcome.states[Exit.NEXT].fork()
        return others()

    if len(outcome.states) == 1:
        return go_on()
    assert outcome.code is not None
    left = {exit: state for exit, state in outcome.states.items() if exit != Exit.NEXT}
    leaving = ended(context, Outcome(left, outcome.code if len(left) > 1 else None))
    after = context.frame.loops[-1][0]
    return branches.branch(context, outcome.code == int(Exit.NEXT), go_on, lambda: leaving, after)


def is_another(context: Context, loop: Loop, trip: int, reason: Reason) -> bool:
    if loop.length is not None:
        assert isinstance(loop.length, int)
        if loop.require_unchanged is not None:
            loop.require_unchanged()
        return trip < loop.length
    assert loop.test is not None
    with context.at(loop.test):
        truth = conditions.condition(context, loop.test)
        if isinstance(truth, Traced):
            error = reason.unless_known(truth.origins, "the condition of this loop")
            if type(error) is NeedStatic and (DATA in truth.origins or not truth.origins):
                raise UnknownTrips(loop.key, error.origins, error.what)
            raise error
        if truth and trip >= UNROLL_LIMIT and reason.refusal is not None:
            raise reason.refusal
        if truth and trip >= UNROLL_LIMIT:
            raise context.refusal(f"this loop would be unrolled more than {trip} times because {reason.why}")
    return truth


def exhausted(context: Context, loop: Loop) -> Outcome:
    """The end of a loop that no break has left: its else clause."""
    if not loop.node.orelse:
        return Outcome({Exit.NEXT: context.state})
    loops = context.frame.loops
    own = loops.pop()  # a break in the else clause belongs to the enclosing loop
    try:
        return dispatch.block(context, loop.node.orelse)
    finally:
        loops.append(own)


def ended(context: Context, outcome: Outcome) -> Outcome:
    """The outcome of iterations that have left the loop: the loop's own break becomes NEXT."""
    if Exit.BREAK not in outcome.states:
        return outcome
    return branches.relabelled(context, outcome, {Exit.BREAK: Exit.NEXT}, context.frame.loops[-1][0])


def header_live(context: Context, loop: Loop) -> Names:
    return context.frame.scope.liveness.header[id(loop.node)]
