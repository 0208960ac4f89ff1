"""The code of `parallel_for` and `parallel_poll`, in LLVM IR: how a call offers its blocks, and how they are run.

Reads: nothing. Writes: text. Leaves: nothing.

    i32 parallel_for(ptr context, ptr task, ptr captured, i64 count)

runs task(captured, i, i + 1, job) for each i below count and returns when all are done. It returns 0, or INTERRUPTED if
a signal handler has raised; then some blocks were not run. The calling thread takes part, and checks for signals
between blocks. A task with much work regularly calls

    i64 parallel_poll(ptr job)

which also checks for signals, if its thread has to, and returns the next budget of operations, or 0 if the call is
abandoned: then the task returns at once.

Each thread begins with its own share of consecutive blocks, the same in every call with this number of blocks. So its
cache holds what it wrote in the call before. A thread that has finished its share helps with the others.

The workers help one call at a time. A call that arrives in the meantime, from another thread or from a signal handler,
runs its blocks alone. The data of a call is on its own stack, so calls do not disturb one another.
"""

from __future__ import annotations

from mlirad.targets.cpu.call_context import FIRST_BUDGET, INTERRUPTED, PARALLEL_FOR, PARALLEL_POLL
from mlirad.targets.cpu.pool.shared_state import JOB, field
from mlirad.targets.cpu.pool.waiting import CLOCK, CONSIDER_WAKING, ENTER, MAY_SPIN, SPIN, SPINNING, STOPPED, THREADS

HIRE = "hire"
"""Starts workers, up to a number; how many there are. Under the mutex."""
IS_OURS = "is.ours"
"""Whether the pool is this process's."""
RUN = "run"
"""What a thread does for a job."""

