"""Ops that may run only once, in code that is rerun: their results are recorded, and the replay reads them.

Reads: a checkpointed loop or function that draws random numbers, itself or in functions that it calls. Writes: a
recording version of it, which the forward sweep runs, and a replaying version, which the reverse sweep runs. Leaves:
the generators in the state after the forward sweep.

The record is on the two tapes of `records.py`, floats and integers, in program order. A replay needs the offsets of its
part of the record: two numbers. A loop carries them, so each of its stored states contains them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import FunctionType, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.analysis.call_graph import ops_reached, set_written, written_by
from mlirad.analysis.loops import Loop, LoopOp, add_results, add_yields, branches, terminator, trip_count, yields
from mlirad.analysis.rule_attributes import own_rule
from mlirad.autodiff.callees import FLOATS, INTEGERS, TAPES, Callees, retarget
from mlirad.autodiff.private_functions import free_name
from mlirad.dialect.ad.notes import CHECKPOINT
from mlirad.dialect.ad.tape import GrowOp, StopOp
from mlirad.dialect.arrays.elements import ExtractOp, InsertOp
from mlirad.dialect.arrays.slices import extract_slice, insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.effect_table import Rule, Verb, rule
from mlirad.dialect.core.expr import Expr, building, dim, emit, insert, located
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.ops.compare import cast
from mlirad.errors import DifferentiationError

State = tuple[SSAValue, ...]
"""Of the tapes: the floats and their number in use, the integers and their number in use. Of a replay: two offsets."""
PLACES: tuple[int, ...] = (1, 3)
"""The indices of the two numbers in the state of the tapes."""


# --- what is threaded through blocks ----------------------------------------------------------------------------


def threaded(block: Block, state: State, sites: Set[Operation], forward: Callable[[Operation, State], State]) -> State:
    """Carry a state through a block, and through the loops and branches in it that contain one of the sites. At a site,
    `forward` returns the next state."""
    for op in list(block.ops):
        if op in sites:
            state = forward(op, state)
        elif op.regions and any(inner in sites for inner in op.walk()):
            state = through(op, state, sites, forward)
    return state


def through(op: Operation, state: State, sites: Set[Operation], forward: Callable[[Operation, State], State]) -> State:
    if isinstance(op, scf.IfOp):
        ends = [threaded(branch, state, sites, forward) for branch in branches(op)]
        for branch, end in zip(branches(op), ends, strict=True):
            add_yields(branch, end)
        return add_results(op, state)
    assert isinstance(op, scf.ForOp | scf.WhileOp)
    loop = Loop(op)
    args, results = loop.add(state)
    add_yields(loop.body, threaded(loop.body, args, sites, forward))
    return results


# --- what is done once ------------------------------------------------------------------------------------------


def is_replayed(op: Operation) -> bool:
    """Whether an op's results are read from the record when its code is rerun."""
    has_answer = isinstance(op, NdOp) and type(op).replayed is not NdOp.replayed
    return has_answer and rule(op, Verb.CHECKPOINT) is Rule.RECORDED


def is_recorded(callees: Callees, name: str) -> bool:
    """Whether a function, or one that it calls, has results to record."""
    return any(map(is_replayed, ops_reached(callees.functions, callees.functions[name])))


def sites_in(callees: Callees, block: Block) -> set[Operation]:
    """The ops in a block that may run only once, and the calls of functions with such ops. Afterwards no condition of a
    loop contains one: the condition is computed before the loop and at the end of each trip."""
    for loop in [inner for inner in block.walk() if isinstance(inner, scf.WhileOp)]:
        if any(_is_site(callees, inner) for inner in loop.before_region.walk()):
            _compute_condition_outside(loop)
    return {inner for inner in block.walk() if _is_site(callees, inner)}


def _is_site(callees: Callees, op: Operation) -> bool:
    return is_replayed(op) or (isinstance(op, func.CallOp) and is_recorded(callees, op.callee.string_value()))


def _compute_condition_outside(loop: scf.WhileOp) -> None:
    before, body = loop.before_region.block, Loop(loop).body
    end = terminator(before)

    def copied(values: Sequence[SSAValue]) -> SSAValue:
        mapped: dict[SSAValue, SSAValue] = dict(zip(before.args, values, strict=True))
        for op in before.ops:
            if op is not end:
                with located(op.location):
                    insert(op.clone(mapped))
        return mapped.get(end.operands[0], end.operands[0])

    with building(InsertPoint.before(loop)):
        first = copied(Loop(loop).inits)
    with building(InsertPoint.before(terminator(body))):
        following = copied(yields(body))
    Loop(loop).add([first])
    add_yields(body, [following])
    end.operands = [before.args[-1], *tuple(end.operands)[1:]]
    for op in reversed(list(before.ops)):
        if op is not end:
            op.detach()
            op.erase()


