"""Gives stored values tape entries, and also stores the values that are needed to find and read an entry.

Reads: the forward sweep. Writes: nothing. The numbers of one block and type share a tape, side by side in a row. Each
array has its own tape, and fills a row, because it must be copied before it is overwritten.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.ir import Block, Operation, SSAValue

from mlirad.autodiff.sizes import size_source
from mlirad.autodiff.tape.decision.forward_values import ForwardValue, Overwritten, Size, bounds_of, defining_block
from mlirad.autodiff.tape.decision.nests import Nests, path_to
from mlirad.autodiff.tape.decision.plans import Load, Plan, Reread, TapeEntry, TapePlan
from mlirad.autodiff.tape.decision.recovery import Recovery
from mlirad.autodiff.updates import subset_of
from mlirad.dialect.core import types


@dataclass
class Entries:
    """The tapes of one function. plans: of the values that are not stored; each stored value gets a `Load`. narrow: see
    `narrow_indices.py`."""

    recovery: Recovery
    plans: dict[ForwardValue, Plan]
    narrow: Mapping[ForwardValue, int]
    tapes: list[TapePlan] = field(default_factory=list)
    _nests: Nests = field(init=False)

    def __post_init__(self) -> None:
        self._nests = Nests(self.recovery.entry)

    def store(self, values: Iterable[ForwardValue]) -> None:
        """Give values tape entries, on as few tapes as possible."""
        order = {op: number for number, op in enumerate(self.recovery.entry.walk())}
        groups: dict[object, list[ForwardValue]] = {}
        for value in sorted(values, key=lambda each: _place(each, order)):
            is_alone = types.is_tensor(value.type)
            groups.setdefault(value if is_alone else (defining_block(value), value.type), []).append(value)
        pending = [self._tape(group) for group in groups.values()]
        self.tapes += pending
        while pending:
            pending += self._what_entries_need(pending.pop(0))

    def _tape(self, values: Sequence[ForwardValue]) -> TapePlan:
        path = path_to(defining_block(values[0]), self.recovery.entry)
        nest = self._nests.of(path)
        bounds: tuple[int, ...] = ()
        if nest is not None:
            bounds = tuple(bound for bound in bounds_of(values[0]) if bound is not None)
            assert len(bounds) == len(types.shape(values[0].type)), "a value without a bound costs infinitely much"
        words = self._words(values) if nest is not None else tuple((value,) for value in values)
        width = prod(bounds) if types.is_tensor(values[0].type) else len(words)
        tape = TapePlan(tuple(values), path, nest, width, bounds, words)
        for offset, word in enumerate(words):
            for place, value in enumerate(word):
                sizes = _sizes(value) if nest is not None else ()
                self.plans[value] = Load(TapeEntry(tape, offset, sizes, place))
        return tape

    def _words(self, values: Sequence[ForwardValue]) -> tuple[tuple[ForwardValue, ...], ...]:
        """The numbers of each element of a row, in the order in which the elements are complete."""
        narrow = [value for value in values if value in self.narrow]
        count = 4 if len(narrow) > 2 and all(self.narrow[value] <= 16 for value in narrow) else 2
        words = [tuple(narrow[first : first + count]) for first in range(0, len(narrow), count)]
        words += [(value,) for value in values if value not in self.narrow]
        order = {value: number for number, value in enumerate(values)}
        return tuple(sorted(words, key=lambda word: order[word[-1]]))

    def _what_entries_need(self, tape: TapePlan) -> list[TapePlan]:
        """The tapes of the number that rows are counted from, and of sizes, if these are stored.

        Each is a forward value like any other. But a tape is read at the head of a reverse block, and a re-read value
        may be available only later.
        """
        wanted: list[ForwardValue] = [] if tape.nest is None or tape.nest.base is None else [tape.nest.base]
        for value in tape.values:
            plan = self.plans[value]
            assert isinstance(plan, Load)
            wanted += plan.entry.sizes
        return [self._tape([value]) for value in wanted if not self._is_recovered_early(value)]

    def _is_recovered_early(self, value: ForwardValue) -> bool:
        """Whether a value is visible or recovered at the head of its reverse block. Adds its plan if it only counts."""
        if self.recovery.is_visible(value):
            return True
        if isinstance(value, SSAValue) and value not in self.plans and self.recovery.is_counted(value):
            self._count(value)
        pending = [value]
        while pending:
            each = pending.pop()
            if not self.recovery.is_visible(each):
                plan = self.plans.get(each)
                if plan is None or isinstance(plan, Reread):
                    return False
                pending += plan.operands
        return True

    def _count(self, value: SSAValue) -> None:
        """Plan a value that is arithmetic on counters, together with its operands."""
        pending = [value]
        while pending:
            each = pending.pop()
            if each not in self.plans and not self.recovery.is_visible(each):
                plan = self.recovery.plan(each)
                assert plan is not None, "a counted value can be recomputed"
                self.plans[each] = plan
                pending += plan.operands


def _sizes(array: ForwardValue) -> tuple[ForwardValue, ...]:
    """The unknown sizes of a stored value."""
    return tuple(_size(array, axis) for axis, size in enumerate(types.shape(array.type)) if size < 0)


def _size(array: ForwardValue, axis: int) -> ForwardValue:
    """A size of a stored array: an SSA value, or a `Size` to be emitted where the size is first known."""
    assert isinstance(array, SSAValue | Overwritten)
    source = size_source(array if isinstance(array, SSAValue) else subset_of(array.write).part, axis)
    if isinstance(source, SSAValue):
        return source
    return Size(array, axis, array.block if isinstance(array, Overwritten) else defining_block(source[0]))


def _place(value: ForwardValue, order: dict[Operation, int]) -> tuple[float, int]:
    """The position where a value is defined. Arguments of a block count as the op of the block, before the block's
    ops."""
    if isinstance(value, Overwritten):
        return order[value.write] - 0.5, 0
    assert isinstance(value, SSAValue)
    owner = value.owner
    op = owner.parent_op() if isinstance(owner, Block) else owner
    assert op is not None
    return order[op], getattr(value, "index", 0)
