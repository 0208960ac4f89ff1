"""The common base of requests for transforms.

A request names a function. Innermost requests are expanded first. `wrt` numbers the function's arguments, `outs` the
results with a cotangent or tangent.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from enum import Enum
from typing import Self

from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, FlatSymbolRefAttrConstr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import SymbolTable, SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException

from mlirad.dialect.ad.ad_types import Numbers, ResidualsType, as_numbers, parse_numbers, print_numbers
from mlirad.dialect.core.attributes import ints

Signature = tuple[list[Attribute], list[Attribute], list[Attribute]]


class _CalleeFits(SymbolUserOpInterface):
    """The callee exists, `wrt` and `outs` number its arguments and results, and its type gives the request's types."""

    def verify(self, op: Operation) -> None:
        assert isinstance(op, RequestOp)
        callee = SymbolTable.lookup_symbol(op, op.callee)
        if not isinstance(callee, func.FuncOp):
            raise VerifyException(f"{op.name}: there is no function {op.callee}")
        inputs, outputs = callee.function_type.inputs.data, callee.function_type.outputs.data
        for keyword, numbers, of in (("wrt", ints(op.wrt), inputs), ("outs", ints(op.outs), outputs)):
            if any(not 0 <= number < len(of) for number in numbers) or len(set(numbers)) != len(numbers):
                raise VerifyException(f"{op.name}: {keyword} {list(numbers)} of {len(of)}")
        expected = op.expected(callee)
        actual = ([v.type for v in op.primals], [v.type for v in op.others], [v.type for v in op.results])
        for kind, want, have in zip(("operands", "second operands", "results"), expected, actual, strict=True):
            if want != have:
                raise VerifyException(
                    f"{op.name}: the {kind} should be {[str(t) for t in want]}, not {[str(t) for t in have]}"
                )


class Mode(Enum):
    """The direction in which derivatives are propagated."""

    FORWARD = "forward"
    REVERSE = "reverse"


class RequestOp(IRDLOperation):
    """`ad.kind @callee(primals)(others) wrt [..] outs [..] : (types)(types) -> (types)`."""

    primals = var_operand_def()
    others = var_operand_def()
    callee = prop_def(FlatSymbolRefAttrConstr)
    wrt = prop_def(DenseArrayBase)
    outs = prop_def(DenseArrayBase)
    res = var_result_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(_CalleeFits())

    @property
    def mode(self) -> Mode | None:
        """The mode of the requested derivative; None for other transforms."""
        return None

    @property
    def order(self) -> int:
        """The highest order of the requested derivatives."""
        return 1

    @abstractmethod
    def expected(self, callee: func.FuncOp) -> Signature:
        """The types of primals, others and results that the callee's type gives."""

    @property
    def variant(self) -> tuple[Attribute, ...]:
        """The attributes that distinguish it from other requests for the same transform of the same callee."""
        return ()

    @classmethod
    def _make(
        cls,
        callee: SymbolRefAttr,
        primals: Sequence[SSAValue],
        others: Sequence[SSAValue],
        wrt: Numbers,
        outs: Numbers,
        results: Sequence[Attribute],
    ) -> Self:
        properties = {"callee": callee, "wrt": as_numbers(wrt), "outs": as_numbers(outs)}
        return cls.build(operands=[list(primals), list(others)], properties=properties, result_types=[list(results)])

    def on(self, primals: Sequence[SSAValue], wrt: Sequence[int]) -> Self:
        """The same request on a function with changed arguments."""
        return self._make(self.callee, primals, self.others, wrt, self.outs, [result.type for result in self.results])

    @property
    def residuals(self) -> ResidualsType:
        """The type of the residuals for this callee, wrt and outs."""
        return ResidualsType.of(self.callee, self.wrt, self.outs)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.callee)
        for group in (self.primals, self.others):
            with printer.in_parens():
                printer.print_list(group, printer.print_operand)
        print_numbers(printer, "wrt", self.wrt)
        print_numbers(printer, "outs", self.outs)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        for group in (self.primals, self.others):
            with printer.in_parens():
                printer.print_list(group, lambda value: printer.print_attribute(value.type))
        printer.print_string(" -> ")
        with printer.in_parens():
            printer.print_list(self.res, lambda value: printer.print_attribute(value.type))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        callee = SymbolRefAttr(parser.parse_symbol_name())
        names = [
            parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand) for _ in range(2)
        ]
        wrt, outs = parse_numbers(parser, "wrt"), parse_numbers(parser, "outs")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        groups = []
        for group in names:
            group_types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
            groups.append(parser.resolve_operands(group, group_types, parser.pos))
        parser.parse_punctuation("->")
        results = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        request = cls._make(callee, groups[0], groups[1], wrt, outs, results)
        request.attributes.update(attributes)
        return request


class DerivativeOp(RequestOp):
    """A request for a derivative."""

    @property
    def mode(self) -> Mode:
        return Mode.REVERSE

    @classmethod
    @abstractmethod
    def signature(cls, callee: func.FuncOp, wrt: Numbers, outs: Numbers) -> Signature:
        """The types of primals, others and results that the callee's type gives."""

    def expected(self, callee: func.FuncOp) -> Signature:
        return self.signature(callee, self.wrt, self.outs)

    @classmethod
    def of(
        cls,
        callee: func.FuncOp,
        primals: Sequence[SSAValue],
        others: Sequence[SSAValue] = (),
        wrt: Numbers = (0,),
        outs: Numbers = (0,),
    ) -> Self:
        """A request on a function of the same module."""
        _, _, results = cls.signature(callee, wrt, outs)
        return cls._make(SymbolRefAttr(callee.sym_name.data), primals, others, wrt, outs, results)
