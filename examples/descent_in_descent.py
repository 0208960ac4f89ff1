"""The derivative of a gradient descent whose objective runs a gradient descent, in forward and reverse mode.

Gradient descent fits a polynomial to noisy samples; a step that helps grows, and one that does not is halved. A second
descent of the same kind chooses the penalty for large coefficients, so that the fit is good at other points. Both stop
when they hardly move. How does that penalty depend on the stretch of the samples? The derivatives of the objectives and
of the outcome can each be taken in either mode: four programs, one number.

    python examples/descent_in_descent.py
"""

import sys

import numpy as np

import mlirad

DEGREE, SAMPLES = 4, 12
TOLERANCE = 1e-4  # a descent stops when it moves by less


def descent(f, derivative, x):
    """Where f is small: gradient descent from x on, with steps that adapt. And how many it took."""
    slope = derivative(f)
    rate, value, moved, steps = 0.1, np.inf, 1.0, 0
    while moved > TOLERANCE:
        trial = x - rate * slope(x)
        there = f(trial)
        if there <= value:
            moved = np.max(np.abs(trial - x))
            x, value, rate = trial, there, 1.2 * rate
        else:
            rate *= 0.5
        steps += 1
    return x, steps


def polynomial(coefficients, t):
    y = np.zeros_like(t)
    for k in range(DEGREE, -1, -1):
        y = y * t + coefficients[k]
    return y


def study(stretch, t, y, others, their_y, derivative):
    """The logarithm of the cost of coefficients that the outer descent finds, and how many steps it took."""

    def misfit(coefficients, cost):
        errors = polynomial(coefficients, t) - stretch * y
        return np.mean(errors * errors) + cost * np.sum(coefficients * coefficients)

    def validation(logarithm):
        cost = np.exp(logarithm)
        fit, _ = descent(lambda each: misfit(each, cost), derivative, np.zeros(DEGREE + 1))
        errors = polynomial(fit, others) - their_y
        return np.mean(errors * errors)

    return descent(validation, derivative, -3.0)


def main():
    rng = np.random.default_rng(0)
    t, others = np.linspace(-1.0, 1.0, SAMPLES), np.linspace(-0.9, 0.9, SAMPLES)
    y = np.sin(2.0 * t) + 0.3 * rng.normal(size=SAMPLES)
    data = t, y, others, np.sin(2.0 * others)

    outcome = mlirad.jit(lambda stretch: study(stretch, *data, mlirad.grad))
    found, steps = outcome(1.2)
    print(f"after {steps} steps, each of two descents inside, coefficients cost {np.exp(found):.4f}")

    modes = {"reverse": mlirad.grad, "forward": mlirad.jacfwd}
    slopes = {}
    for inner, derivative in modes.items():
        for outer, of_the_outcome in modes.items():
            slope = of_the_outcome(lambda stretch, how=derivative: study(stretch, *data, how)[0])(1.2)
            slopes[inner, outer] = slope
            print(f"objectives in {inner} mode, outcome in {outer} mode: {slope:.9f}")

    # Self-check: the four agree with differences of the program, which takes the same number of steps on both sides.
    difference = (outcome(1.2 + 1e-6)[0] - outcome(1.2 - 1e-6)[0]) / 2e-6
    error = max(abs(each - difference) for each in slopes.values())
    print(f"central differences: {difference:.9f}; off by {error:.1e} at most")
    return 0 if error < 1e-6 * abs(difference) else 1


if __name__ == "__main__":
    sys.exit(main())
