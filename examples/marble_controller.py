"""A controller learns to steer a marble through hills: the gradient through a simulation that stops at its own time.

The forces are gradients of a potential, which the simulation computes itself (`mlirad.grad` inside the loop). A small
network maps the marble's position and velocity to a thrust. The simulation ends when the marble crosses the finish;
when that happens depends on the network's weights. The last step is cut there, so time and place of the arrival have
derivatives. The loss adds the miss at the finish, the time and the spent thrust, for three starts.

The picture shows the tops of the hills in grey, and the marble's paths before learning in orange and after it in blue.

    python examples/marble_controller.py
"""

import sys

import numpy as np
from pictures.png import drawn, save
from pictures.progress import at_each_call, clear
from scipy.optimize import minimize

import mlirad

HILLS = np.array([[0.5, 0.15], [1.0, -0.3], [1.3, 0.4], [1.7, -0.05]])  # their tops
STARTS = np.array([-0.3, 0.05, 0.4])  # across, in front of the hills
FINISH, MARK = 2.2, 0.0  # the line to cross, and where
HIDDEN, H, FRICTION, LONGEST = 6, 0.02, 0.4, 20.0


def potential(place):
    """Hills, and walls on both sides."""
    height = 2.0 * place[1] ** 4
    for k in range(len(HILLS)):
        off = place - HILLS[k]
        height += 0.4 * np.exp(-20.0 * np.sum(off * off))
    return height


def thrust(weights, place, speed):
    """Two layers: 4 numbers in, 2 out. It always pushes forwards a little, so that the marble arrives."""
    first, second = weights[: HIDDEN * 5].reshape(HIDDEN, 5), weights[HIDDEN * 5 :].reshape(2, HIDDEN)
    seen = first[:, 0] + first[:, 1:3] @ place + first[:, 3:] @ speed
    push = second @ np.tanh(seen)
    push[0] += 0.5
    return push


def run(weights, start):
    """Time of the arrival, where it was across, what was spent on thrust, and how many steps it took."""
    place, speed, push = np.array([0.0, start]), np.zeros(2), np.zeros(2)
    before, time, spent, steps = place, 0.0, 0.0, 0
    while place[0] < FINISH and time < LONGEST:
        push = thrust(weights, place, speed)
        speed = speed + H * (push - FRICTION * speed - mlirad.grad(potential)(place))
        before, place = place, place + H * speed
        spent += H * np.sum(push * push)
        time += H
        steps += 1
    late = (place[0] - FINISH) / (place[0] - before[0])  # the part of the last step beyond the line
    return time - late * H, place[1] - late * (place[1] - before[1]), spent - late * H * np.sum(push * push), steps


def loss(weights):
    total = 0.0
    for start in STARTS:
        time, across, spent, _ = run(weights, start)
        total += 20.0 * (across - MARK) ** 2 + 0.1 * time + 0.05 * spent
    return total / len(STARTS)


slope_of_hills = mlirad.grad(potential)


def route(weights, start):
    """The places of a run, one after the other."""
    places, speed = [np.array([0.0, start])], np.zeros(2)
    while places[-1][0] < FINISH:
        push = thrust(weights, places[-1], speed)
        speed = speed + H * (push - FRICTION * speed - slope_of_hills(places[-1]))
        places.append(places[-1] + H * speed)
    return np.array(places)


def main():
    rng = np.random.default_rng(1)
    weights = 0.3 * rng.normal(size=HIDDEN * 7)
    value_and_gradient = mlirad.value_and_grad(loss)
    simulate, compiled = mlirad.jit(run), mlirad.jit(loss)

    # The gradient beside central differences along random directions.
    value, gradient = value_and_gradient(weights)
    worst = 0.0
    for _ in range(5):
        direction = rng.normal(size=weights.size)
        estimate = (compiled(weights + 1e-7 * direction) - compiled(weights - 1e-7 * direction)) / 2e-7
        worst = max(worst, abs(estimate - gradient @ direction) / np.linalg.norm(gradient))
    print(f"gradient off central differences by {worst:.1e}")

    bar = at_each_call(80, "controller")
    fit = minimize(value_and_gradient, weights, jac=True, method="BFGS", options={"maxiter": 80}, callback=bar)
    clear("controller")
    print(f"{fit.nit} iterations; loss {value:.3f} -> {fit.fun:.3f}")
    misses, counts = [], set()
    for start in STARTS:
        for name, chosen in (("before", weights), ("after", fit.x)):
            time, across, spent, steps = simulate(chosen, start)
            print(f"from {start:5.2f}, {name:6}: {across:6.3f} after {time:.3f} s, {steps} steps, thrust {spent:.2f}")
            counts.add(steps)
        misses.append(abs(across - MARK))

    around = np.linspace(0, 2 * np.pi, 60)
    curves = [((0.6, 0.6, 0.6), x + 0.1 * np.cos(around), y + 0.1 * np.sin(around)) for x, y in HILLS]
    for colour, chosen in (((0.9, 0.5, 0.1), weights), ((0.1, 0.2, 0.7), fit.x)):
        curves += [(colour, *route(chosen, start).T) for start in STARTS]
    save("marble_controller.png", drawn(curves), scale=2)

    # Self-check: the gradient is right, the marble reaches the mark, and the simulations stopped at different times.
    return 0 if worst < 1e-6 and max(misses) < 0.05 and len(counts) > 3 else 1


if __name__ == "__main__":
    sys.exit(main())
