"""Functions of tiles, shared by a module's contractions, so that each is compiled once.

Reads: panels of contractions. Writes: private functions @mlirad_tiles_*, and calls of them. Leaves: modules with less
than two contractions, whose own tiles are best, with all sizes and strides known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp, StridedLayoutAttr
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from mlirad.dialect.core.upstream import segments
from mlirad.lowering.leaf_functions import Callee, define
from mlirad.lowering.loop_builder import Index, LoopBuilder, integers, memref_of
from mlirad.lowering.memory_views import layout_of
from mlirad.lowering.to_loops.loop_nest import Operand, Subscript
from mlirad.lowering.to_loops.products.matched_product import Contraction

MANY = 12
"""From this many products on, their compile time matters more than the 5 % that a short product loses."""
_FROM = 1 << 17
"""From this many multiplications on, a product uses shared tiles. Shorter products, of up to about 10 us, gain 5 % from
their own tiles with all strides known."""
_TINY = 16
"""Factors and results of at most so many elements do not count."""
ROWS = 4096
"""The rows of a panel that one call handles, so that a call is short."""


@dataclass(frozen=True)
class Tile:
    """The parameters of a function of tiles: `rows` x `vectors` vectors of `lanes` elements.

    is_ragged: whether the rows may be no multiple of `rows`; is_masked: whether there may be fewer columns;
    is_packed: whether a is what is packed of it; is_first: whether c is stored without being read; is_late: whether c
    is added to the sums at the end.
    """

    element: Attribute
    rows: int
    vectors: int
    lanes: int
    is_ragged: bool
    is_masked: bool
    is_packed: bool = False
    is_first: bool = False
    is_late: bool = False

    @property
    def name(self) -> str:
        kinds = ("_ragged" if self.is_ragged else "") + ("_masked" if self.is_masked else "")
        kinds += ("_packed" if self.is_packed else "") + ("_first" if self.is_first else "")
        kinds += "_late" if self.is_late else ""
        return f"mlirad_tiles_{self.element}_{self.rows}x{self.vectors}x{self.lanes}{kinds}"


Fill = Callable[[LoopBuilder, tuple[Operand, Operand, Operand], tuple[Index, Index, Index]], None]
"""Builds a panel's tiles: from a[i, k], b[k, j] and c[i, j], for sizes i, j and k."""


@dataclass
class SharedTiles:
    """The functions of tiles of a module."""

    module: ModuleOp
    is_many: bool
    """Whether there are so many products that short ones also share tiles."""
    known: set[str] = field(default_factory=set)

    def is_for(self, sizes: Sequence[Index]) -> bool:
        """Whether a product uses them: it takes so long that a call, and unknown strides, do not matter."""
        known = [size for size in sizes if isinstance(size, int)]
        return self.is_many or (len(known) == len(sizes) and prod(known) > _FROM)

    @staticmethod
    def of(module: ModuleOp, structured: Sequence[Operation]) -> SharedTiles | None:
        """None if there is nothing to share."""
        count = sum(is_product(op) and not _is_tiny(op) for op in structured)
        return SharedTiles(module, count > MANY) if count > 1 else None

    def call(self, tile: Tile, builder: LoopBuilder, operands: Sequence[SSAValue], work: int, fill: Fill) -> None:
        """Run a panel's tiles on views of a, b and c, as created by `views_of`."""
        if tile.name not in self.known:
            self.known.add(tile.name)
            self._define(tile, builder, fill)
        builder.insert(Callee(tile.name, work).call(operands, builder.location))

    def _define(self, tile: Tile, caller: LoopBuilder, fill: Fill) -> None:
        matrix, rows = _view_type(tile.element, is_unit=False), _view_type(tile.element, is_unit=True)
        block = Block(arg_types=[rows if tile.is_packed else matrix, rows, rows])
        builder = LoopBuilder(define(self.module, tile.name, block, caller.location))
        (i, j, k), (a, b, c) = [Subscript.of(d) for d in range(3)], block.args
        operands = (
            Operand(a, (i, k), (-1, -1), (None, 1 if tile.is_packed else None)),
            Operand(b, (k, j), (-1, -1), (None, 1)),
            Operand(c, (i, j), (-1, -1), (None, 1)),
        )
        sizes = (builder.size(c, 0), builder.size(c, 1), builder.size(b, 0))
        fill(builder, operands, sizes)


