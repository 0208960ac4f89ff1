"""Happens-before within one block: a clock for each pipe says which instructions have certainly finished.

Reads: flags, barriers and accesses in program order. Writes: faults. Leaves: nothing.

The scalar unit issues in program order to queues, one for each pipe. On a pipe, instructions start in order, but a
later one may start before an earlier one has finished. So an instruction may access the bytes of an earlier one only if
that has certainly finished: `known[p][q]` is the number of entries of pipe q that have finished before the next entry
of pipe p starts.
"""

from __future__ import annotations

from xdsl.ir import Operation

from mlirad.targets.ascend.hivm.hivm_attributes import CoreType, Pipe
from mlirad.targets.ascend.simulator.faults import Fault, SimulatorFault

PIPES = (Pipe.S, Pipe.V, Pipe.M, Pipe.MTE1, Pipe.MTE2, Pipe.MTE3, Pipe.FIX)
NUMBER = {pipe: number for number, pipe in enumerate(PIPES)}

PIPES_OF = {
    CoreType.VECTOR: (Pipe.S, Pipe.V, Pipe.MTE2, Pipe.MTE3),
    CoreType.CUBE: (Pipe.S, Pipe.M, Pipe.MTE1, Pipe.MTE2, Pipe.MTE3, Pipe.FIX),
}

Flag = tuple[Pipe, Pipe, int]


class PipeOrder:
    """The clocks of one core. The numbers of entries continue from block to block.

    flags_count: a flag that is set again before a wait for the earlier set counts as two sets. Huawei's compiler emits
    such programs; its documentation calls them undefined, so by default this is a fault.
    """

    def __init__(self, core: CoreType, event_ids: int, flags_count: bool = False):
        self.core = core
        self.flags_count = flags_count
        self.event_ids = event_ids
        self.count = [0] * len(PIPES)
        self.known = [[0] * len(PIPES) for _ in PIPES]
        self.entries: list[list[Operation]] = [[] for _ in PIPES]
        self.flags: dict[Flag, tuple[list[int], Operation]] = {}
        self.waits: dict[Flag, int] = {}

    def begin_block(self) -> None:
        """Everything that earlier blocks did has finished."""
        self.meet_all()
        self.waits.clear()

    def next(self, pipe: int, op: Operation) -> int:
        """The number of a new entry of a pipe."""
        self.entries[pipe].append(op)
        self.count[pipe] += 1
        return self.count[pipe]

    def next_scalar(self, op: Operation) -> int:
        """The number of an action of the scalar unit: it waits for its own actions; the other pipes do not."""
        number = NUMBER[Pipe.S]
        self.known[number][number] = self.next(number, op)
        return self.count[number]

    def meet_all(self) -> None:
        self.known = [list(self.count) for _ in PIPES]

    def barrier(self, pipe: Pipe) -> None:
        if pipe is Pipe.ALL:
            self.meet_all()
            return
        self.check_pipes(pipe)
        number = NUMBER[pipe]
        self.known[number][number] = self.count[number]

    def check_pipes(self, *pipes: Pipe) -> None:
        for pipe in pipes:
            if pipe not in PIPES_OF[self.core]:
                raise SimulatorFault(Fault.PIPE_PAIR, f"a core of type {self.core} has no {pipe}")

    def check_flag(self, flag: Flag) -> None:
        from_, to, event = flag
        self.check_pipes(from_, to)
        if from_ is to:
            raise SimulatorFault(Fault.PIPE_PAIR, f"a flag from {from_} to itself; use a barrier")
        if not 0 <= event < self.event_ids:
            raise SimulatorFault(Fault.EVENT_ID, f"event id {event}; a program may use 0 to {self.event_ids - 1}")

    def set_flag(self, flag: Flag, op: Operation) -> None:
        """The flag is set when everything issued to the pipe so far has finished."""
        self.check_flag(flag)
        from_, to = NUMBER[flag[0]], NUMBER[flag[1]]
        if flag in self.flags:
            raise SimulatorFault(
                Fault.DOUBLE_SET, f"{name_of(flag)} is set again, and nothing waited for it in between"
            )
        if not self.flags_count and self.waits.get(flag, 0) > self.known[from_][to]:
            raise SimulatorFault(
                Fault.DOUBLE_SET,
                f"{name_of(flag)} may be set again before {flag[1]} has waited for it: {flag[0]} runs ahead",
            )
        snapshot = list(self.known[from_])
        snapshot[from_] = self.next(from_, op)
        self.flags[flag] = snapshot, op

    def wait_flag(self, flag: Flag, op: Operation) -> None:
        self.check_flag(flag)
        if flag not in self.flags:
            raise SimulatorFault(
                Fault.DEADLOCK, f"waits for {name_of(flag)}, which no set_flag before it in the program sets"
            )
        snapshot, _ = self.flags.pop(flag)
        to = NUMBER[flag[1]]
        self.waits[flag] = self.next(to, op)
        # The scalar unit issues nothing while it waits, so every pipe then knows that the entry has finished.
        for pipe in range(len(PIPES)) if flag[1] is Pipe.S else (to,):
            known = self.known[pipe]
            self.known[pipe] = [max(pair) for pair in zip(known, snapshot, strict=True)]

    def end_block(self) -> None:
        for flag, (_, op) in self.flags.items():
            self.flags = {}
            raise SimulatorFault(Fault.LEFTOVER, f"{name_of(flag)} is still set when the kernel ends", op=op)


def name_of(flag: Flag) -> str:
    return f"the flag {flag[0]} -> {flag[1]}, id {flag[2]},"
