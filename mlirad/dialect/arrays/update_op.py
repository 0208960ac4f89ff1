"""The common base of ops that change a part of an array.

The tensors are values: an update returns a new tensor. Bufferization turns it into a write in place.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Cotangent, Given, Series
from mlirad.dialect.core.derivative import only
from mlirad.dialect.core.expr import Expr, zeros_like
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, assigned
from mlirad.dialect.core.op import PureOp, at_order
from mlirad.dialect.core.subset import Change, Subset
from mlirad.errors import ShapeError


def require_array(name: str, type: Attribute, count: int) -> TensorType:
    if not isinstance(type, TensorType) or len(types.shape(type)) != count:
        raise ShapeError(f"{name}: {count} indices for {type}")
    return type


class UpdateOp(PureOp):
    """An array t with a part changed, using `value`: (value, t, *places).

    The part is replaced or added to, which is linear. An op with another `CHANGE` defines its own derivatives.
    """

    CHANGE: ClassVar[Change]

    @abstractmethod
    def subset(self) -> Subset: ...

    def write(self, source: NumpySource, target: NumpyText, value: NumpyText) -> None:
        """The line that changes the part `target` of an array."""
        if self.CHANGE is Change.ADDED:
            is_less = value.negated is not None
            source.line(target, " -= " if is_less else " += ", value.negated if value.negated is not None else value)
        else:
            source.line(assigned(target, value))

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Sequence[Cotangent]:
        assert self.CHANGE in (Change.REPLACED, Change.ADDED), self.name
        g, (value, _, *places) = only(gs), operands
        taken = self.taken(g, value, places)  # before the write, which is the last use of g
        kept = g if self.CHANGE is Change.ADDED else self.result_on(zeros_like(value), g, *places)
        return taken, kept, *(None for _ in places)

    def taken(self, g: Expr, value: Expr, places: Sequence[Expr]) -> Expr:
        """The cotangent of the value."""
        return self.subset().read(g, places, like=value)

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        assert self.CHANGE in (Change.REPLACED, Change.ADDED), self.name
        (dvalue, dt, *_), (value, t, *places) = given, operands
        if dvalue is None and dt is None:
            return (None,)
        moved = zeros_like(value) if dvalue is None else dvalue
        return (self.result_on(moved, zeros_like(t) if dt is None else dt, *places),)

    def paths(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given | None:
        return self.tangents(given, outs, operands) if self.CHANGE in (Change.REPLACED, Change.ADDED) else None

    def coefficient(self, order: int, outs: Sequence[Series], operands: Sequence[Series]) -> Given:
        return self.tangents(*at_order(order, outs, operands))
