"""Sorting along the last axis with NumPy's own functions. Nan comes last. `kind` selects the algorithm, as in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.dialects.linalg.ops import IndexOp, YieldOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.irdl import AnyAttr, Operand, VarConstraint, operand_def, prop_def, result_def

from mlirad.contract.native_functions import sorting
from mlirad.dialect.arrays.gather import GatherOp, ScatterAddOp
from mlirad.dialect.arrays.slices import extract_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.answers import At, Given
from mlirad.dialect.core.control import branch
from mlirad.dialect.core.derivative import InertOp, OneOperandOp
from mlirad.dialect.core.expr import Expr, building, constant, emit, insert, sum_of
from mlirad.dialect.core.intervals import Proofs
from mlirad.dialect.core.native import Length, NativeCalls, NativeFunction, PartAddress
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, called
from mlirad.dialect.core.op import PureOp, op
from mlirad.dialect.core.registry import Properties, op_of
from mlirad.dialect.core.upstream import empty, generic, unknown_sizes
from mlirad.dialect.ops.compare import CastOp
from mlirad.dialect.ops.constant import counted
from mlirad.dialect.ops.movement import broadcast_like, size_along
from mlirad.errors import DTypeError, ShapeError

_T: VarConstraint[Attribute] = VarConstraint("T", AnyAttr())

QUICKSORT, STABLE = KINDS = ("quicksort", "stable")
_FEW = 256
"""Fewer elements are not worth a look at their order."""
_NO_MEMORY = ("MemoryError", "no memory to sort an array")
_WORK = 128
"""The cost per element for a hundred elements; for a million elements it is six times as much."""


class SortingOp(PureOp):
    """An op that orders the elements along the last axis."""

    if TYPE_CHECKING:
        x: Operand
    kind = prop_def(StringAttr)

    @classmethod
    def sorted_type(cls, operand: Attribute, properties: Properties) -> TensorType:
        """The type of the operand. Raises ShapeError or DTypeError."""
        kind = properties["kind"]
        if not isinstance(operand, TensorType) or not types.shape(operand):
            raise ShapeError(f"{cls.name}: {operand} has no axis to sort along")
        if not isinstance(kind, StringAttr) or kind.data not in KINDS:
            raise DTypeError(f"{cls.name}: the kind {kind} is not one of {KINDS}")
        return operand

    def batched(self, operands: Sequence[Expr], stacked: Sequence[bool], lanes: int | Expr) -> Sequence[Expr]:
        return self.rebuild(*operands)

    def size_source(self, axis: int, result: int = 0) -> tuple[SSAValue, int]:
        return self.x, axis

    @property
    def keywords(self) -> dict[str, str]:
        """The keywords for a stable sort in NumPy's source."""
        return {"stable": "True"} if self.kind.data == STABLE else {}

    @property
    def along(self) -> Length:
        return Length(0, len(types.shape(self.x.type)) - 1)

    def native(self, function: str) -> NativeFunction:
        dtype = types.to_dtype(types.element_type(self.x.type))
        return NativeFunction(sorting(function, self.kind.data, dtype), _NO_MEMORY)


