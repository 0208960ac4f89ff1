"""Abandoned attempts: everything that they changed is restored before the next one.

Reads: the state, the frames and the block. Writes: their earlier values; removes the ops of the attempt. Leaves:
nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Block, Operation

from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.join.append_counts import AppendCounts
from mlirad.frontend.join.frames import Why
from mlirad.frontend.program.scope import Names
from mlirad.frontend.values.state import State

Findings = tuple[dict[Hashable, Why], dict[Hashable, Any], set[Hashable]]


@dataclass(frozen=True, eq=False)
class Attempt:
    """The place where an attempt began. last: the last op before it; depth: the number of running calls; live: the live
    names of the innermost one."""

    state: State
    block: Block
    last: Operation | None
    depth: int
    live: Names
    appended: AppendCounts


def begin(context: Context) -> Attempt:
    block = context.current_block
    return Attempt(
        context.state.fork(), block, block.last_op, len(context.active), context.frame.live, context.appended
    )


def begin_again(context: Context, attempt: Attempt) -> None:
    """Go back to the beginning of an attempt, from wherever it ended."""
    roll_back(attempt.block, attempt.last)
    go_back(context, attempt)


def go_back(context: Context, attempt: Attempt) -> None:
    """Let everything except the ops be as at the beginning of an attempt."""
    del context.active[attempt.depth :]
    context.state, context.frame.live, context.appended = attempt.state.fork(), attempt.live, attempt.appended


def ops_since(attempt: Attempt) -> Iterator[Operation]:
    """The ops of its block since an attempt began."""
    op = attempt.block.first_op if attempt.last is None else attempt.last.next_op
    while op is not None:
        yield op
        op = op.next_op


def findings_of(context: Context) -> Findings:
    """What is known about loops: which are unrolled, their headers, and which have side effects in their conditions."""
    return dict(context.unrolled), dict(context.headers), set(context.impure)


def forget_since(context: Context, findings: Findings) -> None:
    """Forget what has been found about loops since then."""
    unrolled, context.headers, context.impure = findings
    context.unrolled.clear()
    context.unrolled.update(unrolled)


def roll_back(block: Block, last: Operation | None) -> None:
    """Remove the ops emitted after an op of a block."""
    while (op := block.last_op) is not last:
        assert op is not None
        op.detach()
        for inner in op.walk():
            inner.drop_all_references()
