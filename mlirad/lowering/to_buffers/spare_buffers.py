"""Replaces allocations in a loop by the memory of a dead carried tensor, or by a spare buffer.

Reads: moved tensors and their webs. Writes: loops that carry spare buffers; when a carried tensor dies, its memory
becomes the next spare buffer. Leaves: no allocation in a loop's body that the next trip still uses, unless the numbers
of created and of dying tensors differ.

So `x = f(x)` alternates between two buffers if f cannot work in place. Spare memory is only given to ops that do not
read it, so this step cannot change results.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue, SSAValues

from mlirad.analysis.loops import Carries, LoopOp, is_structured, terminator
from mlirad.analysis.memory import VIEWS, is_tensor, takes, ties
from mlirad.dialect.core.expr import insert
from mlirad.lowering.reshaping import reshaped
from mlirad.lowering.rewriting import in_place_of
from mlirad.lowering.tensor_memory import is_static
from mlirad.lowering.to_buffers.buffer_webs import Webs

Kind = tuple[Attribute, int]


@dataclass(frozen=True)
class Spare:
    """Spare memory number `number` of the loop."""

    kind: Kind
    number: int


@dataclass(frozen=True)
class BranchMemory:
    """Memory that an `if` passes on, as additional result `number`."""

    op: scf.IfOp
    number: int


Token = SSAValue | Spare | BranchMemory


class Unbalanced(Exception):
    """Two paths through a body leave different numbers of free buffers."""


@dataclass
class FreeMemory:
    """The free memory at a point of the body: dead buffers, and the loop's spares from `used` on."""

    dead: dict[Kind, list[Token]] = field(default_factory=lambda: defaultdict(list))
    used: dict[Kind, int] = field(default_factory=lambda: defaultdict(int))

    def copy(self) -> FreeMemory:
        copy = FreeMemory()
        copy.dead.update({kind: list(tokens) for kind, tokens in self.dead.items()})
        copy.used.update(self.used)
        return copy

    def take(self, kind: Kind) -> Token:
        if self.dead[kind]:
            return self.dead[kind].pop()
        self.used[kind] += 1
        return Spare(kind, self.used[kind] - 1)

    def return_to(self, kind: Kind, used: int) -> None:
        self.dead[kind] += [Spare(kind, number) for number in range(self.used[kind], used)]
        self.used[kind] = max(self.used[kind], used)


@dataclass
class LoopRewrite:
    """The changes to a loop, all planned before the first change.

    fills: operand `index` of an op will take free memory. passed: the memory that the two branches of an `if` pass on,
    inner ones first. end: the free memory at the end of the body.
    """

    fills: list[tuple[Operation, int, Token]] = field(default_factory=list)
    passed: dict[BranchMemory, tuple[Token, Token, Kind]] = field(default_factory=dict)
    spares: dict[Kind, int] = field(default_factory=lambda: defaultdict(int))
    end: FreeMemory = field(default_factory=FreeMemory)


def carry_spare_buffers(webs: Webs) -> None:
    """Carry spare buffers through every loop, inner ones first: the outer loop allocates the spares of an inner one."""
    for loop in webs.loops:
        made = [memory for memory in webs.made_in.get(loop, ()) if is_static(memory.type)]
        if made and is_structured(loop):
            assert isinstance(loop, scf.ForOp | scf.WhileOp)
            carried = [result for result in loop.results if is_static(result.type)]
            webs_carried = {id(webs.of(value)) for value in carried}
            escaping = {memory for memory in made if id(webs.of(memory)) in webs_carried}
            if escaping:
                try:
                    rewrite = Rotation(loop, escaping, webs).rewrite
                except Unbalanced:
                    continue
                _apply(rewrite, loop, webs)


def kind_of(value: SSAValue) -> Kind:
    type = value.type
    assert isinstance(type, TensorType)
    return type.element_type, prod(type.get_shape())


