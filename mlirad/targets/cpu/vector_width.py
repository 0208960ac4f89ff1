"""Chooses the vector width of a module.

Reads: a module of stage `bufferized`. Writes: the attribute `mlirad.vector_bytes` of the module. Leaves: its ops.

Arithmetic on the widest registers lowers the clock of many processors for some 50 to 100 microseconds, and takes a unit
from scalars. Matrix products, and nests beside a few scalars, gain more from the width than that costs; scalar loops
with a few sums between them only lose (docs/benchmarks.md). Products of small matrices, such as rotations, are scalars
themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from xdsl.dialects import scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, IntegerAttr, ModuleOp, ShapedType, i64
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, Operation, SSAValue

from mlirad.lowering.tensor_memory import MOST_ELEMENTS
from mlirad.targets.cpu.emit.function import ops_in

MODERATE = 32  # bytes: the widest vectors that do not lower the clock
_ATTRIBUTE = "mlirad.vector_bytes"


def choose_width(module: ModuleOp, widest: int) -> int:
    """Bytes of a vector, at most `widest`; stored in the module."""
    ops = ops_in(module)
    is_scalar = not any(map(_is_product, ops)) and any(map(_has_only_scalars, _scalar_loops(ops)))
    chosen = min(widest, MODERATE) if is_scalar else widest
    module.attributes[_ATTRIBUTE] = IntegerAttr(chosen, i64)
    return chosen


def chosen_width(module: ModuleOp, otherwise: int) -> int:
    """The width that `choose_width` stored in a module."""
    noted = module.attributes.get(_ATTRIBUTE)
    return noted.value.data if isinstance(noted, IntegerAttr) else otherwise


def _scalar_loops(ops: Iterable[Operation]) -> set[Operation]:
    """The innermost loops around ops that compute a scalar float from others. A loop of the compiler's around nests
    moves some, such as the sum of each row, but computes none."""
    loops = {_loop_around(op) for op in ops if _has_float(op.operands) and _has_float(op.results)}
    return {loop for loop in loops if loop is not None}


def _loop_around(op: Operation) -> Operation | None:
    parent = op.parent_op()
    while parent is not None and parent.__class__ is scf.IfOp:
        parent = parent.parent_op()
    return parent if parent.__class__ in (scf.ForOp, scf.WhileOp) else None


def _has_only_scalars(loop: Operation) -> bool:
    """Whether scalars take much of the time of a loop. They take little beside nests, unless it is a loop in a loop and
    the sizes of the nests vary: these are often as short as the rows of a triangle."""
    nests = [op for op in ops_in(loop) if isinstance(op, GenericOp) and _is_long(op)]
    if _loop_around(loop) is not None:
        nests = [nest for nest in nests if all(_elements(value.type) >= 0 for value in nest.operands)]
    return not nests


def _has_float(values: Iterable[SSAValue]) -> bool:
    return any(isinstance(each.type, AnyFloat) for each in values)


def _is_product(op: Operation) -> bool:
    """Whether it is a matrix product in loops: two sides, a summed dimension, and an array that has many elements."""
    if not isinstance(op, GenericOp):
        return False
    kinds = [kind.data for kind in op.iterator_types]
    if IteratorType.REDUCTION not in kinds or kinds.count(IteratorType.PARALLEL) < 2:
        return False
    return _is_long(op)


def _is_long(op: GenericOp) -> bool:
    """Whether it becomes loops: a nest over few elements is straight-line code."""
    return any(not 0 <= _elements(value.type) <= MOST_ELEMENTS for value in op.operands)


def _elements(type: Attribute) -> int:
    """How many a value of a type has; -1 if they are only known at run time."""
    shape = type.get_shape() if isinstance(type, ShapedType) else ()
    return -1 if DYNAMIC_INDEX in shape else prod(shape)
