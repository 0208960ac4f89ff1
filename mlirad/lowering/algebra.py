"""Exact identities: what a pure op is, when something is known about its operands.

Reads: one op of nd. Writes: new ops before it, through the expression layer. Leaves: the op; the caller replaces it.

Exact means to the bit (but for the payload of a nan): x + 0.0 is kept, since it makes 0.0 of -0.0, and x * 0.0 is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import Operation, SSAValue

from mlirad.dialect import types
from mlirad.dialect.choice import MaximumOp, MinimumOp, SelectOp
from mlirad.dialect.compare import (
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
from mlirad.dialect.constant import ConstantOp, FullOp, full
from mlirad.dialect.elementwise import AddOp, DivOp, ElementwiseOp, MulOp, NegOp, PowOp, SubOp
from mlirad.dialect.expr import Expr, constant, emit
from mlirad.dialect.op import NdOp
from mlirad.lowering.known import is_number, known_number

Result = Expr | SSAValue | None
OpT = TypeVar("OpT", bound=NdOp)
Rule = Callable[[Any], Result]
Rules = dict[type[Operation], list[Rule]]


def rules_into(table: Rules) -> Callable[..., Callable[[Rule], Rule]]:
    """A decorator: the function is an identity of the given op classes, and belongs to the table.

    An identity gives the value that its op's result is, or None where it does not apply.
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


def simpler(op: Operation, rules: Rules) -> SSAValue | None:
    """What the only result of a pure op is, in fewer or cheaper ops; None if nothing is known."""
    for found in (_folded, _of_full, *rules.get(type(op), ())):
        value = found(op)
        if value is not None:
            return value.value if isinstance(value, Expr) else value
    return None


def defined_by(value: SSAValue, op_class: type[OpT]) -> OpT | None:
    """The op of that class that a value is the result of."""
    owner = value.owner
    return owner if isinstance(owner, op_class) else None


# --- any op -----------------------------------------------------------------------------------------------------


def _folded(op: Operation) -> Result:
    """A scalar computed from known scalars."""
    if not isinstance(op, NdOp) or isinstance(op, ConstantOp) or not op.operands or len(op.results) != 1:
        return None
    type = op.results[0].type
    if types.is_tensor(type) or any(types.is_tensor(operand.type) for operand in op.operands):
        return None
    numbers = [known_number(operand) for operand in op.operands]
    if any(number is None for number in numbers):
        return None
    with np.errstate(all="ignore"):
        return constant(op.reference(*numbers), type)


def _of_full(op: Operation) -> Result:
    """An elementwise op on arrays of one number each is an array of one number."""
    if not isinstance(op, ElementwiseOp) or not types.is_tensor(op.results[0].type):
        return None
    sources = [defined_by(operand, FullOp) for operand in op.operands]
    if not sources or any(source is None for source in sources):
        return None
    element = types.element_type(op.results[0].type)
    scalars = [source.value for source in sources if source is not None]
    value = emit(type(op), *scalars, result_type=element, **op.properties)
    first = sources[0]
    assert first is not None
    return full(value, types.shape(op.results[0].type), [Expr(size) for size in first.sizes])


# --- arithmetic -------------------------------------------------------------------------------------------------


@rule(AddOp, SubOp)
def add_numbers(op: AddOp | SubOp) -> Result:
    """(x + a) - b is x + (a - b), of integers."""
    if not types.is_integer(op.x.type) or types.is_tensor(op.x.type):
        return None
    inner = _offset(op.x)
    number = known_number(op.y)
    if inner is None or number is None:
        return None
    base, first = inner
    with np.errstate(all="ignore"):
        total = first + number if isinstance(op, AddOp) else first - number
    return Expr(base) + constant(total, op.x.type)


def _offset(value: SSAValue) -> tuple[SSAValue, Any] | None:
    """The x and a of a value that is x + a or x - a, a being known."""
    op = value.owner
    if not isinstance(op, AddOp | SubOp):
        return None
    number = known_number(op.y)
    if number is None:
        return None
    with np.errstate(all="ignore"):
        return op.x, number if isinstance(op, AddOp) else -number


@rule(AddOp, MulOp)
def number_last(op: AddOp | MulOp) -> Result:
    """What is known stands on the right."""
    if known_number(op.x) is None or known_number(op.y) is not None:
        return None
    return op.rebuild(Expr(op.y), Expr(op.x))


@rule(AddOp)
def add(op: AddOp) -> Result:
    for x, y in ((op.x, op.y), (op.y, op.x)):
        if is_number(y, 0) if types.is_integer(y.type) else is_number(y, -0.0):
            return x
        if (negated := defined_by(y, NegOp)) is not None:
            return Expr(x) - Expr(negated.x)
    return None


