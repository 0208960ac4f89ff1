"""Turns linalg on memrefs into loops with explicit vectors.

Reads: linalg.generic, fill and copy, and strided memref.copy, on memrefs. Writes: scf, memref, vector, arith and math;
scf.parallel on request. Leaves: no linalg op except fills of large blocks of memory with zeros, which targets do at
once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign, prod

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr, IntegerAttr, MemRefType, ModuleOp, NoneAttr
from xdsl.dialects.linalg.ops import CopyOp, FillOp, GenericOp
from xdsl.dialects.memref import CopyOp as MemRefCopyOp
from xdsl.ir import Attribute, Block, Operation
from xdsl.passes import ModulePass

from mlirad.analysis import cost
from mlirad.dialect.core.types import itemsize
from mlirad.lowering.loop_body import body_of
from mlirad.lowering.loop_builder import LoopBuilder
from mlirad.lowering.loop_constants import Constants, top_of
from mlirad.lowering.rewriting import erase
from mlirad.lowering.to_loops import parallel_nest
from mlirad.lowering.to_loops.guarded_nest import GuardedNest, zero_terms_of
from mlirad.lowering.to_loops.loop_nest import nest_of, simplify
from mlirad.lowering.to_loops.loop_schedule import schedule_of
from mlirad.lowering.to_loops.matched_nest import MatchedNest
from mlirad.lowering.to_loops.parallel_nest import cut_of, in_blocks
from mlirad.lowering.to_loops.products.few_columns import FewColumns
from mlirad.lowering.to_loops.products.finished_tiles import FinishedTiles
from mlirad.lowering.to_loops.products.joined_nests import NestsBeside, joined, nests_beside
from mlirad.lowering.to_loops.products.matched_product import match_contraction, needs_no_clear
from mlirad.lowering.to_loops.products.product_blocks import is_in_blocks, is_shared_in_blocks
from mlirad.lowering.to_loops.products.register_tiles import ContractionEmitter
from mlirad.lowering.to_loops.products.shared_tiles import SharedTiles
from mlirad.lowering.to_loops.products.windowed_factor import match_windowed
from mlirad.lowering.to_loops.repeated_nests import share_repeated
from mlirad.lowering.to_loops.small_nests import MOST_ELEMENTS, SmallNests
from mlirad.lowering.to_loops.vectorize import NestEmitter
from mlirad.xdsl_support.traversal import ops_inside

_FEWEST_CLEARED, _MOST_CLEARED = MOST_ELEMENTS + 1, 1 << 23


@dataclass(frozen=True)
class LinalgToLoops(ModulePass):
    """Turn linalg ops into loop nests over vectors.

    vector_bytes: the width of the target's vectors. parallel: whether threads share nests with much work.

    Before:

        func.func @f(%x: memref<80xf64>, %y: memref<80xf64>) {
          linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                          iterator_types = ["parallel"]} ins(%x : memref<80xf64>) outs(%y : memref<80xf64>) {
          ^bb0(%a: f64, %old: f64):
            %b = arith.addf %a, %a : f64
            linalg.yield %b : f64
          }
          func.return
        }

    After `mlirad-linalg-to-loops{vector_bytes=32 parallel=false}`:

        func.func @f(%x: memref<80xf64>, %y: memref<80xf64>) {
          %0 = arith.constant 0 : index
          %1 = arith.constant 80 : index
          %2 = arith.constant 4 : index
          scf.for %3 = %0 to %1 step %2 {
            %4 = vector.load %x[%3] : memref<80xf64>, vector<4xf64>
            %5 = arith.addf %4, %4 : vector<4xf64>
            vector.store %5, %y[%3] : memref<80xf64>, vector<4xf64>
          }
          func.return
        }
    """

    name = "mlirad-linalg-to-loops"
    vector_bytes: int = 32
    parallel: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = [inner for inner in ops_inside(op) if inner.__class__ in _STRUCTURED and _is_structured(inner)]
        clears = [inner for inner in found if _is_clear(inner)]
        found = [inner for inner in found if not _is_clear(inner)]
        if not self.parallel:
            found = share_repeated(op, found)
        shared, small = SharedTiles.of(op, found), SmallNests()
        constants: dict[Block, Constants] = {}
        beside = {inner: nests for inner in found if (nests := nests_beside(inner)) is not None}

        def build(structured: Operation) -> None:
            top = top_of(structured)
            if top not in constants:
                constants[top] = Constants(top)
            nests = beside.get(structured, NestsBeside())
            builder = LoopBuilder(nests.after or structured, constants[top])
            builder.is_shared = self.parallel and _is_inside_parallel(structured)
            lower(structured, builder, self.vector_bytes, self.parallel and not builder.is_shared, shared, small, nests)

        for product in beside:
            build(product)
        for structured in found:
            if structured.parent is not None and structured not in beside:
                build(structured)
        for clear in clears:  # those that are left: a product may need none
            if self.parallel and clear.parent is not None and _is_worth_sharing(clear):
                build(clear)


_STRUCTURED = frozenset({GenericOp, FillOp, CopyOp, MemRefCopyOp})


def _is_inside_parallel(op: Operation) -> bool:
    """Whether threads run the op already, one of them."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, scf.ParallelOp):
        parent = parent.parent_op()
    return parent is not None


