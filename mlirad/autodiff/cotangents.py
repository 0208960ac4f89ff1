"""The state of a reverse sweep: the names of forward values in it, and the cotangents so far.

Reads: forward values. Writes: sums of cotangents, zeros. Leaves: the order of the sweep, which is `adjoint.py`'s; the
adjoints of loops, branches and calls go through blocks by the method `block`.

Only this file adds cotangents and makes zeros. A zero is symbolic (absent) for as long as possible.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Set
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from mlirad.analysis.loops import LoopOp
from mlirad.autodiff.activity import Activity
from mlirad.autodiff.naming import Mirror, Naming, hint_cotangent
from mlirad.dialect.core.expr import Expr
from mlirad.dialect.core.op import At

Cotangents = dict[SSAValue, Expr]


@dataclass
class Reverse(ABC):
    """A reverse sweep.

    `cotangents` are the current ones of the visible forward values; a value without one has the cotangent zero.
    needed: the forward values whose cotangents have no element that is zero because nothing needs it. In products of
    other cotangents 0 times infinity is 0.
    """

    activity: Activity
    needed: Set[SSAValue] = frozenset()
    naming: Naming = field(default_factory=Naming)

    @abstractmethod
    def block(self, block: Block, last: Operation | None, cotangents: Cotangents, at: Mirror) -> None:
        """Undo the ops of a forward block from `last` (none: its end) to its first."""

    def replayed(self, op: LoopOp) -> LoopOp:
        """What runs the trips of a checkpointed loop again: the loop, if it does nothing that is done only once."""
        return op

    def add(self, cotangents: Cotangents, value: SSAValue, g: Expr | At | None, at: Mirror) -> None:
        """Add g to the cotangent of a forward value."""
        if g is None or value not in self.activity.live:
            return
        so_far = cotangents.get(value)
        if isinstance(g, At):
            cotangents[value] = g.add(self.zeros_like(value, at) if so_far is None else so_far)
        else:
            cotangents[value] = g if so_far is None else so_far + g
        hint_cotangent(cotangents[value].value, value)

    def name(self, value: SSAValue, at: Mirror) -> Expr:
        return Expr(self.naming.name(value, at))

    def zeros_like(self, value: SSAValue, at: Mirror) -> Expr:
        return self.naming.zeros_like(value, at)
