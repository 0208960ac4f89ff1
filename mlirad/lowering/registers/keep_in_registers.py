"""Moves small arrays that are accessed at constant indices to allocas of their own, which LLVM turns into registers.

Reads: stage `loops`. Writes: memref.alloca for memref.alloc, and zeros where an element might be read before it is
written. Leaves: arrays with more than 16 elements, of unknown size, with an index known only at run time, or with
another user (a call, a loop that carries it, threads).

In the arena, an array stays in memory: LLVM cannot tell which other code reads the call's memory. LLVM splits an alloca
into registers (its pass is called SROA), through branches and loops, so that no element is ever stored. If the stack is
full, the array goes back to the arena.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    VectorType,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from mlirad.analysis.constants import contents_of
from mlirad.analysis.loops import block_of
from mlirad.dialect.core.upstream import segments
from mlirad.lowering.loop_builder import LoopBuilder
from mlirad.lowering.loop_constants import Constants
from mlirad.lowering.memory_views import known_layout
from mlirad.lowering.rewriting import erase
from mlirad.lowering.tensor_memory import MOST_ELEMENTS
from mlirad.lowering.to_buffers.plan_arena import OFFSET
from mlirad.xdsl_support.traversal import ops_inside

_VIEWS = (memref.SubviewOp, memref.CollapseShapeOp, memref.ExpandShapeOp)
_READS = (memref.LoadOp, vector.LoadOp)
_WRITES = (memref.StoreOp, vector.StoreOp)
_MOST_ARRAYS = 256
"""The limit per function: LLVM's time grows faster than linearly with their number."""


@dataclass(frozen=True)
class KeepInRegisters(ModulePass):
    """Take small arrays out of the arena.

    Before:

        func.func @f(%x: f64) -> f64 {
          %c0 = arith.constant 0 : index
          %a = memref.alloc() {mlirad.offset = 0 : i64} : memref<3xf64>
          memref.store %x, %a[%c0] : memref<3xf64>
          %y = memref.load %a[%c0] : memref<3xf64>
          func.return %y : f64
        }

    After `mlirad-keep-in-registers`:

        func.func @f(%x: f64) -> f64 {
          %c0 = arith.constant 0 : index
          %a = memref.alloca() {mlirad.offset = 0 : i64} : memref<3xf64>
          memref.store %x, %a[%c0] : memref<3xf64>
          %y = memref.load %a[%c0] : memref<3xf64>
          func.return %y : f64
        }
    """

    name = "mlirad-keep-in-registers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                _keep(function)


def _keep(function: func.FuncOp) -> None:
    constants: Constants | None = None
    number = 0
    for op in ops_inside(function):
        if number == _MOST_ARRAYS or op.__class__ is not memref.AllocOp or op.attributes.get(OFFSET) is None:
            continue
        accesses = accesses_of(op.results[0])
        if accesses is None:
            continue
        number += 1
        constants = constants or Constants(function.body.block)
        _replace(op, accesses, constants)


@dataclass(frozen=True)
class _Access:
    """elements: the elements that are read or written, as offsets from the array's beginning."""

    elements: range
    is_write: bool


Accesses = dict[Operation, _Access]


@dataclass(frozen=True)
class _Place:
    """The offset and strides of a view of an array, as in a memref, but all constant."""

    offset: int
    strides: tuple[int, ...]

    def of(self, subscripts: Sequence[int]) -> int:
        return self.offset + sum(i * stride for i, stride in zip(subscripts, self.strides, strict=True))


def accesses_of(array: SSAValue, *, is_carried: bool = False) -> Accesses | None:
    """The ops that read or write an array; None if it must be in memory. is_carried: allow loops and branches that
    carry it."""
    type = array.type
    assert isinstance(type, MemRefType)
    if DYNAMIC_INDEX in (shape := type.get_shape()) or not 0 < prod(shape) <= MOST_ELEMENTS:
        return None
    if not isinstance(type.element_type, AnyFloat | IntegerType | IndexType):
        return None
    found: Accesses = {}
    strides = _all(known_layout(type)[1])
    if strides is None or not _find(array, _Place(0, strides), found, is_carried=is_carried):
        return None
    is_inside = all(each.elements.start >= 0 and each.elements.stop <= prod(shape) for each in found.values())
    return found if is_inside and _is_in_one_thread(array, found) else None


