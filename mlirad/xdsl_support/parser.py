"""xDSL's parser for handwritten text: every op knows its location in the text, and malformed text raises one error.

Reads: the text of a module, and its name. Writes: nothing. Leaves: a module; each op without `loc(...)` has the
location of its first character, as in MLIR. Raises ParseError.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr, UnknownLoc
from xdsl.ir import Operation
from xdsl.parser import Parser, ParserState
from xdsl.utils.exceptions import BuilderNotFoundException, ParseError, VerifyException
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer

_FORMAT_ERRORS = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError),
    *(BuilderNotFoundException, VerifyException),
)
"""The exceptions, besides ParseError, that the parsers of xDSL's ops raise for unexpected text."""

_CLEARER = {
    " in block definition": "expected an operation, a block `^name:`, or `}`",
    "Could not parse entire input!": "expected an operation",
}
"""What is expected, for messages of xDSL that do not say it."""


class Lexer(MLIRLexer):
    """Reads strings in linear time: xDSL's regular expression needs 2**n steps for n characters without a closing
    quote."""

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')


class PlacedParser(Parser):
    """A parser whose ops know their location in the text."""

    def __init__(self, context: Context, text: str, name: str):
        super().__init__(context, "", name)
        self._name = StringAttr(name)
        self._start = 0  # of the operation being parsed
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._parser_state = ParserState(Lexer(Input(text, name)))

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        try:
            return super().parse_module(allow_implicit_module)
        except ParseError as error:
            if error.msg not in _CLEARER:
                raise
            raise ParseError(error.span, _CLEARER[error.msg]) from None

    def parse_operation(self) -> Operation:
        start = self._start = self.pos
        try:
            op = super().parse_operation()
        except _FORMAT_ERRORS as error:
            self.raise_error(f"this is not a well-formed operation: {error}", start, self.pos)
        if isinstance(op.location, UnknownLoc):
            op.location = self._location(start)
        return op

    def _get_op_by_name(self, name: str) -> type[Operation]:
        try:
            return super()._get_op_by_name(name)
        except ParseError as error:  # it has the location of the next token
            self.raise_error(error.msg, self._start, self.pos)

    def _location(self, position: int) -> FileLineColLoc:
        line = bisect_right(self._lines, position)
        return FileLineColLoc(self._name, IntAttr(line), IntAttr(position - self._lines[line - 1] + 1))
