"""Runs nests that follow one another block by block of rows, so that what passes between them stays in the cache.

Reads: stage `bufferized`, before the arena is planned: nests on memrefs of static size. Writes: loops over blocks of
rows, with the nests on subviews in them; temporaries that only these nests use have the size of a block. Leaves: what
is small, products of matrices, and nests that need all rows of what an earlier one writes.

Rows are the places along the outermost loop. A nest may join a run of nests if it writes rows, or adds up all of them,
and if it reads of what the run writes only the row that it is at. Whole sums are made of the sums of the blocks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DenseArrayBase, IndexType, MemRefType, ModuleOp, i64
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from mlirad.dialect.core.effect_table import is_removable
from mlirad.dialect.core.expr import emitting, insert
from mlirad.dialect.core.op import Dims
from mlirad.dialect.core.scalars import number
from mlirad.dialect.core.types import itemsize
from mlirad.dialect.core.upstream import map_of, segments
from mlirad.lowering.loop_body import Combiner, body_of
from mlirad.lowering.rewriting import erase
from mlirad.xdsl_support.traversal import ops_of

_LONGEST_ROW = 1 << 19
_FEWEST_ROWS = 16
"""Of a block whose sums of columns are added to those of other blocks: fewer rows would cost time and digits."""


@dataclass(frozen=True)
class ShareRows(ModulePass):
    """Run nests by blocks of rows, here of 4; so `%e` has 4 rows.

    block: the bytes that a block has of all arrays together, at most. least: the bytes of these arrays, at least.

    Before:

        func.func @f(%x: memref<8x4xf64>, %y: memref<8xf64>) {
          %e = memref.alloc() : memref<8x4xf64>
          linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                          iterator_types = ["parallel", "parallel"]}
              ins(%x : memref<8x4xf64>) outs(%e : memref<8x4xf64>) {
          ^bb0(%a: f64, %old: f64):
            %b = math.exp %a : f64
            linalg.yield %b : f64
          }
          linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                          iterator_types = ["parallel", "reduction"]}
              ins(%e : memref<8x4xf64>) outs(%y : memref<8xf64>) {
          ^bb0(%c: f64, %max: f64):
            %d = arith.maximumf %max, %c : f64
            linalg.yield %d : f64
          }
          func.return
        }

    After `mlirad-share-rows{block=320 least=0}`:

        func.func @f(%x: memref<8x4xf64>, %y: memref<8xf64>) {
          %e = memref.alloc() : memref<4x4xf64>
          %zero = arith.constant 0 : index
          %one = arith.constant 1 : index
          %two = arith.constant 2 : index
          scf.for %k = %zero to %two step %one {
            %four = arith.constant 4 : index
            %row = arith.muli %k, %four : index
            %v = memref.subview %x[%row, 0] [4, 4] [1, 1]
                : memref<8x4xf64> to memref<4x4xf64, strided<[4, 1], offset: ?>>
            linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
                            iterator_types = ["parallel", "parallel"]}
                ins(%v : memref<4x4xf64, strided<[4, 1], offset: ?>>) outs(%e : memref<4x4xf64>) {
            ^bb0(%a: f64, %old: f64):
              %b = math.exp %a : f64
              linalg.yield %b : f64
            }
            %w = memref.subview %y[%row] [4] [1] : memref<8xf64> to memref<4xf64, strided<[1], offset: ?>>
            linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
                            iterator_types = ["parallel", "reduction"]}
                ins(%e : memref<4x4xf64>) outs(%w : memref<4xf64, strided<[1], offset: ?>>) {
            ^bb0(%c: f64, %max: f64):
              %d = arith.maximumf %max, %c : f64
              linalg.yield %d : f64
            }
          }
          func.return
        }
    """

    name = "mlirad-share-rows"
    block: int = 24 << 10
    least: int = 1 << 18

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                for block in _blocks(function):
                    _Runs(block, self.block, self.least).find()


def _blocks(op: Operation) -> Iterator[Block]:
    """The blocks in an op, but not the bodies of linalg ops; as they are before any of them is changed."""
    found: list[Block] = []
    for region in op.regions:
        for block in region.blocks:
            found.append(block)
            for inner in block.ops:
                if inner.regions and not isinstance(inner, GenericOp | FillOp):
                    found += _blocks(inner)
    return iter(found)


@dataclass(frozen=True)
class _Access:
    """An operand of a nest. base: the memory that it is in. axis: the one that runs along the rows, if any does.

    rows_of: what it has the rows of: two operands with the same have the same rows.
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
class _Nest:
    """A nest over rows. combiners: by output that lacks the rows, what it is reduced with."""

    op: GenericOp | FillOp
    rows: int
    inputs: tuple[_Access, ...]
    outputs: tuple[_Access, ...]
    combiners: Mapping[int, Combiner]


