"""What is told of a run of the evaluator as it goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import func
from xdsl.ir import Block, Operation


class Watch:
    """Asked for nothing more, it looks on. Values are told apart by identity: it keeps alive those that it knows."""

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
        """`copy` stands for `value` from now on."""

    def entered(self, op: Operation) -> None:
        """A loop or a branch begins."""

    def began(self, block: Block) -> None:
        """A block of the loop or branch that was entered last begins."""

    def left(self) -> None:
        """The loop or branch that was entered last has ended."""