@op(cost=_WORK)
class SortOp(OneOperandOp, SortingOp):
    """The elements in order. Ties get the cotangents that a stable sort would give them."""

    name = "nd.sort"
    x = operand_def(_T)
    result = result_def(_T)
    assembly_format = "$x attr-dict `:` type($x)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        return [cls.sorted_type(operands[0], properties)]

    def reference(self, x: Any) -> Any:
        return np.sort(x, stable=self.kind.data == STABLE)

    def numpy_source(self, source: NumpySource) -> NumpyText:
        return called("np.sort", source.operand(0), **self.keywords)

    def vjp(self, g: Expr, out: Expr, x: Expr) -> At:
        places, attributes = places_in_order(x, out)
        return At(lambda accumulator: emit(ScatterAddOp, g, accumulator, *places, **attributes), is_scattered=True)

    def jvp(self, dx: Expr, out: Expr, x: Expr) -> Expr:
        places, attributes = places_in_order(x, out)
        return emit(GatherOp, dx, *places, **attributes)

    def paths(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (count,) = given
        last = len(operands[0].shape) - 1
        kept = list(range(last))
        return (None if count is None else broadcast_like(sum_of(count, [last]), kept, count),)

    def simplified(self, proofs: Proofs) -> Sequence[SSAValue] | None:
        """A derivative needs the argsort. If there is one, the sort becomes a gather with its indices."""
        others = (use.operation for use in self.x.uses if use.operation.parent is self.parent)
        if not any(isinstance(other, ArgsortOp) and other.kind.data == STABLE for other in others):
            return None
        x = Expr(self.x)
        places, attributes = places_in_order(x)
        return [emit(GatherOp, x, *places, **attributes).value]

    def loops(self) -> NativeCalls:
        return NativeCalls(self.native("sort"), (PartAddress(1), self.along, 0), lambda x: [x], work=_WORK)


@op(cost=_WORK)
class ArgsortOp(InertOp, SortingOp):
    """The indices of the elements in order."""

    name = "nd.argsort"
    x = operand_def()
    result = result_def()
    assembly_format = "$x attr-dict `:` type($x) `->` type($result)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        return [types.tensor(types.shape(cls.sorted_type(operands[0], properties)), types.I64)]

    def reference(self, x: Any) -> Any:
        return np.argsort(x, stable=self.kind.data == STABLE)

    def numpy_source(self, source: NumpySource) -> NumpyText:
        return called("np.argsort", source.operand(0), **self.keywords)

    def loops(self) -> NativeCalls:
        return NativeCalls(
            self.native("argsort"), (PartAddress(0), PartAddress(1), self.along, 0), _places, work=2 * _WORK
        )


def _places(x: SSAValue) -> Sequence[SSAValue]:
    """0, 1, ... along the last axis."""
    shape = types.shape(x.type)
    block = Block(arg_types=[types.I64])
    with building(block):
        insert(YieldOp(insert(arith.IndexCastOp(insert(IndexOp(len(shape) - 1)).result, types.I64)).result))
    return [generic([], empty(types.tensor(shape, types.I64), unknown_sizes(x)), (tuple(range(len(shape))),), block)]


def places_in_order(x: Expr, ordered: Expr | None = None) -> tuple[list[Expr], dict[str, Any]]:
    """The indices in x of its elements in stable sorted order: index arrays for all axes, and their attributes.

    ordered: the elements in order. If each is less than the next, there is only one order, which a quicksort finds,
    too: with vectors, in a seventh of the time.
    """
    rank = len(x.shape)
    sizes = [size if size >= 0 else size_along(x.value, axis) for axis, size in enumerate(x.shape)]
    outer = [broadcast_like(counted(sizes[axis]), [axis], x) for axis in range(rank - 1)]

    def sorted_by(kind: str) -> Expr:
        return emit(ArgsortOp, x, kind=kind)

    if ordered is None or not types.is_static(x.type) or x.shape[-1] < _FEW or 0 in x.shape:
        order = sorted_by(STABLE)
    else:
        (order,) = branch(_is_strict(ordered), lambda: sorted_by(QUICKSORT), lambda: sorted_by(STABLE))
    return [*outer, order], {"axes": list(range(rank)), "at": 0}


def _is_strict(ordered: Expr) -> Expr:
    """Whether each element along the last axis is less than the next."""
    *outer, size = ordered.shape
    starts = [constant(0, types.I64)] * len(outer)
    before = extract_slice(ordered, [*starts, constant(0, types.I64)], [*outer, size - 1])
    after = extract_slice(ordered, [*starts, constant(1, types.I64)], [*outer, size - 1])
    is_less = emit(CastOp, before < after, result_type=types.tensor(before.shape, types.I64))
    return emit(op_of(np.min), is_less, axes=range(len(before.shape))) > 0
