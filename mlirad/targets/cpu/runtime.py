"""The few functions that compiled code calls at run time, as LLVM IR.

Reads: the names that an emitted module uses. Writes: their text, with the functions that they need. Leaves: nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from mlirad.targets.cpu.call_context import FIRST_BUDGET, MAIN_THREAD, NEXT_LOOK, RAISED
from mlirad.targets.cpu.runtime_memory import OF_MEMORY, RuntimeFunction

_FOREVER = 1 << 62
_BETWEEN_LOOKS = 64_000_000  # nanoseconds
_MONOTONIC = 6 if sys.platform == "darwin" else 1

_EXTERNAL = {
    "PyErr_CheckSignals": "declare i32 @PyErr_CheckSignals() nounwind",
    "PyErr_Fetch": "declare void @PyErr_Fetch(ptr, ptr, ptr) nounwind",
    "PyGILState_Ensure": "declare i32 @PyGILState_Ensure() nounwind",
    "PyGILState_Release": "declare void @PyGILState_Release(i32) nounwind",
    "PyThread_get_thread_ident": "declare i64 @PyThread_get_thread_ident() nounwind",
    "clock_gettime": "declare i32 @clock_gettime(i32, ptr) nounwind",
    "aligned_alloc": "declare noalias ptr @aligned_alloc(i64 allocalign, i64) nounwind",
    "free": "declare void @free(ptr) nounwind",
    "realloc": "declare ptr @realloc(ptr, i64) nounwind",
    "llvm.memcpy.p0.p0.i64": "declare void @llvm.memcpy.p0.p0.i64(ptr noalias, ptr noalias, i64, i1)",
    "llvm.memset.p0.i64": "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
}

_FUNCTIONS: dict[str, RuntimeFunction] = {
    **OF_MEMORY,
    # After a budget of work: the next budget, or 0 if a signal handler has raised. Only the main thread polls.
    # Handlers may run anything; the attributes say that the order of their accesses to the call's arrays does not
    # matter.
    "mlirad.poll": RuntimeFunction(
        f"""
@{MAIN_THREAD} = external global i64, align 8
define internal i64 @mlirad.poll(ptr %ctx) noinline cold nounwind willreturn
    memory(argmem: readwrite, inaccessiblemem: readwrite) {{
entry:
  %time = alloca [2 x i64], align 8
  %thread = call i64 @PyThread_get_thread_ident()
  %main = load i64, ptr @{MAIN_THREAD}, align 8
  %is.main = icmp eq i64 %thread, %main
  br i1 %is.main, label %look, label %never
never:
  ret i64 {_FOREVER}
look:
  %failed = call i32 @clock_gettime(i32 {_MONOTONIC}, ptr %time)
  %seconds = load i64, ptr %time, align 8
  %rest.p = getelementptr inbounds i8, ptr %time, i64 8
  %rest = load i64, ptr %rest.p, align 8
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  %next.p = getelementptr inbounds i8, ptr %ctx, i64 {NEXT_LOOK}
  %next = load i64, ptr %next.p, align 8
  %is.early = icmp slt i64 %now, %next
  br i1 %is.early, label %go, label %ask
ask:
  %later = add i64 %now, {_BETWEEN_LOOKS}
  store i64 %later, ptr %next.p, align 8
  %state = call i32 @PyGILState_Ensure()
  %code = call i32 @PyErr_CheckSignals()
  %is.quiet = icmp eq i32 %code, 0
  br i1 %is.quiet, label %release, label %fetch
fetch:
  %type.p = getelementptr inbounds i8, ptr %ctx, i64 {RAISED}
  %value.p = getelementptr inbounds i8, ptr %ctx, i64 {RAISED + 8}
  %traceback.p = getelementptr inbounds i8, ptr %ctx, i64 {RAISED + 16}
  call void @PyErr_Fetch(ptr %type.p, ptr %value.p, ptr %traceback.p)
  call void @PyGILState_Release(i32 %state)
  ret i64 0
release:
  call void @PyGILState_Release(i32 %state)
  br label %go
go:
  ret i64 {FIRST_BUDGET}
}}""",
        (
            "PyErr_CheckSignals",
            "PyErr_Fetch",
            "PyGILState_Ensure",
            "PyGILState_Release",
            "PyThread_get_thread_ident",
            "clock_gettime",
        ),
    ),
    # x ** n by squaring, modulo 2**64. A negative n gives 1/x rounded to zero: 1, -1, or 0 (also for x = 0).
    "mlirad.ipow": RuntimeFunction(
        """
define internal i64 @mlirad.ipow(i64 %x, i64 %n) nounwind memory(none) {
entry:
  %is.negative = icmp slt i64 %n, 0
  br i1 %is.negative, label %inverse, label %loop
inverse:
  %is.one = icmp eq i64 %x, 1
  %is.minus = icmp eq i64 %x, -1
  %low = and i64 %n, 1
  %is.odd = icmp ne i64 %low, 0
  %sign = select i1 %is.odd, i64 -1, i64 1
  %of.minus = select i1 %is.minus, i64 %sign, i64 0
  %inverted = select i1 %is.one, i64 1, i64 %of.minus
  ret i64 %inverted
loop:
  %power = phi i64 [ 1, %entry ], [ %power.next, %step ]
  %square = phi i64 [ %x, %entry ], [ %square.next, %step ]
  %left = phi i64 [ %n, %entry ], [ %left.next, %step ]
  %is.done = icmp eq i64 %left, 0
  br i1 %is.done, label %done, label %step
step:
  %bit = and i64 %left, 1
  %takes = icmp ne i64 %bit, 0
  %product = mul i64 %power, %square
  %power.next = select i1 %takes, i64 %product, i64 %power
  %square.next = mul i64 %square, %square
  %left.next = lshr i64 %left, 1
  br label %loop
done:
  ret i64 %power
}"""
    ),
}


def runtime_text(names: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """The definitions of these functions and of all that they need, and the declarations that those need."""
    definitions: list[str] = []
    declarations: dict[str, str] = {}
    seen: set[str] = set()
    pending = sorted(names, reverse=True)
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in _EXTERNAL:
            declarations[name] = _EXTERNAL[name]
            continue
        function = _FUNCTIONS[name]
        definitions.append(function.text.lstrip("\n"))
        pending += function.needs
    return definitions, declarations
