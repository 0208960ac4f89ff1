"""An inverse heat problem: what was the temperature of a bar, if four thermometers have measured how it cooled?

    du/dt = d/dx (k(u) du/dx),   k(u) = 1 + u^2 / 4,   u = 0 at both ends

by 4,000 explicit steps in place. The gradient of the misfit needs the states of all steps, backwards. Storing them
takes memory in proportion to the steps; `mlirad.checkpointed` keeps a few of them and recomputes the others.

    python examples/inverse_heat.py
"""

import sys

import numpy as np
from scipy.optimize import minimize

import mlirad

CELLS, STEPS, EVERY = 200, 4000, 50  # the thermometers are read every so many steps
H = 1.0 / CELLS
DT = 0.1 * H * H  # stable as long as k(u) stays below 5
PLACES = np.array([20, 60, 110, 170])
TRUTH = np.array([0.7, -0.4, 0.3, 0.2, -0.15])  # of the first sine waves, what the bar began with


def initial(amplitudes):
    x = H * np.arange(CELLS + 1)
    u = np.zeros(CELLS + 1)
    for k in range(len(amplitudes)):
        u += amplitudes[k] * np.sin((k + 1) * np.pi * x)
    u[0] = 0.0
    u[CELLS] = 0.0
    return u


def advance(u):
    """One step, in place."""
    between = 1.0 + 0.0625 * (u[1:] + u[:-1]) ** 2
    flux = between * (u[1:] - u[:-1]) / H
    u[1:-1] += DT * (flux[1:] - flux[:-1]) / H


def measurements(amplitudes):
    """What the thermometers tell, (readings, thermometers)."""
    measured = np.zeros((STEPS // EVERY, len(PLACES)))
    u = initial(amplitudes)
    for t in range(STEPS):
        if t % EVERY == 0:
            for j in range(len(PLACES)):
                measured[t // EVERY, j] = u[PLACES[j]]
        advance(u)
    return measured


def misfit(u, measured):
    total = 0.0
    for j in range(len(PLACES)):
        total += (u[PLACES[j]] - measured[j]) ** 2
    return total


def loss(amplitudes, measured):
    total = 0.0
    u = initial(amplitudes)
    for t in range(STEPS):
        if t % EVERY == 0:
            total += misfit(u, measured[t // EVERY])
        advance(u)
    return total


def checkpointed_loss(how):
    """The same loss, its loop checkpointed so."""

    def loss(amplitudes, measured):
        total = 0.0
        u = initial(amplitudes)
        for t in mlirad.checkpointed(range(STEPS), how):
            if t % EVERY == 0:
                total += misfit(u, measured[t // EVERY])
            advance(u)
        return total

    return loss


def main():
    measured = mlirad.jit(measurements)(TRUTH)
    start = np.zeros(len(TRUTH))

    kernels = {"every state kept": mlirad.grad(loss)}
    for how in ("sqrt", "binomial", 8):
        kernels[f"checkpointed, {how!r}"] = mlirad.grad(checkpointed_loss(how))
    gradients, memory = [], []
    for name, gradient in kernels.items():
        gradients.append(gradient(start, measured))
        memory.append(gradient.last_memory())
        print(f"memory of a gradient, {name:24s} {memory[-1] / 2**20:7.2f} MiB")

    value_and_gradient = mlirad.value_and_grad(checkpointed_loss("binomial"))
    bounds = [(-0.8, 0.8)] * len(start)  # within, |u| is at most 4, and the steps are stable
    options = {"ftol": 1e-15, "gtol": 1e-9}
    fit = minimize(value_and_gradient, start, (measured,), "L-BFGS-B", jac=True, bounds=bounds, options=options)
    print(f"{fit.nit} iterations, {fit.nfev} gradients; misfit {fit.fun:.1e}")
    print("found   " + " ".join(f"{a:8.4f}" for a in fit.x))
    print("truth   " + " ".join(f"{a:8.4f}" for a in TRUTH))

    # Self-check: the gradients agree with one another and with central differences, and the truth is found.
    differ = max(np.max(np.abs(g - gradients[0])) for g in gradients) / np.max(np.abs(gradients[0]))
    compiled = mlirad.jit(loss)
    steps = 1e-5 * np.eye(len(start))
    estimate = np.array([(compiled(start + e, measured) - compiled(start - e, measured)) / 2e-5 for e in steps])
    error = np.max(np.abs(estimate - gradients[0])) / np.max(np.abs(estimate))
    distance = np.max(np.abs(fit.x - TRUTH))
    print(f"gradients differ by {differ:.1e}, from central differences by {error:.1e}; truth off by {distance:.1e}")
    saved = 4 * max(memory[1:]) < memory[0]
    return 0 if saved and differ < 1e-12 and error < 1e-6 and distance < 1e-3 else 1


if __name__ == "__main__":
    sys.exit(main())
