"""Runs of nests that may process their rows together: the requirements for each nest, and the memory that each touches.

Reads: ops on memrefs of static size, in program order. Writes: nothing. Leaves: the nests of a run, and the ops that
come before and after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from mlirad.analysis import cost
from mlirad.dialect.core.answers import Dims
from mlirad.dialect.core.effect_table import is_removable
from mlirad.dialect.core.types import itemsize
from mlirad.lowering.loop_body import Combiner, body_of

_LONGEST_ROW = 1 << 19
_WIDEST = 64
"""The bytes of the widest vectors."""
_FEWEST_ROWS = 16
"""The fewest rows of a block, if sums of columns are accumulated across blocks: fewer rows would cost time and
digits."""
_PRODUCT_ROWS = 8
"""The fewest rows of a block with a product: those of a tile, which reads the other factor once."""
_FARTHER = 8
"""How many times larger a block may become to have so many rows: it then fits in the second-level cache."""
_SMALL_FACTOR = 1 << 14
"""Bytes: what a product may read again for each block of rows."""
_SMALL = 1 << 15
"""Bytes: a nest on whole sums that touches no more may wait for the end of the run, and need not share rows itself."""


@dataclass(frozen=True)
class RowAccess:
    """An operand of a nest. base: the memory that contains it. axis: the axis along the rows, if any.

    rows_of: identifies the rows: two operands with the same value have the same rows.
    """

    value: SSAValue
    base: SSAValue
    axis: int | None
    rows_of: SSAValue

    @property
    def row_bytes(self) -> int:
        type = self.value.type
        assert isinstance(type, MemRefType) and self.axis is not None
        shape = type.get_shape()
        return prod(shape) // shape[self.axis] * itemsize(type.element_type)


@dataclass(frozen=True)
class RowNest:
    """A nest over rows. combiners: for each output without rows, the combiner of its reduction. is_product: whether it
    is one of matrices."""

    op: GenericOp | FillOp
    rows: int
    inputs: tuple[RowAccess, ...]
    outputs: tuple[RowAccess, ...]
    combiners: Mapping[int, Combiner]
    is_product: bool


def nest_of(op: Operation) -> RowNest | None:
    """The nest of an op; None if it cannot be cut into rows, or reads a large array by columns: alone, it changes the
    order of its loops."""
    if isinstance(op, FillOp):
        maps: list[Dims | None] = [(), tuple(range(len(shape_of(op.outputs[0]))))]
        if not maps[1]:
            return None
    elif isinstance(op, GenericOp):
        maps = [_dims(attribute.data) for attribute in op.indexing_maps.data]
    else:
        return None
    accesses: list[RowAccess] = []
    rows = 0
    for value, dims in zip(op.operands, maps, strict=True):
        if dims is None:
            return None
        if not isinstance(value.type, MemRefType):
            continue
        base, shape = _base(value), shape_of(value)
        if base is None or DYNAMIC_INDEX in shape:
            return None
        axis = dims.index(0) if 0 in dims else None
        if axis and axis == len(dims) - 1 and _bytes_of_memref(value.type) > _SMALL:
            return None
        rows = rows if axis is None else shape[axis]
        accesses.append(RowAccess(value, base, axis, base if _has_rows_of(value, base) else value))
    count = len(op.outputs)
    inputs, outputs = accesses[:-count], accesses[-count:]
    combiners: dict[int, Combiner] = {}
    is_product = isinstance(op, GenericOp) and _is_product(op)
    if isinstance(op, GenericOp):
        is_whole = is_product and (_bytes_of_factor(op) > _SMALL_FACTOR or _has_few_columns(op))
        found = None if is_whole else _combiners(op, outputs)
        if found is None:
            return None
        combiners = found
    return RowNest(op, rows, tuple(inputs), tuple(outputs), combiners, is_product) if rows > 1 else None


def _is_product(op: GenericOp) -> bool:
    loops, first = len(op.iterator_types.data), len(op.inputs)
    reads = [each.data.results for each in op.indexing_maps.data[:first]]
    return body_of(op.body.block).is_multiply_add and any(len(read) < loops for read in reads)


def _combiners(op: GenericOp, outputs: Sequence[RowAccess]) -> dict[int, Combiner] | None:
    """The combiners of outputs without rows; None if the nest cannot be split into rows."""
    body, first = body_of(op.body.block), len(op.inputs)
    combiners: dict[int, Combiner] = {}
    for inner in op.body.block.ops:
        counts_rows = isinstance(inner, IndexOp) and inner.dim.value.data == 0
        if inner.regions or isinstance(inner, memref.LoadOp) or counts_rows:
            return None
    for place, out in enumerate(outputs):
        if out.axis is None:
            combiner = body.combiner(place, first + place)
            if combiner is None or combiner.is_in_order:
                return None
            combiners[place] = combiner
    return combiners


def _has_few_columns(op: GenericOp) -> bool:
    """Whether vectors of some width may run along a product's sum, which depends on the number of rows."""
    type = op.outputs[0].type
    assert isinstance(type, MemRefType)
    (*_, columns), widest = type.get_shape(), _WIDEST // itemsize(type.element_type)
    return 2 <= columns <= widest // 2 and prod(_sizes(op).values()) >= cost.MANY_PRODUCTS