def is_product(op: Operation) -> bool:
    """Whether an op will probably become a contraction."""
    if not isinstance(op, GenericOp) or len(op.inputs) != 2 or len(op.outputs) != 1:
        return False
    return [type(inner) for inner in op.body.block.ops][:-1] == [arith.MulfOp, arith.AddfOp]


def _is_tiny(op: Operation) -> bool:
    """Whether a product is at most one of two 4 x 4 matrices: it needs no loops, or a few of its own."""
    types = [value.type for value in op.operands]
    sizes = [type.get_shape() for type in types if isinstance(type, MemRefType)]
    return all(DYNAMIC_INDEX not in size and prod(size) <= _TINY for size in sizes)


def _view_type(element: Attribute, *, is_unit: bool) -> MemRefType:
    return memref_of(element, (DYNAMIC_INDEX, DYNAMIC_INDEX), _LAYOUTS[is_unit])


_LAYOUTS = {is_unit: StridedLayoutAttr([None, 1 if is_unit else None], None) for is_unit in (False, True)}


def views_of(
    builder: LoopBuilder,
    product: Contraction,
    subscripts: Mapping[int, Index],
    place: tuple[Index, Index, Index],
    sizes: tuple[Index, Index, Index],
    packed_rows: tuple[SSAValue, Index, int] | None,
    panel: tuple[SSAValue, Index, int] | None,
) -> list[SSAValue]:
    """The parts of a, b and c that begin at a place (i, j, k), with sizes i, j, k.

    subscripts: of the loops around. packed_rows, panel: what is packed of a and b instead: the buffer, where it begins
    in it, and its width.
    """
    i, j, k = product.i, product.j, product.k
    here, lengths = dict(zip((i, j, k), place, strict=True)), dict(zip((i, j, k), sizes, strict=True))

    def part(operand: Operand, row: int, column: int, *, is_unit: bool) -> SSAValue:
        atoms = [subscript.atom for subscript in operand.subscripts]
        axes, start = (atoms.index(row), atoms.index(column)), operand.place(builder, {**subscripts, **here})
        return _view(builder, operand.value, start, axes, (lengths[row], lengths[column]), is_unit=is_unit)

    def packed(buffer: SSAValue, first: Index, width: int) -> SSAValue:
        return _view(builder, buffer, (first, 0), (0, 1), (lengths[k], width), is_unit=True)

    a = part(product.a, i, k, is_unit=False) if packed_rows is None else packed(*packed_rows)
    b = part(product.b, k, j, is_unit=True) if panel is None else packed(*panel)
    return [a, b, part(product.c, i, j, is_unit=True)]


def _view(
    builder: LoopBuilder,
    buffer: SSAValue,
    place: Sequence[Index],
    axes: tuple[int, int],
    sizes: tuple[Index, Index],
    *,
    is_unit: bool,
) -> SSAValue:
    """Two axes of a buffer, from an index on, as a matrix. is_unit: the elements of the second axis are adjacent."""
    base, position, strides = layout_of(builder, buffer)
    for index, stride in zip(place, strides, strict=True):
        position = builder.add(position, builder.multiply(index, stride))
    moving = [strides[axis] for axis in axes[: 1 if is_unit else 2]]
    unit = 1 if is_unit else DYNAMIC_INDEX
    assert isinstance(buffer.type, MemRefType)
    return builder.op(
        memref.ReinterpretCastOp,
        [base, *map(builder.value, (position, *sizes, *moving))],
        _view_type(buffer.type.element_type, is_unit=is_unit),
        static_offsets=integers(DYNAMIC_INDEX),
        static_sizes=integers(DYNAMIC_INDEX, DYNAMIC_INDEX),
        static_strides=integers(DYNAMIC_INDEX, unit),
        operandSegmentSizes=segments(1, 1, 2, len(moving)),
    )
