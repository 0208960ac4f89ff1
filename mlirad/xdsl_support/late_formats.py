"""Reads the assembly format of an op class when an op of that class is first parsed or printed.

A compilation prints nothing, and a tool prints a few kinds of ops. Reading the formats of all classes took a fifth of
the time that a process needs to start.

Reads and writes: how xDSL makes a format from its text, before any dialect is imported. Leaves: the texts that are
parsed and printed, and the error of a wrong format, which is raised later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.irdl.declarative_assembly_format import FormatProgram
from xdsl.utils.exceptions import ParseError, PyRDLOpDefinitionError

if TYPE_CHECKING:
    from xdsl.ir import Operation
    from xdsl.irdl import IRDLOperation
    from xdsl.irdl.operations import OpDef
    from xdsl.parser import Parser
    from xdsl.printer import Printer

_read = FormatProgram.from_str


def read_formats_late() -> None:
    """Give each class that is defined from now on a format that is read at its first use."""
    FormatProgram.from_str = staticmethod(LateFormat)  # pyright: ignore[reportAttributeAccessIssue]  # used in the same way


class LateFormat:
    """A format that is read when it is first used."""

    __slots__ = ("_definition", "_program", "_text")

    def __init__(self, text: str, definition: OpDef):
        self._text, self._definition = text, definition
        self._program: FormatProgram | None = None

    def parse(self, parser: Parser, op_type: type[IRDLOperation]) -> Operation:
        return self.program().parse(parser, op_type)

    def print(self, printer: Printer, op: IRDLOperation) -> None:
        self.program().print(printer, op)

    def program(self) -> FormatProgram:
        """The format. Raises PyRDLOpDefinitionError if its text is wrong."""
        if self._program is None:
            try:
                self._program = _read(self._text, self._definition)
            except ParseError as error:
                message = f"Error during the parsing of the assembly format of {self._definition.name}: "
                raise PyRDLOpDefinitionError(message, error.args) from error
        return self._program
