"""The memory of a call as LLVM IR: a table of blocks, which grows while the call runs.

Reads: the layout of the context (`call_context.py`), which holds the table. Writes: the functions that allocate, grow
and free blocks. Leaves: nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlirad.targets.cpu.call_context import CAPACITY, HEADER_BYTES, HIGH_WATER, PEAK, SEGMENT_BYTES, SEGMENTS, USED

# The header of a block.
_INDEX = 8  # its index in the table; its capacity precedes it
_MARKED = 16
_ASKED = 24  # the bytes requested from it
_BEFORE = 32  # the bytes requested from the blocks before it
_MARK = 0x6D6C697261640001


@dataclass(frozen=True, slots=True)
class RuntimeFunction:
    """The definition of a function, and the names of those that it calls."""

    text: str
    needs: tuple[str, ...] = ()


OF_MEMORY: dict[str, RuntimeFunction] = {
    # Whether this many bytes can be allocated now. (Without `nobuiltin`, LLVM would assume yes.)
    "mlirad.has_memory": RuntimeFunction(
        """
define internal i1 @mlirad.has_memory(i64 %bytes) noinline nounwind {
entry:
  %more = add i64 %bytes, 63
  %whole = and i64 %more, -64
  %pointer = call ptr @aligned_alloc(i64 64, i64 %whole) nobuiltin
  %found = icmp ne ptr %pointer, null
  call void @free(ptr %pointer) nobuiltin
  ret i1 %found
}""",
        ("aligned_alloc", "free"),
    ),
    # A new block of at least this size, counted in the context but not in its table; null if there is no memory.
    "mlirad.block": RuntimeFunction(
        f"""
define internal ptr @mlirad.block(ptr %ctx, i64 %bytes) noinline nounwind {{
entry:
  %sane = icmp ult i64 %bytes, 4611686018427387904
  br i1 %sane, label %take, label %none
take:
  %padded = add nuw nsw i64 %bytes, {HEADER_BYTES + 63}
  %size = and i64 %padded, -64
  %block = call ptr @aligned_alloc(i64 64, i64 %size)
  %failed = icmp eq ptr %block, null
  br i1 %failed, label %none, label %fill
fill:
  %capacity = sub nuw nsw i64 %size, {HEADER_BYTES}
  store i64 %capacity, ptr %block, align 8
  %mark.p = getelementptr inbounds i8, ptr %block, i64 {_MARKED}
  store i64 {_MARK}, ptr %mark.p, align 8
  %held.p = getelementptr inbounds i8, ptr %ctx, i64 {SEGMENT_BYTES}
  %held = load i64, ptr %held.p, align 8
  %held.new = add i64 %held, %capacity
  store i64 %held.new, ptr %held.p, align 8
  %high.p = getelementptr inbounds i8, ptr %ctx, i64 {HIGH_WATER}
  %high = load i64, ptr %high.p, align 8
  %is.higher = icmp ugt i64 %held.new, %high
  %high.new = select i1 %is.higher, i64 %held.new, i64 %high
  store i64 %high.new, ptr %high.p, align 8
  ret ptr %block
none:
  ret ptr null
}}""",
        ("aligned_alloc",),
    ),
    # Free a block and forget its bytes.
    "mlirad.drop": RuntimeFunction(
        f"""
define internal void @mlirad.drop(ptr %ctx, ptr %block) nounwind {{
entry:
  %capacity = load i64, ptr %block, align 8
  %held.p = getelementptr inbounds i8, ptr %ctx, i64 {SEGMENT_BYTES}
  %held = load i64, ptr %held.p, align 8
  %held.new = sub i64 %held, %capacity
  store i64 %held.new, ptr %held.p, align 8
  call void @free(ptr %block)
  ret void
}}""",
        ("free",),
    ),
    # Memory of the current call: the next block of the table, replaced if it is too small. Null if there is no memory.
    "mlirad.alloc": RuntimeFunction(
        f"""
