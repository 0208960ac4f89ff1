"""Polling for signals (Ctrl-C) in long calls: often enough, at almost no cost.

Reads: a function of stage `loops`. Writes: which loops are watched, and their charges. Leaves: loops with a small known
trip count unchanged.

A call has a budget of work (see `analysis/cost.py`), in a register or in its context, and watched loops charge for
their trips. When the budget is used up, the runtime reads the clock and sometimes checks for signals (`mlirad.poll`). A
`while`, and a loop that contains a watched loop or much work per trip, charge in each trip. So does a copy, or a native
call, with a length known only at run time. Any other loop is cut into strips of many trips with a charge between them,
so that LLVM sees the same inner loop as without polling.

Loops shared by threads do the same, except that they call the pool (`parallel_poll`), which tells all threads when to
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
from mlirad.targets.cpu.call_context import BUDGET, FIRST_BUDGET, INTERRUPTED, PARALLEL_POLL
from mlirad.targets.cpu.emit.function import FunctionEmitter, Polling

# A loop with no more work than this, over all trips, is not watched.
SMALL = 1 << 20
# The work of a strip.
STRIP = 1 << 14
_SLOT = "%budget"
_NOT_PLAIN = (scf.ForOp, scf.WhileOp, func.CallOp, *cost.MOVES)
"""Ops that work on more than one element. Most ops are none of these, and need only this one check."""
JOB = "%job"
"""In a task: the pool's identifier of the call that the task belongs to."""


def polling_of(function: func.FuncOp, ops: Sequence[Operation], called: set[str], defined: set[str]) -> Polling:
    """How the loops of a function are watched. ops: all ops in it."""
    made = Polling(is_called=function.sym_name.data in called)
    work: Counter[Operation] = Counter()
    watched: set[Operation] = set()
    # Backwards: the ops in a region come before the op itself.
    for op in reversed(ops):
        inside = work.pop(op, 0)
        if not isinstance(op, _NOT_PLAIN):
            inside += cost.of_op(op)
        elif isinstance(op, scf.ForOp | scf.WhileOp):
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
        else:
            moved = cost.of_move(op)
            if moved == inf:
                made.moves.add(op)
                watched.add(op)
            else:
                inside = int(moved)
        parent = op.parent_op()
        assert parent is not None
        work[parent] += inside
        if op in watched:
            watched.add(parent)
    made.work = work[function]
    return made


def _loop(made: Polling, op: scf.ForOp | scf.WhileOp, trip: int, has_watched: bool) -> tuple[int, bool]:
    """The work of a loop that is still uncharged at its end, and whether the loop, or one in it, is watched."""
    if isinstance(op, scf.ForOp):
        trips, step = most_trips(op), constant_int(op.step)
        if trips is not None and trips * trip <= SMALL:
            return trips * trip, has_watched
        # The end of a strip can be computed without overflow: for an index always, for other counters if they begin at
        # a constant.
        is_safe = isinstance(op.lb.type, IndexType) or constant_int(op.lb) is not None
        if not has_watched and step is not None and step > 0 and is_safe and trip < STRIP:
            made.strips[op] = STRIP // trip
            return STRIP, True
    made.charges[op] = trip
    return trip, True


def is_watched(polling: Polling, ops: Sequence[Operation]) -> bool:
    """Whether one of these ops charges for its work."""
    return any(op in polling.charges or op in polling.strips or op in polling.moves for op in ops)


def begin(e: FunctionEmitter) -> None:
    """Load the budget into a register, unless a call in the function charges its own work; a task has its own
    budget."""
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
    """Pass the rest of the budget back to the caller, if any."""
    if e.polling.is_called and not e.polling.calls:
        left = e.assign(f"load i64, ptr {_SLOT}, align 8")
        place = e.assign(f"getelementptr inbounds i8, ptr %ctx, i64 {BUDGET}")
        e.line(f"store i64 {left}, ptr {place}, align 8")


def charge(e: FunctionEmitter, work: int | str) -> None:
    """Subtract work from the budget; if nothing is left, poll for signals, and leave if a handler raises."""
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
