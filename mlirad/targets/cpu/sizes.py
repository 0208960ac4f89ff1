"""Integers of a module as formulas of numbers known only at run time: trip counts, sizes, arguments.

Reads: integers of a function of stage `bufferized`. Writes: nothing. Gives: formulas. An integer that it cannot express
becomes an unknown, named after its source line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IntegerAttr, MemRefType
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from mlirad.analysis.constants import constant_int
from mlirad.analysis.integers import increment, linear_form
from mlirad.analysis.loops import carry_of, counts_from_zero, is_structured, terminator
from mlirad.dialect.core.types import from_location
from mlirad.targets.byte_counts import Applied, ByteCount, Unknown, applied, largest

_CASTS = (arith.IndexCastOp, arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp)
_DEEPEST = 40
"""The maximal depth of operations that is followed."""
_LONGEST = 12
"""A formula with more parts becomes an unknown: it would be unreadable, and nested formulas grow without bound."""

_ZERO = ByteCount()
_Op = TypeVar("_Op", bound=Operation)


@dataclass(frozen=True)
class Between:
    """Bounds of a number, `low` and `high`; if they are equal, it is known exactly."""

    low: ByteCount
    high: ByteCount

    @classmethod
    def exactly(cls, value: ByteCount) -> Between:
        return cls(value, value)

    @property
    def is_exact(self) -> bool:
        return self.low == self.high


class Sizes:
    """The integers of one function. Counts are assumed to be non-negative."""

    def __init__(self, function: func.FuncOp) -> None:
        self._loops: dict[SSAValue, scf.ForOp] = {}
        self._lines: set[int] = set()
        self._names: dict[str, list[object]] = {}
        self._known: dict[SSAValue, Between] = {}
        self._entry = function.body.block
        for op in function.walk():
            if isinstance(op, scf.ForOp | scf.WhileOp) and (place := from_location(op.location)) is not None:
                self._lines.add(place.lineno)
            if isinstance(op, scf.ForOp) and counts_from_zero(op):
                self._loops.setdefault(stripped(op.ub), op)

    def trips(self, loop: Operation) -> Between:
        """The trip count of one execution of a loop; an unknown if it cannot be found."""
        if isinstance(loop, scf.ForOp) and counts_from_zero(loop):
            known = self.of(loop.ub)
            return Between(applied("max", known.low, _ZERO) if known.low.static is not None else known.low, known.high)
        return Between.exactly(self.unknown("trips", loop, loop))

    def unknown(self, what: str, key: object, at: Operation | None) -> ByteCount:
        """A new unknown with that name, or the existing one for `key`."""
        place = None if at is None else from_location(at.location)
        name = f"{what}({'?' if place is None else place.lineno})"
        keys = self._names.setdefault(name, [])
        if not any(each is key for each in keys):
            keys.append(key)
        number = next(number for number, each in enumerate(keys) if each is key)
        return ByteCount.of(Unknown(name if number == 0 else f"{name[:-1]}, {number + 1})"))

    def of(self, value: SSAValue, depth: int = 0) -> Between:
        value = stripped(value)
        found = self._known.get(value)
        if found is None:
            found = self._known[value] = self._find(value, depth + 1)
        return found

    def _find(self, value: SSAValue, depth: int) -> Between:
        if isinstance(value, BlockArgument):
            return self._argument(value)
        op = value.owner
        assert isinstance(op, Operation)
        rule = _RULES.get(type(op))
        found = None if rule is None or depth > _DEEPEST else rule(self, op, depth)
        if found is not None and max(found.low.weight, found.high.weight) > _LONGEST:
            found = None
        if found is not None and (value not in self._loops or _tells_more(found)):
            return found
        if value in self._loops:
            return Between.exactly(self.unknown("trips", value, self._loops[value]))
        return Between.exactly(self.unknown("size", value, op))

    def _argument(self, value: BlockArgument) -> Between:
        loop = value.block.parent_op()
        if isinstance(loop, scf.ForOp) and value.index == 0 and counts_from_zero(loop):
            return Between(_ZERO, self.of(loop.ub).high - 1)
        if value in self._loops:
            return Between.exactly(self.unknown("trips", value, self._loops[value]))
        if value.block is self._entry:
            return Between.exactly(ByteCount.of(Unknown(f"argument({value.index})")))
        return Between(_ZERO, self.unknown("size", value, loop))  # it may differ each time

    # the results of ops

    def _constant(self, op: arith.ConstantOp, depth: int) -> Between | None:
        return Between.exactly(ByteCount.of(op.value.value.data)) if isinstance(op.value, IntegerAttr) else None

    def _add(self, op: arith.AddiOp, depth: int) -> Between:
        a, b = self.of(op.lhs, depth), self.of(op.rhs, depth)
        return Between(a.low + b.low, a.high + b.high)

    def _subtract(self, op: arith.SubiOp, depth: int) -> Between:
        a, b = self.of(op.lhs, depth), self.of(op.rhs, depth)
        return Between(a.low - b.high, a.high - b.low)

    def _multiply(self, op: arith.MuliOp, depth: int) -> Between:
        a, b = self.of(op.lhs, depth), self.of(op.rhs, depth)
        return Between(a.low * b.low, a.high * b.high)

    def _largest(self, op: arith.MaxSIOp, depth: int) -> Between | None:
        a, b = (stripped(each) for each in op.operands)
        zero, other = (a, b) if constant_int(a) == 0 else (b, a)
        if constant_int(zero) != 0:
            x, y = self.of(a, depth), self.of(b, depth)
            return Between(largest(x.low, y.low), largest(x.high, y.high))
        if other in self._loops:
            return self.of(other, depth)
        place = from_location(op.location)
        if op.result not in self._loops and place is not None and place.lineno in self._lines:
            found = self.of(other, depth)
            # The trip count of a loop that is cut into parts: its own name says more than the name of its bound.
            is_opaque = found.is_exact and len(found.high.terms) == 1 and _is_given(found.high)
            return Between.exactly(self.unknown("trips", op, op)) if is_opaque else _from_zero(found)
        return None if op.result in self._loops else _from_zero(self.of(other, depth))

    def _smallest(self, op: arith.MinSIOp, depth: int) -> Between:
        a, b = (self.of(each, depth) for each in op.operands)
        for one, other in ((a, b), (b, a)):
            if one.high.covers(other.high):
                return Between(other.low if other.is_exact and one.low.covers(other.low) else _ZERO, other.high)
        return Between(_ZERO, applied("min", a.high, b.high))

    def _choose(self, op: arith.SelectOp, depth: int) -> Between | None:
        quotient = _floor_division(op)
        if quotient is not None:
            x, k = (self.of(each, depth) for each in quotient)
            if x.is_exact and k.is_exact:
                return Between.exactly(applied("ceil_div", x.high - (k.high - 1), k.high))
            return None
        a, b = self.of(op.lhs, depth), self.of(op.rhs, depth)
        return Between(_ZERO, largest(a.high, b.high)) if op.lhs.type != op.cond.type else None

    def _loop(self, op: scf.WhileOp, depth: int) -> Between | None:
        bound = _ceil_sqrt_of(op)
        if bound is None:
            return None
        n = self.of(bound, depth)
        return Between.exactly(applied("ceil_sqrt", n.high)) if n.is_exact else None

    def _size(self, op: memref.DimOp, depth: int) -> Between | None:
        axis, alloc = constant_int(op.index), op.source.owner
        type = op.source.type
        assert isinstance(type, MemRefType)
        if axis is None:
            return None
        if (known := type.get_shape()[axis]) >= 0:
            return Between.exactly(ByteCount.of(known))
        if isinstance(alloc, memref.AllocOp):
            return self.of(alloc.dynamic_sizes[sum(size < 0 for size in type.get_shape()[:axis])], depth)
        return None


_RULES: dict[type[Operation], Callable[..., Between | None]] = {
    arith.ConstantOp: Sizes._constant,
    arith.AddiOp: Sizes._add,
    arith.SubiOp: Sizes._subtract,
    arith.MuliOp: Sizes._multiply,
    arith.MaxSIOp: Sizes._largest,
    arith.MinSIOp: Sizes._smallest,
    arith.SelectOp: Sizes._choose,
    scf.WhileOp: Sizes._loop,
    memref.DimOp: Sizes._size,
}


def _from_zero(found: Between) -> Between:
    """Clamped to at least 0, as for counts."""
    if found.high.static is not None and found.high.static < 0:
        return Between.exactly(_ZERO)
    if found.is_exact and found.high.covers(_ZERO):
        return found
    high = found.high if found.high.covers(_ZERO) else applied("max", found.high, _ZERO)
    return Between.exactly(high) if found.is_exact else Between(_ZERO, high)


def _tells_more(found: Between) -> bool:
    """Whether it says more about a loop's trip count than an unknown would."""
    if found.high.static is not None:
        return True
    if found.is_exact:
        return any(isinstance(atom, Applied) for atoms, _ in found.high.terms for atom in atoms)
    return all(name.startswith("trips") for name in found.high.unknowns)