class Rotation:
    """A walk through a loop's body that tracks which buffers are free."""

    def __init__(self, loop: scf.ForOp | scf.WhileOp, escaping: set[SSAValue], webs: Webs) -> None:
        self.rewrite = LoopRewrite()
        self._escaping = escaping
        self._kinds = {kind_of(memory) for memory in escaping}
        self._webs = webs
        # Tensors that own one of the buffers that the loop carries.
        self._owners: set[SSAValue] = set()
        body = loop.regions[-1].block
        free = FreeMemory()
        self._block(body, [arg for arg in body.args if is_tensor(arg)], free)
        for kind, used in free.used.items():
            if len(free.dead[kind]) < used:
                raise Unbalanced
            self.rewrite.spares[kind] = used
        self.rewrite.end = free

    def _block(self, block: Block, owners: Sequence[SSAValue], free: FreeMemory) -> None:
        dying: dict[Operation, list[SSAValue]] = defaultdict(list)

        def enter(value: SSAValue) -> None:
            if not is_static(value.type) or kind_of(value) not in self._kinds:
                return
            self._owners.add(value)
            last = self._last_use(value, block)
            if last is None:
                free.dead[kind_of(value)].append(value)
            elif not _is_taken(value, last):
                dying[last].append(value)

        for value in owners:
            enter(value)
        for op in block.ops:
            for index, operand in enumerate(op.operands):
                if operand in self._escaping and not isinstance(op, tensor.DimOp):
                    self.rewrite.fills.append((op, index, free.take(kind_of(operand))))
            ending = dying.pop(op, [])
            if isinstance(op, scf.IfOp) and op.false_region.blocks:
                self._branches(op, ending, free)
                ending = []
            for result in self._new_owners(op):
                enter(result)
            for value in ending:
                free.dead[kind_of(value)].append(value)

    def _branches(self, op: scf.IfOp, owners: Sequence[SSAValue], free: FreeMemory) -> None:
        """Owners with their last use in the `if` live on in its branches, and die there or are yielded."""
        first, second = free.copy(), free.copy()
        self._block(op.true_region.block, owners, first)
        self._block(op.false_region.block, owners, second)
        number = 0
        for kind in sorted(self._kinds, key=str):
            used = max(first.used[kind], second.used[kind])
            first.return_to(kind, used)
            second.return_to(kind, used)
            ones, others = first.dead[kind], second.dead[kind]
            if len(ones) != len(others):
                raise Unbalanced
            common = [token for token in ones if token in others]
            ones, others = ([t for t in tokens if t not in common] for tokens in (ones, others))
            free.used[kind] = used
            free.dead[kind] = common
            for one, other in zip(ones, others, strict=True):
                passed = BranchMemory(op, number)
                number += 1
                free.dead[kind].append(passed)
                self.rewrite.passed[passed] = (one, other, kind)

    def _new_owners(self, op: Operation) -> Iterator[SSAValue]:
        """The results that own a buffer that one of the operands owned."""
        if isinstance(op, scf.IfOp):
            for number, result in enumerate(op.results):
                if any(self._is_owner(values[number]) for values in Carries(op).yielded):
                    yield result
        elif isinstance(op, LoopOp):
            for init, result in zip(Carries(op).inits, op.results, strict=True):
                if self._is_owner(init):
                    yield result
        elif type(op) in VIEWS:
            if self._is_owner(op.operands[0]) and _is_taken(op.operands[0], op):
                yield op.results[0]
        else:
            for operand, result in ties(op):
                if self._is_owner(op.operands[operand]):
                    yield result

    def _is_owner(self, value: SSAValue) -> bool:
        return value in self._owners or value in self._escaping

    def _last_use(self, value: SSAValue, block: Block) -> Operation | None:
        """The last op of the block that uses value's buffer before another tensor owns it."""
        place = self._webs.place
        last, latest = None, (-1, False)
        for user in _users(value):
            op: Operation | None = user
            while op is not None and op.parent is not block:
                op = op.parent_op()
            if op is not None and (moment := (self._webs.place_of(op), op in place)) > latest:
                last, latest = op, moment
        return last