def _find(array: SSAValue, place: _Place, found: Accesses, *, is_carried: bool = False) -> bool:
    """Add the ops that read or write a view of an array. Returns whether these are all its uses."""
    for use in array.uses:
        op, is_first = use.operation, use.index == 0
        if op.__class__ in _VIEWS:
            view = _view(op, place)
            if view is None or not _find(op.results[0], view, found):
                return False
        elif (op.__class__ in _READS and is_first) or (op.__class__ in _WRITES and use.index == 1):
            is_write = op.__class__ in _WRITES
            subscripts = _all([_number(index) for index in op.operands[1 + is_write :]])
            value = op.operands[0] if is_write else op.results[0]
            lanes = value.type.get_shape()[0] if isinstance(value.type, VectorType) else 1
            if subscripts is None or (lanes > 1 and place.strides[-1] != 1):
                return False
            first = place.of(subscripts)
            found[op] = _Access(range(first, first + lanes), is_write)
        elif op.__class__ is memref.CopyOp:
            elements = range(place.offset, place.offset + _size(array))
            found[op] = _Access(elements, is_write=not is_first)
        elif op.__class__ is not memref.DimOp and not (is_carried and isinstance(op, scf.ForOp | scf.YieldOp)):
            return False
    return True


def _size(array: SSAValue) -> int:
    assert isinstance(array.type, MemRefType)
    return prod(array.type.get_shape())


def _view(op: Operation, place: _Place) -> _Place | None:
    """The layout of a view; None if it is known only at run time."""
    (result,) = op.results
    assert isinstance(result.type, MemRefType)
    _, strides = known_layout(result.type)
    offset: int | None = place.offset
    if isinstance(op, memref.SubviewOp):
        dynamic = iter(op.offsets)
        offsets = [
            _number(next(dynamic)) if given == DYNAMIC_INDEX else given for given in op.static_offsets.get_values()
        ]
        offset = place.of(known) if (known := _all(offsets)) is not None else None
    known = _all(strides)
    return None if offset is None or known is None else _Place(offset, known)


def _all(numbers: Sequence[int | None]) -> tuple[int, ...] | None:
    known = tuple(number for number in numbers if number is not None)
    return known if len(known) == len(numbers) else None


def _number(value: SSAValue) -> int | None:
    """The number that an index is known to equal."""
    while isinstance(value.owner, arith.IndexCastOp):
        value = value.owner.operands[0]
    contents = contents_of(value)
    return contents.value.data if isinstance(contents, IntegerAttr) else None


def _is_in_one_thread(array: SSAValue, accesses: Accesses) -> bool:
    block = block_of(array)
    return not any(isinstance(around, scf.ParallelOp) for op in accesses for around in _around(op, block))


def _around(op: Operation, block: Block) -> Iterator[Operation]:
    """The ops around op in a block."""
    parent = op.parent_op()
    while parent is not None and op.parent is not block:
        yield parent
        op, parent = parent, parent.parent_op()


def _replace(alloc: Operation, accesses: Accesses, constants: Constants) -> None:
    (array,) = alloc.results
    properties: dict[str, Attribute] = {"operandSegmentSizes": segments(0, 0)}
    made = memref.AllocaOp.create(
        result_types=[array.type], properties=properties, attributes=alloc.attributes, location=alloc.location
    )
    assert alloc.parent is not None
    alloc.parent.insert_op_after(made, alloc)
    may_be_read_first = _may_be_read_first(alloc, accesses)
    array.replace_all_uses_with(made.memref)
    made.memref.name_hint = array.name_hint
    following = made.next_op
    if may_be_read_first and following is not None:
        builder, type = LoopBuilder(following, constants), made.memref.type
        for subscripts in product(*map(range, type.get_shape())):
            builder.store(builder.number(0, type.element_type), made.memref, subscripts)
    erase(alloc)


def _may_be_read_first(alloc: Operation, accesses: Accesses) -> bool:
    """Whether an element may be read before it is written: LLVM may assume a different undefined value at each use."""
    block = alloc.parent
    assert block is not None
    outside = {op: next((each for each in _around(op, block) if each.parent is block), op) for op in accesses}
    written: set[int] = set()
    order = {op: number for number, op in enumerate(block.ops)}
    for op in sorted(accesses, key=lambda op: order[outside[op]]):
        access = accesses[op]
        if not access.is_write and not written.issuperset(access.elements):
            return True
        if access.is_write and outside[op] is op:
            written.update(access.elements)
    return False
