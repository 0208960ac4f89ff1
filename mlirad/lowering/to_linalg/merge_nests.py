"""Merges loop nests over the same points, if one reads what another reads or writes, into one with several results.

Reads and writes: `linalg.generic` on tensors, and the order of the ops around them. Leaves: nests of products, of
transposed operands, of unknown sizes that may differ, and nests that would become scalar loops.

The merged nest takes the later nest's position, and users of the earlier nest's results move behind it. This is refused
if an array would be overwritten before a nest has read it, which would need a copy. An array that only nests of the
same group read is not stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, TensorType
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import FillOp, GenericOp, YieldOp
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.passes import ModulePass

from mlirad.analysis.moves import Lifetimes
from mlirad.dialect.core.answers import Dims
from mlirad.dialect.core.effect_table import is_removable
from mlirad.dialect.core.upstream import map_of, segments
from mlirad.lowering.clean_up.cse import merge_equal
from mlirad.lowering.rewriting import erase
from mlirad.lowering.to_linalg.mergeable_nests import MergeableNest, NestGroup, is_fresh, mergeable
from mlirad.xdsl_support.traversal import ops_inside, ops_of


@dataclass(frozen=True)
class MergeNests(ModulePass):
    """Merge nests over the same points. Here both read `%x`, and the sum reads the other nest's result.

    Before:

        func.func @f(%x: tensor<8xf64>, %zero: tensor<f64>) -> (tensor<8xf64>, tensor<f64>) {
          %0 = tensor.empty() : tensor<8xf64>
          %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                              iterator_types = ["parallel"]} ins(%x : tensor<8xf64>) outs(%0 : tensor<8xf64>) {
          ^bb0(%a: f64, %old: f64):
            %b = math.sin %a : f64
            linalg.yield %b : f64
          } -> tensor<8xf64>
          %c = arith.constant 0.0 : f64
          %1 = tensor.empty() : tensor<f64>
          %2 = linalg.fill ins(%c : f64) outs(%1 : tensor<f64>) -> tensor<f64>
          %s = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
                              iterator_types = ["reduction"]} ins(%y : tensor<8xf64>) outs(%2 : tensor<f64>) {
          ^bb0(%d: f64, %sum: f64):
            %e = arith.addf %sum, %d : f64
            linalg.yield %e : f64
          } -> tensor<f64>
          func.return %y, %s : tensor<8xf64>, tensor<f64>
        }

    After `mlirad-merge-nests`:

        func.func @f(%x: tensor<8xf64>, %zero: tensor<f64>) -> (tensor<8xf64>, tensor<f64>) {
          %0 = tensor.empty() : tensor<8xf64>
          %c = arith.constant 0.000000e+00 : f64
          %1 = tensor.empty() : tensor<f64>
          %2 = linalg.fill ins(%c : f64) outs(%1 : tensor<f64>) -> tensor<f64>
          %y, %s = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>,
                                                    affine_map<(d0) -> ()>],
                                   iterator_types = ["reduction"]}
                   ins(%x : tensor<8xf64>) outs(%0, %2 : tensor<8xf64>, tensor<f64>) {
          ^bb0(%a: f64, %old: f64, %sum: f64):
            %b = math.sin %a : f64
            %e = arith.addf %sum, %b : f64
            linalg.yield %b, %e : f64, f64
          } -> (tensor<8xf64>, tensor<f64>)
          func.return %y, %s : tensor<8xf64>, tensor<f64>
        }
    """

    name = "mlirad-merge-nests"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in _blocks(op):
            if sum(1 for each in block.ops if isinstance(each, GenericOp)) > 1:
                _Merging(block).run()


def _blocks(op: Operation) -> Iterator[Block]:
    """The blocks in an op, without the bodies of linalg ops."""
    for region in op.regions:
        for block in region.blocks:
            for inner in ops_of(block):
                if inner.regions and not isinstance(inner, GenericOp | FillOp):
                    yield from _blocks(inner)
            yield block


@dataclass
class _Merging:
    """Merges the nests of one block.

    needs: for each op, by position, the positions of the ops that it depends on, as a bit set. arrays: for each op,
    the arrays whose contents it reads. touching: for each array, the groups that read or write each of its
    elements once.
    """

    block: Block
    ops: list[Operation] = field(init=False)
    place: dict[Operation, int] = field(init=False)
    needs: list[int] = field(default_factory=list)
    arrays: dict[Operation, list[SSAValue]] = field(default_factory=dict)
    group_of: dict[Operation, NestGroup] = field(default_factory=dict)
    touching: dict[SSAValue, list[NestGroup]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ops = list(self.block.ops)
        self.place = {op: place for place, op in enumerate(self.ops)}
        self.lifetimes = Lifetimes(self.block)

    def run(self) -> None:
        for place, op in enumerate(self.ops):
            needs, read = 0, dict.fromkeys(_read_by(op))
            for value in read:
                needs |= self._needs_of(value.owner)
            self.needs.append(needs)
            self.arrays[op] = [value for value in read if isinstance(value.type, TensorType) and not is_fresh(value)]
            if op.regions and not isinstance(op, GenericOp | FillOp):
                self.touching.clear()  # after a loop in between, the data is no longer in the cache
            elif (nest := mergeable(op)) is not None:
                self._place(nest, place)
        groups = [group for group in dict.fromkeys(self.group_of.values()) if len(group.nests) > 1]
        for group in groups:
            _merge(group.nests)
        if groups:
            _sort(self.block)

    def _needs_of(self, owner: Operation | Block) -> int:
        """The positions of an op of the block, and of the ops that it depends on."""
        if not isinstance(owner, Operation) or owner not in self.place:
            return 0
        group = self.group_of.get(owner)
        return group.needs if group is not None else self.needs[self.place[owner]] | 1 << self.place[owner]

    def _place(self, nest: MergeableNest, place: int) -> None:
        walked = list(nest.walked())
        groups = dict.fromkeys(group for value in walked for group in reversed(self.touching.get(value, [])))
        group = next((each for each in groups if each.fits(nest) and self._may_join(each, nest, place)), None)
        if group is None:
            group = NestGroup([], 0, 0)
        else:
            self._delay(group, place)
        group.nests.append(nest)
        group.bits |= 1 << place
        group.needs |= self.needs[place] | 1 << place
        self.group_of[nest.op] = group
        made = () if nest.reduced else nest.op.results
        for value in (*walked, *made):
            mine = self.touching.setdefault(value, [])
            if group not in mine:
                mine.append(group)

    def _delayed(self, group: NestGroup, place: int) -> list[int]:
        """The positions, before this one, of the ops that depend on a group."""
        first = min(self.place[nest.op] for nest in group.nests)
        return [each for each in range(first, place) if self.needs[each] & group.bits and not group.bits >> each & 1]

    def _may_join(self, group: NestGroup, nest: MergeableNest, place: int) -> bool:
        op = nest.op
        for index, value in enumerate(op.operands):
            made = next((each for each in group.nests if each.op is value.owner), None)
            if made is not None:
                if made.reduced or nest.maps[index] != nest.all_loops:
                    return False
            elif self._needs_of(value.owner) & group.bits:
                return False
        if any(self._needs_of(value.owner) & group.bits for value in _captured(op)):
            return False
        delayed = [self.ops[each] for each in self._delayed(group, place)]
        if not all(is_removable(each) for each in delayed):
            return False
        others = dict.fromkeys(self.group_of[each] for each in delayed if each in self.group_of)
        moved = {*delayed, *(each.op for moving in (group, *others) for each in moving.nests)}
        return not any(
            self.lifetimes.is_taken_between(value, each, op) for each in moved for value in self.arrays[each]
        )

    def _delay(self, group: NestGroup, place: int) -> None:
        """Make the ops that depend on a group also depend on the op at this position."""
        more = self.needs[place] | 1 << place
        for each in self._delayed(group, place):
            self.needs[each] |= more
            if (other := self.group_of.get(self.ops[each])) is not None:
                other.needs |= more


def _captured(op: Operation) -> list[SSAValue]:
    """The values that the ops in an op's regions read, including values defined there."""
    return [value for inner in ops_inside(op) for value in inner.operands]


