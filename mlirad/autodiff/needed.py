"""Finds the values that are needed in every element: no element of their cotangents is zero for lack of a use.

Reads: a function of func, scf and nd ops, and its activity. Writes: nothing. Gives: a set of live values.

    %v = nd.mul %x, %l             not needed everywhere: only the select uses it
    %y = nd.select %c, %v, %z      needed, if it is what the function returns

Other cotangents may contain exact zeros, at elements that no output depends on. The adjoint does not multiply these
zeros by an infinite factor (`nd.annihilate`). In the cotangent of a needed value, a zero is an ordinary number, and
IEEE multiplication is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from xdsl.dialects import func, scf
from xdsl.ir import Block, SSAValue

from mlirad.analysis.loops import Loop, block_of, branches, yields
from mlirad.autodiff.activity import Activity
from mlirad.autodiff.final import FinalArrays
from mlirad.autodiff.updates import equal_read
from mlirad.dialect.core.op import NdOp, written_subset
from mlirad.dialect.core.subset import Change

Use = tuple[SSAValue, tuple[SSAValue, ...]]
"""A value, and other values: if all of the others are needed everywhere, so is the value."""


def needed(function: func.FuncOp, activity: Activity, outs: Sequence[SSAValue]) -> frozenset[SSAValue]:
    """The live values that a path of whole uses connects with one of `outs`.

    The result is the greatest set in which each value, except outs, has a use of all its elements. It is the greatest
    one, because the carry of a loop may be needed only by its next trip.
    """
    live = activity.live
    block = function.body.block
    uses = [use for use in _uses(block, live, FinalArrays(block)) if use[0] in live and live.issuperset(use[1])]
    remaining = dict.fromkeys(live, 0)
    of_member: dict[SSAValue, list[int]] = {}
    for number, (value, by) in enumerate(uses):
        remaining[value] += 1
        for member in by:
            of_member.setdefault(member, []).append(number)
    kept, gone = set(outs), set[int]()
    pending = [value for value, count in remaining.items() if count == 0 and value not in kept]
    needless = set(pending)
    while pending:
        for number in of_member.get(pending.pop(), ()):
            value = uses[number][0]
            if number in gone:
                continue
            gone.add(number)
            remaining[value] -= 1
            if remaining[value] == 0 and value not in kept:
                needless.add(value)
                pending.append(value)
    return live - needless


def _uses(block: Block, live: Set[SSAValue], finals: FinalArrays) -> Iterator[Use]:
    """The whole uses in a block and in its regions. Excludes values from outside a region, which may not be reached."""
    for op in block.ops:
        match op:
            case NdOp():
                yield from (use for use in _uses_by(op, live, finals) if block_of(use[0]) is block)
            case scf.ForOp() | scf.WhileOp():
                loop = Loop(op)
                for carry in loop.carries:
                    after = (carry.arg, carry.result)
                    if block_of(carry.init) is block:
                        yield carry.init, after
                    if block_of(carry.yielded) is loop.body:
                        yield carry.yielded, after
                yield from _uses(loop.body, live, finals)
            case scf.IfOp():
                both = branches(op)
                ends = [list(zip(yields(each), ((result,) for result in op.results), strict=True)) for each in both]
                for branch, end in zip(both, ends, strict=True):
                    yield from (use for use in end if block_of(use[0]) is branch)
                    yield from _uses(branch, live, finals)
                one, other = (_captured(each, block, end, live, finals) for each, end in zip(both, ends, strict=True))
                yield from (
                    (v, (*then, *or_else)) for v in one if v in other for then in one[v] for or_else in other[v]
                )
            case _:
                pass


def _captured(
    branch: Block, outside: Block, end: Sequence[Use], live: Set[SSAValue], finals: FinalArrays
) -> dict[SSAValue, list[tuple[SSAValue, ...]]]:
    """For each value of the block `outside`: its whole uses in a branch."""
    found: dict[SSAValue, list[tuple[SSAValue, ...]]] = {}
    inside = (use for op in branch.ops if isinstance(op, NdOp) for use in _uses_by(op, live, finals))
    for value, by in (*end, *inside):
        if block_of(value) is outside:
            found.setdefault(value, []).append(by)
    return found


def _uses_by(op: NdOp, live: Set[SSAValue], finals: FinalArrays) -> Iterator[Use]:
    """The whole uses that an op makes of its operands."""
    results = tuple(result for result in op.results if result in live)
    if results:
        yield from ((operand, results) for index, operand in enumerate(op.operands) if index not in op.partial)
    write = written_subset(op)
    if write is None:
        return
    if write.holds_part and (home := finals.home(write.part)) is not None:
        yield write.part, home[1:]
    if results and write.change is Change.REPLACED and (read := equal_read(op)) is not None:
        # What is overwritten is also needed, through the read just before the write.
        yield write.array, (*results, read)
