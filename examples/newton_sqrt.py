"""Newton's square root: a `while` loop whose number of trips depends on the data, differentiated twice.

python examples/newton_sqrt.py
"""

import sys

import mlirad


def newton_sqrt(a, tolerance):
    x = a
    while abs(x * x - a) > tolerance:
        x = 0.5 * (x + a / x)
    return x


def main():
    root = mlirad.jit(newton_sqrt)
    derivative = mlirad.grad(newton_sqrt)
    second = mlirad.grad(derivative)
    worst = 0.0
    print("    a        sqrt    derivative        second")
    for a in (0.25, 2.0, 9.0, 1e4):
        # sqrt(a), 1/(2 sqrt(a)) and -1/(4 a sqrt(a)), in closed form
        exact = (a**0.5, 0.5 * a**-0.5, -0.25 * a**-1.5)
        found = (root(a, 1e-12 * a), derivative(a, 1e-12 * a), second(a, 1e-12 * a))
        print(f"{a:7g} {found[0]:11.6f} {found[1]:13.8f} {found[2]:13.4e}")
        worst = max([worst, *(abs(f - e) / abs(e) for f, e in zip(found, exact, strict=True))])
    print(f"largest relative difference from the closed forms: {worst:.1e}")
    return 0 if worst < 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())
