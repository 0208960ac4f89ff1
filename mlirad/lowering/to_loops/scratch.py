"""Scratch memory for a running nest: in the arena, after the planned temporaries.

Reads: a function's arena. Writes: memref.alloc with its offset, and the arena's new size. Leaves: the planned
temporaries.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import IntegerAttr, MemRefType, i64
from xdsl.ir import Attribute, Operation, SSAValue

from mlirad.dialect.core.types import itemsize
from mlirad.dialect.core.upstream import segments
from mlirad.lowering.leaf_functions import LEAF
from mlirad.lowering.loop_builder import LoopBuilder
from mlirad.lowering.to_buffers.plan_arena import ALIGNMENT, BLOCK, OFFSET, SIZE, block_count, parallel_around

_START = "mlirad.scratch_offset"
_PROPERTIES: dict[str, Attribute] = {"alignment": IntegerAttr(ALIGNMENT, i64), "operandSegmentSizes": segments(0, 0)}


def scratch(builder: LoopBuilder, *types: MemRefType) -> list[SSAValue]:
    """Buffers of these types, of static size. Nests run one after the other, so they share the same memory.

    If several threads run, each has its own buffers, on its stack; so have functions that use no memory of the call. If
    there is no room on the stack, each numbered block has a place in the arena, which no other nest uses.
    """
    function = _function_of(builder)
    if is_on_stack(builder):
        made = [memref.AllocaOp.create(result_types=[type], properties=_PROPERTIES) for type in types]
        parallel = parallel_around(builder.anchor)
        if parallel is not None and (count := block_count(parallel)) is not None:
            _place_in_blocks(made, count, function)
        return [builder.insert(each).results[0] for each in made]
    start = _number(function, _START)
    if start is None:
        start = _aligned(_number(function, SIZE) or 0)
        function.attributes[_START] = IntegerAttr(start, i64)
    placed: list[SSAValue] = []
    for type in types:
        alloc = memref.AllocOp.create(
            result_types=[type], properties=_PROPERTIES, attributes={OFFSET: IntegerAttr(start, i64)}
        )
        placed.append(builder.insert(alloc).results[0])
        start += prod(type.get_shape()) * itemsize(type.element_type)
        size = max(start, _number(function, SIZE) or 0)
        function.attributes[SIZE] = IntegerAttr(size, i64)
        start = _aligned(start)
    return placed


def is_on_stack(builder: LoopBuilder) -> bool:
    """Whether buffers are on a stack, if there is room."""
    return builder.is_shared or LEAF in _function_of(builder).attributes


def lasting_scratch(builder: LoopBuilder, type: MemRefType) -> SSAValue | None:
    """A buffer that no other nest of the function uses, before a loop; None in functions that use no memory of the
    call."""
    function = _function_of(builder)
    if is_on_stack(builder):
        return None
    start = _aligned(_number(function, SIZE) or 0)
    end = start + prod(type.get_shape()) * itemsize(type.element_type)
    function.attributes[SIZE] = IntegerAttr(end, i64)
    function.attributes[_START] = IntegerAttr(_aligned(end), i64)  # what nests share from now on lies behind it
    place: dict[str, Attribute] = {OFFSET: IntegerAttr(start, i64)}
    return builder.insert(memref.AllocOp.create(result_types=[type], properties=_PROPERTIES, attributes=place)).results[
        0
    ]


def _function_of(builder: LoopBuilder) -> func.FuncOp:
    function = builder.anchor.parent_op()
    while function is not None and not isinstance(function, func.FuncOp):
        function = function.parent_op()
    assert function is not None
    return function


def _place_in_blocks(buffers: Sequence[memref.AllocaOp], count: int, function: func.FuncOp) -> None:
    """Give buffers a place in each block, behind all other memory: other blocks are at other nests."""
    offset, start = 0, _aligned(_number(function, SIZE) or 0)
    for buffer in buffers:
        type = buffer.memref.type
        buffer.attributes[OFFSET] = IntegerAttr(start + offset, i64)
        offset += _aligned(prod(type.get_shape()) * itemsize(type.element_type))
    for buffer in buffers:
        buffer.attributes[BLOCK] = IntegerAttr(offset, i64)
    function.attributes[SIZE] = IntegerAttr(start + count * offset, i64)


def _aligned(bytes: int) -> int:
    return -(-bytes // ALIGNMENT) * ALIGNMENT


def _number(op: Operation, name: str) -> int | None:
    value = op.attributes.get(name)
    return value.value.data if isinstance(value, IntegerAttr) else None
