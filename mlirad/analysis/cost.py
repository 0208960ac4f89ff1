"""The cost of executing an op: the one scale on which verbs compare. An addition costs 1.

Reads: any IR. Writes: nothing. Leaves: costs, in cycles per number, or tenths of a nanosecond per array element.

An op of mlirad answers `cost`, for one element. An upstream op costs the same as its equivalent mlirad op: `math.exp`
costs the same as `nd.exp`. Callers decide which costs are too high.
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
"""The cost of an element of a tape, and of each of its bytes: 8 bytes cost as much as 6 additions. They are read much
later."""
STORED_BYTE_FAR = 2.0
"""The same for a tape larger than CACHE bytes: it goes to memory and back."""
CACHE = 1 << 20
"""Bytes: approximately the size of the cache near a core."""
TOUCHED = 4
"""An element that a vectorised loop reads or writes."""
SCALAR = 8
"""The additional cost of an element that is computed alone, and not in a vector."""
CALL = 32
"""A call of a function, without the function's own work; also of the function that copies or fills memory."""
CHECK = 4
"""A check that passes, or the growth of an array that has room."""

SHARED = 1 << 17
"""The least work that a thread takes at a time: some 10 microseconds, several times what it takes to begin if it is
awake."""

WORK = "mlirad.work"
"""On a call of a function that does not poll for signals: an upper bound of its cost."""

_QUICK = ("mlirad_check", "mlirad_grow")

MOVES = (memref.CopyOp, FillOp)
"""Ops that move memory, at about a quarter of a cycle per element."""

_FREE = (arith.ConstantOp, IndexOp, YieldOp)


def of_op(op: Operation) -> int:
    """An op on one element or number. The ops in its regions are not counted."""
    return op.memory.cost if isinstance(op, NdOp) else _of_upstream().get(op.__class__, 1)


def of_body(block: Block) -> int:
    """The ops in the body of a linalg op, per element."""
    return sum([of_op(op) for op in block.ops if op.__class__ not in _FREE])


def of_point(body: int, operands: int, *, is_vectorizable: bool = True) -> int:
    """An iteration of a loop nest that reads or writes `operands` arrays. body: the cost of the body."""
    return body * (1 if is_vectorizable else SCALAR) + TOUCHED * operands


def of_move(op: Operation) -> float:
    """A copy or a fill; inf if its length is known only at run time."""
    shapes = [value.type.get_shape() for value in op.operands if isinstance(value.type, MemRefType)]
    return next((CALL + prod(shape) // 4 for shape in shapes if DYNAMIC_INDEX not in shape), inf)


def of_call(op: func.CallOp) -> int:
    """A call, including the callee's work if that is bounded."""
    work = op.attributes.get(WORK)
    return work.value.data if isinstance(work, IntegerAttr) else CHECK if is_bounded(op) else CALL


def is_bounded(op: func.CallOp) -> bool:
    """Whether a call has an upper bound of the callee's work."""
    return WORK in op.attributes or op.callee.string_value().startswith(_QUICK)


@cache
def _of_upstream() -> dict[type[Operation], int]:
    """The costs of upstream ops that are a mlirad op by themselves; not of integer remainders and powers."""
    found: dict[type[Operation], int] = {RemfOp: 30, math.IPowIOp: 30}
    for kind in Nd.operations:
        if issubclass(kind, UnaryOp | BinaryOp) and kind.memory.cost > 1 and not issubclass(kind, FormulaOp):
            body = _body(kind, 1 if issubclass(kind, UnaryOp) else 2)
            if body is not None and isinstance(op := body.first_op, Operation) and op is body.last_op:
                found[op.__class__] = kind.memory.cost
    return found


def _body(kind: type[UnaryOp | BinaryOp], operands: int) -> Block | None:
    """The scalar body for float64; None if the op has none, or one for each value of a property."""
    block = Block(arg_types=[types.F64] * operands)
    try:
        results = kind.infer([types.F64] * operands, {})
        with building(block):
            kind.create(operands=block.args, result_types=results).scalar(*block.args)
    except (CompileError, KeyError):
        return None
    return block
