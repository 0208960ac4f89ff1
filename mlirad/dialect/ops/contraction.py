"""Sums of products of two operands: matrix, inner and outer products, batched or not."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def

from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Generic, Given
from mlirad.dialect.core.derivative import BilinearOp, total
from mlirad.dialect.core.expr import Expr, emit, ones_like
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, Rank, called, infix, text
from mlirad.dialect.core.op import PureOp, op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.scalars import Complex, plus, scalar_op
from mlirad.dialect.core.shift import Shift
from mlirad.dialect.ops.elementwise import numbers
from mlirad.dialect.ops.movement import reshape
from mlirad.errors import DTypeError, ShapeError

TANGENT_FACTOR = "mlirad.tangent_factor"
"""On a multiplication in a loop: which operand is a tangent, so that the product is 0 where it is exactly 0."""


def labels_of(spec: str) -> tuple[str, str, str]:
    """The axis labels of the operands and of the result of `"ij,jk->ik"`."""
    operands, _, result = spec.partition("->")
    lhs, _, rhs = operands.partition(",")
    return lhs, rhs, result


@op(np.einsum, cost=2, complex=True, arithmetic=True)
class ContractOp(BilinearOp, PureOp):
    """Einstein summation of two operands: `"ij,jk->ik"` is the matrix product.

    No label occurs twice in one operand, and each label of one operand is in the other or in the result.

    tangent: the number of the operand that is a tangent, if one is. Where it is exactly 0, so are its products: those
    with inf or nan may be left out of the sums.
    """

    name = "nd.contract"
    x = operand_def()
    y = operand_def()
    spec = prop_def(StringAttr)
    tangent = opt_prop_def(IntegerAttr)
    result = result_def()
    assembly_format = "$spec $x `,` $y attr-dict `:` functional-type(operands, results)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        spec = properties["spec"]
        assert isinstance(spec, StringAttr)
        lhs, rhs, result = labels_of(spec.data)
        x, y = (numbers(cls.name, type) for type in operands)
        if types.element_type(x) != types.element_type(y):
            raise DTypeError(f"nd.contract: element types differ: {x} and {y}")
        for labels, other in ((lhs, rhs), (rhs, lhs)):
            if len(set(labels)) != len(labels) or not set(labels) <= set(other) | set(result):
                raise ShapeError(f"nd.contract: bad labels in {spec.data!r}")
        if len(set(result)) != len(result) or not set(result) <= set(lhs) | set(rhs):
            raise ShapeError(f"nd.contract: bad result labels in {spec.data!r}")
        sizes: dict[str, int] = {}
        for labels, type in ((lhs, x), (rhs, y)):
            shape = types.shape(type)
            if len(shape) != len(labels):
                raise ShapeError(f"nd.contract: {type} does not have the axes {labels!r} of {spec.data!r}")
            for label, size in zip(labels, shape, strict=True):
                if sizes.setdefault(label, size) != size:
                    raise ShapeError(f"nd.contract: sizes of axis {label!r} differ: {sizes[label]} and {size}")
        return [types.of_shape([sizes[label] for label in result], types.element_type(x))]

    def is_rounded(self) -> bool:
        return True

    def sums_from_zero(self) -> bool:
        x, y, result = self.labels
        return not set(x + y) <= set(result)

    @property
    def tangent_operand(self) -> int | None:
        return None if self.tangent is None else self.tangent.value.data

    @property
    def labels(self) -> tuple[str, str, str]:
        return labels_of(self.spec.data)

    def reference(self, x: Any, y: Any) -> Any:
        dtype = types.to_dtype(types.element_type(self.x.type))
        return np.asarray(np.einsum(self.spec.data, x, y)).astype(dtype)[()]

    def numpy_source(self, source: NumpySource) -> NumpyText:
        lhs, rhs, result = self.labels
        x, y = source.operands()
        if len(lhs) == len(rhs) == 1 and result == lhs + rhs:
            return called("np.outer", x, y)
        shared = [label for label in lhs if label in rhs and label not in result]
        if len(shared) == 1 and 0 < len(lhs) < 3 and 0 < len(rhs) < 3 and result == (lhs + rhs).replace(shared[0], ""):
            (label,) = shared
            x = text(x.within(Rank.ATOM), ".T") if lhs[-1] != label else x
            y = text(y.within(Rank.ATOM), ".T") if rhs[0] != label else y
            return infix(x, "@", y, Rank.PRODUCT)
        return called("np.einsum", f'"{self.spec.data}"', x, y)

    def batched(self, operands: Sequence[Expr], stacked: Sequence[bool], lanes: int | Expr) -> Sequence[Expr]:
        lhs, rhs, result = self.labels
        new = next(label for label in string.ascii_letters if label not in lhs + rhs + result)
        lhs, rhs = (new * is_stacked + labels for is_stacked, labels in zip(stacked, (lhs, rhs), strict=True))
        return [contract(f"{lhs},{rhs}->{new}{result}", *operands, tangent=self.tangent_operand)]

    def shifted(self, x: Shift, y: Shift) -> Shift | None:
        lhs, rhs, result = self.labels
        one, labels = (x, lhs) if x.by else (y, rhs)
        if (x.by and y.by) or not one.is_factor:
            return None
        return one.along({labels.index(label): place for place, label in enumerate(result) if label in labels})

    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[Expr, Expr]:
        lhs, rhs, result = self.labels
        left, right = contract(f"{result},{rhs}->{lhs}", g, y), contract(f"{lhs},{result}->{rhs}", x, g)
        # A contraction without axes is a scalar; the operand may be an array without axes.
        return reshape(left, x.type), reshape(right, y.type)

    def jvp(self, dx: Expr | None, dy: Expr | None, out: Expr, x: Expr, y: Expr) -> Expr | None:
        spec = self.spec.data
        left = None if dx is None else contract(spec, dx, y, tangent=0)
        return total(left, None if dy is None else contract(spec, x, dy, tangent=1))

    def paths(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        return self.tangents(given, outs, [ones_like(operand) for operand in operands])

    def loops(self) -> Generic:
        lhs, rhs, result = self.labels
        order = result + "".join(label for label in dict.fromkeys(lhs + rhs) if label not in result)
        maps = tuple(tuple(order.index(label) for label in labels) for labels in (lhs, rhs, result))
        return Generic(maps, self._step, 0) if len(order) > len(result) else Generic(maps, self._product)

    def _product(self, x: SSAValue, y: SSAValue) -> SSAValue:
        if types.is_complex(x.type):
            return (Complex.of(x) * Complex.of(y)).value
        if not types.is_float(x.type):
            return scalar_op(arith.MuliOp, x, y)
        product = scalar_op(arith.MulfOp, x, y)
        if self.tangent is not None:
            assert isinstance(product.owner, Operation)
            product.owner.attributes[TANGENT_FACTOR] = self.tangent
        return product

    def _step(self, x: SSAValue, y: SSAValue, accumulator: SSAValue) -> SSAValue:
        return plus(accumulator, self._product(x, y))


def contract(spec: str, x: Expr, y: Expr, *, tangent: int | None = None) -> Expr:
    """`np.einsum(spec, x, y)`, for two operands of one element type; see ContractOp for the valid specs, and for
    `tangent`."""
    if tangent is None:
        return emit(ContractOp, x, y, spec=spec)
    return emit(ContractOp, x, y, spec=spec, tangent=IntegerAttr(tangent, i64))
