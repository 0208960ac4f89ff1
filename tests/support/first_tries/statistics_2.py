"""First tries of more people who do statistics."""

import math

import numpy as np
from scipy import special
from scipy.linalg import cho_factor, cho_solve

from first_tries.program import collection

PROGRAMS, program = collection()

LOG_2PI = math.log(2 * math.pi)
PRIOR = {"a": 2.0, "b": 1.0, "scale": 0.5}


class RunningStats:
    """Welford's algorithm."""

    def __init__(self):
        self.n = 0
        self.mean = 0.0
        self.m2 = 0.0

    def push(self, value):
        self.n += 1
        delta = value - self.mean
        self.mean += delta / self.n
        self.m2 += delta * (value - self.mean)

    @property
    def variance(self):
        return self.m2 / (self.n - 1) if self.n > 1 else 0.0


@program(lambda rng: (rng.normal(3, 2, 60),), wrt=0)
def streaming_zscore(data):
    stats = RunningStats()
    for d in data:
        stats.push(d)
    return (data[-1] - stats.mean) / math.sqrt(stats.variance)


@program(lambda rng: (rng.standard_t(4, 40), 0.1, 1.2, 4.5), wrt=(0, 1, 2, 3))
def student_t_nll(x, loc, scale, df):
    z = (x - loc) / scale
    ll = (
        special.gammaln((df + 1) / 2)
        - special.gammaln(df / 2)
        - 0.5 * np.log(df * np.pi)
        - np.log(scale)
        - (df + 1) / 2 * np.log1p(z**2 / df)
    )
    return -ll.sum()


@program(lambda rng: (rng.normal(size=(30, 4)), rng.normal(size=30), 0.3), wrt=(0, 1, 2))
def ridge_cross_validation(X, y, lam, folds=5):
    idx = np.arange(len(y))
    errors = []
    for f in range(folds):
        test = idx % folds == f
        Xtr, ytr = X[~test], y[~test]
        beta = np.linalg.solve(Xtr.T @ Xtr + lam * np.eye(X.shape[1]), Xtr.T @ ytr)
        errors.append(np.mean((y[test] - X[test] @ beta) ** 2))
    return np.mean(errors)


@program(lambda rng: (rng.exponential(5, 40).round(1), rng.random(40) < 0.7))
def kaplan_meier(times, observed):
    survival = 1.0
    curve = []
    for t in np.unique(times):
        deaths = np.sum((times == t) & observed)
        at_risk = np.sum(times >= t)
        if deaths == 0:
            continue
        survival *= 1 - deaths / at_risk
        curve.append((t, survival))
    return np.array(curve)


@program(lambda rng: (rng.normal(size=(4, 100)),), wrt=0)
def gelman_rubin(chains):
    m, n = chains.shape
    assert m > 1, "need more than one chain"
    B = n * chains.mean(axis=1).var(ddof=1)
    W = chains.var(axis=1, ddof=1).mean()
    return np.sqrt(((n - 1) / n * W + B / n) / W)


@program(lambda rng: (np.concatenate([rng.normal(-2, 1, 30), rng.normal(2, 0.7, 30)]), [-1.0, 1.0]), wrt=(0, 1))
def em_two_gaussians(x, means):
    mu = np.array(means)
    var = np.ones(2)
    weight = np.full(2, 0.5)
    last = -np.inf
    for it in range(100):
        # E step
        dens = weight * np.exp(-((x[:, None] - mu) ** 2) / (2 * var)) / np.sqrt(2 * np.pi * var)
        total = dens.sum(axis=1, keepdims=True)
        resp = dens / total
        # M step
        nk = resp.sum(axis=0)
        mu = (resp * x[:, None]).sum(axis=0) / nk
        var = (resp * (x[:, None] - mu) ** 2).sum(axis=0) / nk
        weight = nk / len(x)
        loglik = np.log(total).sum()
        if loglik - last < 1e-6:
            break
        last = loglik
    return mu, var, weight


def rankdata(v):
    order = np.argsort(v)
    ranks = np.empty(len(v))
    ranks[order] = np.arange(1, len(v) + 1)
    return ranks


@program(lambda rng: (rng.normal(size=25), rng.normal(0.5, 1, size=30)))
def mann_whitney(a, b):
    ranks = rankdata(np.concatenate((a, b)))
    n1, n2 = len(a), len(b)
    u = ranks[:n1].sum() - n1 * (n1 + 1) / 2
    z = (u - n1 * n2 / 2) / np.sqrt(n1 * n2 * (n1 + n2 + 1) / 12)
    p = 2 * (1 - special.ndtr(abs(z)))
    return {"U": u, "z": z, "p": p}


@program(
    lambda rng: (np.sort(rng.uniform(0, 5, 20)), rng.normal(size=20), {"amp": 1.1, "length": 0.8, "noise": 0.2}),
    wrt=(1, 2),
)
def gaussian_process_nll(x, y, hyper):
    d2 = (x[:, None] - x[None, :]) ** 2
    K = hyper["amp"] ** 2 * np.exp(-0.5 * d2 / hyper["length"] ** 2)
    K[np.diag_indices_from(K)] += hyper["noise"] ** 2
    c = cho_factor(K, lower=True)
    alpha = cho_solve(c, y)
    return 0.5 * y @ alpha + np.log(np.diag(c[0])).sum() + 0.5 * len(y) * LOG_2PI


@program(lambda rng: (rng.normal(1.5, 1, 20), 300, 7))
def metropolis_posterior(data, n_samples, seed):
    rng = np.random.default_rng(seed)

    def log_post(mu):
        return -0.5 * np.sum((data - mu) ** 2) - 0.5 * mu**2 / 100

    mu, accepted, samples = 0.0, 0, []
    current = log_post(mu)
    for _ in range(n_samples):
        proposal = mu + rng.normal(0, PRIOR["scale"])
        new = log_post(proposal)
        if np.log(rng.uniform()) < new - current:
            mu, current = proposal, new
            accepted += 1
        samples.append(mu)
    return np.mean(samples[100:]), accepted / n_samples


@program(lambda rng: (np.c_[np.ones(50), rng.normal(size=(50, 2))], (rng.random(50) < 0.5).astype(float)), wrt=0)
def irls_logistic(X, y, tol=1e-8, max_iter=25):
    beta = np.zeros(X.shape[1])
    for _ in range(max_iter):
        p = 1 / (1 + np.exp(-X @ beta))
        W = p * (1 - p)
        H = X.T @ (W[:, np.newaxis] * X)
        step = np.linalg.solve(H, X.T @ (y - p))
        beta += step
        if np.max(np.abs(step)) < tol:
            return beta
    raise RuntimeError(f"no convergence in {max_iter} iterations")


@program(lambda rng: (np.arange(15.0), 0.5 * np.arange(15.0) + rng.normal(size=15)), wrt=1)
def theil_sen(x, y):
    n = len(x)
    slopes = [(y[j] - y[i]) / (x[j] - x[i]) for i in range(n) for j in range(i + 1, n)]
    slope = np.median(slopes)
    return slope, np.median(y - slope * x)


@program(lambda rng: (rng.integers(5, 40, (3, 4)),))
def chi_square_independence(table):
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    stat = ((table - expected) ** 2 / expected).sum()
    r, c = table.shape
    dof = (r - 1) * (c - 1)
    return stat, special.gammaincc(dof / 2, stat / 2)
