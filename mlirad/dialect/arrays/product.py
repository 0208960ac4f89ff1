"""The product over axes. Its derivative: the products of all other elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects import arith
from xdsl.ir import Attribute, SSAValue

from mlirad.dialect.arrays.elements import ExtractOp, InsertOp
from mlirad.dialect.arrays.slices import extract_slice, insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.attributes import ints
from mlirad.dialect.core.control import for_loop
from mlirad.dialect.core.expr import Expr, broadcast_scalar, constant, dim, emit, full, sum_of
from mlirad.dialect.core.op import op
from mlirad.dialect.core.scalars import Complex
from mlirad.dialect.ops.choice import annihilated
from mlirad.dialect.ops.movement import broadcast_like
from mlirad.dialect.ops.reduction import ReductionOp


@op(np.prod, np.multiply.reduce, complex=True, arithmetic=True)
class ProdOp(ReductionOp):
    """The product over axes. Integers wrap."""

    name = "nd.prod"

    def vjp(self, g: Expr, out: Expr, x: Expr) -> Expr:
        whole = broadcast_like(g, self.kept, x)
        return annihilated(whole * products_of_others(x, ints(self.axes)), whole)

    def jvp(self, dx: Expr, out: Expr, x: Expr) -> Expr:
        axes = ints(self.axes)
        return sum_of(annihilated(dx * products_of_others(x, axes), dx), axes)

    def has_looped_tangent(self) -> bool:
        return True

    def combine(self, element: SSAValue, accumulator: SSAValue) -> SSAValue:
        if types.is_complex(element.type):
            return (Complex.of(accumulator) * Complex.of(element)).value
        return self.pick((arith.MulfOp, arith.MuliOp, arith.MuliOp), accumulator, element)

    @classmethod
    def neutral(cls, element: Attribute) -> int | float:
        return 1


def products_of_others(x: Expr, axes: Sequence[int]) -> Expr:
    """For each element of x, the product over `axes` of all other elements.

    There is no division, so the result, and its own derivatives, are right even if elements are 0.
    """
    if not axes or 0 in x.shape:
        return broadcast_scalar(constant(1, x.element), x)
    *outer, last = axes
    found = _others_along(x, last)
    if not outer:
        return found
    inner = emit(ProdOp, x, axes=[last])  # the axes before `last` keep their numbers
    kept = [axis for axis in range(len(x.shape)) if axis != last]
    return found * broadcast_like(products_of_others(inner, outer), kept, x)


def _others_along(x: Expr, axis: int) -> Expr:
    """The product of the elements before each element along an axis, times the product of those after it."""
    length, one = dim(x, axis), constant(1, x.element)
    read, write, start = _elements(one) if len(x.shape) == 1 else _slices_along(x, axis, one)

    def before(k: Expr, product: Expr, found: Expr) -> tuple[Expr, Expr]:
        return product * read(x, k), write(product, found, k)

    def behind(k: Expr, product: Expr, found: Expr) -> tuple[Expr, Expr]:
        place = length - 1 - k
        return product * read(x, place), write(read(found, place) * product, found, place)

    _, found = for_loop(length, [start, broadcast_scalar(one, x)], before)
    _, found = for_loop(length, [start, found], behind)
    return found


_Access = tuple[Callable[[Expr, Expr], Expr], Callable[[Expr, Expr, Expr], Expr], Expr]
"""How to read a part of an array by its number, how to write it, and a part filled with ones."""


def _elements(one: Expr) -> _Access:
    return lambda t, k: emit(ExtractOp, t, k), lambda value, t, k: emit(InsertOp, value, t, k), one


def _slices_along(x: Expr, axis: int, one: Expr) -> _Access:
    sizes = [1 if place == axis else size if size >= 0 else dim(x, place) for place, size in enumerate(x.shape)]
    unknown = [size for size in sizes if isinstance(size, Expr)]
    zero = constant(0, types.I64)

    def starts(k: Expr) -> list[Expr]:
        return [k if place == axis else zero for place in range(len(sizes))]

    return (
        lambda t, k: extract_slice(t, starts(k), sizes),
        lambda value, t, k: insert_slice(value, t, starts(k)),
        full(one, [-1 if isinstance(size, Expr) else size for size in sizes], unknown),
    )
