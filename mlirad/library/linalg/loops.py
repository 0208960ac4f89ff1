"""The loops of NumPy's gufuncs that call LAPACK, in float64 and complex128; the functions of numpy.linalg are written
with them.

Reads: stacks of matrices with equal leading axes. Writes: nothing. Leaves: new stacks. If a loop may fail, its last
result has an int64 for each matrix that says whether it failed. Compiled code calls none of these functions: they are
the references for ops. Nothing is cast or broadcast.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.linalg import _umath_linalg


@dataclass(frozen=True)
class Loop:
    """A loop: the gufunc's name, its core axes, and the types of operands and results in NumPy's letters, for real and
    for complex matrices.

    fails: whether it may fail. is_in_place: whether its first result overwrites its first operand. memory: it allocates
    at most this many times the bytes of its operands and results, for copies and LAPACK's work space.
    """

    gufunc: str
    signature: str
    types: str
    complex_types: str
    fails: bool = True
    is_in_place: bool = False
    memory: int = 1

    def letters(self, is_complex: bool) -> str:
        return self.complex_types if is_complex else self.types


LOOPS: Mapping[str, Loop] = {
    "solve": Loop("solve", "(m,m),(m,n)->(m,n)", "ddd", "DDD"),
    "inv": Loop("inv", "(m,m)->(m,m)", "dd", "DD"),
    "det": Loop("det", "(m,m)->()", "dd", "DD", fails=False),
    "slogdet": Loop("slogdet", "(m,m)->(),()", "ddd", "DDd", fails=False),
    "cholesky_lo": Loop("cholesky_lo", "(m,m)->(m,m)", "dd", "DD"),
    "cholesky_up": Loop("cholesky_up", "(m,m)->(m,m)", "dd", "DD"),
    "eig": Loop("eig", "(m,m)->(m),(m,m)", "dDD", "DDD", memory=2),
    "eigvals": Loop("eigvals", "(m,m)->(m)", "dD", "DD", memory=2),
    "eigh_lo": Loop("eigh_lo", "(m,m)->(m),(m,m)", "ddd", "DdD", memory=2),
    "eigh_up": Loop("eigh_up", "(m,m)->(m),(m,m)", "ddd", "DdD", memory=2),
    "eigvalsh_lo": Loop("eigvalsh_lo", "(m,m)->(m)", "dd", "Dd", memory=2),
    "eigvalsh_up": Loop("eigvalsh_up", "(m,m)->(m)", "dd", "Dd", memory=2),
    "svd": Loop("svd", "(m,n)->(p)", "dd", "Dd", memory=3),
    "svd_s": Loop("svd_s", "(m,n)->(m,p),(p),(p,n)", "dddd", "DDdD", memory=3),
    "svd_f": Loop("svd_f", "(m,n)->(m,m),(p),(n,n)", "dddd", "DDdD", memory=3),
    "qr_r_raw": Loop("qr_r_raw", "(m,n)->(p)", "dd", "DD", is_in_place=True, memory=2),
    "qr_reduced": Loop("qr_reduced", "(m,n),(k)->(m,k)", "ddd", "DDD", memory=2),
    "qr_complete": Loop("qr_complete", "(m,n),(n)->(m,m)", "ddd", "DDD", memory=2),
    "lstsq": Loop("lstsq", "(m,n),(m,nrhs),()->(n,nrhs),(nrhs),(),(p)", "dddddid", "DDdDdid", memory=3),
}


def core_ranks(loop: Loop) -> list[int]:
    """The number of core axes of each operand."""
    return [len([x for x in part.split(",") if x]) for part in loop.signature.split("->")[0][1:-1].split("),(")]


def _run(name: str, *arrays: Any) -> Any:
    """The results of a loop. (A gufunc reports failure only for a whole stack, so it is called for each matrix.)"""
    loop = LOOPS[name]
    gufunc, count = getattr(_umath_linalg, loop.gufunc), len(arrays)
    letters = loop.letters(np.iscomplexobj(arrays[0]))
    signature = f"{letters[:count]}->{letters[count:]}"
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
    """x with a @ x = b, for columns b; and where a is singular."""
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


def slogdet_of_complex(a: Any) -> Any:
    """The same for complex matrices, where the sign is a number of absolute value 1."""
    return _run("slogdet", a)


def cholesky_lower(a: Any) -> Any:
    """The lower triangle L with L @ L.T.conj() = a, reading only a's lower triangle; and where there is none."""
    return _run("cholesky_lo", a)


