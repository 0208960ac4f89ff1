"""Extends xDSL's `arith` to vectors: its casts, comparisons and select support only scalars.

Reads: nothing. Writes: constraints and text form of those op classes, once, when the package is imported. Leaves:
scalars unchanged. (MLIR allows vectors in all of them.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloatConstr, IntegerType, VectorType, container_of, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import RangeConstraint, RangeOf, base
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

_INTEGERS = RangeOf(container_of(base(IntegerType))).of_length(1)
_FLOATS = RangeOf(container_of(AnyFloatConstr)).of_length(1)
_BOOLS = RangeOf(arith.boolLike).of_length(1)

_CASTS: dict[type[Any], tuple[RangeConstraint, RangeConstraint]] = {
    arith.FPToSIOp: (_FLOATS, _INTEGERS),
    arith.FPToUIOp: (_FLOATS, _INTEGERS),
    arith.SIToFPOp: (_INTEGERS, _FLOATS),
    arith.UIToFPOp: (_INTEGERS, _FLOATS),
    arith.TruncIOp: (_INTEGERS, _INTEGERS),
    arith.ExtSIOp: (_INTEGERS, _INTEGERS),
    arith.ExtUIOp: (_INTEGERS, _INTEGERS),
}


def mend_vector_arith() -> None:
    """Make `arith` verify, print and parse on vectors as MLIR does. Called when the package is imported."""
    for op_class, (operand, result) in _CASTS.items():
        definition = op_class.get_irdl_definition()
        definition.operands[0][1].constr = operand
        definition.results[0][1].constr = result
    for op_class in (arith.TruncIOp, arith.ExtSIOp, arith.ExtUIOp):
        _replace(op_class, "verify_", _verify_width)
    for op_class in (arith.CmpfOp, arith.CmpiOp):
        op_class.get_irdl_definition().results[0][1].constr = _BOOLS
        _replace(op_class, "__init__", _initialiser(op_class.__init__))
    arith.SelectOp.get_irdl_definition().operands[0][1].constr = _BOOLS
    _replace(arith.SelectOp, "parse", classmethod(_parse_select))
    _replace(arith.SelectOp, "print", _print_select)


def _replace(op_class: type[Operation], name: str, method: object) -> None:
    setattr(op_class, name, method)


def _verify_width(op: Operation) -> None:
    """Check that a cast between integers keeps the shape, and narrows or widens as its name says."""
    op.get_irdl_definition().verify(op)  # pyright: ignore[reportAttributeAccessIssue]  # irdl ops have it
    source, target = op.operands[0].type, op.results[0].type
    if not _have_same_shape(source, target):
        raise VerifyException(f"{op.name} from {source} to {target} changes the shape")
    if (_width(target) < _width(source)) != isinstance(op, arith.TruncIOp) or _width(target) == _width(source):
        raise VerifyException(f"{op.name} cannot go from {source} to {target}")


def _have_same_shape(a: Attribute, b: Attribute) -> bool:
    shapes = [type.get_shape() if isinstance(type, VectorType) else None for type in (a, b)]
    return shapes[0] == shapes[1]


def _width(type: Attribute) -> int:
    element = type.element_type if isinstance(type, VectorType) else type
    assert isinstance(element, IntegerType)
    return element.width.data


def _initialiser(original: Callable[..., None]) -> Callable[..., None]:
    """A comparison's `__init__` whose result is a vector of bools for vector operands; `parse` also uses it."""

    def initialise(self: Operation, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        operand = self.operands[0].type
        if isinstance(operand, VectorType):
            self.results[0]._type = VectorType(i1, operand.get_shape())

    return initialise


def _parse_select(cls: type[arith.SelectOp], parser: Parser) -> arith.SelectOp:
    names = [parser.parse_unresolved_operand()]
    for _ in range(2):
        parser.parse_punctuation(",")
        names.append(parser.parse_unresolved_operand())
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    condition, type = i1, parser.parse_type()
    if parser.parse_optional_punctuation(","):
        condition, type = type, parser.parse_type()
    operands: list[SSAValue] = [
        parser.resolve_operand(name, kind) for name, kind in zip(names, (condition, type, type), strict=True)
    ]
    return cls.create(operands=operands, result_types=[type], attributes=attributes)


def _print_select(self: arith.SelectOp, printer: Printer) -> None:
    printer.print_string(" ")
    printer.print_list(self.operands, printer.print_operand)
    printer.print_op_attributes(self.attributes)
    printer.print_string(" : ")
    if isinstance(self.cond.type, VectorType):
        printer.print_attribute(self.cond.type)
        printer.print_string(", ")
    printer.print_attribute(self.result.type)
