"""Computes the functions that do not depend on earlier trips before a sequential loop, for all trips at once.

Reads: `scf.for` and nd. Writes: ops on whole arrays before the loop, and reads of their elements in it. Leaves: loops
that may fail, contain loops or compute arrays, and loops with few trips or an unknown number of them; functions whose
operands cannot be read for all trips at once.

A function of all trips is a vector function, which takes a fraction of the time of calls one by one. This matters for
reverse sweeps: y[i] = c * sin(y[i-1]) needs one sine after the other, but its reverse sweep knows all y.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from mlirad.analysis.loops import counts_from_zero, trip_count
from mlirad.analysis.trip_forms import Trip, linear
from mlirad.analysis.varying import varying
from mlirad.dialect.arrays.elements import ExtractOp, InsertOp
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, constant, emit, full, insert
from mlirad.dialect.core.op import NdOp, read_subset, written_subset
from mlirad.lowering.clean_up.independent_trips import is_function, is_harmless
from mlirad.lowering.clean_up.raise_loops import raise_loop
from mlirad.lowering.rewriting import erase, in_place_of, replace
from mlirad.xdsl_support.traversal import find, ops_inside, ops_of

_FEWEST = 64
"""The fewest trips whose functions are worth an array."""


@dataclass(frozen=True)
class SplitOffFunctions(ModulePass):
    """Compute such functions before the loop.

    Before:

        func.func @f(%x: tensor<99xf64>) -> f64 {
          %c0 = nd.constant {value = 0 : i64} : i64
          %c1 = nd.constant {value = 1 : i64} : i64
          %n = nd.constant {value = 99 : i64} : i64
          %one = nd.constant {value = 1.0 : f64} : f64
          %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_1 = %one) -> (f64) : i64 {
            %a = nd.extract %x[%i] : tensor<99xf64> -> f64
            %b = nd.sin %a : f64
            %c = nd.mul %s_1, %b : f64
            %s_2 = nd.add %c, %one : f64
            scf.yield %s_2 : f64
          }
          func.return %s : f64
        }

    After `mlirad-split-off-functions`:

        func.func @f(%x: tensor<99xf64>) -> f64 {
          %c0 = nd.constant {value = 0 : i64} : i64
          %c1 = nd.constant {value = 1 : i64} : i64
          %n = nd.constant {value = 99 : i64} : i64
          %one = nd.constant {value = 1.0 : f64} : f64
          %zero = nd.constant {value = 0.0 : f64} : f64
          %empty = nd.full %zero : f64 to tensor<99xf64>
          %numbers = nd.arange : tensor<99xi64>
          %first = nd.constant {value = 0 : i64} : i64
          %part = nd.extract_slice %x[%first] {sizes = array<i64: 99>, strides = array<i64: 1>}
              : tensor<99xf64> -> tensor<99xf64>
          %values = nd.sin %part : tensor<99xf64>
          %place = nd.constant {value = 0 : i64} : i64
          %all = nd.insert_slice %values, %empty[%place] {sizes = array<i64: 99>, strides = array<i64: 1>}
              : tensor<99xf64> into tensor<99xf64>
          %s = scf.for %i = %c0 to %n step %c1 iter_args(%s_1 = %one) -> (f64) : i64 {
            %a = nd.extract %x[%i] : tensor<99xf64> -> f64
            %b = nd.extract %all[%i] : tensor<99xf64> -> f64
            %c = nd.mul %s_1, %b : f64
            %s_2 = nd.add %c, %one : f64
            scf.yield %s_2 : f64
          }
          func.return %s : f64
        }
    """

    name = "mlirad-split-off-functions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in find(op, scf.ForOp):
            _split_off(loop)


def _split_off(loop: scf.ForOp) -> None:
    count, body = trip_count(loop), loop.body.block
    if count is None or count < _FEWEST or not counts_from_zero(loop) or loop.ub.type != types.I64:
        return
    if not all(map(_is_scalar, ops_of(body))) or not all(map(is_harmless, ops_inside(loop))):
        return
    functions = _functions(body)
    if not functions:
        return
    needed = _needed(functions, body)
    place = _Place(count, _is_reversed(needed, loop))
    with in_place_of(loop):
        arrays = [full(constant(0.0, op.results[0].type), [count]).value for op in functions]
        trip = Region(_trip(functions, needed, arrays, place, body.args[0]))
        separate = insert(scf.ForOp(loop.lb, loop.ub, loop.step, arrays, trip))
    reads: list[Expr] = []
    for op, array in zip(functions, separate.results, strict=True):
        with in_place_of(op):
            reads.append(emit(ExtractOp, array, place.of(body.args[0])))
    if raise_loop(separate, is_derived=False) is None:
        for op, read in zip(functions, reads, strict=True):
            read.value.name_hint = op.results[0].name_hint
            replace(op, [read.value])
        return
    for each in (*(read.value.owner for read in reads), separate):
        assert isinstance(each, Operation)
        erase(each)


@dataclass(frozen=True)
class _Place:
    """Where the value of a trip is stored. is_reversed: the last trip's comes first, as in the arrays that are read."""

    count: int
    is_reversed: bool

    def of(self, trip: SSAValue) -> SSAValue:
        return (constant(self.count - 1, types.I64) - Expr(trip)).value if self.is_reversed else trip


def _functions(body: Block) -> list[NdOp]:
    """The functions of numbers that differ between trips, but do not depend on what a trip passes on."""
    counted, carried = varying(body, body.args[:1]), varying(body, body.args[1:])
    return [
        op
        for op in ops_of(body)
        if is_function(op) and carried.isdisjoint(op.operands) and not counted.isdisjoint(op.operands)
    ]


def _needed(functions: Sequence[NdOp], body: Block) -> list[Operation]:
    """The ops of a trip that compute the functions, in order."""
    needed: set[Operation] = set(functions)
    for op in reversed(ops_of(body)):
        if op in needed:
            operands = (operand for inner in (op, *ops_inside(op)) for operand in inner.operands)
            needed.update(each.owner for each in operands if isinstance(each.owner, Operation))
    return [op for op in ops_of(body) if op in needed]


def _is_reversed(needed: Sequence[Operation], loop: scf.ForOp) -> bool:
    """Whether the first place that moves descends."""
    indices = [index for op in needed if (read := read_subset(op)) is not None for index in read.places]
    steps = [linear(index).terms.get(Trip(loop), 0) for index in indices if not types.is_tensor(index.type)]
    return next(filter(None, steps), 0) < 0


def _trip(
    functions: Sequence[NdOp], needed: Sequence[Operation], arrays: Sequence[SSAValue], place: _Place, number: SSAValue
) -> Block:
    """The body of a loop that computes the functions and stores them. number: the number of a trip in the old loop."""
    body = Block(arg_types=[types.I64, *(array.type for array in arrays)])
    values: dict[SSAValue, SSAValue] = {number: body.args[0]}
    with building(body):
        for op in needed:
            insert(op.clone(values))
        index = place.of(body.args[0])
        stored = zip(functions, body.args[1:], strict=True)
        written = [emit(InsertOp, values[op.results[0]], array, index).value for op, array in stored]
        insert(scf.YieldOp(*written))
    return body


def _is_scalar(op: Operation) -> bool:
    """Whether an op contains no loop, and computes no array except by writing to one."""
    if any(inner.regions and not isinstance(inner, scf.IfOp) for inner in (op, *ops_inside(op))):
        return False
    return written_subset(op) is not None or not any(types.is_tensor(result.type) for result in op.results)
