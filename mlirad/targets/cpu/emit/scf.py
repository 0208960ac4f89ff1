"""Reads: scf.for, while, if, on scalars, vectors and memrefs. Writes: blocks and phis. Leaves: no scf op."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from mlirad.analysis.constants import constant_int
from mlirad.errors import TargetError
from mlirad.targets.cpu.call_context import USED
from mlirad.targets.cpu.emit.descriptor import is_literal, to_parts
from mlirad.targets.cpu.emit.function import FunctionEmitter, Phi, Rule
from mlirad.targets.cpu.emit.llvm_types import llvm_type
from mlirad.targets.cpu.emit.polling import STRIP, charge
from mlirad.targets.cpu.emit.separate.separate_loops import emit_separately
from mlirad.targets.cpu.emit.vectorized_loops import goes_across_rows, goes_around_rows


def _types(values: Sequence[SSAValue]) -> list[Attribute]:
    return [value.type for value in values]


def _words(e: FunctionEmitter, values: Sequence[SSAValue], types: Sequence[Attribute]) -> list[str]:
    """The words of the values that phis of these types carry."""
    return [word for value, type in zip(values, types, strict=True) for _, word in to_parts(e.value(value), type)]


def _flow(e: FunctionEmitter, values: Sequence[SSAValue], types: Sequence[Attribute], phis: Sequence[Phi]) -> None:
    """Add these values, at the end of the current block, to the phis."""
    for phi, word in zip(phis, _words(e, values, types), strict=True):
        e.incoming(phi, word, e.current)


def _yielded(block: Block) -> Sequence[SSAValue]:
    assert block.last_op is not None
    return block.last_op.operands


def may_release(op: Operation) -> bool:
    """Whether all memory that a loop's body allocates is dead at the end of each trip: only a carry could keep it
    alive."""
    return not any(isinstance(result.type, MemRefType) for result in op.results)


def _mark(e: FunctionEmitter, op: Operation) -> str | None:
    """The number of blocks of the call's memory in use, if this loop frees its memory after each trip."""
    if op not in e.releasing:
        return None
    pointer = e.assign(f"getelementptr i8, ptr %ctx, i64 {USED}")
    return e.assign(f"load i64, ptr {pointer}, align 8")


def _release(e: FunctionEmitter, mark: str | None) -> None:
    if mark is not None:
        pointer = e.assign(f"getelementptr i8, ptr %ctx, i64 {USED}")
        e.line(f"store i64 {mark}, ptr {pointer}, align 8")


def emit_for(e: FunctionEmitter, op: scf.ForOp) -> Iterator[Block]:
    """A loop tests its condition at its end (LLVM would have to rotate it otherwise), with a guard if necessary."""
    if op in e.separate:
        emit_separately(e, op)
        return
    first, last, by, *carries = op.operands
    lower, upper, step = e.words((first, last, by))
    body, types, counter_type = op.regions[0].block, _types(carries), llvm_type(first.type)
    start = _words(e, carries, types)
    strip = _Strip(e, op, lower, upper) if op in e.polling.strips else None
    is_vector = op in e.vectorized
    if strip is not None:
        e.begin_loop(is_vector=is_vector)
        lower, upper, start = strip.begin(start)
    makes_trip = strip is not None or (is_literal(lower) and is_literal(upper) and int(lower) < int(upper))
    inside, after, before = e.fresh("body"), e.fresh("done"), e.current
    e.begin_loop(is_vector=is_vector)
    if makes_trip:
        e.branch(inside)
    else:
        e.line(f"br i1 {e.assign(f'icmp slt {counter_type} {lower}, {upper}')}, label %{inside}, label %{after}")
    e.label(inside)
    counter = e.phi(counter_type)
    e.incoming(counter, lower, before)
    phis = e.phis(types)
    for phi, word in zip(phis, start, strict=True):
        e.incoming(phi, word, before)
    e.bind(body.args[0], counter.name if strip is None else strip.index(counter.name))
    e.bind_phis((body.args[1:],), types, phis)
    mark = _mark(e, op)
    yield body
    _release(e, mark)
    if op in e.polling.charges:
        charge(e, e.polling.charges[op])
    following, end = _following(e, op, counter, step), e.current
    is_more = e.assign(f"icmp {_until(lower, upper, step)} {counter_type} {following}, {upper}")
    carried = _words(e, _yielded(body), types)
    e.incoming(counter, following, end)
    for phi, word in zip(phis, carried, strict=True):
        e.incoming(phi, word, end)
    e.line(f"br i1 {is_more}, label %{inside}, label %{after}{_loop_facts(e, op)}")
    e.end_loop()
    e.label(after)
    if strip is not None:
        e.bind_phis((op.res,), types, strip.end(carried))
        e.end_loop()
    elif makes_trip:
        for result, value in zip(op.res, _yielded(body), strict=True):
            e.bind(result, e.value(value))
    else:
        e.bind_phis((op.res,), types, _joined(e, types, (before, start), (end, carried)))


