"""Methods of `numpy.random.Generator` that draw vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.library.random.draws import drawn, each, number_of, standard
from mlirad.library.random.implicit import standard_gamma, stop_gradient, without_path


def dirichlet(self: Any, alpha: Any, size: Any = None) -> Any:
    alpha = np.asarray(alpha, np.float64)
    if np.any(np.less(alpha, 0)):
        raise ValueError("alpha < 0")
    count = alpha.shape[0]
    shape = () if size is None else np.empty(size).shape
    rows = number_of(shape)
    if count > 0 and np.max(alpha) < 0.1:
        made = without_path(alpha, _broken_sticks(self, stop_gradient(alpha), rows))
    else:
        drawn = standard_gamma(self, alpha, (rows, count))
        total = np.zeros(rows)
        for j in range(count):
            total = total + drawn[:, j]
        made = drawn * (1.0 / total)[:, np.newaxis]
    return made.reshape((*shape, count))


def _broken_sticks(rng: Any, alpha: Any, rows: Any) -> Any:
    """For small alpha, where all gamma numbers might be 0: parts of the remainder, from the beta distribution."""
    count = alpha.shape[0]
    rest = np.cumsum(alpha[::-1])[::-1]
    made = np.zeros((rows, count))
    if rest[0] > 0:
        for i in range(rows):
            left = 1.0
            is_broken = False
            for j in range(count - 1):
                if not is_broken:
                    part = float(each(rng, "beta", None, alpha[j], rest[j + 1]))
                    made[i, j] = left * part
                    left *= 1.0 - part
                    is_broken = rest[j + 1] == 0
            made[i, count - 1] = left
    return made


def multinomial(self: Any, n: Any, pvals: Any, size: Any = None) -> Any:
    p = np.asarray(pvals, np.float64)
    if np.ndim(n) > 0 or p.ndim != 1:
        raise NotImplementedError(
            "rng.multinomial of arrays of n, or of several rows of pvals, is not compiled", "write a loop over the rows"
        )
    n, count = int(n), p.shape[0]
    if n < 0:
        raise ValueError("n < 0")
    if np.any(np.logical_not(np.logical_and(p >= 0, p <= 1))):
        raise ValueError("pvals < 0, pvals > 1 or pvals contains NaNs")
    if count > 0 and np.sum(p[:-1]) > 1.0 + 1e-12:
        raise ValueError("sum(pvals[:-1]) > 1.0")
    shape = () if size is None else np.empty(size).shape
    rows = number_of(shape)
    made = np.zeros((rows, count), np.int64)
    for i in range(rows):
        left, mass = n, 1.0
        for j in range(count - 1):
            if left > 0:
                made[i, j] = int(drawn(self._bitgen_words, "binomial", None, p[j] / mass, left))
                left -= made[i, j]
                mass -= p[j]
        if left > 0:
            made[i, count - 1] = left
    return made.reshape((*shape, count))


def multivariate_normal(
    self: Any,
    mean: Any,
    cov: Any,
    size: Any = None,
    check_valid: str = "warn",
    tol: float = 1e-8,
    *,
    method: str = "svd",
) -> Any:
    if method not in ("eigh", "svd", "cholesky"):
        raise ValueError("method must be one of {'eigh', 'svd', 'cholesky'}")
    mean, cov = np.asarray(mean), np.asarray(cov).astype(np.float64)
    if mean.ndim != 1:
        raise ValueError("mean must be 1 dimensional")
    if cov.ndim != 2 or cov.shape[0] != cov.shape[1]:
        raise ValueError("cov must be 2 dimensional and square")
    if mean.shape[0] != cov.shape[0]:
        raise ValueError("mean and cov must have same length")
    count = mean.shape[0]
    shape = () if size is None else np.empty(size).shape
    z = standard(self, "standard_normal", (number_of(shape), count))
    factor = _root_of(cov, check_valid, tol, method)
    return (mean + z @ factor.T).reshape((*shape, count))


def _root_of(cov: Any, check_valid: str, tol: float, method: str) -> Any:
    """A matrix A with A A^T = cov."""
    if method == "cholesky":
        return np.linalg.cholesky(cov)
    if check_valid not in ("warn", "raise", "ignore"):
        raise ValueError("check_valid must equal 'warn', 'raise', or 'ignore'")
    if method == "svd":
        u, s, vh = np.linalg.svd(cov)
        if check_valid == "raise" and not np.allclose(np.dot(vh.T * s, vh), cov, rtol=tol, atol=tol):
            raise ValueError("covariance is not symmetric positive-semidefinite.")
        return u * np.sqrt(s)
    s, u = np.linalg.eigh(cov)
    if check_valid == "raise" and np.any(s < -tol):
        raise ValueError("covariance is not symmetric positive-semidefinite.")
    return u * np.sqrt(np.abs(s))