@rule(SubOp)
def subtract(op: SubOp) -> Result:
    if is_number(op.y, 0):
        return op.x
    if types.is_integer(op.x.type) and op.x is op.y:
        return _like(0, op)
    if is_number(op.x, 0) if types.is_integer(op.x.type) else is_number(op.x, -0.0):
        return -Expr(op.y)
    if (negated := defined_by(op.y, NegOp)) is not None:
        return Expr(op.x) + Expr(negated.x)
    return None


@rule(MulOp)
def multiply(op: MulOp) -> Result:
    for x, y in ((op.x, op.y), (op.y, op.x)):
        if is_number(y, 1):
            return x
        if is_number(y, -1):
            return -Expr(x)
        if types.is_integer(y.type) and is_number(y, 0):
            return y
    x, y = defined_by(op.x, NegOp), defined_by(op.y, NegOp)
    return Expr(x.x) * Expr(y.x) if x is not None and y is not None else None


@rule(DivOp)
def divide(op: DivOp) -> Result:
    if is_number(op.y, 1):
        return op.x
    return -Expr(op.x) if is_number(op.y, -1) else None


@rule(PowOp)
def power(op: PowOp) -> Result:
    """The exponents for which NumPy itself does not call pow."""
    x = Expr(op.x)
    if is_number(op.y, 0):
        return _like(1, op)
    if is_number(op.y, 1):
        return x
    if is_number(op.y, 2):
        return x * x
    return constant(1, op.x.type) / x if is_number(op.y, -1) and types.is_static(op.x.type) else None


@rule(NegOp)
def negate(op: NegOp) -> Result:
    if (inner := defined_by(op.x, NegOp)) is not None:
        return inner.x
    return None


@rule(MaximumOp, MinimumOp)
def extremum(op: MaximumOp | MinimumOp) -> Result:
    return op.x if op.x is op.y else None


def _like(number: float, op: NdOp) -> Result:
    """A number everywhere in what the op computes, if its shape is known."""
    type = op.results[0].type
    return constant(number, type) if types.is_static(type) else None


# --- booleans ---------------------------------------------------------------------------------------------------


@rule(SelectOp)
def select(op: SelectOp) -> Result:
    condition, x, y = op.condition, op.x, op.y
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


@rule(LogicalAndOp, LogicalOrOp)
def connective(op: LogicalAndOp | LogicalOrOp) -> Result:
    if op.x is op.y:
        return op.x
    absorbing = isinstance(op, LogicalOrOp)
    for x, y in ((op.x, op.y), (op.y, op.x)):
        known = known_number(y)
        if known is not None:
            return y if bool(known) == absorbing else x
    return None


@rule(LogicalNotOp)
def negation(op: LogicalNotOp) -> Result:
    if (inner := defined_by(op.x, LogicalNotOp)) is not None:
        return inner.x
    return None


@rule(EqualOp, LessEqualOp, GreaterEqualOp, NotEqualOp, LessOp, GreaterOp)
def compare_with_itself(op: EqualOp) -> Result:
    if op.x is not op.y or types.is_float(op.x.type):
        return None  # nan is not itself
    return _like(isinstance(op, EqualOp | LessEqualOp | GreaterEqualOp), op)


# --- casts ------------------------------------------------------------------------------------------------------


@rule(CastOp)
def cast_back(op: CastOp) -> Result:
    if op.x.type == op.result.type:
        return op.x
    inner = defined_by(op.x, CastOp)
    if inner is None or not _is_lossless(inner):
        return None
    # What was widened is what it was: cast it from where it came.
    return cast(Expr(inner.x), types.element_type(op.result.type)) if _is_value_cast(inner, op) else None


def _is_lossless(op: CastOp) -> bool:
    """Whether every number of the source's type is a number of the target's, and comes back from it."""
    source, target = (types.to_dtype(types.element_type(value.type)) for value in (op.x, op.result))
    if source.kind in "iu" and target.kind == "f" and source.itemsize >= target.itemsize:
        return False  # NumPy calls 64-bit integers to float64 safe
    return bool(np.can_cast(source, target, "safe"))


def _is_value_cast(inner: CastOp, outer: CastOp) -> bool:
    """Whether casting twice gives what casting once does: the outer cast must depend on the value alone."""
    source, target = types.element_type(inner.x.type), types.element_type(outer.result.type)
    if source == target:
        return True
    middle = types.element_type(inner.result.type)
    # Integers that are narrowed wrap, floats that are made integers do not: only stay within one kind.
    return all(isinstance(type, IntegerType) and type != i1 for type in (source, middle, target))
