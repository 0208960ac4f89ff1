"""Values of several lanes, which have a first axis more than the value of one.

Reads: values. Writes: nd ops. Leaves: values with and without lanes.
"""

from __future__ import annotations

from xdsl.ir import Attribute

from mlirad.dialect.arrays.elements import ExtractOp, InsertOp
from mlirad.dialect.arrays.slices import extract_slice, insert_slice
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, constant, dim, emit, full, integers
from mlirad.dialect.ops.movement import of_lanes, reshape


def zeros_of_lanes(type: Attribute, lanes: int | Expr) -> Expr:
    """Zeros for all lanes of what is of this type."""
    made = of_lanes(type, lanes)
    zero = constant(0, types.element_type(made))
    return full(zero, types.shape(made), [lanes] if isinstance(lanes, Expr) else [])


def number_of_lanes(x: Expr) -> int | Expr:
    """How many lanes a value has; an i64 where only the run knows."""
    return x.shape[0] if x.shape[0] >= 0 else dim(x, 0)


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
