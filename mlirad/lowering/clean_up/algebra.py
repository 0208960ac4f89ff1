"""Exact identities: simpler equivalents of a pure op, given the facts about its operands.

Reads: one nd op. Writes: new ops before it, through the expression layer, if there is a simpler form. Leaves: the op;
the caller replaces it.

Exact means bit for bit, except for the payload of a nan. So x + 0.0 is kept, because it turns -0.0 into 0.0, and x *
0.0 is kept, because x may be infinite or negative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import SSAValue

from mlirad.analysis.constants import is_number, known_number
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant, emit, emit_all, full, zeros_like
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.ops.arithmetic import AddOp, DivOp, MulOp, NegOp, PowOp, SubOp
from mlirad.dialect.ops.choice import AnnihilateOp, MaximumOp, MinimumOp, SelectOp
from mlirad.dialect.ops.compare import (
    CastOp,
    EqualOp,
    GreaterEqualOp,
    GreaterOp,
    LessEqualOp,
    LessOp,
    LogicalAndOp,
    LogicalNotOp,
    LogicalOrOp,
    NotEqualOp,
    cast,
)
from mlirad.dialect.ops.constant import ConstantOp, FullOp
from mlirad.dialect.ops.elementwise import ElementwiseOp

Result = Expr | SSAValue | tuple[Expr, ...] | None
OpT = TypeVar("OpT", bound=NdOp)
Rule = Callable[..., Result]
Rules = dict[type[NdOp], list[Rule]]


def rules_into(table: Rules) -> Callable[..., Callable[[Rule], Rule]]:
    """A decorator: registers the function in the table, as an identity of the given op classes.

    An identity receives an op and its operands. It returns a value equal to the op's result (for several results a
    tuple), or None if it does not apply.
    """

    def rule(*classes: type[NdOp]) -> Callable[[Rule], Rule]:
        def register(function: Rule) -> Rule:
            for op_class in classes:
                table.setdefault(op_class, []).append(function)
            return function

        return register

    return rule


RULES: Rules = {}
rule = rules_into(RULES)


def general_rules(kind: type[NdOp]) -> tuple[Rule, ...]:
    """The identities that apply to a class because of its traits."""
    folded = () if kind is ConstantOp else (_folded,)
    return (*folded, _of_full) if issubclass(kind, ElementwiseOp) else folded


def simpler(op: NdOp, rules: Sequence[Rule]) -> Sequence[SSAValue] | None:
    """Values equal to the results of a pure op, from fewer or cheaper ops; None if no identity applies."""
    operands = tuple(op.operands)
    for rule in rules:
        found = rule(op, *operands)
        if found is not None:
            values = found if isinstance(found, tuple) else (found,)
            return [value.value if isinstance(value, Expr) else value for value in values]
    return None


def defined_by(value: SSAValue, op_class: type[OpT]) -> OpT | None:
    """The op of that (final) class that defines the value."""
    owner: Any = value.owner
    return owner if owner.__class__ is op_class else None


# --- any op -----------------------------------------------------------------------------------------------------


def _folded(op: NdOp, *operands: SSAValue) -> Result:
    """Scalars computed from known scalars."""
    numbers: list[Any] = []
    for operand in operands:
        number = known_number(operand)
        if number is None or types.is_tensor(operand.type):
            return None
        numbers.append(number)
    if not numbers or not op.is_foldable() or any(types.is_tensor(result.type) for result in op.results):
        return None
    with np.errstate(all="ignore"):
        found = op.reference(*numbers)
    values = found if isinstance(found, tuple) else (found,)
    return tuple(constant(value, result.type) for value, result in zip(values, op.results, strict=True))


def _of_full(op: ElementwiseOp, *operands: SSAValue) -> Result:
    """Elementwise ops on arrays that are each filled with one number return such an array."""
    sources: list[FullOp] = []
    for operand in operands:
        source = defined_by(operand, FullOp)
        if source is None:
            return None
        sources.append(source)
    shape, asked = types.shape(op.results[0].type), types.element_type(op.results[0].type)
    values = emit_all(op.__class__, *(each.value for each in sources), result_type=asked, **op.properties)
    return tuple(full(value, shape, [Expr(size) for size in sources[0].sizes]) for value in values)


# --- arithmetic -------------------------------------------------------------------------------------------------


@rule(AddOp, SubOp)
def add_numbers(op: AddOp | SubOp, x: SSAValue, y: SSAValue) -> Result:
    """(x + a) - b is x + (a - b), for integers."""
    if types.is_tensor(x.type) or not types.is_integer(x.type):
        return None
    inner = _offset(x)
    number = known_number(y)
    if inner is None or number is None:
        return None
    base, first = inner
    with np.errstate(all="ignore"):
        total = first + number if isinstance(op, AddOp) else first - number
    return Expr(base) + constant(total, x.type)


def _offset(value: SSAValue) -> tuple[SSAValue, Any] | None:
    """x and a, for a value that is x + a or x - a with a known a."""
    op = value.owner
    if not isinstance(op, AddOp | SubOp):
        return None
    number = known_number(op.y)
    if number is None:
        return None
    with np.errstate(all="ignore"):
        return op.x, number if isinstance(op, AddOp) else -number


@rule(AddOp, MulOp)
def number_last(op: AddOp | MulOp, x: SSAValue, y: SSAValue) -> Result:
    """A constant operand goes to the right."""
    if known_number(x) is None or known_number(y) is not None:
        return None
    return op.result_on(Expr(y), Expr(x))


@rule(AddOp)
def add(_op: AddOp, x: SSAValue, y: SSAValue) -> Result:
    for one, other in ((x, y), (y, x)):
        if _is_no_summand(other):
            return one
        if (negated := defined_by(other, NegOp)) is not None:
            return Expr(one) - Expr(negated.x)
    return None


def _is_no_summand(value: SSAValue) -> bool:
    """Whether adding it changes nothing, not even the sign of a zero."""
    if types.is_complex(value.type):
        return False
    return known_number(value) is not None and is_number(value, -0.0 if types.is_float(value.type) else 0)


@rule(SubOp)
def subtract(op: SubOp, x: SSAValue, y: SSAValue) -> Result:
    if is_number(y, 0):
        return x
    if x is y and types.is_integer(x.type):
        return _like(0, op)
    if _is_no_summand(x):
        return -Expr(y)
    if (negated := defined_by(y, NegOp)) is not None:
        return Expr(x) + Expr(negated.x)
    return None


@rule(MulOp)
def multiply(_op: MulOp, x: SSAValue, y: SSAValue) -> Result:
    for one, other in ((x, y), (y, x)):
        if known_number(other) is None or types.is_complex(x.type):
            continue  # for a complex infinity, the product with 1 contains a nan
        if is_number(other, 1):
            return one
        if is_number(other, -1):
            return -Expr(one)
        if is_number(other, 0) and types.is_integer(other.type):
            return other
    first, second = defined_by(x, NegOp), defined_by(y, NegOp)
    return Expr(first.x) * Expr(second.x) if first is not None and second is not None else None


@rule(DivOp)
def divide(_op: DivOp, x: SSAValue, y: SSAValue) -> Result:
    if types.is_complex(x.type):
        return None
    if is_number(y, 1):
        return x
    return -Expr(x) if is_number(y, -1) else None


@rule(PowOp)
def power(op: PowOp, base: SSAValue, exponent: SSAValue) -> Result:
    """The exponents for which NumPy itself does not call pow."""
    x = Expr(base)
    if is_number(exponent, 0):
        return _like(1, op)
    if is_number(exponent, 1):
        return x
    if is_number(exponent, 2):
        return x * x
    return constant(1, x.type) / x if is_number(exponent, -1) and types.is_static(x.type) else None


@rule(NegOp)
def negate(_op: NegOp, x: SSAValue) -> Result:
    inner = defined_by(x, NegOp)
    return None if inner is None else inner.x


@rule(MaximumOp, MinimumOp)
def extremum(_op: MaximumOp | MinimumOp, x: SSAValue, y: SSAValue) -> Result:
    return x if x is y else None


def _like(number: float, op: NdOp) -> Result:
    """An array filled with a number, in the shape of the op's result, if that is known."""
    type = op.results[0].type
    return constant(number, type) if types.is_static(type) else None


