"""Tests numbers from outside of a loop before the loop, instead of in each trip.

Reads: innermost loops with selects. Writes: a branch with two copies of such a loop: the original, and one without
these selects, for the case that no tested number is 0. Leaves: selects whose tests vary between trips.

The reverse sweep selects 0 where a product's cotangent is exactly 0 (`nd.annihilate`). The cotangent is often the same
in all trips, and hardly ever 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce

from xdsl.context import Context
from xdsl.dialects import arith, scf, vector
from xdsl.dialects.builtin import ModuleOp, VectorType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from mlirad.analysis.constants import number_of
from mlirad.dialect.core.attributes import dense
from mlirad.dialect.core.expr import insert
from mlirad.lowering.rewriting import erase, in_place_of, replace
from mlirad.xdsl_support.traversal import find, ops_of

_LONGEST = 96
"""The most ops of a loop that is copied."""


@dataclass(frozen=True)
class DecideBeforeLoops(ModulePass):
    """Copy a loop for the case that no number from outside which its selects test is 0.

    Before:

        func.func @f(%x: memref<8xf64>, %g: f64) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c8 = arith.constant 8 : index
          %zero = arith.constant 0.0 : f64
          scf.for %i = %c0 to %c8 step %c1 {
            %a = memref.load %x[%i] : memref<8xf64>
            %b = arith.mulf %a, %g : f64
            %is_zero = arith.cmpf oeq, %g, %zero : f64
            %c = arith.select %is_zero, %zero, %b : f64
            memref.store %c, %x[%i] : memref<8xf64>
          }
          func.return
        }

    After `mlirad-decide-before-loops`:

        func.func @f(%x: memref<8xf64>, %g: f64) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c8 = arith.constant 8 : index
          %zero = arith.constant 0.0 : f64
          %0 = arith.constant 0.0 : f64
          %1 = arith.cmpf oeq, %g, %0 : f64
          scf.if %1 {
            scf.for %i = %c0 to %c8 step %c1 {
              %a = memref.load %x[%i] : memref<8xf64>
              %b = arith.mulf %a, %g : f64
              %is_zero = arith.cmpf oeq, %g, %zero : f64
              %c = arith.select %is_zero, %zero, %b : f64
              memref.store %c, %x[%i] : memref<8xf64>
            }
          } else {
            scf.for %i_1 = %c0 to %c8 step %c1 {
              %a_1 = memref.load %x[%i_1] : memref<8xf64>
              %b_1 = arith.mulf %a_1, %g : f64
              memref.store %b_1, %x[%i_1] : memref<8xf64>
            }
          }
          func.return
        }
    """

    name = "mlirad-decide-before-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in find(op, scf.ForOp):
            ops = ops_of(loop.body.block)
            if len(ops) > _LONGEST or any(inner.regions for inner in ops):
                continue
            deciding = {op: _deciding(op, loop) for op in ops if isinstance(op, arith.SelectOp)}
            numbers: dict[Operation, SSAValue] = {op: each for op, each in deciding.items() if each is not None}
            if numbers:
                _split(loop, numbers)


def _deciding(op: arith.SelectOp, loop: scf.ForOp) -> SSAValue | None:
    """A number from outside of the loop. Unless it is exactly 0, the select takes its second value."""
    numbers = (_number_tested(condition, loop) for condition in _conditions(op.cond))
    return next((number for number in numbers if number is not None), None)


def _conditions(value: SSAValue) -> Iterator[SSAValue]:
    """The conditions of a conjunction."""
    if isinstance(value.owner, arith.AndIOp):
        for operand in value.owner.operands:
            yield from _conditions(operand)
    else:
        yield value


def _number_tested(condition: SSAValue, loop: scf.ForOp) -> SSAValue | None:
    """The number from outside of the loop that a condition compares with 0, if any."""
    op = condition.owner
    if not isinstance(op, arith.CmpfOp) or op.predicate.value.data != _EQUAL or not _is_constant_zero(op.rhs):
        return None
    number = op.lhs.owner.source if isinstance(op.lhs.owner, vector.BroadcastOp) else op.lhs
    is_inside = loop.body.block in (number.owner, number.owner.parent)
    return None if is_inside or isinstance(number.type, VectorType) else number


def _is_constant_zero(value: SSAValue) -> bool:
    element = value.type.element_type if isinstance(value.type, VectorType) else value.type
    return isinstance(value.owner, arith.ConstantOp) and number_of(value.owner.value, element) == 0


_EQUAL = 1
"""The number of the predicate `oeq`."""


def _split(loop: scf.ForOp, numbers: Mapping[Operation, SSAValue]) -> None:
    """Put a branch around the loop and a copy without these selects, for the case that none of the numbers is 0."""
    copy = loop.clone()
    copies = dict(zip(ops_of(loop.body.block), ops_of(copy.body.block), strict=True))
    with in_place_of(loop):
        is_zero = reduce(_either, map(_is_zero, dict.fromkeys(numbers.values())))
        sides = Region(Block()), Region(Block())
        branch = insert(scf.IfOp(is_zero, [result.type for result in loop.results], *sides))
    for old, new in zip(loop.results, branch.results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    loop.detach()
    for region, side in zip(sides, (loop, copy), strict=True):
        region.block.add_ops([side, scf.YieldOp(*side.results)])
    for op in numbers:
        select = copies[op]
        assert isinstance(select, arith.SelectOp)
        condition = select.cond
        replace(select, [select.rhs])
        _erase_unused(condition)


def _either(one: SSAValue, other: SSAValue) -> SSAValue:
    return insert(arith.OrIOp(one, other)).result


def _is_zero(number: SSAValue) -> SSAValue:
    zero = insert(arith.ConstantOp.create(result_types=[number.type], properties={"value": dense(0.0, number.type)}))
    return insert(arith.CmpfOp(number, zero.results[0], "oeq")).result


def _erase_unused(value: SSAValue) -> None:
    """Erase the ops that compute a condition, if nothing else uses them."""
    op = value.owner
    if isinstance(op, arith.AndIOp | arith.CmpfOp) and op.result.first_use is None:
        operands = list(op.operands)
        erase(op)
        for operand in operands:
            _erase_unused(operand)
