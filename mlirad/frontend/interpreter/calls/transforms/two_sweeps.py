"""Reverse mode in two steps: `vjp` runs the forward sweep, and its pullback the reverse sweep.

Reads: Request descriptors and values. Writes: ad.forward, ad.pullback. Leaves: values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from xdsl.ir import Attribute

from mlirad.dialect.ad.derivative_ops import ForwardOp, PullbackOp
from mlirad.dialect.core.expr import Expr, insert
from mlirad.errors import DTypeError, ShapeError
from mlirad.frontend.interpreter.calls.outlining import outline, plain_results, value_trees
from mlirad.frontend.interpreter.calls.outlining.outline import Outlined, name_of_value
from mlirad.frontend.interpreter.calls.transforms.active_leaves import (
    active_numbers,
    active_where_possible,
    has_derivative,
    require_active,
    require_no_list,
)
from mlirad.frontend.interpreter.calls.transforms.derivative_requests import (
    converted,
    emit_request,
    pair_of,
    require_pair,
)
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import PullbackValue, Ref, Static, Tuple, Value
from mlirad.requests.kinds_of_derivatives import Vjp


@dataclass(frozen=True, eq=False)
class PulledBack:
    """What a pullback needs besides its residuals: the callee, and the structure of the primals.

    result, leaves: the part of the callee's result that has cotangents (not the aux), and its leaves. primals: plain.
    """

    outlined: Outlined
    result: Any
    leaves: tuple[Ref | Traced, ...]
    wrt: tuple[int, ...]
    outs: tuple[int, ...]
    primals: Any

    @property
    def passed(self) -> Any:
        """The leaves that cotangents must match."""
        return self.result

    @property
    def types(self) -> Sequence[Attribute]:
        """The types of the leaves."""
        return self.outlined.callee.function_type.outputs.data[: len(self.leaves)]

    @property
    def sizes(self) -> Sequence[Expr]:
        """Sizes that a call needs in addition: none."""
        return ()

    def inside(self, leaves: tuple[Ref | Traced, ...], sizes: Sequence[Expr]) -> PulledBack:
        """The same, inside a function that takes these as arguments."""
        return replace(self, leaves=leaves)

    def call(self, context: Context, residuals: Expr, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
        return call_pullback(context, self, residuals, [*args, *kwargs.values()])


# Reverse mode in two steps.


def forward(context: Context, function: Value, request: Vjp, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """`vjp(f, *primals)` -> out, pullback, and aux if the function has it."""
    (out, *aux), residuals, pulled_back, _ = forward_sweep(context, function, request.has_aux, args, kwargs)
    return Tuple((out, PullbackValue(residuals, pulled_back), *aux))


def forward_sweep(
    context: Context, function: Value, has_aux: bool, args: Sequence[Value], kwargs: dict[str, Value]
) -> tuple[Sequence[Value], Expr, PulledBack, list[Value]]:
    """The value and the aux, the needs of a pullback, and the leaves of the primals. Keyword arguments are
    constants."""
    name = name_of_value(function)
    active = Tuple(tuple(active_where_possible(context, arg) for arg in args))
    inputs = list(value_trees.leaves_of(context, active))
    primals = plain_results.plain_result(
        context, value_trees.mapped(context, active, lambda leaf: leaf if has_derivative(leaf) else Static(None))
    )
    outlined = outline.outline(context, function, active.items, kwargs, [*args, *kwargs.values()])
    wrt = active_numbers(outlined, inputs)
    require_active(context, wrt, active.items, name)
    result = require_pair(context, outlined, name)[0] if has_aux else outlined.result
    require_no_list(context, result, name)
    # The leaves of the value come first, then the leaves of the aux.
    leaves = outlined.leaves[: sum(1 for _ in plain_results.result_leaves(context, result))]
    outs = tuple(k for k, leaf in enumerate(leaves) if leaf.dtype.kind in "fc")
    results = emit_request(context, ForwardOp, outlined, [], wrt, outs)
    rebuilt = plain_results.rebuilt(context, outlined.result, results)
    parts = pair_of(rebuilt) if has_aux and isinstance(rebuilt, Tuple) else (rebuilt,)
    made = tuple(leaf for leaf in value_trees.leaves_of(context, parts[0]) if isinstance(leaf, Ref | Traced))
    return parts, next(results), PulledBack(outlined, result, made, wrt, outs, primals), inputs


def call_pullback(context: Context, request: PulledBack, residuals: Expr, args: Sequence[Value]) -> Value:
    """The cotangents of the primals, for one cotangent with the structure of the function's result."""
    if len(args) != 1:
        raise DTypeError("a pullback takes one cotangent, of the structure of the result", context.location)
    given, wanted = (
        list(value_trees.leaves_of(context, args[0])),
        list(plain_results.result_leaves(context, request.result, with_static=True)),
    )
    if len(given) != len(wanted):
        message = f"a pullback of {len(wanted)} results is given {len(given)} cotangents"
        raise ShapeError(message, context.location)
    pairs = zip(given, wanted, strict=True)
    traced = [(cotangent, leaf) for cotangent, leaf in pairs if isinstance(leaf, Ref | Traced)]
    others = [converted(context, traced[k][0], request.leaves[k]).value for k in request.outs]
    op = PullbackOp.of(request.outlined.callee, [residuals.value], others, request.wrt, request.outs)
    results = iter([Expr(result) for result in insert(op).results])
    return plain_results.cotangents(context, request.primals, results)
