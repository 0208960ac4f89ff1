"""Makes one function of nests that a module has many times: the layers of a network that is written out, say.

Reads: linalg.generic on memrefs. Writes: private functions @mlirad_nest_*, marked `mlirad.leaf`, and calls of them.
Leaves: products, which share tiles; what is in a loop, is large, of unknown size, or takes more from around it than
constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    UnitAttr,
    i64,
)
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

MANY = 8
"""So often a nest has to be there: a call costs a few ns, and what is known of the operands' memory is lost."""
_MOST_WORK = 1 << 20


def share_repeated(module: ModuleOp, structured: Sequence[Operation]) -> list[Operation]:
    """The nests that are left to be lowered, those in the new functions among them."""
    groups: dict[Any, list[Operation]] = {}
    for op in structured:
        key = _key(op)
        groups.setdefault(id(op) if key is None else key, []).append(op)
    left: list[Operation] = []
    for number, ops in enumerate(groups.values()):
        if len(ops) < MANY:
            left += ops
            continue
        name = f"mlirad_nest_{number}"
        left.append(_define(module, name, ops[0]))
        for op in ops:
            call = func.CallOp(name, list(op.operands), [])
            call.location = op.location
            call.attributes["mlirad.work"] = IntegerAttr(_work(op), i64)
            block = op.parent_block()
            assert block is not None
            block.insert_op_before(call, op)
            op.detach()
            op.erase()
    return left


def _key(op: Operation) -> Any:
    """What two nests have in common that compute the same; None if a nest is to stay where it is."""
    if not isinstance(op, GenericOp) or not isinstance(op.parent_op(), func.FuncOp):
        return None
    if not all(map(_is_small, op.operands)) or _work(op) > _MOST_WORK:
        return None
    block = op.body.block
    numbers: dict[SSAValue, Any] = {argument: number for number, argument in enumerate(block.args)}
    lines: list[Any] = []
    for inner in block.ops:
        operands: list[Any] = []
        for operand in inner.operands:
            if operand not in numbers:
                value = _constant(operand)
                if value is None:
                    return None
                numbers[operand] = _exact(value.properties["value"])
            operands.append(numbers[operand])
        if inner.regions:
            return None
        for result in inner.results:
            numbers[result] = len(numbers)
        types = tuple(result.type for result in inner.results)
        named = {**inner.attributes, **inner.properties}
        facts = tuple((name, _exact(named[name])) for name in sorted(named))
        lines.append((inner.name, tuple(operands), types, facts))
    if [line[0] for line in lines[:-1]] == ["arith.mulf", "arith.addf"] and len(op.inputs) == 2:
        return None
    maps = (op.indexing_maps, op.iterator_types, len(op.inputs))
    return (maps, tuple(operand.type for operand in op.operands), tuple(lines))


def _is_small(operand: SSAValue) -> bool:
    """Whether it is a number, or an array of known size."""
    return not isinstance(operand.type, MemRefType) or DYNAMIC_INDEX not in operand.type.get_shape()


def _exact(attribute: Attribute) -> Any:
    """Equal for equal bits only: 0.0 is not -0.0."""
    return (attribute.value.data.hex(), attribute.type) if isinstance(attribute, FloatAttr) else attribute


def _constant(value: SSAValue) -> arith.ConstantOp | None:
    return value.owner if isinstance(value.owner, arith.ConstantOp) else None


def _work(op: Operation) -> int:
    """The operations of a nest, all points together."""
    assert isinstance(op, GenericOp)
    sizes: dict[int, int] = {}
    for operand, map in zip(op.operands, op.indexing_maps, strict=True):
        if isinstance(operand.type, MemRefType):
            for size, expression in zip(operand.type.get_shape(), map.data.results, strict=True):
                for d in expression.used_dims():
                    sizes[d] = max(sizes.get(d, 1), size)
    return 4 * prod(sizes.values()) * len(op.body.block.ops)


def _define(module: ModuleOp, name: str, op: Operation) -> Operation:
    """A function of the nest, whose arguments are its operands. Constants that it reads come along."""
    types = [operand.type for operand in op.operands]
    block = Block(arg_types=types)
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
    # One array may stand at two places: what is read there are two arguments.
    made.operands = block.args
    end = func.ReturnOp()
    end.location = op.location
    block.add_op(end)
    function = func.FuncOp(name, FunctionType.from_lists(types, []), Region(block), visibility="private")
    function.attributes["mlirad.leaf"] = UnitAttr()
    function.location = op.location
    module.body.block.add_op(function)
    return made
