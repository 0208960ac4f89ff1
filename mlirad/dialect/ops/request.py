"""The `ad` dialect: requests for transforms, the markers between adjoint and tape, and the tape's own ops.

Requests name a function and are expanded innermost first: `ad.vjp`, `ad.jvp`, `ad.forward` with `ad.pullback`,
`ad.paths` and `ad.vmap`. `wrt` numbers the function's arguments, `outs` its results that have a cotangent or tangent.

Markers: `ad.record` lists the values that a forward block offers to its reverse block, `ad.replay` pairs the two blocks
and holds the reverse counter, `ad.residual` is one of these values. `ad.turn` marks the end of a forward sweep.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from enum import Enum
from typing import Self

from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, FlatSymbolRefAttrConstr, IntegerAttr, SymbolRefAttr, i64
from xdsl.ir import Attribute, Dialect, Operation, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    EqAttrConstraint,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    param_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryWriteEffect, Pure, SymbolTable, SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException

from mlirad.dialect.core import types
from mlirad.dialect.core.attributes import ints
from mlirad.dialect.ops.movement import of_lanes
from mlirad.dialect.ops.tape import GrowOp, StopOp, TapeOp

Numbers = Sequence[int] | DenseArrayBase


def _numbers(numbers: Numbers) -> DenseArrayBase:
    return numbers if isinstance(numbers, DenseArrayBase) else DenseArrayBase.from_list(i64, list(numbers))


def _print_numbers(printer: Printer, keyword: str, numbers: DenseArrayBase) -> None:
    printer.print_string(f" {keyword} [{', '.join(map(str, ints(numbers)))}]")


def _parse_numbers(parser: AttrParser, keyword: str) -> DenseArrayBase:
    parser.parse_keyword(keyword)
    return _numbers(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer))


# --- types ------------------------------------------------------------------------------------------------------


@irdl_attr_definition
class ResidualsType(ParametrizedAttribute, TypeAttribute):
    """What the forward sweep of @callee hands to its pullback, from cotangents of `outs` to cotangents of `wrt`."""

    name = "ad.residuals"
    callee: SymbolRefAttr = param_def(FlatSymbolRefAttrConstr)
    wrt: DenseArrayBase = param_def()
    outs: DenseArrayBase = param_def()

    @classmethod
    def of(cls, callee: str | SymbolRefAttr, wrt: Numbers, outs: Numbers) -> ResidualsType:
        symbol = SymbolRefAttr(callee) if isinstance(callee, str) else callee
        return cls(symbol, _numbers(wrt), _numbers(outs))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.callee)
            _print_numbers(printer, "wrt", self.wrt)
            _print_numbers(printer, "outs", self.outs)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            callee = SymbolRefAttr(parser.parse_symbol_name())
            return [callee, _parse_numbers(parser, "wrt"), _parse_numbers(parser, "outs")]


@irdl_attr_definition
class TripType(ParametrizedAttribute, TypeAttribute):
    """One execution of a forward block, seen from the reverse block that undoes it."""

    name = "ad.trip"


_TRIP = EqAttrConstraint(TripType())


# --- requests ---------------------------------------------------------------------------------------------------

Signature = tuple[list[Attribute], list[Attribute], list[Attribute]]


class _CalleeFits(SymbolUserOpInterface):
    """The callee exists, `wrt` and `outs` number its arguments and results, and the request's types follow from it."""

    def verify(self, op: Operation) -> None:
        assert isinstance(op, RequestOp)
        callee = SymbolTable.lookup_symbol(op, op.callee)
        if not isinstance(callee, func.FuncOp):
            raise VerifyException(f"{op.name}: there is no function {op.callee}")
        inputs, outputs = callee.function_type.inputs.data, callee.function_type.outputs.data
        for keyword, numbers, of in (("wrt", ints(op.wrt), inputs), ("outs", ints(op.outs), outputs)):
            if any(not 0 <= number < len(of) for number in numbers) or len(set(numbers)) != len(numbers):
                raise VerifyException(f"{op.name}: {keyword} {list(numbers)} of {len(of)}")
        expected = op.expected(callee)
        actual = ([v.type for v in op.primals], [v.type for v in op.others], [v.type for v in op.results])
        for kind, want, have in zip(("operands", "second operands", "results"), expected, actual, strict=True):
            if want != have:
                raise VerifyException(
                    f"{op.name}: the {kind} should be {[str(t) for t in want]}, not {[str(t) for t in have]}"
                )