def _bytes_of_factor(op: GenericOp) -> int:
    """Of what a product reads for each row: it would be read from memory for each block."""
    found = [0]
    for value, map in zip(op.operands, op.indexing_maps.data, strict=True):
        type, rows = value.type, AffineDimExpr(0)
        if isinstance(type, MemRefType) and rows not in map.data.results:
            found.append(prod(type.get_shape()) * itemsize(type.element_type))
    return max(found)


def shape_of(value: SSAValue) -> tuple[int, ...]:
    return value.type.get_shape() if isinstance(value.type, MemRefType) else ()


def _dims(map: AffineMap) -> Dims | None:
    """The loops along which the axes of an operand run, each along its own."""
    dims = [each.position for each in map.results if isinstance(each, AffineDimExpr)]
    return tuple(dims) if len(dims) == len(map.results) == len(set(dims)) else None


RESHAPES = (memref.CollapseShapeOp, memref.ExpandShapeOp)
_MEMREF_VIEWS = (memref.SubviewOp, memref.CastOp, *RESHAPES)


def _has_rows_of(value: SSAValue, base: SSAValue) -> bool:
    """Whether value is the whole memory, with each row at most reshaped."""
    rows = shape_of(base)[:1]
    while value is not base and isinstance(value.owner, RESHAPES) and shape_of(value)[:1] == rows:
        value = value.owner.operands[0]
    return value is base


def _base(value: SSAValue) -> SSAValue | None:
    """The memory of a memref, if it is known to be disjoint from all other memory: allocated here, or an argument."""
    while isinstance(value.owner, _MEMREF_VIEWS):
        value = value.owner.operands[0]
    if isinstance(value, BlockArgument):
        parent = value.owner.parent_op()
        return value if isinstance(parent, func.FuncOp) else None
    return value if isinstance(value.owner, memref.AllocOp | memref.GetGlobalOp) else None


def _bases(values: Sequence[SSAValue]) -> set[SSAValue | None]:
    return {_base(value) for value in values if isinstance(value.type, MemRefType)}


def _loads(op: GenericOp | FillOp) -> bool:
    """Whether a nest reads memory that is not an operand."""
    return isinstance(op, GenericOp) and any(isinstance(each, memref.LoadOp) for each in op.body.block.ops)


def _bytes_of(op: Operation) -> int:
    """Of all memory that an op has as operands, of static size."""
    return sum(_bytes_of_memref(value.type) for value in op.operands if isinstance(value.type, MemRefType))


def _bytes_of_memref(type: MemRefType) -> int:
    return prod(map(abs, type.get_shape())) * itemsize(type.element_type)


