"""The loops of NumPy's gufuncs that call LAPACK, in float64: what the functions of numpy.linalg are written with.

Reads: stacks of matrices, whose leading axes are alike. Writes: nothing. Leaves: new stacks; where a loop may fail, a
last result says of which parts, an int64 for each. Compiled code calls none of these functions: each is what an op is
compared with. Nothing is cast or broadcast.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.linalg import _umath_linalg


@dataclass(frozen=True)
class Loop:
    """A loop: the gufunc's name, its core axes, and the types of operands and results, in NumPy's letters.

    fails: whether it may fail. is_in_place: its first result is its first operand, which it changes.
    """

    gufunc: str
    signature: str
    types: str
    fails: bool = True
    is_in_place: bool = False


LOOPS: Mapping[str, Loop] = {
    "solve": Loop("solve", "(m,m),(m,n)->(m,n)", "ddd"),
    "inv": Loop("inv", "(m,m)->(m,m)", "dd"),
    "det": Loop("det", "(m,m)->()", "dd", fails=False),
    "slogdet": Loop("slogdet", "(m,m)->(),()", "ddd", fails=False),
    "cholesky_lo": Loop("cholesky_lo", "(m,m)->(m,m)", "dd"),
    "cholesky_up": Loop("cholesky_up", "(m,m)->(m,m)", "dd"),
    "eigh_lo": Loop("eigh_lo", "(m,m)->(m),(m,m)", "ddd"),
    "eigh_up": Loop("eigh_up", "(m,m)->(m),(m,m)", "ddd"),
    "eigvalsh_lo": Loop("eigvalsh_lo", "(m,m)->(m)", "dd"),
    "eigvalsh_up": Loop("eigvalsh_up", "(m,m)->(m)", "dd"),
    "svd": Loop("svd", "(m,n)->(p)", "dd"),
    "svd_s": Loop("svd_s", "(m,n)->(m,p),(p),(p,n)", "dddd"),
    "svd_f": Loop("svd_f", "(m,n)->(m,m),(p),(n,n)", "dddd"),
    "qr_r_raw": Loop("qr_r_raw", "(m,n)->(p)", "dd", is_in_place=True),
    "qr_reduced": Loop("qr_reduced", "(m,n),(k)->(m,k)", "ddd"),
    "qr_complete": Loop("qr_complete", "(m,n),(n)->(m,m)", "ddd"),
    "lstsq": Loop("lstsq", "(m,n),(m,nrhs),()->(n,nrhs),(nrhs),(),(p)", "dddddid"),
}


def core_ranks(loop: Loop) -> list[int]:
    """How many core axes each operand has."""
    return [len([x for x in part.split(",") if x]) for part in loop.signature.split("->")[0][1:-1].split("),(")]


def _run(name: str, *arrays: Any) -> Any:
    """The results of a loop. (A gufunc says only of a whole stack that it failed: it is called for each part.)"""
    loop = LOOPS[name]
    gufunc, count = getattr(_umath_linalg, loop.gufunc), len(arrays)
    signature = f"{loop.types[:count]}->{loop.types[count:]}"
    batch = arrays[0].shape[: arrays[0].ndim - core_ranks(loop)[0]]
    whole = tuple(np.array(each) for each in arrays)
    with np.errstate(all="ignore"):
        found = gufunc(*whole, signature=signature)
    results = [np.asarray(each) for each in (found if isinstance(found, tuple) else (found,))]
    if loop.is_in_place:
        results = [whole[0], *results]
    if loop.fails:
        failed = np.zeros(batch, np.int64)
        for place in np.ndindex(batch):
            failed[place] = _fails(gufunc, signature, [np.array(each[place]) for each in arrays])
        results.append(failed)
    return tuple(results) if len(results) > 1 else results[0]


def _fails(gufunc: Any, signature: str, arrays: list[Any]) -> bool:
    try:
        with np.errstate(all="ignore", invalid="raise"):
            gufunc(*arrays, signature=signature)
    except FloatingPointError:
        return True
    return False


def solve(a: Any, b: Any) -> Any:
    """x with a @ x = b, of columns b; and where a is singular."""
    return _run("solve", a, b)


def inv(a: Any) -> Any:
    """The inverse of a, and where it is singular."""
    return _run("inv", a)


def det(a: Any) -> Any:
    """The determinant."""
    return _run("det", a)


def slogdet(a: Any) -> Any:
    """The sign of the determinant, and the logarithm of its absolute value."""
    return _run("slogdet", a)


def cholesky_lower(a: Any) -> Any:
    """The lower triangle L with L @ L.T = a, whose lower triangle is read; and where a is not positive definite."""
    return _run("cholesky_lo", a)


def cholesky_upper(a: Any) -> Any:
    """The upper triangle U with U.T @ U = a, whose upper triangle is read; and where a is not positive definite."""
    return _run("cholesky_up", a)
