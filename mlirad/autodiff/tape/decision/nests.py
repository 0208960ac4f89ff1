"""The loops around a stored value, and how many of their trip counts are known before the outermost loop starts.

Reads: the forward sweep. Writes: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from mlirad.analysis.loops import Loop
from mlirad.autodiff.tape.decision.forward_values import Base
from mlirad.dialect.core import types
from mlirad.xdsl_support.effects import has_no_effect

Step = tuple[Operation, Block]


def path_to(block: Block, entry: Block) -> tuple[Step, ...]:
    """The region ops around a block, outermost first, each with its block that contains the next op."""
    steps: list[Step] = []
    while block is not entry:
        op = block.parent_op()
        assert op is not None and op.parent is not None
        steps.append((op, block))
        block = op.parent
    return tuple(reversed(steps))


@dataclass(frozen=True)
class Nest:
    """Loops, outermost first. The trip counts of all loops after number `grows` (from 1) are known above the nest.

    The count of loop number `grows` is not known, so a tape for the nest grows. 0: all counts are known. base: of that
    loop, if there are loops around it. branches: the branches around the tape's values whose conditions are known above
    the nest.
    """

    loops: tuple[Loop, ...]
    grows: int
    base: Base | None
    branches: tuple[Step, ...]


@dataclass
class Nests:
    """The nests of one function."""

    entry: Block
    _is_known: dict[SSAValue, bool] = field(default_factory=dict)

    def of(self, path: Sequence[Step]) -> Nest | None:
        """The loops of a path; None if there are none."""
        loops = tuple(Loop(op) for op, _ in path if isinstance(op, scf.ForOp | scf.WhileOp))
        if not loops:
            return None
        grows = len(loops)
        while grows > 0 and self._has_known_count(loops[grows - 1]):
            grows -= 1
        base = Base(loops[grows - 1], loops[grows - 2].body) if grows >= 2 else None
        branches = tuple(step for step in path if isinstance(step[0], scf.IfOp) and self._decides_above(step[0].cond))
        return Nest(loops, grows, base, branches)

    def _has_known_count(self, loop: Loop) -> bool:
        return isinstance(loop.op, scf.ForOp) and self._is_known_above(loop.op.ub)

    def _decides_above(self, condition: SSAValue) -> bool:
        """Whether a condition is known above the nest, and is computed from integers only.

        Floats could be rounded differently when they are computed again.
        """
        if not self._is_known_above(condition):
            return False
        pending, seen = [condition], set[SSAValue]()
        while pending:
            value = pending.pop()
            op = value.owner
            if isinstance(op, Operation) and op.parent is not self.entry and value not in seen:
                if any(types.is_inexact(operand.type) for operand in op.operands):
                    return False
                seen.add(value)
                pending += op.operands
        return True

    def _is_known_above(self, value: SSAValue) -> bool:
        """Whether a value is index arithmetic on values that are known above the nest."""
        if value not in self._is_known:
            op = value.owner
            if isinstance(op, Block) or op.parent is self.entry:
                known = op is self.entry or isinstance(op, Operation)
            elif op.regions or not has_no_effect(op) or types.is_tensor(value.type):
                known = False
            else:
                known = all(self._is_known_above(each) and not types.is_tensor(each.type) for each in op.operands)
            self._is_known[value] = known
        return self._is_known[value]
