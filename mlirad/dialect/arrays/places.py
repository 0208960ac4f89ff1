"""The indices of a mask's true elements. A selection by a mask is a gather at these indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import IndexType, TensorType, i64
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.irdl import operand_def, result_def

from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Upstream
from mlirad.dialect.core.derivative import InertOp
from mlirad.dialect.core.expr import Expr, building, emit, insert, sum_of
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, called
from mlirad.dialect.core.op import PureOp, op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.scalars import number
from mlirad.dialect.core.upstream import counted, empty, size_of_axis
from mlirad.dialect.ops.compare import cast
from mlirad.errors import DTypeError


@op()
class FlatNonzeroOp(InertOp, PureOp):
    """The indices of the true elements of a mask, in row-major order, as in `np.flatnonzero`.

    The second operand is their number, which is the length of the result.
    """

    name = "nd.flatnonzero"
    mask = operand_def()
    count = operand_def(types.I64)
    result = result_def()
    assembly_format = "$mask `,` $count attr-dict `:` type($mask) `to` type($result)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        mask = operands[0]
        if not isinstance(mask, TensorType) or not types.is_bool(mask.element_type) or not types.shape(mask):
            raise DTypeError(f"{cls.name}: {mask} is not an array of booleans")
        return [types.tensor((-1,), types.I64)]

    def reference(self, mask: Any, count: Any) -> Any:
        places = np.flatnonzero(mask)
        if len(places) != count:
            raise ValueError(f"{len(places)} elements are true, not {count}")
        return places

    def numpy_source(self, source: NumpySource) -> NumpyText:
        return called("np.flatnonzero", source.operand(0))

    def size_source(self, axis: int, result: int = 0) -> SSAValue | tuple[SSAValue, int] | None:
        return self.count

    def part_of(self, axis: int) -> tuple[SSAValue, int | None, int] | None:
        return self.mask, None, 1

    def loops(self) -> Upstream:
        return Upstream(self._build)

    def _build(self, mask: SSAValue, count: SSAValue) -> Sequence[SSAValue]:
        length = insert(arith.IndexCastOp(count, IndexType())).result
        places = empty(types.tensor((-1,), i64), [length])
        sizes = [
            insert(arith.IndexCastOp(size_of_axis(mask, axis), i64)).result if size < 0 else number(size, i64)
            for axis, size in enumerate(types.shape(mask.type))
        ]
        one = number(1, i64)

        def step(counters: list[SSAValue], carried: list[SSAValue]) -> Sequence[SSAValue]:
            index = [insert(arith.IndexCastOp(counter, IndexType())).result for counter in counters]
            holds = insert(tensor.ExtractOp(mask, index, types.I1)).result
            taken, kept = Block(), Block()
            with building(taken):
                place = counters[0]
                for counter, size in zip(counters[1:], sizes[1:], strict=True):
                    place = insert(arith.AddiOp(insert(arith.MuliOp(place, size)).result, counter)).result
                target = insert(arith.IndexCastOp(carried[1], IndexType())).result
                written = insert(tensor.InsertOp(place, carried[0], [target])).result
                insert(scf.YieldOp(written, insert(arith.AddiOp(carried[1], one)).result))
            with building(kept):
                insert(scf.YieldOp(*carried))
            return insert(scf.IfOp(holds, [value.type for value in carried], [taken], [kept])).results

        return counted(sizes, [places, number(0, i64)], step)[:1]


def count_of(mask: Expr) -> Expr:
    """The number of true elements of a mask, an i64."""
    return sum_of(cast(mask, types.I64))


def places_of(mask: Expr, count: Expr) -> Expr:
    """The indices of the true elements of a mask, in row-major order; `count`: their number."""
    return emit(FlatNonzeroOp, mask, count)


def mask_of(places: SSAValue) -> SSAValue | None:
    """The mask with these indices of true elements; None if the indices are not known to come from one."""
    return places.owner.mask if isinstance(places.owner, FlatNonzeroOp) else None
