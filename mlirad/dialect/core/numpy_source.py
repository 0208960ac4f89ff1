"""How ops are written in NumPy: pieces of source text, in which SSA values represent variables that are named later.

Reads: an op's spelling, and the texts of its operands. Writes: expressions, and preceding lines. Leaves: names,
statements and layout to the caller.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.ir import Attribute, SSAValue

from mlirad.dialect.core import types

if TYPE_CHECKING:
    from xdsl.ir import Operation

Part = str | SSAValue
"""A piece of source text, or a variable."""


class Rank(IntEnum):
    """The precedence of Python's operators."""

    CHOICE = 1
    OR = 2
    AND = 3
    NOT = 4
    COMPARISON = 5
    BIT_OR = 6
    BIT_XOR = 7
    BIT_AND = 8
    SHIFT = 9
    SUM = 10
    PRODUCT = 11
    SIGN = 12
    POWER = 13
    ATOM = 14


@dataclass(frozen=True)
class NumpyText:
    """An expression. The SSA values among its parts are variables.

    is_new: whether its array has memory of its own. is_numpy: whether its number is certainly a NumPy number, with the
    right dtype, and not a Python number. lax: another text whose value broadcasts to this value. thin: this array
    without axes of size 1, and its shape. negated: the text that this is the negative of. literal: the number.
    operation: its operands and the operator between them.
    """

    parts: tuple[Part, ...]
    rank: Rank = Rank.ATOM
    is_new: bool = True
    is_numpy: bool = True
    lax: NumpyText | None = None
    thin: tuple[NumpyText, tuple[int, ...]] | None = None
    negated: NumpyText | None = None
    literal: bool | int | float | complex | None = None
    operation: tuple[NumpyText, str, NumpyText] | None = None

    def within(self, rank: Rank) -> NumpyText:
        """This text as an operand of operators of a rank: in parentheses if it binds less tightly."""
        return self if self.rank >= rank else text("(", self, ")")

    @property
    def is_simple(self) -> bool:
        """Whether it is a name or a number."""
        if len(self.parts) != 1:
            return False
        (part,) = self.parts
        return isinstance(part, SSAValue) or part.replace(".", "").replace("_", "").isalnum()

    def negative(self) -> NumpyText:
        return NumpyText(text("-", self.within(Rank.SIGN)).parts, Rank.SIGN, is_numpy=self.is_numpy, negated=self)


def text(
    *parts: Part | NumpyText | int, rank: Rank = Rank.ATOM, is_new: bool = True, is_numpy: bool = True
) -> NumpyText:
    """The parts, concatenated."""
    found: list[Part] = []
    for part in parts:
        if isinstance(part, NumpyText):
            found += part.parts
        else:
            found.append(part if isinstance(part, SSAValue) else str(part))
    merged: list[Part] = []
    for part in found:
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        elif part != "":
            merged.append(part)
    return NumpyText(tuple(merged), rank, is_new, is_numpy)


def listed(items: Sequence[NumpyText | str | int]) -> NumpyText:
    """The items, with commas between them."""
    parts = [part for item in items for part in (", ", item)]
    return text(*parts[1:])


def called(name: str, *arguments: NumpyText | str | int, **named: NumpyText | str | int) -> NumpyText:
    """A call of a function."""
    given = [*arguments, *(text(key, "=", value) for key, value in named.items())]
    return text(name, "(", listed(given), ")")


def tuple_of(items: Sequence[NumpyText | str | int]) -> NumpyText:
    return text("(", listed(items), ",)" if len(items) == 1 else ")")


def shape_text(items: Sequence[NumpyText | str | int]) -> NumpyText | str | int:
    """A shape in NumPy's form: a number for one axis."""
    return items[0] if len(items) == 1 else tuple_of(items)


def subscript(array: NumpyText, *indices: NumpyText) -> NumpyText:
    """`array[i, j]`; without indices, the element of an array without axes."""
    return text(array.within(Rank.ATOM), "[", listed(indices) if indices else "()", "]")


def infix(x: NumpyText, symbol: str, y: NumpyText, rank: Rank) -> NumpyText:
    """Two operands and the operator between them, which associates to the left."""
    if symbol == "**":
        is_hugged = x.is_simple and (y.is_simple or y.literal is not None)
        made = text(x.within(Rank.ATOM), "**" if is_hugged else " ** ", y.within(Rank.SIGN))
    elif symbol == "+" and y.negated is not None:
        return infix(x, "-", y.negated, rank)
    else:
        left = x.within(Rank(rank + 1) if rank is Rank.COMPARISON else rank)
        made = text(left, f" {symbol} ", y.within(Rank(rank + 1)))
    return NumpyText(made.parts, rank, is_numpy=x.is_numpy or y.is_numpy, operation=(x, symbol, y))


