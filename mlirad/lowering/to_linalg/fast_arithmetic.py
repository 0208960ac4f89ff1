"""The rewrites that `fastmath=True` allows: the flags of the program's own arithmetic.

Reads: the upstream ops that an nd op became. Writes: their `fastmath` flags. Leaves: formulas and complex numbers,
whose accuracy depends on the order of their instructions; float16, because few float16 numbers have an exact
reciprocal.

The flags promise nothing about values, so nan, infinity and the sign of zero keep their meaning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float16Type
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Block, Operation

from mlirad.dialect.arrays.sum_in_order import IN_ORDER
from mlirad.dialect.core import types
from mlirad.dialect.core.op import NdOp

FLAGS = arith.FastMathFlagsAttr([FastMathFlag.REASSOC, FastMathFlag.ALLOW_RECIP, FastMathFlag.ALLOW_CONTRACT])

_FLAGGED = (arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp, arith.NegfOp)


def allow_fast(op: NdOp, made: Iterable[Operation]) -> None:
    """Allow the ops that `op` became to be reassociated, contracted, and multiplied by reciprocals."""
    if not op.arithmetic or any(types.is_complex(types.element_type(each.type)) for each in op.results):
        return
    for root in made:
        for each in root.walk():
            if isinstance(each, _FLAGGED) and not isinstance(each.results[0].type, Float16Type):
                each.properties["fastmath"] = FLAGS
                each.attributes.pop(IN_ORDER, None)


def since(before: Operation | None, block: Block) -> Iterator[Operation]:
    """The ops of a block after `before`; all of them, if that is None."""
    op = block.first_op if before is None else before.next_op
    while op is not None:
        yield op
        op = op.next_op
