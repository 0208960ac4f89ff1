"""What upstream ops do with their tensors' memory: which operand they overwrite, which one they only take the shape of.

Reads: ops of stage `linalg`. Writes: nothing. Leaves: the ops. Last uses, webs and rewriting build on these answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TypeGuard

from xdsl.dialects import arith, func, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, DenseIntOrFPElementsAttr, MemRefType, TensorType
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue, Use
from xdsl.ir.affine import AffineDimExpr

from mlirad.dialect.core import types
from mlirad.errors import CompileError
from mlirad.xdsl_support.once_per_type import once
from mlirad.xdsl_support.traversal import ops_of

# Results that look at their first operand's memory, unless they are made a copy.
VIEWS = frozenset(
    {tensor.ExtractSliceOp, tensor.CollapseShapeOp, tensor.ExpandShapeOp, tensor.ReshapeOp, tensor.CastOp}
)
Slice = tensor.ExtractSliceOp | tensor.InsertSliceOp
LOOPS = (scf.ForOp, scf.WhileOp)
STRUCTURED = (scf.IfOp, *LOOPS)
# The run-time function, one an element type, that takes over its first operand's memory.
GROW = "mlirad_grow"
# On a call of a function with a body: its operands that are overwritten, each followed by the result that it becomes.
TIES = "mlirad.ties"

# Where an op's carried operands begin.
_FIRST_CARRIED: dict[type[Operation], int] = {
    scf.ForOp: 3,
    scf.WhileOp: 0,
    scf.YieldOp: 0,
    scf.ConditionOp: 1,
    func.ReturnOp: 0,
}


@cache
def _is_linalg_class(op_class: type[Operation]) -> bool:
    return issubclass(op_class, LinalgStructuredOperation)


def is_linalg(op: Operation) -> TypeGuard[LinalgStructuredOperation]:
    """Whether op is a linalg op. (Asking an abstract class about each op is slow.)"""
    return _is_linalg_class(type(op))


def is_tensor(value: SSAValue) -> bool:
    # The class itself: for any other type, asking isinstance is slow.
    return type(value.type) is TensorType


def is_memref(value: SSAValue) -> bool:
    return type(value.type) is MemRefType


@once
def is_static(type: Attribute) -> bool:
    return isinstance(type, TensorType) and DYNAMIC_INDEX not in type.get_shape()


def is_view(value: SSAValue) -> bool:
    return type(value.owner) in VIEWS


def is_empty(value: SSAValue) -> bool:
    """Whether value is memory that nothing has been written into."""
    return type(value.owner) is tensor.EmptyOp


def viewed(value: SSAValue) -> SSAValue:
    """The source of a view, through any number of views."""
    while is_view(value):
        assert isinstance(value.owner, Operation)
        value = value.owner.operands[0]
    return value


def is_thin_view(op: Operation) -> bool:
    """Whether op is a view that only takes dimensions of size 1 away, or adds some."""
    if not isinstance(op, tensor.CollapseShapeOp | tensor.ExpandShapeOp):
        return False
    shapes = [value.type.get_shape() for value in (op.src, op.result) if isinstance(value.type, TensorType)]
    one, other = ([size for size in shape if size != 1] for shape in shapes)
    return one == other


def views_of(value: SSAValue) -> Iterator[OpResult]:
    for use in value.uses:
        if use.index == 0 and type(use.operation) in VIEWS:
            yield use.operation.results[0]


def is_grow(op: Operation) -> bool:
    return isinstance(op, func.CallOp) and op.callee.string_value().startswith(GROW)


def input_count(op: LinalgStructuredOperation) -> int:
    """How many of a linalg op's operands are its inputs; the outputs follow."""
    return _lengths(op.properties["operandSegmentSizes"])[0]


@once
def _lengths(segments: Attribute) -> tuple[int, ...]:
    assert isinstance(segments, DenseArrayBase)
    return tuple(segments.get_values())


def ties(op: Operation) -> Sequence[tuple[int, OpResult]]:
    """The operands that an op without regions of its own to run overwrites, each with the result that it becomes."""
    if is_linalg(op):
        return tuple(enumerate(op.results, input_count(op)))
    kind = type(op)
    if kind is tensor.InsertOp or kind is tensor.InsertSliceOp:
        return ((1, op.results[0]),)
    if kind is not func.CallOp:
        return ()
    if TIES in op.attributes:
        places = _lengths(op.attributes[TIES])
        return tuple((a, op.results[b]) for a, b in zip(places[::2], places[1::2], strict=True))
    return ((0, op.results[0]),) if is_grow(op) else ()


def overwritten_by(value: SSAValue) -> SSAValue | None:
    """The tensor whose memory is overwritten by the op that computes value."""
    if type(value) is not OpResult:
        return None
    return next((value.op.operands[operand] for operand, result in ties(value.op) if result is value), None)


def is_consumed(use: Use) -> bool:
    """Whether this use overwrites the tensor, or hands it on to a loop, a branch's end or the caller."""
    op, index = use.operation, use.index
    first = _FIRST_CARRIED.get(type(op))
    if first is not None:
        return index >= first
    return any(operand == index for operand, _ in ties(op))


def is_output_read(op: LinalgStructuredOperation, index: int) -> bool:
    """Whether the op's body reads what operand `index`, an output, held before."""
    return op.body.block.args[index].first_use is not None


def extracts_in(op: Operation) -> list[tensor.ExtractOp]:
    """The ops in the body of a generic that read elements of tensors, by subscript."""
    if not isinstance(op, GenericOp):
        return []
    return [inner for inner in ops_of(op.body.block) if type(inner) is tensor.ExtractOp]


def captured_reads(op: Operation) -> list[SSAValue]:
    """The tensors that the body of a generic reads elements of."""
    return [each.tensor for each in extracts_in(op)]


def is_written_where_read(op: LinalgStructuredOperation, read: int, written: int) -> bool:
    """Whether each element of operand `read` is read only by the iteration that writes that element of `written`."""
    if any(iterator.data is not IteratorType.PARALLEL for iterator in op.get_iterator_types()):
        return False
    maps = op.get_indexing_maps().data
    source, target = maps[read].data, maps[written].data
    dims = {expr.position for expr in target.results if isinstance(expr, AffineDimExpr)}
    return source == target and len(dims) == len(target.results) == target.num_dims


def is_same_slice(first: Slice, second: Slice) -> bool:
    """Whether two slices are of the same places (of whatever tensor)."""
    names = ("static_offsets", "static_sizes", "static_strides")
    if any(first.properties[name] != second.properties[name] for name in names):
        return False
    mine = (*first.offsets, *first.sizes, *first.strides)
    others = (*second.offsets, *second.sizes, *second.strides)
    return len(mine) == len(others) and all(is_same_scalar(a, b) for a, b in zip(mine, others, strict=True))


def is_same_scalar(first: SSAValue, second: SSAValue) -> bool:
    if first is second:
        return True
    one, other = first.owner, second.owner
    if isinstance(one, arith.IndexCastOp) and isinstance(other, arith.IndexCastOp):
        return first.type == second.type and is_same_scalar(one.input, other.input)
    return isinstance(one, arith.ConstantOp) and isinstance(other, arith.ConstantOp) and one.value == other.value


def is_splat(op: arith.ConstantOp) -> bool:
    return isinstance(op.value, DenseIntOrFPElementsAttr) and op.value.is_splat()


def refuse(op: Operation, why: str) -> CompileError:
    return CompileError(f"{op.name}: {why}", types.from_location(op.location))


def is_argument_of(value: SSAValue, block: Block) -> bool:
    return type(value) is BlockArgument and value.block is block