def assigned(target: NumpyText, value: NumpyText) -> NumpyText:
    """`target = value`, or the shorter `target += value`."""
    if value.operation is not None and value.operation[0].parts == target.parts and value.rank >= Rank.BIT_OR:
        _, symbol, other = value.operation
        return text(target, f" {symbol}= ", other)
    return text(target, " = ", value)


def denied(condition: NumpyText) -> NumpyText:
    """`not condition`, simplified."""
    (first, *rest) = condition.parts
    if condition.rank is Rank.NOT and isinstance(first, str) and first.startswith("not "):
        return text(first.removeprefix("not "), *rest, rank=Rank.AND)
    if condition.operation is not None and condition.operation[1] in ("==", "!="):
        x, symbol, y = condition.operation
        return infix(x, "!=" if symbol == "==" else "==", y, Rank.COMPARISON)
    return text("not ", condition.within(Rank.NOT), rank=Rank.NOT)


def choice(condition: NumpyText, x: NumpyText, y: NumpyText) -> NumpyText:
    """`x if condition else y`, or the equivalent `min` or `max` of Python."""
    if condition.operation is not None:
        left, symbol, right = condition.operation
        is_straight = (left.parts, right.parts) == (x.parts, y.parts)
        if is_straight or (left.parts, right.parts) == (y.parts, x.parts):
            if symbol in ("<=", ">="):  # for nan, Python's functions return the other one
                return text(called("np.where", condition, x, y), "[()]")
            if symbol in ("<", ">"):
                made = called("min" if (symbol == "<") is is_straight else "max", y, x)
                return replace(made, is_numpy=x.is_numpy and y.is_numpy)
    above = Rank(Rank.CHOICE + 1)
    made = text(x.within(above), " if ", condition.within(above), " else ", y.within(Rank.CHOICE))
    return NumpyText(made.parts, Rank.CHOICE, is_numpy=x.is_numpy and y.is_numpy)


def dtype_name(element: Attribute) -> str:
    """The dtype of an element type, as source text."""
    name = types.to_dtype(element).name
    return "bool" if name == "bool" else f"np.{name}"


def literal(value: Any) -> NumpyText:
    """A Python number. It is not a NumPy number yet; the dtype may differ."""
    plain = value.item() if isinstance(value, np.generic | np.ndarray) else value
    if isinstance(plain, complex):
        parts = ["".join(map(str, literal(part).parts)) for part in (plain.real, plain.imag)]
        spelled = (
            f"{parts[1]}j" if str(plain.real) == "0.0" and np.isfinite(plain.imag) else f"complex({', '.join(parts)})"
        )
        rank = Rank.SIGN if spelled.startswith("-") else Rank.ATOM
        return NumpyText((spelled,), rank, is_numpy=False, literal=plain)
    if isinstance(plain, float):
        spelled = repr(abs(plain)).replace("e+", "e")
        spelled = {"inf": "np.inf", "nan": "np.nan"}.get(spelled, spelled)
        is_negative = bool(np.signbit(plain)) and not np.isnan(plain)
    else:
        spelled, is_negative = repr(abs(plain) if not isinstance(plain, bool) else plain), plain < 0
    rank = Rank.SIGN if is_negative else Rank.ATOM
    return NumpyText(("-" + spelled if is_negative else spelled,), rank, is_numpy=False, literal=plain)


@dataclass(frozen=True)
class Operator:
    """Python's operator for a NumPy function.

    of_numbers: the operator for booleans that are numbers. is_exact: whether Python numbers give the same result as
    NumPy numbers, unless something overflows; if not, one operand must be a NumPy number.
    """

    symbol: str
    rank: Rank
    of_numbers: tuple[str, Rank] | None = None
    is_exact: bool = True


OPERATORS: dict[Callable[..., Any], Operator] = {
    np.add: Operator("+", Rank.SUM),
    np.subtract: Operator("-", Rank.SUM),
    np.multiply: Operator("*", Rank.PRODUCT),
    np.divide: Operator("/", Rank.PRODUCT, is_exact=False),
    np.floor_divide: Operator("//", Rank.PRODUCT, is_exact=False),
    np.mod: Operator("%", Rank.PRODUCT, is_exact=False),
    np.power: Operator("**", Rank.POWER, is_exact=False),
    np.left_shift: Operator("<<", Rank.SHIFT, is_exact=False),
    np.right_shift: Operator(">>", Rank.SHIFT, is_exact=False),
    np.bitwise_and: Operator("&", Rank.BIT_AND),
    np.bitwise_or: Operator("|", Rank.BIT_OR),
    np.bitwise_xor: Operator("^", Rank.BIT_XOR),
    np.logical_and: Operator("&", Rank.BIT_AND, ("and", Rank.AND)),
    np.logical_or: Operator("|", Rank.BIT_OR, ("or", Rank.OR)),
    np.equal: Operator("==", Rank.COMPARISON),
    np.not_equal: Operator("!=", Rank.COMPARISON),
    np.less: Operator("<", Rank.COMPARISON),
    np.less_equal: Operator("<=", Rank.COMPARISON),
    np.greater: Operator(">", Rank.COMPARISON),
    np.greater_equal: Operator(">=", Rank.COMPARISON),
}
"""Python's names for these NumPy functions of two operands."""


