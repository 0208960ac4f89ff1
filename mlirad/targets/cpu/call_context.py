"""The layout of what compiled code and its callers share: a call's context, the codes that it returns, and symbols.

Reads: nothing. Writes: nothing. Gives: offsets in bytes, and names.

A call's dynamic memory is a table of blocks in its context. Blocks are used in order, grown in place if their capacity
allows, and freed all at once by setting the number in use to 0: the next call finds them, at their largest size, in the
same order. A block is a header of 64 bytes and its data, aligned to 64 bytes.

The memory of a call is what it requested, not the capacity of its blocks: each header has the bytes requested from its
block and from all blocks before it. So freeing blocks needs no counting, and the count depends only on the call.
"""

from __future__ import annotations

# The context: offsets in bytes. The first 64 are part of the ABI.
ARENA = 0
ERROR_ARGUMENT_0 = 8
ERROR_ARGUMENT_1 = 16
SEGMENTS = 24  # the table of blocks
SEGMENT_BYTES = 32  # capacity of all blocks together
HIGH_WATER = 40  # its maximum so far
USED = 48  # blocks of the table in use
CAPACITY = 56  # entries of the table
STACK_LIMIT = 64  # the lowest stack address that a call may reach
STACK_BOTTOM = 72  # the same as known to the caller of this call, if not null
PEAK = 80  # the most bytes that were requested at one time, in the last call
BUDGET = 88  # roughly how many operations may run before the next look at the clock
NEXT_LOOK = 96  # the time, in nanoseconds, of the next poll for signals
RAISED = 104  # the exception of a signal handler: type, value and traceback, in the order of PyErr_Fetch
CONTEXT_BYTES = 192

# Codes that a call returns, besides 0 and the numbers of the table of errors.
MEMORY_ERROR = -1
INTERRUPTED = -2

FIRST_BUDGET = 1 << 22  # a few milliseconds
PARALLEL_FOR = "mlirad_parallel_for"  # a symbol: runs the blocks of a loop in threads; see pool/parallel_for.py
PARALLEL_POLL = "mlirad_parallel_poll"  # a symbol: the function that threads call regularly while they run such a block
MAIN_THREAD = "mlirad_main_thread"  # a symbol: the identifier of the thread in which Python handles signals

HEADER_BYTES = 64  # of a block; its data follow
# The part of a stack of unknown size that a call may use: less than any thread has.
STACK_BYTES = 96 << 10
