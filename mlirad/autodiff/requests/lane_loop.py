"""Runs a function for each lane of its arguments, one lane after the other.

Reads: a function, and which of its arguments have lanes. Writes: a private function with a loop that calls it on the
slices of each lane, and writes its results into arrays. Leaves: the function. Its effects (its checks) happen as often,
and in the same order, as in a loop of the program.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block

from mlirad.autodiff.private_functions import add_function
from mlirad.dialect.arrays.stacked import lane_of, number_of_lanes, with_lane, zeros_of_lanes
from mlirad.dialect.core.control import for_loop
from mlirad.dialect.core.expr import Expr, building, insert, located


def lane_by_lane(module: ModuleOp, callee: func.FuncOp, inputs: Sequence[Attribute], wrt: Sequence[int]) -> func.FuncOp:
    """A private function of `inputs` that calls `callee` for each lane. The inputs numbered `wrt` have lanes."""
    outputs = callee.function_type.outputs.data
    body = Block(arg_types=inputs)
    if not callee.is_declaration:
        for arg, own in zip(body.args, callee.body.block.args, strict=True):
            arg.name_hint = own.name_hint
    given = [Expr(arg) for arg in body.args]
    with building(body), located(callee.location):
        lanes = number_of_lanes(given[wrt[0]])
        stacked = [zeros_of_lanes(type, lanes) for type in outputs]

        def lane(number: Expr, *results: Expr) -> list[Expr]:
            operands = [lane_of(x, number) if place in wrt else x for place, x in enumerate(given)]
            call = insert(func.CallOp(callee.sym_name.data, [x.value for x in operands], outputs))
            return [with_lane(Expr(one), all, number) for one, all in zip(call.results, results, strict=True)]

        ends = (
            stacked if isinstance(lanes, int) and not lanes else for_loop(lanes, stacked, lane)
        )  # a slice of an array without lanes is invalid
        insert(func.ReturnOp(*(end.value for end in ends)))
    return add_function(module, f"{callee.sym_name.data}.vmap", body, [end.type for end in ends], callee.location)