def _read_by(op: Operation) -> Sequence[SSAValue]:
    return [*op.operands, *_captured(op)] if op.regions else op.operands


class _Kept(NamedTuple):
    """A result that ops outside of the nests read, with its memory, its loops and the number that the body yields."""

    result: OpResult
    memory: SSAValue
    dims: Dims
    value: SSAValue


_Inputs = dict[tuple[SSAValue, Dims], SSAValue]
"""The body's argument for each input and its loops."""


def _merge(nests: Sequence[MergeableNest]) -> None:
    """One generic in place of the last nest, with those results that others read."""
    ops = [nest.op for nest in nests]
    last = ops[-1]
    body = Block()
    inputs, kept = _join_bodies(nests, body)
    body.add_op(YieldOp(*[each.value for each in kept]))
    merge_equal(body)
    yielding = body.last_op
    assert yielding is not None
    loops = len(nests[0].sizes)
    reduced = frozenset().union(*[nest.reduced for nest in nests])
    kinds = [IteratorType.REDUCTION if d in reduced else IteratorType.PARALLEL for d in range(loops)]
    maps = [*(dims for _, dims in inputs), *(each.dims for each in kept)]
    memory = [each.memory for each in kept]
    merged = GenericOp.create(
        operands=[*(value for value, _ in inputs), *memory],
        result_types=[out.type for out in memory],
        properties={
            "indexing_maps": ArrayAttr([map_of(loops, dims) for dims in maps]),
            "iterator_types": ArrayAttr([IteratorTypeAttr(kind) for kind in kinds]),
            "operandSegmentSizes": segments(len(inputs), len(memory)),
        },
        regions=[Region(body)],
        location=last.location,
    )
    assert last.parent is not None
    last.parent.insert_op_before(merged, last)
    for each, new in zip(kept, merged.results, strict=True):
        new.name_hint = each.result.name_hint
        each.result.replace_all_uses_with(new)
    for op in reversed(ops):
        outputs = list(op.outputs)
        erase(op)
        for out in outputs:
            _erase_unused(out)