class Mode(Enum):
    """How derivatives are carried."""

    FORWARD = "forward"
    REVERSE = "reverse"


class RequestOp(IRDLOperation):
    """`ad.kind @callee(primals)(others) wrt [..] outs [..] : (types)(types) -> (types)`."""

    primals = var_operand_def()
    others = var_operand_def()
    callee = prop_def(FlatSymbolRefAttrConstr)
    wrt = prop_def(DenseArrayBase)
    outs = prop_def(DenseArrayBase)
    res = var_result_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(_CalleeFits())

    @property
    def mode(self) -> Mode | None:
        """The mode of the derivative that is asked for; None where none is."""
        return None

    @property
    def order(self) -> int:
        """The highest order of the derivatives that are asked for."""
        return 1

    @abstractmethod
    def expected(self, callee: func.FuncOp) -> Signature:
        """The types of primals, others and results, as they follow from the callee's type."""

    @property
    def variant(self) -> tuple[Attribute, ...]:
        """What distinguishes its function from those of other requests for the same of one callee."""
        return ()

    @classmethod
    def _make(
        cls,
        callee: SymbolRefAttr,
        primals: Sequence[SSAValue],
        others: Sequence[SSAValue],
        wrt: Numbers,
        outs: Numbers,
        results: Sequence[Attribute],
    ) -> Self:
        properties = {"callee": callee, "wrt": _numbers(wrt), "outs": _numbers(outs)}
        return cls.build(operands=[list(primals), list(others)], properties=properties, result_types=[list(results)])

    def on(self, primals: Sequence[SSAValue], wrt: Sequence[int]) -> Self:
        """The same request, of a function whose arguments have changed."""
        return self._make(self.callee, primals, self.others, wrt, self.outs, [result.type for result in self.results])

    @property
    def residuals(self) -> ResidualsType:
        """The type of the residuals of this callee, wrt and outs."""
        return ResidualsType.of(self.callee, self.wrt, self.outs)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.callee)
        for group in (self.primals, self.others):
            with printer.in_parens():
                printer.print_list(group, printer.print_operand)
        _print_numbers(printer, "wrt", self.wrt)
        _print_numbers(printer, "outs", self.outs)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        for group in (self.primals, self.others):
            with printer.in_parens():
                printer.print_list(group, lambda value: printer.print_attribute(value.type))
        printer.print_string(" -> ")
        with printer.in_parens():
            printer.print_list(self.res, lambda value: printer.print_attribute(value.type))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        callee = SymbolRefAttr(parser.parse_symbol_name())
        names = [
            parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand) for _ in range(2)
        ]
        wrt, outs = _parse_numbers(parser, "wrt"), _parse_numbers(parser, "outs")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        groups = []
        for group in names:
            group_types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
            groups.append(parser.resolve_operands(group, group_types, parser.pos))
        parser.parse_punctuation("->")
        results = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        request = cls._make(callee, groups[0], groups[1], wrt, outs, results)
        request.attributes.update(attributes)
        return request


class DerivativeOp(RequestOp):
    """A request for a derivative."""

    @property
    def mode(self) -> Mode:
        return Mode.REVERSE

    @classmethod
    @abstractmethod
    def signature(cls, callee: func.FuncOp, wrt: Numbers, outs: Numbers) -> Signature:
        """The types of primals, others and results, as they follow from the callee's type."""

    def expected(self, callee: func.FuncOp) -> Signature:
        return self.signature(callee, self.wrt, self.outs)

    @classmethod
    def of(
        cls,
        callee: func.FuncOp,
        primals: Sequence[SSAValue],
        others: Sequence[SSAValue] = (),
        wrt: Numbers = (0,),
        outs: Numbers = (0,),
    ) -> Self:
        """A request on a function of the same module."""
        _, _, results = cls.signature(callee, wrt, outs)
        return cls._make(SymbolRefAttr(callee.sym_name.data), primals, others, wrt, outs, results)


@irdl_op_definition
class VjpOp(DerivativeOp):
    """The callee's results, and the cotangents of `wrt` for the cotangents of `outs`: one fused function."""

    name = "ad.vjp"

    @classmethod
    def signature(cls, callee: func.FuncOp, wrt: Numbers, outs: Numbers) -> Signature:
        inputs, outputs = callee.function_type.inputs.data, callee.function_type.outputs.data
        cotangents = [outputs[number] for number in ints(_numbers(outs))]
        return [*inputs], cotangents, [*outputs, *(inputs[number] for number in ints(_numbers(wrt)))]


