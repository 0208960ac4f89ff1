"""Traced ints as affine forms: proves which are equal, and bounds them.

Reads: i64 values. Writes: nd ops, if a result is not known. Leaves: ints, i64 values, and proofs.

A form is a constant plus a sum of coefficients times atoms. It equals the value modulo 2**64, so equal forms are equal
values. A bound is proved only if the form's own bounds fit in 64 bits: then the form is the value itself.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
from xdsl.ir import Operation, SSAValue

from mlirad.analysis.integers import answers_integer, constant_interval, integer_of
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, apply, constant, insert
from mlirad.dialect.core.intervals import LARGEST_SIZE, Integer, Interval, LinearForm
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.ops.movement import size_of
from mlirad.frontend.values.known_facts import answers, is_recent, recall, remember
from mlirad.xdsl_support.effects import has_no_effect

Int = int | Expr
Form = LinearForm[Hashable]
"""An atom is an i64 value, or the key of the op that computes it: two values computed alike are one atom."""

# A loop has fewer iterations: they would take centuries.
SMALL = _ITERATIONS = 2**60
# A value computed from a deeper chain of such atoms is an atom by its identity: each level doubles the time of a bound.
_DEEPEST = 4
_ANYTHING = Interval()
_Asked = TypeVar("_Asked", bound=Hashable)
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class _Limit:
    """A limit of an iteration number, which is not negative: `divisor` times it is at most the form `upper`, if known.
    rank: counts the loops from the outside."""

    upper: Form | None
    divisor: int
    rank: int


@dataclass(frozen=True)
class Computed:
    """The result of an op on operands of these forms; `key` is equal for ops that compute the same."""

    key: Hashable
    op: NdOp = field(compare=False)
    forms: Sequence[Form] = field(compare=False)
    depth: int = field(compare=False)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self.key)

    @classmethod
    def of(cls, op: NdOp, forms: Sequence[Form]) -> Computed:
        is_symmetric = integer_of(op, constant_interval).choices == (0, 1)
        inner = (atom.depth for form in forms for atom in form.terms if isinstance(atom, Computed))
        key = op.name, frozenset(op.properties.items()), frozenset(forms) if is_symmetric else tuple(forms)
        return cls(key, op, forms, 1 + max(inner, default=0))

    @property
    def answer(self) -> Integer:
        return _known_now("answer", self, Computed._new_answer)

    def _new_answer(self) -> Integer:
        intervals = {operand: _interval(form) for operand, form in zip(self.op.operands, self.forms, strict=True)}
        return integer_of(self.op, intervals.__getitem__)


def _known_now(question: str, asked: _Asked, answer_of: Callable[[_Asked], _Answer]) -> _Answer:
    """The answer, computed once for as long as no new fact is known."""
    known, key = answers(), (question, asked)
    if key not in known:
        known[key] = answer_of(asked)
    return known[key]


def form_of(x: Int) -> Form:
    return LinearForm(x) if isinstance(x, int) else _form(x.value)


def _form(value: SSAValue) -> Form:
    return _known_now("form", value, _new_form)


def _new_form(value: SSAValue) -> Form:
    op, is_atom = value.owner, LinearForm.of(value)
    if not isinstance(op, NdOp) or not answers_integer(op):
        return is_atom
    answer = integer_of(op, constant_interval)
    if answer.size is not None:
        source = size_of(op.operands[answer.size[0]], answer.size[1])
        return _form(source) if isinstance(source, SSAValue) else LinearForm.of(("dim", *source))
    if any(operand.type != types.I64 for operand in op.operands):
        return is_atom
    forms = [_form(operand) for operand in op.operands]
    if answer.sum is None:
        computed = Computed.of(op, forms)
        if computed.depth > _DEEPEST:
            return is_atom
        answer = computed.answer
        if answer.sum is None:
            return LinearForm.of(computed)
    form = answer.sum.put(forms.__getitem__)
    return form if form.value is None else LinearForm(form.value)


# --- bounds -----------------------------------------------------------------------------------------------------


def remember_iteration(number: Expr, length: Int) -> None:
    """Remember that `number` counts the iterations of a loop from 0, and that there are `length` of them."""
    outer = recall("loops") or 0
    remember("loops", outer + 1)
    trips, divisor = _trips(form_of(length))
    last = trips.shifted(-divisor)
    is_used = ("form", number.value) in answers()
    remember(("limit", number.value), _Limit(last if _is_bounded(last) else None, divisor, outer))
    if is_used:
        answers().clear()


def remember_size(size: Int, largest: int | None) -> None:
    """Remember that `size` is the size of an array of at most `largest` elements."""
    if isinstance(size, Expr):
        is_used = ("bounds", form_of(size).atom) in answers()
        remember(("size", size.value), Interval(0, _ITERATIONS if largest is None else largest))
        if is_used:
            answers().clear()


def _trips(length: Form) -> tuple[Form, int]:
    """The trip count of a loop that makes at least one trip: a form and its divisor. There max(x, 0) is x."""
    atom = length.atom
    if not isinstance(atom, Computed):
        return length, 1
    answer = atom.answer
    positive = [form for place in answer.choices if _interval(form := atom.forms[place]).high > 0]
    if len(positive) == 1:
        return _trips(positive[0])
    if answer.quotient is not None:
        dividend = answer.quotient[0].put(atom.forms.__getitem__)
        if _is_bounded(dividend):
            return dividend, answer.quotient[1]
    return length, 1


def _interval(form: Form) -> Interval:
    """An interval that certainly contains a value of this form; unbounded if the form may not fit in 64 bits."""
    if form.atom is not None:
        return _bounds(form.atom)
    return Interval(_least(form), -_least(form.scaled(-1))).wrapped


def _is_bounded(form: Form) -> bool:
    """Whether both bounds of a value of this form are known. Then the form is the value."""
    interval = _interval(form)
    return interval.low > _ANYTHING.low and interval.high < _ANYTHING.high


def _least(form: Form) -> int:
    """A lower bound of the form."""
    limits = {atom: recall(("limit", atom)) for atom, factor in form.terms.items() if factor < 0}
    inner = [(limit.rank, atom) for atom, limit in limits.items() if limit is not None and limit.upper is not None]
    if not inner:
        return form.interval(_bounds).low
    # The innermost loop's number is at most its limit, which depends on the loops around it.
    rank = max(rank for rank, _ in inner)
    atom = next(atom for own, atom in inner if own == rank)
    limit = limits[atom]
    return -(-_least(form.without(atom).scaled(limit.divisor).plus(limit.upper, form.terms[atom])) // limit.divisor)


def _bounds(atom: Hashable) -> Interval:
    """The interval of an atom."""
    return _known_now("bounds", atom, _new_bounds)


def _new_bounds(atom: Hashable) -> Interval:
    limit = recall(("limit", atom))
    if limit is not None:
        upper = None if limit.upper is None else _interval(limit.upper).high // limit.divisor
        return Interval(0, _ITERATIONS if upper is None else upper)
    if isinstance(atom, Computed):
        size, interval = recall(("size", atom.op.results[0])) or _ANYTHING, atom.answer.interval.wrapped
        return Interval(max(size.low, interval.low), min(size.high, interval.high))
    return Interval(0, LARGEST_SIZE) if isinstance(atom, tuple) else recall(("size", atom)) or _ANYTHING


def is_at_least(x: Int, y: Int) -> bool:
    """Whether certainly x >= y."""
    first, second = form_of(x), form_of(y)
    if first == second or _interval(first).low >= _interval(second).high:
        return True
    return _least(first - second) >= 0 and all(form.atom is not None or _is_bounded(form) for form in (first, second))


def upper_bound(x: Int) -> int | None:
    """An upper bound of x, if one is known."""
    form = form_of(x)
    return _interval(form).high if _is_bounded(form) else None


def is_small(x: Int) -> bool:
    """Whether x is certainly small enough that sums and differences of such numbers fit in 64 bits."""
    interval = _interval(form_of(x))
    return interval.low >= -SMALL and interval.high <= SMALL


def is_of_this_block(x: Int) -> bool:
    """Whether x is bounded and depends on the iteration number of the loop whose body is the current block: then it
    takes all values up to its bounds here."""
    form = form_of(x)
    return upper_bound(x) is not None and any(is_recent(("limit", atom)) for atom in form.terms)


def difference(x: Int, y: Int) -> int | None:
    """x - y, if known."""
    form = form_of(x) - form_of(y)
    return form.number


# --- arithmetic -------------------------------------------------------------------------------------------------


def as_expr(x: Int) -> Expr:
    return x if isinstance(x, Expr) else constant(x, types.I64)


def simplified(x: Int) -> Int:
    """x as a number, or as an earlier equal value, if there is one."""
    if isinstance(x, int):
        return x
    form = form_of(x)
    if form.number is not None:
        return form.number
    return Expr(form.atom) if isinstance(form.atom, SSAValue) else x


def recomputed(x: Int, is_visible: Callable[[SSAValue], bool]) -> Int | None:
    """x, recomputed at the insertion point from numbers visible there; None if that is impossible."""
    if isinstance(x, int):
        return x
    made: dict[SSAValue, SSAValue | None] = {}
    return None if (value := _recomputed(x.value, is_visible, made)) is None else Expr(value)


def _recomputed(
    value: SSAValue, is_visible: Callable[[SSAValue], bool], made: dict[SSAValue, SSAValue | None]
) -> SSAValue | None:
    if is_visible(value):
        return value
    if value not in made:
        op, made[value] = value.owner, None
        # Re-reading an element of an array is allowed only if it is known to exist.
        if isinstance(op, Operation) and not types.is_tensor(value.type) and has_no_effect(op) and not op.regions:
            arrays = [operand for operand in op.operands if types.is_tensor(operand.type)]
            pairs = ((operand, _recomputed(operand, is_visible, made)) for operand in op.operands)
            operands = {operand: own for operand, own in pairs if own is not None}
            if all(operand in operands for operand in op.operands) and (
                not arrays or integer_of(op, constant_interval).size is not None
            ):
                made[value] = insert(op.clone(operands)).results[op.results.index(value)]
    return made[value]


def add(x: Int, y: Int) -> Int:
    if isinstance(x, int) and isinstance(y, int):
        return x + y
    return x if _is_zero(y) else y if _is_zero(x) else _known(np.add, x, y)


def subtract(x: Int, y: Int) -> Int:
    if isinstance(x, int) and isinstance(y, int):
        return x - y
    return x if _is_zero(y) else _known(np.subtract, x, y)


def _is_zero(x: Int) -> bool:
    return isinstance(x, int) and x == 0


def multiply(x: Int, y: Int) -> Int:
    if isinstance(x, int) and isinstance(y, int):
        return x * y
    for factor, other in ((x, y), (y, x)):
        if isinstance(factor, int) and factor in (0, 1):
            return other if factor else 0
    return _known(np.multiply, x, y)


def floor_divide(x: Int, divisor: int) -> Int:
    """x // divisor, for a positive divisor."""
    if divisor == 1:
        return x
    return x // divisor if isinstance(x, int) else _known(np.floor_divide, x, divisor)


def _known(ufunc: np.ufunc, x: Int, y: Int) -> Int:
    return simplified(apply(ufunc, as_expr(x), as_expr(y)))


def minimum(x: Int, y: Int) -> Int:
    if is_at_least(y, x):
        return x
    return y if is_at_least(x, y) else apply(np.minimum, as_expr(x), as_expr(y))


def maximum(x: Int, y: Int) -> Int:
    if is_at_least(x, y):
        return x
    return y if is_at_least(y, x) else apply(np.maximum, as_expr(x), as_expr(y))
