"""Packs the rows of a product's first factor once, before the loops in which the factor does not change.

Reads: the loops around a product, and what they write. Writes: views of the factor before them, and loops that pack it.
Leaves: factors that the loops compute or overwrite, and products that threads share.

The weights of a layer are multiplied by each image: packed for each, they would be read and written again as often.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects import memref, scf, vector
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation, SSAValue

from mlirad.analysis.loops import is_outside
from mlirad.dialect.core.types import itemsize
from mlirad.lowering.loop_builder import Index, LoopBuilder, memref_of
from mlirad.lowering.to_buffers.row_nests import MEMREF_VIEWS, base_of
from mlirad.lowering.to_loops.products.matched_product import Contraction
from mlirad.lowering.to_loops.products.packed_factors import Slabs
from mlirad.lowering.to_loops.products.packing import Packing
from mlirad.lowering.to_loops.products.product_blocks import DEPTH
from mlirad.lowering.to_loops.scratch import lasting_scratch
from mlirad.xdsl_support.prefetch import PrefetchOp

_MOST_BYTES = 1 << 25
"""The most memory for packed rows."""

_READERS = (memref.LoadOp, vector.LoadOp, vector.MaskedLoadOp, PrefetchOp)
_OTHER_VIEWS = (memref.ReinterpretCastOp, memref.ExtractStridedMetaDataOp)


@dataclass(frozen=True)
class RowsBeforeLoops:
    """All rows of a factor, packed. depth: the steps of k that are packed together, one part after the other; height:
    the rows of a tile; slot: the rows of the buffer that a tile of a part takes; part: those that a part takes."""

    buffer: SSAValue
    depth: int
    height: int
    slot: int
    part: int

    @staticmethod
    def of(
        builder: LoopBuilder,
        product: Contraction,
        sizes: Sequence[Index],
        depth: int,
        height: int,
        slot: int = DEPTH,
    ) -> RowsBeforeLoops | None:
        """Pack the rows before the loops around a product; None if they change in the innermost one.

        sizes: of the product's dimensions.
        """
        rows, steps = sizes[product.i], sizes[product.k]
        if builder.is_shared or not isinstance(rows, int) or not isinstance(steps, int):
            return None
        if not is_repeated(builder.anchor, product, sizes):
            return None
        loop = loop_before_which_it_is_known(builder.anchor, product.a.value)
        part = -(-rows // height) * slot
        type = memref_of(product.a.element, (-(-steps // depth) * part, height))
        if prod(type.get_shape()) * itemsize(type.element_type) > _MOST_BYTES:
            return None
        factor, outer = product.a, builder
        if loop is not None:
            factor, outer = replace(factor, value=view_before(factor.value, loop)), builder.before(loop)
        buffer = lasting_scratch(outer, type)
        if buffer is None:
            return None
        packed = RowsBeforeLoops(buffer, depth, height, slot, part)
        packing = Packing(outer, replace(product, a=factor), None, {}, rows)

        def pack(start: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            slabs = Slabs(buffer, packed.slab(outer, start, 0), height, slot)
            end = outer.minimum(outer.add(start, depth), steps)
            packing.rows(slabs, (0, rows), (start, end), is_ragged=rows % height != 0)
            return ()

        outer.loop(0, steps, depth, (), pack)
        return packed

    def slab(self, builder: LoopBuilder, start: Index, row: Index) -> Index:
        """Where the rows from one on begin in the buffer, for the steps from `start` on."""
        before = builder.multiply(builder.divide(start, self.depth), self.part)
        return builder.add(before, builder.multiply(builder.divide(row, self.height), self.slot))


def is_repeated(op: Operation, product: Contraction, sizes: Sequence[Index]) -> bool:
    """Whether all rows of the first factor are multiplied more than once by other columns."""
    if product.a.dimensions != {product.i, product.k}:
        return False
    return any(sizes[d] != 1 for d in product.others) or (
        loop_before_which_it_is_known(op, product.a.value) is not None
    )


def loop_before_which_it_is_known(op: Operation, factor: SSAValue) -> scf.ForOp | None:
    """The outermost loop around an op that does not change the factor; None if the innermost one may."""
    found: scf.ForOp | None = None
    base, around = base_of(factor), op.parent_op()
    while base is not None and isinstance(around, scf.ForOp) and is_outside(base, around):
        if not all(is_outside(each, around) for each in _operands_of_views(factor, around)):
            break
        if any(_may_write(inner, base) for inner in around.walk()):
            break
        found, around = around, around.parent_op()
    return found


def view_before(factor: SSAValue, loop: scf.ForOp) -> SSAValue:
    """The factor, seen before the loop."""
    if is_outside(factor, loop):
        return factor
    view = factor.owner
    assert isinstance(view, Operation) and loop.parent is not None
    copy = view.clone({view.operands[0]: view_before(view.operands[0], loop)})
    loop.parent.insert_op_before(copy, loop)
    return copy.results[0]


def _operands_of_views(value: SSAValue, loop: scf.ForOp) -> Iterator[SSAValue]:
    """The indices that views inside the loop need."""
    while isinstance(view := value.owner, MEMREF_VIEWS) and not is_outside(value, loop):
        yield from view.operands[1:]
        value = view.operands[0]


def _may_write(op: Operation, base: SSAValue) -> bool:
    if isinstance(op, (*MEMREF_VIEWS, *_OTHER_VIEWS, *_READERS)):
        return False
    for number, operand in enumerate(op.operands):
        is_read = isinstance(op, memref.CopyOp | GenericOp) and number < (
            1 if isinstance(op, memref.CopyOp) else len(op.inputs)
        )
        if isinstance(operand.type, MemRefType) and not is_read and _base(operand) in (base, None):
            return True
    return False


def _base(value: SSAValue) -> SSAValue | None:
    while isinstance(value.owner, (*MEMREF_VIEWS, *_OTHER_VIEWS)):
        value = value.owner.operands[0]
    return value if isinstance(value.owner, memref.AllocaOp) else base_of(value)  # a thread's own memory
