"""The terms of a sum over slices: what each added array has in a part of the sum.

Reads: nd, writes of slices. Writes: reads of slices, and elementwise ops on them. Leaves: ops that nothing uses.

A term that few elementwise ops compute of one array is computed where it is added, so that it needs no memory. So is a
term of several arrays, if nothing but the term needs these ops. What is put at the place of the sum before is always
computed in the sum, if one array is enough: the result is then written once, and not read.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, SSAValue

from mlirad.analysis.constants import holds_one_number
from mlirad.analysis.moves import Lifetimes
from mlirad.dialect.arrays.slices import extract_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.effect_table import is_removable
from mlirad.dialect.core.expr import Expr, full, insert
from mlirad.dialect.core.op import NdOp, is_pointwise
from mlirad.dialect.core.subset import Change
from mlirad.lowering.rewriting import erase, rebuilt
from mlirad.lowering.to_linalg.slice_writes import Box, SliceWrite, number_in, places, read_box

_CHEAP = 3
"""The cost of what may be computed again for each addition."""
_ONCE = 8
"""The cost of what may be computed in the sum if it is added once: what it is computed of is then read, not it."""
_LONG = 64
"""The cost of what may be computed in the sum, if nothing else reads a part of it."""


class Terms:
    """The terms of a chain of additions. The sum is emitted before the last addition."""

    def __init__(self, writes: Sequence[SliceWrite]):
        self._last = writes[-1].op
        block = self._last.parent
        assert block is not None
        self._block: Block = block
        self._lifetimes = Lifetimes(block)
        self._order = {op: number for number, op in enumerate(block.ops)}
        parts = dict.fromkeys(write.part for write in writes if types.is_tensor(write.part.type))
        found = {part: each for part in parts if (each := self._source(part)) is not None}
        shared = [source for source, _ in found.values()]
        put = writes[0].part if writes[0].change is Change.REPLACED else None
        self._sources = {
            part: frozenset({source})
            for part, (source, ops) in found.items()
            if part is put or _slice(source) is not None or shared.count(source) > 1 or _is_read_elsewhere(source, ops)
        }
        others = parts.keys() - self._sources.keys()
        self._sources |= {part: each for part in others if (each := self._sources_only_of(part))}

    def is_computed(self, write: SliceWrite) -> bool:
        """Whether what is put at the write's box is computed in the sum, and has no array."""
        return write.part in self._sources or holds_one_number(write.part)

    def of(self, write: SliceWrite, box: Box) -> Expr:
        """What the array that is put at the write's box has in another box."""
        part = write.part
        if not types.is_tensor(part.type):
            return full(Expr(part), box.sizes)
        starts = [start - first for start, first in zip(box.starts, write.box.starts, strict=True)]
        if self.is_computed(write):
            return _computed(part, self._sources.get(part, frozenset()), starts, box.sizes, {})
        return Expr(part) if box == write.box else extract_slice(Expr(part), places(starts), box.sizes)

    def _source(self, part: SSAValue) -> tuple[SSAValue, set[Operation]] | None:
        """The first array that a term is computed of, alone and cheaply, and the ops that do so."""
        most = _ONCE if part.has_one_use() else _CHEAP
        found: tuple[SSAValue, set[Operation]] | None = None
        read, ops, cost = {part}, set[Operation](), 0
        while (latest := self._latest(read)) is not None and cost + latest.memory.cost <= most:
            read = (read - {latest.results[0]}) | _arrays_of(latest)
            ops = ops | {latest}
            cost += latest.memory.cost
            if len(read) == 1:
                (source,) = read
                found = (source, ops) if self._stays(source) else found
        return found

    def _sources_only_of(self, part: SSAValue) -> frozenset[SSAValue] | None:
        """The arrays that a term is computed of, if what is between is there for this term only: then to compute it in
        the sum takes no operation more, and one array less is written and read."""
        read, sources, ops, cost = {part}, set[SSAValue](), set[Operation](), 0
        while (latest := self._latest(read)) is not None:
            result, arrays = latest.results[0], _arrays_of(latest)
            read.remove(result)
            is_only = result.has_one_use() if result is part else all(use.operation in ops for use in result.uses)
            is_cheap = result is not part and latest.memory.cost <= _CHEAP  # each of its readers computes it
            if (is_only or is_cheap) and cost + latest.memory.cost <= _LONG and all(map(self._is_made_here, arrays)):
                read |= arrays
                ops.add(latest)
                cost += latest.memory.cost
            elif is_cheap:
                return None
            else:
                sources.add(result)
        sources |= read
        return frozenset(sources) if ops and all(map(self._stays, sources)) else None

    def _latest(self, values: set[SSAValue]) -> NdOp | None:
        """The last elementwise op of the block that computes one of the values."""
        makers = [op for value in values if isinstance(op := value.owner, NdOp) and op.parent is self._block]
        single = (op for op in makers if len(op.results) == 1 and is_pointwise(op))
        return max(single, key=self._order.__getitem__, default=None)

    def _stays(self, source: SSAValue) -> bool:
        """Whether the memory of an array made in the block is there until the sum, which may then read it."""
        maker = source.owner
        if not isinstance(maker, Operation) or not self._is_made_here(source):
            return False
        read = _slice(source)
        return not self._lifetimes.is_taken_between(source if read is None else read[0], maker, self._last)

    def _is_made_here(self, value: SSAValue) -> bool:
        return isinstance(value.owner, Operation) and value.owner.parent is self._block


def _arrays_of(op: NdOp) -> set[SSAValue]:
    return {each for each in op.operands if types.is_tensor(each.type) and not holds_one_number(each)}


def _slice(value: SSAValue) -> tuple[SSAValue, Box] | None:
    return read_box(value.owner) if isinstance(value.owner, Operation) else None


def _is_read_elsewhere(source: SSAValue, ops: set[Operation]) -> bool:
    return any(use.operation not in ops for use in source.uses)


def _computed(
    value: SSAValue,
    sources: frozenset[SSAValue],
    starts: Sequence[int],
    sizes: Sequence[int],
    known: dict[SSAValue, Expr],
) -> Expr:
    """The elements from `starts` on of what elementwise ops compute of the sources. known: what is computed of them."""
    if value in known:
        return known[value]
    if holds_one_number(value):
        found = full(number_in(value), sizes)
    elif value in sources:
        array, box = _slice(value) or (value, Box((0,) * len(sizes), tuple(types.shape(value.type))))
        further = [first + start for first, start in zip(box.starts, starts, strict=True)]
        is_whole = array is value and tuple(sizes) == box.sizes
        found = Expr(value) if is_whole else extract_slice(Expr(array), places(further), sizes)
    else:
        op = value.owner
        assert isinstance(op, NdOp)
        operands = [
            _computed(each, sources, starts, sizes, known).value if types.is_tensor(each.type) else each
            for each in op.operands
        ]
        kind = types.tensor(sizes, types.element_type(value.type))
        found = Expr(insert(rebuilt(op, operands, [kind], ())).results[0])
    known[value] = found
    return found


def erase_unused(value: SSAValue) -> None:
    """Erase the op that computes a value which nothing uses, and the ops that only it reads."""
    op = value.owner
    if not isinstance(op, NdOp) or op.parent is None or value.first_use is not None:
        return
    if is_removable(op) and len(op.results) == 1:
        operands = list(op.operands)
        erase(op)
        for operand in operands:
            erase_unused(operand)
