"""Programs in plain NumPy with slices that have run-time starts and ends, with arguments.

ALGORITHMS: textbook algorithms, which write their arguments. CORNERS: functions of an array and a number, for any
number, which may write the array.
"""

from __future__ import annotations

import numpy as np

rng = np.random.default_rng(7)
N = 6
SQUARE = rng.random((N, N)) + N * np.eye(N)
SPD = SQUARE @ SQUARE.T
VECTOR = rng.random(N) + 0.1


# --- algorithms -------------------------------------------------------------------------------------------------


def cholesky(a):
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[j, :j]
            a[i, j] /= a[j, j]
        a[i, i] -= a[i, :i] @ a[i, :i]
        a[i, i] = np.sqrt(a[i, i])


def cholesky_by_columns(a):
    n = len(a)
    for k in range(n):
        a[k, k] = np.sqrt(a[k, k])
        a[k + 1 :, k] /= a[k, k]
        for j in range(k + 1, n):
            a[j:, j] -= a[j:, k] * a[j, k]


def lu(a):
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, a.shape[0]):
            a[i, j] -= a[i, :i] @ a[:i, j]


def lu_outer(a):
    for k in range(len(a) - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])


def ludcmp(a, b):
    n = a.shape[0]
    x, y = np.zeros_like(b), np.zeros_like(b)
    for i in range(n):
        for j in range(i):
            a[i, j] = (a[i, j] - a[i, :j] @ a[:j, j]) / a[j, j]
        for j in range(i, n):
            a[i, j] -= a[i, :i] @ a[:i, j]
    for i in range(n):
        y[i] = b[i] - a[i, :i] @ y[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] * 0 + y[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x, y


def durbin(r):
    y = np.empty_like(r)
    alpha, beta = -r[0], 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def trisolv(L, x, b):
    for i in range(x.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]


def trmm(alpha, A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += np.dot(A[i + 1 :, i], B[i + 1 :, j])
    B *= alpha


def symm(alpha, beta, C, A, B):
    temp2 = np.empty((C.shape[1],), dtype=C.dtype)
    C *= beta
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[:i, j] += alpha * B[i, j] * A[i, :i]
            temp2[j] = B[:i, j] @ A[i, :i]
        C[i, :] += alpha * B[i, :] * A[i, i] + alpha * temp2


def syrk(alpha, beta, C, A):
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += alpha * A[i, k] * A[: i + 1, k]


def gramschmidt(A):
    Q, R = np.zeros_like(A), np.zeros((A.shape[1], A.shape[1]))
    for k in range(A.shape[1]):
        R[:k, k] = Q[:, :k].T @ A[:, k]
        v = A[:, k] - Q[:, :k] @ R[:k, k]
        R[k, k] = np.sqrt(v @ v)
        Q[:, k] = v / R[k, k]
    return Q, R


def gramschmidt_modified(A):
    Q, R = np.zeros_like(A), np.zeros((A.shape[1], A.shape[1]))
    for k in range(A.shape[1]):
        R[k, k] = np.sqrt(np.dot(A[:, k], A[:, k]))
        Q[:, k] = A[:, k] / R[k, k]
        R[k, k + 1 :] = Q[:, k] @ A[:, k + 1 :]
        A[:, k + 1 :] -= np.outer(Q[:, k], R[k, k + 1 :])
    return Q, R


def correlation(data):
    m = data.shape[1]
    data = (data - data.mean(axis=0)) / (np.sqrt(len(data)) * data.std(axis=0))
    corr = np.eye(m)
    for i in range(m - 1):
        corr[i + 1 :, i] = corr[i, i + 1 :] = data[:, i] @ data[:, i + 1 :]
    return corr


def covariance(data):
    m, n = data.shape[1], data.shape[0]
    data -= np.mean(data, axis=0)
    cov = np.zeros((m, m))
    for i in range(m):
        cov[i:, i] = cov[i, i:] = data[:, i] @ data[:, i:] / (n - 1.0)
    return cov


def nussinov(seq):
    n = len(seq)
    table = np.zeros((n, n), np.int64)
    for i in range(n - 2, -1, -1):
        for j in range(i + 1, n):
            best = max(table[i, j - 1], table[i + 1, j])
            pair = 1 if seq[i] + seq[j] == 3 else 0
            best = max(best, (table[i + 1, j - 1] if i + 1 <= j - 1 else 0) + pair)
            table[i, j] = max(best, np.max(table[i, i:j] + table[i + 1 : j + 1, j]))
    return table


ALGORITHMS = {
    cholesky: (SPD,),
    cholesky_by_columns: (SPD,),
    lu: (SPD,),
    lu_outer: (SPD,),
    ludcmp: (SPD, VECTOR),
    durbin: (np.arange(N + 1.0, 1.0, -1.0) / (2 * N),),
    trisolv: (np.tril(SPD), np.zeros(N), VECTOR),
    trmm: (1.5, SQUARE, rng.random((N, 4))),
    symm: (1.5, 1.2, rng.random((N, 4)), SQUARE, rng.random((N, 4))),
    syrk: (1.5, 1.2, SQUARE, rng.random((N, 4))),
    gramschmidt: (rng.random((8, 5)),),
    gramschmidt_modified: (rng.random((8, 5)),),
    correlation: (rng.random((7, 5)),),
    covariance: (rng.random((7, 5)),),
    nussinov: (rng.integers(0, 4, 9),),
}


# --- corners ----------------------------------------------------------------------------------------------------

X = np.arange(1.0, 8.0) + 0.13
M = rng.random((5, 4))


def head(x, n):
    return x[:n].sum(), x[n:].sum(), x[-n:].sum(), x[:-n].sum()


def strided(x, n):
    return x[n::2].sum(), x[::-1][:n].sum(), x[n::-1].sum(), x[:n:-2].sum(), x[n : 3 - n : -1].sum()


def sizes(x, n):
    v = x[n:]
    return v.shape[0], len(v), v.size, v.ndim, v.nbytes, np.size(v), v[None].shape[1]


def of_matrix(m, n):
    part = m[n:, :n]
    return part.shape, part.size, part.T.shape, part.T[:1].sum(), part.sum(axis=0).size, part.sum()


def views_of_views(x, n):
    v = x[n:]
    w = v[1:]
    w[:n] = 0
    v[::2][1:] += 10
    return w[::-1].sum(), v[-1:].sum()


def writes(x, n):
    x[:n] = x[n:][:0].sum() + 3
    x[n:] *= 2
    x[: n - 1] += 1
    x[::-1][:n] -= 0.5


def shifts(x, n):
    x[1:n] += x[: n - 1]
    x[: n - 1] -= x[1:n]
    x[:n] = x[:n][::-1]
    x[n:] = x[n:][::-1] * 2


def broadcasts(m, n):
    m[:n] += m[0]
    m[:, n:] *= m[:, :1]
    m[:n, :] = 7
    return (m[:n] * 2 + m[:n, :1]).sum(), (m[:n, None] - m[None, :n]).sum()


def reduced(x, n):
    v = x[:n]
    return v.mean(), v.var(), v.std(), v.sum(), np.count_nonzero(v > 3), (v > 2).any(), (v > 0).all()


def reduced_along_axes(m, n):
    part = m[:n]
    return part.sum(axis=1).sum(), part.mean(axis=0, keepdims=True).sum(), (part > 0.5).any(axis=1).sum()


def extremes(x, n):
    v = x[: n + 1]
    return v.max(), v.min(), np.argmax(v), np.argmin(-v), max(v), min(v), np.ptp(v), sum(v)


def chosen(x, n):
    v = x[n:]
    return np.where(v > 4, v, -v).sum(), np.clip(v, 2, 5).sum(), np.maximum(v, 3).sum(), (v == v).sum()


def made_like(x, n):
    v = x[n:]
    z, o, f = np.zeros_like(v), np.ones_like(v), np.full_like(v, 2.5)
    z += v
    z[: n + 1] = 1
    c = v.copy()
    c[:1] = 100
    return (
        z.sum(),
        np.empty_like(v).shape,
        (o + f).sum(),
        c.sum(),
        v.sum(),
        np.copy(v).sum(),
        v.astype(np.float32).sum(),
    )


def products(m, n):
    u, w = m[:n, 0], m[:n]
    return (
        u @ u,
        (u @ w).sum(),
        (w @ w.T).sum(),
        np.outer(u, u).sum(),
        np.dot(w.T, w).sum(),
        np.inner(u, u),
        np.vdot(u, u),
    )


def transposed(m, n):
    m.T[:n] += 1
    m[:, :n].T[0:1] *= 2
    np.flip(m[:n], 1)[:, 0] = 5
    return np.transpose(m[:n]).sum(), np.flip(m[:n]).sum()


def thin(x, n):
    v = x[:n]
    return v[:, None].sum(), v.reshape(-1, 1).shape, v.reshape(1, -1).sum(), v.ravel().sum(), np.atleast_2d(v).shape


def iterated(x, n):
    total = 0.0
    for k, v in enumerate(x[n:]):
        total += k * v
    for a, b in zip(x[1:n], x[: n - 1]):
        total += a * b
    for v in reversed(x[:n]):
        total = total / 2 + v
    return total


def rows(m, n):
    total = 0.0
    for row in m[n:]:
        row[:n] += 1
        total += row @ row
    return total


def sized_loop(x, n):
    v = x[:n]
    for k in range(len(v)):
        v[k] += k
        v[:k] *= 0.5
        v[k:] += v[: v.shape[0] - k].sum()
    return v.sum()


def picks(x, n):
    if n > 3:
        v = x[:n]
    else:
        v = x[n:]
    v[:1] += 5
    return v.sum(), len(v)


def one_or_all(x, n):
    v = x if n < 2 else x[1:3]
    w = x[:1] if n > 2 else x[::-1]
    v[:1] += 1
    for k in range(n % 3):
        v = x[k:]
        v[-1:] += 1
    return v.sum(), len(v), w.sum() if n > 2 else w[::-1].sum()


def fresh_ones(x, n):
    if n > 3:
        y = x[:n] * 2
    else:
        y = x[n:] + 1
    y[:2] = 0
    return y.sum(), y.size


def grows(x, n):
    v = x[:0]
    y = x[1:n] * 1
    for k in range(n):
        v = x[:k]
        y = x[k:] + v.sum()
        y[:1] = k
    return v.sum(), y.sum(), len(v), len(y)


def shrinks(x, n):
    v = x[:n]
    total = 0.0
    while len(v) > 1:
        v = v[1:]
        total += v[0]
        v[:1] += total
    return total


def leaves_early(x, n):
    for k in range(len(x)):
        if x[:k].sum() > n:
            x[k:] = 0
            return k
        x[:k] += 0.5
    return -1


def scaled(v, w):
    v *= 2
    if len(w) > 2:
        return v.sum() + w[-1]
    return v.sum()


def helped(x, n):
    return scaled(x[:n], x[n:]) + scaled(x[n:], x[:n])


def closes_over(x, n):
    def total(k):
        return x[:k].sum() + x[k : k + n].sum()

    return total(n) + total(1)


def lists(x, n):
    parts = [x[:n], x[n:]]
    parts[0][:1] = 50
    parts = parts[::-1]
    a, b = parts
    return a.sum() - b.sum(), len(parts[1])


def blocks(x, n):
    total = 0.0
    for k in range(0, len(x), 3):
        part = x[k : k + 3]
        part *= n
        total += part.sum() * len(part)
    return total


def halo(x, n):
    out = np.zeros_like(x)
    for k in range(len(x)):
        near = x[max(k - n, 0) : k + n + 1]
        out[k] = near.mean()
    return out


def swaps(x, n):
    a, b = x[:n], x[:n].copy()
    for _ in range(3):
        a, b = b, a
        a += 1
    return a.sum(), b.sum()


def neighbours(x, n):
    d = np.diff(x[:n]).sum() if n > 1 else 0.0
    return d, (x[1:][:n] - x[:-1][:n]).sum(), np.abs(x[n:]).sum()


def integers(i, n):
    i[:n] //= 2
    i[n:] %= 3
    return i[:n].sum(), i[n:].max() if n < len(i) else 0, (i[:n] & i[:n] if False else i[:n] + 1).sum()


def chained(x, n):
    return x[:n][:2][::-1].sum(), x[n:][n:].sum(), x[1:][:n][1:].sum(), x[::2][:n][::-1].sum(), x[:n][-2:].sum()


CORNERS = {
    **dict.fromkeys(
        (
            *(head, strided, sizes, views_of_views, writes, reduced, chosen, made_like, thin, iterated, sized_loop),
            *(
                picks,
                one_or_all,
                fresh_ones,
                grows,
                shrinks,
                leaves_early,
                helped,
                closes_over,
                lists,
                blocks,
                halo,
                swaps,
            ),
            *(neighbours, chained),
        ),
        X,
    ),
    **dict.fromkeys((of_matrix, broadcasts, reduced_along_axes, products, transposed, rows), M),
    integers: np.arange(7) + 5,
}
