"""Moves the axes along which a loop steps to the front of its arrays, so that the slices of a trip are contiguous.

Reads: nd and scf. Writes: the same reads and writes, of arrays with their axes in another order. Leaves: arrays of the
caller, and arrays that are used other than by slices.

`p = np.empty((n, n))`, of which every trip reads and writes columns `p[:, j]`, is stored by columns. An array that no
op sees as a whole may have any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from mlirad.analysis.groups import Groups
from mlirad.analysis.loops import Carries
from mlirad.dialect.arrays.slices import add_slice, extract_slice, insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, full
from mlirad.dialect.core.op import NdOp, read_subset, written_subset
from mlirad.dialect.core.subset import Change, Subset
from mlirad.dialect.ops.movement import reshape
from mlirad.lowering.rewriting import erase, in_place_of, replace
from mlirad.xdsl_support.effects import is_terminator
from mlirad.xdsl_support.traversal import ops_inside


@dataclass(frozen=True)
class LayOutArrays(ModulePass):
    """Store arrays so that their slices are contiguous.

    Before:

        func.func @f(%x: tensor<9xf64>, %j: i64) -> tensor<9xf64> {
          %c0 = nd.constant {value = 0 : i64} : i64
          %zero = nd.constant {value = 0.0 : f64} : f64
          %p = nd.full %zero : f64 to tensor<9x7xf64>
          %part = nd.reshape %x : tensor<9xf64> to tensor<9x1xf64>
          %q = nd.insert_slice %part, %p[%c0, %j] {sizes = array<i64: 9, 1>, strides = array<i64: 1, 1>}
              : tensor<9x1xf64> into tensor<9x7xf64>
          %r = nd.extract_slice %q[%c0, %c0] {sizes = array<i64: 9, 1>, strides = array<i64: 1, 1>}
              : tensor<9x7xf64> -> tensor<9x1xf64>
          %y = nd.reshape %r : tensor<9x1xf64> to tensor<9xf64>
          func.return %y : tensor<9xf64>
        }

    After `mlirad-lay-out-arrays`:

        func.func @f(%x: tensor<9xf64>, %j: i64) -> tensor<9xf64> {
          %c0 = nd.constant {value = 0 : i64} : i64
          %zero = nd.constant {value = 0.0 : f64} : f64
          %p = nd.full %zero : f64 to tensor<7x9xf64>
          %part = nd.reshape %x : tensor<9xf64> to tensor<1x9xf64>
          %q = nd.insert_slice %part, %p[%j, %c0] {sizes = array<i64: 1, 9>, strides = array<i64: 1, 1>}
              : tensor<1x9xf64> into tensor<7x9xf64>
          %r = nd.extract_slice %q[%c0, %c0] {sizes = array<i64: 1, 9>, strides = array<i64: 1, 1>}
              : tensor<7x9xf64> -> tensor<1x9xf64>
          %y = nd.reshape %r : tensor<1x9xf64> to tensor<9xf64>
          func.return %y : tensor<9xf64>
        }
    """

    name = "mlirad-lay-out-arrays"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for array in _Arrays(op).found():
            order = array.order()
            if order is not None:
                _rewrite(array, order)


@dataclass
class _Array:
    """The values that are one array at different times, and what uses them.

    filled: operands that are filled arrays, each of which may get memory of its own.
    """

    values: list[SSAValue] = field(default_factory=list)
    accesses: list[Operation] = field(default_factory=list)
    filled: list[tuple[Operation, int]] = field(default_factory=list)
    is_fixed: bool = False

    def absorb(self, other: _Array) -> None:
        self.values += other.values
        self.accesses += other.accesses
        self.filled += other.filled
        self.is_fixed |= other.is_fixed

    def order(self) -> list[int] | None:
        """A better order of the axes: first those along which all slices have one index; None if there is none.

        Single elements have the order of the loops around them, which is left to the user and to exchanged loops.
        """
        if self.is_fixed or not self.accesses:
            return None
        lengths = [[place.length for place in _subset(op).ranges if place is not None] for op in self.accesses]
        if any(all(length == 1 for length in each) for each in lengths):
            return None
        rank = len(lengths[0])
        single = [axis for axis in range(rank) if all(each[axis] == 1 for each in lengths)]
        if rank - 1 not in single:
            return None
        return [*single, *(axis for axis in range(rank) if axis not in single)]


class _Arrays:
    """The arrays of a module, as groups of values."""

    def __init__(self, module: ModuleOp) -> None:
        self._groups = Groups(_Array, _Array.absorb)
        self._seen: dict[SSAValue, None] = {}
        for op in ops_inside(module):
            self._read(op)

    def found(self) -> Iterator[_Array]:
        for value in self._seen:
            self._groups.of(value).values.append(value)
        yield from {id(found): found for found in map(self._groups.of, self._seen)}.values()

    def _read(self, op: Operation) -> None:
        if isinstance(op, scf.ForOp | scf.IfOp):
            self._read_carries(Carries(op))
            return
        if is_terminator(op.__class__) and isinstance(op.parent_op(), scf.ForOp | scf.IfOp):
            return
        subset = _slice_of(op)
        for index, operand in enumerate(op.operands):
            if subset is None or index != subset.number:
                self._fix(operand)
        if subset is None:
            for value in (
                *op.results,
                *(arg for region in op.regions for block in region.blocks for arg in block.args),
            ):
                self._fix(value)
            return
        is_write = subset.change is not Change.NONE
        member = op.results[0] if is_write else subset.array
        if not is_write:
            self._fix(op.results[0])
            if _is_filled(subset.array):
                return
        self._array(member).accesses.append(op)
        if is_write:
            self._join(member, op, subset.number)

    def _read_carries(self, carries: Carries) -> None:
        """A carry is one array in all regions. Its yields are operands of terminators, which the loop answers for."""
        first = len(carries.op.operands) - carries.count
        for number, result in enumerate(carries.op.results):
            if not _has_axes(result):
                continue
            self._array(result)
            for args in carries.region_args:
                self._groups.join(result, self._see(args[number]))
            if isinstance(carries.op, scf.ForOp):
                self._join(result, carries.op, first + number)
            for end in carries.terminators:
                self._join(result, end, number)

    def _join(self, value: SSAValue, op: Operation, index: int) -> None:
        """An operand is the same array as a value."""
        if _is_filled(op.operands[index]):
            self._array(value).filled.append((op, index))
        else:
            self._groups.join(value, self._see(op.operands[index]))

    def _array(self, value: SSAValue) -> _Array:
        return self._groups.of(self._see(value))

    def _see(self, value: SSAValue) -> SSAValue:
        self._seen[value] = None
        self._groups.of(value)
        return value

    def _fix(self, value: SSAValue) -> None:
        if _has_axes(value) and not _is_filled(value):
            self._array(value).is_fixed = True


def _has_axes(value: SSAValue) -> bool:
    return types.is_tensor(value.type) and len(types.shape(value.type)) > 1


def _is_filled(value: SSAValue) -> bool:
    """Whether a value is an array of known shape, filled with a scalar."""
    owner = value.owner
    is_known = isinstance(owner, NdOp) and isinstance(owner.contents(), SSAValue)
    return is_known and types.is_tensor(value.type) and types.is_static(value.type)


def _subset(op: Operation) -> Subset:
    subset = read_subset(op) or written_subset(op)
    assert subset is not None
    return subset


def _slice_of(op: Operation) -> Subset | None:
    """The slice of an array with several axes that an op reads, replaces or adds to."""
    subset = read_subset(op) or written_subset(op)
    if subset is None or subset.change is Change.OTHER or not _has_axes(subset.array):
        return None
    is_slice = subset.axes == tuple(range(len(types.shape(subset.array.type))))
    has_sizes = all(place is not None and isinstance(place.length, int) for place in subset.ranges)
    return subset if is_slice and has_sizes and types.is_static(subset.array.type) else None


def _rewrite(array: _Array, order: Sequence[int]) -> None:
    for op, index in array.filled:
        with in_place_of(op):
            old = op.operands[index]
            op.operands[index] = _filled(old, order)
            _drop(old)
    for value in array.values:
        Rewriter.replace_value_with_new_type(value, _permuted(value, order))
    for op in array.accesses:
        subset = _subset(op)
        with in_place_of(op):
            if subset.change is Change.NONE:
                _replace_read(op, subset, order)
            else:
                _replace_write(op, subset, order)


def _permuted(value: SSAValue, order: Sequence[int]) -> TensorType:
    shape = types.shape(value.type)
    return types.tensor([shape[axis] for axis in order], types.element_type(value.type))


def _filled(value: SSAValue, order: Sequence[int]) -> SSAValue:
    owner = value.owner
    assert isinstance(owner, NdOp)
    contents = owner.contents()
    assert isinstance(contents, SSAValue)
    made = full(Expr(contents), types.shape(_permuted(value, order))).value
    made.name_hint = value.name_hint
    return made


def _replace_read(op: Operation, subset: Subset, order: Sequence[int]) -> None:
    """One index along the axes that move: elements keep their order, whatever the shape of the slice."""
    starts, strides = _place(subset, order)
    part = extract_slice(Expr(subset.array), starts, types.shape(_permuted(subset.part, order)), strides)
    part.value.name_hint = subset.part.name_hint
    for use in list(subset.part.uses):
        reader = use.operation
        if _is_reshape(reader):
            with in_place_of(reader):
                replace(reader, [_reshaped(part, reader.results[0])])
    if any(subset.part.uses):
        replace(op, [_reshaped(part, subset.part)])
    else:
        erase(op)


def _replace_write(op: Operation, subset: Subset, order: Sequence[int]) -> None:
    starts, strides = _place(subset, order)
    type, source = _permuted(subset.part, order), subset.part.owner
    if _is_filled(subset.part):
        part = Expr(_filled(subset.part, order))
    else:
        part = reshape(Expr(source.operands[0] if _is_reshape(source) else subset.part), type)
        part.value.name_hint = part.value.name_hint or subset.part.name_hint
    update = insert_slice if subset.change is Change.REPLACED else add_slice
    new = update(part, Expr(subset.array), starts, strides)
    new.value.name_hint = op.results[0].name_hint
    replace(op, [new.value])
    _drop(subset.part)


def _place(subset: Subset, order: Sequence[int]) -> tuple[list[Expr], list[int]]:
    places = [each for each in subset.ranges if each is not None]
    starts = [Expr(place) for place in subset.places[: len(places)]]
    return [starts[axis] for axis in order], [places[axis].stride for axis in order]


def _reshaped(part: Expr, like: SSAValue) -> SSAValue:
    found = reshape(part, like.type)
    found.value.name_hint = like.name_hint
    return found.value


def _drop(value: SSAValue) -> None:
    """Erase a filled array or a reshape without uses."""
    owner = value.owner
    if isinstance(owner, NdOp) and (_is_reshape(owner) or _is_filled(value)) and not any(value.uses):
        erase(owner)


def _is_reshape(op: Operation | Block) -> TypeGuard[NdOp]:
    return isinstance(op, NdOp) and op.is_reshape()
