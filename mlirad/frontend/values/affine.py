"""Traced ints as affine forms: which are equal, and what bounds are known of them.

Reads: i64 values. Writes: nd ops, where a result is not known. Leaves: ints, i64 values, and proofs.

A form is a sum of coefficients times atoms, and a constant. It equals the value modulo 2**64, so that forms that are
equal are equal values; a bound is proved only where the form's own bounds fit in 64 bits, so that it is the value.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from xdsl.ir import Operation, SSAValue

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, apply, constant, insert
from mlirad.dialect.ops.check import CheckIndexOp
from mlirad.dialect.ops.choice import MaximumOp, MinimumOp
from mlirad.dialect.ops.constant import ConstantOp
from mlirad.dialect.ops.division import FloorDivOp
from mlirad.dialect.ops.elementwise import AddOp, MulOp, NegOp, SubOp
from mlirad.dialect.ops.indexing import WrapIndexOp
from mlirad.dialect.ops.movement import DimOp, size_of
from mlirad.frontend.values.known_facts import is_recent, recall, remember
from mlirad.xdsl_support.effects import has_no_effect

Int = int | Expr
Number = int | Fraction

_LIMIT = 2**63
# A loop has fewer iterations: they would take centuries.
SMALL = _ITERATIONS = 2**60


@dataclass(frozen=True)
class Form:
    """sum(coefficient * atom) + constant. An atom is an i64 value, or the key of what computes it, so that two values
    computed alike are one atom."""

    terms: tuple[tuple[Hashable, Number], ...]
    constant: Number

    @staticmethod
    def of(terms: dict[Hashable, Number], constant: Number) -> Form:
        kept = ((atom, factor) for atom, factor in terms.items() if factor)
        return Form(tuple(sorted(kept, key=lambda term: hash(term[0]))), constant)

    def __add__(self, other: Form) -> Form:
        terms = dict(self.terms)
        for atom, factor in other.terms:
            terms[atom] = terms.get(atom, 0) + factor
        return Form.of(terms, self.constant + other.constant)

    def __sub__(self, other: Form) -> Form:
        return self + other.scaled(-1)

    def scaled(self, factor: Number) -> Form:
        return Form(tuple((atom, own * factor) for atom, own in self.terms if factor), self.constant * factor)

    def shifted(self, constant: Number) -> Form:
        return Form(self.terms, self.constant + constant)


@dataclass(frozen=True)
class _Limit:
    """The number of an iteration, from 0. upper: a form that it never exceeds, if one is known.
    rank: loops are numbered from the outside."""

    upper: Form | None
    rank: int


# Whose results are forms of their operands'.
_KNOWN = {NegOp, AddOp, SubOp, MulOp, MaximumOp, MinimumOp, WrapIndexOp, CheckIndexOp, DimOp, FloorDivOp}


def form_of(x: Int) -> Form:
    if isinstance(x, int):
        return Form((), x)
    return _form(x.value, {})


def _form(value: SSAValue, known: dict[SSAValue, Form]) -> Form:
    if value not in known:
        known[value] = _new_form(value, known)
    return known[value]


def _new_form(value: SSAValue, known: dict[SSAValue, Form]) -> Form:
    op = value.owner
    kind = op.__class__
    if kind is ConstantOp:
        assert isinstance(op, ConstantOp)
        return Form((), int(op.reference()))
    if kind not in _KNOWN:
        return _atom(value)
    assert isinstance(op, Operation)
    if kind is DimOp:
        assert isinstance(op, DimOp)
        source = size_of(op.x, op.axis.value.data)
        return _form(source, known) if isinstance(source, SSAValue) else _atom(("dim", *source))
    forms = [_form(operand, known) for operand in op.operands]
    if kind is NegOp:
        return forms[0].scaled(-1)
    x, y = forms
    if kind is AddOp:
        return x + y
    if kind is SubOp:
        return x - y
    if kind is MulOp:
        for factor, other in ((x, y), (y, x)):
            if not factor.terms:
                return other.scaled(factor.constant)
    elif kind in (MaximumOp, MinimumOp):
        return _atom((op.name, frozenset({x, y})))
    elif kind in (WrapIndexOp, CheckIndexOp):
        return x if _is_natural(x) else _atom(("wrap", x, y))
    elif kind is FloorDivOp and not y.terms and y.constant > 0:
        return _atom(("//", x, y.constant))
    return _atom(value)


def _atom(key: Hashable) -> Form:
    return Form(((key, 1),), 0)


# --- bounds -----------------------------------------------------------------------------------------------------


def remember_iteration(number: Expr, length: Int) -> None:
    """`number` counts the iterations of a loop, from 0; `length` is how many there are."""
    outer = recall("loops") or 0
    remember("loops", outer + 1)
    last = _trips(length).shifted(-1)
    upper = last if _interval(last) is not None else None
    remember(("limit", number.value), _Limit(upper, outer))


def remember_size(size: Int, largest: int | None) -> None:
    """`size` is an array's, of at most `largest` elements."""
    if isinstance(size, Expr):
        remember(("size", size.value), (0, _ITERATIONS if largest is None else largest))


def _trips(length: Int) -> Form:
    """The trip count of a loop that makes at least one trip: max(x, 0) is x there."""
    owner = None if isinstance(length, int) else length.value.owner
    if isinstance(owner, MaximumOp) and form_of(Expr(owner.y)) == Form((), 0):
        length = Expr(owner.x)
    form = form_of(length)
    if len(form.terms) == 1 and not form.constant:
        ((atom, factor),) = form.terms
        if factor == 1 and isinstance(atom, tuple) and atom[0] == "//" and _interval(atom[1]) is not None:
            return atom[1].scaled(Fraction(1, atom[2]))
    return form


