"""A chain of masses and springs that falls on the floor: the gradient through every `if` of its contacts.

Eight masses, neighbours joined by springs with damping, fall and bounce on a floor that pushes back only where it is
touched (Hunt and Crossley's law: the force starts at zero, so the loss has a derivative). The stiffness of each spring
and the speed of the throw are fitted so that the chain's end reaches a mark. The picture shows the chain at twelve
times, from orange to blue; the floor is grey.

    python examples/bouncing_springs.py
"""

import sys

import numpy as np
from pictures.png import drawn, save
from pictures.progress import at_each_call, clear
from scipy.optimize import minimize

import mlirad

MASSES, STEPS, H = 8, 2000, 5e-4  # the time step in seconds
GRAVITY, FLOOR, LOSS, SPRING_DAMPING = 9.81, 5e3, 0.3, 2.0  # m/s2, N/m, s/m, N s/m
LENGTH = 0.1  # length of a spring at rest, in metres; every mass is 1 kg
MARK = 1.9  # the goal of the last mass, in metres


def simulate(stiffness, throw, steps=STEPS):
    """Positions after the last step, shape (MASSES, 2), in metres, and how often a mass touched the floor.

    stiffness: (MASSES - 1,), N/m. throw: the initial speed of all masses, (2,), m/s.
    """
    place = np.zeros((MASSES, 2))
    speed = np.zeros((MASSES, 2))
    for i in range(MASSES):
        place[i, 0] = LENGTH * i
        place[i, 1] = 0.5 + 0.02 * i
        speed[i] = throw
    force = np.zeros((MASSES, 2))
    touches = 0
    for _ in range(steps):
        for i in range(MASSES):
            force[i, 0] = 0.0
            force[i, 1] = -GRAVITY
            if place[i, 1] < 0.0:
                push = -FLOOR * place[i, 1] * (1.0 - LOSS * speed[i, 1])
                if push > 0.0:
                    force[i, 1] += push
                    force[i, 0] -= 0.5 * push * np.tanh(50.0 * speed[i, 0])
                    touches += 1
        for i in range(MASSES - 1):
            along = place[i + 1] - place[i]
            now = np.sqrt(along[0] * along[0] + along[1] * along[1])
            along = along / now
            closing = np.sum((speed[i + 1] - speed[i]) * along)
            pull = (stiffness[i] * (now - LENGTH) + SPRING_DAMPING * closing) * along
            force[i] += pull
            force[i + 1] -= pull
        speed += H * force
        place += H * speed
    return place, touches


def loss(logarithms, throw):
    """The squared distance of the last mass from the mark, and a little for a stiffness far from 500 N/m."""
    place, _ = simulate(500.0 * np.exp(logarithms), throw)
    return (place[-1, 0] - MARK) ** 2 + 1e-4 * np.sum(logarithms * logarithms)


def of_vector(x):
    return loss(x[: MASSES - 1], x[MASSES - 1 :])


def main():
    start = np.concatenate([np.zeros(MASSES - 1), np.array([0.4, 1.0])])
    value_and_gradient = mlirad.value_and_grad(of_vector)
    bar = at_each_call(100, "throw")
    fit = minimize(value_and_gradient, start, jac=True, method="BFGS", options={"maxiter": 100}, callback=bar)
    clear("throw")
    place, touches = mlirad.jit(simulate)(500.0 * np.exp(fit.x[: MASSES - 1]), fit.x[MASSES - 1 :])
    print(f"{fit.nit} iterations; loss {value_and_gradient(start)[0]:.4f} -> {fit.fun:.1e}")
    print(f"the last mass comes to {place[-1, 0]:.3f} m, the mark is at {MARK} m")
    print(f"{touches} contacts of a mass with the floor in {STEPS} steps")

    moved, curves = mlirad.jit(simulate), [((0.6, 0.6, 0.6), np.array([0.0, 2.0]), np.zeros(2))]
    for share in np.linspace(0.0, 1.0, 12):
        chain, _ = moved(500.0 * np.exp(fit.x[: MASSES - 1]), fit.x[MASSES - 1 :], int(share * STEPS))
        curves.append(((0.9 - 0.8 * share, 0.5 - 0.3 * share, 0.1 + 0.6 * share), chain[:, 0], chain[:, 1]))
    save("bouncing_springs.png", drawn(curves), scale=2)

    # Self-check: the gradient agrees with central differences along random directions, and the mark is reached.
    rng = np.random.default_rng(0)
    compiled = mlirad.jit(of_vector)
    gradient = value_and_gradient(start)[1]
    worst = 0.0
    for _ in range(5):
        direction = rng.normal(size=start.size)
        estimate = (compiled(start + 1e-6 * direction) - compiled(start - 1e-6 * direction)) / 2e-6
        worst = max(worst, abs(estimate - gradient @ direction) / np.linalg.norm(gradient))
    print(f"gradient off central differences by {worst:.1e}")
    miss = abs(place[-1, 0] - MARK)
    return 0 if touches > 100 and worst < 1e-6 and miss < 0.01 else 1


if __name__ == "__main__":
    sys.exit(main())
