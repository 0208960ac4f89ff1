"""Taylor coefficients of functions and ops that have tangents, but no formula.

Reads: a function that computes tangents, or an op whose tangent is a loop. Writes: calls of it. Leaves: `ad.jet`
requests of it.

The function is evaluated on series: y' = tangent(x, x'), so coefficient k of y is coefficient k - 1 of the tangent,
divided by k. These coefficients are requested, because the function may call others that do not exist yet.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue

from mlirad.autodiff.private_functions import add_function
from mlirad.dialect.ad.derivative_ops import JetOp
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, insert
from mlirad.dialect.core.op import NdOp


def series_along(
    tangent: func.FuncOp,
    primals: Sequence[SSAValue],
    wrt: Sequence[int],
    series: Sequence[Sequence[SSAValue]],
    count: int,
) -> tuple[list[SSAValue], list[list[SSAValue]]]:
    """The first `count` results of a function, and the series that have its other results as derivatives.

    tangent: takes the primals, and the tangents of `wrt`. series: the coefficients of the `wrt`, from number 1 on.
    """
    order, outputs = len(series[0]), tangent.function_type.outputs.data
    given = [*primals, *(one[0] for one in series)]
    if order == 1:
        found = insert(func.CallOp(tangent.sym_name.data, given, outputs)).results
        return list(found[:count]), [[each] for each in found[count:]]
    higher = [each for one in series for each in one[:-1]]
    higher += [(Expr(one[k]) * float(k + 1)).value for one in series for k in range(1, order)]
    moving = (*wrt, *range(len(primals), len(given)))
    found = insert(JetOp.of_order(tangent, given, higher, moving, range(count, len(outputs)))).results
    rest = iter(found[len(outputs) :])
    coefficients = [
        [slope, *((Expr(next(rest)) * (1 / k)).value for k in range(2, order + 1))]
        for slope in found[count : len(outputs)]
    ]
    return list(found[:count]), coefficients


def series_of_loop(module: ModuleOp, op: NdOp, series: Sequence[Sequence[SSAValue] | None]) -> list[list[SSAValue]]:
    """The coefficients of the results of an op whose tangent is a loop. series: of its operands; None for constants."""
    wrt = [number for number, one in enumerate(series) if one is not None]
    count = len(op.operands)
    block = Block(arg_types=[*(x.type for x in op.operands), *(op.operands[number].type for number in wrt)])
    given: list[Expr | None] = [None] * count
    for number, arg in zip(wrt, block.args[count:], strict=True):
        given[number] = Expr(arg)
    with building(block):
        operands = list(map(Expr, block.args[:count]))
        tangents = op.tangents(given, op.rebuild(*operands), operands)
        assert all(each is not None for each in tangents), "an op of floats"
        results = [each.value for each in tangents if each is not None]
        insert(func.ReturnOp(*results))
    name = f"{op.name.removeprefix('nd.')}.tangent"
    function = add_function(module, name, block, [each.type for each in results], op.location)
    _, found = series_along(function, op.operands, wrt, [one for one in series if one is not None], 0)
    assert all(types.is_inexact(result.type) for result in op.results)
    return found
