"""Reductions over axes, which drop them; a reduction over all axes gives a scalar."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseArrayBase, IntegerType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, prop_def, result_def

from mlirad.dialect.core import intervals, types
from mlirad.dialect.core.answers import Generic, Given
from mlirad.dialect.core.attributes import ints
from mlirad.dialect.core.derivative import OneOperandOp
from mlirad.dialect.core.expr import Expr, emit, sum_of, where
from mlirad.dialect.core.intervals import HIGHEST, Integer, Interval
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, dtype_name, literal, shape_text
from mlirad.dialect.core.op import NdOp, PureOp, op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.scalars import plus, scalar_op
from mlirad.dialect.core.shift import Shift
from mlirad.dialect.ops.choice import annihilated
from mlirad.dialect.ops.compare import CastOp, cast
from mlirad.dialect.ops.elementwise import numbers
from mlirad.dialect.ops.movement import broadcast_like
from mlirad.errors import ShapeError


class ReductionOp(OneOperandOp, PureOp):
    """A commutative fold over `axes` (increasing).

    Its spellings, their methods and `ufunc.reduce` are compiled from its answers.
    """

    x = operand_def()
    axes = prop_def(DenseArrayBase)
    result = result_def()
    assembly_format = "$x attr-dict `:` type($x) `to` type($result)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        (type,) = operands
        source, axes = types.shape(type), ints(properties["axes"])
        increasing = all(a < b for a, b in itertools.pairwise(axes))
        if not types.is_tensor(type) or not increasing or any(not 0 <= axis < len(source) for axis in axes):
            raise ShapeError(f"{cls.name}: {type} does not have the axes {list(axes)}")
        kept = [size for axis, size in enumerate(source) if axis not in axes]
        return [types.of_shape(kept, types.element_type(cls.accept(type)))]

    @classmethod
    def accept(cls, type: Attribute) -> Attribute:
        return numbers(cls.name, type)

    @classmethod
    def ufunc(cls) -> np.ufunc:
        """One step of the fold, in NumPy."""
        owners = (getattr(each, "__self__", None) for each in cls.spellings)
        return next(each for each in owners if isinstance(each, np.ufunc))

    def is_rounded(self) -> bool:
        return True

    @property
    def kept(self) -> list[int]:
        """The axes that are not reduced."""
        rank = len(types.shape(self.x.type))
        return [axis for axis in range(rank) if axis not in ints(self.axes)]

    def reference(self, x: Any) -> Any:
        element = types.element_type(self.x.type)
        # A fold of no elements gives the neutral element, which NumPy must receive if the ufunc has no identity.
        is_open = self.ufunc().identity is None and not np.size(x)
        options = {"initial": self.neutral(element)} if is_open else {}
        found = self.spellings[0](x, axis=ints(self.axes), **options)
        return np.asarray(found).astype(types.to_dtype(element))[()]

    def numpy_source(self, source: NumpySource) -> NumpyText:
        element, axes = types.element_type(self.x.type), ints(self.axes)
        named: dict[str, NumpyText | str | int] = {} if not self.kept else {"axis": shape_text(axes)}
        if self.ufunc().identity is None:
            if any(types.shape(self.x.type)[axis] < 1 for axis in axes):
                named["initial"] = literal(self.neutral(element))
        elif types.is_integer(element) and types.itemsize(element) < 8:
            named["dtype"] = dtype_name(element)
        return source.called(self.spellings[0], source.operand(0), **named)

    def batched(self, operands: Sequence[Expr], stacked: Sequence[bool], lanes: int | Expr) -> Sequence[Expr]:
        return [emit(type(self), operands[0], axes=[axis + 1 for axis in ints(self.axes)])]

    def paths(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (count,) = given
        return (None if count is None else sum_of(count, ints(self.axes)),)

    @abstractmethod
    def combine(self, element: SSAValue, accumulator: SSAValue) -> SSAValue:
        """One step of the fold, in upstream ops."""

    def pick(self, kinds: Sequence[Any], *operands: SSAValue) -> SSAValue:
        """One of three upstream ops: for floats, for signed and for unsigned integers."""
        element = types.element_type(self.x.type)
        index = 0 if types.is_float(element) else 2 if types.is_unsigned(element) else 1
        return scalar_op(kinds[index], *operands)

    @classmethod
    @abstractmethod
    def neutral(cls, element: Attribute) -> int | float:
        """The neutral element of the fold for this type."""

    def identity(self) -> int | float:
        """The fold of no elements."""
        return self.neutral(types.element_type(self.x.type))

    def loops(self) -> Generic:
        every = tuple(range(len(types.shape(self.x.type))))
        return Generic((every, tuple(self.kept)), self.combine, self.identity())


@op(np.sum, np.add.reduce, linear=True, complex=True, arithmetic=True)
class SumOp(ReductionOp):
    """The sum over axes. Integers wrap."""

    name = "nd.sum"

    def integer(self, *operands: Interval) -> Integer:
        source = self.x.owner
        if not isinstance(source, CastOp) or not types.is_bool(source.x.type):
            return intervals.UNKNOWN
        return Integer(interval=Interval(0, HIGHEST), counted=source.x)

    def shifted(self, x: Shift) -> Shift | None:
        return x.along({axis: place for place, axis in enumerate(self.kept)}) if x.is_factor else None

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        return broadcast_like(g, self.kept, x)

    def jvp(self, dx: Expr, out: Expr, x: Expr) -> Expr:
        return self.result_on(dx)

    def combine(self, element: SSAValue, accumulator: SSAValue) -> SSAValue:
        return plus(accumulator, element)

    @classmethod
    def neutral(cls, element: Attribute) -> int | float:
        # -0.0 is the exact identity of floats, but NumPy's sum of nothing is 0.0.
        return 0


class ExtremalOp(NdOp):
    """An op whose result is the largest or smallest of many numbers. Only the chosen ones get the cotangent."""

    result = result_def()


class ExtremeOp(ExtremalOp, ReductionOp):
    """The largest or smallest element; nan if there is one. Ties share the cotangent equally."""

    @classmethod
    def accept(cls, type: Attribute) -> Attribute:
        return type

    @staticmethod
    @abstractmethod
    def is_beyond(extreme: Expr, x: Expr) -> Expr:
        """Whether the extreme differs from x. Nothing is beyond nan."""

    def _weight(self, out: Expr, x: Expr) -> Expr:
        """The share of an element in the extreme; nan if the extreme is nan."""
        ties = sum_of(cast(x == broadcast_like(out, self.kept, x), x.element), ints(self.axes))
        return where(ties == 0, np.nan, 1.0 / ties)

    def _of_extremes(self, out: Expr, x: Expr, shares: Expr) -> Expr:
        return where(self.is_beyond(broadcast_like(out, self.kept, x), x), 0.0, shares)

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        share = annihilated(g * self._weight(out, x), g)
        return self._of_extremes(out, x, broadcast_like(share, self.kept, x))

    def jvp(self, dx: Expr, out: Expr, x: Expr) -> Expr:
        weight = broadcast_like(self._weight(out, x), self.kept, x)
        return sum_of(self._of_extremes(out, x, dx * weight), ints(self.axes))

    @staticmethod
    def bounds(element: Attribute) -> tuple[int | float, int | float]:
        """The least and the greatest number of a type."""
        if types.is_float(element):
            return -np.inf, np.inf
        if types.is_bool(element):
            return 0, 1
        assert isinstance(element, IntegerType)
        limits = np.iinfo(types.to_dtype(element))
        return int(limits.min), int(limits.max)


@op(np.max, np.amax, np.maximum.reduce, partial=(0,))
class MaxOp(ExtremeOp):
    """The largest element over axes."""

    name = "nd.max"

    @staticmethod
    def is_beyond(extreme: Expr, x: Expr) -> Expr:
        return extreme > x

    def combine(self, element: SSAValue, accumulator: SSAValue) -> SSAValue:
        return self.pick((arith.MaximumfOp, arith.MaxSIOp, arith.MaxUIOp), accumulator, element)

    @classmethod
    def neutral(cls, element: Attribute) -> int | float:
        return cls.bounds(element)[0]


@op(np.min, np.amin, np.minimum.reduce, partial=(0,))
class MinOp(ExtremeOp):
    """The smallest element over axes."""

    name = "nd.min"

    @staticmethod
    def is_beyond(extreme: Expr, x: Expr) -> Expr:
        return extreme < x

    def combine(self, element: SSAValue, accumulator: SSAValue) -> SSAValue:
        return self.pick((arith.MinimumfOp, arith.MinSIOp, arith.MinUIOp), accumulator, element)

    @classmethod
    def neutral(cls, element: Attribute) -> int | float:
        return cls.bounds(element)[1]