def _nest_of(op: Operation) -> _Nest | None:
    if isinstance(op, FillOp):
        maps: list[Dims | None] = [(), tuple(range(len(_shape(op.outputs[0]))))]
        if not maps[1]:
            return None
    elif isinstance(op, GenericOp):
        maps = [_dims(attribute.data) for attribute in op.indexing_maps.data]
    else:
        return None
    accesses: list[_Access] = []
    rows = 0
    for value, dims in zip(op.operands, maps, strict=True):
        if dims is None:
            return None
        if not isinstance(value.type, MemRefType):
            continue
        base, shape = _base(value), _shape(value)
        if base is None or DYNAMIC_INDEX in shape:
            return None
        axis = dims.index(0) if 0 in dims else None
        rows = rows if axis is None else shape[axis]
        accesses.append(_Access(value, base, axis, base if _has_rows_of(value, base) else value))
    count = len(op.outputs)
    inputs, outputs = accesses[:-count], accesses[-count:]
    combiners: dict[int, Combiner] = {}
    if isinstance(op, GenericOp):
        found = _combiners(op, outputs)
        if found is None:
            return None
        combiners = found
    return _Nest(op, rows, tuple(inputs), tuple(outputs), combiners) if rows > 1 else None


def _combiners(op: GenericOp, outputs: Sequence[_Access]) -> dict[int, Combiner] | None:
    """What outputs without rows are reduced with; None if the nest cannot be cut into rows."""
    body, first = body_of(op.body.block), len(op.inputs)
    loops = len(op.iterator_types.data)
    reads = [each.data.results for each in op.indexing_maps.data[:first]]
    if body.is_multiply_add and any(len(read) < loops for read in reads):
        return None  # a product
    combiners: dict[int, Combiner] = {}
    for inner in op.body.block.ops:
        counts_rows = isinstance(inner, IndexOp) and inner.dim.value.data == 0
        if inner.regions or isinstance(inner, memref.LoadOp) or counts_rows:
            return None
    for place, out in enumerate(outputs):
        if out.axis is None:
            combiner = body.combiner(place, first + place)
            if combiner is None:
                return None
            combiners[place] = combiner
    return combiners


def _shape(value: SSAValue) -> tuple[int, ...]:
    return value.type.get_shape() if isinstance(value.type, MemRefType) else ()


def _dims(map: AffineMap) -> Dims | None:
    """The loops that the axes of an operand run along, each along its own."""
    dims = [each.position for each in map.results if isinstance(each, AffineDimExpr)]
    return tuple(dims) if len(dims) == len(map.results) == len(set(dims)) else None


_RESHAPES = (memref.CollapseShapeOp, memref.ExpandShapeOp)
_MEMREF_VIEWS = (memref.SubviewOp, memref.CastOp, *_RESHAPES)


def _has_rows_of(value: SSAValue, base: SSAValue) -> bool:
    """Whether value is all of the memory, each row reshaped at most."""
    rows = _shape(base)[:1]
    while value is not base and isinstance(value.owner, _RESHAPES) and _shape(value)[:1] == rows:
        value = value.owner.operands[0]
    return value is base


