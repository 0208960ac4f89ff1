"""Lowers products with the nest after them: a tile's sums are changed in registers, before they are stored.

Reads: products whose tiles compute whole sums. Writes: scf, memref, vector ops, as `register_tiles.py`, and the body of
the nest. Leaves: other products, and those with long sums, beside which a nest of its own takes little time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from xdsl.ir import SSAValue

from mlirad.lowering.loop_builder import Index, LoopBuilder
from mlirad.lowering.to_loops.loop_nest import Nest
from mlirad.lowering.to_loops.products.joined_nests import JoinedNest
from mlirad.lowering.to_loops.products.matched_product import Contraction
from mlirad.lowering.to_loops.products.register_tiles import ContractionEmitter

_SHORT, _VERY_SHORT = 32, 8
"""Sums of at most so many steps take no more time, or much less time, than writing and reading the result."""
_LARGE = 1 << 12
"""The fewest elements for which tiles are worth compiling."""


class FinishedTiles(ContractionEmitter):
    """Builds the loops of one contraction into cleared memory, and of the nest after it."""

    def __init__(
        self, contraction: Contraction, nest: Nest, vector_bytes: int, builder: LoopBuilder, after: JoinedNest
    ):
        changed = contraction if after.output is None else replace(contraction, c=after.output)
        super().__init__(changed, nest, vector_bytes, builder, is_first=True)
        self.after = after

    @staticmethod
    def is_for(product: Contraction, nest: Nest, lanes: int, is_one_of_many: bool) -> bool:
        """Whether tiles may compute the next nest. is_one_of_many: whether most products share tiles, so that tiles of
        its own are compiled for this one."""
        _, columns, depth = product.extents(nest)
        if not isinstance(depth, int) or (isinstance(columns, int) and columns < lanes):
            return False
        if is_one_of_many:
            return depth <= _VERY_SHORT and prod(product.c.shape) >= _LARGE
        return depth <= _SHORT

    @property
    def _adds(self) -> bool:
        return self.after.adds

    def _latest_tile(self) -> int | None:
        return super()._latest_tile() if self.after.output is None else None  # what changes may be changed only once

    def _result(self, total: SSAValue, point: Mapping[int, Index], mask: SSAValue | None) -> SSAValue:
        return self.after.vector(self.builder, {**self.subscripts, **point}, self.lanes, mask, total)