def _join_bodies(nests: Sequence[MergeableNest], body: Block) -> tuple[_Inputs, list[_Kept]]:
    """Move the ops of all nests into one body, in which a nest reads the numbers of those before it."""
    ops = [nest.op for nest in nests]
    inputs: _Inputs = {}
    made: dict[SSAValue, SSAValue] = {}
    kept: list[_Kept] = []
    for nest in nests:
        block, count = nest.op.body.block, len(nest.op.inputs)
        for value, dims, argument in zip(nest.op.inputs, nest.maps, block.args, strict=False):
            if value not in made and (value, dims) not in inputs:
                inputs[value, dims] = body.insert_arg(argument.type, len(inputs))
            argument.replace_all_uses_with(made[value] if value in made else inputs[value, dims])
        outs = [body.insert_arg(argument.type, len(body.args)) for argument in block.args[count:]]
        for argument, mine in zip(block.args[count:], outs, strict=True):
            argument.replace_all_uses_with(mine)
        yielded = list(nest.body.results)
        for inner in ops_of(block):
            inner.detach()
            if isinstance(inner, YieldOp):
                inner.drop_all_references()
            else:
                body.add_op(inner)
        made.update(zip(nest.op.results, yielded, strict=True))
        for result, out, dims, mine, value in zip(
            nest.op.results, nest.op.outputs, nest.maps[count:], outs, yielded, strict=True
        ):
            if all(use.operation in ops for use in result.uses):
                body.erase_arg(mine)
            else:
                kept.append(_Kept(result, out, dims, value))
    return inputs, kept


def _erase_unused(out: SSAValue) -> None:
    """Erase unused memory, and the op that filled it."""
    if out.first_use is None and isinstance(out.owner, FillOp | tensor.EmptyOp):
        memory = out.owner.operands[-1] if isinstance(out.owner, FillOp) else None
        erase(out.owner)
        if memory is not None:
            _erase_unused(memory)


def _sort(block: Block) -> None:
    """Order the ops so that each comes after its operands, and otherwise keep their order."""
    ops = list(block.ops)
    place = {op: number for number, op in enumerate(ops)}
    readers: list[list[int]] = [[] for _ in ops]
    missing = [0] * len(ops)
    for number, op in enumerate(ops):
        owners = (value.owner for value in _read_by(op))
        for maker in {place[owner] for owner in owners if isinstance(owner, Operation) and owner in place}:
            readers[maker].append(number)
            missing[number] += 1
    ready = [number for number, count in enumerate(missing) if count == 0]
    heapify(ready)
    for op in ops:
        op.detach()
    while ready:
        number = heappop(ready)
        block.add_op(ops[number])
        for reader in readers[number]:
            missing[reader] -= 1
            if missing[reader] == 0:
                heappush(ready, reader)
    assert not any(missing), "internal error: merged nests depend on one another"
