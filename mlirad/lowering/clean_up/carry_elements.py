"""Makes an array element that every trip of a loop writes a loop-carried number.

Reads: `scf.for` and nd. Writes: a read before the loop, a carried number, and a write after the loop. Leaves: elements
that another access of the loop may touch, and elements that are not proved to be in range if the loop makes no trip.

LLVM does not do this. While the loop writes to the array, LLVM neither keeps the element in a register nor adds up
several sums at a time, which `fastmath` allows. This pass keeps the order of the additions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from mlirad.analysis.loops import Carry, Loop, add_yields, is_outside
from mlirad.analysis.ranges import Ranges
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr
from mlirad.dialect.core.op import accessed_subset, read_subset, written_subset
from mlirad.dialect.core.subset import Change, Subset
from mlirad.lowering.clean_up.check_elimination import eliminate_checks
from mlirad.lowering.clean_up.hoist_reads import are_apart, is_in_range
from mlirad.lowering.rewriting import in_place_of, replace
from mlirad.xdsl_support.effects import has_no_effect, is_terminator
from mlirad.xdsl_support.traversal import find, ops_inside


@dataclass(frozen=True)
class CarryElements(ModulePass):
    """Carry such elements as numbers.

    Before:

        func.func @f(%x: tensor<9xf64>, %y: tensor<9xf64>) -> tensor<9xf64> {
          %c0 = nd.constant {value = 0 : i64} : i64
          %c1 = nd.constant {value = 1 : i64} : i64
          %c9 = nd.constant {value = 9 : i64} : i64
          %r = scf.for %k = %c0 to %c9 step %c1 iter_args(%t = %y) -> (tensor<9xf64>) : i64 {
            %a = nd.extract %x[%k] : tensor<9xf64> -> f64
            %u = nd.add_at %a, %t[%c0] : f64 into tensor<9xf64>
            scf.yield %u : tensor<9xf64>
          }
          func.return %r : tensor<9xf64>
        }

    After `mlirad-carry-elements`:

        func.func @f(%x: tensor<9xf64>, %y: tensor<9xf64>) -> tensor<9xf64> {
          %c0 = nd.constant {value = 0 : i64} : i64
          %c1 = nd.constant {value = 1 : i64} : i64
          %c9 = nd.constant {value = 9 : i64} : i64
          %0 = nd.extract %y[%c0] : tensor<9xf64> -> f64
          %r, %1 = scf.for %k = %c0 to %c9 step %c1 iter_args(%t = %y, %2 = %0) -> (tensor<9xf64>, f64) : i64 {
            %a = nd.extract %x[%k] : tensor<9xf64> -> f64
            %3 = nd.add %2, %a : f64
            scf.yield %t, %3 : tensor<9xf64>, f64
          }
          %r_1 = nd.insert %1, %r[%c0] : f64 into tensor<9xf64>
          func.return %r_1 : tensor<9xf64>
        }
    """

    name = "mlirad-carry-elements"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if any(_elements(loop) for loop in find(function, scf.ForOp)):
                eliminate_checks(function, _carry_elements)


@dataclass(frozen=True)
class _Element:
    """An element of a carried array that a trip writes.

    accesses: the ops that read or write it. others: what the loop accesses of the same array besides.
    """

    carry: Carry
    accesses: Mapping[Operation, Subset]
    others: Sequence[Subset]


def _elements(loop: scf.ForOp) -> list[_Element]:
    """The elements at fixed places that a loop writes, at most one for each carried array.

    None if a trip may fail: the arrays must then hold what was written before.
    """
    if not all(map(_is_harmless, ops_inside(loop))):
        return []
    found = (_element(loop, number, carry) for number, carry in enumerate(Loop(loop).carries))
    return [each for each in found if each is not None]


def _element(loop: scf.ForOp, number: int, carry: Carry) -> _Element | None:
    if not types.is_tensor(carry.arg.type) or carry.yielded is carry.arg:
        return None
    subsets: dict[Operation, Subset] = {}
    changes: dict[SSAValue, Operation] = {}  # for each version of the array, the write that changes it
    versions: list[SSAValue] = [carry.yielded]
    while versions[-1] is not carry.arg:
        op = versions[-1].owner
        write = written_subset(op)
        if write is None or not isinstance(op, Operation) or op.parent is not loop.body.block:
            return None
        subsets[op] = write
        changes[write.array] = op
        versions.append(write.array)
    fixed = [write for write in subsets.values() if _is_fixed(write, loop)]
    if not fixed:
        return None
    for version in versions:
        for use in version.uses:
            op = use.operation
            if op in subsets or (use.index == number and op is loop.body.block.last_op and version is carry.yielded):
                continue
            read = read_subset(op)
            if read is None or use.index != read.number or op.parent is not loop.body.block:
                return None
            if version in changes and changes[version].is_before_in_block(op):
                return None  # it reads a copy of an earlier version
            subsets[op] = read
    mine = {op: each for op, each in subsets.items() if each.is_same(fixed[0]) and each.change is not Change.OTHER}
    others = [subset for op, subset in subsets.items() if op not in mine]
    return _Element(carry, mine, others)


def _is_harmless(op: Operation) -> bool:
    return bool(op.regions) or is_terminator(op.__class__) or has_no_effect(op)


def _is_fixed(write: Subset, loop: scf.ForOp) -> bool:
    """Whether a write puts or adds a float at the same place in every trip."""
    may_carry = write.part.type in (types.F32, types.F64) and write.change in (Change.REPLACED, Change.ADDED)
    return may_carry and all(is_outside(place, loop) for place in write.places)


def _carry_elements(loop: scf.ForOp, ranges: Ranges) -> None:
    """Carry the elements that no other access of the loop touches. ranges: the facts that hold inside of the loop."""
    for element in _elements(loop):
        first = next(iter(element.accesses.values()))
        if is_in_range(first, ranges) and all(are_apart(first, other, ranges) for other in element.others):
            _carry(loop, element)


def _carry(loop: scf.ForOp, element: _Element) -> None:
    carry, block = element.carry, loop.body.block
    subset = next(iter(element.accesses.values()))
    places = [Expr(place) for place in subset.places]
    with in_place_of(loop):
        before = subset.read(Expr(carry.init), places).value
    (value,), (after,) = Loop(loop).add([before])
    for op in sorted(element.accesses, key=block.get_operation_index):
        access = accessed_subset(op)  # its operands may have been replaced just now
        assert access is not None
        if access.change is Change.NONE:
            replace(op, [value])
            continue
        if access.change is Change.REPLACED:
            value = access.part
        else:
            with in_place_of(op):
                value = (Expr(value) + Expr(access.part)).value
        replace(op, [op.operands[access.number]])
    add_yields(block, [value])
    result, following = carry.result, loop.next_op
    assert following is not None
    uses = list(result.uses)
    with in_place_of(following):
        whole = subset.put(Expr(after), Expr(result), places).value
    whole.name_hint = result.name_hint
    for use in uses:
        use.operation.operands[use.index] = whole
