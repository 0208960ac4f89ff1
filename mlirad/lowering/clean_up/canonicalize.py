"""Folds constants, applies identities, and removes branches on known conditions and loops of at most one trip.

Reads and writes: tensor, autodiff and optimized stages, in place. Leaves: no op that an identity of `algebra` or
`array_algebra` simplifies, no branch on a known condition, no loop of at most one trip, no carry that never changes.

The pass uses a worklist: an op is visited again when an operand has changed. Ops with effects are kept, except checks
that hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import AnyFloat, IntegerType, ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from mlirad.analysis.constants import is_number, known_number
from mlirad.analysis.integers import increment
from mlirad.analysis.loops import Carries, is_structured, terminator, trip_count
from mlirad.analysis.ranges import Ranges
from mlirad.dialect.core import types
from mlirad.dialect.core.effect_table import is_removable
from mlirad.dialect.core.expr import Expr, apply, constant, emit, where
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.ops.check import EffectOp
from mlirad.dialect.ops.choice import MaximumOp, SelectOp
from mlirad.lowering.clean_up import algebra, array_algebra
from mlirad.lowering.clean_up.algebra import Rule, Rules, general_rules, simpler
from mlirad.lowering.rewriting import erase, in_place_of, replace, splice
from mlirad.xdsl_support.effects import is_terminator, only_computes
from mlirad.xdsl_support.traversal import defining_block, ops_inside

_IDENTITIES: Rules = {**algebra.RULES, **array_algebra.RULES}


@cache
def _identities(kind: type[Operation]) -> tuple[Rule, ...]:
    """The identities of a class of ops, in the order in which they are tried."""
    if not issubclass(kind, NdOp) or not only_computes(kind):
        return ()
    return (*general_rules(kind), *_IDENTITIES.get(kind, ()))


@dataclass(frozen=True)
class Canonicalize(ModulePass):
    """Apply every identity until none applies.

    Before:

        func.func @f(%x: f64) -> f64 {
          %one = nd.constant {value = 1.0 : f64} : f64
          %a = nd.mul %x, %one : f64
          %two = nd.add %one, %one : f64
          %y = nd.mul %a, %two : f64
          func.return %y : f64
        }

    After `mlirad-canonicalize`:

        func.func @f(%x: f64) -> f64 {
          %cst = nd.constant {value = 2.000000e+00 : f64} : f64
          %y = nd.mul %x, %cst : f64
          func.return %y : f64
        }
    """

    name = "mlirad-canonicalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        ops = ops_inside(op)
        _Worklist(ops[::-1], set(ops)).run()


@dataclass
class _Worklist:
    """Ops to visit, last in first out, each at most once. Pushed in reverse, a program's ops come out in order."""

    stack: list[Operation]
    waiting: set[Operation]

    def add(self, op: Operation) -> None:
        if op not in self.waiting:
            self.waiting.add(op)
            self.stack.append(op)

    def run(self) -> None:
        while self.stack:
            op = self.stack.pop()
            self.waiting.discard(op)
            if op.parent is not None:  # not erased in the meantime
                self._visit(op)

    def _visit(self, op: Operation) -> None:
        if self._erase_if_dead(op):
            return
        kind = op.__class__
        rewrite = _rewrite(kind)
        if rewrite is not None:
            rewrite(self, op)
        elif identities := _identities(kind):
            assert isinstance(op, NdOp)
            self.simplify(op, lambda: simpler(op, identities))

    def _erase_if_dead(self, op: Operation) -> bool:
        for result in op.results:
            if result.first_use is not None:
                return False
        if op.regions or not is_removable(op):
            return False
        operands = tuple(op.operands)
        erase(op)
        for operand in operands:
            self.add_owner(operand)
        return True

    def add_owner(self, value: SSAValue) -> None:
        """Visit the op that defines a value again, because the value has lost a use."""
        if isinstance(value, OpResult) and value.op.parent is not None:
            self.add(value.op)

    def add_users(self, value: SSAValue) -> None:
        for use in value.uses:
            user = use.operation
            self.add(user)
            parent = user.parent_op() if is_terminator(user.__class__) else None
            if parent is not None:
                self.add(parent)

    def replace(self, op: Operation, values: Sequence[SSAValue]) -> None:
        """Replace op, and visit the users of its results and the owners of its operands again."""
        operands = tuple(op.operands)
        for result in op.results:
            self.add_users(result)
        replace(op, values)
        for operand in operands:
            self.add_owner(operand)

    def substitute(self, value: SSAValue, other: SSAValue) -> None:
        """Use `other` wherever `value` is used."""
        self.add_users(value)
        value.replace_all_uses_with(other)

    def emit_before(self, op: Operation, build: Callable[[], SSAValue]) -> SSAValue:
        """Build in place of op, and visit the new ops too."""
        before = op.prev_op
        with in_place_of(op):
            value = build()
        self._add_new(before, op)
        return value

    def _add_new(self, before: Operation | None, op: Operation) -> None:
        """Visit the ops between `before` (None: the start of the block) and op."""
        assert op.parent is not None
        new = op.parent.first_op if before is None else before.next_op
        while new is not op:
            assert new is not None
            self.add(new)
            new = new.next_op

    def simplify(self, op: NdOp, answer: Callable[[], Sequence[SSAValue] | None]) -> None:
        """Replace op by a simpler form, if there is one; its ops are emitted in place of op."""
        before = op.prev_op
        with in_place_of(op):
            values = answer()
        if values is not None:
            self._add_new(before, op)
            self.replace(op, values)

    def inline(self, op: Operation, block: Block, arguments: Sequence[SSAValue]) -> list[SSAValue]:
        """Move a block of op to before op. Returns the operands of the block's terminator."""
        for arg in block.args:
            self.add_users(arg)
        return splice(block, op, arguments)


