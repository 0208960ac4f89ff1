"""The code of the pool, in LLVM IR: `parallel_for`, `parallel_poll`, and the workers.

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

Workers are threads of the C library, which block all signals and never touch Python. They are started by the first
call that has work for them. A worker without work, and a caller whose blocks are all taken, wait as pool_waiting.py
says. Sleeping workers are woken only if the remaining work pays for it: see `consider.waking`.
"""

from __future__ import annotations

import signal

from mlirad.options import MOST_THREADS
from mlirad.targets.cpu.call_context import FIRST_BUDGET, INTERRUPTED, PARALLEL_FOR, PARALLEL_POLL
from mlirad.targets.cpu.pool_waiting import CLOCK, ENTER, MAY_SPIN, SPIN, SPINNING, STOPPED, THREADS, WAITING
from mlirad.targets.cpu.runtime import runtime_text

STOP = "mlirad_stop_workers"
PTHREAD = (
    "getpid",
    "pthread_cond_broadcast",
    "pthread_cond_init",
    "pthread_cond_wait",
    "pthread_create",
    "pthread_join",
    "pthread_mutex_init",
    "pthread_mutex_lock",
    "pthread_mutex_trylock",
    "pthread_mutex_unlock",
    "pthread_sigmask",
    "sigfillset",
)
"""The functions of the C library that it calls."""

_MOST_WORKERS = MOST_THREADS - 1
_ROOM = 128  # bytes: more than any C library's mutex, condition or signal set needs

_WORTH_WAKING = 2 * SPINNING  # nanoseconds of work: about twice what it takes until a sleeping worker has begun
_MEASURED = SPINNING // 4  # nanoseconds before the time of a block is estimated: the first block waits for memory
_SHARE = "{ i64, i64 }"  # a share of the blocks: the next block, which an atomic add claims, and the end

# A job: a call's task, and its progress. `is.left` is set by the caller when it gives up; `seats` and `running` are
# guarded by the mutex; `sleepers` is the number of workers that could be woken, `own` counts the caller's blocks.
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
_JOB = f"{{ {', '.join(_FIELDS.values())} }}"


def _field(name: str) -> str:
    return f"getelementptr inbounds {_JOB}, ptr %job, i32 0, i32 {list(_FIELDS).index(name)}"


