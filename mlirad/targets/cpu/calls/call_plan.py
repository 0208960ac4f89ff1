"""Call plans in the form that `call_machine` reads: the steps of a call as numbers in memory, and a kernel's table of
plans.

Reads: recipes, and a compiled function. Writes: memory that the machine reads, and that owns the objects it refers to.
Leaves: nothing of a plan that is in no table and in no running call.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from mlirad.contract.call_recipes import ABSENT, CallPlan, Numbers, Objects, PlanTable, Recipe, Step
from mlirad.contract.code_cache import CodeCache
from mlirad.targets.cpu.calls.cpython_objects import CallMachine, machine_for
from mlirad.targets.cpu.calls.machine_words import TABLE_PLACES, PlanWord, TableWord


class _Memory(ctypes.Structure):
    """Memory that the machine reads. The machine keeps this object, and with it `owner`, while it uses it."""

    _fields_ = [("words", ctypes.c_int64 * 16)]

    owner: object

    @property
    def address(self) -> int:
        return ctypes.addressof(self)


class CpuCallPlan(CallPlan):
    """The plan for one kind of calls."""

    def __init__(
        self,
        recipe: Recipe,
        function: int,
        releases: bool,
        contexts: list[Any],
        make_context: Callable[[], Any],
        exception: Callable[[int, Any], Exception],
        stack_bottom: Callable[[], Any] | None,
    ):
        self._kept: list[Any] = [recipe, contexts, make_context, exception, stack_bottom]
        self.memory = _Memory()
        self.memory.owner = self._kept
        words = self.memory.words
        words[PlanWord.OWNER] = id(self.memory)
        words[PlanWord.POSITIONAL] = recipe.positional
        words[PlanWord.KEYWORDS] = len(recipe.names)
        words[PlanWord.NAMES] = self._pointer(recipe.names)
        words[PlanWord.STEPS] = self._encoded(recipe.steps)
        words[PlanWord.REGISTERS] = recipe.registers
        words[PlanWord.SLOTS] = max(1, recipe.slots)
        words[PlanWord.ARRAYS] = recipe.arrays
        words[PlanWord.FUNCTION] = function
        words[PlanWord.CONTEXTS] = id(contexts)
        words[PlanWord.MAKE_CONTEXT] = id(make_context)
        words[PlanWord.EXCEPTION] = id(exception)
        words[PlanWord.RELEASES] = releases
        words[PlanWord.CHECKS_OVERLAP] = recipe.checks_overlap
        words[PlanWord.STACK_BOTTOM] = 0 if stack_bottom is None else id(stack_bottom)

    def new_table(self, kind: type, attribute: str, code_cache: CodeCache | None) -> PlanTable | None:
        machine = machine_for(kind, attribute, code_cache)
        return None if machine is None else CpuPlanTable(machine, attribute)

    def _encoded(self, steps: Sequence[Step]) -> int:
        numbers: list[int] = []
        for step in steps:
            numbers += [step.kind, step.a, step.b, step.c, self._pointer(step.p), self._pointer(step.q)]
        return self._array(numbers)

    def _pointer(self, value: Any) -> int:
        """The address of numbers, of the addresses of objects, or of one object; 0 if it is absent."""
        if value is ABSENT:
            return 0
        if isinstance(value, Numbers):
            return self._array(value)
        return self._array([id(each) for each in value]) if isinstance(value, Objects) else id(value)

    def _array(self, numbers: Sequence[int]) -> int:
        made = (ctypes.c_int64 * max(1, len(numbers)))(*numbers)
        self._kept.append(made)
        return ctypes.addressof(made)


class CpuPlanTable(PlanTable):
    """The plans of one kernel. The machine moves the plan that it used to the first place."""

    def __init__(self, machine: CallMachine, attribute: str):
        self._machine, self._attribute = machine, attribute
        self._memory = _Memory()
        self._memory.owner = self._plans = {}

    def serve(self, instance: object) -> None:
        setattr(instance, self._attribute, self._memory)
        self._machine.serve(instance)

    @property
    def hits(self) -> int:
        return self._memory.words[TableWord.HITS]

    def in_order(self) -> list[CpuCallPlan]:
        words = self._memory.words
        return [self._plans[address] for address in words[TableWord.PLANS : TableWord.PLANS + words[TableWord.COUNT]]]

    def set(self, plans: Sequence[CpuCallPlan]) -> None:
        words = self._memory.words
        # Other threads may call between any two of these lines. Without plans they take the slow path.
        words[TableWord.COUNT] = 0
        kept = {each.memory.address: each for each in plans[:TABLE_PLACES]}
        for place, address in enumerate(kept, TableWord.PLANS):
            words[place] = address
        self._memory.owner = self._plans = kept
        words[TableWord.COUNT] = len(kept)
