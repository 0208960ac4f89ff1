"""Systems of linear equations, inverses, determinants and Cholesky factors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg._linalg import SlogdetResult

from mlirad.library.linalg import loops
from mlirad.library.linalg.operands import as_double, real_dtype, require_all, require_square, result_dtype
from mlirad.library.spells import spells


@spells("numpy.linalg.solve", complex=True)
def solve(a: Any, b: Any) -> Any:
    x, y = np.asarray(a), np.asarray(b)
    require_square(x)
    dtype = result_dtype(x, y)
    is_vector = y.ndim == 1
    if is_vector:
        y = y[:, None]
    elif y.ndim == 0:
        core = "(m,m),(m,n)->(m,n)"
        raise ValueError(
            "solve: Input operand 1 does not have enough dimensions "
            f"(has 0, gufunc core with signature {core} requires 2)"
        )
    if y.shape[-2] != x.shape[-1]:
        name, core = ("solve1", "(m,m),(m)->(m)") if is_vector else ("solve", "(m,m),(m,n)->(m,n)")
        raise ValueError(
            f"{name}: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature {core} "
            f"(size {y.shape[-2]} is different from {x.shape[-1]})"
        )
    if x.ndim == 2 and y.ndim == 2:
        found, failed = loops.solve(as_double(x, dtype), as_double(y, dtype))
    else:
        stack = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
        x = np.broadcast_to(x, stack + x.shape[-2:])
        y = np.broadcast_to(y, stack + y.shape[-2:])
        found, failed = loops.solve(as_double(x, dtype), as_double(y, dtype))
    require_all(failed, "Singular matrix")
    return (found[..., 0] if is_vector else found).astype(dtype)


@spells("numpy.linalg.inv", complex=True)
def inv(a: Any) -> Any:
    x = np.asarray(a)
    require_square(x)
    found, failed = loops.inv(as_double(x, result_dtype(x)))
    require_all(failed, "Singular matrix")
    return found.astype(result_dtype(x))


@spells("numpy.linalg.det", complex=True)
def det(a: Any) -> Any:
    x = np.asarray(a)
    require_square(x)
    dtype = result_dtype(x)
    return loops.det(as_double(x, dtype)).astype(dtype)


@spells("numpy.linalg.slogdet", complex=True)
def slogdet(a: Any) -> Any:
    x = np.asarray(a)
    require_square(x)
    dtype = result_dtype(x)
    held = as_double(x, dtype)
    sign, logarithm = loops.slogdet_of_complex(held) if dtype.kind == "c" else loops.slogdet(held)
    return SlogdetResult(sign.astype(dtype), logarithm.astype(real_dtype(dtype)))


@spells("numpy.linalg.cholesky", complex=True)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    x = np.asarray(a)
    require_square(x)
    dtype = result_dtype(x)
    factor, failed = loops.cholesky_upper(as_double(x, dtype)) if upper else loops.cholesky_lower(as_double(x, dtype))
    require_all(failed, "Matrix is not positive definite")
    return factor.astype(dtype)