def _until(lower: str, upper: str, step: str) -> str:
    """The comparison of a loop's counter with its bound, after a trip, while there is another trip: "not equal" if the
    counter certainly reaches the bound, so that LLVM sees the trip count."""
    if step == "1" or (
        is_literal(lower) and is_literal(upper) and is_literal(step) and (int(upper) - int(lower)) % int(step) == 0
    ):
        return "ne"
    return "slt"


def _joined(e: FunctionEmitter, types: Sequence[Attribute], *ways: tuple[str, Sequence[str]]) -> list[Phi]:
    """The values at the beginning of the current block, for each predecessor block."""
    phis = e.phis(types)
    for block, words in ways:
        for phi, word in zip(phis, words, strict=True):
            e.incoming(phi, word, block)
    return phis


def _following(e: FunctionEmitter, op: scf.ForOp, counter: Phi, step: str) -> str:
    # A counter that stays below a bound cannot overflow when incremented by 1; an index cannot overflow by any step.
    flag = " nsw" if step == "1" or isinstance(op.lb.type, IndexType) else ""
    return e.assign(f"add{flag} {counter.type} {counter.name}, {step}")


class _Strip:
    """The loop around a loop that is cut into strips: over the first trips of the strips, with the same carries."""

    def __init__(self, e: FunctionEmitter, op: scf.ForOp, lower: str, upper: str):
        self.e, self.lower, self.upper = e, lower, upper
        self.type = llvm_type(op.lb.type)
        self.types = _types(op.iter_args)
        step = constant_int(op.step)
        assert step is not None
        self.length = e.polling.strips[op] * step

    def begin(self, start: Sequence[str]) -> tuple[str, str, list[str]]:
        """The bounds of a strip, and the initial values of its carries."""
        e, before = self.e, self.e.current
        self.header, self.after = e.fresh("strip"), e.fresh("through")
        self.skip = before, start
        is_any = e.assign(f"icmp slt {self.type} {self.lower}, {self.upper}")
        e.line(f"br i1 {is_any}, label %{self.header}, label %{self.after}")
        e.label(self.header)
        self.counter = e.phi(self.type)
        e.incoming(self.counter, self.lower, before)
        self.phis = e.phis(self.types)
        for phi, word in zip(self.phis, start, strict=True):
            e.incoming(phi, word, before)
        left = e.assign(f"sub nsw {self.type} {self.upper}, {self.counter.name}")
        pair = [(self.type, left), (self.type, str(self.length))]
        self.trips = e.intrinsic(f"llvm.smin.{self.type}", self.type, pair)
        return "0", self.trips, [phi.name for phi in self.phis]

    def index(self, counter: str) -> str:
        """The loop's counter, from the strip's counter, which begins at 0, so that LLVM sees the trip count."""
        return self.e.assign(f"add nsw {self.type} {self.counter.name}, {counter}")

    def end(self, carried: Sequence[str]) -> list[Phi]:
        """After a strip: continue with the next, if there is one. Returns the loop's results."""
        e, more, end = self.e, self.e.fresh("more"), self.e.current
        stop = e.assign(f"add nsw {self.type} {self.counter.name}, {self.trips}")
        is_more = e.assign(f"icmp slt {self.type} {stop}, {self.upper}")
        e.line(f"br i1 {is_more}, label %{more}, label %{self.after}")
        e.label(more)
        charge(e, STRIP)
        e.incoming(self.counter, stop, e.current)
        for phi, word in zip(self.phis, carried, strict=True):
            e.incoming(phi, word, e.current)
        e.branch(self.header)
        e.label(self.after)
        return _joined(e, self.types, self.skip, (end, carried))


