"""First tries of more people who train models."""

import math
from collections import Counter

import numpy as np
from scipy.special import expit, logsumexp

from first_tries.program import collection

PROGRAMS, program = collection()

EPS = 1e-7
ACTIONS = [(-1, 0), (1, 0), (0, -1), (0, 1)]


class GRUCell:
    def __init__(self, Wz, Wr, Wh):
        self.Wz, self.Wr, self.Wh = Wz, Wr, Wh

    def __call__(self, h, x):
        hx = np.concatenate([h, x])
        z = expit(self.Wz @ hx)
        r = expit(self.Wr @ hx)
        cand = np.tanh(self.Wh @ np.concatenate([r * h, x]))
        return (1 - z) * h + z * cand


@program(lambda rng: (rng.normal(size=(3, 5, 8)).astype(np.float32) * np.float32(0.3), rng.normal(size=(6, 3))), wrt=1)
def gru_last_state(weights, sequence):
    cell = GRUCell(*weights)
    h = np.zeros(5)
    for x in sequence:
        h = cell(h, x)
    return h


def gini(labels):
    if len(labels) == 0:
        return 0.0
    counts = np.bincount(labels)
    p = counts / counts.sum()
    return 1 - np.sum(p**2)


@program(lambda rng: (rng.normal(size=(24, 3)), rng.integers(0, 3, 24)))
def best_split(X, labels):
    best = (None, None, np.inf)
    for feature in range(X.shape[1]):
        for threshold in X[:, feature]:
            left = X[:, feature] <= threshold
            score = left.mean() * gini(labels[left]) + (1 - left.mean()) * gini(labels[~left])
            if score < best[2]:
                best = (feature, threshold, score)
    return best


@program(
    lambda rng: (
        rng.normal(size=(20, 6)) * 0.1,
        rng.normal(size=(20, 6)) * 0.1,
        [(1, 5, [3, 9, 11]), (4, 2, [0, 7, 13]), (5, 1, [2, 18, 19])],
    ),
    wrt=(0, 1),
)
def skipgram_negative_sampling(emb, ctx, batch):
    loss = 0.0
    for center, pos, negs in batch:
        v = emb[center]
        loss -= np.log(expit(ctx[pos] @ v))
        loss -= np.log(expit(-ctx[negs] @ v)).sum()
    return loss / len(batch)


def lstm_step(p, x, h, c):
    gates = x @ p["Wx"] + h @ p["Wh"] + p["b"]
    i, f, o, g = np.split(gates, 4)
    c = expit(f) * c + expit(i) * np.tanh(g)
    h = expit(o) * np.tanh(c)
    return h, c


@program(
    lambda rng: (
        {"Wx": rng.normal(size=(3, 16)) * 0.4, "Wh": rng.normal(size=(4, 16)) * 0.4, "b": np.zeros(16)},
        rng.normal(size=(7, 3)),
        rng.normal(size=4),
    ),
    wrt=0,
)
def lstm_loss(params, xs, target):
    h = c = np.zeros(4)
    for x in xs:
        h, c = lstm_step(params, x, h, c)
    return 0.5 * ((h - target) ** 2).sum()


@program(
    lambda rng: (rng.normal(size=(30, 2)) + np.repeat([[2.5, 2.5], [-2.5, -2.5]], 15, axis=0), np.repeat([1, -1], 15))
)
def perceptron(X, y):
    w = np.zeros(X.shape[1])
    b = 0
    mistakes = 0
    for epoch in range(50):
        clean = True
        for xi, yi in zip(X, y):
            if yi * (w @ xi + b) <= 0:
                w += yi * xi
                b += yi
                mistakes += 1
                clean = False
        if clean:
            break
    return w, b, epoch, mistakes


@program(lambda rng: (rng.normal(size=(40, 3)), rng.integers(0, 4, 40), rng.normal(size=(6, 3)), 5))
def knn_predict(train, labels, queries, k):
    predictions = []
    for q in queries:
        nearest = np.argsort(((train - q) ** 2).sum(axis=1))[:k]
        votes = Counter(labels[nearest].tolist())
        predictions.append(votes.most_common(1)[0][0])
    return np.array(predictions)


@program(
    lambda rng: (
        [(0, 1), (1, 2), (2, 3), (3, 0), (1, 3), (4, 2)],
        rng.normal(size=(5, 4)),
        rng.normal(size=(4, 6)),
        rng.normal(size=(6, 2)),
    ),
    wrt=(1, 2, 3),
)
def graph_convolution(edges, X, W1, W2):
    n = X.shape[0]
    A = np.eye(n)
    for i, j in edges:
        A[i, j] = A[j, i] = 1
    d = A.sum(1) ** -0.5
    A_hat = d[:, None] * A * d
    H = np.maximum(A_hat @ X @ W1, 0)
    out = A_hat @ H @ W2
    return out - logsumexp(out, axis=1, keepdims=True)