# --- the record -------------------------------------------------------------------------------------------------


def recording(callees: Callees, site: Operation, state: State) -> State:
    """Record the results of an op that may run only once, or call the recording version of a function."""
    if isinstance(site, func.CallOp):
        retarget(site, recording_function(callees, site.callee.string_value()), state)
        return add_results(site, state)
    tapes = [Expr(value) for value in state]
    with building(InsertPoint.after(site)), located(site.location):
        for result in map(Expr, site.results):
            first = 0 if types.is_float(result.type) else 2
            tapes[first : first + 2] = _appended(result, *tapes[first : first + 2])
    return tuple(tape.value for tape in tapes)


def _appended(value: Expr, tape: Expr, at: Expr) -> tuple[Expr, Expr]:
    end = at + (dim(value, 0) if value.is_tensor else 1)
    tape, value = emit(GrowOp, tape, end - 1), cast(value, tape.element)
    return insert_slice(value, tape, [at]) if value.is_tensor else emit(InsertOp, value, tape, at), end


def bytes_recorded(callees: Callees, block: Block, around: frozenset[str] = frozenset()) -> int | None:
    """The size of the record of a block, if all of it were replayed; None if it is known only at run time."""
    total = 0
    for op in block.ops:
        each: int | None = 0
        if is_replayed(op):
            each = sum(8 * prod(types.shape(result.type)) for result in op.results)
            each = each if all(types.is_static(result.type) for result in op.results) else None
        elif isinstance(op, func.CallOp) and is_recorded(callees, name := op.callee.string_value()):
            inner = callees.functions[name].body.block
            each = None if name in around else bytes_recorded(callees, inner, around | {name})
        elif op.regions:
            inside = [bytes_recorded(callees, inner, around) for region in op.regions for inner in region.blocks]
            known = [size for size in inside if size is not None]
            trips = trip_count(op) if isinstance(op, scf.ForOp) else None if isinstance(op, scf.WhileOp) else 1
            each = sum(known) if len(known) == len(inside) else None
            each = None if each is None or (each and trips is None) else each * (trips or 0)
        if each is None:
            return None
        total += each
    return total


def replaying(callees: Callees, tapes: Sequence[SSAValue], site: Operation, state: State) -> State:
    """Read the results of an op from the record, or call the replaying version of a function."""
    if isinstance(site, func.CallOp):
        retarget(site, replaying_function(callees, site.callee.string_value()), (*tapes, *state))
        return add_results(site, state)
    assert isinstance(site, NdOp)
    places, found = [Expr(value) for value in state], list[Expr]()
    with building(InsertPoint.before(site)), located(site.location):
        for number, result in enumerate(site.results):
            which = 0 if types.is_float(result.type) else 1
            tape, at = Expr(tapes[which]), places[which]
            if types.is_tensor(result.type):
                (size,) = types.shape(result.type)
                source = site.size_source(0, number) if size < 0 else None
                count = Expr(source) if isinstance(source, SSAValue) else size
                read = extract_slice(tape, [at], [count])
            else:
                read, count = emit(ExtractOp, tape, at), 1
            places[which] = at + count
            found.append(emit(StopOp, cast(read, types.element_type(result.type))))
        values = site.replayed(found)
    for result, value in zip(site.results, values, strict=True):
        result.replace_all_uses_with(value.value)
    site.detach()
    site.erase()
    return tuple(place.value for place in places)


# --- functions --------------------------------------------------------------------------------------------------


def recording_function(callees: Callees, name: str) -> str:
    """A version of a function that also takes the state of the tapes, and returns it with its record appended."""
    made, is_new = _version(callees, name, "recording", TAPES)
    if is_new:
        _make_plain(made, sites_in(callees, made.body.block))
        n, m = len(made.body.block.args) - len(TAPES), len(terminator(made.body.block).operands)
        written = {**written_by(callees.functions[name]), n: m, n + 2: m + 2}
        state = tuple(made.body.block.args[n:])
        _close(callees, made, written, state, lambda site, state: recording(callees, site, state))
    return made.sym_name.data


