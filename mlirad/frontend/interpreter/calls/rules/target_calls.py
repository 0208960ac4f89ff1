"""Calls of functions that are ops of the target.

Reads: values. Writes: one op. Leaves: its value; nothing if the op does not accept these operands.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import emit_all
from mlirad.dialect.core.op import NdOp
from mlirad.dialect.ops.elementwise import ElementwiseOp
from mlirad.errors import DTypeError, ShapeError
from mlirad.frontend.interpreter import indices, storage
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.numpy.numpy_elementwise import result
from mlirad.frontend.values import nep50
from mlirad.frontend.values.sizes import broadcast_shapes
from mlirad.frontend.values.traced import Number, Traced, as_traced, in_type, is_python_number, shape_of, stand_in
from mlirad.frontend.values.values import Value


def call_of_target(context: Context, function: Any, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value | None:
    """A call of a function that has an op of the target, as that op.

    None for any other function, and if the op's type rule refuses the operands: then the function itself is compiled.
    """
    op_class = _op_of(context, function)
    if op_class is None:
        return None
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return None
    if bound.kwargs:
        return None
    values = [storage.operand(context, each) for each in bound.args]
    if not all(isinstance(each, Traced) or is_python_number(each) for each in values):
        return None
    if not any(isinstance(each, Traced) for each in values):
        return None
    return indices.computed(context, lambda: _emitted(op_class, values)) if _takes(op_class, values) else None


def _op_of(context: Context, function: Any) -> type[NdOp] | None:
    try:
        return context.ops_of_target.get(function)
    except TypeError:  # not hashable
        return None


def _takes(op_class: type[NdOp], values: Sequence[Traced | Number]) -> bool:
    """Whether the op's type rule accepts these operands. Nothing is emitted to find out."""
    if issubclass(op_class, ElementwiseOp):
        element = types.from_dtype(nep50.common_dtype([stand_in(each) for each in values]))
        rank = len(broadcast_shapes(*map(shape_of, values)))
        operands = [types.tensor([1] * rank, element) if rank else element] * len(values)
    else:
        operands = [as_traced(each).expr.type for each in values]
    try:
        op_class.infer(operands, {})
    except (DTypeError, ShapeError):
        return False
    return True


def _emitted(op_class: type[NdOp], values: Sequence[Traced | Number]) -> Any:
    if issubclass(op_class, ElementwiseOp):
        dtype = nep50.common_dtype([stand_in(each) for each in values])
        shape = broadcast_shapes(*map(shape_of, values))
        exprs = [in_type(each, dtype, shape) for each in values]
    else:
        exprs = [as_traced(each).expr for each in values]
    first, *others = [result(each, *values) for each in emit_all(op_class, *exprs)]
    return (first, *others) if others else first
