"""Prints `scf.while` with locations so that it parses back: xDSL also prints one in front of its regions.

Reads: nothing. Writes: the text form of `scf.while`, once, when the package is imported. Leaves: text without
locations.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, SSAValue
from xdsl.printer import Printer


def mend_while_locations() -> None:
    """Print the location of `scf.while` only at its end. Called when the package is imported."""
    scf.WhileOp.print = _print_while


def _print_while(self: scf.WhileOp, printer: Printer) -> None:
    def print_start(pair: tuple[BlockArgument, SSAValue]) -> None:
        for value, after in zip(pair, (" = ", ""), strict=True):
            printer.print_ssa_value(value)
            printer.print_string(after)

    starts = list(zip(self.before_region.block.args, self.arguments, strict=True))
    printer.print_string(" (")
    printer.print_list(starts, print_start)
    printer.print_string(") : ")
    printer.print_function_type(self.operand_types, self.result_types)
    printer.print_string(" ")
    printer.print_region(self.before_region, print_entry_block_args=False)
    printer.print_string(" do ")
    printer.print_region(self.after_region)
    if self.attributes:
        printer.print_op_attributes(self.attributes, print_keyword=True)