class PushedOp(DerivativeOp):
    """The callee's results, and something of `outs` for the same of `wrt`, of their types."""

    @property
    def mode(self) -> Mode:
        return Mode.FORWARD

    @classmethod
    def signature(cls, callee: func.FuncOp, wrt: Numbers, outs: Numbers) -> Signature:
        inputs, outputs = callee.function_type.inputs.data, callee.function_type.outputs.data
        tangents = [inputs[number] for number in ints(_numbers(wrt))]
        return [*inputs], tangents, [*outputs, *(outputs[number] for number in ints(_numbers(outs)))]


@irdl_op_definition
class JvpOp(PushedOp):
    """The callee's results, and the tangents of `outs` for the tangents of `wrt`."""

    name = "ad.jvp"


@irdl_op_definition
class PathsOp(PushedOp):
    """The callee's results, and how many paths of dependence lead to each number of `outs`, for those to `wrt`.

    A number with 0 depends on no number of `wrt` that has not 0, whatever the values are.
    """

    name = "ad.paths"


@irdl_op_definition
class JetOp(RequestOp):
    """The callee's results, and the Taylor coefficients of `outs` for those of `wrt`, from number 1 on.

    Of each value they stand together. Coefficient k is the k-th derivative along a path, over k!.
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
    """The callee's results, and what a pullback of it needs."""

    name = "ad.forward"

    @classmethod
    def signature(cls, callee: func.FuncOp, wrt: Numbers, outs: Numbers) -> Signature:
        inputs, outputs = callee.function_type.inputs.data, callee.function_type.outputs.data
        return [*inputs], [], [*outputs, ResidualsType.of(callee.sym_name.data, wrt, outs)]


@irdl_op_definition
class PullbackOp(DerivativeOp):
    """The cotangents of `wrt` for the residuals of a forward sweep and the cotangents of `outs`."""

    name = "ad.pullback"

    @classmethod
    def signature(cls, callee: func.FuncOp, wrt: Numbers, outs: Numbers) -> Signature:
        inputs, outputs = callee.function_type.inputs.data, callee.function_type.outputs.data
        residuals = ResidualsType.of(callee.sym_name.data, wrt, outs)
        cotangents = [outputs[number] for number in ints(_numbers(outs))]
        return [residuals], cotangents, [inputs[number] for number in ints(_numbers(wrt))]


LINEARIZED = "ad.linearized"
"""On a function: its pullback is only ever transposed (`ad.transpose`). It is linear in the cotangents, whatever they
are: no product of one is annihilated."""

TRANSPOSED = "ad.transposed"
"""On a function: a derivative, linear in the arguments that it is differentiated by. Its pullback is its transpose."""


@irdl_op_definition
class TransposeRequestOp(DerivativeOp):
    """The cotangents of `wrt` for the cotangents of `outs`, of a callee that is linear in `wrt`.

    The operands that are `wrt` count by their shapes only.
    """

    name = "ad.transpose"

    @classmethod
    def signature(cls, callee: func.FuncOp, wrt: Numbers, outs: Numbers) -> Signature:
        inputs, outputs = callee.function_type.inputs.data, callee.function_type.outputs.data
        cotangents = [outputs[number] for number in ints(_numbers(outs))]
        return [*inputs], cotangents, [inputs[number] for number in ints(_numbers(wrt))]


@irdl_op_definition
class VmapOp(RequestOp):
    """The callee's results of each lane, stacked along a new first axis.

    `wrt` numbers the arguments that have lanes: these operands have a first axis more, whose size is their number. The
    other operands are what all lanes get.
    """

    name = "ad.vmap"

    @classmethod
    def of_lanes(cls, callee: func.FuncOp, primals: Sequence[SSAValue], wrt: Sequence[int]) -> VmapOp:
        """A request on a function of the same module."""
        outputs = callee.function_type.outputs.data
        lanes = types.shape(primals[wrt[0]].type)[0]
        symbol, outs = SymbolRefAttr(callee.sym_name.data), range(len(outputs))
        return cls._make(symbol, primals, (), wrt, tuple(outs), [of_lanes(type, lanes) for type in outputs])

    def expected(self, callee: func.FuncOp) -> Signature:
        inputs, outputs = callee.function_type.inputs.data, callee.function_type.outputs.data
        wrt = ints(self.wrt)
        if not wrt or not types.is_tensor(first := self.primals[wrt[0]].type):
            raise VerifyException("ad.vmap: no operand has lanes")
        lanes = types.shape(first)[0]
        given = [of_lanes(type, lanes) if number in wrt else type for number, type in enumerate(inputs)]
        return given, [], [of_lanes(type, lanes) for type in outputs]

    @property
    def variant(self) -> tuple[Attribute, ...]:
        return tuple(operand.type for operand in self.primals)


