"""First tries of statisticians."""

import math

import numpy as np

from first_tries.program import collection

PROGRAMS, program = collection()


@program(lambda rng: (rng.normal(2, 3, size=100), 1.5, 2.0), wrt=(1, 2))
def normal_log_likelihood(data, mu, sigma):
    n = len(data)
    return -n / 2 * np.log(2 * np.pi * sigma**2) - np.sum((data - mu) ** 2) / (2 * sigma**2)


@program(lambda rng: (rng.normal(size=(50, 4)), rng.integers(0, 2, 50), rng.normal(size=4)), wrt=2)
def logistic_nll(X, y, beta):
    eta = X @ beta
    return np.sum(np.log1p(np.exp(eta)) - y * eta)


@program(
    lambda rng: (rng.normal(size=200), np.array([0.3, 0.7]), np.array([-1.0, 1.0]), np.array([1.0, 0.5])), wrt=(1, 2, 3)
)
def mixture_log_likelihood(x, w, mu, s):
    dens = w / (s * np.sqrt(2 * np.pi)) * np.exp(-0.5 * ((x[:, None] - mu) / s) ** 2)
    return np.log(dens.sum(axis=1)).sum()


@program(lambda rng: (rng.normal(size=120), 0.05, 0.1, 0.85), wrt=(1, 2, 3))
def garch(returns, omega, alpha, beta):
    sigma2 = np.empty(len(returns))
    sigma2[0] = np.var(returns)
    for t in range(1, len(returns)):
        sigma2[t] = omega + alpha * returns[t - 1] ** 2 + beta * sigma2[t - 1]
    return 0.5 * np.sum(np.log(sigma2) + returns**2 / sigma2)


@program(
    lambda rng: (rng.integers(0, 2, 40), np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0.7, 0.3], [0.1, 0.9]])),
    wrt=(1, 2),
)
def hmm_forward(obs, A, B):
    alpha = np.array([0.5, 0.5]) * B[:, obs[0]]
    loglik = 0
    for o in obs[1:]:
        c = alpha.sum()
        loglik += np.log(c)
        alpha = (alpha / c) @ A * B[:, o]
    return loglik + np.log(np.sum(alpha))


@program(lambda rng: (rng.normal(size=60), rng.normal(size=60)), wrt=(0, 1))
def pearson(x, y):
    xm, ym = x - x.mean(), y - y.mean()
    return np.dot(xm, ym) / np.sqrt(np.dot(xm, xm) * np.dot(ym, ym))


@program(lambda rng: (rng.normal(size=50), 1.3), wrt=1)
def huber_loss(residuals, delta):
    r = np.abs(residuals)
    return np.where(r <= delta, 0.5 * r**2, delta * (r - 0.5 * delta)).sum()


@program(lambda rng: (rng.normal(size=31),))
def median_absolute_deviation(x):
    return np.median(np.abs(x - np.median(x)))


@program(lambda rng: (rng.normal(size=(30, 3)),), wrt=0)
def log_det_covariance(X):
    Xc = X - X.mean(axis=0)
    S = Xc.T @ Xc / (len(X) - 1)
    L = np.linalg.cholesky(S)
    return 2 * np.sum(np.log(np.diag(L)))


@program(lambda rng: (rng.normal(size=20), rng.normal(size=80), 0.4), wrt=(0, 2))
def kernel_density(points, data, h):
    out = np.zeros_like(points)
    for i, p in enumerate(points):
        out[i] = np.mean(np.exp(-0.5 * ((p - data) / h) ** 2)) / (h * np.sqrt(2 * np.pi))
    return out.sum()


@program(lambda rng: (rng.poisson(3.0, 40), 2.5), wrt=1)
def poisson_log_likelihood(counts, lam):
    total = 0.0
    for k in counts:
        total += k * math.log(lam) - lam - math.lgamma(k + 1)
    return total


@program(lambda rng: (rng.normal(size=500), 200))
def bootstrap_mean(x, n_boot):
    means = []
    for b in range(n_boot):
        idx = np.random.randint(0, len(x), len(x))
        means.append(x[idx].mean())
    return np.percentile(means, 97.5) - np.percentile(means, 2.5)
