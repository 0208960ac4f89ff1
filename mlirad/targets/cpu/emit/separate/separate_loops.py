"""In a large function, the loops that are left to LLVM become functions, so that LLVM improves these alone.

Reads: a function of stage `loops`. Writes: which loops; their functions, and calls of them. Leaves: the other loops.

```mlir
func.func public @f(%x: memref<9x8xf64>, %y: memref<8x9xf64>) {
  // ... hundreds of ops, and loops of vectors
  scf.for %i = %c0 to %c9 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {   // `y = x.T`
```

becomes a call of a function with the two loops: `call i32 @"mlirad.improved.f.loop7"(ptr %ctx, ptr null, ptr %a0,
ptr %a1)`. Otherwise these loops would send the whole function through all of LLVM's passes, and some passes take
longer for a loop in a large function than for the same loop in a small one.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func, memref, scf
from xdsl.ir import Operation, SSAValue

from mlirad.analysis.loops import trip_count
from mlirad.dialect.ops.check import CHECK
from mlirad.targets.cpu.emit import polling
from mlirad.targets.cpu.emit.function import FunctionEmitter, ops_in, quoted, symbol
from mlirad.targets.cpu.emit.polling import is_watched
from mlirad.targets.cpu.emit.separate.captured_values import captured_by
from mlirad.targets.cpu.emit.separate.results_on_stack import load_results, results_on_stack, store_results
from mlirad.targets.cpu.emit.vectorized_loops import goes_across_rows
from mlirad.targets.cpu.engine import IMPROVED, UNROLLED

LARGE = 2600
"""The fewest ops of a function whose loops are separated. In a smaller one, LLVM has little to do, and a call in a loop
counts for more."""

_SHARE = 0.5
"""The most that these loops may have of the function's ops: otherwise, there is little to be gained."""

_FEW = 16
"""Loops of fewer trips are unrolled where they are."""


def find_separate_loops(e: FunctionEmitter, ops: Sequence[Operation]) -> set[Operation]:
    """The loops that become functions: all outermost loops without vectors, or none."""
    if len(ops) < LARGE:
        return set()
    found: set[Operation] = set()
    moved = 0
    for op in ops:
        if op.__class__ is scf.ParallelOp:  # its body becomes functions already
            return set()
        if op.__class__ not in (scf.ForOp, scf.WhileOp) or op in e.vectorized or not _is_outermost(e, op):
            continue
        assert isinstance(op, scf.ForOp | scf.WhileOp)
        inside = ops_in(op)
        if not _stands_alone(e, op, inside):
            return set()
        if not _is_unrolled(op, inside):
            found.add(op)
            moved += len(inside)
    return found if moved <= _SHARE * len(ops) else set()


def _is_outermost(e: FunctionEmitter, op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, scf.ForOp | scf.WhileOp | scf.ParallelOp):
        parent = parent.parent_op()
    return parent is None or parent in e.vectorized


def _stands_alone(e: FunctionEmitter, op: Operation, inside: Sequence[Operation]) -> bool:
    """Whether a loop calls nothing, and uses no array of the function's stack, which may become registers."""
    own = {op, *inside}
    for inner in inside:
        if isinstance(inner, func.CallOp) and inner.callee.string_value() != CHECK:
            return False
        if isinstance(inner, scf.ParallelOp):
            return False
        if any(_is_elsewhere(e, value, own) for value in (*inner.operands, *inner.results)):
            return False
    return True


def _is_elsewhere(e: FunctionEmitter, value: SSAValue, own: set[Operation]) -> bool:
    """Whether it is an array of the function's stack, or one that belongs to the module and may change."""
    while isinstance(value.owner, _VIEWS):
        value = value.owner.operands[0]
    if isinstance(value.owner, memref.GetGlobalOp):
        return quoted(symbol("global", value.owner.name_.string_value())) not in e.module.constants
    return isinstance(value.owner, memref.AllocaOp) and value.owner not in own


_VIEWS = (memref.SubviewOp, memref.CastOp, memref.ReinterpretCastOp, memref.CollapseShapeOp, memref.ExpandShapeOp)


def _is_unrolled(op: Operation, inside: Sequence[Operation]) -> bool:
    """Whether a loop makes so few trips that it will be unrolled."""
    trips = 1
    for loop in (op, *inside):
        if isinstance(loop, scf.ForOp):
            own = trip_count(loop)
            if own is None:
                return False
            trips *= max(own, 1)
        elif isinstance(loop, scf.WhileOp):
            return False
    return trips <= _FEW


def emit_separately(e: FunctionEmitter, op: scf.ForOp | scf.WhileOp) -> None:
    """The function of a loop, and its call."""
    is_unrolled = isinstance(op, scf.ForOp) and goes_across_rows(op)
    name = quoted(symbol(UNROLLED if is_unrolled else IMPROVED, f"{e.name}.{e.fresh('loop')}"))
    captured = captured_by(e, op)
    can_fail = _emit_function(e, op, name, captured, is_unrolled=is_unrolled)
    types = [result.type for result in op.results]
    results = results_on_stack(e, types)
    listed = ", ".join(["ptr %ctx", f"ptr {results}", *(f"{type} {word}" for word, type in captured.items())])
    code = e.assign(f"call i32 {name}({listed})")
    if can_fail:
        e.require(e.assign(f"icmp eq i32 {code}, 0"), code)
    load_results(e, op.results, results)


def _emit_function(
    e: FunctionEmitter, op: scf.ForOp | scf.WhileOp, name: str, captured: dict[str, str], *, is_unrolled: bool
) -> bool:
    """Returns whether it can fail."""
    inner = e.part(is_watched=is_watched(e.polling, [op, *ops_in(op)]))
    polling.begin(inner)
    inner.run_op(op)
    store_results(inner, op.results)
    inner.line("ret i32 0")
    distinct = e.distinct_among([word for word, type in captured.items() if type == "ptr"])
    parameters = ["ptr noalias %ctx", "ptr noalias %results"]
    parameters += [f"{type} {'noalias ' if word in distinct else ''}{word}" for word, type in captured.items()]
    linkage = "internal" if is_unrolled else "hidden"
    text = inner.text(f"define {linkage} i32 {name}({', '.join(parameters)}) {e.attributes}")
    (e.module.chunks if is_unrolled else e.module.improved).extend([text, *inner.footnotes])
    return bool(inner.exits)