_POOL = f"""
@process = internal global i64 0, align 8
@mutex = internal global [{_ROOM} x i8] zeroinitializer, align 64
@is.work = internal global [{_ROOM} x i8] zeroinitializer, align 64
@is.done = internal global [{_ROOM} x i8] zeroinitializer, align 64
@current = internal global ptr null, align 8
@offers = internal global i64 0, align 64
@sleepers = internal global i64 0, align 64
@last.end = internal global i64 0, align 8
@alone = internal global i64 0, align 8
@workers = internal global i64 0, align 8
@handles = internal global [{_MOST_WORKERS} x i64] zeroinitializer, align 8

declare i32 @getpid() nounwind
declare i32 @pthread_create(ptr, ptr, ptr, ptr) nounwind
declare i32 @pthread_join(i64, ptr) nounwind
declare i32 @pthread_mutex_init(ptr, ptr) nounwind
declare i32 @pthread_mutex_unlock(ptr) nounwind
declare i32 @pthread_cond_init(ptr, ptr) nounwind
declare i32 @pthread_cond_wait(ptr, ptr) nounwind
declare i32 @pthread_cond_broadcast(ptr) nounwind
declare i32 @pthread_sigmask(i32, ptr, ptr) nounwind
declare i32 @sigfillset(ptr) nounwind
declare i64 @llvm.smin.i64(i64, i64)

define i32 @{PARALLEL_FOR}(ptr %ctx, ptr %task, ptr %captured, i64 %count) nounwind {{
entry:
  %job = alloca {_JOB}, align 8
  %threads = load i64, ptr @{THREADS}, align 8
  %most = call i64 @llvm.smin.i64(i64 %threads, i64 %count)
  %helpers = sub i64 %most, 1
  %task.p = {_field("task")}
  store ptr %task, ptr %task.p, align 8
  %captured.p = {_field("captured")}
  store ptr %captured, ptr %captured.p, align 8
  %seats.p = {_field("seats")}
  store i64 0, ptr %seats.p, align 8
  %running.p = {_field("running")}
  store i64 0, ptr %running.p, align 8
  %ctx.p = {_field("context")}
  store ptr %ctx, ptr %ctx.p, align 8
  %left.p = {_field("is.left")}
  store i64 0, ptr %left.p, align 8
  %is.few = icmp slt i64 %count, 2
  br i1 %is.few, label %small, label %share
small:
  call void %task(ptr %captured, i64 0, i64 %count, ptr %job)
  %is.left = load atomic i64, ptr %left.p monotonic, align 8
  %is.whole = icmp eq i64 %is.left, 0
  %small.code = select i1 %is.whole, i32 0, i32 {INTERRUPTED}
  ret i32 %small.code
share:
  %count.p = {_field("count")}
  store i64 %count, ptr %count.p, align 8
  %own.p = {_field("own")}
  store i64 0, ptr %own.p, align 8
  %sleepers.p = {_field("sleepers")}
  store i64 0, ptr %sleepers.p, align 8
  %share.count.p = {_field("share.count")}
  store i64 %most, ptr %share.count.p, align 8
  br label %divide
divide:
  %s = phi i64 [ 0, %share ], [ %following, %divide ]
  %first = phi i64 [ 0, %share ], [ %end, %divide ]
  %following = add nuw nsw i64 %s, 1
  %blocks.before = mul i64 %following, %count
  %end = udiv i64 %blocks.before, %most
  %next.p = {_field("shares")}, i64 %s, i32 0
  store i64 %first, ptr %next.p, align 8
  %end.p = {_field("shares")}, i64 %s, i32 1
  store i64 %end, ptr %end.p, align 8
  %is.divided = icmp eq i64 %following, %most
  br i1 %is.divided, label %divided, label %divide
divided:
  %is.alone = icmp slt i64 %helpers, 1
  br i1 %is.alone, label %unshared, label %ask
ask:
  %is.ours = call i1 @is.ours()
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
  %hired = call i64 @hire(i64 %helpers)
  %seats = call i64 @llvm.smin.i64(i64 %hired, i64 %helpers)
  store i64 %seats, ptr %seats.p, align 8
  store ptr %job, ptr @current, align 8
  %offered = atomicrmw add ptr @offers, i64 1 release
  %sleepers = load i64, ptr @sleepers, align 8
  store i64 %sleepers, ptr %sleepers.p, align 8
  %start = call i64 @{CLOCK}()
  %start.p = {_field("start")}
  store i64 %start, ptr %start.p, align 8
  %last.end = load i64, ptr @last.end, align 8
  %gap = sub i64 %start, %last.end
  %alone.before = load i64, ptr @alone, align 8
  %is.near = icmp slt i64 %gap, {SPINNING}
  %alone = select i1 %is.near, i64 %alone.before, i64 0
  store i64 %alone, ptr @alone, align 8
  %left = call i32 @pthread_mutex_unlock(ptr @mutex)
  %shared.code = call i32 @run(ptr %job, i64 0)
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
  %code = call i32 @run(ptr %job, i64 0)
  ret i32 %code
}}

; What a thread does for a job: the blocks of its own share, then the blocks left in other shares. The caller has number
; 0, and looks for signals after each block. A worker leaves when workers are to stop.
define internal i32 @run(ptr %job, i64 %me) nounwind noinline {{
entry:
  %task.p = {_field("task")}
  %task = load ptr, ptr %task.p, align 8
  %captured.p = {_field("captured")}
  %captured = load ptr, ptr %captured.p, align 8
  %share.count.p = {_field("share.count")}
  %share.count = load i64, ptr %share.count.p, align 8
  %left.p = {_field("is.left")}
  %is.caller = icmp eq i64 %me, 0
  br label %share
share:
  %tried = phi i64 [ 0, %entry ], [ %more, %empty ]
  %sum = add i64 %me, %tried
  %s = urem i64 %sum, %share.count
  %next.p = {_field("shares")}, i64 %s, i32 0
  %end.p = {_field("shares")}, i64 %s, i32 1
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
  call void @consider.waking(ptr %job)
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

; Called by the caller after a block: wakes workers if the rest, with what the caller has just done alone, takes long.
define internal void @consider.waking(ptr %job) nounwind noinline {{
entry:
  %sleepers.p = {_field("sleepers")}
  %sleepers = load i64, ptr %sleepers.p, align 8
  %is.none = icmp eq i64 %sleepers, 0
  br i1 %is.none, label %done, label %estimate
estimate:
  %own.p = {_field("own")}
  %own.before = load i64, ptr %own.p, align 8
  %own = add i64 %own.before, 1
  store i64 %own, ptr %own.p, align 8
  %count.p = {_field("count")}
  %count = load i64, ptr %count.p, align 8
  %rest = sub i64 %count, %own
  %start.p = {_field("start")}
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
  store i64 0, ptr %sleepers.p, align 8
  call void @{ENTER}(ptr @mutex)
  %told = call i32 @pthread_cond_broadcast(ptr @is.work)
  %left = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %done
done:
  ret void
}}

; After some work at a job, by whoever is at it: the next budget, or 0 if the call is given up.
define i64 @{PARALLEL_POLL}(ptr %job) nounwind noinline {{
entry:
  %left.p = {_field("is.left")}
  %is.left = load atomic i64, ptr %left.p monotonic, align 8
  %goes.on = icmp eq i64 %is.left, 0
  br i1 %goes.on, label %look, label %leave
look:
  %ctx.p = {_field("context")}
  %ctx = load ptr, ptr %ctx.p, align 8
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

; A worker, with a number above 0: takes seats at jobs until workers are to stop.
define internal ptr @work(ptr %number) nounwind {{
entry:
  %me = ptrtoint ptr %number to i64
  call void @{ENTER}(ptr @mutex)
  br label %look
look:
  %has.spun = phi i1 [ false, %entry ], [ true, %spin ], [ false, %sleep ], [ false, %sit ]
  %stopped = load atomic i64, ptr @{STOPPED} monotonic, align 8
  %is.stopped = icmp ne i64 %stopped, 0
  br i1 %is.stopped, label %leave, label %find
find:
  %offers = load atomic i64, ptr @offers monotonic, align 8
  %job = load ptr, ptr @current, align 8
  %is.none = icmp eq ptr %job, null
  br i1 %is.none, label %wait, label %see
see:
  %seats.p = {_field("seats")}
  %seats = load i64, ptr %seats.p, align 8
  %is.full = icmp slt i64 %seats, 1
  br i1 %is.full, label %wait, label %sit
wait:
  %may.spin = call i1 @{MAY_SPIN}(i64 %me)
  %has.to.sleep = select i1 %may.spin, i1 %has.spun, i1 true
  br i1 %has.to.sleep, label %sleep, label %spin
spin:
  %let.go = call i32 @pthread_mutex_unlock(ptr @mutex)
  call void @{SPIN}(ptr @offers, i64 %offers)
  call void @{ENTER}(ptr @mutex)
  br label %look
sleep:
  %sleepers = load i64, ptr @sleepers, align 8
  %one.more = add i64 %sleepers, 1
  store i64 %one.more, ptr @sleepers, align 8
  %woken = call i32 @pthread_cond_wait(ptr @is.work, ptr @mutex)
  %sleepers.now = load i64, ptr @sleepers, align 8
  %one.less = sub i64 %sleepers.now, 1
  store i64 %one.less, ptr @sleepers, align 8
  br label %look
sit:
  %fewer = sub i64 %seats, 1
  store i64 %fewer, ptr %seats.p, align 8
  %running.p = {_field("running")}
  %running = load atomic i64, ptr %running.p monotonic, align 8
  %more = add i64 %running, 1
  store atomic i64 %more, ptr %running.p monotonic, align 8
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  %code = call i32 @run(ptr %job, i64 %me)
  call void @{ENTER}(ptr @mutex)
  %running.now = load atomic i64, ptr %running.p monotonic, align 8
  %less = sub i64 %running.now, 1
  store atomic i64 %less, ptr %running.p release, align 8
  %told = call i32 @pthread_cond_broadcast(ptr @is.done)
  br label %look
leave:
  %left = call i32 @pthread_mutex_unlock(ptr @mutex)
  ret ptr null
}}

; Whether the pool is this process's. It is made so, unless another thread is at it.
define internal i1 @is.ours() nounwind noinline {{
entry:
  %number = call i32 @getpid()
  %me = zext i32 %number to i64
  %owner = load atomic i64, ptr @process acquire, align 8
  %is.mine = icmp eq i64 %owner, %me
  br i1 %is.mine, label %yes, label %other
other:
  %is.taken = icmp eq i64 %owner, -1
  br i1 %is.taken, label %no, label %try
try:
  %pair = cmpxchg ptr @process, i64 %owner, i64 -1 acq_rel acquire
  %won = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %won, label %make, label %no
make:
  %a = call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  %b = call i32 @pthread_cond_init(ptr @is.work, ptr null)
  %c = call i32 @pthread_cond_init(ptr @is.done, ptr null)
  store ptr null, ptr @current, align 8
  store i64 0, ptr @workers, align 8
  store i64 0, ptr @sleepers, align 8
  store atomic i64 %me, ptr @process release, align 8
  br label %yes
yes:
  ret i1 true
no:
  ret i1 false
}}

; Start workers, up to so many; how many there are. Under the mutex.
define internal i64 @hire(i64 %wanted) nounwind noinline {{
entry:
  %all = alloca [{_ROOM} x i8], align 16
  %before = alloca [{_ROOM} x i8], align 16
  br label %look
look:
  %workers = load i64, ptr @workers, align 8
  %is.enough = icmp sge i64 %workers, %wanted
  %stopped = load atomic i64, ptr @{STOPPED} monotonic, align 8
  %is.stopped = icmp ne i64 %stopped, 0
  %is.over = or i1 %is.enough, %is.stopped
  br i1 %is.over, label %done, label %start
start:
  %filled = call i32 @sigfillset(ptr %all)
  %blocked = call i32 @pthread_sigmask(i32 {signal.SIG_SETMASK.value}, ptr %all, ptr %before)
  %handle = getelementptr inbounds [{_MOST_WORKERS} x i64], ptr @handles, i64 0, i64 %workers
  %more = add i64 %workers, 1
  %number = inttoptr i64 %more to ptr
  %failed = call i32 @pthread_create(ptr %handle, ptr null, ptr @work, ptr %number)
  %restored = call i32 @pthread_sigmask(i32 {signal.SIG_SETMASK.value}, ptr %before, ptr null)
  %is.started = icmp eq i32 %failed, 0
  br i1 %is.started, label %count, label %done
count:
  store i64 %more, ptr @workers, align 8
  br label %look
done:
  ret i64 %workers
}}

; Let the workers end, and wait until they have. New ones are started again when mlirad_workers_are_stopped is 0.
define void @{STOP}() nounwind {{
entry:
  store atomic i64 1, ptr @{STOPPED} release, align 8
  %number = call i32 @getpid()
  %me = zext i32 %number to i64
  %owner = load atomic i64, ptr @process acquire, align 8
  %is.mine = icmp eq i64 %owner, %me
  br i1 %is.mine, label %stop, label %done
stop:
  call void @{ENTER}(ptr @mutex)
  %workers = load i64, ptr @workers, align 8
  store i64 0, ptr @workers, align 8
  %told = call i32 @pthread_cond_broadcast(ptr @is.work)
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %look
look:
  %k = phi i64 [ 0, %stop ], [ %following, %join ]
  %is.more = icmp slt i64 %k, %workers
  br i1 %is.more, label %join, label %done
join:
  %place = getelementptr inbounds [{_MOST_WORKERS} x i64], ptr @handles, i64 0, i64 %k
  %handle = load i64, ptr %place, align 8
  %joined = call i32 @pthread_join(i64 %handle, ptr null)
  %following = add nuw nsw i64 %k, 1
  br label %look
done:
  ret void
}}
"""


def pool_text() -> str:
    """The whole text, including what it needs of the runtime. The number of threads is a symbol, THREADS."""
    definitions, declarations = runtime_text(["mlirad.poll"])
    return "\n".join([WAITING, _POOL, *definitions, *declarations.values(), ""])
