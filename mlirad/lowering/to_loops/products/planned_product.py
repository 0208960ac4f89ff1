"""Decides how a product is computed: its tiles, what is packed, and whether in blocks.

Reads: a contraction, and what is known of its sizes and of the memory around it. Writes: nothing.
Leaves: a `PlannedProduct`, whose loops `register_tiles.py` builds.
"""

from __future__ import annotations

from xdsl.ir import Attribute

from mlirad.dialect.core.types import itemsize
from mlirad.lowering.loop_builder import Index, LoopBuilder
from mlirad.lowering.to_loops.loop_nest import Nest
from mlirad.lowering.to_loops.products.matched_product import Contraction
from mlirad.lowering.to_loops.products.product_blocks import (
    DEPTH,
    FEW_STEPS,
    blocks_of,
    packs_columns,
    packs_in_rows,
    reads_rows_in_order,
    rows_of_tile,
    vectors_of_tile,
    writes_rows_in_order,
)
from mlirad.lowering.to_loops.products.shared_tiles import SharedTiles
from mlirad.lowering.to_loops.products.windowed_factor import SplitOperand, WindowedFactor
from mlirad.lowering.to_loops.scratch import is_on_stack

BLOCK_ROWS = 48
"""The fewest rows of a block, if threads share a product: so many rows pay for packing b's columns."""


class PlannedProduct:
    """How one contraction is computed. `subscripts` holds the dimensions whose loops are open."""

    def __init__(
        self,
        contraction: Contraction,
        nest: Nest,
        vector_bytes: int,
        builder: LoopBuilder,
        shared: SharedTiles | None = None,
        windows: WindowedFactor | None = None,
        *,
        is_first: bool = False,
        is_large: bool = False,
        is_by_threads: bool = False,
    ):
        """shared: the module's functions with the tiles that this contraction uses; None if it has its own tiles.
        windows: what a or b consists of, if it is not a matrix in memory.
        is_first: whether c holds nothing yet: its elements are stored without being read.
        is_large: whether one thread computes the product in blocks. If this is a thread's part of it, it is not in
        blocks, but its sums are rounded as if it were.
        is_by_threads: whether threads share each block.
        """
        self.product = contraction
        self.builder = builder
        self.windows = windows
        self.is_first = is_first
        self.sizes = nest.sizes
        self.starts = nest.starts
        self.subscripts: dict[int, Index] = {}
        self.element: Attribute = contraction.c.element
        self.lanes = 8 * vector_bytes // self.element.bitwidth  # pyright: ignore[reportAttributeAccessIssue]  # of numbers
        size = nest.sizes[contraction.j]
        while isinstance(size, int) and self.lanes >= 2 * size:
            self.lanes //= 2
        rows, depth, bytes = nest.sizes[contraction.i], nest.sizes[contraction.k], itemsize(self.element)
        reads_windows = windows is not None and windows.is_left
        is_blocked = is_large and not (builder.is_shared or reads_windows)
        self.is_late = is_large and not reads_windows
        """Whether c is added to the sums at the end: a large c is far away, and the sums must not wait for it."""
        is_along_j = windows is None and contraction.b.is_unit(contraction.j)
        is_in_order = is_along_j and writes_rows_in_order(size, depth, bytes)
        is_by_rows = is_along_j and not (is_large or is_first) and reads_rows_in_order(contraction.extents(nest), bytes)
        has_short_tiles = is_in_order or is_by_rows
        is_shared = shared is not None and shared.is_for(nest.sizes) and (shared.is_many or not has_short_tiles)
        is_split = isinstance(contraction.a, SplitOperand) and not is_blocked
        self.shared = shared if is_shared and not (reads_windows or is_split) else None
        has_32_registers = vector_bytes >= 64
        is_wide = is_blocked or (self.shared is None and windows is None and not is_on_stack(builder))
        self.vectors = vectors_of_tile(
            size,
            self.lanes,
            has_32_registers=has_32_registers and is_wide,
            is_packed=is_blocked,
            is_shared=self.shared is not None,
        )
        self.rows = rows_of_tile(rows, self.vectors, has_32_registers=has_32_registers, is_packed=is_blocked)
        self.is_ragged = not isinstance(rows, int) or rows % self.rows != 0
        self.is_in_order = is_in_order and not is_shared
        self.is_by_rows = is_by_rows and not is_shared
        """Whether FEW_STEPS rows of b at a time are multiplied by all of a."""
        self.packs_in_rows = is_along_j and packs_in_rows(size, bytes)
        self.is_packed = self._is_packed()
        self.blocks = (
            blocks_of(rows, size, self.rows, self.width, bytes, is_by_threads=is_by_threads) if is_blocked else None
        )

    @property
    def is_whole(self) -> bool:
        """Whether it needs only vectors of at least four lanes, accessed in place, without masks."""
        columns = self.sizes[self.product.j]
        is_direct = self.blocks is None and not self.is_packed
        return isinstance(columns, int) and columns % self.width == 0 and self.lanes >= 4 and is_direct

    @property
    def width(self) -> int:
        return self.lanes * self.vectors

    @property
    def depth(self) -> int:
        """The steps of k that are computed before the next columns."""
        size, most = self.sizes[self.product.k], DEPTH if self.windows is None else self.windows.depth
        if self.is_by_rows:
            return FEW_STEPS
        if self.is_first and isinstance(size, int) and self.blocks is None:
            return size
        return min(size, most) if isinstance(size, int) else most

    def _is_packed(self) -> bool:
        """Whether b is packed: if it is not contiguous along j, so that it can be read as vectors, or if it is known to
        be large."""
        if (self.windows is not None and not self.windows.is_left) or not self.product.b.is_unit(self.product.j):
            return True
        if self.is_by_rows:
            return False
        i, j, k = (self.sizes[d] for d in (self.product.i, self.product.j, self.product.k))
        if self.product.i in self.starts and not isinstance(i, int):
            i = BLOCK_ROWS
        return not self.is_in_order and packs_columns((i, j, k), itemsize(self.element))
