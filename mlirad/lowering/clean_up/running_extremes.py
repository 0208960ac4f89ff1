"""Finds carried numbers that a loop replaces by larger or smaller ones, and values that are replaced with them.

Reads: scf and nd. Writes: selects instead of branches that only choose numbers. Gives: the roles of such carries.

    if x[i] > high:
        high, place = x[i], i
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import AnyFloat, IntegerType
from xdsl.ir import SSAValue

from mlirad.analysis.loops import Carry, yields
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, where
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.ops.compare import ComparisonOp
from mlirad.lowering.rewriting import in_place_of, replace
from mlirad.xdsl_support.traversal import ops_of

_MIRRORED = {"ogt": "olt", "oge": "ole", "olt": "ogt", "ole": "oge"}
_OPPOSITES = {"ogt": "ule", "oge": "ult", "olt": "uge", "ole": "ugt"}


@dataclass(frozen=True)
class RunningExtreme:
    """A carried number that a trip replaces by `term` if the result of `test` is `outcome`.

    taken: the relation between the term and the number that then holds, as in `nd.running_extreme`.
    """

    carry: Carry
    op: NdOp
    test: SSAValue
    outcome: bool
    term: SSAValue
    taken: str


@dataclass(frozen=True)
class Companion:
    """A carried value that a trip replaces by `value` whenever it replaces the extreme."""

    carry: Carry
    op: NdOp
    value: SSAValue
    extreme: RunningExtreme


def select_numbers(loop: scf.ForOp) -> None:
    """Turn branches that only choose numbers into selects."""
    for op in ops_of(loop.body.block):
        if not isinstance(op, scf.IfOp) or not op.results or not all(map(_is_number, op.results)):
            continue
        if all(region.block.first_op is region.block.last_op for region in op.regions):
            pairs = zip(*(yields(region.block) for region in op.regions), strict=True)
            with in_place_of(op):
                chosen = [where(Expr(op.cond), Expr(one), Expr(other)).value for one, other in pairs]
            replace(op, chosen)


def _is_number(value: SSAValue) -> bool:
    return isinstance(value.type, IntegerType | AnyFloat)


def running_extremes(loop: scf.ForOp, carries: Sequence[Carry]) -> list[RunningExtreme | Companion]:
    """The carries that are running extremes, or are replaced with one."""
    extremes = [each for carry in carries if (each := _extreme(loop, carry)) is not None]
    tested = {each.test: each for each in extremes}
    others = [carry for carry in carries if all(carry is not each.carry for each in extremes)]
    found = [each for carry in others if (each := _companion(loop, carry, tested)) is not None]
    # Nothing else may need the result of a test: it is not known for each trip if all trips are computed at once.
    users = {id(each.op) for each in (*extremes, *found)}
    if any(id(use.operation) not in users for test in tested for use in test.uses):
        return []
    return [*extremes, *found]


def _replaced(loop: scf.ForOp, carry: Carry) -> tuple[NdOp, SSAValue, SSAValue, bool] | None:
    """The op that selects the next value of a carry, its condition, the new value, and whether it is taken if the
    condition holds."""
    op = carry.yielded.owner
    selection = op.selection() if isinstance(op, NdOp) and op.parent is loop.body.block else None
    if selection is None or carry.yielded.uses.get_length() != 1:
        return None
    assert isinstance(op, NdOp)
    condition, x, y = selection
    if types.is_tensor(x.type) or (x is carry.arg) == (y is carry.arg):
        return None
    return (op, condition, x, True) if y is carry.arg else (op, condition, y, False)


def _extreme(loop: scf.ForOp, carry: Carry) -> RunningExtreme | None:
    replaced = _replaced(loop, carry)
    if replaced is None or carry.arg.type not in (types.F32, types.F64):
        return None
    op, condition, term, is_taken = replaced
    test = condition.owner
    if not isinstance(test, ComparisonOp) or {test.x, test.y} != {term, carry.arg}:
        return None
    relation = test.PREDICATES[0] if test.x is term else _MIRRORED.get(test.PREDICATES[0])
    if relation not in _OPPOSITES or carry.arg.uses.get_length() != 2 or test.parent is not loop.body.block:
        return None
    return RunningExtreme(carry, op, condition, is_taken, term, relation if is_taken else _OPPOSITES[relation])


def _companion(loop: scf.ForOp, carry: Carry, tested: dict[SSAValue, RunningExtreme]) -> Companion | None:
    replaced = _replaced(loop, carry)
    if replaced is None or carry.arg.uses.get_length() != 1:
        return None
    op, condition, value, is_taken = replaced
    extreme = tested.get(condition)
    if extreme is None or is_taken != extreme.outcome:
        return None
    return Companion(carry, op, value, extreme)