def dense(x, w, b, act=np.tanh):
    return act(x @ w + b)


@program(
    lambda rng: (
        rng.uniform(size=(8, 6)),
        rng.normal(size=(8, 2)),
        rng.normal(size=(6, 4)) * 0.5,
        np.zeros(4),
        rng.normal(size=(2, 6)) * 0.5,
        np.zeros(6),
    ),
    wrt=(2, 3, 4, 5),
)
def vae_loss(x, noise, *params):
    enc_w, enc_b, dec_w, dec_b = params
    stats = dense(x, enc_w, enc_b, act=lambda v: v)
    mu, logvar = stats[:, :2], stats[:, 2:]
    z = mu + np.exp(0.5 * logvar) * noise
    recon = np.clip(dense(z, dec_w, dec_b, act=expit), EPS, 1 - EPS)
    bce = -(x * np.log(recon) + (1 - x) * np.log(1 - recon)).sum(axis=-1)
    kl = -0.5 * np.sum(1 + logvar - mu**2 - np.exp(logvar), axis=-1)
    return (bce + kl).mean()


@program(lambda rng: (4, 0.5, 0.9))
def q_learning_grid(size, lr, gamma):
    rng = np.random.RandomState(0)
    Q = np.zeros((size, size, len(ACTIONS)))
    lengths = []
    for episode in range(20):
        r, c = 0, 0
        for step in range(60):
            if rng.rand() < 0.2:
                a = rng.randint(4)
            else:
                a = int(np.argmax(Q[r, c]))
            dr, dc = ACTIONS[a]
            nr = min(max(r + dr, 0), size - 1)
            nc = min(max(c + dc, 0), size - 1)
            done = nr == size - 1 and nc == size - 1
            reward = 1.0 if done else -0.01
            Q[r, c, a] += lr * (reward + gamma * (0 if done else Q[nr, nc].max()) - Q[r, c, a])
            r, c = nr, nc
            if done:
                break
        lengths.append(step + 1)
    return Q.max(axis=2), lengths


@program(lambda rng: (rng.normal(size=(10, 3)), rng.integers(0, 3, 10)), wrt=0)
def focal_loss(logits, targets, gamma=2.0, alpha=None):
    if logits.ndim != 2:
        raise ValueError(f"logits must be 2-d, got shape {logits.shape}")
    if alpha is None:
        alpha = np.ones(logits.shape[1])
    logp = logits - logsumexp(logits, axis=1, keepdims=True)
    picked = np.take_along_axis(logp, targets[:, None], axis=1).squeeze(1)
    return np.mean(-alpha[targets] * (1 - np.exp(picked)) ** gamma * picked)


@program(
    lambda rng: (
        rng.normal(size=(2, 6, 8)),
        rng.normal(size=(3, 2, 8, 4)) / math.sqrt(8),
        rng.normal(size=(2, 4, 8)) / math.sqrt(8),
    ),
    wrt=(0, 1, 2),
)
def causal_multi_head(x, Wqkv, Wo):
    q, k, v = np.einsum("btd,chdk->cbhtk", x, Wqkv)
    T = x.shape[1]
    scores = np.einsum("bhtk,bhsk->bhts", q, k) / np.sqrt(q.shape[-1])
    mask = np.tril(np.ones((T, T), dtype=bool))
    scores = np.where(mask, scores, -1e9)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    probs = scores / scores.sum(axis=-1, keepdims=True)
    heads = np.einsum("bhts,bhsk->bhtk", probs, v)
    return x + np.einsum("bhtk,hkd->btd", heads, Wo)


def backtracking(f, grad, x, shrink=0.5, c=1e-4):
    g = grad(x)
    t = 1.0
    while f(x - t * g) > f(x) - c * t * np.dot(g, g):
        t *= shrink
        if t < 1e-10:
            break
    return x - t * g


@program(lambda rng: (rng.normal(size=(12, 4)), rng.normal(size=12), 0.1), wrt=(0, 1, 2))
def line_search_descent(A, b, reg):
    def objective(x):
        r = A @ x - b
        return 0.5 * np.sum(r * r) + 0.5 * reg * np.sum(x * x)

    gradient = lambda x: A.T @ (A @ x - b) + reg * x
    x = np.zeros(A.shape[1])
    losses = [objective(x)]
    for _ in range(10):
        x = backtracking(objective, gradient, x)
        losses.append(objective(x))
    return losses[-1] / losses[0]