define internal noalias ptr @mlirad.alloc(ptr %ctx, i64 %bytes) noinline nounwind {{
entry:
  %used.p = getelementptr inbounds i8, ptr %ctx, i64 {USED}
  %used = load i64, ptr %used.p, align 8
  %capacity.p = getelementptr inbounds i8, ptr %ctx, i64 {CAPACITY}
  %capacity = load i64, ptr %capacity.p, align 8
  %table.p = getelementptr inbounds i8, ptr %ctx, i64 {SEGMENTS}
  %table.old = load ptr, ptr %table.p, align 8
  %is.full = icmp eq i64 %used, %capacity
  br i1 %is.full, label %widen, label %look
widen:
  %twice = shl i64 %capacity, 1
  %wider = add i64 %twice, 16
  %table.bytes = shl i64 %wider, 3
  %table.new = call ptr @realloc(ptr %table.old, i64 %table.bytes)
  %no.table = icmp eq ptr %table.new, null
  br i1 %no.table, label %none, label %clear
clear:
  store ptr %table.new, ptr %table.p, align 8
  store i64 %wider, ptr %capacity.p, align 8
  %new.p = getelementptr inbounds ptr, ptr %table.new, i64 %capacity
  %new.count = sub i64 %wider, %capacity
  %new.bytes = shl i64 %new.count, 3
  call void @llvm.memset.p0.i64(ptr align 8 %new.p, i8 0, i64 %new.bytes, i1 false)
  br label %look
look:
  %table = phi ptr [ %table.old, %entry ], [ %table.new, %clear ]
  %place = getelementptr inbounds ptr, ptr %table, i64 %used
  %block = load ptr, ptr %place, align 8
  %is.free = icmp eq ptr %block, null
  br i1 %is.free, label %make, label %measure
measure:
  %has = load i64, ptr %block, align 8
  %fits = icmp uge i64 %has, %bytes
  br i1 %fits, label %done, label %replace
replace:
  store ptr null, ptr %place, align 8
  call void @mlirad.drop(ptr %ctx, ptr %block)
  br label %make
make:
  %made = call ptr @mlirad.block(ptr %ctx, i64 %bytes)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %none, label %enter
enter:
  %index.p = getelementptr inbounds i8, ptr %made, i64 {_INDEX}
  store i64 %used, ptr %index.p, align 8
  store ptr %made, ptr %place, align 8
  br label %done
done:
  %found = phi ptr [ %block, %measure ], [ %made, %enter ]
  %used.new = add nuw nsw i64 %used, 1
  store i64 %used.new, ptr %used.p, align 8
  %is.first = icmp eq i64 %used, 0
  br i1 %is.first, label %count, label %add
add:
  %last.p = getelementptr inbounds ptr, ptr %place, i64 -1
  %last = load ptr, ptr %last.p, align 8
  %last.asked.p = getelementptr inbounds i8, ptr %last, i64 {_ASKED}
  %last.asked = load i64, ptr %last.asked.p, align 8
  %last.before.p = getelementptr inbounds i8, ptr %last, i64 {_BEFORE}
  %last.before = load i64, ptr %last.before.p, align 8
  %sum = add i64 %last.before, %last.asked
  br label %count
count:
  %before = phi i64 [ 0, %done ], [ %sum, %add ]
  %asked.p = getelementptr inbounds i8, ptr %found, i64 {_ASKED}
  store i64 %bytes, ptr %asked.p, align 8
  %before.p = getelementptr inbounds i8, ptr %found, i64 {_BEFORE}
  store i64 %before, ptr %before.p, align 8
  %live = add i64 %before, %bytes
  %peak.p = getelementptr inbounds i8, ptr %ctx, i64 {PEAK}
  %peak = load i64, ptr %peak.p, align 8
  %is.higher = icmp ugt i64 %live, %peak
  %peak.new = select i1 %is.higher, i64 %live, i64 %peak
  store i64 %peak.new, ptr %peak.p, align 8
  %data = getelementptr inbounds i8, ptr %found, i64 {HEADER_BYTES}
  ret ptr %data
none:
  ret ptr null
}}""",
        ("mlirad.block", "mlirad.drop", "realloc", "llvm.memset.p0.i64"),
    ),
    # Set the bytes requested from a block, if they are more. The counts of the blocks after it grow by the same amount.
    "mlirad.recount": RuntimeFunction(
        f"""
define internal void @mlirad.recount(ptr %ctx, ptr %block, i64 %bytes) noinline nounwind {{
entry:
  %asked.p = getelementptr inbounds i8, ptr %block, i64 {_ASKED}
  %asked = load i64, ptr %asked.p, align 8
  %is.more = icmp ugt i64 %bytes, %asked
  br i1 %is.more, label %count, label %done
count:
  store i64 %bytes, ptr %asked.p, align 8
  %more = sub i64 %bytes, %asked
  %index.p = getelementptr inbounds i8, ptr %block, i64 {_INDEX}
  %index = load i64, ptr %index.p, align 8
  %used.p = getelementptr inbounds i8, ptr %ctx, i64 {USED}
  %used = load i64, ptr %used.p, align 8
  %table.p = getelementptr inbounds i8, ptr %ctx, i64 {SEGMENTS}
  %table = load ptr, ptr %table.p, align 8
  br label %loop
loop:
  %last = phi ptr [ %block, %count ], [ %next, %step ]
  %at = phi i64 [ %index, %count ], [ %following, %step ]
  %following = add nuw nsw i64 %at, 1
  %is.within = icmp ult i64 %following, %used
  br i1 %is.within, label %step, label %sum
step:
  %place = getelementptr inbounds ptr, ptr %table, i64 %following
  %next = load ptr, ptr %place, align 8
  %next.before.p = getelementptr inbounds i8, ptr %next, i64 {_BEFORE}
  %next.before = load i64, ptr %next.before.p, align 8
  %moved = add i64 %next.before, %more
  store i64 %moved, ptr %next.before.p, align 8
  br label %loop
sum:
  %last.asked.p = getelementptr inbounds i8, ptr %last, i64 {_ASKED}
  %last.asked = load i64, ptr %last.asked.p, align 8
  %last.before.p = getelementptr inbounds i8, ptr %last, i64 {_BEFORE}
  %last.before = load i64, ptr %last.before.p, align 8
  %live = add i64 %last.before, %last.asked
  %peak.p = getelementptr inbounds i8, ptr %ctx, i64 {PEAK}
  %peak = load i64, ptr %peak.p, align 8
  %is.higher = icmp ugt i64 %live, %peak
  %peak.new = select i1 %is.higher, i64 %live, i64 %peak
  store i64 %peak.new, ptr %peak.p, align 8
  br label %done
done:
  ret void
}}"""
    ),
    # The data of a block with room for %new bytes; the first %old bytes are kept. Data outside of blocks (in the arena)
    # is copied into one. Null if there is no memory; then the call still owns the old block.
    "mlirad.grow": RuntimeFunction(
        f"""
