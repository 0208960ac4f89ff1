"""Logistic regression, found by Newton's method with the compiled Hessian, against scikit-learn.

The data are 569 breast tumours, 30 numbers each (Wolberg, Street and Mangasarian, 1993, from scikit-learn): which are
benign? The loss is convex, so there is one answer, and both must find it. The picture has the tumours in order of their
probabilities (blue), and the share of benign tumours around each (orange).

    python examples/logistic_regression.py
"""

import sys

import numpy as np
from pictures.png import drawn, save
from pictures.progress import progress
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

import mlirad
from mlirad import nn


def loss(w, x, y):
    """Minus the logarithm of the likelihood, and half of the squares of the weights; the last one is the constant."""
    z = x @ w[:-1] + w[-1]
    return np.sum(nn.softplus(z) - y * z) + 0.5 * np.sum(w[:-1] ** 2)


def main():
    numbers, benign = map(np.asarray, load_breast_cancer(return_X_y=True))
    x, y = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0), benign.astype(float)
    value_and_grad, hessian = mlirad.value_and_grad(loss), mlirad.hessian(loss)
    w, values, norms = np.zeros(31), [], []
    for _ in progress(range(10), "Newton's method"):
        value, slope = value_and_grad(w, x, y)
        values.append(value)
        norms.append(np.linalg.norm(slope))
        if norms[-1] < 1e-9:
            break
        w = w - np.linalg.solve(hessian(w, x, y), slope)
    for step, (value, norm) in enumerate(zip(values, norms, strict=True)):
        print(f"step {step}: loss {value:.6f}, norm of the gradient {norm:.1e}")

    theirs = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(x, y)
    off = np.max(np.abs(np.append(theirs.coef_, theirs.intercept_) - w))
    z = x @ w[:-1] + w[-1]
    print(f"right about {np.mean((z > 0) == y):.4f} of the tumours; weights off by {off:.1e} from scikit-learn's")

    # The picture: the tumours in the order of their predicted probabilities, and their true classes.
    order = np.argsort(z)
    rank, share = np.arange(len(z), dtype=float), np.convolve(y[order], np.ones(25) / 25, "same")
    curves = [((0.1, 0.2, 0.7), rank, 1 / (1 + np.exp(-z[order]))), ((0.9, 0.5, 0.1), rank[12:-12], share[12:-12])]
    save("logistic_regression.png", drawn(curves), scale=2)
    return 0 if off < 1e-4 and norms[-1] < 1e-9 and np.mean((z > 0) == y) > 0.98 else 1


if __name__ == "__main__":
    sys.exit(main())
