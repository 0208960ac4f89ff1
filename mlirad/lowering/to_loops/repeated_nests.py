"""Replaces equal nests that occur many times in a module by one function, as in the layers of an unrolled network.

Reads: linalg.generic and linalg.fill on memrefs. Writes: functions @mlirad_nest_*, and calls of them. Leaves: nests
that are in a loop, large, of unknown size, or use more than constants from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from math import prod

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr, MemRefType, ModuleOp
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from mlirad.lowering.leaf_functions import Callee, define
from mlirad.lowering.loop_body import body_of
from mlirad.lowering.rewriting import erase
from mlirad.lowering.to_loops.products.shared_tiles import is_product

MANY = 8
"""The fewest equal nests: a call costs a few ns, and the facts about the operands' memory are lost."""
_MOST_WORK = 1 << 20
_MOST_MULTIPLICATIONS = 1 << 24
"""The limit for a product: it takes some milliseconds at most."""


def share_repeated(module: ModuleOp, structured: Sequence[Operation]) -> list[Operation]:
    """The nests that remain to be lowered, including those in the new functions."""
    keys = _Keys()
    left: list[Operation] = []
    number = 0
    for alike in _grouped(structured, keys.of_operands).values():
        work = _work(alike[0]) if len(alike) >= MANY else None
        if work is None:
            left += alike
            continue
        for key, ops in _grouped(alike, keys.of_body).items():
            if key is None or len(ops) < MANY:
                left += ops
                continue
            name = f"mlirad_nest_{number}"
            number += 1
            left.append(_define(module, name, ops[0]))
            _call(Callee(name, work), ops)
    return left


def _grouped(ops: Iterable[Operation], key: Callable[[Operation], Hashable]) -> dict[Hashable, list[Operation]]:
    groups: dict[Hashable, list[Operation]] = {}
    for op in ops:
        groups.setdefault(key(op), []).append(op)
    return groups


class _Keys:
    """Keys that are equal for nests that compute the same. Attributes are numbered once, because comparing them is
    slow."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._seen: dict[int, int] = {}

    def _number(self, attribute: Attribute) -> int:
        found = self._seen.get(id(attribute))
        if found is None:
            found = self._numbers.setdefault(_exact(attribute), len(self._numbers))
            self._seen[id(attribute)] = found
        return found

    def _facts(self, named: dict[str, Attribute]) -> Hashable:
        return tuple([(name, self._number(attribute)) for name, attribute in named.items()])

    def of_operands(self, op: Operation) -> Hashable:
        """A key for the operands and how they are accessed; unique if the nest must stay in its place."""
        if op.__class__ not in (GenericOp, FillOp) or not isinstance(op.parent_op(), func.FuncOp):
            return id(op)
        types = [self._number(operand.type) for operand in op.operands]
        return (op.__class__, self._facts(op.properties), *types)

    def of_body(self, op: Operation) -> Hashable:
        """A key for the computation at each point; None if it uses more than constants from outside the nest."""
        block = op.regions[0].block
        numbers: dict[SSAValue, Hashable] = {argument: number for number, argument in enumerate(block.args)}
        lines: list[Hashable] = []
        for inner in block.ops:
            if inner.regions:
                return None
            operands = list(inner.operands)
            for operand in operands:
                if operand not in numbers:
                    value = _constant(operand)
                    if value is None:
                        return None
                    numbers[operand] = ("constant", self._number(value.properties["value"]))
            for result in inner.results:
                numbers[result] = len(numbers)
            types = [self._number(result.type) for result in inner.results]
            facts = self._facts(inner.properties), self._facts(inner.attributes)
            lines.append((inner.name, *[numbers[operand] for operand in operands], *types, facts))
        return tuple(lines)


def _exact(attribute: Attribute) -> Hashable:
    """A key that is equal for equal bits only: 0.0 is not -0.0."""
    return (attribute.value.data.hex(), attribute.type) if isinstance(attribute, FloatAttr) else attribute


def _constant(value: SSAValue) -> arith.ConstantOp | None:
    return value.owner if isinstance(value.owner, arith.ConstantOp) else None


def _work(op: Operation) -> int | None:
    """The total cost of a nest, over all points; None if it is too high or unknown."""
    shapes = [operand.type.get_shape() for operand in op.operands if isinstance(operand.type, MemRefType)]
    if any(DYNAMIC_INDEX in shape for shape in shapes):
        return None
    if not isinstance(op, GenericOp):
        points = prod(shapes[-1])
    else:
        sizes: dict[int, int] = {}
        for operand, map in zip(op.operands, op.indexing_maps, strict=True):
            if isinstance(operand.type, MemRefType):
                for size, expression in zip(operand.type.get_shape(), map.data.results, strict=True):
                    for d in expression.used_dims():
                        sizes[d] = max(sizes.get(d, 1), size)
        points = prod(sizes.values())
    if is_product(op):
        return points if points <= _MOST_MULTIPLICATIONS else None
    work = points * body_of(op.regions[0].block).cost_of_point(len(shapes))
    return work if work <= _MOST_WORK else None


def _call(callee: Callee, ops: Sequence[Operation]) -> None:
    """Replace nests by calls of a function."""
    for op in ops:
        block = op.parent
        assert block is not None
        block.insert_op_before(callee.call(list(op.operands), op.location), op)
        erase(op)


def _define(module: ModuleOp, name: str, op: Operation) -> Operation:
    """A function of the nest, with its operands as arguments. Constants that it reads are copied into it."""
    block = Block(arg_types=[operand.type for operand in op.operands])
    known: dict[SSAValue, SSAValue] = dict(zip(op.operands, block.args, strict=True))
    for inner in op.regions[0].block.ops:
        for operand in inner.operands:
            constant = _constant(operand)
            if constant is not None and constant.parent_block() is not inner.parent_block():
                copied = constant.clone()
                block.add_op(copied)
                known[operand] = copied.result
    made = op.clone(known)
    block.add_op(made)
    # One array may be read at two indices: these are two arguments.
    made.operands = block.args
    define(module, name, block, op.location)
    return made