@dataclass
class RowRun:
    """The nests that will share their rows, so far.

    by_row: memory of which only a row is touched at a time, with the identity of these rows. whole: memory that may be
    read anywhere. written, summed: memory that is written row by row, and memory to which all rows are added. fills: of
    memory that nothing in the run has touched yet. later: ops that need whole sums, and go after the run; later_read
    and later_written: the memory of the nests among them.
    """

    rows: int
    nests: list[RowNest] = field(default_factory=list)
    by_row: dict[SSAValue, SSAValue] = field(default_factory=dict)
    whole: set[SSAValue] = field(default_factory=set)
    written: set[SSAValue] = field(default_factory=set)
    summed: set[SSAValue] = field(default_factory=set)
    fills: dict[SSAValue, RowNest] = field(default_factory=dict)
    later: list[Operation] = field(default_factory=list)
    later_read: set[SSAValue] = field(default_factory=set)
    later_written: set[SSAValue] = field(default_factory=set)

    def takes(self, op: Operation) -> bool:
        """Add an op to the run, or leave it before the run, or move it after the run; False if the run ends before
        it."""
        if self._is_later(op) or self._is_later_nest(op):
            self.later.append(op)
            return True
        if any(value.owner in self.later for value in read_by(op)) or self._passes_later(op):
            return False
        nest = nest_of(op)
        if nest is not None and isinstance(op, FillOp) and not self._has_touched(nest.outputs[0].base):
            self.fills[nest.outputs[0].base] = nest
            return True
        if nest is not None and nest.rows == self.rows and self._may_join(nest):
            self._join(nest)
            return True
        return self._may_stay(op)

    def _is_later(self, op: Operation) -> bool:
        """Whether an op only computes with whole sums."""
        if isinstance(op, memref.LoadOp):
            return op.memref in self.summed
        is_plain = not op.regions and is_removable(op) and not any(isinstance(v.type, MemRefType) for v in op.operands)
        return is_plain and any(value.owner in self.later for value in op.operands)

    def _is_later_nest(self, op: Operation) -> bool:
        """Whether an op is a small nest on whole sums, or on values computed from them."""
        if not isinstance(op, GenericOp | FillOp) or _loads(op) or _bytes_of(op) > _SMALL:
            return False
        reads, writes = _bases(op.inputs), _bases(op.outputs)
        needs_sums = bool((reads | writes) & (self.summed | self.later_written))
        if None in reads | writes or not (needs_sums or any(value.owner in self.later for value in read_by(op))):
            return False
        for base in reads | writes:
            if base is not None:
                self.later_read.add(base)
                self.fills.pop(base, None)  # the fill stays before it
        self.later_written |= {base for base in writes if base is not None}
        return True

    def _passes_later(self, op: Operation) -> bool:
        """Whether an op accesses memory such that it cannot move before a nest that goes after the run."""
        if not self.later_read:
            return False
        outputs = op.outputs if isinstance(op, GenericOp | FillOp) else ()
        touched, written = _bases(op.operands), _bases(outputs)
        return bool(touched & self.later_written or written & self.later_read)

    def _has_touched(self, base: SSAValue) -> bool:
        return base in self.by_row or base in self.whole or base in self.written or base in self.summed

    def _may_join(self, nest: RowNest) -> bool:
        for each in nest.inputs:
            if each.base in self.summed:
                return False
            if each.base in self.written and (each.axis != 0 or self.by_row[each.base] is not each.rows_of):
                return False
        read = {each.base for each in nest.inputs if each.axis != 0}
        for each in nest.outputs:
            if each.axis is None:
                if self._has_touched(each.base) or any(each.base is other.base for other in nest.inputs):
                    return False
                continue
            touched = [self.by_row.get(each.base), *(other.rows_of for other in nest.inputs if other.base is each.base)]
            if each.axis != 0 or each.base in self.whole | self.summed | read:
                return False
            if any(rows is not None and rows is not each.rows_of for rows in touched):
                return False
        return len({each.base for each in nest.outputs}) == len(nest.outputs)

    def _join(self, nest: RowNest) -> None:
        for each in (*nest.inputs, *nest.outputs):
            fill = self.fills.pop(each.base, None)
            if (
                fill is not None
                and each.axis == 0
                and fill.rows == self.rows
                and fill.outputs[0].rows_of is each.rows_of
            ):
                self._join(fill)
        for each in nest.inputs:
            is_first = each.axis == 0 and self.by_row.setdefault(each.base, each.rows_of) is each.rows_of
            if not is_first:
                self.whole.add(each.base)
        for each in nest.outputs:
            if each.axis is None:
                self.summed.add(each.base)
            else:
                self.by_row[each.base] = each.rows_of
                self.written.add(each.base)
        self.nests.append(nest)

    def _may_stay(self, op: Operation) -> bool:
        """Whether an op may come before all nests of the run."""
        if isinstance(op, memref.AllocOp):
            return True
        memory = [value for value in op.operands if isinstance(value.type, MemRefType)]
        if isinstance(op, _MEMREF_VIEWS) or (not memory and not op.regions and is_removable(op)):
            return True
        bases = [_base(value) for value in memory]
        for base in bases:
            if base is not None:
                self.fills.pop(base, None)  # the fill stays before it
        if isinstance(op, memref.LoadOp):
            return not any(base is None or base in self.written | self.summed for base in bases)
        if not isinstance(op, GenericOp | FillOp) or None in bases or _loads(op):
            return False
        is_read_early = not _bases(op.inputs) & (self.written | self.summed)
        return is_read_early and not any(base is not None and self._has_touched(base) for base in _bases(op.outputs))

    def is_worthwhile(self, least: int) -> bool:
        """Whether several nests access many of the same rows, and all rows together are many bytes."""
        touches = Counter[SSAValue]()
        for nest in self.nests:
            if isinstance(nest.op, GenericOp):
                touches.update({each.rows_of for each in (*nest.inputs, *nest.outputs) if each.axis is not None})
        bytes, all_bytes = self.bytes_of_rows(), self.row_bytes
        shared = sum([bytes[rows] for rows, count in touches.items() if count > 1])
        return 4 * shared >= all_bytes and all_bytes * self.rows >= least and all_bytes <= _LONGEST_ROW

    @property
    def work(self) -> int:
        """What all rows cost."""
        return sum([_work(nest.op) for nest in self.nests])

    @property
    def has_column_sums(self) -> bool:
        """Whether arrays are added up over all rows."""
        return any(each.axis is None and shape_of(each.value) for nest in self.nests for each in nest.outputs)

    @property
    def bytes_of_column_sums(self) -> int:
        """The bytes of all arrays to which all rows are added."""
        summed = (each for nest in self.nests for each in nest.outputs if each.axis is None)
        return sum([_bytes_of_memref(each.value.type) for each in summed if isinstance(each.value.type, MemRefType)])

    def bytes_of_rows(self) -> dict[SSAValue, int]:
        """The bytes of one row, for each array that a block has rows of."""
        accesses = (each for nest in self.nests for each in (*nest.inputs, *nest.outputs) if each.axis is not None)
        return {each.rows_of: each.row_bytes for each in accesses}

    @property
    def row_bytes(self) -> int:
        """The bytes of one row of all arrays together."""
        return sum(self.bytes_of_rows().values())

    def block_of(self, bytes: int) -> int | None:
        """The number of rows of a block; None if the run is better left unchanged."""
        has_products = any(nest.is_product for nest in self.nests)
        fewest = _FEWEST_ROWS if self.has_column_sums else _PRODUCT_ROWS if has_products else 1
        most = max(1, bytes // self.row_bytes, min(fewest, _FARTHER * bytes // self.row_bytes))
        if not fewest <= most < self.rows:
            return None
        combiners = (combiner for nest in self.nests for combiner in nest.combiners.values())
        if self.has_column_sums and any(combiner.widened is not combiner for combiner in combiners):
            return None
        if most >= 64 and self.row_bytes <= 8 * len(self.by_row):
            return most // 64 * 64  # rows of one element: use whole vectors
        sizes = range(most, most // 2, -1)
        if has_products and self.rows % most == 1:
            most -= 1  # a product of one row is no longer computed in tiles, which round otherwise
        return next((size for size in sizes if self.rows % size == 0), most)


def _work(op: GenericOp | FillOp) -> int:
    """What a nest of static size costs."""
    if isinstance(op, FillOp):
        return prod(shape_of(op.outputs[0]))
    return body_of(op.body.block).cost_of_point(len(op.operands)) * prod(_sizes(op).values())


def _sizes(op: GenericOp) -> dict[int, int]:
    """The sizes of the loops of a nest over arrays of static size."""
    sizes: dict[int, int] = {}
    for value, attribute in zip(op.operands, op.indexing_maps.data, strict=True):
        sizes |= dict(zip(_dims(attribute.data) or (), shape_of(value), strict=True))
    return sizes


def fills_before(op: Operation) -> dict[SSAValue, RowNest]:
    """The fills directly before an op, by the memory that they fill."""
    fills: dict[SSAValue, RowNest] = {}
    before = op.prev_op
    while isinstance(before, memref.AllocOp | arith.ConstantOp | FillOp):
        if isinstance(before, FillOp) and (nest := nest_of(before)) is not None:
            fills.setdefault(nest.outputs[0].base, nest)
        before = before.prev_op
    return fills


def read_by(op: Operation) -> Iterator[SSAValue]:
    yield from op.operands
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield from read_by(inner)
