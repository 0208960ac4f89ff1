"""Turns linalg on memrefs into loops with explicit vectors.

Reads: linalg.generic, fill and copy, and strided memref.copy, on memrefs. Writes: scf, memref, vector, arith and math;
scf.parallel on request. Leaves: no linalg op except fills of large blocks of memory with zeros, which targets do at
once.
"""

from __future__ import annotations

import sys
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
from mlirad.lowering.to_loops.loop_nest import Nest, nest_of, simplify
from mlirad.lowering.to_loops.loop_schedule import schedule_of
from mlirad.lowering.to_loops.parallel_nest import cut_of, in_blocks
from mlirad.lowering.to_loops.picked_elements import PickedElements, picked_of
from mlirad.lowering.to_loops.products.few_columns import FewColumns
from mlirad.lowering.to_loops.products.finished_tiles import FinishedTiles
from mlirad.lowering.to_loops.products.joined_nests import JoinedNest, NestsBeside, joined, nests_beside
from mlirad.lowering.to_loops.products.matched_nest import MatchedNest
from mlirad.lowering.to_loops.products.matched_product import Contraction, match_contraction, needs_no_clear
from mlirad.lowering.to_loops.products.product_blocks import (
    DEPTH,
    is_in_blocks,
    is_in_blocks_if_repeated,
    is_shared_in_blocks,
    steps_at_once,
)
from mlirad.lowering.to_loops.products.register_tiles import ContractionEmitter
from mlirad.lowering.to_loops.products.rows_before_loops import is_repeated
from mlirad.lowering.to_loops.products.shared_tiles import SharedTiles
from mlirad.lowering.to_loops.products.transposed_product import TransposedProduct
from mlirad.lowering.to_loops.products.windowed_factor import match_windowed
from mlirad.lowering.to_loops.products.windows_in_place import WindowLine, WindowsInPlace, line_of
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
            nests = beside.get(structured, NestsBeside()).left
            builder = LoopBuilder(nests.after or structured, constants[top])
            builder.is_shared = self.parallel and _is_inside_parallel(structured)
            parallel = self.parallel and not builder.is_shared
            _Lowering(builder, self.vector_bytes, parallel, shared, small, nests).replace(structured)

        for product in beside:
            build(product)
        for structured in found:
            if structured.parent is not None and structured not in beside:
                build(structured)
        for clear in clears:  # those that are left: a product may need none
            is_shared = self.parallel and _is_worth_sharing(clear)
            if clear.parent is not None and (is_shared or not _is_block(clear.operands[-1].type)):
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
    """Whether an op sets memory to zero bits: larger than a vector, but short enough between two polls."""
    if not isinstance(op, FillOp) or not isinstance(memory := op.outputs[0].type, MemRefType):
        return False
    value, shape = op.inputs[0].owner, memory.get_shape()
    if not isinstance(value, ConstantOp) or DYNAMIC_INDEX in shape:
        return False
    return _has_zero_bits(value.value) and _FEWEST_CLEARED <= prod(shape) <= _MOST_CLEARED


def _is_block(type: Attribute) -> bool:
    """Whether a target clears such memory at once."""
    return isinstance(type, MemRefType) and isinstance(type.layout, NoneAttr)


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


