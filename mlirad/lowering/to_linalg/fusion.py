"""Plans fusion: which ops on arrays are computed inside the loops of their consumers, without an array of their own.

Reads: a block of nd ops, before it is lowered. Writes: nd ops in place of composed ones. Leaves: the form that every nd
op in the block takes. Usually elementwise ops with one reader, movements that a loop nest can do itself, and fills are
fused.

A group is one consumer, its root, with everything that is computed in its loops. An op joins a group if all its readers
are in the group, and none of its elements is computed twice. Cheap ops join every group that reads them, and so does a
division whose array would leave the caches. A group reads its operands at the position of the root, so an op is not
fused if its operand is overwritten before that. The plan is made in one backward walk.

A function of short rows is not computed row by row, where vectors have unused lanes: it has a nest of its own, without
broadcast operands and sums along rows, which goes along several rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Block, Operation, OpResult, SSAValue

from mlirad.analysis.constants import holds_one_number
from mlirad.analysis.cost import CACHE
from mlirad.analysis.integers import size_axis
from mlirad.analysis.moves import Lifetimes
from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Composed, Dims, Generic, SizeOf, Upstream
from mlirad.dialect.core.effect_table import is_removable
from mlirad.dialect.core.expr import Expr
from mlirad.dialect.core.native import NativeCalls
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.ops.movement import ReshapeOp
from mlirad.lowering.rewriting import erase, in_place_of, replace

# A body of up to this cost may be computed again, rather than stored and loaded.
_CHEAP = 2
# The same for each byte of an element, if the array does not fit into a cache: a division of float64 costs 4.
_CHEAP_BYTE_FAR = 1
# The number of places in one group at which an op may be computed.
_PLACES = 4
# The number of ops, counted per place, in a group: larger ones gain nothing, and their loop holds more values than
# there are registers.
_LARGEST = 256
# A function of at least this cost is computed in full vectors, along several rows if these are short.
_FUNCTION = 30
# An array of fewer elements is not worth another nest.
_FEW_ELEMENTS = 1 << 10


@dataclass(eq=False, slots=True)
class Member:
    """An op on arrays that is a loop nest of its own, or is computed in the nests of others.

    arrays: the arrays that it reads element by element, and along which of its loops. cost: of one element; 0 for a
    movement. places: the roots of the groups that compute it, and for each the loops that correspond to its own. group:
    the ops computed in a root's loops, the root itself first, readers before their operands. captures: whether a root's
    group reads an array filled with one number as that number.
    """

    op: NdOp
    result: SSAValue
    answer: Generic
    loops: int
    arrays: list[tuple[SSAValue, Dims]]
    cost: int
    captures: bool
    places: dict[Member, list[Dims]] = field(default_factory=dict)
    group: list[tuple[Member, Dims]] = field(default_factory=list)

    @property
    def is_root(self) -> bool:
        return bool(self.group)

    @property
    def reduces(self) -> bool:
        return self.answer.initial is not None

    @property
    def is_cheap(self) -> bool:
        """Whether it may be computed in several groups: only telling 0 times infinity from nan is cheap, too."""
        return self.cost <= _CHEAP or self.op.linear_part() is not None

    @property
    def is_producer(self) -> bool:
        """Whether each element of its array is computed only from elements of its operands."""
        return not self.reduces and types.is_tensor(self.result.type)

    @property
    def is_product(self) -> bool:
        """Whether it reduces and has an operand that runs along some of its loops only, such as a matrix product."""
        return self.reduces and any(len(read) < self.loops for read in self.answer.maps[:-1])


@dataclass(frozen=True)
class FusionPlan:
    """The form that each nd op in a block takes. members: by result. others: by op; their Generics are on scalars."""

    members: dict[SSAValue, Member] = field(default_factory=dict)
    others: dict[Operation, tuple[Generic, ...] | Upstream | SizeOf | NativeCalls] = field(default_factory=dict)

    def maker(self, value: SSAValue, root: Member) -> Member | None:
        """The member that computes an array in the loops of a root, if any."""
        maker = self.members.get(value)
        return maker if maker is not None and root in maker.places else None


@dataclass
class Fusion:
    """Plans blocks. fuse: whether ops share loops at all. lanes: the elements of a vector; if 0, rows are vectors."""

    fuse: bool
    lanes: int = 0

    def plan(self, block: Block) -> FusionPlan:
        """Plan a block's ops; composed ones are replaced by their parts."""
        plan = FusionPlan()
        op = block.first_op
        while op is not None:
            if isinstance(op, NdOp):
                answer = op.loops()
                if isinstance(answer, Composed):
                    op = _decompose(op, answer)
                    continue
                answers = (answer,) if isinstance(answer, Generic) else answer
                if isinstance(answers, tuple) and _has_tensor(op):
                    for result, each in zip(op.results, answers, strict=True):
                        plan.members[result] = self._member(op, result, each)
                else:
                    plan.others[op] = answers
            op = op.next_op
        if plan.members:
            groups = _Groups(plan, Lifetimes(block), self.lanes)
            for member in reversed(plan.members.values()):
                groups.place(member) if self.fuse else groups.stand_alone(member)
        return plan

    def _member(self, op: NdOp, result: OpResult, answer: Generic) -> Member:
        *reads, write = answer.maps
        operands = [each for each in zip(op.operands, reads, strict=False) if types.is_tensor(each[0].type)]
        arrays = [(value, read) for value, read in operands if not is_uniform(value)] if self.fuse else operands
        if answer.initial is None:
            return Member(op, result, answer, len(write), arrays, op.memory.cost, self.fuse)
        loops = 1 + max((dim for each in answer.maps for dim in each), default=-1)
        # Some stored array must give the bound of each loop.
        captures = self.fuse and _covers([*(read for _, read in arrays), write], loops)
        return Member(op, result, answer, loops, arrays if captures else operands, 0, captures)


