"""Reads: scf.parallel of one dimension. Writes: a function of the blocks [lo, hi), and its call through `parallel_for`.
Leaves: no scf.parallel.

Captured values become parameters with the same names. Tasks find them in a struct on the stack of the calling thread,
which waits for the tasks.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import Operation

from mlirad.errors import TargetError
from mlirad.targets.cpu.call_context import PARALLEL_FOR
from mlirad.targets.cpu.emit import polling
from mlirad.targets.cpu.emit.descriptor import is_literal
from mlirad.targets.cpu.emit.function import FunctionEmitter, Rule, quoted, symbol
from mlirad.targets.cpu.emit.scf import emit_terminator
from mlirad.targets.cpu.emit.separate.captured_values import captured_inside

_RANGE = ("%first", "%last")


def emit_parallel(e: FunctionEmitter, op: scf.ParallelOp) -> None:
    if len(op.lowerBound) != 1 or op.res or e.is_task:
        raise TargetError("the cpu target runs scf.parallel of one dimension, without results, and none in another")
    lower, upper, step = e.words((op.lowerBound[0], op.upperBound[0], op.step[0]))
    task = f"{e.name}.{e.fresh('parallel')}"
    captured = captured_inside(e, op)
    captured |= {word: "i64" for word in (lower, step) if not is_literal(word)}
    _emit_blocks(e.task(task), op, (lower, step), captured, e.distinct)
    _emit_task(e, task, captured)
    _call(e, task, captured, _block_count(e, lower, upper, step))


def _emit_blocks(
    e: FunctionEmitter, op: scf.ParallelOp, bounds: Sequence[str], captured: dict[str, str], distinct: frozenset[str]
) -> None:
    """The function of the blocks numbered from %first up to, but not including, %last."""
    lower, step = bounds
    # If arguments are the only pointers, they are as disjoint here as in the whole function.
    are_apart = {word for word, type in captured.items() if type == "ptr"} <= distinct
    parameters = [
        f"{type} {'noalias ' if type == 'ptr' and are_apart else ''}{word}" for word, type in captured.items()
    ]
    header, inside, after = e.fresh("block"), e.fresh("body"), e.fresh("done")
    polling.begin(e)
    e.branch(header)
    e.label(header)
    number = e.phi("i64")
    e.incoming(number, _RANGE[0], "entry")
    e.line(f"br i1 {e.assign(f'icmp slt i64 {number.name}, {_RANGE[1]}')}, label %{inside}, label %{after}")
    e.label(inside)
    offset = e.assign(f"mul nsw i64 {number.name}, {step}")
    e.bind(op.body.block.args[0], e.assign(f"add nsw i64 {lower}, {offset}"))
    e.run(op.body.block)
    e.incoming(number, e.assign(f"add nuw nsw i64 {number.name}, 1"), e.current)
    e.branch(header)
    e.label(after)
    e.line("ret void")
    listed = ", ".join([*parameters, *(f"i64 {word}" for word in _RANGE), f"ptr {polling.JOB}"])
    name = quoted(symbol("blocks", e.name))
    e.module.chunks += [e.text(f"define internal void {name}({listed}) {e.attributes}"), *e.footnotes]


def _struct(captured: dict[str, str]) -> str:
    return f"{{ {', '.join(captured.values())} }}"


def _emit_task(e: FunctionEmitter, task: str, captured: dict[str, str]) -> None:
    """The task for `parallel_for`: it loads the captured values and calls the function of the blocks."""
    lines: list[str] = []
    arguments: list[str] = []
    for place, (word, type) in enumerate(captured.items()):
        lines.append(f"  %p{place} = getelementptr inbounds {_struct(captured)}, ptr %captured, i32 0, i32 {place}")
        lines.append(f"  {word} = load {type}, ptr %p{place}")
        arguments.append(f"{type} {word}")
    listed = ", ".join([*arguments, *(f"i64 {word}" for word in _RANGE), f"ptr {polling.JOB}"])
    parameters = f"ptr %captured, i64 %first, i64 %last, ptr {polling.JOB}"
    header = f"define internal void {quoted(symbol('task', task))}({parameters}) nounwind {{"
    call = f"  call void {quoted(symbol('blocks', task))}({listed})"
    e.module.chunks.append("\n".join([header, "entry:", *lines, call, "  ret void", "}"]))


def _block_count(e: FunctionEmitter, lower: str, upper: str, step: str) -> str:
    if all(map(is_literal, (lower, upper, step))):
        return str(max(0, -(-(int(upper) - int(lower)) // int(step))))
    length = e.assign(f"sub nsw i64 {upper}, {lower}")
    rest = e.assign(f"sub nsw i64 {step}, 1")
    return e.assign(f"sdiv i64 {e.assign(f'add nsw i64 {length}, {rest}')}, {step}")


def _call(e: FunctionEmitter, task: str, captured: dict[str, str], count: str) -> None:
    memory = f"%{e.fresh('captured')}"
    e.allocas.append(f"  {memory} = alloca {_struct(captured)}")
    for place, (word, type) in enumerate(captured.items()):
        pointer = e.assign(f"getelementptr inbounds {_struct(captured)}, ptr {memory}, i32 0, i32 {place}")
        e.line(f"store {type} {word}, ptr {pointer}")
    callee = e.module.declare(PARALLEL_FOR, f"declare i32 @{PARALLEL_FOR}(ptr, ptr, ptr, i64) nounwind")
    arguments = f"ptr %ctx, ptr {quoted(symbol('task', task))}, ptr {memory}, i64 {count}"
    code = e.assign(f"call i32 {callee}({arguments})")
    e.require(e.assign(f"icmp eq i32 {code}, 0"), code)


RULES: dict[type[Operation], Rule] = {
    scf.ParallelOp: emit_parallel,
    scf.ReduceOp: emit_terminator,
}