def cholesky_upper(a: Any) -> Any:
    """The upper triangle U with U.T.conj() @ U = a, reading only a's upper triangle; and where there is none."""
    return _run("cholesky_up", a)


def eig(a: Any) -> Any:
    """Complex eigenvalues and eigenvectors; and where there are none."""
    return _run("eig", a)


def eigvals(a: Any) -> Any:
    """Complex eigenvalues; and where there are none."""
    return _run("eigvals", a)


def eigh_lower(a: Any) -> Any:
    """Eigenvalues and eigenvectors of Hermitian matrices, reading only the lower triangle; and where there are none."""
    return _run("eigh_lo", a)


def eigh_upper(a: Any) -> Any:
    """The same, reading only the upper triangle."""
    return _run("eigh_up", a)


def eigvalsh_lower(a: Any) -> Any:
    """Eigenvalues of Hermitian matrices, reading only the lower triangle; and where there are none."""
    return _run("eigvalsh_lo", a)


def eigvalsh_upper(a: Any) -> Any:
    """The same, reading only the upper triangle."""
    return _run("eigvalsh_up", a)


def svd(a: Any) -> Any:
    """u, s and v.T.conj() with as many vectors as singular values; and where there are none."""
    return _run("svd_s", a)


def svd_full(a: Any) -> Any:
    """u, s and v.T.conj() with square u and v; and where there are none."""
    return _run("svd_f", a)


def singular_values(a: Any) -> Any:
    """Singular values; and where there are none."""
    return _run("svd", a)


def reflections(a: Any) -> Any:
    """LAPACK's packed QR factors, the factors of their reflections, and where it failed."""
    return _run("qr_r_raw", a)


def of_reflections(packed: Any, factors: Any) -> Any:
    """The first columns of the matrix given by reflections."""
    return _run("qr_reduced", packed, factors)


def whole_of_reflections(packed: Any, factors: Any) -> Any:
    """The matrix given by reflections, with more rows than reflections."""
    return _run("qr_complete", packed, factors)


def qr(a: Any) -> Any:
    """q with orthonormal columns, as many as the upper triangle r has rows; and where LAPACK failed."""
    packed, factors, failed = reflections(a)
    return of_reflections(packed, factors)[0], np.triu(packed[..., : min(a.shape[-2:]), :]), failed


def qr_complete(a: Any) -> Any:
    """The same with a square q, for a with more rows than columns."""
    packed, factors, failed = reflections(a)
    return whole_of_reflections(packed, factors)[0], np.triu(packed), failed


def cofactors(a: Any) -> Any:
    """The cofactors of square matrices: the derivatives of their determinants."""
    left, values, right = np.linalg.svd(a)
    others = np.ones_like(values)
    for place in range(values.shape[-1]):
        others[..., place] = np.prod(np.delete(values, place, -1), -1)
    sign = np.linalg.det(left) * np.linalg.det(right)
    return sign[..., None, None] * np.conj((left * others[..., None, :]) @ right)


def pseudoinverse(a: Any, cutoff: Any) -> Any:
    """The pseudoinverse, treating singular values up to `cutoff` times the largest as 0; and where it failed."""
    left, values, right, failed = svd(a)
    is_large = values > cutoff[..., None] * np.max(values, -1, keepdims=True)
    inverses = np.divide(1.0, values, where=is_large, out=np.zeros_like(values))
    return np.conj(np.swapaxes(right, -1, -2)) @ (inverses[..., None] * np.conj(np.swapaxes(left, -1, -2))), failed


def least_squares(a: Any, b: Any, cutoff: Any) -> Any:
    """x with the least |a @ x - b|, sums of squares, the rank of a, its singular values; and where it failed."""
    return _run("lstsq", a, b, cutoff)
