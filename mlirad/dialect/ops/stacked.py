"""Values of several lanes, which have a first axis more than the value of one.

Reads: values. Writes: nd ops. Leaves: values with and without lanes.
"""

from __future__ import annotations

from xdsl.ir import Attribute

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant, emit, full, integers
from mlirad.dialect.ops.indexing import ExtractOp, InsertOp, extract_slice, insert_slice
from mlirad.dialect.ops.movement import reshape


def of_lanes(type: Attribute, lanes: int) -> Attribute:
    """The type of values of all lanes (-1: of an unknown number), of the type of one."""
    return types.tensor((lanes, *types.shape(type)), types.element_type(type))


def zeros_of_lanes(type: Attribute, count: int, lanes: Expr) -> Expr:
    """Zeros for all lanes of what is of this type."""
    made = of_lanes(type, count)
    return full(constant(0, types.element_type(made)), types.shape(made), [lanes] if count < 0 else [])


def lane_of(stacked: Expr, number: Expr) -> Expr:
    """One lane of a value that has lanes."""
    _, *shape = stacked.shape
    if not shape:
        return emit(ExtractOp, stacked, number)
    part = extract_slice(stacked, [number, *integers([0] * len(shape))], [1, *shape])
    return reshape(part, types.tensor(shape, stacked.element))


def with_lane(one: Expr, stacked: Expr, number: Expr) -> Expr:
    """A value that has lanes, with another one in place of a lane."""
    _, *shape = stacked.shape
    if not shape:
        return emit(InsertOp, reshape(one, one.element), stacked, number)
    return insert_slice(
        reshape(one, types.tensor((1, *shape), one.element)), stacked, [number, *integers([0] * len(shape))]
    )
