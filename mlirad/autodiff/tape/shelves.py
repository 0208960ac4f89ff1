"""Storing forward values: the numbers of one block and type share a tape, side by side in each trip's slot.

Reads: the forward sweep. Writes: tapes, threaded through the loops and branches around what they store.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import scf
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.autodiff.carries import add_results, add_yields, block_of, branches, constant_value
from mlirad.autodiff.sizes import unknown_axes, zeros
from mlirad.autodiff.tape.slots import Nests, Slots, Update, forward_counter, loops_on, path_to, thread, trips_of
from mlirad.dialect.bounds import size_bounds
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, constant, emit, full, located
from mlirad.dialect.ops.indexing import ExtractOp, InsertOp, extract_slice, insert_slice
from mlirad.dialect.ops.movement import reshape
from mlirad.dialect.ops.tape import FIRST_CAPACITY, GrowOp, new_tape


@dataclass(frozen=True)
class Shelf:
    """Where a stored value lies: at `offset` in each slot of `width` elements. Without slots, `tape` is the value.

    An array of unknown sizes fills the begin of its slot; `bounds` are the sizes that the slot has room for.
    """

    tape: SSAValue
    slots: Slots | None = None
    width: int = 1
    offset: int = 0
    bounds: tuple[int, ...] = ()

    def read(self, slot: Expr, type: Attribute, sizes: Sequence[Expr]) -> SSAValue:
        """The value of type `type` in a slot; `sizes` are its unknown ones."""
        start = self.start(slot)
        if not types.is_tensor(type):
            return emit(ExtractOp, Expr(self.tape), start).value
        element = types.element_type(type)
        if sizes and _is_flat(type):
            return reshape(extract_slice(Expr(self.tape), [start], sizes), type).value
        flat = extract_slice(Expr(self.tape), [start], [prod(self.bounds)])
        whole = reshape(flat, types.tensor(self.bounds, element))
        if not sizes:
            return whole.value
        given = iter(sizes)
        shape = [next(given) if size < 0 else size for size in types.shape(type)]
        return extract_slice(whole, [constant(0, types.I64)] * len(shape), shape).value

    def write(self, value: SSAValue, tape: SSAValue, slot: Expr) -> SSAValue:
        """The tape with the value in a slot."""
        start, stored = self.start(slot), Expr(value)
        if not stored.is_tensor:
            return emit(InsertOp, stored, Expr(tape), start).value
        if types.is_static(value.type) or _is_flat(value.type):
            length = -1 if -1 in stored.shape else prod(stored.shape)
        else:
            length, room = prod(self.bounds), full(constant(0, stored.element), self.bounds)
            stored = insert_slice(stored, room, [constant(0, types.I64)] * len(self.bounds))
        flat = reshape(stored, types.tensor([length], stored.element))
        return insert_slice(flat, Expr(tape), [start]).value

    def start(self, slot: Expr) -> Expr:
        start = slot if self.width == 1 else slot * self.width
        return start + self.offset if self.offset else start


def _is_flat(type: Attribute) -> bool:
    """Whether an array has but one axis that is not of size 1."""
    return sum(size != 1 for size in types.shape(type)) == 1


@dataclass
class Shelves:
    """What the forward sweep of one function keeps for its reverse sweep."""

    entry: Block
    nests: Nests = field(init=False)
    _shelves: dict[SSAValue, Shelf] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.nests = Nests(self.entry)

    def __getitem__(self, value: SSAValue) -> Shelf:
        if value not in self._shelves:
            self._keep_together([value])
        return self._shelves[value]

    def keep(self, values: Iterable[SSAValue]) -> None:
        """Store values, with as few tapes as that takes."""
        order = {op: number for number, op in enumerate(self.entry.walk())}
        groups: dict[object, list[SSAValue]] = {}
        for value in sorted(values, key=lambda v: (_number(v, order), getattr(v, "index", 0))):
            # An array is on its own: it is to be copied before it is overwritten, and fills a slot by itself.
            is_alone = types.is_tensor(value.type)
            groups.setdefault(value if is_alone else (block_of(value), value.type), []).append(value)
        for group in groups.values():
            self._keep_together(group)

    def _keep_together(self, values: Sequence[SSAValue]) -> None:
        """Store values of one block and type, in the order of their definitions."""
        path = path_to(block_of(values[0]), self.entry)
        with located(location_of(values[0])):
            if loops_on(path):
                self._keep_on_tape(values, path)
            else:
                self._shelves.update((value, Shelf(_result_of_ifs(value, path))) for value in values)

    def _keep_on_tape(self, values: Sequence[SSAValue], path: Sequence[tuple[Operation, Block]]) -> None:
        slots = self.nests.slots(block_of(values[0]))
        type = values[0].type
        bounds = tuple(bound for bound in size_bounds(values[0]) if bound is not None)
        assert len(bounds) == len(types.shape(type)), "what has no bound has an infinite price"
        width = prod(bounds) if types.is_tensor(type) else len(values)
        empty = _empty_tape(slots, types.element_type(type), width)
        counters = [forward_counter(loop) for loop in slots.loops]
        points = [_after(value) for value in values]
        grow = _growth(slots, width)
        grows_here = slots.grows == len(slots.loops) and isinstance(slots.loops[-1].op, scf.WhileOp)

        def write(current: SSAValue) -> SSAValue:
            with building(points[0]):
                current = grow(current) if grows_here else current
                slot = slots.number(counters, slots.base)
            for offset, (value, point) in enumerate(zip(values, points, strict=True)):
                with building(point), located(location_of(value)):
                    current = Shelf(current, slots, width, offset, bounds).write(value, current, slot)
            return current

        before, inside = {}, {}
        if slots.grows and not grows_here:
            # The count of a for is known ahead of it, and its body need not ask.
            loop = slots.loops[slots.grows - 1].op
            (before if isinstance(loop, scf.ForOp) else inside)[loop] = grow
        tape = thread(path, empty, write, before, inside)
        tape.name_hint = "tape"
        for offset, value in enumerate(values):
            self._shelves[value] = Shelf(tape, slots, width, offset, bounds)


def _empty_tape(slots: Slots, element: Attribute, width: int) -> SSAValue:
    """A tape above the nest: as long as it will be, where that is known."""
    with building(InsertPoint.before(slots.path[0][0])):
        if slots.capacity is None:
            size = constant(max(FIRST_CAPACITY, width), types.I64)
        elif (known := constant_value(slots.capacity.value)) is not None:
            return new_tape(types.tensor([known * width], element), width).value
        else:
            size = slots.capacity if width == 1 else slots.capacity * width
        return new_tape(types.tensor([-1], element), width, size).value


def _growth(slots: Slots, width: int) -> Update:
    """How a tape is made long enough for what the loop that grows it will write."""

    def grow(tape: SSAValue) -> SSAValue:
        loop = slots.loops[slots.grows - 1]
        with located(loop.op.location):
            trips = trips_of(loop) if isinstance(loop.op, scf.ForOp) else Expr(forward_counter(loop)) + 1
            end = slots.end(trips, slots.base)
            last = (end if width == 1 else end * width) - 1
            return emit(GrowOp, Expr(tape), last).value

    return grow


def _result_of_ifs(value: SSAValue, path: Sequence[tuple[Operation, Block]]) -> SSAValue:
    """The value as a result of the ifs around it; zeros where the other branch is taken."""
    for op, block in reversed(path):
        assert isinstance(op, scf.IfOp)
        for branch in branches(op):
            end = branch.last_op
            assert end is not None
            if branch is block:
                add_yields(branch, [value])
            else:
                with building(InsertPoint.before(end)):
                    nothing = [constant(0, types.I64) for _ in unknown_axes(value)]
                    add_yields(branch, [zeros(value, nothing).value])
        (value,) = add_results(op, [value])
    return value


def location_of(value: SSAValue) -> LocationAttr:
    """Where a value comes from: its op's location, or that of the op whose block it is an argument of."""
    owner = value.owner
    if isinstance(owner, Block):
        parent = owner.parent_op()
        assert parent is not None
        owner = parent
    return owner.location


def _after(value: SSAValue) -> InsertPoint:
    owner = value.owner
    return InsertPoint.after(owner) if isinstance(owner, Operation) else InsertPoint.at_start(owner)


def _number(value: SSAValue, order: dict[Operation, int]) -> int:
    """The place of a value's definition; a block's arguments come with the op of the block, which is before its ops."""
    owner = value.owner
    op = owner if isinstance(owner, Operation) else owner.parent_op()
    assert op is not None
    return order[op]