Term = int | SSAValue | tuple[SSAValue, int]
"""A number, an i64, or the size of an array along an axis."""


class NumpySource(ABC):
    """What an op receives to write its text: the texts of its operands, names, and a place for further lines."""

    op: Operation

    @abstractmethod
    def operand(self, index: int) -> NumpyText:
        """The text of an operand; its value has the operand's type."""

    @abstractmethod
    def line(self, *parts: Part | NumpyText | int, depth: int = 0) -> None:
        """Add a statement before the op's text."""

    @abstractmethod
    def name_of(self, function: Callable[..., Any] | ModuleType) -> str:
        """The name of a function or a module in the source, which imports it if necessary."""

    @abstractmethod
    def may_overflow(self, value: SSAValue) -> bool:
        """Whether a 64-bit integer may be the result of an operation that wraps."""

    @abstractmethod
    def total(self, *terms: Term, minus: Sequence[Term] = ()) -> NumpyText:
        """The sum of numbers, i64 values and sizes, simplified."""

    @abstractmethod
    def is_size(self, end: NumpyText, array: SSAValue, axis: int) -> bool:
        """Whether a text is certainly the size of an array along an axis."""

    def operands(self, first: int = 0, end: int | None = None) -> list[NumpyText]:
        return [self.operand(index) for index in range(len(self.op.operands))[first:end]]

    def typed(self, index: int) -> NumpyText:
        """An operand, certainly as a NumPy number or array with the right dtype."""
        return typed(self.operand(index), self.op.operands[index].type)

    def elements(self) -> list[NumpyText]:
        """The operands of an elementwise op, which broadcast together to its shape.

        At least one has the dtype that determines the result's.
        """
        found = self.operands()
        if any(each.lax is None for each in found):
            found = [each if each.lax is None else each.lax for each in found]
        else:
            found[1:] = [each if each.lax is None else each.lax for each in found[1:]]
        kinds = [types.element_type(operand.type) for operand in self.op.operands]
        if not any(each.is_numpy for each in found) and kinds[-1] not in (types.F64, types.I64, types.I1):
            found[-1] = typed(found[-1], kinds[-1])
        return found

    def called(
        self, function: Callable[..., Any], *arguments: NumpyText | str | int, **named: NumpyText | str | int
    ) -> NumpyText:
        """A call of a function by its name."""
        return called(self.name_of(function), *arguments, **named)

    def _is_nan(self, x: NumpyText, holds: bool) -> NumpyText:
        found = called("np.isnan", x)
        if holds:
            return found
        is_array = types.is_tensor(self.op.results[0].type)
        return text("~", found, rank=Rank.SIGN) if is_array else denied(found)

    def applied(self, function: Callable[..., Any]) -> NumpyText:
        """An elementwise function of the operands: Python's operator, or a call."""
        operands, result = self.elements(), self.op.results[0]
        operator = OPERATORS.get(function)
        if operator is None or len(operands) != 2:
            return self.called(function, *operands)
        x, y = operands
        symbol, rank = operator.symbol, operator.rank
        if symbol in ("==", "!=") and x.parts == y.parts and types.is_inexact(self.op.operands[0].type):
            return self._is_nan(x, symbol == "!=")
        if rank is Rank.COMPARISON and any(isinstance(each.literal, bool) for each in operands):
            return self.called(function, *operands)
        if operator.of_numbers is not None and not types.is_tensor(result.type):
            symbol, rank = operator.of_numbers
        is_exact = operator.is_exact or (symbol in "/ // %" and bool(y.literal))
        wraps = operator.is_exact and types.element_type(result.type) == types.I64 and self.may_overflow(result)
        if (wraps or not is_exact) and not (x.is_numpy or y.is_numpy):
            x = typed(x, types.element_type(self.op.operands[0].type))
        return infix(x, symbol, y, rank)


def typed(found: NumpyText, type: Attribute) -> NumpyText:
    """A text as a NumPy number, if its value is a number."""
    return found if found.is_numpy or types.is_tensor(type) else called(dtype_name(type), found)


def as_view(found: NumpyText) -> NumpyText:
    """A text whose array is a view of another array."""
    return replace(found, is_new=False)
