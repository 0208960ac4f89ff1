"""Chooses the vector width of a module.

Reads: a module of stage `bufferized`. Writes: the attribute `mlirad.vector_bytes` of the module. Leaves: its ops.

Arithmetic on the widest registers lowers the clock of many processors for some 50 to 100 microseconds. Matrix products
gain more from the width than that costs; scalar loops with a few sums between them only lose (docs/benchmarks.md).
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import AnyFloat, IntegerAttr, ModuleOp, i64
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation

from mlirad.targets.cpu.emit.function import ops_in

MODERATE = 32  # bytes: the widest vectors that do not lower the clock
_ATTRIBUTE = "mlirad.vector_bytes"


def choose_width(module: ModuleOp, widest: int) -> int:
    """Bytes of a vector, at most `widest`; stored in the module."""
    ops = ops_in(module)
    is_scalar = any(map(_is_in_scalar_loop, ops)) and not any(map(_is_product, ops))
    chosen = min(widest, MODERATE) if is_scalar else widest
    module.attributes[_ATTRIBUTE] = IntegerAttr(chosen, i64)
    return chosen


def chosen_width(module: ModuleOp, otherwise: int) -> int:
    """The width that `choose_width` stored in a module."""
    noted = module.attributes.get(_ATTRIBUTE)
    return noted.value.data if isinstance(noted, IntegerAttr) else otherwise


def _is_in_scalar_loop(op: Operation) -> bool:
    """Whether it computes a scalar float inside a loop of the user's."""
    parent = op.parent_op()
    while parent is not None and parent.__class__ is scf.IfOp:
        parent = parent.parent_op()
    return parent.__class__ in (scf.ForOp, scf.WhileOp) and any(isinstance(x.type, AnyFloat) for x in op.results)


def _is_product(op: Operation) -> bool:
    """Whether it is a matrix product: two sides, and a summed dimension."""
    if not isinstance(op, GenericOp):
        return False
    kinds = [kind.data for kind in op.iterator_types]
    return IteratorType.REDUCTION in kinds and kinds.count(IteratorType.PARALLEL) > 1