@dataclass
class _Lowering:
    """How one op becomes loops.

    shared: tiles that it has in common with others. small: nests without loops. beside: nests that a product may
    compute as well. `before` and `after` are those that it does compute. is_first: whether its result need not be
    cleared. is_large: whether it runs in blocks, by threads if is_by_threads. line: how it reads windows in place.
    """

    builder: LoopBuilder
    vector_bytes: int
    parallel: bool
    shared: SharedTiles | None
    small: SmallNests
    beside: NestsBeside
    before: JoinedNest | None = None
    after: JoinedNest | None = None
    is_first: bool = False
    is_large: bool = False
    is_by_threads: bool = False
    line: WindowLine | None = None

    def replace(self, op: Operation) -> None:
        """Replace the op, and the nests that it computes as well, by loops."""
        clear = _clear_before(op)
        nest = nest_of(op, self.builder)
        if not nest.is_empty:
            self._build(nest if self._is_joined(nest, clear) else simplify(nest, self.builder), clear)
        for each in filter(None, (self.before, self.after)):
            erase(each.op)
        erase(op)

    def _is_joined(self, nest: Nest, clear: Operation | None) -> bool:
        """Whether a product's tiles may compute the next nest, whose dimensions it then keeps."""
        if self.parallel or self.beside.after is None or clear is None:
            return False
        product = match_contraction(nest, body_of(nest.body))
        if product is None or FewColumns.is_for(product, nest, self.vector_bytes):
            return False
        after = joined(self.beside.after, product.c, product.j, self.builder)
        return after is not None and self._may_finish(nest, product)

    def _build(self, nest: Nest, clear: Operation | None) -> None:
        body = body_of(nest.body)
        product, windows = match_contraction(nest, body), None
        if self.small.build(nest, body, product, self.vector_bytes, self.builder):
            return
        if product is None and (windowed := match_windowed(nest, body, self.builder)) is not None:
            nest, product, windows = windowed
        part = MatchedNest(nest, body, product, windows)
        if product is not None:
            self._divide(part, product)
        cut = cut_of(part, self.builder) if self.parallel and not self.is_by_threads else None
        if product is not None:
            is_transposed = cut is None and self._is_transposed(part)
            if cut is None and windows is None and not (self.is_large or is_transposed):
                self._join(nest, product, clear)
            is_whole = cut is None or not cut.is_partial  # partial results are added to it
            has_own_tiles = self.after is not None or self.line is not None
            has_own_tiles = has_own_tiles or self.shared is None or not self.shared.is_for(nest.sizes)
            sizes, bytes = product.extents(nest), itemsize(product.c.element)
            is_by_threads = self.parallel or self.builder.is_shared
            packs_columns = windows is None or not windows.is_left
            is_in_parts = self.is_large and cut is None and packs_columns and not self.builder.is_shared
            if is_in_parts or is_transposed or self.line is not None:
                most = sys.maxsize  # the first part of a sum is stored, or all of it
            else:
                most = steps_at_once(sizes, bytes, is_large=self.is_large, is_by_threads=is_by_threads)
            if clear is not None and is_whole and needs_no_clear(product, nest, most, has_own_tiles):
                self.is_first = True
                erase(clear)
        if cut is None:
            self._emit(part)
        else:
            in_blocks(part, cut, self.builder, self._emit)

    def _divide(self, part: MatchedNest, product: Contraction) -> None:
        """Whether a product reads windows in place or runs in blocks, and whether threads share these."""
        self.line = line_of(product, part.windows, part.nest, self.vector_bytes)
        if self.line is not None:
            return
        sizes, bytes, is_along_k = product.extents(part.nest), itemsize(product.c.element), product.a.is_unit(product.k)
        is_along_j = part.windows is None and product.b.is_unit(product.j)
        self.is_large = is_in_blocks(sizes, bytes, is_along_k=is_along_k, is_along_j=is_along_j)
        if not self.is_large and is_in_blocks_if_repeated(sizes, bytes):
            self.is_large = is_repeated(self.builder.anchor, product, part.nest.sizes)
        may_be_by_threads = self.parallel and self.is_large and part.windows is None
        self.is_by_threads = may_be_by_threads and is_shared_in_blocks(sizes, bytes, is_along_k=is_along_k)

    def _is_transposed(self, part: MatchedNest) -> bool:
        product, is_in_place = part.product, part.windows is None and not self.is_large
        if product is None or not is_in_place:
            return False
        return TransposedProduct.is_for(product, part.nest, self.vector_bytes, self.builder)

    def _join(self, nest: Nest, product: Contraction, clear: Operation | None) -> None:
        """Choose the nests that the product's tiles compute."""
        if FewColumns.is_for(product, nest, self.vector_bytes):
            is_once = product.a.dimensions.issuperset(product.others)  # each element is computed once
            self.before = joined(self.beside.before, product.a, product.k, self.builder) if is_once else None
        elif clear is not None and self._may_finish(nest, product):
            self.after = joined(self.beside.after, product.c, product.j, self.builder)

    def _may_finish(self, nest: Nest, product: Contraction) -> bool:
        lanes = self.vector_bytes // itemsize(product.c.element)
        is_one_of_many = self.shared is not None and self.shared.is_many
        may_finish = FinishedTiles.is_for(product, nest, lanes, is_one_of_many)
        return may_finish and needs_no_clear(product, nest, DEPTH, True)

    def _emit(self, part: MatchedNest) -> None:
        nest, body, product, windows = part.nest, part.body, part.product, part.windows
        vector_bytes, builder = self.vector_bytes, self.builder
        if product is not None and windows is None and FewColumns.is_for(product, nest, vector_bytes):
            FewColumns(product, nest, vector_bytes, builder, self.before, is_first=self.is_first).emit()
        elif product is not None and self._is_transposed(part):
            TransposedProduct(product, nest, vector_bytes, builder, self.shared, is_first=self.is_first).emit()
        elif product is not None and self.after is not None:
            FinishedTiles(product, nest, vector_bytes, builder, self.after).emit()
        elif product is not None and windows is not None and self.line is not None:
            WindowsInPlace(product, windows, self.line, nest, vector_bytes, builder, is_first=self.is_first).emit()
        elif product is not None:
            ContractionEmitter(
                product,
                nest,
                vector_bytes,
                builder,
                self.shared,
                windows,
                is_first=self.is_first,
                is_large=self.is_large,
                is_by_threads=self.is_by_threads,
            ).emit()
        elif (zeros := zero_terms_of(nest, body)) is not None:
            GuardedNest(nest, body, zeros, vector_bytes, builder).emit()
        elif (pick := picked_of(nest, body)) is not None:
            PickedElements(nest, pick, vector_bytes, builder).emit()
        else:
            NestEmitter(nest, schedule_of(nest, body, vector_bytes), body, builder).emit()