def _is_structured(op: Operation) -> bool:
    if isinstance(op, MemRefCopyOp):
        return any(isinstance(v.type, MemRefType) and not isinstance(v.type.layout, NoneAttr) for v in op.operands)
    return True


def _is_clear(op: Operation) -> bool:
    """Whether an op sets a block of memory to zero bits: larger than a vector, but short enough between two polls."""
    if not isinstance(op, FillOp) or not isinstance(memory := op.outputs[0].type, MemRefType):
        return False
    value, shape = op.inputs[0].owner, memory.get_shape()
    if not isinstance(value, ConstantOp) or DYNAMIC_INDEX in shape or not isinstance(memory.layout, NoneAttr):
        return False
    return _has_zero_bits(value.value) and _FEWEST_CLEARED <= prod(shape) <= _MOST_CLEARED


def _is_worth_sharing(clear: Operation) -> bool:
    """Whether threads share what a target would do at once."""
    memory = clear.operands[-1].type
    is_large = isinstance(memory, MemRefType) and cost.TOUCHED * prod(memory.get_shape()) >= 2 * parallel_nest.BLOCK
    return is_large and not _is_inside_parallel(clear)


def _clear_before(op: Operation) -> Operation | None:
    """The op that sets the array to zero bits into which this one adds, if nothing uses memory between the two."""
    if not isinstance(op, GenericOp) or len(op.outputs) != 1:
        return None
    before = op.prev_op
    while isinstance(before, ConstantOp):
        before = before.prev_op
    is_its = isinstance(before, FillOp) and before.outputs[0] is op.outputs[0]
    return before if is_its and before is not None and _is_clear(before) else None


def _has_zero_bits(value: Attribute) -> bool:
    if isinstance(value, FloatAttr):
        return value.value.data == 0.0 and copysign(1.0, value.value.data) > 0.0
    return isinstance(value, IntegerAttr) and value.value.data == 0


def lower(
    op: Operation,
    builder: LoopBuilder,
    vector_bytes: int,
    parallel: bool,
    shared: SharedTiles | None,
    small: SmallNests,
    beside: NestsBeside,
) -> None:
    """Replace one op by its loops. shared: tiles that it has in common with others. small: nests without loops.
    beside: nests that a product may compute as well; those that it computes are erased."""
    clear = _clear_before(op)
    nest = nest_of(op, builder)
    if not nest.is_empty:
        nest = simplify(nest, builder)
        body = body_of(nest.body)
        product = match_contraction(nest, body)

        is_first = is_large = is_by_threads = False
        windows = before = after = None

        def emit(part: MatchedNest) -> None:
            nest, body, product, windows = part.nest, part.body, part.product, part.windows
            if product is not None and windows is None and FewColumns.is_for(product, nest, vector_bytes):
                FewColumns(product, nest, vector_bytes, builder, before, is_first=is_first).emit()
            elif product is not None and after is not None:
                FinishedTiles(product, nest, vector_bytes, builder, after).emit()
            elif product is not None:
                ContractionEmitter(
                    product,
                    nest,
                    vector_bytes,
                    builder,
                    shared,
                    windows,
                    is_first=is_first,
                    is_large=is_large,
                    is_by_threads=is_by_threads,
                ).emit()
            elif (zeros := zero_terms_of(nest, body)) is not None:
                GuardedNest(nest, body, zeros, vector_bytes, builder).emit()
            else:
                NestEmitter(nest, schedule_of(nest, body, vector_bytes), body, builder).emit()

        if small.build(nest, body, product, vector_bytes, builder):
            return erase(op)
        if product is None and (windowed := match_windowed(nest, body, builder)) is not None:
            nest, product, windows = windowed
        if product is not None:
            sizes, bytes, is_along_k = product.extents(nest), itemsize(product.c.element), product.a.is_unit(product.k)
            is_large = is_in_blocks(sizes, bytes, is_along_k=is_along_k)
            may_be_by_threads = parallel and is_large and windows is None
            is_by_threads = may_be_by_threads and is_shared_in_blocks(sizes, bytes, is_along_k=is_along_k)
        whole = MatchedNest(nest, body, product, windows)
        cut = cut_of(whole, builder) if parallel and not is_by_threads else None
        if product is not None and cut is None and windows is None and not is_large:
            if FewColumns.is_for(product, nest, vector_bytes):
                is_once = product.a.dimensions.issuperset(product.others)  # each element is computed once
                before = joined(beside.before, product.a, product.k, builder) if is_once else None
            elif clear is not None and not (shared is not None and shared.is_many):
                lanes = vector_bytes // itemsize(product.c.element)
                may_finish = FinishedTiles.is_for(product, nest, lanes) and needs_no_clear(product, nest, True)
                after = joined(beside.after, product.c, product.j, builder) if may_finish else None
        is_whole = cut is None or not cut.is_partial  # partial results are added to it
        has_own_tiles = after is not None or shared is None or not shared.is_for(nest.sizes)
        if product is not None and clear is not None and is_whole and needs_no_clear(product, nest, has_own_tiles):
            is_first = True
            erase(clear)
        if cut is None:
            emit(whole)
        else:
            in_blocks(whole, cut, builder, emit)
        for nest_beside in filter(None, (before, after)):
            erase(nest_beside.op)
    erase(op)
