"""Methods of NumPy's ufuncs that make new arrays: np.add.outer, np.minimum.reduce. (np.add.at writes: accumulation.py.)

Reads: values; static axes. Writes: nd ops. Leaves: Traced values, scalars where all axes are reduced.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from mlirad.frontend.numpy import declarations, numpy_elementwise
from mlirad.frontend.numpy.numpy_creation import as_array
from mlirad.frontend.values.basic_indexing import compose
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.views import View, get


def method(function: Any) -> Callable[..., Any] | None:
    """What compiles `np.add.outer` and its like."""
    ufunc, name = getattr(function, "__self__", None), getattr(function, "__name__", None)
    if not isinstance(ufunc, np.ufunc):
        return None
    if name == "outer" and (ufunc.nin, ufunc.nout) == (2, 1) and numpy_elementwise.is_supported(ufunc):
        return _outer(ufunc)
    reduction = declarations.of(ufunc).of_reduce if name == "reduce" else None
    return None if reduction is None else _reduce(reduction)


@cache
def _outer(ufunc: np.ufunc) -> Callable[..., Any]:
    def of_each_two(A: Any, B: Any) -> Any:
        x, y = as_array(A), as_array(B)
        if x.ndim and y.ndim:
            view = compose(View.of(x.shape, x.dtype), (..., *(np.newaxis,) * y.ndim))
            x = Traced(get(view, x.contents), origins=x.origins)
        return numpy_elementwise.call(ufunc, x, y)

    return of_each_two


@cache
def _reduce(reduction: Callable[..., Any]) -> Callable[..., Any]:
    def along_axes(array: Any, axis: Any = 0, **options: Any) -> Any:
        return reduction(array, axis, **options)

    return along_axes