def replaying_function(callees: Callees, name: str) -> str:
    """A version of a function that takes the tapes and its record's offsets too, and returns the end's. It prints
    nothing."""
    made, is_new = _version(callees, name, "replaying", (FLOATS, INTEGERS, types.I64, types.I64))
    if is_new:
        *_, floats, integers, first, second = made.body.block.args
        written = written_by(callees.functions[name])
        tapes, state = (floats, integers), (first, second)
        _close(callees, made, written, state, lambda site, state: replaying(callees, tapes, site, state))
        drop_unrepeatable(made.body.block)
    return made.sym_name.data


def _version(callees: Callees, name: str, kind: str, more: Iterable[Attribute]) -> tuple[func.FuncOp, bool]:
    """A copy of a function with more arguments. It is declared first, because the function may call itself."""
    known = callees.versions.get((name, kind))
    if known is not None:
        return callees.functions[known], False
    original = callees.functions[name]
    if own_rule(original) is not None:
        raise DifferentiationError(
            "a function with its own derivative rule draws numbers, and checkpointed code would run it again",
            types.from_location(original.location),
            "draw the numbers before, and pass them in",
        )
    made = original.clone()
    made.location = original.location
    made.properties["sym_name"] = StringAttr(free_name(callees.module, f"{name}.{kind}"))
    made.properties["sym_visibility"] = StringAttr("private")
    for type in more:
        made.body.block.insert_arg(type, len(made.body.block.args))
    callees.module.body.block.add_op(made)
    callees.functions[made.sym_name.data] = made
    callees.versions[name, kind] = made.sym_name.data
    return made, True


def _close(
    callees: Callees,
    made: func.FuncOp,
    written: dict[int, int],
    state: State,
    forward: Callable[[Operation, State], State],
) -> None:
    block = made.body.block
    ends = threaded(block, state, sites_in(callees, block), forward)
    add_yields(block, ends)
    results = [value.type for value in terminator(block).operands]
    made.function_type = FunctionType.from_lists([arg.type for arg in block.args], results)
    made.properties.pop("res_attrs", None)
    set_written(made, written)
    callees.add(made)


def _make_plain(op: Operation, sites: Set[Operation]) -> None:
    """Do not checkpoint code that records: its tapes grow, so its states would have no fixed size."""
    for each in op.walk():
        if CHECKPOINT in each.attributes and any(inner in sites for inner in each.walk()):
            del each.attributes[CHECKPOINT]


def drop_unrepeatable(block: Block) -> None:
    """Remove ops without results that must not run again."""
    for inner in list(block.walk()):
        if isinstance(inner, NdOp) and not inner.results and rule(inner, Verb.CHECKPOINT) is not Rule.ALLOWED:
            inner.detach()
            inner.erase()


# --- loops ------------------------------------------------------------------------------------------------------


@dataclass
class ReplayedLoops:
    """The checkpointed loops of a function that record, each with a copy of the original for the reverse sweep."""

    callees: Callees
    copies: dict[Operation, LoopOp] = field(default_factory=dict)
    sites: set[Operation] = field(default_factory=set)
    inside: set[Operation] = field(default_factory=set)

    def add(self, loop: LoopOp) -> None:
        """Register a loop, if it has anything to record, and is not inside another."""
        sites = set() if loop in self.inside else sites_in(self.callees, Loop(loop).body)
        if sites:
            self.copies[loop] = copy = loop.clone()
            copy.location = loop.location
            self.sites |= sites
            self.inside.update(loop.walk())
            _make_plain(loop, sites)

    def replaying(self, loop: LoopOp, tapes: Sequence[SSAValue]) -> LoopOp:
        """The loop that reruns the trips of `loop`. It carries the offset of the next trip's record."""
        copy = self.copies[loop]
        if copy.parent is None:
            inits = Loop(loop).inits[-len(TAPES) :]
            assert loop.parent is not None
            loop.parent.insert_op_after(copy, loop)
            state = tuple(inits[place] for place in PLACES)
            sites = sites_in(self.callees, Loop(copy).body)
            through(copy, state, sites, lambda site, state: replaying(self.callees, tapes, site, state))
        return copy

    def erase(self) -> None:
        """Remove the copies: by now the trips are rerun by functions."""
        for copy in self.copies.values():
            if copy.parent is not None:
                copy.detach()
            copy.erase()
