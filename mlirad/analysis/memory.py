"""How ops use the memory of their arrays: whether they read it, overwrite it, pass it on, or view it.

Reads: nd ops, which answer `Memory`, and the ops of stage `linalg`. Writes: nothing. Leaves: everything.

A use *takes* a value if it overwrites the value's memory, or passes it on. A later read then costs a copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TypeGuard

from xdsl.dialects import func, scf, tensor
from xdsl.dialects.builtin import DenseArrayBase, TensorType
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue, Use

from mlirad.dialect.core.op import NdOp
from mlirad.xdsl_support.once_per_object import once
from mlirad.xdsl_support.traversal import ops_of

# Results that are views of their first operand's memory, unless they are copied.
VIEWS = frozenset(
    {tensor.ExtractSliceOp, tensor.CollapseShapeOp, tensor.ExpandShapeOp, tensor.ReshapeOp, tensor.CastOp}
)
"""Upstream ops whose result is a view of their first operand's memory, unless it is copied."""
# The run-time function, one per element type, that takes over its first operand's memory.
GROW = "mlirad_grow"
# On a call: its operands that are overwritten, each followed by the corresponding result.
TIES = "mlirad.ties"
# On a call of a native function: its name, whether it needs the interpreter's lock, and the core signature of a
# gufunc's loop; see to_linalg/native_calls.py.
NATIVE = "mlirad.native"
GIL = "mlirad.gil"
GUFUNC = "mlirad.gufunc"
GUFUNC_MEMORY = "mlirad.gufunc_memory"

# The index of an op's first carried operand.
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
    """Whether op is a linalg op. (An isinstance check with the abstract class is slow.)"""
    return _is_linalg_class(type(op))


@cache
def _is_nd_class(kind: type[Operation]) -> bool:
    return issubclass(kind, NdOp)


def is_nd(op: Operation) -> TypeGuard[NdOp]:
    """Whether op is one of mlirad's; also a fast check."""
    return _is_nd_class(type(op))


def is_tensor(value: SSAValue) -> bool:
    # Compare the class itself: isinstance is slow for any other type.
    return type(value.type) is TensorType


def is_empty(value: SSAValue) -> bool:
    """Whether value is memory that has not been written yet."""
    return type(value.owner) is tensor.EmptyOp


# --- views ------------------------------------------------------------------------------------------------------


@cache
def viewed_operand(kind: type[Operation | Block]) -> int | None:
    """The operand whose memory the result of such an op may be a view of."""
    if issubclass(kind, NdOp):
        return kind.memory.views
    return 0 if kind in VIEWS else None


def is_view(value: SSAValue) -> bool:
    return viewed_operand(type(value.owner)) is not None


def memory_of(value: SSAValue) -> list[SSAValue]:
    """The values whose memory a value may be a view of; the value itself comes first."""
    found = [value]
    while isinstance(owner := value.owner, Operation) and (place := viewed_operand(type(owner))) is not None:
        value = owner.operands[place]
        found.append(value)
    return found


def viewed(value: SSAValue) -> SSAValue:
    """The source of a view, through any number of views."""
    return memory_of(value)[-1]


def views_of(value: SSAValue) -> Iterator[OpResult]:
    for use in value.uses:
        if use.index == viewed_operand(type(use.operation)):
            yield use.operation.results[0]


# --- what is read and taken -------------------------------------------------------------------------------------


def is_grow(op: Operation) -> bool:
    return isinstance(op, func.CallOp) and op.callee.string_value().startswith(GROW)


def input_count(op: LinalgStructuredOperation) -> int:
    """The number of inputs among a linalg op's operands; the outputs follow them."""
    return _lengths(op.properties["operandSegmentSizes"])[0]


@once
def _lengths(segments: Attribute) -> tuple[int, ...]:
    assert isinstance(segments, DenseArrayBase)
    return tuple(segments.get_values())


def ties(op: Operation) -> Sequence[tuple[int, OpResult]]:
    """The operands that an op overwrites, each with the corresponding result. Ops that run regions are excluded."""
    if is_nd(op):
        return () if op.memory.overwrites is None else ((op.memory.overwrites, op.results[0]),)
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
    """The tensor whose memory the op defining value overwrites."""
    if type(value) is not OpResult:
        return None
    return next((value.op.operands[operand] for operand, result in ties(value.op) if result is value), None)


def takes(use: Use) -> bool:
    """Whether this use overwrites the array, or passes it on to a loop, a branch's end or the caller."""
    op, index = use.operation, use.index
    first = _FIRST_CARRIED.get(type(op))
    if first is not None:
        return index >= first
    return any(operand == index for operand, _ in ties(op))


def is_taken(value: SSAValue) -> bool:
    """Whether some op takes the memory of value, directly or through a view of it."""
    return any(map(takes, value.uses)) or any(map(is_taken, views_of(value)))


def reads(op: Operation) -> Sequence[int]:
    """The operands whose elements an op reads, if it runs no region and is not a view."""
    kind = type(op)
    if is_nd(op):
        skipped = {op.memory.overwrites, *op.memory.shape_only}
        return [index for index, value in enumerate(op.operands) if is_tensor(value) and index not in skipped]
    if kind is tensor.ExtractOp or kind is tensor.InsertSliceOp:
        return (0,)
    if kind is func.CallOp:
        taken = [index for index, _ in ties(op)]
        return [index for index, value in enumerate(op.operands) if is_tensor(value) and index not in taken]
    return ()


def extracts_in(op: Operation) -> list[tensor.ExtractOp]:
    """The ops in the body of a generic that read elements of tensors by index."""
    if not isinstance(op, GenericOp):
        return []
    return [inner for inner in ops_of(op.body.block) if type(inner) is tensor.ExtractOp]


def captured_reads(op: Operation) -> list[SSAValue]:
    """The tensors that the body of a generic reads elements of."""
    return [each.tensor for each in extracts_in(op)]
