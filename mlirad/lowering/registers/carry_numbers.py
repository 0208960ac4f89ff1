"""Makes loops and branches carry the elements of small arrays instead of the arrays.

Reads: stage `loops`. Writes: scf.for and scf.if with numbers instead of arrays among their carries and results, and
arrays that are filled with these numbers. Leaves: arrays of more than 16 elements, arrays with an alias, and arrays
that are read at an index known only at run time.

Loop-carried values can be in registers only if they are numbers. The new arrays are accessed at constant indices, so
`keep_in_registers.py` removes them from memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from xdsl.context import Context
from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, IntegerAttr, IntegerType, MemRefType, ModuleOp, NoneAttr, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from mlirad.dialect.core.types import itemsize
from mlirad.dialect.core.upstream import segments
from mlirad.lowering.loop_builder import LoopBuilder
from mlirad.lowering.loop_constants import Constants
from mlirad.lowering.registers.keep_in_registers import accesses_of
from mlirad.lowering.tensor_memory import MOST_ELEMENTS
from mlirad.lowering.to_buffers.plan_arena import ALIGNMENT, OFFSET, SIZE
from mlirad.xdsl_support.traversal import ops_inside

_MOST_NUMBERS = 32
"""The numbers that one op may carry in place of arrays: about as many as there are registers."""


@dataclass(frozen=True)
class CarryNumbers(ModulePass):
    """Carry elements of small arrays.

    Before:

        func.func @f(%p: i1, %x: f64, %y: f64) -> f64 {
          %c0 = arith.constant 0 : index
          %r = scf.if %p -> (memref<1xf64>) {
            %a = memref.alloc() {mlirad.offset = 0 : i64} : memref<1xf64>
            memref.store %x, %a[%c0] : memref<1xf64>
            scf.yield %a : memref<1xf64>
          } else {
            %b = memref.alloc() {mlirad.offset = 64 : i64} : memref<1xf64>
            memref.store %y, %b[%c0] : memref<1xf64>
            scf.yield %b : memref<1xf64>
          }
          %z = memref.load %r[%c0] : memref<1xf64>
          func.return %z : f64
        }

    After `mlirad-carry-numbers`:

        func.func @f(%p: i1, %x: f64, %y: f64) -> f64 attributes {mlirad.arena_size = 8 : i64} {
          %0 = arith.constant 0 : index
          %c0 = arith.constant 0 : index
          %1 = scf.if %p -> (f64) {
            %a = memref.alloc() {mlirad.offset = 0 : i64} : memref<1xf64>
            memref.store %x, %a[%c0] : memref<1xf64>
            %2 = memref.load %a[%0] : memref<1xf64>
            scf.yield %2 : f64
          } else {
            %b = memref.alloc() {mlirad.offset = 64 : i64} : memref<1xf64>
            memref.store %y, %b[%c0] : memref<1xf64>
            %3 = memref.load %b[%0] : memref<1xf64>
            scf.yield %3 : f64
          }
          %r = memref.alloc() {mlirad.offset = 0 : i64} : memref<1xf64>
          memref.store %1, %r[%0] : memref<1xf64>
          %z = memref.load %r[%c0] : memref<1xf64>
          func.return %z : f64
        }
    """

    name = "mlirad-carry-numbers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                _Function(function)()


class _Function:
    def __init__(self, function: func.FuncOp) -> None:
        self._function = function
        self._constants = Constants(function.body.block)

    def __call__(self) -> None:
        """The outer ops first: their carries are then arrays in their bodies."""
        for op in ops_inside(self._function):
            if isinstance(op, scf.ForOp | scf.IfOp):
                wanted = [i for i, result in enumerate(op.results) if _is_small(result)]
                while bad := [i for i in wanted if not _may_carry(op, i, wanted)]:
                    wanted = [i for i in wanted if i not in bad]
                if wanted and sum(_size(op.results[i]) for i in wanted) <= _MOST_NUMBERS:
                    self._rewrite(op, wanted)

    # -- the rewriting -----------------------------------------------------------------------------------------------

    def _rewrite(self, op: scf.ForOp | scf.IfOp, wanted: Sequence[int]) -> None:
        for region in op.regions:
            block, last = region.block, _yield(region.block)
            if isinstance(op, scf.ForOp):
                self._take_apart(block, wanted)
            builder = LoopBuilder(last, self._constants)
            last.operands = self._spread(builder, last.operands, wanted)
        builder = LoopBuilder(op, self._constants)
        before = (
            list(op.operands[:3]) + self._spread(builder, op.iter_args, wanted)
            if isinstance(op, scf.ForOp)
            else op.operands
        )
        types = [t for i, r in enumerate(op.results) for t in ([_element(r)] * _size(r) if i in wanted else [r.type])]
        regions = [op.detach_region(region) for region in list(op.regions)]
        made = type(op).create(
            operands=list(before), result_types=types, regions=regions, attributes=op.attributes, location=op.location
        )
        builder.place(made)
        results = list(made.results)
        for i, old in enumerate(op.results):
            if i not in wanted:
                new: SSAValue = results.pop(0)
            else:
                parts, results = results[: _size(old)], results[_size(old) :]
                new = self._array(builder, old, parts)
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        op.detach()
        op.erase()

    def _take_apart(self, block: Block, wanted: Sequence[int]) -> None:
        """Replace array arguments of a loop's body by numbers, and build the arrays at the head of the body."""
        first = block.first_op
        assert first is not None
        builder = LoopBuilder(first, self._constants)
        for i in reversed(wanted):
            old = block.args[1 + i]
            parts = [block.insert_arg(_element(old), 2 + i + k) for k in range(_size(old))]
            new = self._array(builder, old, parts)
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
            block.erase_arg(old)

    def _spread(self, builder: LoopBuilder, values: Sequence[SSAValue], wanted: Sequence[int]) -> list[SSAValue]:
        """The values, with arrays replaced by their elements."""
        found: list[SSAValue] = []
        for i, value in enumerate(values):
            found += [builder.load(value, at) for at in _places(value)] if i in wanted else [value]
        return found

    def _array(self, builder: LoopBuilder, like: SSAValue, parts: Sequence[SSAValue]) -> SSAValue:
        """A new array, with a place in the arena."""
        noted = self._function.attributes.get(SIZE)
        used = noted.value.data if isinstance(noted, IntegerAttr) else 0
        offset = -(-used // ALIGNMENT) * ALIGNMENT
        self._function.attributes[SIZE] = IntegerAttr(offset + _size(like) * itemsize(_element(like)), i64)
        alloc = memref.AllocOp.create(
            result_types=[like.type],
            properties={"operandSegmentSizes": segments(0, 0)},
            attributes={OFFSET: IntegerAttr(offset, i64)},
        )
        (made,) = builder.insert(alloc).results
        for part, place in zip(parts, _places(like), strict=True):
            builder.store(part, made, place)
        return made


def _is_small(value: SSAValue) -> bool:
    type = value.type
    if not isinstance(type, MemRefType) or not isinstance(type.layout, NoneAttr):
        return False
    shape = type.get_shape()
    is_known = DYNAMIC_INDEX not in shape and 0 < prod(shape) <= MOST_ELEMENTS
    return is_known and isinstance(type.element_type, AnyFloat | IntegerType)


def _is_made_in(value: SSAValue, op: Operation, wanted: Sequence[int]) -> bool:
    """Whether an array is created in a region of op, or is one of its wanted arguments, and is not an alias."""
    owner = value.owner
    if isinstance(owner, Block):
        return isinstance(value, BlockArgument) and owner.parent_op() is op and value.index - 1 in wanted
    if isinstance(owner, scf.IfOp) and isinstance(value, OpResult):
        return all(_is_made_in(_yield(region.block).operands[value.index], op, wanted) for region in owner.regions)
    return isinstance(owner, memref.AllocOp) and op.is_ancestor(owner)


def _may_carry(op: scf.ForOp | scf.IfOp, i: int, wanted: Sequence[int]) -> bool:
    """Whether array i may be replaced by its elements, given that all wanted ones are."""
    named: list[SSAValue] = [op.results[i]]
    if isinstance(op, scf.ForOp):
        named.append(op.body.block.args[1 + i])
        if not _is_done(op.iter_args[i], op, wanted):
            return False
    if not all(_is_private(each, op, wanted) for each in named):
        return False
    yielded = [_yield(region.block).operands[i] for region in op.regions]
    return all(_is_made_in(value, op, wanted) or _is_done(value, op, wanted) for value in yielded)


def _is_private(value: SSAValue, op: Operation, wanted: Sequence[int]) -> bool:
    """Whether an array is accessed at constant indices only, and carried only by op, as one of the wanted."""
    yields = [_yield(region.block) for region in op.regions]
    for use in value.uses:
        if use.operation is op:
            is_wanted = use.index - 3 in wanted
        elif use.operation in yields:
            is_wanted = use.index in wanted
        else:
            is_wanted = not isinstance(use.operation, scf.ForOp | scf.YieldOp)
        if not is_wanted:
            return False
    return accesses_of(value, is_carried=True) is not None


def _is_done(value: SSAValue, op: Operation, wanted: Sequence[int]) -> bool:
    """Whether an array is created in the block of op, and used neither in op's regions nor after op."""
    made = value.owner
    if not isinstance(made, memref.AllocOp) or made.parent is not op.parent or OFFSET not in made.attributes:
        return False
    accesses = accesses_of(value, is_carried=True)
    if accesses is None or not _is_private(value, op, wanted):
        return False
    carriers = {op, *(_yield(region.block) for region in op.regions)}
    users = [*accesses, *(use.operation for use in value.uses if use.operation not in carriers)]
    return all(user.parent is op.parent and user.is_before_in_block(op) for user in users)


def _yield(block: Block) -> Operation:
    last = block.last_op
    assert last is not None
    return last


def _element(value: SSAValue) -> Attribute:
    assert isinstance(value.type, MemRefType)
    return value.type.element_type


def _shape(value: SSAValue) -> Sequence[int]:
    assert isinstance(value.type, MemRefType)
    return value.type.get_shape()


def _size(value: SSAValue) -> int:
    return prod(_shape(value))


def _places(value: SSAValue) -> Iterator[tuple[int, ...]]:
    """The indices of all elements, in memory order."""
    return product(*map(range, _shape(value)))
