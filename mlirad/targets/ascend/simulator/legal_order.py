"""Runs the blocks of a launch in a random order that the hardware might also choose.

Reads: traces. Writes: memory. Leaves: nothing. If a kernel is free of races, every order gives the same bits.

An instruction reads when it starts or when it finishes, and writes when it finishes. On a pipe, instructions start in
order and finish in any order. An order is a random time for each start and each finish, subject to flags and barriers.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from mlirad.targets.ascend.hivm.hivm_attributes import Pipe
from mlirad.targets.ascend.simulator.device_core import compute
from mlirad.targets.ascend.simulator.device_memory import ByteMemory
from mlirad.targets.ascend.simulator.faults import Fault, SimulatorFault
from mlirad.targets.ascend.simulator.kernel_trace import (
    Entry,
    FlagSet,
    FlagWait,
    Issued,
    PipeBarrier,
    ScalarWrite,
    Trace,
)
from mlirad.targets.ascend.simulator.pipe_order import Flag, name_of

Event = tuple[float, int, Callable[[], None]]
"""The time of an event; a unique number, so that comparisons end there; and the event."""

_GARBAGE = np.random.default_rng(0).integers(0, 256, 1 << 20, np.uint8)


def run_in_random_order(
    traces: Sequence[Trace], memories: Sequence[ByteMemory], seed: int, flags_count: bool = False
) -> None:
    """Execute the blocks of one launch in parallel. memories: their own, with arbitrary initial contents."""
    random = np.random.default_rng(seed)
    for memory in memories:
        size = memory.data.size
        first = int(random.integers(0, _GARBAGE.size - size))
        memory.data[:] = _GARBAGE[first : first + size]
    events: list[Event] = []
    blocks = [BlockOrder(trace, random, events, flags_count) for trace in traces]
    for block in blocks:
        block.schedule()
    events.sort()
    with np.errstate(all="ignore"):
        for _, _, act in events:
            act()
    if any(block.flags.total() for block in blocks):
        raise SimulatorFault(Fault.LEFTOVER, "a flag is still set when the kernel ends")


class Running:
    """An instruction in one order."""

    __slots__ = ("issued", "result")

    def __init__(self, issued: Issued):
        self.issued = issued
        self.result: np.ndarray | None = None

    def read(self) -> None:
        each = self.issued
        self.result = np.array(compute(each.op, each.inputs, each.output, each.adds), copy=True)

    def finish(self) -> None:
        if self.result is None:
            self.read()
        for view in self.issued.scratch:
            view.write(np.ones(view.shape, view.dtype))
        assert self.result is not None
        self.issued.output.write(self.result)
        self.issued.output.mark()


class BlockOrder:
    """The times of one block's entries, appended to `events`.

    issue: when the scalar unit issues the next entry. started, finished: for each pipe, when the last entry started,
    and when all so far have finished. raised: for each flag, the times at which it is set.
    """

    def __init__(self, trace: Trace, random: np.random.Generator, events: list[Event], flags_count: bool):
        self.trace = trace
        self.events = events
        self.flags_count = flags_count
        # Pipes have very different speeds, and so have their finishes, so that one may run far ahead. In half of the
        # orders, one entry takes longer than all others together.
        scales = 1 / (random.random(len(Pipe) + 1) ** 3 + 1e-3)
        self.scales = dict(zip(Pipe, scales.tolist(), strict=False))
        self.finishing = float(scales[-1]) ** random.choice((0.0, 0.5, 1.0))
        self.gap = float(random.choice((0.0, 0.1, 10.0, 300.0)))
        self.slow = int(random.integers(0, max(2 * len(trace), 1)))
        self.delays: Iterator[float] = iter(random.exponential(size=3 * len(trace)).tolist())
        self.coins: Iterator[bool] = iter((random.random(len(trace)) < 0.5).tolist())
        self.issue = float(random.choice((0.0, 0.0, 1e3, 1e5))) * float(random.random())
        self.started = dict.fromkeys(Pipe, 0.0)
        self.finished = dict.fromkeys(Pipe, 0.0)
        self.queues: dict[Pipe, deque[tuple[float, Entry]]] = {pipe: deque() for pipe in Pipe}
        self.raised: dict[Flag, list[float]] = {}
        self.waits: Counter[Flag] = Counter()
        self.flags: Counter[Flag] = Counter()

    def happen(self, time: float, act: Callable[[], None]) -> None:
        self.events.append((time, len(self.events), act))

    def schedule(self) -> None:
        for number, entry in enumerate(self.trace):
            self.issue += self.gap * next(self.delays)
            if number == self.slow:
                self.finishing, before = self.finishing * 1e5, self.finishing
                self.enter(entry)
                self.finishing = before
            else:
                self.enter(entry)
        self.check_queues()

    def check_queues(self) -> None:
        """No entry may be left waiting."""
        waiting = [queue[0][1] for queue in self.queues.values() if queue]
        if waiting:
            listed = ", ".join(name_of(each.flag) for each in waiting if isinstance(each, FlagWait))
            raise SimulatorFault(Fault.DEADLOCK, f"nothing can run; waited for: {listed}")

    def enter(self, entry: Entry) -> None:
        """The scalar unit issues an entry, or waits."""
        match entry:
            case Issued():
                self.queue(entry.pipe, entry)
            case ScalarWrite():
                self.happen(self.issue, partial(entry.output.write, entry.value))
            case FlagSet():
                if entry.flag[0] is Pipe.S:
                    self.set_at(entry.flag, self.issue)
                else:
                    self.queue(entry.flag[0], entry)
            case FlagWait():
                if entry.flag[1] is not Pipe.S:
                    self.queue(entry.flag[1], entry)
                    return
                if (since := self.wait_for(entry.flag)) is None:
                    raise SimulatorFault(Fault.DEADLOCK, f"nothing can run; waited for: {name_of(entry.flag)}")
                self.issue = max(self.issue, since)
                self.happen(self.issue, lambda: self.clear(entry.flag))
            case PipeBarrier():
                if entry.pipe is Pipe.ALL:
                    self.check_queues()
                    self.issue = max(self.issue, *self.finished.values(), *self.started.values())
                    self.issue = max([self.issue, *(times[-1] for times in self.raised.values())])
                else:
                    self.queue(entry.pipe, entry)

    def queue(self, pipe: Pipe, entry: Entry) -> None:
        self.queues[pipe].append((self.issue, entry))
        self.advance(pipe)

    def advance(self, pipe: Pipe) -> None:
        """Schedule the queue's entries until one waits for a flag that is not set yet."""
        queue = self.queues[pipe]
        while queue:
            issued, entry = queue[0]
            earliest = max(issued, self.started[pipe])
            if isinstance(entry, FlagWait):
                if (since := self.wait_for(entry.flag)) is None:
                    return
                earliest = max(earliest, since)
            elif isinstance(entry, PipeBarrier):
                earliest = max(earliest, self.finished[pipe])
            queue.popleft()
            start = self.started[pipe] = earliest + self.scales[pipe] * next(self.delays)
            self.place(pipe, entry, start)

    def place(self, pipe: Pipe, entry: Entry, start: float) -> None:
        match entry:
            case Issued():
                running = Running(entry)
                if next(self.coins):
                    self.happen(start, running.read)
                finish = start + self.finishing * next(self.delays)
                self.happen(finish, running.finish)
                self.finished[pipe] = max(self.finished[pipe], finish)
            case FlagSet():
                self.set_at(entry.flag, max(start, self.finished[pipe]) + next(self.delays))
            case FlagWait():
                self.happen(start, lambda: self.clear(entry.flag))
            case PipeBarrier() | ScalarWrite():
                pass

    def set_at(self, flag: Flag, time: float) -> None:
        times = self.raised.setdefault(flag, [])
        times.append(max(time, times[-1]) if times else time)
        self.happen(times[-1], lambda: self.set(flag))
        if flag[1] is not Pipe.S:
            self.advance(flag[1])

    def wait_for(self, flag: Flag) -> float | None:
        """The time at which the flag is set for the next wait, if it is known."""
        times = self.raised.get(flag, ())
        if self.waits[flag] >= len(times):
            return None
        self.waits[flag] += 1
        return times[self.waits[flag] - 1]

    def set(self, flag: Flag) -> None:
        if self.flags[flag] and not self.flags_count:
            raise SimulatorFault(Fault.DOUBLE_SET, f"{name_of(flag)} is set again before anything waited for it")
        self.flags[flag] += 1

    def clear(self, flag: Flag) -> None:
        self.flags[flag] -= 1
