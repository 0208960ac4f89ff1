"""Which element reads of an array that a loop overwrites may be read from the loop's final array instead.

That is right if no write that comes after the read touches what it reads. Indices are compared as linear forms in loop
counters, which are never negative.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue


@dataclass
class FinalArrays:
    """The final arrays of one function's loops."""

    entry: Block

    def array(self, op: Operation) -> tuple[int, SSAValue] | None:
        """The number of the operand that is read, and the final array that may be read instead."""
        return None
