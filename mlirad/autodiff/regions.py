"""The adjoints of scf.for, scf.while and scf.if.

The reverse of a loop is a for over its trips, from the last to the first. The trip counter of a while gives its trip
count; its condition region is not touched. Cotangents of captured values are threaded through: a reverse region takes
the current cotangent and returns the updated one, so that it does not start from new zeros.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import Block, Region, SSAValue

from mlirad.analysis.loops import Carry, Loop, branches, yields
from mlirad.autodiff.checkpoint import is_checkpointed, reverse_checkpointed
from mlirad.autodiff.cotangents import Cotangents, Reverse
from mlirad.autodiff.naming import Mirror, hint_cotangent
from mlirad.autodiff.trip_counters import counter_of, require_canonical
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, constant, insert


def reverse_loop(adjoint: Reverse, op: scf.ForOp | scf.WhileOp, cotangents: Cotangents, at: Mirror) -> None:
    """The reverse loop carries the cotangents of the live carries, and of the live values that the body captures."""
    require_canonical(op)
    loop, live = Loop(op), adjoint.activity.live
    carried = [carry for carry in loop.carries if carry.arg in live or carry.result in live]
    captured = adjoint.activity.captured(op)
    names = [carry.result for carry in carried] + captured
    # The zeros are created once, here, and not in the loop.
    start = [cotangents.pop(name, None) for name in names]
    start = [adjoint.zeros_like(n, at) if g is None else g for n, g in zip(names, start, strict=True)]
    count = adjoint.name(_trip_count(loop), at)
    if is_checkpointed(again := adjoint.replayed(op)):
        wrt = [number for number, carry in enumerate(loop.carries) if carry in carried]
        ends = reverse_checkpointed(adjoint, again, wrt, captured, count, start, at)
    else:
        ends = _undo_trips(adjoint, loop, carried, captured, count, start, at)
    for name, end in zip(names, ends, strict=True):
        hint_cotangent(end.value, name)
    cotangents.update(zip(captured, ends[len(carried) :], strict=True))
    for carry, g in zip(carried, ends, strict=False):
        adjoint.add(cotangents, carry.init, g, at)


def _undo_trips(
    adjoint: Reverse,
    loop: Loop,
    carried: Sequence[Carry],
    captured: Sequence[SSAValue],
    count: Expr,
    start: Sequence[Expr],
    at: Mirror,
) -> list[Expr]:
    """Undo every trip once, from the last to the first."""
    names = [carry.result for carry in carried] + list(captured)
    body = Block(arg_types=[types.I64, *(g.type for g in start)])
    trip, *args = (Expr(arg) for arg in body.args)
    for name, arg in zip(names, args, strict=True):
        hint_cotangent(arg.value, name)
    with building(body):
        counter = (count - 1) - trip
        counter.value.name_hint = "q"
        mirror = adjoint.naming.enter(loop.body, at, counter.value)
        inner: Cotangents = dict(zip(captured, args[len(carried) :], strict=True))
        for carry, g in zip(carried, args, strict=False):
            adjoint.add(inner, carry.yielded, g, mirror)
        adjoint.block(loop.body, None, inner, mirror)
        ends = [inner.pop(carry.arg, None) for carry in carried]
        ends = [adjoint.zeros_like(c.arg, mirror) if g is None else g for c, g in zip(carried, ends, strict=True)]
        insert(scf.YieldOp(*(g.value for g in ends), *(inner[value].value for value in captured)))

    zero, one = constant(0, types.I64), constant(1, types.I64)
    reverse = insert(
        scf.ForOp(zero.value, count.value, one.value, [g.value for g in start], Region(body)),
    )
    return [Expr(result) for result in reverse.results]


def _trip_count(loop: Loop) -> SSAValue:
    if isinstance(loop.op, scf.ForOp):
        return loop.op.ub
    return counter_of(loop).result


def reverse_if(adjoint: Reverse, op: scf.IfOp, cotangents: Cotangents, at: Mirror) -> None:
    """An if on the same condition. A branch emits zeros only at its end, and only where the other has a cotangent."""
    given = {result: cotangents.pop(result) for result in op.results if result in cotangents}
    captured = adjoint.activity.captured(op)
    current = {value: cotangents[value] for value in captured if value in cotangents}
    condition = adjoint.name(op.cond, at)

    ends: list[tuple[Block, Mirror, Cotangents]] = []
    for forward in branches(op):
        reverse = Block()
        with building(reverse):
            mirror = adjoint.naming.enter(forward, at, None)
            inner = dict(current)
            for result, value in zip(op.results, yields(forward), strict=True):
                adjoint.add(inner, value, given.get(result), mirror)
            adjoint.block(forward, None, inner, mirror)
        ends.append((reverse, mirror, inner))

    changed = [value for value in captured if any(inner.get(value) is not current.get(value) for _, _, inner in ends)]
    for reverse, mirror, inner in ends:
        with building(reverse):
            values = [inner[v] if v in inner else adjoint.zeros_like(v, mirror) for v in changed]
            insert(scf.YieldOp(*(g.value for g in values)))
    then, other = (Region(reverse) for reverse, _, _ in ends)
    reverse = insert(scf.IfOp(condition.value, [value.type for value in changed], then, other))
    for value, changed_to in zip(changed, reverse.results, strict=True):
        hint_cotangent(changed_to, value)
        cotangents[value] = Expr(changed_to)
