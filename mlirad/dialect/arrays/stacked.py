"""Values of several lanes: the value of one lane, with an additional first axis.

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
    """Zeros for all lanes of a value of this type."""
    made = of_lanes(type, lanes)
    zero = constant(0, types.element_type(made))
    return full(zero, types.shape(made), [lanes] if isinstance(lanes, Expr) else [])


def number_of_lanes(x: Expr) -> int | Expr:
    """The number of lanes of a value; an i64 if it is known only at run time."""
    return x.shape[0] if x.shape[0] >= 0 else dim(x, 0)


def lane_of(stacked: Expr, number: Expr) -> Expr:
    """One lane of a value that has lanes."""
    _, *shape = stacked.shape
    if not shape:
        return emit(ExtractOp, stacked, number)
    part = extract_slice(stacked, [number, *integers([0] * len(shape))], [1, *shape])
    return reshape(part, types.tensor(shape, stacked.element))


def with_lane(one: Expr, stacked: Expr, number: Expr) -> Expr:
    """A value with lanes, with one lane replaced."""
    _, *shape = stacked.shape
    if not shape:
        return emit(InsertOp, reshape(one, one.element), stacked, number)
    return insert_slice(
        reshape(one, types.tensor((1, *shape), one.element)), stacked, [number, *integers([0] * len(shape))]
    )
