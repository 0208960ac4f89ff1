"""The code of the workers, in LLVM IR: how they are started, what they do, and how they end.

Reads: nothing. Writes: text. Leaves: nothing.

Workers are threads of the C library, which block all signals and never touch Python. They are started by the first
call that has work for them. Without work they wait as waiting.py says.
"""

from __future__ import annotations

import signal

from mlirad.targets.cpu.pool.parallel_for import HIRE, IS_OURS, RUN
from mlirad.targets.cpu.pool.shared_state import MOST_WORKERS, ROOM, field
from mlirad.targets.cpu.pool.waiting import ENTER, MAY_SPIN, SPIN, STOPPED

STOP = "mlirad_stop_workers"

WORKERS = f"""
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
  %seats.p = {field("seats")}
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
  %running.p = {field("running")}
  %running = load atomic i64, ptr %running.p monotonic, align 8
  %more = add i64 %running, 1
  store atomic i64 %more, ptr %running.p monotonic, align 8
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  %code = call i32 @{RUN}(ptr %job, i64 %me)
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
define internal i1 @{IS_OURS}() nounwind noinline {{
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
define internal i64 @{HIRE}(i64 %wanted) nounwind noinline {{
entry:
  %all = alloca [{ROOM} x i8], align 16
  %before = alloca [{ROOM} x i8], align 16
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
  %handle = getelementptr inbounds [{MOST_WORKERS} x i64], ptr @handles, i64 0, i64 %workers
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
  %place = getelementptr inbounds [{MOST_WORKERS} x i64], ptr @handles, i64 0, i64 %k
  %handle = load i64, ptr %place, align 8
  %joined = call i32 @pthread_join(i64 %handle, ptr null)
  %following = add nuw nsw i64 %k, 1
  br label %look
done:
  ret void
}}
"""
