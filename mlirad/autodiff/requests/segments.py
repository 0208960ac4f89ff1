"""Cuts straight code into checkpointed functions, so that its reverse stores only the values between them.

Reads: a function, and how many bytes its plain reverse stores of each op. Writes: private functions, each called once,
with the attributes `ad.checkpoint` and `ad.budget`. Leaves: even the last segment is a function, because the memory of
its reverse is free when the others run.

Ops are packed into segments. Each segment stores at most a share of the budget, and is cut where the fewest bytes cross
near its end. If the crossing values and the storage of one segment do not fit together, the segments are cut again,
each to the budget that is left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.analysis.loops import terminator
from mlirad.autodiff.callees import Callees
from mlirad.autodiff.private_functions import add_function
from mlirad.dialect.ad.notes import BUDGET, CHECKPOINT
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import building, insert, located

_TEMPORARY = 2
"""The number of temporary arrays in the call of a pullback, besides the stored values."""
_SHARES = (6, 4, 2, 1)
"""The share of the budget, in eighths, that a segment may store."""


@dataclass(frozen=True)
class Line:
    """The ops of a block in order, without literals. kept: the bytes that the plain reverse stores for each op.

    crossing: for each array, its bytes, and the numbers of the op that creates it and of its last user.
    """

    ops: tuple[Operation, ...]
    kept: tuple[int, ...]
    crossing: tuple[tuple[int, int, int], ...]

    @classmethod
    def of(cls, entry: Block, kept: Mapping[Operation, int]) -> Line:
        end = terminator(entry)
        ops = tuple(op for op in entry.ops if op is not end and (op.operands or op.regions))
        number = {op: place for place, op in enumerate(ops)}
        crossing: list[tuple[int, int, int]] = []
        for op in ops:
            for result in op.results:
                used = [entry.find_ancestor_op_in_block(use.operation) for use in result.uses]
                last = max((number[each] for each in used if each is not None and each is not end), default=-1)
                if last > number[op] and types.is_tensor(result.type) and types.is_static(result.type):
                    size = prod(types.shape(result.type)) * types.itemsize(result.type)
                    crossing.append((size, number[op], last))
        return cls(ops, tuple(kept.get(op, 0) for op in ops), tuple(crossing))

    def cuts(self, first: int, last: int, budget: int) -> tuple[list[int], int] | None:
        """Where to cut the ops from `first` to `last`, both included, and the budget that is left for each segment."""
        best: tuple[list[int], int] | None = None
        total = sum(self.kept[first:last])
        for most in (*(budget * share // 8 for share in _SHARES), total // 2, total // 3, total // 4):
            found = self._packed(first, last, most)
            left = budget - self._across(found)
            if len(found) < 3 or left <= 0:
                continue
            if max(sum(self.kept[a:b]) for a, b in pairwise(found)) <= left:
                return found, left
            if best is None or left > best[1]:
                best = found, left
        return best

    def fits(self, first: int, last: int, budget: int) -> bool:
        """Whether some cuts keep the reverse within the budget."""
        if sum(self.kept[first:last]) <= budget:
            return True
        found = self.cuts(first, last, budget)
        return found is not None and all(self.fits(a, b, found[1]) for a, b in pairwise(found[0]))

    @property
    def least(self) -> int:
        """The smallest budget for which there are cuts, approximately."""
        low, high = 0, sum(self.kept)
        while high - low > max(high // 64, 1):
            middle = (low + high) // 2
            low, high = (low, middle) if self.fits(0, len(self.ops), middle) else (middle, high)
        return high

    def _packed(self, first: int, last: int, most: int) -> list[int]:
        """Cuts such that the reverse stores at most `most` bytes between two, with both ends; each where few bytes
        cross."""
        alive = [0] * (last + 1)
        for size, made, used in self.crossing:
            for place in (made + 1, min(used, last - 1) + 1):
                if first <= place <= last:
                    alive[place] += size if place == made + 1 else -size
        for place in range(first + 1, last + 1):
            alive[place] += alive[place - 1]
        found, so_far = [first], 0
        for place in range(first, last):
            if so_far and so_far + self.kept[place] > most:
                window = range((found[-1] + place) // 2 + 1, place + 1)
                cut = min(window, key=lambda each: (alive[each], -each))
                found.append(cut)
                so_far = sum(self.kept[cut:place])
            so_far += self.kept[place]
        return [*found, last]

    def _across(self, cuts: Sequence[int]) -> int:
        """The bytes stored across these cuts, with the temporary cotangents in the call of a segment's pullback."""
        sizes = [size for size, made, used in self.crossing if any(made < cut <= used for cut in cuts[1:-1])]
        return sum(sizes) + _TEMPORARY * max(sizes, default=0)


def cut_in_segments(callees: Callees, function: func.FuncOp, kept: Mapping[Operation, int], budget: int) -> bool:
    """Call a checkpointed function for each segment of a function. False if it cannot be cut."""
    entry = function.body.block
    line = Line.of(entry, kept)
    found = line.cuts(0, len(line.ops), budget)
    if found is None or not line.fits(0, len(line.ops), budget):
        return False
    cuts, left = found
    for first, last in pairwise(cuts):
        _outlined(callees, function, line.ops[first:last], left)
    return True


def _outlined(callees: Callees, function: func.FuncOp, ops: Sequence[Operation], budget: int) -> None:
    """Replace consecutive ops by a call of a private function."""
    inside = set(ops)
    entry, module = function.body.block, function.parent_op()
    assert isinstance(module, ModuleOp)

    def is_inside(op: Operation) -> bool:
        return entry.find_ancestor_op_in_block(op) in inside

    results = [r for op in ops for r in op.results if any(not is_inside(use.operation) for use in r.uses)]
    used: dict[SSAValue, None] = {}
    literals: dict[Operation, None] = {}
    for op in ops:
        for operand in (operand for inner in op.walk() for operand in inner.operands):
            owner = operand.owner
            if isinstance(owner, Operation) and owner.parent is entry and not owner.operands and not owner.regions:
                literals[owner] = None
            elif (owner is entry) or (isinstance(owner, Operation) and owner.parent is entry and owner not in inside):
                used[operand] = None
    given = list(used)
    body = Block(arg_types=[value.type for value in given])
    mapped: dict[SSAValue, SSAValue] = dict(zip(given, body.args, strict=True))
    for value, arg in mapped.items():
        arg.name_hint = value.name_hint
    with building(body):
        for op in (*literals, *ops):
            with located(op.location):
                insert(op.clone(mapped))
        insert(func.ReturnOp(*(mapped[value] for value in results)))
    made = add_function(module, "segment", body, [value.type for value in results], ops[0].location)
    made.attributes[CHECKPOINT] = UnitAttr()
    made.attributes[BUDGET] = IntegerAttr(budget, 64)
    callees.add(made)
    with building(InsertPoint.before(ops[0])), located(ops[0].location):
        call = insert(func.CallOp(made.sym_name.data, given, [value.type for value in results]))
    for value, by in zip(results, call.results, strict=True):
        by.name_hint = value.name_hint
        value.replace_all_uses_with(by)
    for op in reversed(ops):
        op.detach()
        op.erase()
