"""The types of the `ad` dialect, and lists of numbers in its text."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, FlatSymbolRefAttrConstr, SymbolRefAttr, i64
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    EqAttrConstraint,
    irdl_attr_definition,
    param_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from mlirad.dialect.core.attributes import ints

Numbers = Sequence[int] | DenseArrayBase


def as_numbers(numbers: Numbers) -> DenseArrayBase:
    return numbers if isinstance(numbers, DenseArrayBase) else DenseArrayBase.from_list(i64, list(numbers))


def print_numbers(printer: Printer, keyword: str, numbers: DenseArrayBase) -> None:
    printer.print_string(f" {keyword} [{', '.join(map(str, ints(numbers)))}]")


def parse_numbers(parser: AttrParser, keyword: str) -> DenseArrayBase:
    parser.parse_keyword(keyword)
    return as_numbers(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer))


@irdl_attr_definition
class ResidualsType(ParametrizedAttribute, TypeAttribute):
    """The values passed from the forward sweep of @callee to its pullback, from cotangents of `outs` to those of
    `wrt`."""

    name = "ad.residuals"
    callee: SymbolRefAttr = param_def(FlatSymbolRefAttrConstr)
    wrt: DenseArrayBase = param_def()
    outs: DenseArrayBase = param_def()

    @classmethod
    def of(cls, callee: str | SymbolRefAttr, wrt: Numbers, outs: Numbers) -> ResidualsType:
        symbol = SymbolRefAttr(callee) if isinstance(callee, str) else callee
        return cls(symbol, as_numbers(wrt), as_numbers(outs))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.callee)
            print_numbers(printer, "wrt", self.wrt)
            print_numbers(printer, "outs", self.outs)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            callee = SymbolRefAttr(parser.parse_symbol_name())
            return [callee, parse_numbers(parser, "wrt"), parse_numbers(parser, "outs")]


@irdl_attr_definition
class TripType(ParametrizedAttribute, TypeAttribute):
    """One execution of a forward block, seen from the reverse block that undoes it."""

    name = "ad.trip"


TRIP = EqAttrConstraint(TripType())
