"""Splits ops that create tensors from scalars into two steps: empty memory, and ops that write into it.

Reads: a function of stage `linalg`. Writes: tensor.empty with linalg.fill or tensor.insert. Leaves: no tensor.splat, no
tensor.from_elements and no constant of equal elements, except the shapes of reshapes. An unknown op is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from xdsl.dialects import arith, func, scf, tensor
from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, IndexType, IntegerAttr, TensorType, i64
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from mlirad.analysis.call_graph import written_by
from mlirad.analysis.memory import TIES, VIEWS, is_linalg, is_tensor
from mlirad.dialect.core.expr import insert
from mlirad.dialect.core.upstream import written
from mlirad.lowering.rewriting import in_place_of, replace
from mlirad.lowering.tensor_memory import is_static, refuse
from mlirad.xdsl_support.traversal import ops_of

_KNOWN = VIEWS | {
    arith.ConstantOp,
    func.CallOp,
    func.ReturnOp,
    scf.ConditionOp,
    scf.ForOp,
    scf.IfOp,
    scf.WhileOp,
    scf.YieldOp,
    tensor.DimOp,
    tensor.EmptyOp,
    tensor.ExtractOp,
    tensor.FromElementsOp,
    tensor.InsertOp,
    tensor.InsertSliceOp,
    tensor.SplatOp,
}


@dataclass(frozen=True)
class Convention:
    """How tensors are passed to and from a function. written: the arguments that the function may overwrite, each with
    the result that takes over its memory. outputs: the other results of static shape; each is an additional
    argument."""

    written: dict[int, int]
    outputs: tuple[int, ...]


def convention(function: func.FuncOp) -> Convention:
    """The convention of a function of stage `linalg`."""
    written = written_by(function)
    outputs = [
        number
        for number, type in enumerate(function.function_type.outputs.data)
        if isinstance(type, TensorType) and is_static(type) and number not in written.values()
    ]
    return Convention(written, tuple(outputs))


def prepare_tensors(block: Block, defined: Mapping[str, Convention]) -> None:
    """`defined`: the conventions of the functions that have a body."""
    op = block.first_op
    while op is not None:
        following = op.next_op
        if type(op) in _KNOWN:
            for region in op.regions:
                if region.blocks:
                    prepare_tensors(region.block, defined)
            if isinstance(op, func.CallOp) and op.callee.string_value() in defined:
                _give_outputs(op, defined[op.callee.string_value()])
            _prepare(op)
        elif is_linalg(op):
            _check_body(op)
        elif op.regions or any(map(is_tensor, (*op.operands, *op.results))):
            raise refuse(op, "bufferization does not know what it does with its tensors")
        op = following


def _give_outputs(op: func.CallOp, convention: Convention) -> None:
    """Add empty memory for results that the function computes into additional arguments, and note which operands become
    results."""
    ties = [number for pair in convention.written.items() for number in pair]
    with in_place_of(op):
        for number in convention.outputs:
            ties += [len(op.operands), number]
            op.operands = [*op.operands, insert(tensor.EmptyOp([], op.results[number].type)).tensor]
    op.attributes[TIES] = DenseArrayBase.from_list(i64, ties)


def _check_body(op: LinalgStructuredOperation) -> None:
    if isinstance(op, GenericOp):
        for inner in ops_of(op.body.block):
            if type(inner) is not tensor.ExtractOp and any(map(is_tensor, inner.operands)):
                raise refuse(inner, "the body of a linalg.generic may only read elements of tensors")


def _prepare(op: Operation) -> None:
    match op:
        case tensor.SplatOp():
            with in_place_of(op):
                replace(op, [_filled(op.result.type, op.input, op.dynamicSizes)])
        case tensor.CastOp(source=SSAValue(owner=tensor.CastOp() as first)) if first.source.type == op.dest.type:
            # There and back again: a no-op.
            replace(op, [first.source])
        case tensor.FromElementsOp() if not _is_shape(op.result):
            with in_place_of(op):
                replace(op, [_gathered(op)])
        case arith.ConstantOp(value=DenseIntOrFPElementsAttr() as value) if not _is_shape(op.result):
            if value.is_splat() and not isinstance(value.get_element_type(), IndexType):
                with in_place_of(op):
                    scalar = insert(arith.ConstantOp(next(iter(value.iter_attrs())))).result
                    replace(op, [_filled(op.result.type, scalar, ())])


def _is_shape(value: SSAValue) -> bool:
    """Whether value is only used as the shape of a tensor."""
    return value.first_use is not None and all(
        isinstance(use.operation, tensor.ReshapeOp) and use.index == 1 for use in value.uses
    )


def _filled(type: Attribute, scalar: SSAValue, sizes: tuple[SSAValue, ...]) -> SSAValue:
    memory = insert(tensor.EmptyOp(sizes, type)).tensor
    return written(FillOp, scalar, memory)


def _gathered(op: tensor.FromElementsOp) -> SSAValue:
    value: SSAValue = insert(tensor.EmptyOp([], op.result.type)).tensor
    constants: dict[int, SSAValue] = {}
    for element, place in zip(op.elements, product(*map(range, op.result.type.get_shape())), strict=True):
        for index in place:
            if index not in constants:
                constants[index] = insert(arith.ConstantOp(IntegerAttr.from_index_int_value(index))).result
        value = insert(tensor.InsertOp(element, value, [constants[index] for index in place])).result
    return value
