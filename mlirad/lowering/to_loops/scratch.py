"""Scratch memory for a running nest: in the arena, after the planned temporaries.

Reads: a function's arena. Writes: memref.alloc with its offset, and the arena's new size. Leaves: the planned
temporaries.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import IntegerAttr, MemRefType, i64
from xdsl.ir import Attribute, Operation, SSAValue

from mlirad.dialect.core.types import itemsize
from mlirad.dialect.core.upstream import segments
from mlirad.lowering.leaf_functions import LEAF
from mlirad.lowering.loop_builder import LoopBuilder
from mlirad.lowering.to_buffers.plan_arena import ALIGNMENT, OFFSET, SIZE

_START = "mlirad.scratch_offset"
_PROPERTIES: dict[str, Attribute] = {"alignment": IntegerAttr(ALIGNMENT, i64), "operandSegmentSizes": segments(0, 0)}


def scratch(builder: LoopBuilder, *types: MemRefType) -> list[SSAValue]:
    """Buffers of these types, of static size. Nests run one after the other, so they share the same memory.

    If several threads run, each has its own buffers, on its stack; so have functions that use no memory of the call.
    """
    function = builder.anchor.parent_op()
    while function is not None and not isinstance(function, func.FuncOp):
        function = function.parent_op()
    assert function is not None
    if builder.is_shared or LEAF in function.attributes:
        return [builder.op(memref.AllocaOp, (), type, **_PROPERTIES) for type in types]
    start = _number(function, _START)
    if start is None:
        start = _aligned(_number(function, SIZE) or 0)
        function.attributes[_START] = IntegerAttr(start, i64)
    made: list[SSAValue] = []
    for type in types:
        alloc = memref.AllocOp.create(
            result_types=[type], properties=_PROPERTIES, attributes={OFFSET: IntegerAttr(start, i64)}
        )
        made.append(builder.insert(alloc).results[0])
        start += prod(type.get_shape()) * itemsize(type.element_type)
        size = max(start, _number(function, SIZE) or 0)
        function.attributes[SIZE] = IntegerAttr(size, i64)
        start = _aligned(start)
    return made


def _aligned(bytes: int) -> int:
    return -(-bytes // ALIGNMENT) * ALIGNMENT


def _number(op: Operation, name: str) -> int | None:
    value = op.attributes.get(name)
    return value.value.data if isinstance(value, IntegerAttr) else None
