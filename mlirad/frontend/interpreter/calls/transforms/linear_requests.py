"""`mlirad.linearize`: the derivative of a function at one place, as a linear function of tangents.

Reads: a function and its arguments. Writes: ad.forward, a function with the ad.pullback, and ad.transpose of that
function. Leaves: values.

The pullback is linear in the cotangents, and its transpose is linear in the tangents. So a linear function reuses the
values that the forward sweep stores for a pullback, and both modes share one tape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Block

from mlirad.dialect.ad.derivative_ops import PullbackOp, TransposeRequestOp
from mlirad.dialect.ad.notes import LINEARIZED
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, constant, full, insert
from mlirad.errors import DTypeError, ShapeError
from mlirad.frontend.interpreter.calls.outlining import outline, plain_results, value_trees
from mlirad.frontend.interpreter.calls.outlining.outline import Outlined
from mlirad.frontend.interpreter.calls.transforms import active_leaves, derivative_requests, two_sweeps
from mlirad.frontend.interpreter.calls.transforms.two_sweeps import PulledBack
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.values.sizes import lengths
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import PullbackValue, Ref, Static, Tuple, Value
from mlirad.requests.kinds_of_derivatives import Linearize


@dataclass(frozen=True, eq=False)
class Linearized:
    """What a linear function needs besides its residuals.

    pulled_back: the pullback. transposed: a function of residuals and cotangents that calls it. passed: the plain
    structure of the tangents, with None for leaves without a derivative. leaves: the leaves of the primals that have
    one. given_sizes: `sizes`, if they differ from those of the result.
    """

    pulled_back: PulledBack
    transposed: func.FuncOp
    passed: Any
    leaves: tuple[Ref | Traced, ...]
    given_sizes: Sequence[Expr] | None = None

    @property
    def outlined(self) -> Outlined:
        return self.pulled_back.outlined

    @property
    def types(self) -> Sequence[Attribute]:
        """The types of the leaves."""
        return self.transposed.function_type.outputs.data

    @property
    def sizes(self) -> Sequence[Expr]:
        """The run-time sizes of the results."""
        if self.given_sizes is not None:
            return self.given_sizes
        return [size for leaf in self.pulled_back.leaves for size in lengths(leaf.shape)]

    def inside(self, leaves: tuple[Ref | Traced, ...], sizes: Sequence[Expr]) -> Linearized:
        """The same, inside a function that takes these as arguments."""
        return replace(self, leaves=leaves, given_sizes=sizes)

    def call(self, context: Context, residuals: Expr, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
        return call_linear(context, self, residuals, args, kwargs)

    def zeros(self) -> list[Expr]:
        """Zeros for each leaf of the result."""
        open_sizes = iter(self.sizes)
        return [
            full(constant(0, types.element_type(type)), types.shape(type), [next(open_sizes) for _ in unknown])
            if (unknown := [size for size in types.shape(type) if size < 0])
            else constant(0, type)
            for type in self.pulled_back.types
        ]


def linearized(
    context: Context, function: Value, request: Linearize, args: Sequence[Value], kwargs: dict[str, Value]
) -> Value:
    """`linearize(f, *primals)` -> out, linear function, and aux if the function has it."""
    sweep = two_sweeps.forward_sweep(context, function, request.has_aux, args, kwargs)
    (out, *aux), residuals, pulled_back, inputs = sweep
    callee = pulled_back.outlined.callee
    callee.attributes[LINEARIZED] = UnitAttr()
    block = Block(arg_types=[residuals.type, *(pulled_back.types[number] for number in pulled_back.outs)])
    with building(block):
        back = PullbackOp.of(callee, block.args[:1], block.args[1:], pulled_back.wrt, pulled_back.outs)
        insert(func.ReturnOp(*insert(back).results))
    transposed = outline.private_function(context, f"{callee.sym_name.data}_transposed", block)
    active = tuple(leaf for leaf in inputs if active_leaves.has_derivative(leaf))
    linear = Linearized(pulled_back, transposed, pulled_back.primals, active)
    return Tuple((out, PullbackValue(residuals, linear), *aux))


def call_linear(
    context: Context, request: Linearized, residuals: Expr, args: Sequence[Value], kwargs: dict[str, Value]
) -> Value:
    """The tangent of the result, for tangents of the primals."""
    if kwargs:
        raise DTypeError("a linear function takes its tangents by position", context.location)
    given = [leaf for tangent in args for leaf in value_trees.leaves_of(context, tangent)]
    wanted = list(plain_results.result_leaves(context, request.passed, with_static=True))
    if len(given) != len(wanted):
        message = f"a linear function of {len(wanted)} primals is given {len(given)} tangents"
        raise ShapeError(message, context.location)
    active = iter(request.leaves)
    others: list[Expr] = []
    for tangent, leaf in zip(given, wanted, strict=True):
        if isinstance(leaf, Static):
            active_leaves.require_no_tangent(context, tangent, leaf)
        else:
            others.append(derivative_requests.converted(context, tangent, next(active)))
    zeros, pulled_back = request.zeros(), request.pulled_back
    operands = [residuals.value, *(zeros[number].value for number in pulled_back.outs)]
    ends = [other.value for other in others]
    outs = range(len(pulled_back.wrt))
    op = insert(TransposeRequestOp.of(request.transposed, operands, ends, range(1, len(operands)), outs))
    out = plain_results.rebuilt(context, pulled_back.result, iter(zeros))
    return derivative_requests.tangent_of(context, pulled_back.result, out, map(Expr, op.results))
