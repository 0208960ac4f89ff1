"""Counts paths of dependence: tangents whose factors are all 1. A count of 0 means no dependence on the inputs.

Reads: a function of func, scf and nd ops. Writes: the same function with counts of paths. Leaves: no marker.

The counts do not depend on the values of floats. If a float decides a branch, both sides are computed and their paths
added. If a float decides the trips of a loop, or which element is read, the paths are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import func, scf
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from mlirad.analysis.loops import terminator, yields
from mlirad.analysis.varying import varying
from mlirad.autodiff.naming import hint_cotangent
from mlirad.autodiff.tangent import Tangent
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, broadcast_scalar, building, located, where
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.ops.check import EffectOp
from mlirad.dialect.ops.elementwise import ElementwiseOp
from mlirad.errors import DifferentiationError
from mlirad.xdsl_support.effects import has_no_effect, is_terminator
from mlirad.xdsl_support.traversal import ops_inside, ops_of

_HINT = "pass the pattern: sparsity=pattern, with 0 at each entry where the derivative is always 0"


@dataclass
class PathCounts(Tangent):
    """The path counts so far of one function's values. decided: the values that depend on the values of the
    arguments."""

    decided: set[SSAValue] = field(default_factory=set)

    def _rule(self, op: NdOp) -> None:
        given = [self.tangents.get(operand) for operand in op.operands]
        if all(count is None for count in given):
            return
        if not isinstance(op, ElementwiseOp):
            for operand in op.operands:
                if operand in self.decided and not types.is_inexact(operand.type):
                    raise _refusal(op, "which elements are used here depends on the values of the arguments")
        found = op.paths(given, [Expr(result) for result in op.results], [Expr(each) for each in op.operands])
        if found is None:
            raise _refusal(op, f"it is not known which numbers the results of {op.name} depend on")
        for result, count in zip(op.results, found, strict=True):
            if count is not None:
                hint_cotangent(count.value, result)
                self.tangents[result] = count

    def _op(self, op: Operation) -> None:
        if isinstance(op, func.CallOp):
            raise _refusal(op, "this call is recursive")
        super()._op(op)

    def _loop(self, op: scf.ForOp | scf.WhileOp) -> None:
        control = [op.lb, op.ub, op.step] if isinstance(op, scf.ForOp) else yields(op.before_region.block)[:1]
        if not self.decided.isdisjoint(control):
            raise _refusal(op, "how often this loop runs depends on the values of the arguments")
        super()._loop(op)


def take_both_sides(block: Block, args: Sequence[SSAValue]) -> None:
    """Compute both sides of each branch that depends on the values of `args`, and select the results."""
    _both_sides(block, varying(block, args))


def _both_sides(block: Block, decided: set[SSAValue]) -> None:
    for op in ops_of(block):
        if isinstance(op, scf.IfOp) and op.cond in decided:
            _flatten(op)
    for op in ops_of(block):
        for region in op.regions:
            for inner in region.blocks:
                _both_sides(inner, decided)


def _flatten(op: scf.IfOp) -> None:
    """Move both sides in front of a branch, and select. A failing check on the side not taken stops the search."""
    for inner in ops_inside(op):
        if isinstance(inner, scf.WhileOp):
            raise _refusal(inner, "whether this loop runs depends on the values of the arguments")
        harmless = inner.regions or is_terminator(inner.__class__) or isinstance(inner, EffectOp)
        if not harmless and not has_no_effect(inner):
            raise _refusal(inner, "whether this op runs depends on the values of the arguments")
    sides: list[Sequence[SSAValue]] = []
    for region in op.regions:
        if region.blocks:
            sides.append(yields(region.block))
            for inner in ops_of(region.block):
                if inner is not terminator(region.block):
                    inner.detach()
                    Rewriter.insert_op(inner, InsertPoint.before(op))
    with building(InsertPoint.before(op)), located(op.location):
        chosen = [_selected(op, Expr(op.cond), Expr(x), Expr(y)).value for x, y in zip(*sides, strict=True)]
    Rewriter.replace_op(op, [], chosen)


def _selected(op: scf.IfOp, condition: Expr, x: Expr, y: Expr) -> Expr:
    if x.is_tensor and not types.is_static(x.type):
        raise _refusal(op, "this branch depends on the values of the arguments, and the sizes of arrays on the branch")
    return where(broadcast_scalar(condition, x) if x.is_tensor else condition, x, y)


def _refusal(op: Operation, why: str) -> DifferentiationError:
    return DifferentiationError(f"the sparsity pattern cannot be found: {why}", types.from_location(op.location), _HINT)