# --- structured ops ---------------------------------------------------------------------------------------------


def _for(work: _Worklist, op: scf.ForOp) -> None:
    trips = trip_count(op)
    if trips == 0:
        work.replace(op, list(op.iter_args))
    elif trips == 1:
        work.replace(op, work.inline(op, op.body.block, [op.lb, *op.iter_args]))
    else:
        _replace_by_formulas(work, op)
        _loop_carries(work, op)


def _while(work: _Worklist, op: scf.WhileOp) -> None:
    before = op.before_region.block
    condition = known_number(terminator(before).operands[0])
    if condition is not None and not condition:
        work.replace(op, work.inline(op, before, list(op.arguments))[1:])
    elif is_structured(op):
        _loop_carries(work, op)


def _loop_carries(work: _Worklist, op: scf.ForOp | scf.WhileOp) -> None:
    """Drop carries that never change, and carries that are equal to another carry."""
    carries = Carries(op)
    first: dict[tuple[SSAValue, SSAValue], int] = {}
    dropped: dict[int, int | None] = {}  # the equal carry, or None if the carry keeps its initial value
    for number, (init, yielded) in enumerate(zip(carries.inits, carries.yielded[0], strict=True)):
        if yielded is init or any(yielded is args[number] for args in carries.region_args):
            dropped[number] = None
        elif first.setdefault((init, yielded), number) != number:
            dropped[number] = first[init, yielded]
    for number, other in dropped.items():
        init = carries.inits[number]
        for args in carries.region_args:
            work.substitute(args[number], init if other is None else args[other])
        work.substitute(op.results[number], init if other is None else op.results[other])
    carries.keep(lambda number: number not in dropped)


Formula = Callable[[Expr], Expr]
"""The value of a carry after a number of trips."""


def _replace_by_formulas(work: _Worklist, op: scf.ForOp) -> None:
    """Replace a carry by a formula of the induction variable, if it has one."""
    if not (is_number(op.lb, 0) and is_number(op.step, 1)):
        return
    body = op.body.block
    parts = zip(op.iter_args, body.args[1:], terminator(body).operands, op.results, strict=True)
    for init, arg, yielded, result in list(parts):
        after = _formula(Expr(init), arg, yielded)
        if after is None or (arg.has_one_use() and result.first_use is None):
            continue
        first = body.first_op
        assert first is not None and op.parent is not None
        inside = work.emit_before(first, lambda after=after: after(Expr(body.args[0])).value)
        outside = work.emit_before(op, lambda after=after: after(emit(MaximumOp, op.ub, constant(0, types.I64))).value)
        work.substitute(arg, inside)
        work.substitute(result, outside)
        # The carry has no reader now: make it one that never changes, so that `_loop_carries` drops it.
        terminator(body).operands[arg.index - 1] = init
        work.add_owner(yielded)


def _formula(init: Expr, arg: SSAValue, yielded: SSAValue) -> Formula | None:
    """The formula of a carry that grows by a constant in each trip, or is negated."""
    step = increment(yielded, arg)
    if step is not None:
        return lambda trips: init + trips * step
    if algebra.is_negated(yielded, arg) and not types.is_tensor(arg.type):
        kind = yielded.owner.__class__
        assert issubclass(kind, NdOp)
        return lambda trips: where(apply(np.bitwise_and, trips, 1) == 0, init, emit(kind, init))
    return None


def _if(work: _Worklist, op: scf.IfOp) -> None:
    condition = known_number(op.cond)
    if condition is not None:
        region = op.true_region if condition else op.false_region
        work.replace(op, work.inline(op, region.block, []) if region.blocks else [])
        return
    if not op.results:
        if all(block.first_op is block.last_op for region in op.regions for block in region.blocks):
            work.replace(op, [])
        return
    carries = Carries(op)
    first: dict[tuple[SSAValue, SSAValue], int] = {}
    dropped: set[int] = set()
    for number, pair in enumerate(zip(*carries.yielded, strict=True)):
        value = _choice(work, op, pair)
        if value is None and first.setdefault(pair, number) != number:
            value = op.results[first[pair]]
        if value is not None:
            work.substitute(op.results[number], value)
            dropped.add(number)
    carries.keep(lambda number: number not in dropped)
    if dropped:
        work.add(op)


def _choice(work: _Worklist, op: scf.IfOp, pair: tuple[SSAValue, SSAValue]) -> SSAValue | None:
    """A result of op as a value from outside, or as a selection between two scalars from outside."""
    then, otherwise = pair
    if _is_local(then, op) or _is_local(otherwise, op):
        return None
    if then is otherwise:
        return then
    if types.is_tensor(then.type) or not isinstance(then.type, IntegerType | AnyFloat):
        return None  # a branch selects arrays by pointer, without a copy
    return work.emit_before(op, lambda: emit(SelectOp, op.cond, then, otherwise).value)


def _is_local(value: SSAValue, op: scf.IfOp) -> bool:
    block = defining_block(value)
    return block is not None and block.parent_op() is op


# --- checks -----------------------------------------------------------------------------------------------------


def _check(work: _Worklist, op: EffectOp) -> None:
    """Replace a check with constant operands by its results."""
    work.simplify(op, lambda: op.simplified(Ranges()))


_REWRITES: dict[type[Operation], Callable[[_Worklist, Any], None]] = {
    scf.ForOp: _for,
    scf.WhileOp: _while,
    scf.IfOp: _if,
}


@cache
def _rewrite(kind: type[Operation]) -> Callable[[_Worklist, Any], None] | None:
    return _check if issubclass(kind, EffectOp) else _REWRITES.get(kind)
