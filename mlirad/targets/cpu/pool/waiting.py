"""How the threads of the pool wait for one another, in LLVM IR: they look again and again for a while, and then sleep.

Reads: the numbers of threads and processors. Writes: text. Leaves: nothing.

Waking a thread whose processor sleeps takes tens of microseconds, on virtual machines more than a hundred, but a call
may have a shared loop every few microseconds. So a waiting thread spins for up to SPINNING nanoseconds before it
sleeps. If there are more threads than processors it sleeps at once: spinning would take time from the threads that it
waits for.

Sleeping workers are woken only if the remaining work pays for it.
"""

from __future__ import annotations

import platform

from mlirad.targets.cpu.pool.shared_state import field

STOPPED = "mlirad_workers_are_stopped"
THREADS = "mlirad_threads"
PROCESSORS = "mlirad_processors"
CLOCK = "clock"
"""The time in nanoseconds."""
ENTER = "enter"
"""Locks a mutex that no thread holds for long: it tries some times before it sleeps."""
MAY_SPIN = "may.spin"
"""Whether the thread with a given number spins before it sleeps."""
SPIN = "spin"
"""Reads a place until its number is not the given one, workers are to stop, or SPINNING nanoseconds have passed."""
CONSIDER_WAKING = "consider.waking"
"""Called after and within a block: wakes workers if the blocks that the caller has not begun take long, with what it
has just done alone. The block that it is at takes at least the time that has passed."""

SPINNING = 100_000
_WORTH_WAKING = 2 * SPINNING  # nanoseconds of work: about twice what it takes until a sleeping worker has begun
_MEASURED = SPINNING // 4  # nanoseconds before the time of a block is estimated: the first block waits for memory
_LOOKS = 16  # between two looks at the clock
_TRIES = 100
_MONOTONIC = 1  # the number of CLOCK_MONOTONIC
_IS_X86 = platform.machine() in ("x86_64", "AMD64")
_PAUSE = "call void @llvm.x86.sse2.pause()" if _IS_X86 else ""  # lets the other thread of the same core run

WAITING = f"""
@{THREADS} = external global i64, align 8
@{STOPPED} = global i64 0, align 8
@{PROCESSORS} = global i64 0, align 8

{"declare void @llvm.x86.sse2.pause()" if _IS_X86 else ""}

define internal void @{ENTER}(ptr %mutex) nounwind noinline {{
entry:
  br label %try
try:
  %k = phi i64 [ 0, %entry ], [ %more, %again ]
  %failed = call i32 @pthread_mutex_trylock(ptr %mutex)
  %has = icmp eq i32 %failed, 0
  br i1 %has, label %done, label %again
again:
  {_PAUSE}
  %more = add i64 %k, 1
  %is.long = icmp eq i64 %more, {_TRIES}
  br i1 %is.long, label %sleep, label %try
sleep:
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  br label %done
done:
  ret void
}}

define internal i1 @{MAY_SPIN}(i64 %me) nounwind {{
entry:
  %threads = load atomic i64, ptr @{THREADS} monotonic, align 8
  %processors = load atomic i64, ptr @{PROCESSORS} monotonic, align 8
  %is.needed = icmp slt i64 %me, %threads
  %has.room = icmp sle i64 %threads, %processors
  %both = and i1 %is.needed, %has.room
  ret i1 %both
}}

define internal i64 @{CLOCK}() nounwind noinline {{
entry:
  %time = alloca [2 x i64], align 8
  %failed = call i32 @clock_gettime(i32 {_MONOTONIC}, ptr %time)
  %seconds = load i64, ptr %time, align 8
  %rest.p = getelementptr inbounds i8, ptr %time, i64 8
  %rest = load i64, ptr %rest.p, align 8
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}}

define internal void @{SPIN}(ptr %place, i64 %value) nounwind noinline {{
entry:
  %start = call i64 @{CLOCK}()
  br label %look
look:
  %k = phi i64 [ 1, %entry ], [ 1, %read ], [ %more, %again ]
  %found = load atomic i64, ptr %place acquire, align 8
  %is.same = icmp eq i64 %found, %value
  %stopped = load atomic i64, ptr @{STOPPED} monotonic, align 8
  %is.on = icmp eq i64 %stopped, 0
  %waits = and i1 %is.same, %is.on
  br i1 %waits, label %again, label %done
again:
  {_PAUSE}
  %more = add i64 %k, 1
  %is.time = icmp ugt i64 %k, {_LOOKS}
  br i1 %is.time, label %read, label %look
read:
  %now = call i64 @{CLOCK}()
  %passed = sub i64 %now, %start
  %is.over = icmp sgt i64 %passed, {SPINNING}
  br i1 %is.over, label %done, label %look
done:
  ret void
}}

define internal void @{CONSIDER_WAKING}(ptr %job) nounwind noinline {{
entry:
  %sleepers.p = {field("sleepers")}
  %sleepers = load atomic i64, ptr %sleepers.p monotonic, align 8
  %is.none = icmp eq i64 %sleepers, 0
  br i1 %is.none, label %done, label %estimate
estimate:
  %own.p = {field("own")}
  %ended = load atomic i64, ptr %own.p monotonic, align 8
  %own = add i64 %ended, 1
  %count.p = {field("count")}
  %count = load i64, ptr %count.p, align 8
  %rest = sub i64 %count, %own
  %start.p = {field("start")}
  %start = load i64, ptr %start.p, align 8
  %now = call i64 @{CLOCK}()
  %passed = sub i64 %now, %start
  %each = udiv i64 %passed, %own
  %coming = mul i64 %each, %rest
  %alone = load i64, ptr @alone, align 8
  %sum = add i64 %alone, %coming
  %is.long = icmp sge i64 %sum, {_WORTH_WAKING}
  %is.known = icmp sge i64 %passed, {_MEASURED}
  %is.worth.it = and i1 %is.long, %is.known
  br i1 %is.worth.it, label %wake, label %done
wake:
  store atomic i64 0, ptr %sleepers.p monotonic, align 8
  call void @{ENTER}(ptr @mutex)
  %told = call i32 @pthread_cond_broadcast(ptr @is.work)
  %left = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %done
done:
  ret void
}}
"""
