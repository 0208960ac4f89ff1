"""Peeled loops: the first iteration, then a loop over the others, where names change their kind only once.

Reads: ast and the state. Writes: the body, and then the loop. Leaves: an Outcome.

    best = None                                  best = None
    for v in x:                                  <the body for x[0]>        (best is None)
        if best is None or v < best:     ->      for v in x[1:]:
            best = v                                 if v < best: best = v  (best is a number)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from mlirad.frontend.interpreter import branches, dispatch
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.interpreter.loops import fixpoint, loop_ops, unrolling
from mlirad.frontend.join.carried.loop_header import Loop
from mlirad.frontend.join.outcomes import Exit, Outcome
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Static, Value

FEW = 8
"""A loop with at most this many iterations is unrolled instead: it costs no more, and each iteration can be simpler."""


def is_worth_peeling(loop: Loop) -> bool:
    return not isinstance(loop.length, int) or loop.length > FEW


def peeled(context: Context, loop: Loop) -> Outcome:
    def first() -> Outcome:
        if loop.bind is not None:
            loop.bind(Static(0))
        live = unrolling.header_live(context, loop)
        outcome = branches.relabelled(
            context, dispatch.block(context, loop.node.body), {Exit.CONTINUE: Exit.NEXT}, live
        )
        return unrolling.followed(context, outcome, lambda: fixpoint.rolled(context, _others(loop)))

    return loop_ops.if_entered(context, loop, first)


def _others(loop: Loop) -> Loop:
    """The loop over the iterations after the first."""
    bind, length = loop.bind, loop.length
    return dataclasses.replace(
        loop,
        key=(loop.key, "others"),
        bind=None if bind is None else _with_next(bind),
        length=Traced(length.expr - 1, weak=True, origins=length.origins)
        if isinstance(length, Traced)
        else None
        if length is None
        else length - 1,
    )


def _with_next(bind: Callable[[Value], None]) -> Callable[[Value], None]:
    def bind_next(index: Value) -> None:
        if isinstance(index, Static):
            bind(Static(index.value + 1))
            return
        assert isinstance(index, Traced)
        bind(Traced(index.expr + 1, weak=True, origins=index.origins))

    return bind_next
