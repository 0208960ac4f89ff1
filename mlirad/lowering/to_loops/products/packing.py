"""Packs the factors of one contraction: which elements are a panel's columns, and which are a slab's rows.

Reads: a contraction, and the subscripts of the loops around it. Writes: loops that copy parts of the factors into
buffers (`packed_factors.py`), or windows of an array (`windowed_factor.py`). Leaves: when, and into which buffers
(`register_tiles.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlirad.lowering.loop_builder import Index, LoopBuilder
from mlirad.lowering.to_loops.loop_nest import Operand
from mlirad.lowering.to_loops.products.matched_product import Contraction
from mlirad.lowering.to_loops.products.packed_factors import (
    Masks,
    Panel,
    PlacedFactor,
    Slabs,
    pack_columns,
    pack_row,
    pack_rows,
)
from mlirad.lowering.to_loops.products.windowed_factor import WindowedFactor

_Range = tuple[Index, Index]


@dataclass(frozen=True)
class Packing:
    """subscripts: of the loops around the contraction. count: the columns of b."""

    builder: LoopBuilder
    product: Contraction
    windows: WindowedFactor | None
    subscripts: Mapping[int, Index]
    count: Index

    def columns(self, panel: Panel, j: Index, masks: Masks, depths: _Range) -> None:
        """Copy the columns of b from j on, for these k, into a panel."""
        if self.windows is not None and not self.windows.is_left:
            self.windows.pack(self.builder, self.product.b, self.subscripts, panel, depths, j, len(masks))
        else:
            pack_columns(self.builder, self._b, panel, depths, j, masks, self.count)

    def row(self, panel: Panel, k: Index, start: Index, j: Index, masks: Masks) -> None:
        """Copy a row of b, from j on, into the panel that begins at k = start."""
        pack_row(self.builder, self._b, panel, self.builder.subtract(k, start), k, j, masks)

    def rows(self, slabs: Slabs, rows: _Range, depths: _Range, *, is_ragged: bool) -> None:
        """Copy these rows of a, for these k. is_ragged: whether they may be no multiple of a tile's rows."""
        factor = self._factor(self.product.a, self.product.i, self.product.k)
        pack_rows(self.builder, factor, slabs, rows, depths, is_ragged=is_ragged)

    @property
    def _b(self) -> PlacedFactor:
        return self._factor(self.product.b, self.product.k, self.product.j)

    def _factor(self, operand: Operand, row: int, column: int) -> PlacedFactor:
        def place(i: Index, j: Index) -> list[Index]:
            return operand.place(self.builder, {**self.subscripts, row: i, column: j})

        return PlacedFactor(operand.value, place, operand.is_unit(row), operand.is_unit(column))
