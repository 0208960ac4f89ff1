"""Lynx and hare again, with steps of adaptive length: Dormand and Prince's pair of orders 5 and 4.

A step is repeated with a shorter length until its estimated error is small enough: the number of tries, and so of trips
of the `while` loop, is not known in advance. `mlirad.value_and_grad` differentiates through it, including the step
sizes.

    python examples/lynx_hare_adaptive.py
"""

import sys

import numpy as np
from lynx_hare import GUESS, NAMES, PELTS, central_differences, slopes
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

import mlirad

RELATIVE, ABSOLUTE = 1e-8, 1e-8  # the error of an accepted step, relative to the populations, and in thousands


def try_step(hare, lynx, rates, h):
    """The populations after a step of h years, and its error in parts of what is accepted.

    The coefficients: Dormand and Prince, J. Comp. Appl. Math. 6 (1980), 19-26, table 2.
    """
    h1, l1 = slopes(hare, lynx, rates)
    h2, l2 = slopes(hare + h * (h1 / 5), lynx + h * (l1 / 5), rates)
    h3, l3 = slopes(hare + h * (3 / 40 * h1 + 9 / 40 * h2), lynx + h * (3 / 40 * l1 + 9 / 40 * l2), rates)
    h4, l4 = slopes(
        hare + h * (44 / 45 * h1 - 56 / 15 * h2 + 32 / 9 * h3),
        lynx + h * (44 / 45 * l1 - 56 / 15 * l2 + 32 / 9 * l3),
        rates,
    )
    h5, l5 = slopes(
        hare + h * (19372 / 6561 * h1 - 25360 / 2187 * h2 + 64448 / 6561 * h3 - 212 / 729 * h4),
        lynx + h * (19372 / 6561 * l1 - 25360 / 2187 * l2 + 64448 / 6561 * l3 - 212 / 729 * l4),
        rates,
    )
    h6, l6 = slopes(
        hare + h * (9017 / 3168 * h1 - 355 / 33 * h2 + 46732 / 5247 * h3 + 49 / 176 * h4 - 5103 / 18656 * h5),
        lynx + h * (9017 / 3168 * l1 - 355 / 33 * l2 + 46732 / 5247 * l3 + 49 / 176 * l4 - 5103 / 18656 * l5),
        rates,
    )
    new_hare = hare + h * (35 / 384 * h1 + 500 / 1113 * h3 + 125 / 192 * h4 - 2187 / 6784 * h5 + 11 / 84 * h6)
    new_lynx = lynx + h * (35 / 384 * l1 + 500 / 1113 * l3 + 125 / 192 * l4 - 2187 / 6784 * l5 + 11 / 84 * l6)
    h7, l7 = slopes(new_hare, new_lynx, rates)
    off_hare = 71 / 57600 * h1 - 71 / 16695 * h3 + 71 / 1920 * h4 - 17253 / 339200 * h5 + 22 / 525 * h6 - h7 / 40
    off_lynx = 71 / 57600 * l1 - 71 / 16695 * l3 + 71 / 1920 * l4 - 17253 / 339200 * l5 + 22 / 525 * l6 - l7 / 40
    hare_error = h * off_hare / (ABSOLUTE + RELATIVE * max(abs(hare), abs(new_hare)))
    lynx_error = h * off_lynx / (ABSOLUTE + RELATIVE * max(abs(lynx), abs(new_lynx)))
    return new_hare, new_lynx, np.sqrt(0.5 * (hare_error * hare_error + lynx_error * lynx_error))


def simulate(theta, years):
    """Pelts of `years` years, shape (years, 2), the steps tried and those rejected."""
    p = np.exp(theta)
    rates = (p[0], p[1], p[2], p[3])
    hare, lynx = p[4], p[5]
    pelts = np.zeros((years, 2))
    pelts[0, 0] = hare
    pelts[0, 1] = lynx
    h = 0.05
    tried, rejected = 0, 0
    for year in range(1, years):
        left = 1.0
        while left > 0.0:
            h = min(h, left)
            while True:
                tried += 1
                new_hare, new_lynx, error = try_step(hare, lynx, rates, h)
                if error <= 1.0:
                    break
                rejected += 1
                h *= max(0.2, 0.9 * error**-0.2)
            hare, lynx = new_hare, new_lynx
            left -= h
            if left < 1e-12:
                break
            h *= min(5.0, 0.9 * (error + 1e-10) ** -0.2)
        pelts[year, 0] = hare
        pelts[year, 1] = lynx
    return pelts, tried, rejected


def loss(theta):
    """Sum of squared differences of logarithms."""
    pelts, _, _ = simulate(theta, PELTS.shape[0])
    residuals = np.log(pelts) - np.log(PELTS)
    return np.sum(residuals * residuals)


def reference(theta, years):
    """SciPy's solver, with tighter tolerances."""
    p = np.exp(theta)
    years_asked = np.arange(years)
    solution = solve_ivp(
        lambda _, y: slopes(y[0], y[1], p[:4]), (0, years - 1), p[4:], t_eval=years_asked, rtol=1e-11, atol=1e-11
    )
    return solution.y.T


def main():
    fit = minimize(mlirad.value_and_grad(loss), GUESS, jac=True, method="BFGS")
    for name, value in zip(NAMES, np.exp(fit.x), strict=True):
        print(f"{name:>14s} {value:9.4f}")
    pelts, tried, rejected = mlirad.jit(simulate)(fit.x, PELTS.shape[0])
    print(f"{fit.nit} iterations, {fit.nfev} gradients; {tried} steps tried at the fit, {rejected} of them rejected")

    # Self-check: the populations agree with SciPy's solver, the gradient with central differences, and the rates
    # with the fit with steps of fixed length (examples/lynx_hare.py).
    solver = np.max(np.abs(pelts / reference(fit.x, PELTS.shape[0]) - 1.0))
    exact, estimate = mlirad.grad(loss)(GUESS), central_differences(loss, GUESS)
    error = np.max(np.abs(exact - estimate)) / np.max(np.abs(estimate))
    expected = np.array([0.540159, 0.027165, 0.023695, 0.796386])
    distance = np.max(np.abs(np.exp(fit.x[:4]) - expected))
    print(f"populations off SciPy's solver by {solver:.1e}; gradient off central differences by {error:.1e}")
    print(f"rates off the fit with fixed steps by {distance:.1e}")
    return 0 if rejected > 0 and solver < 1e-6 and error < 1e-5 and distance < 1e-4 else 1


if __name__ == "__main__":
    sys.exit(main())
