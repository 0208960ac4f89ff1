"""Turns linalg on memrefs into loops with explicit vectors.

Reads: linalg.generic, fill and copy, and strided memref.copy, on memrefs. Writes: scf, memref, vector, arith and math;
scf.parallel if asked. Leaves: no linalg op.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp, NoneAttr
from xdsl.dialects.linalg.ops import CopyOp, FillOp, GenericOp
from xdsl.dialects.memref import CopyOp as MemRefCopyOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from mlirad.lowering.contraction import Contraction, ContractionEmitter, match_contraction
from mlirad.lowering.loop_body import Body, body_of
from mlirad.lowering.loop_builder import Constants, LoopBuilder, top_of
from mlirad.lowering.loop_nest import Nest, nest_of, simplify
from mlirad.lowering.loop_plan import plan_of
from mlirad.lowering.parallel_nest import cut_of, in_blocks
from mlirad.lowering.repeated_nests import share_repeated
from mlirad.lowering.rewriting import erase
from mlirad.lowering.shared_tiles import SharedTiles
from mlirad.lowering.vector_arith import mend_vector_arith
from mlirad.lowering.vectorize import NestEmitter


@dataclass(frozen=True)
class LinalgToLoops(ModulePass):
    """`vector_bytes`: how wide the target's vectors are. parallel: whether threads share nests with much work."""

    name = "mlirad-linalg-to-loops"
    vector_bytes: int = 32
    parallel: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        mend_vector_arith()
        found = [inner for inner in op.walk() if _is_structured(inner)]
        if not self.parallel:
            found = share_repeated(op, found)
        shared = SharedTiles.of(op, found)
        constants: dict[Block, Constants] = {}
        for structured in found:
            top = top_of(structured)
            if top not in constants:
                constants[top] = Constants(top)
            lower(structured, LoopBuilder(structured, constants[top]), self.vector_bytes, self.parallel, shared)


def _is_structured(op: Operation) -> bool:
    if isinstance(op, MemRefCopyOp):
        return any(isinstance(v.type, MemRefType) and not isinstance(v.type.layout, NoneAttr) for v in op.operands)
    return isinstance(op, GenericOp | FillOp | CopyOp)


def lower(op: Operation, builder: LoopBuilder, vector_bytes: int, parallel: bool, shared: SharedTiles | None) -> None:
    """Replaces one op by its loops. shared: tiles that it has in common with others."""
    nest = nest_of(op, builder)
    if not nest.is_empty:
        nest = simplify(nest, builder)
        body = body_of(nest.body)
        product = match_contraction(nest, body)

        def emit(nest: Nest, body: Body, product: Contraction | None) -> None:
            if product is not None:
                ContractionEmitter(product, nest, vector_bytes, builder, shared).emit()
            else:
                NestEmitter(nest, plan_of(nest, body, vector_bytes), body, builder).emit()

        cut = cut_of(nest, body, product, builder) if parallel else None
        if cut is None:
            emit(nest, body, product)
        else:
            in_blocks(nest, body, product, cut, builder, emit)
    erase(op)
