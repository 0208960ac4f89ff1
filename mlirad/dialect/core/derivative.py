"""Families of ops, grouped by the signatures of `vjp` and `jvp`.

Verbs call `cotangents` and `tangents`, with one value for each result and operand; the families unpack them. In `vjp`,
g is the cotangent of the result `out`; the method returns the cotangents of the operands.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

from mlirad.dialect.core.answers import Cotangent, Given, Series
from mlirad.dialect.core.expr import Expr
from mlirad.dialect.core.op import NdOp, PureOp, at_order


def only(gs: Given) -> Expr:
    """The cotangent of an op's only result."""
    (g,) = gs
    assert g is not None, "an op is asked for cotangents only if a result has one"
    return g


def total(one: Expr | None, other: Expr | None) -> Expr | None:
    """The sum of two tangents; None stands for zeros."""
    if one is None or other is None:
        return other if one is None else one
    return one + other


class OneOperandOp(NdOp):
    """One operand, one result."""

    @abstractmethod
    def vjp(self, g: Expr, out: Expr, x: Expr) -> Cotangent: ...

    @abstractmethod
    def jvp(self, dx: Expr, out: Expr, x: Expr) -> Expr | None:
        """The tangent of the result, for the tangent dx."""

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        return (self.vjp(only(gs), *outs, *operands),)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (dx,) = given
        return (None if dx is None else self.jvp(dx, *outs, *operands),)


class TwoOperandsOp(NdOp):
    """Two operands, one result."""

    @abstractmethod
    def vjp(self, g: Expr, out: Expr, x: Expr, y: Expr) -> tuple[Cotangent, Cotangent]: ...

    @abstractmethod
    def jvp(self, dx: Expr | None, dy: Expr | None, out: Expr, x: Expr, y: Expr) -> Expr | None:
        """The tangent of the result, for the tangents dx and dy; None stands for zeros."""

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        return self.vjp(only(gs), *outs, *operands)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        dx, dy = given
        return (self.jvp(dx, dy, *outs, *operands),)


Pair = tuple[Expr | None, Expr | None]
"""The cotangents or tangents of two results; None stands for zeros."""


class TwoResultsOp(NdOp):
    """One operand, two results."""

    @abstractmethod
    def vjp(self, g: Pair, out: tuple[Expr, Expr], x: Expr) -> Cotangent: ...

    @abstractmethod
    def jvp(self, dx: Expr, out: tuple[Expr, Expr], x: Expr) -> Pair:
        """The tangents of the results, for the tangent dx."""

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        (g, h), (first, second) = gs, outs
        return (self.vjp((g, h), (first, second), *operands),)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        (dx,), (first, second) = given, outs
        return (None, None) if dx is None else self.jvp(dx, (first, second), *operands)


class BilinearOp(TwoOperandsOp):
    """One result, linear in each of two operands."""

    def coefficient(self, order: int, outs: Sequence[Series], operands: Sequence[Series]) -> Given:
        x, y = operands
        return (convolution(self.result_on, order, x, y),)


def convolution(product: Callable[[Expr, Expr], Expr], order: int, x: Series, y: Series, first: int = 0) -> Expr | None:
    """The sum of all products of a coefficient of x, from number `first` on, and a coefficient of y, with numbers that
    add up to `order`."""
    result: Expr | None = None
    for k in range(first, order + 1):
        one, other = x[k], y[order - k]
        if one is not None and other is not None:
            result = total(result, product(one, other))
    return result


class LinearOp(PureOp):
    """One result, linear in the first operand. The other operands, `places`, are indices or sizes, without a
    derivative."""

    @abstractmethod
    def vjp(self, g: Expr, out: Expr, x: Expr, *places: Expr) -> Cotangent: ...

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        return (self.vjp(only(gs), *outs, *operands), *(None for _ in operands[1:]))

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        return (None if given[0] is None else self.result_on(given[0], *operands[1:]),)

    def paths(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        return self.tangents(given, outs, operands)

    def coefficient(self, order: int, outs: Sequence[Series], operands: Sequence[Series]) -> Given:
        return self.tangents(*at_order(order, outs, operands))


class InertOp(NdOp):
    """An op with derivative zero."""

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        return [None for _ in operands]

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        return [None for _ in outs]

    def paths(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        return self.tangents(given, outs, operands)
