"""The tape's own ops: a flat array to store residuals in, and its growth. They differentiate like any other op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import IndexType, IntegerAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import AnyAttr, VarConstraint, operand_def, opt_operand_def, result_def, traits_def
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind

from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Composed, Upstream
from mlirad.dialect.core.derivative import InertOp, LinearOp
from mlirad.dialect.core.expr import Expr, emit, insert
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText, Rank, called, dtype_name, text
from mlirad.dialect.core.op import PureOp, op
from mlirad.dialect.core.registry import Properties
from mlirad.errors import DTypeError


class _Allocates(MemoryEffect):
    """New memory in the result: the op may be dropped, but two of them are never merged."""

    @classmethod
    def get_effects(cls, op: Operation) -> frozenset[EffectInstance]:
        return frozenset({EffectInstance(MemoryEffectKind.ALLOC, op.results[0])})


FIRST_CAPACITY = 64
SLOT = "mlirad.slot"
"""On an ad.tape: the number of elements for one trip of its loops, 0 if it varies; for reports of memory."""

_T: VarConstraint[Attribute] = VarConstraint("T", AnyAttr())


@op(cost=0, complex=True)
class TapeOp(InertOp):
    """A flat array with undefined elements. %size is its length, if its type leaves that open."""

    name = "ad.tape"
    size = opt_operand_def(i64)
    result = result_def()
    traits = traits_def(_Allocates())
    assembly_format = "($size^)? attr-dict `:` type($result)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        if result_type is None or len(types.shape(result_type)) != 1:
            raise DTypeError(f"ad.tape is a flat array, not {result_type}")
        if types.shape(result_type).count(-1) != len(operands):
            raise DTypeError(f"ad.tape: {len(operands)} sizes for {result_type}")
        return [result_type]

    def is_undefined(self) -> bool:
        return True

    def reference(self, *sizes: Any) -> Any:
        (size,) = sizes or types.shape(self.result.type)
        dtype = types.to_dtype(types.element_type(self.result.type))
        poison = np.nan if dtype.kind in "fc" else True if dtype.kind == "b" else np.iinfo(dtype).max
        return np.full(max(int(size), 0), poison, dtype)

    def numpy_source(self, source: NumpySource) -> NumpyText:
        element = types.element_type(self.result.type)
        size = source.operand(0) if self.size is not None else types.shape(self.result.type)[0]
        if isinstance(size, NumpyText) and size.literal is None:
            size = called("max", size, 0)
        return called("np.empty", size, **({} if element == types.F64 else {"dtype": dtype_name(element)}))

    def size_source(self, axis: int, result: int = 0) -> SSAValue | tuple[SSAValue, int] | None:
        return self.size

    def loops(self) -> Upstream:
        return Upstream(self._build)

    def _build(self, *sizes: SSAValue) -> Sequence[SSAValue]:
        indices = [insert(arith.IndexCastOp(size, IndexType())).result for size in sizes]
        return [insert(tensor.EmptyOp(indices, types.signless(self.result.type))).tensor]


@op(cost=0, inert=(0,), complex=True)
class StopOp(InertOp, PureOp):
    """x, but no derivative flows through it. `mlirad-drop-hints` removes it once all derivatives are expanded."""

    name = "ad.stop"
    x = operand_def(_T)
    result = result_def(_T)
    assembly_format = "$x attr-dict `:` type($x)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        return [operands[0]]

    def reference(self, x: Any) -> Any:
        return x.copy()

    def size_source(self, axis: int, result: int = 0) -> SSAValue | tuple[SSAValue, int] | None:
        return self.x, axis

    def hinted(self) -> SSAValue:
        return self.x

    def loops(self) -> Composed:
        return Composed(lambda x: [x])


@op(overwrites=0, changes=False, complex=True)
class GrowOp(LinearOp):
    """t, extended so that index k exists. Its length is doubled as often as necessary; new elements are undefined.

    Linear. Its vjp is the identity: the cotangent of a tape may be longer than the tape was at that time.
    """

    name = "ad.grow"
    t = operand_def(_T)
    k = operand_def(i64)
    result = result_def(_T)
    assembly_format = "$t `,` $k attr-dict `:` type($t)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        if types.shape(operands[0]) != (-1,):
            raise DTypeError(f"ad.grow is for flat arrays of unknown length, not for {operands[0]}")
        return [operands[0]]

    def reference(self, t: Any, k: Any) -> Any:
        size = max(len(t), 1)
        while size <= k:
            size *= 2
        # Zeros: the tangent of a tape grows too, and elements that were never written have the tangent 0.
        return np.concatenate([t, np.zeros(size - len(t), t.dtype)]) if size > len(t) else t

    def numpy_source(self, source: NumpySource) -> NumpyText:
        t, k = source.operands()
        source.line("while ", called("len", t), " <= ", k.within(Rank.BIT_OR), ":")
        element = types.element_type(self.t.type)
        named = {} if element == types.F64 else {"dtype": dtype_name(element)}
        more = called("np.zeros", text(called("len", t), " + 1"), **named)
        source.line(t, " = ", called("np.append", t, more), depth=1)
        return t

    def vjp(self, g: Expr, out: Expr, x: Expr, *places: Expr) -> Expr:
        return g

    def size_source(self, axis: int, result: int = 0) -> SSAValue | tuple[SSAValue, int] | None:
        return None

    def loops(self) -> Upstream:
        return Upstream(self._build)

    def _build(self, t: SSAValue, k: SSAValue) -> Sequence[SSAValue]:
        index = insert(arith.IndexCastOp(k, IndexType())).result
        return insert(func.CallOp(f"mlirad_grow_{types.element_type(t.type)}", [t, index], [t.type])).results


def new_tape(type: Attribute, slot: int, *size: Expr) -> Expr:
    """An ad.tape; each trip fills `slot` of its elements. size: its length, if that is known only at run time."""
    made = emit(TapeOp, *size, result_type=type)
    assert isinstance(made.value.owner, TapeOp)
    made.value.owner.attributes[SLOT] = IntegerAttr(slot, i64)
    return made
