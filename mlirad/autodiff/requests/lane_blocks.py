"""Runs a function with a `while` for each lane of its arguments, in blocks of lanes.

Reads: a function, and which of its arguments have lanes. Writes: a private function that calls a batched function for
each block of lanes, and the function itself for the remaining lanes. Leaves: the function.

A block runs as many trips as its slowest lane, so blocks are small: in one large block, all lanes would wait for one.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block

from mlirad.autodiff.private_functions import add_function
from mlirad.autodiff.requests.batch import all_at_once
from mlirad.dialect.arrays.slices import extract_slice, insert_slice
from mlirad.dialect.arrays.stacked import lane_of, with_lane, zeros_of_lanes
from mlirad.dialect.core import types
from mlirad.dialect.core.control import for_loop
from mlirad.dialect.core.expr import Expr, building, insert, integers, located
from mlirad.dialect.ops.movement import of_lanes

BLOCK = 32


def block_by_block(
    module: ModuleOp, callee: func.FuncOp, inputs: Sequence[Attribute], wrt: Sequence[int]
) -> func.FuncOp | None:
    """A private function of `inputs`; those numbered `wrt` have lanes. None if the lanes must run one by one."""
    if types.shape(inputs[wrt[0]])[0] < BLOCK:  # also if the number is unknown
        return None
    own = callee.function_type.inputs.data
    of_block = [of_lanes(type, BLOCK) if number in wrt else type for number, type in enumerate(own)]
    part = all_at_once(module, callee, of_block, wrt, has_own_trips=True)
    if part is None:
        return None
    outputs = callee.function_type.outputs.data
    body = Block(arg_types=inputs)
    for arg, named in zip(body.args, callee.body.block.args, strict=True):
        arg.name_hint = named.name_hint
    given = [Expr(arg) for arg in body.args]
    with building(body), located(callee.location):
        lanes = types.shape(inputs[wrt[0]])[0]
        blocks = lanes // BLOCK

        def block(number: Expr, *results: Expr) -> list[Expr]:
            first = number * BLOCK
            operands = [_block_of(x, first) if place in wrt else x for place, x in enumerate(given)]
            call = insert(func.CallOp(part.sym_name.data, [x.value for x in operands], part.function_type.outputs.data))
            return [_with_block(Expr(one), all, first) for one, all in zip(call.results, results, strict=True)]

        def lane(number: Expr, *results: Expr) -> list[Expr]:
            number = number + blocks * BLOCK
            operands = [lane_of(x, number) if place in wrt else x for place, x in enumerate(given)]
            call = insert(func.CallOp(callee.sym_name.data, [x.value for x in operands], outputs))
            return [with_lane(Expr(one), all, number) for one, all in zip(call.results, results, strict=True)]

        stacked = for_loop(blocks, [zeros_of_lanes(type, lanes) for type in outputs], block)
        ends = for_loop(lanes - blocks * BLOCK, stacked, lane)
        insert(func.ReturnOp(*(end.value for end in ends)))
    return add_function(module, f"{callee.sym_name.data}.vmap", body, [end.type for end in ends], callee.location)


def _block_of(stacked: Expr, first: Expr) -> Expr:
    """The lanes of one block."""
    _, *shape = stacked.shape
    return extract_slice(stacked, [first, *integers([0] * len(shape))], [BLOCK, *shape])


def _with_block(part: Expr, stacked: Expr, first: Expr) -> Expr:
    """A value with lanes, in which the lanes of one block are replaced."""
    return insert_slice(part, stacked, [first, *integers([0] * (len(stacked.shape) - 1))])
