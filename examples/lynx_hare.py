"""Lynx and hare: fits the Lotka-Volterra equations to the pelts that the Hudson's Bay Company bought from 1900 to 1920.

    hare' = alpha * hare - beta * hare * lynx
    lynx' = delta * hare * lynx - gamma * lynx

solved by the classical Runge-Kutta method in a plain loop. `mlirad.value_and_grad` differentiates through the loop, and
SciPy's BFGS does the rest. The misfit uses logarithms, because errors of counts are proportional to the counts; the
parameters are fitted as logarithms too, so they stay positive.

    python examples/lynx_hare.py
"""

import sys

import numpy as np
from scipy.optimize import minimize

import mlirad

# Thousands of pelts; one row a year from 1900.
PELTS = np.array(
    [
        # hare, lynx
        [30.0, 4.0],
        [47.2, 6.1],
        [70.2, 9.8],
        [77.4, 35.2],
        [36.3, 59.4],
        [20.6, 41.7],
        [18.1, 19.0],
        [21.4, 13.0],
        [22.0, 8.3],
        [25.4, 9.1],
        [27.1, 7.4],
        [40.3, 8.0],
        [57.0, 12.3],
        [76.6, 19.5],
        [52.3, 45.7],
        [19.5, 51.1],
        [11.2, 29.7],
        [7.6, 15.8],
        [14.6, 9.7],
        [16.2, 10.1],
        [24.7, 8.6],
    ]
)
STEPS_PER_YEAR = 20
NAMES = ("alpha", "beta", "delta", "gamma", "hare in 1900", "lynx in 1900")
GUESS = np.log(np.array([0.5, 0.02, 0.02, 0.9, 30.0, 4.0]))


def slopes(hare, lynx, rates):
    alpha, beta, delta, gamma = rates
    return alpha * hare - beta * hare * lynx, delta * hare * lynx - gamma * lynx


def runge_kutta_step(hare, lynx, rates, h):
    h1, l1 = slopes(hare, lynx, rates)
    h2, l2 = slopes(hare + 0.5 * h * h1, lynx + 0.5 * h * l1, rates)
    h3, l3 = slopes(hare + 0.5 * h * h2, lynx + 0.5 * h * l2, rates)
    h4, l4 = slopes(hare + h * h3, lynx + h * l3, rates)
    return hare + h / 6.0 * (h1 + 2.0 * h2 + 2.0 * h3 + h4), lynx + h / 6.0 * (l1 + 2.0 * l2 + 2.0 * l3 + l4)


def simulate(theta, years):
    """Pelts of `years` years, shape (years, 2), from the logarithms of rates and of the first year's numbers."""
    p = np.exp(theta)
    rates = (p[0], p[1], p[2], p[3])
    hare, lynx = p[4], p[5]
    pelts = np.zeros((years, 2))
    for year in range(years):
        pelts[year, 0] = hare
        pelts[year, 1] = lynx
        for _ in range(STEPS_PER_YEAR):
            hare, lynx = runge_kutta_step(hare, lynx, rates, 1.0 / STEPS_PER_YEAR)
    return pelts


def loss(theta):
    """Sum of squared differences of logarithms."""
    residuals = np.log(simulate(theta, PELTS.shape[0])) - np.log(PELTS)
    return np.sum(residuals * residuals)


def central_differences(f, x, h=1e-6):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2.0 * h) for e in np.eye(len(x))])


def main():
    fit = minimize(mlirad.value_and_grad(loss), GUESS, jac=True, method="BFGS")
    for name, value in zip(NAMES, np.exp(fit.x), strict=True):
        print(f"{name:>14s} {value:9.4f}")
    deviation = np.sqrt(fit.fun / PELTS.size)
    print(f"{fit.nit} iterations, {fit.nfev} gradients; standard deviation of the log-residuals {deviation:.3f}")

    # Self-check: the gradient agrees with central differences, it vanishes at the fit, and SciPy's Nelder-Mead, which
    # needs no gradient, finds the same rates with the loss in plain NumPy.
    exact, estimate = mlirad.grad(loss)(GUESS), central_differences(loss, GUESS)
    error = np.max(np.abs(exact - estimate)) / np.max(np.abs(estimate))
    slope = np.max(np.abs(central_differences(loss, fit.x)))
    expected = np.array([0.540159, 0.027165, 0.023695, 0.796386])
    distance = np.max(np.abs(np.exp(fit.x[:4]) - expected))
    print(
        f"gradient against central differences {error:.1e}; slope at the fit {slope:.1e}; rates off by {distance:.1e}"
    )
    return 0 if error < 1e-6 and slope < 1e-3 and distance < 1e-5 else 1


if __name__ == "__main__":
    sys.exit(main())
