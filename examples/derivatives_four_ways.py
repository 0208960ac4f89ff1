"""The derivative of L(x) = exp(exp x + exp(x)^2) + sin(exp x + exp(x)^2) in four ways.

Numerically, symbolically, and automatically in forward and in reverse mode. The picture is the error over the step
size: differences have a best step, automatic differentiation needs none. docs/derivatives.md explains it.

    python examples/derivatives_four_ways.py
"""

import sys
from typing import Any

import numpy as np
from pictures.chart import log_log, save

import mlirad

EXACT = 555.9719679015084  # L'(0.5)


def L(x):
    a = np.exp(x)
    b = a * a
    c = a + b
    return np.exp(c) + np.sin(c)


# --- numerically: the error over the step size -------------------------------------------------------------------


def forward_difference(f, x, h):
    return (f(x + h) - f(x)) / h


def central_difference(f, x, h):
    return (f(x + h) - f(x - h)) / (2 * h)


def errors(difference, steps):
    """Relative errors at 0.5; at least one unit in the last place, as 0 has no logarithm."""
    return [max(abs(difference(L, 0.5, h) - EXACT) / EXACT, 2.0**-53) for h in steps]


# --- symbolically: expressions as trees --------------------------------------------------------------------------
# ("x",), a number, or (operator, operands...). Nothing is shared, as in a written formula.


def derivative(e):
    match e:
        case ("x",):
            return 1.0
        case ("+", a, b):
            return ("+", derivative(a), derivative(b))
        case ("-", a, b):
            return ("-", derivative(a), derivative(b))
        case ("*", a, b):
            return ("+", ("*", derivative(a), b), ("*", a, derivative(b)))
        case ("exp", a):
            return ("*", e, derivative(a))
        case ("sin", a):
            return ("*", ("cos", a), derivative(a))
        case _:
            return 0.0


def simplified(e):
    """Without sums with 0 and products with 0 or 1."""
    if not isinstance(e, tuple) or e == ("x",):
        return e
    operator, *operands = e
    operands = [simplified(each) for each in operands]
    match operator, operands:
        case ("+", [0.0, b]) | ("*", [1.0, b]):
            return b
        case ("+" | "-", [a, 0.0]) | ("*", [a, 1.0]):
            return a
        case ("*", [0.0, _] | [_, 0.0]):
            return 0.0
    return (operator, *operands)


def operations(e):
    return 1 + sum(map(operations, e[1:])) if isinstance(e, tuple) and e != ("x",) else 0


def value(e: Any, x: float) -> Any:
    if e == ("x",) or not isinstance(e, tuple):
        return x if e == ("x",) else e
    of = [value(each, x) for each in e[1:]]
    known = {"exp": np.exp, "sin": np.sin, "cos": np.cos, "+": np.add, "-": np.subtract, "*": np.multiply}
    return known[e[0]](*of)


def symbolic_L():
    a = ("exp", ("x",))
    c = ("+", a, ("*", a, a))
    return ("+", ("exp", c), ("sin", c))


def logistic(x, steps):
    """A program: the logistic map, step by step."""
    for _ in range(steps):
        x = 4.0 * x * (1.0 - x)
    return x


def symbolic_logistic(steps):
    x = ("x",)
    for _ in range(steps):
        x = ("*", ("*", 4.0, x), ("-", 1.0, x))
    return x


def steps_of_both_sweeps(steps):
    """How many steps the two sweeps of automatic differentiation have for the logistic map."""
    trace = mlirad.trace(logistic, 0.3, steps)
    return sum(1 + len(each.adjoints) for each in trace.steps)


def main():
    ways = {
        "central difference, h = 1e-5": central_difference(L, 0.5, 1e-5),
        "symbolic": value(simplified(derivative(symbolic_L())), 0.5),
        "automatic, forward mode": mlirad.jvp(L, (0.5,), (1.0,))[1],
        "automatic, reverse mode": mlirad.grad(L)(0.5),
    }
    for name, found in ways.items():
        print(f"{name:30} {found:.13f}   relative error {abs(found - EXACT) / EXACT:.1e}")

    steps = [10.0 ** (-k / 4) for k in range(4, 65)]
    curves = {"forward difference": forward_difference, "central difference": central_difference}
    drawn = [(name, steps, errors(difference, steps)) for name, difference in curves.items()]
    drawn.append(("automatic", [steps[0], steps[-1]], [max(abs(mlirad.grad(L)(0.5) - EXACT) / EXACT, 2.0**-53)] * 2))
    title = "The relative error of L'(0.5) over the step size"
    save("derivatives_four_ways.svg", log_log(title, "step size h", "relative error", drawn))
    best = [min(each) for _, _, each in drawn[:2]]

    print("\nlogistic map: operations in the formula of the value, of its derivative, and in both sweeps")
    for count in range(1, 8):
        formula = symbolic_logistic(count)
        swollen = operations(simplified(derivative(formula)))
        print(f"{count} steps {operations(formula):8} {swollen:8} {steps_of_both_sweeps(count):8}")
    slope = value(simplified(derivative(symbolic_logistic(6))), 0.3)
    worst = max(abs(ways[name] - EXACT) / EXACT for name in ways if not name.startswith("central"))
    worst = max(worst, abs(mlirad.grad(logistic)(0.3, 6) - slope) / abs(slope))
    print(f"best differences {best[0]:.0e} and {best[1]:.0e}, largest error of the other ways {worst:.0e}")
    return 0 if worst < 1e-13 and 1e-9 < best[0] < 1e-6 and 1e-13 < best[1] < 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())