def _loop_facts(e: FunctionEmitter, op: scf.ForOp) -> str:
    """Metadata of the back edge.

    Loops of vectors are finished, and improving them would take half of LLVM's time. Loops across rows are slower in
    vectors, but may be unrolled; loops around them may not.
    """
    facts: list[str] = []
    if op in e.vectorized or goes_across_rows(op):
        facts.append('!"llvm.loop.vectorize.enable", i1 false')
    if op in e.vectorized or goes_around_rows(op):
        facts.append('!"llvm.loop.unroll.disable"')
    if not facts:
        return ""
    loop = e.module.metadata_nodes(1 + len(facts))
    numbers = range(loop + 1, loop + 1 + len(facts))
    e.footnotes.append(f"!{loop} = distinct !{{{', '.join(f'!{number}' for number in (loop, *numbers))}}}")
    e.footnotes += [f"!{number} = !{{{fact}}}" for number, fact in zip(numbers, facts, strict=True)]
    return f", !llvm.loop !{loop}"


def emit_while(e: FunctionEmitter, op: scf.WhileOp) -> Iterator[Block]:
    if op in e.separate:
        emit_separately(e, op)
        return
    condition, body = op.before_region.block, op.after_region.block
    types = _types(op.arguments)
    header, inside, after = e.fresh("while"), e.fresh("body"), e.fresh("done")
    before = e.current
    e.begin_loop(is_vector=op in e.vectorized)
    e.branch(header)
    e.label(header)
    phis = e.phis(types)
    e.current = before
    _flow(e, op.arguments, types, phis)
    e.current = header
    e.bind_phis((condition.args,), types, phis)
    yield condition
    end = condition.last_op
    assert isinstance(end, scf.ConditionOp)
    for forwarded, argument, result in zip(end.args, body.args, op.res, strict=True):
        e.bind(argument, e.value(forwarded))
        e.bind(result, e.value(forwarded))
    e.line(f"br i1 {e.word(end.condition)}, label %{inside}, label %{after}")
    e.label(inside)
    mark = _mark(e, op)
    yield body
    _release(e, mark)
    if op in e.polling.charges:
        charge(e, e.polling.charges[op])
    _flow(e, _yielded(body), types, phis)
    e.branch(header)
    e.end_loop()
    e.label(after)


def emit_if(e: FunctionEmitter, op: scf.IfOp) -> Iterator[Block]:
    types = _types(op.output)
    then, after = e.fresh("then"), e.fresh("endif")
    has_else = bool(op.false_region.blocks)
    if types and not has_else:
        raise TargetError("an scf.if with results has no else region")
    otherwise = e.fresh("else") if has_else else after
    e.line(f"br i1 {e.word(op.cond)}, label %{then}, label %{otherwise}")
    ends: list[tuple[str, list[str]]] = []
    for label, region in ((then, op.true_region), (otherwise, op.false_region)):
        if not region.blocks:
            continue
        e.label(label)
        yield region.block
        yielded = _yielded(region.block) if types else ()
        ends.append((e.current, _words(e, yielded, types)))
        e.branch(after)
    e.label(after)
    e.bind_phis((op.output,), types, _joined(e, types, *ends))


def emit_terminator(e: FunctionEmitter, op: Operation) -> None:
    """Emit nothing: the op that owns the block reads its terminator."""


RULES: dict[type[Operation], Rule] = {
    scf.ForOp: emit_for,
    scf.WhileOp: emit_while,
    scf.IfOp: emit_if,
    scf.YieldOp: emit_terminator,
    scf.ConditionOp: emit_terminator,
}
