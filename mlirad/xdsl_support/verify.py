"""Verifies a module and names the invalid op: xDSL's own checks, and checks that xDSL lacks.

Reads: any module. Writes: nothing. Raises InvalidOp with the first invalid op.

xDSL does not check that a value is defined before it is used, nor that the yields of `scf.if` and `scf.while` have the
types of the results and carries.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove, NoTerminator
from xdsl.utils.exceptions import VerifyException


class InvalidOp(VerifyException):
    """A VerifyException that knows its op."""

    def __init__(self, op: Operation, message: str):
        super().__init__(message)
        self.op = op


def verify_all(module: Operation) -> None:
    """Raise InvalidOp at the first op that is not valid."""
    for op in module.walk():
        _verify_op(op)
    verify_dominance(module)


def _verify_op(op: Operation) -> None:
    """xDSL's checks of a single op, and of its regions."""
    try:
        op.verify(verify_nested_ops=False)
    except Exception as error:  # xDSL's checks may raise anything, even Exception itself
        # The outer error prints the IR around the op; the inner one has the reason.
        raise InvalidOp(op, f"{op.name}: {error.__cause__ or error}") from error
    if not op.has_trait(NoTerminator):
        for region in op.regions:
            if region.blocks and region.blocks.first is region.blocks.last and region.block.is_empty:
                raise InvalidOp(op, f"{op.name}: a region has no terminator")
    if isinstance(op, scf.IfOp):
        _verify_if(op)
    elif isinstance(op, scf.WhileOp):
        _verify_while(op)


def _verify_if(op: scf.IfOp) -> None:
    for region in op.regions:
        end = region.block.last_op if region.blocks else None
        yielded = end.operand_types if isinstance(end, scf.YieldOp) else ()
        if tuple(yielded) != tuple(op.result_types):
            raise InvalidOp(
                op, f"scf.if returns ({_listed(op.result_types)}), but a region yields ({_listed(yielded)})"
            )


def _verify_while(op: scf.WhileOp) -> None:
    condition, after_end = op.before_region.block.last_op, op.after_region.block.last_op
    if not isinstance(condition, scf.ConditionOp) or not isinstance(after_end, scf.YieldOp):
        raise InvalidOp(op, "scf.while: the regions end in scf.condition and in scf.yield")
    before, after = op.before_region.block.arg_types, op.after_region.block.arg_types
    for what, passed, taken in (
        ("starts from", op.arguments.types, before),
        ("passes to its body", condition.args.types, after),
        ("returns", condition.args.types, op.result_types),
        ("yields", after_end.operand_types, before),
    ):
        if tuple(passed) != tuple(taken):
            raise InvalidOp(op, f"scf.while {what} ({_listed(passed)}), but ({_listed(taken)}) is expected")


def _listed(attributes: Sequence[Attribute]) -> str:
    return ", ".join(map(str, attributes))


def verify_dominance(module: Operation) -> None:
    """Raise InvalidOp unless each operand's definition dominates its use. Blocks are straight-line code (no cf)."""
    _check_regions(module, set())


def _check_regions(op: Operation, visible: set[SSAValue]) -> None:
    outer = set() if op.has_trait(IsolatedFromAbove) else visible
    for region in op.regions:
        _check_region(region, outer)


def _check_region(region: Region, visible: set[SSAValue]) -> None:
    for block in region.blocks:
        own: list[SSAValue] = [*block.args]
        visible.update(own)
        for op in block.ops:
            for index, operand in enumerate(op.operands):
                if operand not in visible:
                    raise InvalidOp(op, f"operand {index} of {op.name} is not visible there: {op} uses {operand}")
            if op.regions:
                _check_regions(op, visible)
            own.extend(op.results)
            visible.update(op.results)
        visible.difference_update(own)
