"""Parses `linalg.generic` with several results: xDSL prints their types in parentheses, but cannot parse them.

Reads: nothing. Writes: the parser of `linalg.generic`, once, when the package is imported. Leaves: the printer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, StringAttr
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser


def mend_generic_results() -> None:
    """Parse the op with any number of results. Called when the package is imported."""
    GenericOp.parse = classmethod(_parse)  # pyright: ignore[reportAttributeAccessIssue]  # bound to the class all the same


def _parse(cls: type[GenericOp], parser: Parser) -> GenericOp:
    attributes = parser.parse_optional_attr_dict()
    missing = [name for name in ("indexing_maps", "iterator_types") if name not in attributes]
    if missing:
        parser.raise_error(f"Expected {missing[0]} for linalg.generic")
    maps = cast(ArrayAttr[AffineMapAttr], attributes.pop("indexing_maps"))
    kinds = cast(ArrayAttr[Attribute], attributes.pop("iterator_types"))
    doc, library_call = (cast(StringAttr | None, attributes.pop(name, None)) for name in ("doc", "library_call"))
    inputs, outputs = _operands(parser, "ins"), _operands(parser, "outs")
    if parser.parse_optional_keyword("attrs"):
        parser.parse_punctuation("=")
        attributes |= parser.expect(parser.parse_optional_attr_dict, "expect extra attributes")
    body = parser.parse_region()
    made = cls(inputs, outputs, body, maps, [_kind(each) for each in kinds], _results(parser), doc, library_call)
    made.attributes |= attributes
    return made


def _operands(parser: Parser, keyword: str) -> Sequence[SSAValue]:
    start = parser.pos
    if not parser.parse_optional_characters(keyword):
        return ()
    parser.parse_punctuation("(")
    values = parser.parse_comma_separated_list(Parser.Delimiter.NONE, parser.parse_unresolved_operand)
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(Parser.Delimiter.NONE, parser.parse_type)
    parser.parse_punctuation(")")
    return parser.resolve_operands(values, types, start)


def _kind(kind: Attribute) -> IteratorTypeAttr:
    return IteratorTypeAttr(IteratorType(kind.data)) if isinstance(kind, StringAttr) else cast(IteratorTypeAttr, kind)


def _results(parser: Parser) -> Sequence[Attribute]:
    if not parser.parse_optional_punctuation("->"):
        return ()
    several = parser.parse_optional_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_type)
    return several or parser.parse_comma_separated_list(Parser.Delimiter.NONE, parser.parse_type)
