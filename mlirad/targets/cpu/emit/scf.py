"""Reads: scf.for, while, if, on scalars, vectors and memrefs. Writes: blocks and phis. Leaves: no scf op."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from mlirad.errors import TargetError
from mlirad.targets.cpu.emit.descriptor import to_parts
from mlirad.targets.cpu.emit.function import FunctionEmitter, Phi, Rule
from mlirad.targets.cpu.emit.types import llvm_type
from mlirad.targets.cpu.runtime import USED


def _types(values: Sequence[SSAValue]) -> list[Attribute]:
    return [value.type for value in values]


def _flow(e: FunctionEmitter, values: Sequence[SSAValue], types: Sequence[Attribute], phis: Sequence[Phi]) -> None:
    """Give the phis what these values are at the end of the current block."""
    words = [word for value, type in zip(values, types, strict=True) for _, word in to_parts(e.value(value), type)]
    for phi, word in zip(phis, words, strict=True):
        e.incoming(phi, word, e.current)


def _yielded(block: Block) -> Sequence[SSAValue]:
    assert block.last_op is not None
    return block.last_op.operands


def may_release(op: Operation) -> bool:
    """Whether what a loop's body allocates is dead at the end of each trip: nothing but a carry could keep it."""
    return not any(isinstance(result.type, MemRefType) for result in op.results)


def _mark(e: FunctionEmitter, op: Operation) -> str | None:
    """Remember how many blocks of the call's memory are in use, if this loop gives back what a trip takes."""
    if op not in e.releasing:
        return None
    pointer = e.assign(f"getelementptr i8, ptr %ctx, i64 {USED}")
    return e.assign(f"load i64, ptr {pointer}, align 8")


def _release(e: FunctionEmitter, mark: str | None) -> None:
    if mark is not None:
        pointer = e.assign(f"getelementptr i8, ptr %ctx, i64 {USED}")
        e.line(f"store i64 {mark}, ptr {pointer}, align 8")


def emit_for(e: FunctionEmitter, op: scf.ForOp) -> Iterator[Block]:
    lower, upper, step = e.words((op.lb, op.ub, op.step))
    body = op.body.block
    types = _types(op.iter_args)
    header, inside, after = e.fresh("for"), e.fresh("body"), e.fresh("done")
    before = e.current
    e.branch(header)
    e.label(header)
    counter_type = llvm_type(op.lb.type)
    counter = e.phi(counter_type)
    e.incoming(counter, lower, before)
    phis = e.phis(types)
    e.current = before
    _flow(e, op.iter_args, types, phis)
    e.current = header
    e.bind_phis((body.args[1:], op.res), types, phis)
    e.bind(body.args[0], counter.name)
    e.line(f"br i1 {e.assign(f'icmp slt {counter_type} {counter.name}, {upper}')}, label %{inside}, label %{after}")
    e.label(inside)
    mark = _mark(e, op)
    yield body
    _release(e, mark)
    # A counter that stays below a bound cannot overflow by 1; a subscript cannot overflow by any step.
    flag = " nsw" if step == "1" or isinstance(op.lb.type, IndexType) else ""
    following = e.assign(f"add{flag} {counter_type} {counter.name}, {step}")
    e.incoming(counter, following, e.current)
    _flow(e, _yielded(body), types, phis)
    e.line(f"br label %{header}{_loop_facts(e, op)}")
    e.label(after)


def _loop_facts(e: FunctionEmitter, op: scf.ForOp) -> str:
    """Metadata of the branch back: loops of vectors are as they should be, and cost LLVM half of its time if asked."""
    if op not in e.vectorized:
        return ""
    loop = e.module.metadata_nodes(3)
    e.footnotes.append(f"!{loop} = distinct !{{!{loop}, !{loop + 1}, !{loop + 2}}}")
    e.footnotes.append(f'!{loop + 1} = !{{!"llvm.loop.unroll.disable"}}')
    e.footnotes.append(f'!{loop + 2} = !{{!"llvm.loop.vectorize.enable", i1 false}}')
    return f", !llvm.loop !{loop}"


def emit_while(e: FunctionEmitter, op: scf.WhileOp) -> Iterator[Block]:
    condition, body = op.before_region.block, op.after_region.block
    types = _types(op.arguments)
    header, inside, after = e.fresh("while"), e.fresh("body"), e.fresh("done")
    before = e.current
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
    _flow(e, _yielded(body), types, phis)
    e.branch(header)
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
        words = [w for value, type in zip(yielded, types, strict=True) for _, w in to_parts(e.value(value), type)]
        ends.append((e.current, words))
        e.branch(after)
    e.label(after)
    phis = e.phis(types)
    for label, words in ends:
        for phi, word in zip(phis, words, strict=True):
            e.incoming(phi, word, label)
    e.bind_phis((op.output,), types, phis)


def emit_terminator(e: FunctionEmitter, op: Operation) -> None:
    """The op that owns the block reads its terminator."""


RULES: dict[type[Operation], Rule] = {
    scf.ForOp: emit_for,
    scf.WhileOp: emit_while,
    scf.IfOp: emit_if,
    scf.YieldOp: emit_terminator,
    scf.ConditionOp: emit_terminator,
}
