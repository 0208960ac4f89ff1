"""Reverse mode: walks a block backwards and asks each op for its `vjp`.

Reads: a function of func, scf and nd ops. Writes: the same function, followed by its reverse sweep. Leaves: residual
markers where the reverse sweep uses a value that is not visible to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import func, scf
from xdsl.ir import Block, Operation, SSAValue

from mlirad.analysis.loops import LoopOp
from mlirad.autodiff import call_adjoint, regions
from mlirad.autodiff.call_adjoint import Recorded
from mlirad.autodiff.cancel_clears import mark_clear
from mlirad.autodiff.cotangents import Cotangents, Reverse
from mlirad.autodiff.naming import Mirror
from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Given
from mlirad.dialect.core.expr import Expr, located
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.ops.choice import annihilated
from mlirad.errors import DifferentiationError
from mlirad.xdsl_support.effects import is_terminator


@dataclass
class Adjoint(Reverse):
    """The reverse sweep of one function; ops are emitted at the current insertion point.

    recorded: the calls that have recorded, in their forward sweeps, what their pullbacks need. annihilates: whether a
    cotangent of exactly 0 annihilates an infinite factor.
    """

    recorded: Recorded | None = None
    annihilates: bool = True

    def replayed(self, op: LoopOp) -> LoopOp:
        if self.recorded is None or op not in self.recorded.loops.copies:
            return op
        assert self.recorded.tapes is not None
        return self.recorded.loops.replaying(op, self.recorded.tapes)

    def block(self, block: Block, last: Operation | None, cotangents: Cotangents, at: Mirror) -> None:
        op = last if last is not None else block.last_op
        while op is not None:
            before = op.prev_op
            if not is_terminator(op.__class__):
                with located(types.of_adjoint(op.location)):
                    self._op(op, cotangents, at)
            op = before

    def _op(self, op: Operation, cotangents: Cotangents, at: Mirror) -> None:
        if not any(result in cotangents for result in op.results):
            return
        match op:
            case NdOp():  # the most frequent case first, because checks against xDSL's abstract classes are slow
                self._rule(op, cotangents, at)
            case scf.ForOp() | scf.WhileOp():
                regions.reverse_loop(self, op, cotangents, at)
            case scf.IfOp():
                regions.reverse_if(self, op, cotangents, at)
            case func.CallOp() if self.recorded is not None and op in self.recorded.sites:
                call_adjoint.reverse_call(self, op, self.recorded, cotangents, at)
            case _:
                raise DifferentiationError(f"{op.name} has no derivative", types.from_location(op.location))

    def _rule(self, op: NdOp, cotangents: Cotangents, at: Mirror) -> None:
        gs = [cotangents.pop(result, None) for result in op.results]
        outs = [self.name(result, at) for result in op.results]
        operands = [self.name(operand, at) for operand in op.operands]
        for g, result, given in _asked(op, gs):
            answers = op.cotangents(given, outs, operands)
            for index, (operand, cotangent) in enumerate(zip(op.operands, answers, strict=True)):
                mark_clear(g, cotangent)
                if cotangent is not None and operand in self.activity.live:
                    if self.annihilates and op.scales(index) and (op.singular or result not in self.needed):
                        assert isinstance(cotangent, Expr), "a cotangent that is added in place has no factor"
                        cotangent = annihilated(cotangent, g)
                    self.add(cotangents, operand, cotangent, at)


def _asked(op: NdOp, gs: Sequence[Expr | None]) -> Iterator[tuple[Expr, SSAValue, Given]]:
    """The queries to an op: a result, its cotangent, and all cotangents that are passed at once.

    If the op has factors, each result gets a query of its own: a cotangent of exactly 0 annihilates only its own
    factors.
    """
    found = [(place, g, op.results[place]) for place, g in enumerate(gs) if g is not None]
    if len(found) > 1 and any(map(op.scales, range(len(op.operands)))):
        for place, g, result in found:
            yield g, result, [g if other == place else None for other in range(len(gs))]
    else:
        _, g, result = found[0]
        yield g, result, gs
