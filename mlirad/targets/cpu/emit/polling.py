"""Polling for signals (Ctrl-C) in long calls: often enough, at almost no cost.

Reads: a function of stage `loops`. Writes: which loops are watched, and their charges. Leaves: a loop whose trip count
is known to be small as it is.

A call has a budget of work (see `analysis/cost.py`), in a register or in its context, and watched loops charge for
their trips. When the budget is used up, the runtime reads the clock and sometimes checks for signals (`mlirad.poll`).
A `while`, and a loop with a watched loop in it or with much work in a trip, charge at each trip; so does a copy, or a
native call, whose length is known only at run time. Any other loop is cut into strips of many trips with a charge
between them, so that LLVM sees the same inner loop as without polling.

Loops shared by threads do the same, except that they ask the pool (`parallel_poll`), which tells all of them when to
stop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import inf

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation

from mlirad.analysis import cost
from mlirad.analysis.bounds import most_trips
from mlirad.analysis.constants import constant_int
from mlirad.analysis.memory import NATIVE
from mlirad.targets.cpu.emit.function import FunctionEmitter, Polling
from mlirad.targets.cpu.runtime import BUDGET, FIRST_BUDGET, INTERRUPTED, PARALLEL_POLL

# A loop of no more work than this, all trips together, is not watched.
SMALL = 1 << 20
# The work of a strip.
STRIP = 1 << 14
_SLOT = "%budget"
JOB = "%job"
"""In a task: what the pool knows the call by that it is of."""


def polling_of(function: func.FuncOp, ops: Sequence[Operation], called: set[str], defined: set[str]) -> Polling:
    """How the loops of a function are watched. ops: all that are in it."""
    made = Polling(is_called=function.sym_name.data in called)
    work: Counter[Operation] = Counter()
    watched: set[Operation] = set()
    # Backwards, what is in an op comes before it.
    for op in reversed(ops):
        inside = work.pop(op, 0)
        if isinstance(op, scf.ForOp | scf.WhileOp):
            inside, is_watched = _loop(made, op, inside + 1, op in watched)
            if is_watched:
                watched.add(op)
        elif isinstance(op, func.CallOp):
            inside = cost.of_call(op)
            if not cost.is_bounded(op):
                made.calls |= op.callee.string_value() in defined
                if NATIVE in op.attributes:
                    made.moves.add(op)
                    watched.add(op)
        elif isinstance(op, cost.MOVES):
            moved = cost.of_move(op)
            if moved == inf:
                made.moves.add(op)
                watched.add(op)
            else:
                inside = int(moved)
        else:
            inside += cost.of_op(op)
        parent = op.parent_op()
        assert parent is not None
        work[parent] += inside
        if op in watched:
            watched.add(parent)
    made.work = work[function]
    return made


def _loop(made: Polling, op: scf.ForOp | scf.WhileOp, trip: int, has_watched: bool) -> tuple[int, bool]:
    """The work of a loop that is not charged when it ends, and whether it, or a loop in it, is watched."""
    if isinstance(op, scf.ForOp):
        trips, step = most_trips(op), constant_int(op.step)
        if trips is not None and trips * trip <= SMALL:
            return trips * trip, has_watched
        # The end of a strip may be computed without overflow: of a subscript always, of numbers that begin at one.
        is_safe = isinstance(op.lb.type, IndexType) or constant_int(op.lb) is not None
        if not has_watched and step is not None and step > 0 and is_safe and trip < STRIP:
            made.strips[op] = STRIP // trip
            return STRIP, True
    made.charges[op] = trip
    return trip, True


def begin(e: FunctionEmitter) -> None:
    """Have the budget in a register, if no call in the function charges for its own work; a task has one of its own."""
    if not e.polling.is_needed:
        return
    place = f"getelementptr inbounds i8, ptr %ctx, i64 {BUDGET}"
    if e.polling.calls:
        e.line(f"{_SLOT} = {place}")
    else:
        e.allocas.append(f"  {_SLOT} = alloca i64, align 8")
        first = FIRST_BUDGET if e.is_task else e.assign(f"load i64, ptr {e.assign(place)}, align 8")
        e.line(f"store i64 {first}, ptr {_SLOT}, align 8")
    if e.polling.is_called:
        charge(e, e.polling.work)


def end(e: FunctionEmitter) -> None:
    """Let the caller, if any, go on with what is left of the budget."""
    if e.polling.is_called and not e.polling.calls:
        left = e.assign(f"load i64, ptr {_SLOT}, align 8")
        place = e.assign(f"getelementptr inbounds i8, ptr %ctx, i64 {BUDGET}")
        e.line(f"store i64 {left}, ptr {place}, align 8")


def charge(e: FunctionEmitter, work: int | str) -> None:
    """Take so much off the budget; where nothing is left, look for signals, and leave if one raises."""
    due, go = e.fresh("due"), e.fresh("go")
    had = e.assign(f"load i64, ptr {_SLOT}, align 8")
    left = e.assign(f"sub nsw i64 {had}, {work}")
    e.line(f"store i64 {left}, ptr {_SLOT}, align 8")
    e.line(f"br i1 {e.assign(f'icmp sgt i64 {left}, 0')}, label %{go}, label %{due}, !prof !0")
    e.label(due)
    budget = e.assign(f"call i64 {_poll(e)}")
    e.line(f"store i64 {budget}, ptr {_SLOT}, align 8")
    e.leave_unless(e.assign(f"icmp ne i64 {budget}, 0"), INTERRUPTED)
    e.branch(go)
    e.label(go)


def _poll(e: FunctionEmitter) -> str:
    if not e.is_task:
        return f"{e.module.use_runtime('mlirad.poll')}(ptr %ctx)"
    effects = "cold nounwind willreturn memory(argmem: readwrite, inaccessiblemem: readwrite)"
    return f"{e.module.declare(PARALLEL_POLL, f'declare i64 @{PARALLEL_POLL}(ptr) {effects}')}(ptr {JOB})"
