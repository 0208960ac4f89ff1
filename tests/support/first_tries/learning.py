"""First tries of people who teach machines."""

import numpy as np

from first_tries.program import collection

PROGRAMS, program = collection()


def relu(x):
    return np.maximum(0, x)


def softmax(z):
    e = np.exp(z - np.max(z, axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layers(rng, sizes):
    return [(rng.normal(size=(a, b)) * 0.3, np.zeros(b)) for a, b in zip(sizes[:-1], sizes[1:])]


@program(lambda rng: (layers(rng, [5, 8, 3]), rng.normal(size=(16, 5)), rng.integers(0, 3, 16)), wrt=0)
def mlp_cross_entropy(params, X, labels):
    h = X
    for W, b in params[:-1]:
        h = relu(h @ W + b)
    W, b = params[-1]
    p = softmax(h @ W + b)
    return -np.mean(np.log(p[np.arange(len(labels)), labels]))


@program(
    lambda rng: (rng.normal(size=(6, 4)), rng.normal(size=(4, 4)), rng.normal(size=(4, 4)), rng.normal(size=(4, 4))),
    wrt=(0, 1, 2, 3),
)
def attention(x, Wq, Wk, Wv):
    q, k, v = x @ Wq, x @ Wk, x @ Wv
    scores = q @ k.T / np.sqrt(k.shape[-1])
    mask = np.tril(np.ones((len(x), len(x))))
    scores = np.where(mask == 0, -np.inf, scores)
    return np.sum(softmax(scores) @ v)


@program(
    lambda rng: (
        {"Wx": rng.normal(size=(3, 5)), "Wh": rng.normal(size=(5, 5)) * 0.3, "b": np.zeros(5)},
        rng.normal(size=(12, 3)),
    ),
    wrt=0,
)
def rnn(params, xs):
    h = np.zeros(5)
    hs = []
    for x in xs:
        h = np.tanh(x @ params["Wx"] + h @ params["Wh"] + params["b"])
        hs.append(h)
    return np.stack(hs).mean()


@program(lambda rng: (rng.normal(size=(8, 6)),), wrt=0)
def layer_norm(x):
    mu = x.mean(-1, keepdims=True)
    sd = x.std(-1, keepdims=True)
    return (((x - mu) / (sd + 1e-5)) ** 3).sum()


@program(lambda rng: (rng.normal(size=(10, 10)), rng.normal(size=(3, 3))), wrt=(0, 1))
def conv2d_loops(img, kernel):
    H, W = img.shape
    kh, kw = kernel.shape
    out = np.zeros((H - kh + 1, W - kw + 1))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = np.sum(img[i : i + kh, j : j + kw] * kernel)
    return relu(out).sum()


@program(lambda rng: (rng.normal(size=(30, 2)), rng.normal(size=(3, 2))), wrt=1)
def kmeans_inertia(X, centers):
    for _ in range(3):
        d = ((X[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)
        assign = d.argmin(axis=1)
        new = []
        for k in range(len(centers)):
            members = X[assign == k]
            new.append(members.mean(axis=0) if len(members) > 0 else centers[k])
        centers = np.array(new)
    d = ((X[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)
    return d.min(axis=1).sum()


@program(lambda rng: (rng.normal(size=20), rng.normal(size=20) > 0), wrt=0)
def binary_cross_entropy(logits, target):
    p = 1 / (1 + np.exp(-logits))
    return -np.mean(target * np.log(p) + (1 - target) * np.log(1 - p))


@program(lambda rng: (rng.normal(size=4), rng.normal(size=(25, 4)), rng.normal(size=25)), wrt=0)
def adam_training(w, X, y):
    m, v = np.zeros_like(w), np.zeros_like(w)
    for t in range(1, 21):
        g = 2 * X.T @ (X @ w - y) / len(y)
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g**2
        mhat, vhat = m / (1 - 0.9**t), v / (1 - 0.999**t)
        w = w - 0.01 * mhat / (np.sqrt(vhat) + 1e-8)
    return np.mean((X @ w - y) ** 2)


@program(lambda rng: (rng.normal(size=(12, 6)), rng.integers(0, 12, (5, 2))), wrt=0)
def contrastive(emb, pairs):
    e = emb / np.linalg.norm(emb, axis=1, keepdims=True)
    sim = np.einsum("ij,kj->ik", e, e)
    loss = 0
    for a, b in pairs:
        loss += -sim[a, b] + np.log(np.exp(sim[a]).sum())
    return loss / len(pairs)


@program(lambda rng: (rng.normal(size=(6, 8)), 0.5), wrt=0)
def dropout_layer(x, rate):
    keep = np.random.rand(*x.shape) > rate
    return (x * keep / (1 - rate)).sum()


class BatchNorm:
    def __init__(self, n):
        self.mean = np.zeros(n)
        self.gamma = np.ones(n)

    def __call__(self, x):
        mu = x.mean(axis=0)
        self.mean[:] = 0.9 * self.mean + 0.1 * mu
        return self.gamma * (x - mu) / np.sqrt(x.var(axis=0) + 1e-5)


BATCH_NORM = BatchNorm(4)


@program(lambda rng: (rng.normal(size=(10, 4)),), wrt=0)
def batch_norm(x):
    return (BATCH_NORM(x) ** 3).sum()


@program(lambda rng: (rng.normal(size=(16, 3)), np.array([0.2, -0.4, 1.0])), wrt=1)
def svm_hinge(X, w):
    y = np.sign(X[:, 0])
    return 0.5 * w @ w + np.maximum(0, 1 - y * (X @ w)).sum()