def _base(value: SSAValue) -> SSAValue | None:
    """The memory that a memref is in, if it is known to be in no other: allocated here, or an argument."""
    while isinstance(value.owner, _MEMREF_VIEWS):
        value = value.owner.operands[0]
    if isinstance(value, BlockArgument):
        parent = value.owner.parent_op()
        return value if isinstance(parent, func.FuncOp) else None
    return value if isinstance(value.owner, memref.AllocOp | memref.GetGlobalOp) else None


@dataclass
class _Run:
    """Nests that are to share their rows, so far.

    by_row: memory of which only a row is touched at a time, and what these rows are of. whole: memory that may be read
    anywhere. written, summed: memory that is written row by row, and that all rows are added to. fills: of memory that
    nothing in the run has touched yet. later: ops that need whole sums, and go behind the run.
    """

    rows: int
    nests: list[_Nest] = field(default_factory=list)
    by_row: dict[SSAValue, SSAValue] = field(default_factory=dict)
    whole: set[SSAValue] = field(default_factory=set)
    written: set[SSAValue] = field(default_factory=set)
    summed: set[SSAValue] = field(default_factory=set)
    fills: dict[SSAValue, _Nest] = field(default_factory=dict)
    later: list[Operation] = field(default_factory=list)

    def takes(self, op: Operation) -> bool:
        """Join an op to the run, or let it stay before the run or go behind it; False if the run ends before it."""
        if self._is_later(op):
            self.later.append(op)
            return True
        if any(value.owner in self.later for value in _read_by(op)):
            return False
        nest = _nest_of(op)
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

    def _has_touched(self, base: SSAValue) -> bool:
        return base in self.by_row or base in self.whole or base in self.written or base in self.summed

    def _may_join(self, nest: _Nest) -> bool:
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

    def _join(self, nest: _Nest) -> None:
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
        """Whether an op may as well come before all nests of the run."""
        if isinstance(op, memref.AllocOp):
            return True
        memory = [value for value in op.operands if isinstance(value.type, MemRefType)]
        if isinstance(op, _MEMREF_VIEWS) or (not memory and not op.regions and is_removable(op)):
            return True
        bases = [_base(value) for value in memory]
        for base in bases:
            if base is not None:
                self.fills.pop(base, None)  # the fill stays in front of it
        if isinstance(op, memref.LoadOp):
            return not any(base is None or base in self.written | self.summed for base in bases)
        if not isinstance(op, GenericOp | FillOp) or any(base is None or self._has_touched(base) for base in bases):
            return False
        return not (isinstance(op, GenericOp) and any(isinstance(each, memref.LoadOp) for each in op.body.block.ops))

    def is_worthwhile(self, least: int) -> bool:
        """Whether several nests touch much of the same rows, and all rows together are many bytes."""
        touches = Counter[SSAValue]()
        for nest in self.nests:
            if isinstance(nest.op, GenericOp):
                touches.update({each.rows_of for each in (*nest.inputs, *nest.outputs) if each.axis is not None})
        bytes, all_bytes = self.bytes_of_rows(), self.row_bytes
        shared = sum([bytes[rows] for rows, count in touches.items() if count > 1])
        return 4 * shared >= all_bytes and all_bytes * self.rows >= least and all_bytes <= _LONGEST_ROW

    def bytes_of_rows(self) -> dict[SSAValue, int]:
        """Of one row of each array that a block holds rows of."""
        accesses = (each for nest in self.nests for each in (*nest.inputs, *nest.outputs) if each.axis is not None)
        return {each.rows_of: each.row_bytes for each in accesses}

    @property
    def row_bytes(self) -> int:
        """Of what a block holds of each array."""
        return sum(self.bytes_of_rows().values())

    def block_of(self, bytes: int) -> int | None:
        """How many rows a block has; None if the run is to stay as it is."""
        most = max(1, bytes // self.row_bytes)
        if most >= self.rows:
            return None
        if any(each.axis is None and _shape(each.value) for nest in self.nests for each in nest.outputs):
            combiners = (combiner for nest in self.nests for combiner in nest.combiners.values())
            if most < _FEWEST_ROWS or any(combiner.widened is not combiner for combiner in combiners):
                return None
        if most >= 64 and self.row_bytes <= 8 * len(self.by_row):
            return most // 64 * 64  # rows of one element: whole vectors
        return next((size for size in range(most, most // 2, -1) if self.rows % size == 0), most)


def _fills_before(op: Operation) -> dict[SSAValue, _Nest]:
    """The fills right in front of an op, by the memory that they fill."""
    fills: dict[SSAValue, _Nest] = {}
    before = op.prev_op
    while isinstance(before, memref.AllocOp | arith.ConstantOp | FillOp):
        if isinstance(before, FillOp) and (nest := _nest_of(before)) is not None:
            fills.setdefault(nest.outputs[0].base, nest)
        before = before.prev_op
    return fills


@dataclass(frozen=True)
class _Runs:
    """The runs of one block."""

    block: Block
    bytes: int
    least: int

    def find(self) -> None:
        run: _Run | None = None
        for op in ops_of(self.block):
            if run is not None and run.takes(op):
                continue
            if run is not None:
                self._end(run)
                run = None
            nest = _nest_of(op)
            if nest is not None and isinstance(op, GenericOp):
                run = _Run(nest.rows, fills=_fills_before(op))
                if not run.takes(op):
                    run = None
        assert run is None, "a block has a terminator"

    def _end(self, run: _Run) -> None:
        if run.is_worthwhile(self.least) and (size := run.block_of(self.bytes)) is not None:
            _Blocks(run, size).emit()


@dataclass
class _Blocks:
    """The loop over the blocks of a run. own: the memory that only the run uses, and that of a block instead."""

    run: _Run
    size: int
    own: dict[SSAValue, SSAValue] = field(default_factory=dict)
    parts: dict[SSAValue, tuple[SSAValue, SSAValue, Combiner]] = field(default_factory=dict)
    """By the number that all rows are added up to: the sum of a block, and an array of these."""

    def emit(self) -> None:
        nests = self.run.nests
        count, rest = divmod(self.run.rows, self.size)
        last = nests[-1].op
        assert last.parent is not None
        with emitting(InsertPoint.before(last), last.location):
            self._make_memory(count + (rest > 0))
            zero, one, end = (number(value, IndexType()) for value in (0, 1, count))
            body = Block(arg_types=[IndexType()])
            insert(scf.ForOp(zero, end, one, [], Region(body)))
            with emitting(InsertPoint.at_end(body), last.location):
                start = insert(arith.MuliOp(body.args[0], number(self.size, IndexType()))).result
                self._nests(body.args[0], start, self.size)
                insert(scf.YieldOp())
            if rest:
                self._nests(end, number(count * self.size, IndexType()), rest)
            for whole, (_, array, combiner) in self.parts.items():
                _add_up(array, whole, combiner)
        for op in reversed(self.run.later):
            op.detach()
            last.parent.insert_op_after(op, last)
        for nest in nests:
            erase(nest.op)
        for old in self.own:
            _erase_unused(old)

    def _make_memory(self, blocks: int) -> None:
        ops = {nest.op for nest in self.run.nests}
        for base, value in self.run.by_row.items():
            is_own = value is base and isinstance(base.owner, memref.AllocOp) and base not in self.run.whole
            if is_own and all(user in ops for user in _users(base)):
                type = base.type
                assert isinstance(type, MemRefType)
                self.own[base] = _allocated(type.element_type, [self.size, *type.get_shape()[1:]])
                self.own[base].name_hint = base.name_hint
        for nest in self.run.nests:
            for place, combiner in nest.combiners.items():
                out = nest.outputs[place].value
                if not _shape(out):
                    element = combiner.element
                    self.parts[out] = _allocated(element, []), _allocated(element, [blocks]), combiner

    def _nests(self, block: SSAValue, start: SSAValue, rows: int) -> None:
        """The nests on one block. start: its first row."""
        views: dict[tuple[SSAValue, int], SSAValue] = {}
        for cell, _, combiner in self.parts.values():
            insert(memref.StoreOp.get(number(combiner.neutral_number, combiner.element), cell, []))
        for nest in self.run.nests:
            accesses = iter((*nest.inputs, *nest.outputs))
            operands: list[SSAValue] = []
            for value in nest.op.operands:
                if isinstance(value.type, MemRefType):
                    value = self._part(next(accesses), start, rows, views)
                operands.append(value)
            made = type(nest.op).create(
                operands=operands,
                properties=nest.op.properties,
                attributes=nest.op.attributes,
                regions=[region.clone() for region in nest.op.regions],
                location=nest.op.location,
            )
            insert(made).location = nest.op.location
        for cell, array, _ in self.parts.values():
            insert(memref.StoreOp.get(insert(memref.LoadOp.get(cell, [])).res, array, [block]))

    def _part(
        self, access: _Access, start: SSAValue, rows: int, views: dict[tuple[SSAValue, int], SSAValue]
    ) -> SSAValue:
        """What a block sees of an operand."""
        value, axis = access.value, access.axis
        if value in self.parts:
            return self.parts[value][0]
        if axis is None:
            return value
        found = views.get((value, axis))
        own = self._of_own(value) if access.base in self.own else None
        if own is not None and rows == self.size:
            found = own
        if found is None:
            source = value if own is None else own
            type = source.type
            assert isinstance(type, MemRefType)
            offsets: list[SSAValue | int] = [0] * len(type.get_shape())
            offsets[axis] = start if own is None else 0
            sizes = [rows if place == axis else size for place, size in enumerate(type.get_shape())]
            ones = [1] * len(sizes)
            result = memref.SubviewOp.infer_result_type(type, offsets, sizes, ones)
            found = insert(memref.SubviewOp.get(source, offsets, sizes, ones, result)).results[0]
        views[value, axis] = found
        return found

    def _of_own(self, value: SSAValue) -> SSAValue:
        """What a value is where it is a block of the run's own memory: that, or the same view of it."""
        found = self.own.get(value)
        if found is None:
            view = value.owner
            type = value.type
            assert isinstance(view, _RESHAPES) and isinstance(type, MemRefType)
            source = self._of_own(view.operands[0])
            shape = [self.size, *type.get_shape()[1:]]
            properties = dict(view.properties)
            if isinstance(view, memref.ExpandShapeOp):
                properties["static_output_shape"] = DenseArrayBase.from_list(i64, shape)
            result = MemRefType(type.element_type, shape)
            found = insert(view.create(operands=[source], result_types=[result], properties=properties)).results[0]
        return found


def _read_by(op: Operation) -> Iterator[SSAValue]:
    yield from op.operands
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield from _read_by(inner)


def _users(base: SSAValue) -> Iterator[Operation]:
    """The ops that use memory, or a view of it."""
    for use in base.uses:
        if isinstance(use.operation, _RESHAPES):
            yield from _users(use.operation.results[0])
        else:
            yield use.operation


def _erase_unused(value: SSAValue) -> None:
    """Erase what makes memory, and the views of it."""
    for use in list(value.uses):
        _erase_unused(use.operation.results[0])
    assert isinstance(value.owner, Operation)
    erase(value.owner)


def _allocated(element: Attribute, shape: Sequence[int]) -> SSAValue:
    return insert(memref.AllocOp.get(element, shape=shape)).memref


def _add_up(array: SSAValue, whole: SSAValue, combiner: Combiner) -> None:
    """Combine the numbers in an array with the one that is in `whole`."""
    insert(
        GenericOp.create(
            operands=[array, whole],
            properties={
                "indexing_maps": ArrayAttr([map_of(1, (0,)), map_of(1, ())]),
                "iterator_types": ArrayAttr([IteratorTypeAttr(IteratorType.REDUCTION)]),
                "operandSegmentSizes": segments(1, 1),
            },
            regions=[Region(combiner.block)],
        )
    )