def _is_given(count: ByteCount) -> bool:
    """Whether it is a single unknown, which compiled code receives or reads."""
    ((atoms, factor),) = count.terms
    return factor == 1 and len(atoms) == 1 and isinstance(atoms[0], Unknown)


def stripped(value: SSAValue) -> SSAValue:
    """The number without conversions between integer types."""
    while isinstance(value, OpResult) and isinstance(value.op, _CASTS):
        value = value.op.operands[0]
    return value


def _made_by(value: SSAValue, kind: type[_Op]) -> _Op | None:
    op = stripped(value).owner
    return op if isinstance(op, kind) else None


def _floor_division(op: arith.SelectOp) -> tuple[SSAValue, SSAValue] | None:
    """x and k of x // k, as `dialect.division` spells it, if x is not negative and k is positive."""
    inner: SSAValue = op.rhs
    for _ in range(3):
        if (division := _made_by(inner, arith.DivSIOp)) is not None:
            choice = _made_by(division.rhs, arith.SelectOp)
            return division.lhs, division.rhs if choice is None else choice.rhs
        following = _made_by(inner, arith.SelectOp)
        if following is None:
            return None
        inner = following.rhs
    return None


def _ceil_sqrt_of(op: scf.WhileOp) -> SSAValue | None:
    """n, if the loop counts k from 1 while k k < n, as the loop over checkpoints does."""
    if len(op.results) != 1 or constant_int(op.operands[0]) != 1:
        return None
    (k,) = op.before_region.block.args
    (step,) = op.after_region.block.args
    condition = _made_by(terminator(op.before_region.block).operands[0], arith.CmpiOp)
    following = _made_by(terminator(op.after_region.block).operands[0], arith.AddiOp)
    if condition is None or condition.predicate.value.data != 2 or following is None:  # 2 is slt
        return None
    square = _made_by(condition.lhs, arith.MuliOp)
    is_square = square is not None and square.lhs is k and square.rhs is k
    adds_one = following.lhs is step and constant_int(following.rhs) == 1
    return condition.rhs if is_square and adds_one else None


def per_trip(index: SSAValue) -> tuple[Operation, int, int] | None:
    """a and b of an index that is a i + b in trip i of a loop, and that loop; a and b are constants."""
    form = linear_form(stripped(index))
    if len(form.terms) != 1:
        return None
    ((counter, factor),) = form.terms.items()
    loop = _counted_loop(stripped(counter))
    return None if loop is None else (loop, factor, form.constant)


def _counted_loop(value: SSAValue) -> Operation | None:
    """The loop whose trips a value counts from 0."""
    if not isinstance(value, BlockArgument):
        return None
    loop, carried = value.block.parent_op(), carry_of(value)
    if isinstance(loop, scf.ForOp):
        return loop if value.index == 0 and counts_from_zero(loop) else None
    if carried is None or loop is None or not is_structured(loop):
        return None
    carry = carried[1]
    return loop if constant_int(carry.init) == 0 and increment(carry.yielded, value) == 1 else None
