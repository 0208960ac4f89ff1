"""Logistic and Cox regression by Newton's method: exact Hessians of two log-likelihoods written as plain loops.

The logistic model is for damage to the O-rings of the space shuttle, by the temperature of 23 launches before
Challenger (Dalal, Fowlkes and Hoadley 1989). Cox's model is for the remission of 42 leukaemia patients, with 6-MP or a
placebo (Freireich and others 1963), by Efron's partial likelihood. Both results equal the coefficients of statsmodels.

    python examples/newton_regressions.py
"""

import sys

import numpy as np
from pictures.png import drawn, save

import mlirad

# Degrees Fahrenheit at the launch, and whether an O-ring was damaged.
DEGREES = [53, 57, 58, 63, 66, 67, 67, 67, 68, 69, 70, 70, 70, 70, 72, 73, 75, 75, 76, 76, 78, 79, 81]
TEMPERATURES = np.array(DEGREES, float)
DAMAGED = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0.0])

# Weeks in remission, negative if the patient was last seen in remission; the logarithm of the white blood cells.
DRUG = [
    *((6, 2.31), (6, 4.06), (6, 3.28), (7, 4.43), (10, 2.96), (13, 2.88), (16, 3.60), (22, 2.32), (23, 2.57)),
    *((-6, 3.20), (-9, 2.80), (-10, 2.70), (-11, 2.60), (-17, 2.16), (-19, 2.05), (-20, 2.01), (-25, 1.78)),
    *((-32, 2.20), (-32, 2.53), (-34, 1.47), (-35, 1.45)),
]
PLACEBO = [
    *((1, 2.80), (1, 5.00), (2, 4.91), (2, 4.48), (3, 4.01), (4, 4.36), (4, 2.42), (5, 3.49), (5, 3.97), (8, 3.52)),
    *((8, 3.05), (8, 2.32), (8, 3.26), (11, 3.49), (11, 2.12), (12, 1.50), (12, 3.06), (15, 2.30), (17, 2.95)),
    *((22, 2.73), (23, 1.97)),
]

# The results of statsmodels: GLM(family=Binomial()) for the O-rings, PHReg(ties="efron") for the patients.
STATSMODELS = np.array(
    [
        *(15.04290165, -0.23216274, 7.37863638, 0.10823652),
        *(1.57212515, 0.41239672),
        *(1.69089039, 1.38607553, 0.33589759, 0.42479839),
    ]
)


def logistic_loss(b, x, y):
    """Minus the log-likelihood of damage y at temperatures x."""
    total = 0.0
    for k in range(len(x)):
        score = b[0] + b[1] * x[k]
        total += np.logaddexp(0.0, score) - y[k] * score
    return total


def cox_loss(b, weeks, is_event, x):
    """Minus Efron's partial log-likelihood; patients by falling weeks, so that those at risk are all before."""
    total = 0.0
    at_risk = 0.0
    k = 0
    while k < len(weeks):
        tied, events, scores = 0.0, 0, 0.0
        now = weeks[k]
        while k < len(weeks) and weeks[k] == now:
            score = x[k] @ b
            at_risk += np.exp(score)
            if is_event[k]:
                tied += np.exp(score)
                events += 1
                scores += score
            k += 1
        for done in range(events):
            total += np.log(at_risk - done / events * tied)
        total -= scores
    return total


def newton(loss, b, *data):
    """The minimum, and the standard errors: the roots of the inverse Hessian's diagonal."""
    gradient, hessian = mlirad.grad(loss), mlirad.hessian(loss)
    steps, step = 0, np.full_like(b, np.inf)
    while np.max(np.abs(step)) > 1e-12 and steps < 30:
        step = np.linalg.solve(hessian(b, *data), gradient(b, *data))
        b = b - step
        steps += 1
    return b, np.sqrt(np.diag(np.linalg.inv(hessian(b, *data)))), steps


def patients():
    """Weeks, whether the remission ended, and (logarithm of white cells, is on placebo), by falling weeks."""
    rows = np.array([(*each, 0.0) for each in DRUG] + [(*each, 1.0) for each in PLACEBO])
    rows = rows[np.argsort(-np.abs(rows[:, 0]), kind="stable")]
    return np.abs(rows[:, 0]), rows[:, 0] > 0, rows[:, 1:]


def main():
    rings, ring_errors, steps = newton(logistic_loss, np.zeros(2), TEMPERATURES, DAMAGED)
    print(f"logistic, {steps} steps: {rings[0]:.6f} {rings[1]:.6f}, standard errors {ring_errors.round(4)}")
    weeks, is_event, x = patients()
    alone, alone_error, _ = newton(cox_loss, np.zeros(1), weeks, is_event, x[:, 1:].copy())
    print(f"Cox, treatment alone: {alone[0]:.6f}, standard error {alone_error.round(4)}")
    both, both_errors, steps = newton(cox_loss, np.zeros(2), weeks, is_event, x)
    print(f"Cox, {steps} steps: {both[0]:.6f} {both[1]:.6f}, standard errors {both_errors.round(4)}")

    degrees = np.linspace(31, 85, 200)
    curve = 1 / (1 + np.exp(-(rings[0] + rings[1] * degrees)))
    spots = [
        ((0.8, 0.1, 0.1), np.array([t - 0.3, t + 0.3]), np.array([d, d]))
        for t, d in zip(TEMPERATURES, DAMAGED, strict=True)
    ]
    save("newton_regressions.png", drawn([((0.1, 0.2, 0.7), degrees, curve), *spots]), scale=2)

    # Self-check: the coefficients and standard errors of statsmodels, which are the published ones.
    found = np.array([*rings, *ring_errors, *alone, *alone_error, *both, *both_errors])
    error = np.max(np.abs(found - STATSMODELS))
    print(f"off from the coefficients of statsmodels by {error:.1e}")
    return 0 if error < 1e-6 else 1


if __name__ == "__main__":
    sys.exit(main())