CALLS = f"""
declare i64 @llvm.smin.i64(i64, i64)

define i32 @{PARALLEL_FOR}(ptr %ctx, ptr %task, ptr %captured, i64 %count) nounwind {{
entry:
  %job = alloca {JOB}, align 8
  %threads = load i64, ptr @{THREADS}, align 8
  %most = call i64 @llvm.smin.i64(i64 %threads, i64 %count)
  %helpers = sub i64 %most, 1
  %task.p = {field("task")}
  store ptr %task, ptr %task.p, align 8
  %captured.p = {field("captured")}
  store ptr %captured, ptr %captured.p, align 8
  %seats.p = {field("seats")}
  store i64 0, ptr %seats.p, align 8
  %running.p = {field("running")}
  store i64 0, ptr %running.p, align 8
  %ctx.p = {field("context")}
  store ptr %ctx, ptr %ctx.p, align 8
  %left.p = {field("is.left")}
  store i64 0, ptr %left.p, align 8
  %sleepers.p = {field("sleepers")}
  store i64 0, ptr %sleepers.p, align 8
  %is.few = icmp slt i64 %count, 2
  br i1 %is.few, label %small, label %share
small:
  call void %task(ptr %captured, i64 0, i64 %count, ptr %job)
  %is.left = load atomic i64, ptr %left.p monotonic, align 8
  %is.whole = icmp eq i64 %is.left, 0
  %small.code = select i1 %is.whole, i32 0, i32 {INTERRUPTED}
  ret i32 %small.code
share:
  %count.p = {field("count")}
  store i64 %count, ptr %count.p, align 8
  %own.p = {field("own")}
  store i64 0, ptr %own.p, align 8
  %share.count.p = {field("share.count")}
  store i64 %most, ptr %share.count.p, align 8
  br label %divide
divide:
  %s = phi i64 [ 0, %share ], [ %following, %divide ]
  %first = phi i64 [ 0, %share ], [ %end, %divide ]
  %following = add nuw nsw i64 %s, 1
  %blocks.before = mul i64 %following, %count
  %end = udiv i64 %blocks.before, %most
  %next.p = {field("shares")}, i64 %s, i32 0
  store i64 %first, ptr %next.p, align 8
  %end.p = {field("shares")}, i64 %s, i32 1
  store i64 %end, ptr %end.p, align 8
  %is.divided = icmp eq i64 %following, %most
  br i1 %is.divided, label %divided, label %divide
divided:
  %is.alone = icmp slt i64 %helpers, 1
  br i1 %is.alone, label %unshared, label %ask
ask:
  %is.ours = call i1 @{IS_OURS}()
  br i1 %is.ours, label %offer, label %unshared
offer:
  call void @{ENTER}(ptr @mutex)
  %other = load ptr, ptr @current, align 8
  %is.free = icmp eq ptr %other, null
  br i1 %is.free, label %hire, label %occupied
occupied:
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %unshared
hire:
  %hired = call i64 @{HIRE}(i64 %helpers)
  %seats = call i64 @llvm.smin.i64(i64 %hired, i64 %helpers)
  store i64 %seats, ptr %seats.p, align 8
  store ptr %job, ptr @current, align 8
  %offered = atomicrmw add ptr @offers, i64 1 release
  %sleepers = load i64, ptr @sleepers, align 8
  store i64 %sleepers, ptr %sleepers.p, align 8
  %start = call i64 @{CLOCK}()
  %start.p = {field("start")}
  store i64 %start, ptr %start.p, align 8
  %last.end = load i64, ptr @last.end, align 8
  %gap = sub i64 %start, %last.end
  %alone.before = load i64, ptr @alone, align 8
  %is.near = icmp slt i64 %gap, {SPINNING}
  %alone = select i1 %is.near, i64 %alone.before, i64 0
  store i64 %alone, ptr @alone, align 8
  %left = call i32 @pthread_mutex_unlock(ptr @mutex)
  %shared.code = call i32 @{RUN}(ptr %job, i64 0)
  call void @{ENTER}(ptr @mutex)
  store ptr null, ptr @current, align 8
  %seats.left = load i64, ptr %seats.p, align 8
  %has.helpers = icmp eq i64 %seats.left, 0
  %now = call i64 @{CLOCK}()
  store i64 %now, ptr @last.end, align 8
  %passed = sub i64 %now, %start
  %sum = add i64 %alone, %passed
  %alone.now = select i1 %has.helpers, i64 0, i64 %sum
  store i64 %alone.now, ptr @alone, align 8
  %may.spin = call i1 @{MAY_SPIN}(i64 0)
  br label %look
look:
  %has.spun = phi i1 [ false, %hire ], [ %has.spun, %wait ], [ true, %spin ]
  %running = load atomic i64, ptr %running.p monotonic, align 8
  %is.over = icmp eq i64 %running, 0
  br i1 %is.over, label %over, label %decide
decide:
  %has.to.sleep = select i1 %may.spin, i1 %has.spun, i1 true
  br i1 %has.to.sleep, label %wait, label %spin
spin:
  %let.go = call i32 @pthread_mutex_unlock(ptr @mutex)
  call void @{SPIN}(ptr %running.p, i64 %running)
  call void @{ENTER}(ptr @mutex)
  br label %look
wait:
  %woken = call i32 @pthread_cond_wait(ptr @is.done, ptr @mutex)
  br label %look
over:
  %left.again = call i32 @pthread_mutex_unlock(ptr @mutex)
  ret i32 %shared.code
unshared:
  %code = call i32 @{RUN}(ptr %job, i64 0)
  ret i32 %code
}}

; What a thread does for a job: the blocks of its own share, then the blocks left in other shares. The caller has number
; 0, and looks for signals after each block. A worker leaves when workers are to stop.
define internal i32 @{RUN}(ptr %job, i64 %me) nounwind noinline {{
entry:
  %task.p = {field("task")}
  %task = load ptr, ptr %task.p, align 8
  %captured.p = {field("captured")}
  %captured = load ptr, ptr %captured.p, align 8
  %share.count.p = {field("share.count")}
  %share.count = load i64, ptr %share.count.p, align 8
  %left.p = {field("is.left")}
  %own.p = {field("own")}
  %is.caller = icmp eq i64 %me, 0
  br label %share
share:
  %tried = phi i64 [ 0, %entry ], [ %more, %empty ]
  %sum = add i64 %me, %tried
  %s = urem i64 %sum, %share.count
  %next.p = {field("shares")}, i64 %s, i32 0
  %end.p = {field("shares")}, i64 %s, i32 1
  %end = load i64, ptr %end.p, align 8
  br label %ask
ask:
  %left = load atomic i64, ptr %left.p monotonic, align 8
  %stopped = load atomic i64, ptr @{STOPPED} monotonic, align 8
  %stopped.me = select i1 %is.caller, i64 0, i64 %stopped
  %why = or i64 %left, %stopped.me
  %goes.on = icmp eq i64 %why, 0
  br i1 %goes.on, label %take, label %leave
take:
  %i = atomicrmw add ptr %next.p, i64 1 acq_rel
  %is.some = icmp slt i64 %i, %end
  br i1 %is.some, label %block, label %empty
block:
  %behind = add nsw i64 %i, 1
  call void %task(ptr %captured, i64 %i, i64 %behind, ptr %job)
  br i1 %is.caller, label %poll, label %ask
poll:
  %budget = call i64 @{PARALLEL_POLL}(ptr %job)
  %ended = atomicrmw add ptr %own.p, i64 1 monotonic
  br label %ask
empty:
  %more = add i64 %tried, 1
  %is.all = icmp eq i64 %more, %share.count
  br i1 %is.all, label %done, label %share
leave:
  ret i32 {INTERRUPTED}
done:
  ret i32 0
}}

; After some work at a job, by whoever is at it: the next budget, or 0 if the call is given up.
define i64 @{PARALLEL_POLL}(ptr %job) nounwind noinline {{
entry:
  %left.p = {field("is.left")}
  %is.left = load atomic i64, ptr %left.p monotonic, align 8
  %goes.on = icmp eq i64 %is.left, 0
  br i1 %goes.on, label %look, label %leave
look:
  %ctx.p = {field("context")}
  %ctx = load ptr, ptr %ctx.p, align 8
  call void @{CONSIDER_WAKING}(ptr %job)
  %budget = call i64 @mlirad.poll(ptr %ctx)
  %is.quiet = icmp ne i64 %budget, 0
  br i1 %is.quiet, label %go, label %raised
raised:
  store atomic i64 1, ptr %left.p monotonic, align 8
  br label %leave
leave:
  ret i64 0
go:
  ret i64 {FIRST_BUDGET}
}}
"""
