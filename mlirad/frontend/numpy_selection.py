"""np.where and np.clip: elements chosen by a condition or by limits.

Reads: values. Writes: nd ops. Leaves: Traced values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.dialect.choice import SelectOp
from mlirad.dialect.expr import emit
from mlirad.errors import StaticValueError, UnsupportedSyntaxError
from mlirad.frontend import numpy_elementwise, promotion
from mlirad.frontend.sizes import broadcast_shapes
from mlirad.frontend.traced import Traced, as_operand, as_traced, in_type, origins_of, shape_of, stand_in

_MISSING = object()


def where(condition: Any, x: Any = _MISSING, y: Any = _MISSING) -> Traced:
    if x is _MISSING and y is _MISSING:
        raise UnsupportedSyntaxError(
            "np.where(condition) is not supported: its shape depends on data", hint="write np.where(condition, x, y)"
        )
    if x is _MISSING or y is _MISSING:
        raise StaticValueError("either both or neither of x and y should be given")
    test, left, right = as_operand(condition), as_operand(x), as_operand(y)
    shape = broadcast_shapes(*map(shape_of, (test, left, right)))
    dtype = promotion.common_dtype([stand_in(left), stand_in(right)])
    chosen = emit(
        SelectOp, numpy_elementwise.truths(test, shape), in_type(left, dtype, shape), in_type(right, dtype, shape)
    )
    return Traced(chosen, zero_d=not shape, origins=origins_of(test, left, right))


def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """min(max(a, low), high), as NumPy defines it."""
    low = a_min if min is None else min
    high = a_max if max is None else max
    result: Any = as_traced(a)
    if low is None and high is None:
        return numpy_elementwise.call(np.positive, result)
    if low is not None:
        result = numpy_elementwise.call(np.maximum, result, low)
    if high is not None:
        result = numpy_elementwise.call(np.minimum, result, high)
    return result