def _has_tensor(op: NdOp) -> bool:
    return types.is_tensor(op.results[0].type) or any(types.is_tensor(operand.type) for operand in op.operands)


def _decompose(op: NdOp, answer: Composed) -> Operation | None:
    """Replace an op by its parts. Returns the first of them. An operand that they do not use may be dropped."""
    before, block, operands = op.prev_op, op.parent, list(op.operands)
    with in_place_of(op):
        parts = answer.build(*map(Expr, operands))
    replace(op, [part.value for part in parts])
    for operand in operands:
        maker = operand.owner
        is_here = isinstance(maker, NdOp) and maker.parent is block and operand.first_use is None
        if isinstance(maker, NdOp) and is_here and len(maker.results) == 1 and is_removable(maker):
            before = maker.prev_op if maker is before else before
            erase(maker)
    assert block is not None
    return block.first_op if before is None else before.next_op


def is_uniform(value: SSAValue) -> bool:
    """Whether an array is filled with one number: an element read from it is a scalar."""
    owner = value.owner
    if isinstance(owner, ReshapeOp):
        shapes = types.shape(owner.x.type), types.shape(value.type)
        return () in shapes and 0 not in shapes[1]
    return holds_one_number(value)


def _covers(reads: Iterable[Dims], loops: int) -> bool:
    return len({dim for dims in reads for dim in dims}) == loops


