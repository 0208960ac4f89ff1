"""What the threads of the pool share, in LLVM IR: the state of the pool, and the layout of a job.

Reads: nothing. Writes: text. Leaves: nothing.

The mutex guards the state. `current` is the job that workers may take a seat at, `offers` counts the jobs offered,
`sleepers` the workers that sleep. `alone` is how long the caller has worked without help in calls that followed one
another closely; `last.end` is when the last of them ended. `process` owns the workers.
"""

from __future__ import annotations

from mlirad.options import MOST_THREADS

MOST_WORKERS = MOST_THREADS - 1
ROOM = 128
"""Bytes: more than any C library's mutex, condition or signal set needs."""

_SHARE = "{ i64, i64 }"  # a share of the blocks: the next block, which an atomic add claims, and the end
# `is.left` is set by the caller when it gives up; `seats` and `running` are
# guarded by the mutex; `sleepers` is the number of workers that could be woken, `own` counts the blocks that
# the caller has run.
_FIELDS = {
    "task": "ptr",
    "captured": "ptr",
    "context": "ptr",
    "seats": "i64",
    "running": "i64",
    "is.left": "i64",
    "count": "i64",
    "start": "i64",
    "own": "i64",
    "sleepers": "i64",
    "share.count": "i64",
    "shares": f"[{MOST_THREADS} x {_SHARE}]",
}
JOB = f"{{ {', '.join(_FIELDS.values())} }}"
"""A call's task, and its progress. It lies on the stack of the caller."""


def field(name: str) -> str:
    """An expression for the address of a field of `%job`."""
    return f"getelementptr inbounds {JOB}, ptr %job, i32 0, i32 {list(_FIELDS).index(name)}"


STATE = f"""
@process = internal global i64 0, align 8
@mutex = internal global [{ROOM} x i8] zeroinitializer, align 64
@is.work = internal global [{ROOM} x i8] zeroinitializer, align 64
@is.done = internal global [{ROOM} x i8] zeroinitializer, align 64
@current = internal global ptr null, align 8
@offers = internal global i64 0, align 64
@sleepers = internal global i64 0, align 64
@last.end = internal global i64 0, align 8
@alone = internal global i64 0, align 8
@workers = internal global i64 0, align 8
@handles = internal global [{MOST_WORKERS} x i64] zeroinitializer, align 8
"""