def _interval(form: Form) -> tuple[Number, Number] | None:
    """Numbers that certainly enclose a value of this form; None if they are unknown or may not fit in 64 bits."""
    low, high = _least(form), _least(form.scaled(-1))
    if low is None or high is None or low < -_LIMIT or -high >= _LIMIT:
        return None
    return low, -high


def _least(form: Form) -> Number | None:
    """A lower bound of the form."""
    limits = {atom: recall(("limit", atom)) for atom, factor in form.terms if factor < 0}
    inner = [(limit.rank, atom) for atom, limit in limits.items() if limit is not None and limit.upper is not None]
    if inner:
        # The innermost loop's number is at most what its limit is, in terms of the loops around it.
        rank = max(rank for rank, _ in inner)
        atom = next(atom for own, atom in inner if own == rank)
        factor = dict(form.terms)[atom]
        rest = Form(tuple(term for term in form.terms if term[0] != atom), form.constant)
        return _least(rest + limits[atom].upper.scaled(factor))
    total = form.constant
    for atom, factor in form.terms:
        low, high = _bounds(atom)
        bound = low if factor > 0 else high
        if bound is None:
            return None
        total += factor * bound
    return total


def _bounds(atom: Hashable) -> tuple[Number | None, Number | None]:
    """The smallest and the largest value of an atom, if known."""
    limit = recall(("limit", atom))
    if limit is not None:
        interval = None if limit.upper is None else _interval(limit.upper)
        return 0, _ITERATIONS if interval is None else interval[1]
    if not isinstance(atom, tuple):
        return recall(("size", atom)) or (None, None)
    match atom[0]:
        case "dim":
            return 0, _ITERATIONS
        case MaximumOp.name | MinimumOp.name:
            return _of_extreme(atom[0] == MaximumOp.name, [_ends(form) for form in atom[1]])
        case "//":
            interval = _interval(atom[1])
            return (None, None) if interval is None else (interval[0] // atom[2], interval[1] // atom[2])
    return None, None


def _ends(form: Form) -> tuple[Number | None, Number | None]:
    """The smallest and the largest value of this form, if known."""
    if len(form.terms) == 1 and form.constant == 0 and form.terms[0][1] == 1:
        return _bounds(form.terms[0][0])
    return _interval(form) or (None, None)


def _of_extreme(
    is_maximum: bool, parts: list[tuple[Number | None, Number | None]]
) -> tuple[Number | None, Number | None]:
    lows, highs = [low for low, _ in parts], [high for _, high in parts]
    known_lows, known_highs = [x for x in lows if x is not None], [x for x in highs if x is not None]
    if is_maximum:
        return max(known_lows, default=None), max(known_highs) if None not in highs else None
    return min(known_lows) if None not in lows else None, min(known_highs, default=None)


def _is_natural(form: Form) -> bool:
    interval = _interval(form)
    return interval is not None and interval[0] >= 0


def is_at_least(x: Int, y: Int) -> bool:
    """Whether x >= y certainly."""
    first, second = form_of(x), form_of(y)
    if not first.terms and not second.terms:
        return first.constant >= second.constant
    if first == second:
        return True
    low, high = _ends(first)[0], _ends(second)[1]
    if low is not None and high is not None and low >= high:
        return True
    least = _least(first - second)
    return least is not None and least >= 0 and _interval(first) is not None and _interval(second) is not None


def upper_bound(x: Int) -> int | None:
    """An upper bound of x, if one is known."""
    interval = _interval(form_of(x))
    return None if interval is None else int(interval[1])


def is_small(x: Int) -> bool:
    """Whether x is certainly so small that sums and differences of such numbers fit in 64 bits."""
    interval = _interval(form_of(x))
    return interval is not None and interval[0] >= -SMALL and interval[1] <= SMALL


def is_of_this_block(x: Int) -> bool:
    """Whether x is made of the number of the iteration of a loop whose body is the block under construction itself, and
    bounded: then it takes the values up to its bounds here."""
    form = form_of(x)
    return upper_bound(x) is not None and any(is_recent(("limit", atom)) for atom, _ in form.terms)


def difference(x: Int, y: Int) -> int | None:
    """x - y, if it is known."""
    form = form_of(x) - form_of(y)
    return None if form.terms else int(form.constant)


# --- arithmetic -------------------------------------------------------------------------------------------------


def as_expr(x: Int) -> Expr:
    return x if isinstance(x, Expr) else constant(x, types.I64)


def simplified(x: Int) -> Int:
    """x as a number, or as an earlier value, if it is one."""
    if isinstance(x, int):
        return x
    form = form_of(x)
    if not form.terms:
        return int(form.constant)
    ((atom, factor), *others) = form.terms
    is_value = isinstance(atom, SSAValue) and factor == 1 and not others and not form.constant
    return Expr(atom) if is_value else x  # type: ignore[arg-type]


def recomputed(x: Int, is_visible: Callable[[SSAValue], bool]) -> Int | None:
    """x, computed at the insertion point from numbers that are visible there; None if it cannot be."""
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
        # Elements of arrays are left where it is known that there are such elements.
        if isinstance(op, Operation) and not types.is_tensor(value.type) and has_no_effect(op) and not op.regions:
            arrays = [operand for operand in op.operands if types.is_tensor(operand.type)]
            operands = [_recomputed(operand, is_visible, made) for operand in op.operands]
            if None not in operands and (not arrays or isinstance(op, DimOp)):
                copy = op.clone(dict(zip(op.operands, operands, strict=True)))  # type: ignore[arg-type]
                made[value] = insert(copy).results[value.index]  # type: ignore[attr-defined]
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
    """x // divisor, the divisor being positive."""
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
