"""Gaussian process regression: hyperparameters by the exact gradient and Hessian of the marginal likelihood.

The data are scikit-learn's: the progression of diabetes in 60 patients, by ten measurements. First, known
hyperparameters are recovered from targets drawn with them, within their standard errors. Then the hyperparameters for
the patients are found. Value and gradient are compared with scikit-learn's.

    python examples/gaussian_process.py
"""

import sys
from typing import Any

import numpy as np
from pictures.png import drawn, save
from scipy.linalg import cho_factor, cho_solve
from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import mlirad

PATIENTS = 60


def covariance(log_parameters, squares):
    """Of targets at inputs of these squared distances: amplitude, length and noise by their logarithms."""
    amplitude, length, noise = np.exp(log_parameters)
    return amplitude * np.exp(-0.5 * squares / length**2) + noise * np.eye(len(squares))


def loss(log_parameters, squares, y):
    """Minus the logarithm of the marginal likelihood."""
    factor, is_lower = cho_factor(covariance(log_parameters, squares), lower=True)
    fit = y @ cho_solve((factor, is_lower), y)
    return 0.5 * fit + np.sum(np.log(np.diag(factor))) + 0.5 * len(y) * np.log(2 * np.pi)


value_and_gradient = mlirad.value_and_grad(loss)
hessian = mlirad.hessian(loss)


def fitted(start, squares, y):
    """The minimum by Newton's method, with steps that go downhill; and standard errors."""
    parameters = np.array(start)
    for _ in range(60):
        value, gradient = value_and_gradient(parameters, squares, y)
        if np.max(np.abs(gradient)) < 1e-9 * abs(value):
            break
        curvatures, directions = np.linalg.eigh(hessian(parameters, squares, y))
        step = directions @ ((directions.T @ gradient) / np.maximum(np.abs(curvatures), 0.1))
        step *= min(1.0, 1.0 / np.max(np.abs(step)))
        while loss(parameters - step, squares, y) > value + 1e-9 * abs(value):
            step *= 0.5
        parameters = parameters - step
    return parameters, np.sqrt(np.diag(np.linalg.inv(hessian(parameters, squares, y))))


def main():
    data: Any = load_diabetes()
    x, targets = data.data[:PATIENTS] / data.data.std(), data.target[:PATIENTS]
    y = (targets - targets.mean()) / targets.std()
    squares = np.sum((x[:, None] - x) ** 2, axis=-1)

    true = np.log([2.0, 4.0, 0.3])
    drawn_targets = np.linalg.cholesky(covariance(true, squares)) @ np.random.default_rng(0).normal(size=PATIENTS)
    recovered, errors = fitted(np.zeros(3), squares, drawn_targets)
    for name, *row in zip(("amplitude", "length", "noise"), np.exp(true), np.exp(recovered), errors, strict=True):
        print(f"{name:9} {row[0]:.2f}, recovered as {row[1]:.2f}, by a factor within e^{row[2]:.2f}")
    distance = np.max(np.abs(recovered - true) / errors)

    found, errors = fitted(np.zeros(3), squares, y)
    print(f"patients: amplitude, length, noise = {np.exp(found).round(3)}, standard errors e^{errors.round(2)}")
    kernel = ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(1.0)
    make_peer: Any = GaussianProcessRegressor  # its stubs lack something that its documentation has
    peer = make_peer(kernel, alpha=0.0, optimizer=None).fit(x, y)
    off = 0.0
    for each in (np.zeros(3), found, true):
        value, gradient = value_and_gradient(each, squares, y)
        peers_value, peers_gradient = peer.log_marginal_likelihood(each, eval_gradient=True)
        off = max(off, abs(value + peers_value) / abs(value), np.max(np.abs(gradient + peers_gradient)) / abs(value))
    _, gradient = value_and_gradient(found, squares, y)
    print(
        f"off from scikit-learn's likelihoods and gradients by {off:.1e}; {np.max(np.abs(gradient)):.1e} at the optimum"
    )

    lengths = np.linspace(found[1] - 1.5, found[1] + 1.5, 40)
    profile = np.array([-loss(np.array([found[0], each, found[2]]), squares, y) for each in lengths])
    slopes = np.array([-value_and_gradient(np.array([found[0], each, found[2]]), squares, y)[1][1] for each in lengths])
    tangents = []
    for k in range(4, 40, 8):
        near = np.array([-0.15, 0.15])
        tangents.append(((0.8, 0.1, 0.1), lengths[k] + near, profile[k] + slopes[k] * near))
    save("gaussian_process.png", drawn([((0.1, 0.2, 0.7), lengths, profile), *tangents]), scale=2)

    # Self-check: the known parameters are recovered, and scikit-learn agrees.
    return 0 if distance < 3 and off < 1e-9 and np.max(np.abs(gradient)) < 1e-5 else 1


if __name__ == "__main__":
    sys.exit(main())