# --- booleans ---------------------------------------------------------------------------------------------------


@rule(SelectOp)
def select(_op: SelectOp, condition: SSAValue, x: SSAValue, y: SSAValue) -> Result:
    if x is y:
        return x
    known = known_number(condition)
    if known is not None:
        return x if known else y
    first, second = known_number(x), known_number(y)
    if first is not None and second is not None and first.tobytes() == second.tobytes():
        return x
    if types.is_bool(x.type) and first is not None and second is not None:
        return condition if first else ~Expr(condition)
    if (negated := defined_by(condition, LogicalNotOp)) is not None:
        return emit(SelectOp, negated.x, y, x)
    return None


@rule(AnnihilateOp)
def annihilate(_op: AnnihilateOp, x: SSAValue, *factors: SSAValue) -> Result:
    known = {factor: number for factor in factors if (number := known_number(factor)) is not None}
    if any(number != 0 for number in known.values()):
        return x
    product = defined_by(x, MulOp)
    if product is not None and any(_is_product(product, factor) for factor in factors):
        return x
    if len(known) < len(set(factors)):
        return emit(AnnihilateOp, x, *(each for each in factors if each not in known)) if known else None
    return zeros_like(Expr(x))


def _is_product(product: MulOp, factor: SSAValue) -> bool:
    """Whether a product is `factor` times a finite number, so that it is 0.0 or -0.0 where the factor is 0, not nan."""
    pairs = ((product.x, product.y), (product.y, product.x))
    return any(one is factor and _is_finite(other) for one, other in pairs)


