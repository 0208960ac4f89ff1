"""The largest or smallest number so far, as a program with comparisons finds it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import StringAttr, UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AnyAttr, VarConstraint, operand_def, opt_prop_def, prop_def, result_def

from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Composed, Generic, Given
from mlirad.dialect.core.control import branch
from mlirad.dialect.core.derivative import TwoOperandsOp, total
from mlirad.dialect.core.expr import Expr, dim, emit, sum_of, where
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, Rank, called, dtype_name, text, tuple_of
from mlirad.dialect.core.op import PureOp, op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.scalars import choose, compare
from mlirad.dialect.ops.constant import counted
from mlirad.dialect.ops.elementwise import floats
from mlirad.dialect.ops.movement import broadcast_like, repeated
from mlirad.dialect.ops.reduction import ExtremalOp, MaxOp, MinOp
from mlirad.errors import ShapeError

_T: VarConstraint[Attribute] = VarConstraint("T", AnyAttr())
_NOWHERE = np.iinfo(np.int64).max

RELATIONS = {
    "ogt": np.greater,
    "oge": np.greater_equal,
    "olt": np.less,
    "ole": np.less_equal,
    "ugt": lambda x, y: ~np.less_equal(x, y),
    "uge": lambda x, y: ~np.less(x, y),
    "ult": lambda x, y: ~np.greater_equal(x, y),
    "ule": lambda x, y: ~np.greater(x, y),
}
"""NumPy's functions for arith's relations of floats. Those that begin with u also hold if a number is nan."""


@op(linear=True, partial=(0, 1))
class RunningExtremeOp(ExtremalOp, TwoOperandsOp, PureOp):
    """The last m of `m = start`, then `m = v if v taken m else m` for each number v along the last axis of x.

    `taken` is a relation. With `ogt`, nan is never taken; with `ugt`, nan is taken, and then so is any next number. Of
    equal numbers, 0.0 and -0.0 included, the first is chosen, or the last if the relation holds for equal numbers. The
    chosen number gets the whole cotangent. in_order: whether to compare the numbers one after the other.
    """

    name = "nd.running_extreme"
    x = operand_def()
    start = operand_def(_T)
    taken = prop_def(StringAttr)
    in_order = opt_prop_def(UnitAttr)
    result = result_def(_T)
    assembly_format = "$x `,` $start attr-dict `:` type($x) `,` type($start)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        x, start = operands
        shape, element = types.shape(x), types.element_type(floats(cls.name, x))
        if not shape or types.shape(start) != shape[:-1] or types.element_type(start) != element:
            raise ShapeError(f"{cls.name}: {start} is not a valid start for {x}")
        taken = properties["taken"]
        if not isinstance(taken, StringAttr) or taken.data not in RELATIONS:
            raise ShapeError(f"{cls.name}: {taken} is not a relation")
        return [start]

    @property
    def _is_largest(self) -> bool:
        return self.taken.data[1] == "g"

    @property
    def _is_last(self) -> bool:
        """Whether the last one of equal numbers is chosen."""
        return self.taken.data.endswith("e")

    @property
    def _takes_nan(self) -> bool:
        return self.taken.data.startswith("u")

    @property
    def _kept(self) -> tuple[int, ...]:
        return tuple(range(len(types.shape(self.start.type))))

    @property
    def _axis(self) -> int:
        return len(self._kept)

    def reference(self, x: Any, start: Any) -> Any:
        is_taken, found = RELATIONS[self.taken.data], np.asarray(start)
        for number in range(np.shape(x)[-1]):
            value = np.asarray(x)[..., number]
            found = np.where(is_taken(value, found), value, found)
        return found[()]

    def numpy_source(self, source: NumpySource) -> NumpyText:
        x, start = source.operands()
        relation = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}[self.taken.data[1:]]
        opposite = {">": "<=", ">=": "<", "<": ">=", "<=": ">"}[relation]
        test = f"m if v {opposite} m else v" if self._takes_nan else f"v if v {relation} m else m"
        step = called("np.frompyfunc", text(f"lambda m, v: {test}"), text("2"), text("1"))
        dtype = dtype_name(types.element_type(self.x.type))
        if not self._kept:
            numbers = text(called("np.append", start, x), ".astype(object)")
            return called(dtype, text(step, ".reduce(", numbers, ")"))
        numbers = called("np.concatenate", tuple_of([text(start.within(Rank.ATOM), "[..., None]"), x]), axis=-1)
        return text(step, ".reduce(", numbers, f".astype(object), axis=-1).astype({dtype})")

    def batched(self, operands: Sequence[Expr], stacked: Sequence[bool], lanes: int | Expr) -> Sequence[Expr]:
        x, start = (each if own else repeated(each, lanes) for each, own in zip(operands, stacked, strict=True))
        return [emit(RunningExtremeOp, x, start, taken=self.taken)]

    # --- derivatives --------------------------------------------------------------------------------------------

    def chosen(self, out: Expr, x: Expr, start: Expr) -> tuple[Expr, Expr]:
        """The place of the chosen number along the last axis, and whether the start stays instead."""
        along, numbers = [self._axis], self._numbers(x)
        outs = broadcast_like(out, self._kept, x)
        is_same, last_nan = x == outs, None
        if self._takes_nan:
            last_nan = emit(MaxOp, where(x != x, numbers, -1), axes=along)
            is_same = is_same | ((x != x) & (outs != outs))
            is_same = is_same & (numbers >= broadcast_like(last_nan, self._kept, numbers))
        if self._is_last:
            place = emit(MaxOp, where(is_same, numbers, -1), axes=along)
            return place, place < 0
        place = emit(MinOp, where(is_same, numbers, _NOWHERE), axes=along)
        stays = ~RELATIONS[self.taken.data](out, start)
        if last_nan is not None:
            stays = stays & (last_nan < 0)
        return place, stays | (place == _NOWHERE)

    def _numbers(self, x: Expr) -> Expr:
        """0, 1, 2, ... along the last axis, in the shape of x."""
        size = dim(x, self._axis) if x.shape[self._axis] < 0 else x.shape[self._axis]
        return broadcast_like(counted(size), [self._axis], x)

    def _is_chosen(self, out: Expr, x: Expr, start: Expr) -> tuple[Expr, Expr]:
        """Whether each number is the chosen one, and whether the start stays."""
        place, stays = self.chosen(out, x, start)
        numbers = self._numbers(x)
        here = numbers == broadcast_like(place, self._kept, numbers)
        return here & ~broadcast_like(stays, self._kept, here), stays

    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[Expr, Expr]:
        is_chosen, stays = self._is_chosen(out, x, y)
        return where(is_chosen, broadcast_like(g, self._kept, x), 0.0), where(stays, g, 0.0)

    def jvp(self, dx: Expr | None, dy: Expr | None, out: Expr, x: Expr, y: Expr) -> Expr | None:
        is_chosen, stays = self._is_chosen(out, x, y)
        of_x = None if dx is None else sum_of(where(is_chosen, dx, 0.0), [self._axis])
        return total(of_x, None if dy is None else where(stays, dy, 0.0))

    def paths(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        of_x, of_start = given
        return (total(None if of_x is None else sum_of(of_x, [self._axis]), of_start),)

    # --- loops --------------------------------------------------------------------------------------------------

    def loops(self) -> Generic | Composed:
        if self.in_order is None:
            return Composed(self._in_any_order)
        every = tuple(range(self._axis + 1))
        return Generic((every, self._kept), self._step, initial=-np.inf if self._is_largest else np.inf, start=1)

    def _step(self, element: SSAValue, accumulator: SSAValue) -> SSAValue:
        return choose(compare(self.taken.data, element, accumulator), element, accumulator)

    def _in_any_order(self, x: Expr, start: Expr) -> Sequence[Expr]:
        """Compare in vectors. Compare again in order if the order matters: for the sign of 0, or if a nan is taken."""
        worst = -np.inf if self._is_largest else np.inf
        numbers = x if self._takes_nan else where(x == x, x, worst)
        extreme = emit(MaxOp if self._is_largest else MinOp, numbers, axes=[self._axis])
        found = where(extreme > start if self._is_largest else extreme < start, extreme, start)
        is_open = found == 0.0
        if self._takes_nan:
            is_open = is_open | (extreme != extreme) | (start != start)
        if self._kept:
            is_open = emit(MaxOp, is_open, axes=self._kept)
        in_order = partial(emit, RunningExtremeOp, x, start, taken=self.taken, in_order=UnitAttr())
        return branch(is_open, in_order, lambda: found)


def running_extreme(x: Expr, start: Expr, taken: str) -> tuple[Expr, RunningExtremeOp]:
    """The op on x and start, and its result."""
    out = emit(RunningExtremeOp, x, start, taken=taken)
    assert isinstance(out.value.owner, RunningExtremeOp)
    return out, out.value.owner
