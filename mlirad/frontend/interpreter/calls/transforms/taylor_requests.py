"""`mlirad.jet`: derivatives of a function along a path, up to some order.

Reads: a function, its arguments and their series. Writes: ad.jet, whose coefficients are derivatives over factorials.
Leaves: values.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial

from mlirad.dialect.ad.derivative_ops import JetOp
from mlirad.dialect.core.expr import Expr, insert
from mlirad.errors import ShapeError
from mlirad.frontend.interpreter import consuming
from mlirad.frontend.interpreter.calls.outlining import outline, plain_results, value_trees
from mlirad.frontend.interpreter.calls.outlining.outline import name_of_value
from mlirad.frontend.interpreter.calls.transforms import active_leaves, derivative_requests
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.values.values import Entry, Static, Tuple, Value, is_none


def jet(context: Context, function: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """`jet(f, primals, series)` -> out, the list of its derivatives."""
    name = name_of_value(function)
    callers, along = derivative_requests.primals_and_tangents(context, "jet", args, kwargs, "series")
    primals = tuple(active_leaves.active_where_possible(context, x) for x in callers)
    given = _paths(context, name, along, len(primals))
    others: list[Expr] = []
    leaves: list[Value] = []
    for number, (primal, path) in enumerate(zip(primals, given, strict=True)):
        own = list(value_trees.leaves_of(context, primal))
        leaves += own
        columns = [list(value_trees.leaves_of(context, each)) for each in path]
        for column in columns:
            if len(column) != len(own):
                message = f"jet of {name}: a coefficient of argument {number} does not have the argument's structure"
                raise ShapeError(message, context.location)
        for place, leaf in enumerate(own):
            for k, column in enumerate(columns, 1):
                if active_leaves.has_derivative(leaf):
                    derivative = derivative_requests.converted(context, column[place], leaf)
                    others.append(derivative if k == 1 else derivative * (1 / factorial(k)))
                else:
                    active_leaves.require_no_tangent(context, column[place], leaf)
    order = len(given[0])
    outlined = outline.outline(context, function, primals, {}, callers)
    wrt = active_leaves.active_numbers(outlined, leaves)
    active_leaves.require_active(context, wrt, primals, name)
    outs = [k for k, leaf in enumerate(outlined.leaves) if leaf.dtype.kind in "fc"]
    op = JetOp.of_order(outlined.callee, outlined.operands, [other.value for other in others], wrt, outs)
    results = outline.results_of(context, outlined, insert(op).results)
    out = plain_results.rebuilt(context, outlined.result, results)
    coefficients = list(results)
    items: list[Value] = []
    for k in range(1, order + 1):
        own = [coefficients[place * order + k - 1] for place in range(len(outs))]
        scaled = iter([each if k == 1 else each * float(factorial(k)) for each in own])
        items.append(derivative_requests.tangent_of(context, outlined.result, out, scaled))
    return Tuple((out, context.new_object(Entry.of_list(tuple(items)))))


def _paths(context: Context, name: str, series: Sequence[Value], count: int) -> list[Sequence[Value]]:
    """The coefficients of each primal, equally many for all."""
    if len(series) != count:
        raise ShapeError(f"jet of {name}: {count} primals and {len(series)} series", context.location)
    found = [None if is_none(context.use(each)) else consuming.elements(context, each) for each in series]
    orders = {len(each) for each in found if each is not None}
    if len(orders) > 1:
        message = f"jet of {name}: the series have {' and '.join(map(str, sorted(orders)))} coefficients"
        raise ShapeError(message, context.location)
    order = orders.pop() if orders else 0
    if not order:
        raise ShapeError(f"jet of {name}: the series have no coefficients", context.location)
    return [[Static(None)] * order if each is None else each for each in found]
