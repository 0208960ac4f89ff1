"""Lets the loops of a function write their tapes in place, on the record of the call, so that nothing is copied.

Reads: a function that threads the tapes of records, and tapes of its own. Writes: for each write to such a tape the
same write to the record. Leaves: the tapes of its own, which only their writes use any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func, scf
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.analysis.loops import Loop, LoopOp, add_results, add_yields, branches, terminator, yields
from mlirad.dialect.ad.tape import SLOT
from mlirad.dialect.core.expr import Expr, building, located
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.core.subset import Change, Subset
from mlirad.dialect.ops.compare import cast


def tapes_before(first: Operation, end: Operation) -> tuple[dict[SSAValue, Operation], Operation]:
    """The tapes that are made before the op `first`, and only written before the op `end` of the same block: their
    final versions, with the ops that make them. Also the op before which all are made and none is written: `first` or
    an earlier one."""
    block = first.parent
    assert block is not None
    found: dict[SSAValue, Operation] = {}
    for op in block.ops:
        if op is first:
            break
        if SLOT in op.attributes and op.operands and (last := _last(op.results[0], block, end)) is not None:
            found[last] = op
            for use in op.results[0].uses:
                written = block.find_ancestor_op_in_block(use.operation)
                if written is not None and written.is_before_in_block(first):
                    first = written
    return {last: tape for last, tape in found.items() if tape.is_before_in_block(first)}, first


def _last(version: SSAValue, block: Block, end: Operation) -> SSAValue | None:
    """The version of a tape after all writes in a block; None if something else than writes uses it."""
    while True:
        users = {block.find_ancestor_op_in_block(use.operation) for use in version.uses} - {None, end}
        users = {user for user in users if user is not None and user.is_before_in_block(end)}
        if not users:
            return version
        following = _written(version, users.pop()) if len(users) == 1 else None
        if following is None:
            return None
        version = following


def _written(version: SSAValue, op: Operation) -> SSAValue | None:
    """The version after an op that writes the tape, itself or in its regions."""
    if _write_of(op, version) is not None:
        return op.results[0] if tuple(op.operands).count(version) == 1 else None
    match op:
        case scf.ForOp():
            inits = Loop(op).inits
            inside = [use.operation for use in version.uses if op.is_ancestor(use.operation)]
            if inits.count(version) != 1 or inside != [op]:
                return None
            number = inits.index(version)
            last = _last(Loop(op).args[number], Loop(op).body, terminator(Loop(op).body))
            return op.results[number] if _yield_only(Loop(op).body, last) == number else None
        case scf.IfOp():
            blocks = branches(op)
            numbers = {_yield_only(each, _last(version, each, terminator(each))) for each in blocks}
            number = numbers.pop()
            return op.results[number] if number is not None and not numbers else None
    return None


def _write_of(op: Operation, array: SSAValue) -> Subset | None:
    """The write of an op to a flat array, if it stores something there."""
    subset = op.subset() if isinstance(op, NdOp) else None
    if subset is None or subset.array is not array or subset.change is not Change.REPLACED:
        return None
    return subset if len(subset.places) == 1 else None


def _yield_only(block: Block, value: SSAValue | None) -> int | None:
    """The number of the yielded value, if it is yielded once."""
    given = yields(block)
    return given.index(value) if value is not None and given.count(value) == 1 else None


@dataclass(frozen=True)
class InPlace:
    """The writes of one tape, on the record: where the tape begins there, and the type of the record's elements."""

    start: Expr
    element: Attribute

    def through(
        self, ops: Sequence[Operation], version: SSAValue, old: SSAValue, new: SSAValue
    ) -> tuple[SSAValue, SSAValue, SSAValue]:
        """Go through the ops of a block. version: of the tape; old: of the record's tape as the ops use it; new: the
        same with the writes in place. Returns the last ones."""
        for op in ops:
            uses_old = _is_used_in(old, op)
            if _is_used_in(version, op):
                version, old, new = self._write(op, version, old, new)
            elif uses_old:
                following = _next(old, op)
                old.replace_uses_with_if(new, lambda use, op=op: op.is_ancestor(use.operation))
                old = new = following
        return version, old, new

    def _write(
        self, op: Operation, version: SSAValue, old: SSAValue, new: SSAValue
    ) -> tuple[SSAValue, SSAValue, SSAValue]:
        if (write := _write_of(op, version)) is not None:
            with building(InsertPoint.before(op)), located(op.location):
                at = self.start + Expr(write.places[0])
                written = write.put(cast(Expr(write.part), self.element), Expr(new), [at])
            return op.results[0], old, written.value
        match op:
            case scf.ForOp():
                return self._loop(Loop(op), version, old, new)
            case scf.IfOp():
                return self._branches(op, version, old, new)
        raise AssertionError(f"{op.name} does not write a tape")

    def _loop(self, loop: Loop, version: SSAValue, old: SSAValue, new: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
        number, op = loop.inits.index(version), loop.op
        arg, body = loop.args[number], loop.body
        if old in loop.inits:
            carried = loop.inits.index(old)
            op.operands[loop.inits.index(old) + len(loop.controls)] = new
            inside = loop.args[carried]
            _, _, end = self.through(list(body.ops)[:-1], arg, inside, inside)
            terminator(body).operands[carried] = end
            return op.results[number], op.results[carried], op.results[carried]
        (inside,), (result,) = loop.add([new])
        _, _, end = self.through(list(body.ops)[:-1], arg, inside, inside)
        add_yields(body, [end])
        return op.results[number], old, result

    def _branches(
        self, op: scf.IfOp, version: SSAValue, old: SSAValue, new: SSAValue
    ) -> tuple[SSAValue, SSAValue, SSAValue]:
        blocks = branches(op)
        number = _yield_only(blocks[0], _last(version, blocks[0], terminator(blocks[0])))
        assert number is not None
        ends = [self.through(list(block.ops)[:-1], version, old, new) for block in blocks]
        numbers = {_yield_only(block, end[1]) for block, end in zip(blocks, ends, strict=True)}
        place = numbers.pop()
        if place is None or numbers:
            for block, end in zip(blocks, ends, strict=True):
                add_yields(block, [end[2]])
            (result,) = add_results(op, [new])
            return op.results[number], old, result
        for block, end in zip(blocks, ends, strict=True):
            terminator(block).operands[place] = end[2]
        return op.results[number], op.results[place], op.results[place]


def _is_used_in(value: SSAValue, op: Operation) -> bool:
    return any(op.is_ancestor(use.operation) for use in value.uses)


def _next(version: SSAValue, op: Operation) -> SSAValue:
    """The version of the record's tape after an op that receives it."""
    if isinstance(op, LoopOp):
        return op.results[Loop(op).inits.index(version)]
    if isinstance(op, scf.IfOp):
        block = branches(op)[0]
        last = version
        for inner in list(block.ops)[:-1]:
            if _is_used_in(last, inner):
                last = _next(last, inner)
        return op.results[yields(block).index(last)]
    same = [result for result in op.results if result.type == version.type]
    return same[-1] if isinstance(op, func.CallOp) else same[0]
