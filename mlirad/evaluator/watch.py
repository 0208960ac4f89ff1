"""Observes a run of the evaluator, op by op.

Reads: the ops that run, their operands and results. Writes: nothing. Leaves: what subclasses record.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import func
from xdsl.ir import Block, Operation


class Watch:
    """An observer that does nothing. Subclasses distinguish values by identity, so they keep alive those they know."""

    def started(self, function: func.FuncOp, values: Sequence[Any]) -> None:
        """The run is a call of this function with these values."""

    def ended(self, results: Sequence[Any]) -> None:
        """The run gave these results. What this raises, the call raises."""

    def enters(self, function: func.FuncOp) -> bool:
        """Whether a call of this function is a run of its ops, and not of one op."""
        return True

    def ran(self, op: Operation, operands: Sequence[Any], results: Sequence[Any]) -> None:
        """An op without regions has been run, or a call that is not entered."""

    def handed_on(self, value: Any, copy: Any) -> None:
        """`copy` replaces `value` from now on."""

    def entered(self, op: Operation) -> None:
        """A loop or a branch begins."""

    def began(self, block: Block) -> None:
        """A block of the loop or branch that was entered last begins."""

    def left(self) -> None:
        """The loop or branch that was entered last has ended."""
