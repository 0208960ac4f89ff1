"""The state of a reverse sweep: its names for forward values, and the cotangents so far.

Reads: forward values. Writes: sums of cotangents, zeros. Leaves: the order of the sweep to `adjoint.py`. The adjoints
of loops, branches and calls process blocks with the method `block`.

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
from mlirad.dialect.core.answers import At
from mlirad.dialect.core.expr import Expr

Cotangents = dict[SSAValue, Expr]


@dataclass
class Reverse(ABC):
    """A reverse sweep.

    `cotangents` holds the current cotangents of the visible forward values; a value without an entry has the cotangent
    zero.
    needed: the forward values that are needed in every element. No element of their cotangents is zero for lack of a
    use. In products of other cotangents, 0 times infinity is 0.
    """

    activity: Activity
    needed: Set[SSAValue] = frozenset()
    naming: Naming = field(default_factory=Naming)
    _scattered: dict[SSAValue, At] = field(default_factory=dict)
    """For each cotangent that is zero but for a scattered part: the addition of the part. The next term is its base."""

    @abstractmethod
    def block(self, block: Block, last: Operation | None, cotangents: Cotangents, at: Mirror) -> None:
        """Undo the ops of a forward block from `last` (None: the end of the block) to the first."""

    def replayed(self, op: LoopOp) -> LoopOp:
        """The loop that reruns the trips of a checkpointed loop: the loop itself, if nothing in it may run only
        once."""
        return op

    def add(self, cotangents: Cotangents, value: SSAValue, g: Expr | At | None, at: Mirror) -> None:
        """Add g to the cotangent of a forward value."""
        if g is None or value not in self.activity.live:
            return
        so_far = cotangents.get(value)
        if isinstance(g, At):
            total = g.add(self.zeros_like(value, at) if so_far is None else so_far)
            if g.is_scattered and so_far is None:
                self._scattered[total.value] = g
        elif so_far is None:
            total = g
        else:
            part = self._scattered.pop(so_far.value, None)
            total = so_far + g if part is None else part.add(g)
        cotangents[value] = total
        hint_cotangent(cotangents[value].value, value)

    def name(self, value: SSAValue, at: Mirror) -> Expr:
        return Expr(self.naming.name(value, at))

    def zeros_like(self, value: SSAValue, at: Mirror) -> Expr:
        return self.naming.zeros_like(value, at)
