"""Decides which `linalg.generic`s on tensors can be one nest: requirements for each nest, and for a group.

Reads: nests. Writes: nothing. Leaves: groups, whose order among other ops `merge_nests.py` decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from mlirad.analysis.memory import is_empty
from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Dims
from mlirad.lowering.loop_body import Body, body_of
from mlirad.lowering.picks import pick_of

_MOST_OUTPUTS = 6
_MOST_ARRAYS = 14
"""The arrays that one nest may traverse: processors track about sixteen streams."""
_MOST_OPS = 256
Size = int | SSAValue | tuple[SSAValue, int]
"""A number, the value that gives it, or an array and the axis that has it."""
_LONG = 16
"""From this length on, the innermost loop fills vectors by itself; a shorter one must be merged with its neighbour."""


@dataclass(frozen=True)
class MergeableNest:
    """A generic. sizes: of its loops. maps: of its operands. reduced: the loops that its results lack."""

    op: GenericOp
    sizes: tuple[Size, ...]
    maps: tuple[Dims, ...]
    reduced: frozenset[int]
    body: Body

    @property
    def all_loops(self) -> Dims:
        return tuple(range(len(self.sizes)))

    @property
    def layout(self) -> frozenset[Dims]:
        """The ways in which operands traverse memory; numbers and whole sums do not count."""
        return frozenset(map for map in self.maps if map)

    @property
    def is_in_order(self) -> bool:
        """Whether it reduces one element after the other."""
        inputs = len(self.op.inputs)
        combiners = (self.body.combiner(number, inputs + number) for number in range(len(self.op.outputs)))
        return bool(self.reduced) and any(each is not None and each.is_in_order for each in combiners)

    def walked(self) -> Iterator[SSAValue]:
        """The arrays from which each point reads its own element."""
        return (value for value, map in zip(self.op.inputs, self.maps, strict=False) if map == self.all_loops)


def mergeable(op: Operation) -> MergeableNest | None:
    """The nest, if it satisfies the requirements for merging."""
    if not isinstance(op, GenericOp) or not all(map(is_fresh, op.outputs)):
        return None
    if any(result.first_use is None for result in op.results):
        return None
    maps = [_dims(attribute.data) for attribute in op.indexing_maps.data]
    sizes: dict[int, Size] = {}
    for value, dims in zip(op.operands, maps, strict=True):
        if dims is None:
            return None
        sizes.update((loop, _size(value, axis)) for axis, loop in enumerate(dims))
    loops = len(op.iterator_types.data)
    if loops == 0 or len(sizes) < loops or 0 in sizes.values():
        return None
    found = [dims for dims in maps if dims is not None]
    written = found[len(op.inputs) :]
    reduced = frozenset(range(loops)).difference(*written[:1])
    is_product = bool(reduced) and any(dims and len(dims) < loops for dims in found[: len(op.inputs)])
    if any(frozenset(range(loops)).difference(dims) != reduced for dims in written):
        return None
    body = body_of(op.body.block)
    if not body.is_vectorizable or (is_product and body.is_multiply_add):
        return None
    outs = op.body.block.args[len(op.inputs) :]
    if not reduced and any(out.first_use is not None for out in outs):
        return None
    if reduced and any(body.combiner(number, out.index) is None for number, out in enumerate(outs)):
        return None
    varying = [frozenset(dims) for dims in found]
    if pick_of(body, range(loops), varying[: len(op.inputs)], varying[len(op.inputs) :]) is not None:
        return None  # alone it reads only one element of each row
    return MergeableNest(op, tuple([sizes[d] for d in range(loops)]), tuple(found), reduced, body)


def _size(array: SSAValue, axis: int) -> Size:
    """The size of an array along an axis: equal ones are the same size."""
    shape = types.shape(array.type)
    if shape[axis] >= 0:
        return shape[axis]
    made = array.owner
    if isinstance(made, FillOp | GenericOp) and isinstance(array, OpResult):
        return _size(made.outputs[array.index], axis)
    unknown = shape[:axis].count(-1)
    if isinstance(made, tensor.EmptyOp):
        size = made.dynamic_sizes[unknown]
    elif isinstance(made, tensor.ExtractSliceOp) and len(types.shape(made.source.type)) == len(shape):
        size = made.sizes[unknown]
    else:
        return array, axis
    return size.owner.input if isinstance(size.owner, arith.IndexCastOp) else size


def _dims(map: AffineMap) -> Dims | None:
    """The loops along which the axes of an operand run, if they are in order."""
    dims = [each.position for each in map.results if isinstance(each, AffineDimExpr)]
    return tuple(dims) if len(dims) == len(map.results) and dims == sorted(set(dims)) else None


def is_fresh(out: SSAValue) -> bool:
    """Whether the old contents are not read, or are one number everywhere."""
    return is_empty(out) or (isinstance(out.owner, FillOp) and is_empty(out.owner.outputs[0]))


@dataclass(eq=False)
class NestGroup:
    """Nests that become one. bits: their positions in the block, as a bit set. needs: with all their dependences."""

    nests: list[MergeableNest]
    bits: int
    needs: int

    @property
    def reduced(self) -> frozenset[int]:
        return frozenset().union(*[nest.reduced for nest in self.nests])

    def fits(self, nest: MergeableNest) -> bool:
        """Whether a nest may join the group, if the order of the ops allows it."""
        first = self.nests[0]
        if first.sizes != nest.sizes or (nest.reduced and self.reduced and nest.reduced != self.reduced):
            return False
        if len({each.is_in_order for each in (*self.nests, nest) if each.reduced}) > 1:
            return False  # lanes hold partial results of only some of them
        layouts = [each.layout for each in (*self.nests, nest)]
        last = nest.sizes[-1]
        is_short = len(nest.sizes) > 1 and isinstance(last, int) and last < _LONG
        if is_short and any(each != layouts[0] for each in layouts):
            return False
        if not self._has_all_loops((*self.nests, nest)):
            return False
        ops = [each.op for each in (*self.nests, nest)]
        arrays = {value for op in ops for value in op.inputs if isinstance(value.type, TensorType)}
        outputs = sum([len(op.outputs) for op in ops])
        length = sum([sum(1 for _ in op.body.block.ops) for op in ops])
        return outputs <= _MOST_OUTPUTS and len(arrays) + outputs <= _MOST_ARRAYS and length <= _MOST_OPS

    @staticmethod
    def _has_all_loops(nests: Sequence[MergeableNest]) -> bool:
        """Whether arrays from outside the group cover all its loops: arrays that only the group reads are not
        stored."""
        ops = {each.op for each in nests}
        given = (
            dims
            for each in nests
            for value, dims in zip(each.op.inputs, each.maps, strict=False)
            if value.owner not in ops
        )
        return frozenset().union(*given) == frozenset(nests[0].all_loops)