define internal ptr @mlirad.grow(ptr %ctx, ptr %data, i64 %old, i64 %new) noinline nounwind {{
entry:
  %block = getelementptr i8, ptr %data, i64 -{HEADER_BYTES}
  %mark.p = getelementptr i8, ptr %block, i64 {_MARKED}
  %mark = load i64, ptr %mark.p, align 8
  %is.block = icmp eq i64 %mark, {_MARK}
  br i1 %is.block, label %measure, label %move
measure:
  %has = load i64, ptr %block, align 8
  %fits = icmp uge i64 %has, %new
  br i1 %fits, label %stay, label %replace
stay:
  call void @mlirad.recount(ptr %ctx, ptr %block, i64 %new)
  ret ptr %data
replace:
  %made = call ptr @mlirad.block(ptr %ctx, i64 %new)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %none, label %enter
enter:
  %made.data = getelementptr inbounds i8, ptr %made, i64 {HEADER_BYTES}
  call void @llvm.memcpy.p0.p0.i64(ptr align 64 %made.data, ptr align 64 %data, i64 %old, i1 false)
  %index.p = getelementptr inbounds i8, ptr %block, i64 {_INDEX}
  %index = load i64, ptr %index.p, align 8
  %made.index.p = getelementptr inbounds i8, ptr %made, i64 {_INDEX}
  store i64 %index, ptr %made.index.p, align 8
  %asked.p = getelementptr inbounds i8, ptr %block, i64 {_ASKED}
  %asked = load i64, ptr %asked.p, align 8
  %made.asked.p = getelementptr inbounds i8, ptr %made, i64 {_ASKED}
  store i64 %asked, ptr %made.asked.p, align 8
  %before.p = getelementptr inbounds i8, ptr %block, i64 {_BEFORE}
  %before = load i64, ptr %before.p, align 8
  %made.before.p = getelementptr inbounds i8, ptr %made, i64 {_BEFORE}
  store i64 %before, ptr %made.before.p, align 8
  %table.p = getelementptr inbounds i8, ptr %ctx, i64 {SEGMENTS}
  %table = load ptr, ptr %table.p, align 8
  %place = getelementptr inbounds ptr, ptr %table, i64 %index
  store ptr %made, ptr %place, align 8
  call void @mlirad.drop(ptr %ctx, ptr %block)
  call void @mlirad.recount(ptr %ctx, ptr %made, i64 %new)
  ret ptr %made.data
move:
  %fresh = call ptr @mlirad.alloc(ptr %ctx, i64 %new)
  %no.fresh = icmp eq ptr %fresh, null
  br i1 %no.fresh, label %none, label %copy
copy:
  call void @llvm.memcpy.p0.p0.i64(ptr align 64 %fresh, ptr align 8 %data, i64 %old, i1 false)
  ret ptr %fresh
none:
  ret ptr null
}}""",
        ("mlirad.block", "mlirad.drop", "mlirad.alloc", "mlirad.recount", "llvm.memcpy.p0.p0.i64"),
    ),
    # Whether an array's memory was allocated when this number of blocks was in use.
    "mlirad.is_older": RuntimeFunction(
        f"""
define internal i1 @mlirad.is_older(ptr %data, i64 %used) nounwind {{
entry:
  %mark.p = getelementptr i8, ptr %data, i64 -{HEADER_BYTES - _MARKED}
  %mark = load i64, ptr %mark.p, align 8
  %is.block = icmp eq i64 %mark, {_MARK}
  %index.p = getelementptr i8, ptr %data, i64 -{HEADER_BYTES - _INDEX}
  %index = load i64, ptr %index.p, align 8
  %is.before = icmp ult i64 %index, %used
  %is.older = and i1 %is.block, %is.before
  ret i1 %is.older
}}"""
    ),
}
