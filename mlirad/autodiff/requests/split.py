"""Splits a differentiated function at its `ad.turn` into a forward sweep and a pullback.

Reads: functions with `ad.turn`, closed by the tape; `ad.forward` and `ad.pullback`. Writes: calls of the two halves.
Leaves: no residuals type; each value of that type is replaced by the values that cross the cut, in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from mlirad.analysis.call_graph import set_written
from mlirad.analysis.repeated_integers import integer_ops
from mlirad.autodiff.callees import TAPES, define
from mlirad.autodiff.records import RECORDED, Record, RecordOffsets, reserve, write_record
from mlirad.autodiff.requests.cut_at_turn import (
    halves_at_turn,
    private_function,
    replace_inside,
    second_half,
)
from mlirad.autodiff.requests.differentiate import JOINED
from mlirad.autodiff.requests.linear_rules import check_what_waited
from mlirad.autodiff.requests.tapes_in_records import InPlace, tapes_before
from mlirad.autodiff.sizes import size_value
from mlirad.dialect.ad.ad_types import ResidualsType
from mlirad.dialect.ad.derivative_ops import ForwardOp, PullbackOp
from mlirad.dialect.ad.request_op import RequestOp
from mlirad.dialect.ad.sweep_markers import TurnOp
from mlirad.dialect.core import types
from mlirad.dialect.core.attributes import ints
from mlirad.dialect.core.expr import Expr, building, dim, insert, located
from mlirad.dialect.core.op import read_subset
from mlirad.dialect.ops.compare import cast
from mlirad.errors import DifferentiationError

Values = tuple[SSAValue, ...]


@dataclass(frozen=True)
class Halves:
    """The forward sweep and the pullback of one function, and the types of the values passed from the first to the
    second."""

    forward: func.FuncOp
    pullback: func.FuncOp
    crossing: tuple[Attribute, ...]


@dataclass(frozen=True)
class Split(ModulePass):
    """Split every joined function. Its residuals cross function boundaries as ordinary values.

    Before:

        func.func private @f(f64) -> f64
        func.func @forward(%x: f64) -> (f64, !ad.residuals<@f wrt [0] outs [0]>) {
          %y, %r = ad.forward @f(%x)() wrt [0] outs [0] : (f64)() -> (f64, !ad.residuals<@f wrt [0] outs [0]>)
          func.return %y, %r : f64, !ad.residuals<@f wrt [0] outs [0]>
        }
        func.func private @f.joined(%x: f64) -> f64 attributes {ad.joined = !ad.residuals<@f wrt [0] outs [0]>} {
          %y = nd.sin %x : f64
          %d_y = ad.turn %y : (f64) -> f64
          %slope = nd.cos %x : f64
          %d_x = nd.mul %d_y, %slope : f64
          func.return %d_x : f64
        }

    After `mlirad-split`:

        func.func @forward(%x: f64) -> (f64, f64) {
          %y, %0 = func.call @f.forward(%x) : (f64) -> (f64, f64)
          func.return %y, %0 : f64, f64
        }
        func.func private @f.pullback(%x: f64, %d_y: f64) -> f64 {
          %slope = nd.cos %x : f64
          %d_x = nd.mul %d_y, %slope : f64
          func.return %d_x : f64
        }
        func.func private @f.forward(%x: f64) -> (f64, f64) {
          %y = nd.sin %x : f64
          func.return %y, %x : f64, f64
        }
    """

    name = "mlirad-split"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        halves = {}
        for function in [f for f in op.ops if isinstance(f, func.FuncOp) and JOINED in f.attributes]:
            residuals = function.attributes[JOINED]
            assert isinstance(residuals, ResidualsType)
            halves[residuals] = _cut(op, function, residuals.callee.root_reference.data)
        for function in [f for f in op.ops if isinstance(f, func.FuncOp) and RECORDED in f.attributes]:
            _cut_recorded(op, function)
        if halves:
            for function in op.ops:
                if isinstance(function, func.FuncOp) and not function.is_declaration:
                    _convert(function, halves)
        check_what_waited(op)


# --- cutting ----------------------------------------------------------------------------------------------------


def _cut(module: ModuleOp, joined: func.FuncOp, name: str) -> Halves:
    """Move the ops after the turn into a function of their own."""
    entry = joined.body.block
    turn, after, crossing, copied = halves_at_turn(entry)
    body = second_half(after, copied, [*crossing, *turn.cotangents])
    pullback = private_function(module, f"{name}.pullback", body)
    entry.insert_op_before(end := func.ReturnOp(*turn.values, *crossing), turn)
    end.location = turn.location
    turn.detach()
    turn.erase()
    joined.detach()
    forward = private_function(module, f"{name}.forward", joined.body.detach_block(entry))
    return Halves(forward, pullback, tuple(value.type for value in crossing))


def _cut_recorded(module: ModuleOp, joined: func.FuncOp) -> None:
    """The same for a called function: the values that cross the cut go on a record, except arrays that are passed to
    the pullback again."""
    entry = joined.body.block
    halves = joined.attributes[RECORDED]
    assert isinstance(halves, DictionaryAttr)
    turn, after, crossing, copied = halves_at_turn(entry)
    kept = [entry.args[number] for number in _numbers(halves, "kept")]
    stored = [value for value in crossing if value not in kept]
    lengths, copied = _computed_lengths(stored, [*stored, *kept], copied, entry)
    offsets, begins = _written_in_place(entry, turn, stored, lengths)
    *results, floats, begun, integers, base = turn.values
    with building(InsertPoint.before(turn)), located(turn.location):
        state = write_record(offsets, stored, begins, [floats, begun, integers, base])
        insert(func.ReturnOp(*results, *state, begins[1]))
    gs = turn.cotangents[2:]
    body = second_half(after, copied, [*turn.cotangents[:2], begins[1], *gs, *kept])
    copies = dict(zip(copied, body.ops, strict=False))
    first = body.first_op
    assert first is not None
    record = Record(offsets, *body.args[:3])
    with located(turn.location):
        with building(InsertPoint.before(first)):
            values = record.numbers()
        given = {stored[number]: value for number, value in values.items()}
        given |= dict(zip(kept, body.args[len(body.args) - len(kept) :], strict=True))
        known = {number: _again(length, copies, given) for number, length in lengths.items()}
        with building(InsertPoint.before(after[0])):
            arrays = record.arrays(known)
    for number, value in values.items():
        replace_inside(stored[number], value, body)
    for number, slice in arrays.items():
        _read_from(slice, stored[number], body)
    joined.detach()
    turn.detach()
    turn.erase()
    for half, block in (("forward", joined.body.detach_block(entry)), ("pullback", body)):
        name = halves.data[half]
        assert isinstance(name, StringAttr)
        made = private_function(module, f"{name.data}.made", block)
        pairs = _numbers(halves, f"{half}_written")
        set_written(made, dict(zip(pairs[::2], pairs[1::2], strict=True)))
        define(module, name.data, made)


def _written_in_place(
    entry: Block, turn: TurnOp, stored: Sequence[SSAValue], lengths: Mapping[int, SSAValue]
) -> tuple[RecordOffsets, Sequence[SSAValue]]:
    """Make room for the record before the first call, and let loops write their tapes there. Returns the offsets, and
    where the record begins on both tapes."""
    state = list(entry.args[-len(TAPES) :])
    users = {entry.find_ancestor_op_in_block(use.operation) for value in state for use in value.uses}
    first = next(op for op in entry.ops if op in users)
    placed: dict[int, Operation] = {}
    tapes, first = tapes_before(first, turn)
    for last, tape in tapes.items():
        if last in stored:
            placed[stored.index(last)] = tape
    offsets = RecordOffsets.of([value.type for value in stored], lengths, placed)
    with building(InsertPoint.before(first)), located(turn.location):
        sizes = {number: dim(Expr(tape.results[0]), 0) for number, tape in placed.items()}
        new, starts = reserve(offsets, state, sizes)
    for old, value in zip(state, new, strict=True):
        old.replace_uses_with_if(value, lambda use: not _is_before(use.operation, first))
    for number, tape in placed.items():
        lane, place = (offsets.floats, 0) if number in offsets.floats.placed else (offsets.integers, 2)
        ops = [op for op in entry.ops if not op.is_before_in_block(first) and op.is_before_in_block(turn)]
        _, old, end = InPlace(starts[number], lane.element).through(ops, tape.results[0], new[place], new[place])
        turn.operands[list(turn.operands).index(old)] = end
    return offsets, (state[1], state[3])


def _is_before(op: Operation, other: Operation) -> bool:
    """Whether an op of a block, or of a region of one, is before another op of the block."""
    block = other.parent
    around = None if block is None else block.find_ancestor_op_in_block(op)
    return around is not None and around.is_before_in_block(other)


def _read_from(slice: Expr, array: SSAValue, body: Block) -> None:
    """Read a slice of a record in place of the array that it holds, whose elements may have another type."""
    element = types.element_type(array.type)
    if slice.element != element:
        for use in list(array.uses):
            op = use.operation
            read = read_subset(op)
            if (
                read is not None
                and not types.is_tensor(read.part.type)
                and body.find_ancestor_op_in_block(op) is not None
            ):
                with building(InsertPoint.before(op)), located(op.location):
                    number = cast(read.read(slice, list(map(Expr, read.places))), element)
                read.part.replace_all_uses_with(number.value)
                op.detach()
                op.erase()
        if not any(body.find_ancestor_op_in_block(use.operation) is not None for use in array.uses):
            return
        made = slice.value.owner
        assert isinstance(made, Operation)
        with building(InsertPoint.after(made)), located(made.location):
            slice = cast(slice, element)
    replace_inside(array, slice.value, body)


def _computed_lengths(
    stored: Sequence[SSAValue], given: Sequence[SSAValue], copied: Sequence[Operation], entry: Block
) -> tuple[dict[int, SSAValue], list[Operation]]:
    """The lengths of stored arrays that the pullback can compute from given values, by the numbers of the arrays, and
    with the ops that this needs, all ops that are copied."""
    lengths: dict[int, SSAValue] = {}
    needed = set(copied)
    for place, value in enumerate(stored):
        if not types.is_static(value.type) and len(types.shape(value.type)) == 1:
            length = size_value(value, 0)
            if (ops := integer_ops(length, given)) is not None:
                lengths[place] = length
                needed.update(ops)
    return lengths, [op for op in entry.ops if op in needed]


def _again(length: SSAValue, copies: Mapping[Operation, Operation], given: Mapping[SSAValue, SSAValue]) -> SSAValue:
    """A length in the pullback: a copy of its op, or a given value."""
    copy = copies.get(length.owner) if isinstance(length.owner, Operation) else None
    return given[length] if copy is None else copy.results[0]


def _numbers(halves: DictionaryAttr, key: str) -> tuple[int, ...]:
    numbers = halves.data[key]
    assert isinstance(numbers, DenseArrayBase)
    return tuple(int(number) for number in numbers.get_values())


# --- residuals as ordinary values -------------------------------------------------------------------------------


def _convert(function: func.FuncOp, halves: Mapping[Attribute, Halves]) -> None:
    """Replace the residuals in a function, in its type, and in its calls."""
    stands_for: dict[SSAValue, Values] = {}
    entry = function.body.block
    for arg in list(entry.args):
        if arg.type in halves:
            new = [entry.insert_arg(t, arg.index + 1 + n) for n, t in enumerate(halves[arg.type].crossing)]
            stands_for[arg] = tuple(new)
    replaced = [
        op
        for op in list(function.walk())
        if any(value.type in halves for value in (*op.operands, *op.results)) and _convert_op(op, halves, stands_for)
    ]
    for op in reversed(replaced):
        op.detach()
        op.erase()
    for arg in list(entry.args):
        if arg in stands_for:
            entry.erase_arg(arg)
    inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
    if function.arg_attrs is not None:
        moved = [len(_types(outputs[:number], halves)) for number in range(len(outputs))]
        notes = [
            each
            for old, note in zip(inputs, function.arg_attrs, strict=True)
            for each in (
                [_noted(note, moved)] if old not in halves else [DictionaryAttr({})] * len(halves[old].crossing)
            )
        ]
        function.arg_attrs = ArrayAttr(notes)
    function.function_type = FunctionType.from_lists(_types(inputs, halves), _types(outputs, halves))


def _noted(notes: Attribute, moved: Sequence[int]) -> DictionaryAttr:
    """The attributes of an argument, with updated numbers of the results that they refer to."""
    assert isinstance(notes, DictionaryAttr)
    numbers = {key: note.value.data for key, note in notes.data.items() if isinstance(note, IntegerAttr)}
    return DictionaryAttr({**notes.data, **{key: IntegerAttr(moved[number], i64) for key, number in numbers.items()}})


def _types(types_before: Sequence[Attribute], halves: Mapping[Attribute, Halves]) -> list[Attribute]:
    return [new for old in types_before for new in (halves[old].crossing if old in halves else (old,))]


def _convert_op(op: Operation, halves: Mapping[Attribute, Halves], stands_for: dict[SSAValue, Values]) -> bool:
    """Insert the replacement of an op before it. Returns whether the op itself is to be erased."""
    operands = [new for old in op.operands for new in stands_for.get(old, (old,))]
    match op:
        case func.ReturnOp():
            op.operands = operands
            return False
        case ForwardOp():
            call = _call(halves[op.residuals].forward, operands)
        case PullbackOp():
            call = _call(halves[op.residuals].pullback, operands)
        case RequestOp() if not any(result.type in halves for result in op.results):
            given = [new for old in op.primals for new in stands_for.get(old, (old,))]
            call = op.on(given, [sum(len(stands_for.get(x, (x,))) for x in op.primals[:n]) for n in ints(op.wrt)])
        case func.CallOp():
            call = func.CallOp(op.callee, operands, _types(list(op.result_types), halves))
        case _:
            raise DifferentiationError(
                f"{op.name} cannot pass on the residuals of a pullback; only calls, requests and returns can",
                types.from_location(op.location),
            )
    call.location = op.location
    results = iter(call.results)
    kept: list[SSAValue | None] = []
    for result in op.results:
        if result.type in halves:
            stands_for[result] = tuple(next(results) for _ in halves[result.type].crossing)
            kept.append(None)
        else:
            kept.append(next(results))
    assert op.parent is not None
    op.parent.insert_op_before(call, op)
    for result, new in zip(op.results, kept, strict=True):
        if new is not None:
            result.replace_all_uses_with(new)
    return True


def _call(function: func.FuncOp, operands: Sequence[SSAValue]) -> func.CallOp:
    return func.CallOp(function.sym_name.data, operands, function.function_type.outputs.data)
