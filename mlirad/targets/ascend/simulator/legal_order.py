"""Runs the instructions of a block in a random order that the hardware may choose, too.

Reads: instructions, flags and barriers in program order. Writes: memory. Leaves: nothing. If a kernel is free of races,
every order gives the same bits.

An instruction reads when it starts or when it finishes, and writes when it finishes. On a pipe they start in order and
finish in any order.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random

import numpy as np

from mlirad.targets.ascend.hivm.hivm_attributes import Pipe
from mlirad.targets.ascend.simulator.device_memory import DeviceBuffer
from mlirad.targets.ascend.simulator.faults import Fault, SimulatorFault
from mlirad.targets.ascend.simulator.pipe_order import Flag, name_of


@dataclass(slots=True)
class Running:
    """An instruction: `compute` reads its inputs, and `output` is what it then overwrites."""

    compute: Callable[[], np.ndarray]
    output: DeviceBuffer
    scratch: tuple[DeviceBuffer, ...]
    result: np.ndarray | None = None

    def read(self) -> None:
        if self.result is None:
            self.result = np.array(self.compute(), copy=True)

    def finish(self) -> None:
        self.read()
        assert self.result is not None
        for view in self.scratch:
            view.write(np.ones(view.shape, view.dtype))
        self.output.write(self.result)
        self.output.mark()


@dataclass(slots=True)
class Setting:
    """A flag that is set once all that started before it on its pipe has finished."""

    flag: Flag
    waits_for: list[Running]


@dataclass(frozen=True, slots=True)
class Waiting:
    """Nothing behind it starts before the flag is set; it clears the flag."""

    flag: Flag


class Barrier:
    """Nothing behind it starts before all in front of it has finished."""


Entry = Running | Setting | Waiting | Barrier


class LegalOrder:
    """One seed is one order."""

    def __init__(self, seed: int, flags_count: bool = False):
        self.random = Random(seed)
        self.flags_count = flags_count
        self.queues: dict[Pipe, deque[Entry]] = {pipe: deque() for pipe in Pipe}
        self.running: dict[Pipe, list[Running]] = {pipe: [] for pipe in Pipe}
        self.settings: list[Setting] = []
        self.flags: Counter[Flag] = Counter()
        # Some pipes are much faster than others, and so is finishing, so that one may run far ahead.
        self.weights = {pipe: self.random.random() ** 3 + 1e-3 for pipe in Pipe}
        self.finishing = self.random.random() ** 3 + 1e-3
        self.eagerness = self.random.choice((0, 1, 4, 16))

    def issue(self, pipe: Pipe, instruction: Running) -> None:
        self.queues[pipe].append(instruction)
        self.some_steps()

    def set_flag(self, flag: Flag) -> None:
        if flag[0] is Pipe.S:
            self.raise_flag(flag)
        else:
            self.queues[flag[0]].append(Setting(flag, []))

    def wait_flag(self, flag: Flag) -> None:
        if flag[1] is not Pipe.S:
            self.queues[flag[1]].append(Waiting(flag))
            return
        while not self.flags[flag]:
            self.step()
        self.flags[flag] -= 1

    def barrier(self, pipe: Pipe) -> None:
        if pipe is Pipe.ALL:
            self.drain()
        else:
            self.queues[pipe].append(Barrier())

    def some_steps(self) -> None:
        for _ in range(self.random.randint(0, self.eagerness)):
            if not self.actions():
                return
            self.step()

    def drain(self) -> None:
        while any(self.queues.values()) or any(self.running.values()) or self.settings:
            self.step()

    def actions(self) -> list[tuple[float, Callable[[], None]]]:
        """What the hardware may do next, with how eager it is to do it."""
        found: list[tuple[float, Callable[[], None]]] = []
        for pipe, queue in self.queues.items():
            eagerness = self.weights[pipe]
            if queue and self.is_ready(pipe, queue[0]):
                found.append((eagerness, partial(self.start, pipe)))
            found += [(eagerness * self.finishing, partial(self.finish, pipe, each)) for each in self.running[pipe]]
        found += [(1.0, partial(self.fire, each)) for each in self.settings if not each.waits_for]
        return found

    def is_ready(self, pipe: Pipe, entry: Entry) -> bool:
        match entry:
            case Waiting():
                return self.flags[entry.flag] > 0
            case Barrier():
                return not self.running[pipe]
            case _:
                return True

    def step(self) -> None:
        actions = self.actions()
        if not actions:
            waiting = [queue[0].flag for queue in self.queues.values() if queue and isinstance(queue[0], Waiting)]
            listed = ", ".join(name_of(flag) for flag in waiting)
            raise SimulatorFault(Fault.DEADLOCK, f"nothing can run; waited for: {listed}")
        weights = [weight for weight, _ in actions]
        ((_, act),) = self.random.choices(actions, weights)
        act()

    def start(self, pipe: Pipe) -> None:
        match entry := self.queues[pipe].popleft():
            case Running():
                self.running[pipe].append(entry)
                if self.random.random() < 0.5:
                    entry.read()
            case Setting():
                entry.waits_for = list(self.running[pipe])
                self.settings.append(entry)
            case Waiting():
                self.flags[entry.flag] -= 1
            case Barrier():
                pass

    def finish(self, pipe: Pipe, instruction: Running) -> None:
        instruction.finish()
        self.running[pipe] = [each for each in self.running[pipe] if each is not instruction]
        for setting in self.settings:
            setting.waits_for = [each for each in setting.waits_for if each is not instruction]

    def fire(self, setting: Setting) -> None:
        self.settings.remove(setting)
        self.raise_flag(setting.flag)

    def raise_flag(self, flag: Flag) -> None:
        if self.flags[flag] and not self.flags_count:
            raise SimulatorFault(Fault.DOUBLE_SET, f"{name_of(flag)} is set again before anything waited for it")
        self.flags[flag] += 1