def _is_finite(value: SSAValue) -> bool:
    if (choice := defined_by(value, SelectOp)) is not None:
        return _is_finite(choice.x) and _is_finite(choice.y)
    number = known_number(value)
    return number is not None and bool(np.isfinite(number))


@rule(LogicalAndOp, LogicalOrOp)
def connective(op: LogicalAndOp | LogicalOrOp, x: SSAValue, y: SSAValue) -> Result:
    if x is y:
        return x
    absorbing = isinstance(op, LogicalOrOp)
    for one, other in ((x, y), (y, x)):
        known = known_number(other)
        if known is not None:
            return other if bool(known) == absorbing else one
    return None


def is_negated(value: SSAValue, x: SSAValue) -> bool:
    """Whether a value is -x or `not x`. Negated again, it is x."""
    found = (defined_by(value, kind) for kind in (NegOp, LogicalNotOp))
    return any(op is not None and op.x is x for op in found)


@rule(LogicalNotOp)
def negation(_op: LogicalNotOp, x: SSAValue) -> Result:
    inner = defined_by(x, LogicalNotOp)
    return None if inner is None else inner.x


@rule(EqualOp, LessEqualOp, GreaterEqualOp, NotEqualOp, LessOp, GreaterOp)
def compare_with_itself(op: EqualOp, x: SSAValue, y: SSAValue) -> Result:
    if x is not y:
        return None
    if types.is_inexact(x.type) and not isinstance(op, LessOp | GreaterOp):  # nan is not equal to itself
        return emit(EqualOp, x, y) if isinstance(op, LessEqualOp | GreaterEqualOp) else None
    return _like(isinstance(op, EqualOp | LessEqualOp | GreaterEqualOp), op)


# --- casts ------------------------------------------------------------------------------------------------------


@rule(CastOp)
def cast_back(op: CastOp, x: SSAValue) -> Result:
    if x.type == op.result.type:
        return x
    inner = defined_by(x, CastOp)
    if inner is None or not _is_lossless(inner):
        return None
    # A widened value was narrower before: cast from the original.
    return cast(Expr(inner.x), types.element_type(op.result.type)) if _is_value_cast(inner, op) else None


def _is_lossless(op: CastOp) -> bool:
    """Whether every number of the source's type survives the cast to the target's type and back."""
    source, target = (types.to_dtype(types.element_type(value.type)) for value in (op.x, op.result))
    if source.kind in "iu" and target.kind == "f" and source.itemsize >= target.itemsize:
        return False  # NumPy calls the cast of 64-bit integers to float64 safe
    return bool(np.can_cast(source, target, "safe"))


def _is_value_cast(inner: CastOp, outer: CastOp) -> bool:
    """Whether the outer cast alone gives the same result: it must depend only on the value."""
    source, target = types.element_type(inner.x.type), types.element_type(outer.result.type)
    if source == target:
        return True
    middle = types.element_type(inner.result.type)
    # Integers wrap when narrowed, floats cast to integers do not: both casts must stay within one kind.
    return all(isinstance(type, IntegerType) and type != i1 for type in (source, middle, target))