def _users(value: SSAValue) -> Iterator[Operation]:
    """The ops that use value's buffer before another tensor owns it."""
    # A slice never owns the buffer, and neither do values derived from the slice.
    pending = [(value, False)]
    while pending:
        value, is_part = pending.pop()
        for use in value.uses:
            user = use.operation
            if isinstance(user, tensor.DimOp):
                continue
            if type(user) in VIEWS and use.index == 0 and (is_part or not _is_taken(value, user)):
                # Creating a view is not a use; using the view is.
                pending.append((user.results[0], is_part or isinstance(user, tensor.ExtractSliceOp)))
                continue
            yield user
            if is_part:
                pending += [(result, True) for operand, result in ties(user) if operand == use.index]


def _is_taken(value: SSAValue, op: Operation) -> bool:
    """Whether op's result, or a later owner, owns value's buffer from then on."""
    if type(op) in VIEWS:
        is_whole = not isinstance(op, tensor.ExtractSliceOp) and op.operands[0] is value
        return is_whole and any(takes(use) or _is_passed_on(use.operation) for use in op.results[0].uses)
    return any(use.operation is op and takes(use) for use in value.uses)


def _is_passed_on(op: Operation) -> bool:
    return type(op) in VIEWS and not isinstance(op, tensor.ExtractSliceOp) and _is_taken(op.operands[0], op)


def _apply(rewrite: LoopRewrite, loop: scf.ForOp | scf.WhileOp, webs: Webs) -> None:
    memory: dict[Token, SSAValue] = {}
    models = {kind_of(op.operands[index]): op.operands[index] for op, index, _ in rewrite.fills}

    def found(token: Token, like: SSAValue) -> SSAValue:
        """The memory of a token, in the shape of `like`; from now on it belongs to its web."""
        value = token if isinstance(token, SSAValue) else memory[token]
        webs.join(value, like)
        value = reshaped(value, like.type)
        webs.join(value, like)
        return value

    for kind, count in rewrite.spares.items():
        for number in range(count):
            memory[Spare(kind, number)] = _carry(loop, models[kind], webs)
    needed = _needed(rewrite)
    for passed, (one, other, kind) in rewrite.passed.items():
        if passed in needed:
            op, type = passed.op, models[kind].type
            result = OpResult(type, op, len(op.results))
            webs.join(result, models[kind])
            for region, token in zip(op.regions, (one, other), strict=True):
                end = terminator(region.block)
                with in_place_of(end):
                    end.operands = [*end.operands, found(token, result)]
            op.results = SSAValues((*op.results, result))
            memory[passed] = result
    end = terminator(loop.regions[-1].block)
    with in_place_of(end):
        for kind, count in rewrite.spares.items():
            free = [found(token, models[kind]) for token in rewrite.end.dead[kind][:count]]
            end.operands = [*end.operands, *free]
    for op, index, token in rewrite.fills:
        empty = op.operands[index]
        with in_place_of(op):
            op.operands[index] = found(token, empty)
        if all(isinstance(use.operation, tensor.DimOp) for use in empty.uses):
            webs.forget(empty)


def _needed(rewrite: LoopRewrite) -> set[Token]:
    """The memory from which the taken and carried memory comes."""
    needed: set[Token] = set()
    pending = [token for _, _, token in rewrite.fills]
    for kind, count in rewrite.spares.items():
        pending += rewrite.end.dead[kind][:count]
    while pending:
        token = pending.pop()
        if token not in needed:
            needed.add(token)
            if isinstance(token, BranchMemory):
                pending += rewrite.passed[token][:2]
    return needed


def _carry(loop: scf.ForOp | scf.WhileOp, model: SSAValue, webs: Webs) -> SSAValue:
    """Make the loop carry new memory like `model`. Returns the argument of its body."""
    with in_place_of(loop):
        memory = insert(tensor.EmptyOp([], model.type)).tensor
    webs.add_source(memory, like=model)
    result = OpResult(model.type, loop, len(loop.results))
    loop.operands = [*loop.operands, memory]
    loop.results = SSAValues((*loop.results, result))
    args = [region.block.insert_arg(model.type, len(region.block.args)) for region in loop.regions]
    if isinstance(loop, scf.WhileOp):
        condition = terminator(loop.before_region.block)
        condition.operands = [*condition.operands, args[0]]
    for value in (result, *args):
        webs.join(value, model)
    return args[-1]
