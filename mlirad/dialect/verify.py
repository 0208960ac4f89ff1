"""What xDSL's verifier leaves out: every value is defined before it is used, in a scope that encloses the use.

Reads: any module. Writes: nothing. Raises VerifyException at the first op that uses what it cannot see.
"""

from __future__ import annotations

from xdsl.ir import Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException


def verify_dominance(module: Operation) -> None:
    """Raise VerifyException unless each operand's definition dominates its use. Blocks are straight code (no cf)."""
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
                    raise VerifyException(f"operand {index} of {op.name} is not visible there: {op} uses {operand}")
            _check_regions(op, visible)
            own.extend(op.results)
            visible.update(op.results)
        visible.difference_update(own)