CHECKPOINT = "ad.checkpoint"
"""On a loop: its reverse keeps a few states and runs the trips again. "sqrt", "binomial", or a number of states. On a
function: its pullback runs it again from its arguments; until the derivatives are made, it is not inlined."""


BUDGET = "ad.budget"
"""On a module, and on a request: how many bytes a reverse sweep may keep of its forward sweep."""
UNBOUNDED = -1
"""As a budget: as many as it needs."""


def bound_reverse_sweeps(module: Operation, budget: int) -> None:
    """Let the reverse sweeps of a module keep no more than so many bytes of their forward sweeps."""
    module.attributes[BUDGET] = IntegerAttr(budget, i64)


RECOVERED = "ad.recovered"
"""On a loop of a reverse sweep: how many values of the forward trip it has again, and how; bytes stored a trip."""


# --- markers ----------------------------------------------------------------------------------------------------


@irdl_op_definition
class RecordOp(IRDLOperation):
    """The values that forward block number `block` lends to the reverse block that undoes it. Stands at its end."""

    name = "ad.record"
    block = prop_def(IntegerAttr.constr(i64))
    values = var_operand_def()
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$block ($values^ `:` type($values))? attr-dict"

    @classmethod
    def of(cls, block: int, values: Sequence[SSAValue]) -> RecordOp:
        return cls.build(operands=[list(values)], properties={"block": IntegerAttr(block, i64)})


@irdl_op_definition
class ReplayOp(IRDLOperation):
    """This block undoes forward block number `block`: its trip number `counter`, if it is a loop's body, inside the
    trip `outer` of the forward block around it (absent where that is the function's own block).

    It stays even if no value of the block is used: the tape may have writes to undo there."""

    name = "ad.replay"
    block = prop_def(IntegerAttr.constr(i64))
    counter = opt_operand_def(i64)
    outer = opt_operand_def(_TRIP)
    trip = result_def(_TRIP)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$block (`trip` $counter^)? (`in` $outer^)? attr-dict"

    @classmethod
    def of(cls, block: int, counter: SSAValue | None, outer: SSAValue | None) -> ReplayOp:
        return cls.build(
            operands=[counter, outer], properties={"block": IntegerAttr(block, i64)}, result_types=[TripType()]
        )


@irdl_op_definition
class ResidualOp(IRDLOperation):
    """Value number `number` of the `ad.record` of the trip's forward block, as it was in that trip."""

    name = "ad.residual"
    trip = operand_def(_TRIP)
    number = prop_def(IntegerAttr.constr(i64))
    result = result_def()
    traits = traits_def(Pure())
    assembly_format = "$trip $number attr-dict `:` type($result)"

    @classmethod
    def of(cls, trip: SSAValue, number: int, type: Attribute) -> ResidualOp:
        return cls.build(operands=[trip], properties={"number": IntegerAttr(number, i64)}, result_types=[type])


@irdl_op_definition
class TurnOp(IRDLOperation):
    """Here a forward sweep ends, with these results, and its pullback begins, with these cotangents."""

    name = "ad.turn"
    values = var_operand_def()
    cotangents = var_result_def()
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$values attr-dict `:` functional-type($values, $cotangents)"

    @classmethod
    def of(cls, values: Sequence[SSAValue], cotangents: Sequence[Attribute]) -> TurnOp:
        return cls.build(operands=[list(values)], result_types=[list(cotangents)])


Ad = Dialect(
    "ad",
    [
        VjpOp,
        JvpOp,
        PathsOp,
        JetOp,
        ForwardOp,
        PullbackOp,
        TransposeRequestOp,
        VmapOp,
        RecordOp,
        ReplayOp,
        ResidualOp,
        TurnOp,
        TapeOp,
        GrowOp,
        StopOp,
    ],
    [ResidualsType, TripType],
)
