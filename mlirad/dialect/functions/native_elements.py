"""Native functions of numbers, registered by the user (`mlirad.register_op`), applied element by element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import opt_prop_def, prop_def, result_def, var_operand_def

from mlirad.contract.native_functions import registered
from mlirad.contract.registered_ops import NativeOp, op_of
from mlirad.dialect.core import types
from mlirad.dialect.core.answers import Given
from mlirad.dialect.core.derivative import total
from mlirad.dialect.core.expr import Expr, current_location, emit
from mlirad.dialect.core.native import ElementAt, NativeCalls, NativeFunction
from mlirad.dialect.core.numpy_source import NumpySource, NumpyText
from mlirad.dialect.core.op import op
from mlirad.dialect.core.registry import Properties
from mlirad.dialect.core.upstream import empty, unknown_sizes
from mlirad.dialect.ops.elementwise import ElementwiseOp
from mlirad.dialect.ops.movement import of_lanes, repeated
from mlirad.errors import DifferentiationError, ShapeError

_WORK = 60
"""The cost of a call, assumed to be that of a special function."""


@op(cost=_WORK)
class NativeElementsOp(ElementwiseOp):
    """A registered function, applied to the elements of all operands at the same index.

    function: its symbol. zeros: how many C ints, all 0, it takes after its arguments. gil: whether it is called with
    the interpreter's lock held. Its derivative, if any, is a rule of the function that contains the call.
    """

    name = "nd.native"
    arrays = var_operand_def()
    result = result_def()
    function = prop_def(StringAttr)
    zeros = prop_def(IntegerAttr)
    gil = opt_prop_def(UnitAttr)
    assembly_format = "$function `(` $arrays `)` attr-dict `:` functional-type($arrays, $result)"

    @classmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        if result_type is None or len({types.shape(each) for each in (*operands, result_type)}) != 1 or not operands:
            raise ShapeError(f"nd.native takes one or more operands with the shape of its result, not {operands}")
        if len({types.is_tensor(each) for each in (*operands, result_type)}) != 1:
            raise ShapeError("nd.native takes only arrays or only numbers, and returns the same")
        return [result_type]

    def reference(self, *arrays: Any) -> Any:
        return op_of(self.function.data)(*arrays)

    def numpy_source(self, source: NumpySource) -> NumpyText:
        return source.called(op_of(self.function.data), *source.elements())

    def is_rounded(self) -> bool:
        return False

    def is_foldable(self) -> bool:
        return False  # in another process the name may belong to another function

    def scales(self, index: int) -> bool:
        return True

    def cotangents(self, gs: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> NoReturn:
        raise self._refusal()

    def tangents(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> NoReturn:
        raise self._refusal()

    def _refusal(self) -> DifferentiationError:
        name = self.function.data
        rule = "jvp=lambda primals, tangents: (value, tangent)"
        hint = f"give mlirad.register_op({name!r}, ...) a rule: {rule}, or vjp=(forward, backward)"
        what = f"the native function {name} has no derivative rule"
        return DifferentiationError(what, types.from_location(current_location()), hint)

    def paths(self, given: Given, outs: Sequence[Expr], operands: Sequence[Expr]) -> Given:
        found: Expr | None = None
        for count in given:
            found = total(found, count)
        return (found,)

    def batched(self, operands: Sequence[Expr], stacked: Sequence[bool], lanes: int | Expr) -> Sequence[Expr]:
        all_ = [x if has_lanes else repeated(x, lanes) for x, has_lanes in zip(operands, stacked, strict=True)]
        asked = of_lanes(self.result.type, lanes)
        return [emit(type(self), *all_, result_type=asked, **self.properties)]

    def size_source(self, axis: int, result: int = 0) -> tuple[SSAValue, int]:
        return self.operands[0], axis

    def loops(self) -> NativeCalls:
        function = NativeFunction(registered(self.function.data), needs_gil=self.gil is not None)
        elements = [ElementAt(number) for number in range(len(self.operands))]
        element = types.signless(types.element_type(self.result.type))
        arguments = (*elements, *[0] * self.zeros.value.data)
        return NativeCalls(function, arguments, self._memory, rank=0, work=_WORK, result=element)

    def _memory(self, *operands: SSAValue) -> Sequence[SSAValue]:
        type = types.signless(self.result.type)
        return [empty(type, unknown_sizes(operands[0]))] if types.is_tensor(type) else []


def native_elements(function: NativeOp, *operands: Expr) -> Expr:
    """A registered function, applied to operands of one shape, in its own dtypes."""
    prototype = function.prototype
    asked = types.with_element(operands[0].type, types.from_dtype(prototype.result))
    flags = {"gil": UnitAttr()} if function.needs_gil else {}
    return emit(
        NativeElementsOp, *operands, result_type=asked, function=function.symbol, zeros=prototype.zeros, **flags
    )
