"""Requests for derivatives: `ad.vjp`, `ad.jvp`, `ad.paths`, `ad.jet`, `ad.transpose`, `ad.forward`, `ad.pullback`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, SymbolRefAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
)

from mlirad.dialect.ad.ad_types import Numbers, ResidualsType, as_numbers
from mlirad.dialect.ad.request_op import DerivativeOp, Mode, RequestOp, Signature
from mlirad.dialect.core.attributes import ints


@irdl_op_definition
class VjpOp(DerivativeOp):
    """The callee's results, and the cotangents of `wrt` given the cotangents of `outs`: one fused function."""

    name = "ad.vjp"

    @classmethod
    def signature(cls, callee: func.FuncOp, wrt: Numbers, outs: Numbers) -> Signature:
        inputs, outputs = callee.function_type.inputs.data, callee.function_type.outputs.data
        cotangents = [outputs[number] for number in ints(as_numbers(outs))]
        return [*inputs], cotangents, [*outputs, *(inputs[number] for number in ints(as_numbers(wrt)))]


class PushedOp(DerivativeOp):
    """The callee's results, and a quantity of `outs` given the same quantity of `wrt`, in the types of the values."""

    @property
    def mode(self) -> Mode:
        return Mode.FORWARD

    @classmethod
    def signature(cls, callee: func.FuncOp, wrt: Numbers, outs: Numbers) -> Signature:
        inputs, outputs = callee.function_type.inputs.data, callee.function_type.outputs.data
        tangents = [inputs[number] for number in ints(as_numbers(wrt))]
        return [*inputs], tangents, [*outputs, *(outputs[number] for number in ints(as_numbers(outs)))]


@irdl_op_definition
class JvpOp(PushedOp):
    """The callee's results, and the tangents of `outs` given the tangents of `wrt`."""

    name = "ad.jvp"


@irdl_op_definition
class PathsOp(PushedOp):
    """The callee's results, and the number of dependence paths to each element of `outs`, given the numbers for `wrt`.

    An element with 0 does not depend on any element of `wrt` with a nonzero number, whatever the values are.
    """

    name = "ad.paths"


@irdl_op_definition
class JetOp(RequestOp):
    """The callee's results, and the Taylor coefficients of `outs` given those of `wrt`, from number 1 on.

    The coefficients of each value are adjacent. Coefficient k is the k-th derivative along a path, divided by k!.
    """

    name = "ad.jet"

    @property
    def mode(self) -> Mode:
        return Mode.FORWARD

    @property
    def order(self) -> int:
        return len(self.others) // len(ints(self.wrt))

    @property
    def variant(self) -> tuple[Attribute, ...]:
        return (IntegerAttr(self.order, i64),)

    @classmethod
    def of_order(
        cls,
        callee: func.FuncOp,
        primals: Sequence[SSAValue],
        others: Sequence[SSAValue],
        wrt: Sequence[int],
        outs: Sequence[int],
    ) -> JetOp:
        """A request on a function of the same module."""
        symbol, order = SymbolRefAttr(callee.sym_name.data), len(others) // len(wrt)
        _, _, results = cls._of_order(callee, wrt, outs, order)
        return cls._make(symbol, primals, others, wrt, outs, results)

    def expected(self, callee: func.FuncOp) -> Signature:
        return self._of_order(callee, ints(self.wrt), ints(self.outs), self.order)

    @staticmethod
    def _of_order(callee: func.FuncOp, wrt: Sequence[int], outs: Sequence[int], order: int) -> Signature:
        inputs, outputs = callee.function_type.inputs.data, callee.function_type.outputs.data
        coefficients = [inputs[number] for number in wrt for _ in range(order)]
        return [*inputs], coefficients, [*outputs, *(outputs[number] for number in outs for _ in range(order))]


@irdl_op_definition
class ForwardOp(DerivativeOp):
    """The callee's results, and the residuals for its pullback."""

    name = "ad.forward"

    @classmethod
    def signature(cls, callee: func.FuncOp, wrt: Numbers, outs: Numbers) -> Signature:
        inputs, outputs = callee.function_type.inputs.data, callee.function_type.outputs.data
        return [*inputs], [], [*outputs, ResidualsType.of(callee.sym_name.data, wrt, outs)]


@irdl_op_definition
class PullbackOp(DerivativeOp):
    """The cotangents of `wrt`, given the residuals of a forward sweep and the cotangents of `outs`."""

    name = "ad.pullback"

    @classmethod
    def signature(cls, callee: func.FuncOp, wrt: Numbers, outs: Numbers) -> Signature:
        inputs, outputs = callee.function_type.inputs.data, callee.function_type.outputs.data
        residuals = ResidualsType.of(callee.sym_name.data, wrt, outs)
        cotangents = [outputs[number] for number in ints(as_numbers(outs))]
        return [residuals], cotangents, [inputs[number] for number in ints(as_numbers(wrt))]


@irdl_op_definition
class TransposeRequestOp(DerivativeOp):
    """The cotangents of `wrt`, given the cotangents of `outs`, for a callee that is linear in `wrt`.

    For the operands in `wrt`, only the shapes matter.
    """

    name = "ad.transpose"

    @classmethod
    def signature(cls, callee: func.FuncOp, wrt: Numbers, outs: Numbers) -> Signature:
        inputs, outputs = callee.function_type.inputs.data, callee.function_type.outputs.data
        cotangents = [outputs[number] for number in ints(as_numbers(outs))]
        return [*inputs], cotangents, [inputs[number] for number in ints(as_numbers(wrt))]
