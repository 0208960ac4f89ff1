"""Forward mode: each live value gets a tangent, and each op is asked for its `jvp`.

Reads: a function of func, scf and nd ops. Writes: the same function with tangents. Leaves: no marker, no request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import func, scf
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from mlirad.analysis.loops import Loop, add_results, add_yields, branches, terminator, yields
from mlirad.autodiff.activity import Activity
from mlirad.autodiff.callees import Pushed, retarget
from mlirad.autodiff.naming import hint_cotangent
from mlirad.autodiff.sizes import size_value, unknown_axes, zeros
from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Given
from mlirad.dialect.core.derivative import total
from mlirad.dialect.core.expr import Expr, building, located
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.ops.choice import annihilated
from mlirad.errors import DifferentiationError
from mlirad.xdsl_support.effects import is_terminator


@dataclass
class Tangent:
    """The tangents so far of one function's values. A value without an entry has the tangent zero."""

    activity: Activity
    called: Mapping[str, Pushed] = field(default_factory=dict)
    tangents: dict[SSAValue, Expr] = field(default_factory=dict)

    def block(self, block: Block) -> None:
        """Emit tangents next to the ops of a block."""
        for op in list(block.ops):
            if not is_terminator(op.__class__) and self.activity.is_live(op):
                with located(op.location):
                    self._op(op)

    def _op(self, op: Operation) -> None:
        match op:
            case scf.ForOp() | scf.WhileOp():
                self._loop(op)
            case scf.IfOp():
                self._if(op)
            case func.CallOp() if op.callee.string_value() in self.called:
                self._call(op, self.called[op.callee.string_value()])
            case NdOp():
                with building(InsertPoint.after(op)):
                    self._rule(op)
            case _:
                raise DifferentiationError(f"{op.name} has no derivative", types.from_location(op.location))

    def _rule(self, op: NdOp) -> None:
        given = [self.tangents.get(operand) for operand in op.operands]
        if all(tangent is None for tangent in given):
            return
        outs, operands = [Expr(result) for result in op.results], [Expr(operand) for operand in op.operands]
        rule = self._masked if op.singular else op.__class__.tangents
        for result, tangent in zip(op.results, rule(op, given, outs, operands), strict=True):
            if tangent is not None:
                hint_cotangent(tangent.value, result)
                self.tangents[result] = tangent

    def _masked(self, op: NdOp, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        """One operand at a time, so that a tangent of exactly 0 annihilates only its own factor."""
        totals: list[Expr | None] = [None] * len(outs)
        for index, tangent in enumerate(given):
            if tangent is None:
                continue
            alone = [tangent if place == index else None for place in range(len(given))]
            terms = op.tangents(alone, outs, operands)
            if op.scales(index):
                terms = [None if term is None else annihilated(term, tangent) for term in terms]
            totals = list(map(total, totals, terms))
        return totals

    def of(self, value: SSAValue) -> Expr:
        """The tangent of a value. If it has none: zeros, made at the insertion point."""
        if value in self.tangents:
            return self.tangents[value]
        return zeros(value, [Expr(size_value(value, axis)) for axis in unknown_axes(value)])

    def _call(self, op: func.CallOp, pushed: Pushed) -> None:
        """Call the function that also computes the tangents."""
        with building(InsertPoint.before(op)):
            given = [self.of(op.operands[number]).value for number in pushed.part.wrt]
        outs = [op.results[number] for number in pushed.part.outs]
        retarget(op, pushed.name, given)
        for out, tangent in zip(outs, add_results(op, outs), strict=True):
            hint_cotangent(tangent, out)
            self.tangents[out] = Expr(tangent)

    def _loop(self, op: scf.ForOp | scf.WhileOp) -> None:
        loop, live = Loop(op), self.activity.live
        carried = [carry for carry in loop.carries if carry.arg in live or carry.result in live]
        with building(InsertPoint.before(op)):
            inits = [self.of(carry.init).value for carry in carried]
        args, results = loop.add(inits)
        for carry, arg, result in zip(carried, args, results, strict=True):
            hint_cotangent(arg, carry.arg)
            hint_cotangent(result, carry.result)
            self.tangents[carry.arg] = Expr(arg)
            self.tangents[carry.result] = Expr(result)
        self.block(loop.body)
        with building(InsertPoint.before(terminator(loop.body))):
            ends = [self.of(carry.yielded).value for carry in carried]
        add_yields(loop.body, ends)

    def _if(self, op: scf.IfOp) -> None:
        ends = [yields(block) for block in branches(op)]
        for block in branches(op):
            self.block(block)
        places = [
            index
            for index, result in enumerate(op.results)
            if result in self.activity.live and any(values[index] in self.tangents for values in ends)
        ]
        primal = [op.results[index] for index in places]
        for block, values in zip(branches(op), ends, strict=True):
            with building(InsertPoint.before(terminator(block))):
                add_yields(block, [self.of(values[index]).value for index in places])
        added = add_results(op, primal)
        self.tangents.update((value, Expr(result)) for value, result in zip(primal, added, strict=True))
