"""What it costs to execute an op: the one scale on which verbs compare. An addition costs 1.

Reads: any IR. Writes: nothing. Leaves: answers, in cycles of a number, or tenths of a nanosecond of an array's element.

An op of mlirad answers `cost`, for one element. An upstream op costs what the op of mlirad costs that is nothing else:
`math.exp` is `nd.exp`. How much is too much is decided by who asks.
"""

from __future__ import annotations

from functools import cache
from math import inf, prod

from xdsl.dialects import arith, func, math, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType
from xdsl.dialects.linalg.ops import FillOp, IndexOp, YieldOp
from xdsl.ir import Block, Operation

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import building
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.functions.formulas import FormulaOp
from mlirad.dialect.nd import Nd
from mlirad.dialect.ops.elementwise import BinaryOp, UnaryOp
from mlirad.errors import CompileError
from mlirad.xdsl_support.remf import RemfOp

STORED, STORED_BYTE = 2.0, 0.5
"""An element of a tape, and each byte of it: eight bytes cost as much as six additions. They are read much later."""
STORED_BYTE_FAR = 2.0
"""The same of a tape that does not fit into CACHE bytes: it goes to memory, and comes from there again."""
CACHE = 1 << 20
"""Bytes: what processors keep near a core, more or less."""
TOUCHED = 4
"""An element that a loop of vectors reads or writes."""
SCALAR = 8
"""How much more an element costs that is computed by itself, and not in a vector."""
CALL = 32
"""A call of a function, besides what the function does; also of the one that copies or fills memory."""
CHECK = 4
"""A check that passes, or the growth of an array that has room."""

WORK = "mlirad.work"
"""On a call of a function that does not look for signals: the most that it costs."""

_QUICK = ("mlirad_check", "mlirad_grow")

MOVES = (memref.CopyOp, FillOp)
"""What moves memory, a quarter of a cycle an element or so."""

_FREE = (arith.ConstantOp, IndexOp, YieldOp)


def of_op(op: Operation) -> int:
    """An op on one element or number. What an op with regions has in them is not counted."""
    return op.memory.cost if isinstance(op, NdOp) else _of_upstream().get(op.__class__, 1)


def of_body(block: Block) -> int:
    """The ops in the body of a linalg op, on numbers."""
    return sum([of_op(op) for op in block.ops if op.__class__ not in _FREE])


def of_point(body: int, operands: int, *, is_vectorizable: bool = True) -> int:
    """A point of a loop nest, which reads or writes so many arrays. body: what is computed there."""
    return body * (1 if is_vectorizable else SCALAR) + TOUCHED * operands


def of_move(op: Operation) -> float:
    """A copy, or a fill; inf where only the run knows how long it is."""
    shapes = [value.type.get_shape() for value in op.operands if isinstance(value.type, MemRefType)]
    return next((CALL + prod(shape) // 4 for shape in shapes if DYNAMIC_INDEX not in shape), inf)


def of_call(op: func.CallOp) -> int:
    """A call; with what the callee does, if that is bounded."""
    work = op.attributes.get(WORK)
    return work.value.data if isinstance(work, IntegerAttr) else CHECK if is_bounded(op) else CALL


def is_bounded(op: func.CallOp) -> bool:
    """Whether a call says itself how much the callee does at most."""
    return WORK in op.attributes or op.callee.string_value().startswith(_QUICK)


@cache
def _of_upstream() -> dict[type[Operation], int]:
    """What upstream ops cost that are an op of mlirad by themselves; remainders and powers of integers are none."""
    found: dict[type[Operation], int] = {RemfOp: 30, math.IPowIOp: 30}
    for kind in Nd.operations:
        if issubclass(kind, UnaryOp | BinaryOp) and kind.memory.cost > 1 and not issubclass(kind, FormulaOp):
            body = _body(kind, 1 if issubclass(kind, UnaryOp) else 2)
            if body is not None and isinstance(op := body.first_op, Operation) and op is body.last_op:
                found[op.__class__] = kind.memory.cost
    return found


def _body(kind: type[UnaryOp | BinaryOp], operands: int) -> Block | None:
    """What computes a float64; None if the op has none."""
    block = Block(arg_types=[types.F64] * operands)
    try:
        results = kind.infer([types.F64] * operands, {})
    except CompileError:
        return None
    with building(block):
        kind.create(operands=block.args, result_types=results).scalar(*block.args)
    return block
