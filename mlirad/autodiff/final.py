"""Finds the element reads, of an array that a loop overwrites, that may read the loop's final array instead.

That is correct if no later write touches the element. For example, an array whose elements are written once, in order,
needs no tape. Indices are compared as linear forms in loop counters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, OpResult, SSAValue

from mlirad.analysis.loops import Carry, Loop, block_of, carry_of, loops_around, yields
from mlirad.analysis.trip_forms import Form, Opaque, Term, Trip, ends_of, is_above, linear, of_term
from mlirad.autodiff.sizes import size_source
from mlirad.dialect.core import types
from mlirad.dialect.core.op import NdOp, read_subset, written_subset
from mlirad.dialect.core.subset import Range, Subset

READ, WRITE = 0, 1
MANY_WRITES = 16
"""Loops with more writes than this are skipped: comparing the writes costs more than it may save."""


@dataclass(frozen=True)
class Access:
    """A read or write of a box of elements. Each axis has the lowest and the highest index; None: anywhere. (If the
    highest is below the lowest, the box is empty, and any statement about its elements holds.)"""

    op: Operation
    bounds: tuple[tuple[Form, Form] | None, ...]


def access(op: Operation, subset: Subset) -> Access:
    """The elements that an op reads or changes of an array."""
    return Access(op, tuple(None if along is None else _bounds(along) for along in subset.ranges))


def _bounds(along: Range) -> tuple[Form, Form]:
    first = Form(along.start) if isinstance(along.start, int) else linear(along.start)
    return ends_of(first, _length(along), along.stride)


def _length(along: Range) -> Form:
    """The number of indices along an axis."""
    length = along.length
    if isinstance(length, tuple):
        array, axis = length
        size = types.shape(array.type)[axis]
        found = size if size >= 0 else size_source(array, axis)
        if isinstance(found, tuple):
            return of_term(Opaque(found[0], axis=found[1]))
        length = found
    return Form(length) if isinstance(length, int) else linear(length)


# --- the versions of an array -----------------------------------------------------------------------------------


@dataclass
class Versions:
    """The versions of arrays: which op overwrites which version."""

    _begun: dict[SSAValue, SSAValue] = field(default_factory=dict)

    def beginning(self, version: SSAValue) -> SSAValue:
        """The first version of an array, in its block or in one around it, before updates, loops and branches."""
        passed: list[SSAValue] = []
        while version not in self._begun:
            passed.append(version)
            before = self._before(version)
            if before is None:
                self._begun[version] = version
            else:
                version = before
        begun = self._begun[version]
        self._begun.update((each, begun) for each in passed)
        return begun

    def _before(self, version: SSAValue) -> SSAValue | None:
        """The version from which an update, a loop or a branch made this one."""
        if not isinstance(version, OpResult):
            return None
        op, index = version.op, version.index
        if isinstance(op, NdOp):
            return None if op.memory.overwrites is None else op.operands[op.memory.overwrites]
        if isinstance(op, scf.ForOp | scf.WhileOp):
            carry = Loop(op).carries[index]
            return carry.init if self.beginning(carry.yielded) is carry.arg else None
        if isinstance(op, scf.IfOp):
            begun, other = (self.beginning(yields(region.block)[index]) for region in op.regions)
            return begun if begun is other else None
        return None

    def writes_between(self, version: SSAValue, start: SSAValue) -> Iterator[NdOp]:
        """The ops that overwrite the array between `start`, its first version, and `version`."""
        while version is not start:
            assert isinstance(version, OpResult)
            op = version.op
            before = self._before(version)
            assert before is not None
            if isinstance(op, NdOp):
                yield op
            elif isinstance(op, scf.ForOp | scf.WhileOp):
                carry = Loop(op).carries[version.index]
                yield from self.writes_between(carry.yielded, carry.arg)
            else:
                for region in op.regions:
                    yield from self.writes_between(yields(region.block)[version.index], before)
            version = before


# --- is it the final one? ---------------------------------------------------------------------------------------


@dataclass
class FinalArrays:
    """The final arrays of the loops of one function."""

    entry: Block
    versions: Versions = field(default_factory=Versions)
    _writes: dict[SSAValue, tuple[Access, ...] | None] = field(default_factory=dict)

    def array(self, op: Operation) -> tuple[int, SSAValue] | None:
        """The index of the operand that is read, and the final array that can be read instead."""
        read = read_subset(op)
        final = None if read is None else self._final(access(op, read), read.array)
        return None if read is None or final is None else (read.number, final)

    def home(self, value: SSAValue) -> tuple[Subset, SSAValue] | None:
        """Where a number is written and not overwritten: the element, and the final array that contains it."""
        if types.is_tensor(value.type):
            return None
        for use in value.uses:
            op, write = use.operation, written_subset(use.operation)
            if write is not None and write.part is value and write.holds_part and op.parent is block_of(value):
                final = self._final(access(op, write), op.results[0])
                if final is not None:
                    return write, final
        return None

    def _final(self, read: Access, version: SSAValue) -> SSAValue | None:
        """The array at the end of the outermost loop in which no later write touches the elements that are read."""
        final = None
        for loop, carry in self._carriers(version):
            writes = self._writes_of(carry)
            if writes is None or not all(self._misses(write, read, version, loop) for write in writes):
                break
            final = carry.result
        return final

    def keeps(self, write: Access, read: Access, version: SSAValue) -> bool:
        """Whether no execution of `write` after `version`, in any loop, touches the elements read from `version`."""
        loops = [loop for loop, _ in self._carriers(version)]
        around = loops_around(block_of(version), self.entry)
        if not loops or loops[-1].op is not around[0].op or not loops[-1].op.is_ancestor(write.op):
            return False
        return self._misses(write, read, version, loops[-1])

    def is_apart(self, write: Access, read: Access, version: SSAValue) -> bool:
        """Whether `write`, after `version` in the same trip of its block, does not touch the elements read from it."""
        around = loops_around(block_of(version), self.entry), loops_around(write.op.parent, self.entry)
        shared = [a for a, b in zip(*around, strict=False) if a.op is b.op]
        if not shared:
            return False
        return _are_exclusive(write.op, read.op, shared[-1]) or _is_apart(write, read, shared, len(shared))

    def _carriers(self, version: SSAValue) -> Iterator[tuple[Loop, Carry]]:
        """The loops that carry the array, innermost first."""
        begun = self.versions.beginning(version)
        while (found := carry_of(begun)) is not None:
            loop, carry = found
            if self.versions.beginning(carry.yielded) is not carry.arg:
                return
            yield loop, carry
            begun = self.versions.beginning(carry.init)

    def _writes_of(self, carry: Carry) -> tuple[Access, ...] | None:
        """The writes of a loop to a carried array; None if they are not known."""
        if carry.arg not in self._writes:
            ops = [op for op in self.versions.writes_between(carry.yielded, carry.arg) if op.memory.changes]
            known = tuple(access(op, write) for op in ops if (write := written_subset(op)) is not None)
            self._writes[carry.arg] = known if len(known) == len(ops) <= MANY_WRITES else None
        return self._writes[carry.arg]

    def _misses(self, write: Access, read: Access, version: SSAValue, loop: Loop) -> bool:
        """Whether no execution of the write in `loop` after `version` touches the elements read from `version`.

        Only the loops around both the write and the version order the two. In any other loop, which may be around the
        read, every trip of the write comes after the version.
        """
        shared = [
            a
            for a, b in zip(
                loops_around(block_of(version), loop.op.parent),
                loops_around(write.op.parent, loop.op.parent),
                strict=False,
            )
            if a.op is b.op
        ]
        if not all(_is_apart(write, read, shared, level) for level in range(len(shared))):
            return False
        if _are_exclusive(write.op, read.op, shared[-1]) or self._is_before(write.op, version, shared[-1]):
            return True
        return _is_apart(write, read, shared, len(shared))

    def _is_before(self, write: Operation, version: SSAValue, within: Loop) -> bool:
        """Whether the write comes before `version` in one trip of the loop `within`."""
        while True:
            begun = self.versions.beginning(version)
            if any(op is write for op in self.versions.writes_between(version, begun)):
                return True
            found = carry_of(begun)
            if found is None or found[0].op is within.op:
                return False
            version = found[1].init


def _are_exclusive(one: Operation, other: Operation, within: Loop) -> bool:
    """Whether a trip of `within` executes at most one of the two: they are in different branches of one of its ifs."""
    ancestor = one.parent_op()
    while ancestor is not None and not ancestor.is_ancestor(other):
        ancestor = ancestor.parent_op()
    if not isinstance(ancestor, scf.IfOp) or loops_around(ancestor.parent, within.op.parent)[-1].op is not within.op:
        return False
    return not any(region.is_ancestor(one) and region.is_ancestor(other) for region in ancestor.regions)


def _is_apart(write: Access, read: Access, shared: Sequence[Loop], level: int) -> bool:
    """Whether write and read touch different elements, if both are in the same trips of `shared[:level]` and the write
    is in a later trip of `shared[level]` (if there is one). The trips of other loops may differ."""
    same = {loop.op for loop in shared[:level]}
    later = shared[level].op if level < len(shared) else None
    outermost = shared[0].op

    def renamed(execution: int) -> Callable[[Term], Form]:
        def rename(term: Term) -> Form:
            if isinstance(term, Opaque):
                return of_term(replace(term, execution=_execution_of(term.value, outermost, same, execution)))
            if term.loop in same or not outermost.is_ancestor(term.loop):
                return of_term(Trip(term.loop))
            if term.loop is later and execution == WRITE:
                ahead = Form(1, {Trip(term.loop, WRITE, more=True): 1})
                return of_term(Trip(term.loop, READ)).plus(ahead)
            return of_term(Trip(term.loop, execution))

        return rename

    executions = {READ: renamed(READ), WRITE: renamed(WRITE)}
    for write_bounds, read_bounds in zip(write.bounds, read.bounds, strict=True):
        if write_bounds is None or read_bounds is None:
            continue
        write_low, write_high = (bound.put(executions[WRITE]) for bound in write_bounds)
        read_low, read_high = (bound.put(executions[READ]) for bound in read_bounds)
        if is_above(write_low, read_high, executions) or is_above(read_low, write_high, executions):
            return True
    return False


def _execution_of(value: SSAValue, outermost: Operation, same: set[scf.ForOp | scf.WhileOp], execution: int) -> int:
    """READ for a value that is the same in both executions, because all loops around it are in the same trip."""
    owner = value.owner
    parent = owner.parent_op() if isinstance(owner, Operation | Block) else None
    while parent is not None and outermost.is_ancestor(parent):
        if isinstance(parent, scf.ForOp | scf.WhileOp) and parent not in same:
            return execution
        parent = parent.parent_op()
    return READ