@dataclass
class _Groups:
    """The groups of one block."""

    plan: FusionPlan
    lifetimes: Lifetimes
    lanes: int

    def place(self, member: Member) -> None:
        """Decide on an op, after all its readers in the block."""
        found, is_all = self._readers(member) if member.is_producer else ({}, False)
        joined = {root: places for root, places in found.items() if self._may_join(member, root, places)}
        kept = {root: places for root, places in joined.items() if not self._needs_own_rows(member, root)}
        is_all = is_all and len(joined) == len(found)
        is_cheap = len(self._long_operands(member)) <= 1 and (
            member.is_cheap or self._is_cheaper_than_far(member, found)
        )
        # An op that is not fused is read from memory, which is never worth it for a movement.
        if member.cost > 0 and not (is_all and (len(found) <= 1 or is_cheap)):
            kept = {}
        is_all = is_all and len(kept) == len(found)
        for root, places in kept.items():
            root.group += [(member, place) for place in places]
        member.places = kept
        if not is_all:
            self.stand_alone(member)

    def stand_alone(self, member: Member) -> None:
        """Make an op a root."""
        itself = tuple(range(member.loops))
        member.places[member] = [itself]
        member.group = [(member, itself)]

    def _is_cheaper_than_far(self, member: Member, roots: Mapping[Member, list[Dims]]) -> bool:
        """Whether computing an op in each group costs less than its array does on the way to memory and back."""
        shape, size = types.shape(member.result.type), types.itemsize(types.element_type(member.result.type))
        if DYNAMIC_INDEX in shape or prod(shape) * size <= CACHE:
            return False
        # If no group needs all rows for its result, the groups may share rows, and the array does not leave the cache.
        needs_all = [place[0] not in root.answer.maps[-1] for root, places in roots.items() for place in places]
        return any(needs_all) and sum(each.cost for each in self._repeated_with(member)) <= _CHEAP_BYTE_FAR * size

    def _repeated_with(self, member: Member) -> list[Member]:
        """The op, and those that read it and are computed in several groups already."""
        found = [member]
        for each in found:
            readers = (self.plan.members.get(result) for use in each.result.uses for result in use.operation.results)
            found += {reader for reader in readers if reader and len(reader.places) > 1} - set(found)
        return found

    def _long_operands(self, member: Member) -> list[SSAValue]:
        """The operands with as many elements as the result; of broadcast operands, less is read than would be
        stored."""
        found = (value for value, read in member.arrays if len(set(read)) == member.loops and not self._repeats(value))
        return list(dict.fromkeys(found))

    def _repeats(self, value: SSAValue) -> bool:
        """Whether an array is broadcast, in its readers' loops, from one with fewer elements."""
        maker = self.plan.members.get(value)
        if maker is None or maker.cost > 0 or len(maker.arrays) != 1:
            return False
        ((source, read),) = maker.arrays
        return len(set(read)) < maker.loops or self._repeats(source)

    def _readers(self, member: Member) -> tuple[dict[Member, list[Dims]], bool]:
        """The groups that read an op's array, with the places; and whether these are all its uses."""
        found: dict[Member, list[Dims]] = {}
        is_all = True
        for use in member.result.uses:
            readers = [reader for result in use.operation.results if (reader := self.plan.members.get(result))]
            if not readers:
                is_all = is_all and size_axis(use.operation) is not None  # sizes are known without the array
            for reader in readers:
                read = reader.answer.maps[use.index]
                for root, places in reader.places.items():
                    mine = found.setdefault(root, [])
                    here = [tuple([inner[dim] for dim in read]) for inner in places]
                    mine += [place for place in here if place not in mine]
        return found, is_all

    def _may_join(self, member: Member, root: Member, places: Sequence[Dims]) -> bool:
        if len(places) > _PLACES or len(root.group) + len(places) > _LARGEST:
            return False
        if any(self.lifetimes.is_taken_between(value, member.op, root.op) for value, _ in member.arrays):
            return False
        if root.reduces and not self._says_how_far(member, root, places):
            return False
        if len(places) == 1 and len(set(places[0])) == root.loops:
            return True  # each element once
        if not root.is_product:
            return member.cost <= _CHEAP
        # A product reads its operands many times, and packs them: a fused op may only permute their axes.
        is_permutation = [len(read) for _, read in member.arrays] == [member.loops]
        return member.cost == 0 and is_permutation and all(len(set(place)) == len(place) for place in places)

    def _needs_own_rows(self, member: Member, root: Member) -> bool:
        """Whether a function of short rows would be computed row by row, with unused lanes in each vector, if a member
        joined a group: because of the member, or because of the group."""
        if self._is_along_rows(member):
            return not all(self._is_flat(each) for each, _ in root.group)
        is_other = member.cost > 0 and not self._is_flat(member)
        return is_other and any(self._is_along_rows(each) for each, _ in root.group)

    def _is_along_rows(self, member: Member) -> bool:
        """Whether an op is a costly function on short rows, at most three quarters of whose vectors they would fill,
        and could go along several rows."""
        shape = types.shape(member.result.type) if self.lanes and member.cost >= _FUNCTION else ()
        if len(shape) != 2 or DYNAMIC_INDEX in shape or prod(shape) < _FEW_ELEMENTS or shape[1] >= 2 * self.lanes:
            return False
        in_vectors = -(-shape[1] // self.lanes) * self.lanes
        return 4 * shape[1] <= 3 * in_vectors and self._is_flat(member)

    def _is_flat(self, member: Member) -> bool:
        """Whether each point reads its own element of each array, and stores its own: loops may become one loop."""
        itself = tuple(range(member.loops))
        reads = all(read == itself and not self._repeats(value) for value, read in member.arrays)
        return reads and not member.reduces and member.answer.maps[-1] == itself

    def _says_how_far(self, member: Member, root: Member, places: Sequence[Dims]) -> bool:
        """Whether some array still gives the bound of each of the root's loops, if a member is computed there."""
        if _covers([read for _, read in member.arrays], member.loops):
            return True
        joined = [*root.group, *((member, place) for place in places)]
        reads = [
            tuple([place[dim] for dim in read])
            for each, place in joined
            for value, read in each.arrays
            if value is not member.result and self.plan.maker(value, root) is None
        ]
        return _covers([*reads, root.answer.maps[-1]], root.loops)
