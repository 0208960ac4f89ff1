"""Reverse mode: walks a block backwards and asks each op for its `vjp`.

Reads: a function of func, scf and nd ops. Writes: the same function, followed by its reverse sweep. Leaves: residual
markers where the reverse sweep uses a value that is not visible to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import func, scf
from xdsl.ir import Block, Operation

from mlirad.autodiff import call_adjoint, regions
from mlirad.autodiff.call_adjoint import Recorded
from mlirad.autodiff.cancel_clears import mark_clear
from mlirad.autodiff.cotangents import Cotangents, Reverse
from mlirad.autodiff.naming import Mirror
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import located
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.ops.choice import annihilated
from mlirad.errors import DifferentiationError
from mlirad.xdsl_support.effects import is_terminator


@dataclass
class Adjoint(Reverse):
    """The reverse sweep of one function; ops are emitted at the current insertion point.

    recorded: the calls whose forward sweeps have recorded what their pullbacks need.
    """

    recorded: Recorded | None = None

    def block(self, block: Block, last: Operation | None, cotangents: Cotangents, at: Mirror) -> None:
        op = last if last is not None else block.last_op
        while op is not None:
            before = op.prev_op
            if not is_terminator(op.__class__):
                with located(op.location):
                    self._op(op, cotangents, at)
            op = before

    def _op(self, op: Operation, cotangents: Cotangents, at: Mirror) -> None:
        if not any(result in cotangents for result in op.results):
            return
        match op:
            case NdOp():  # the most frequent first: to ask xDSL's abstract classes is slow
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
        given = [cotangents.pop(result, None) for result in op.results]
        outs = [self.name(result, at) for result in op.results]
        gs = [self.zeros_like(r, at) if g is None else g for r, g in zip(op.results, given, strict=True)]
        operands = [self.name(operand, at) for operand in op.operands]
        if len(gs) == 1:
            answer = op.vjp(gs[0], outs[0], *operands)
        else:  # ops of several results take tuples
            answer = op.vjp(tuple(gs), tuple(outs), *operands)  # pyright: ignore[reportArgumentType]
        answers = answer if isinstance(answer, tuple) else (answer,)
        for index, (operand, cotangent) in enumerate(zip(op.operands, answers, strict=True)):
            mark_clear(gs[0], cotangent)
            if cotangent is not None and operand in self.activity.live:
                if op.scales(index) and (op.singular or op.results[0] not in self.needed):
                    cotangent = annihilated(cotangent, gs[0])
                self.add(cotangents, operand, cotangent, at)
