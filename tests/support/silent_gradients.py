"""Programs whose gradients other systems computed wrongly without an error, from their public issue trackers, in NumPy.

Each shows the bug of a report, written as a NumPy user would write it, without code from the report.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Function = Callable[..., object]


@dataclass(frozen=True)
class Program:
    """A scalar function of the array `x` and constants; `about` says what went wrong elsewhere."""

    function: Function
    report: str
    about: str
    x: np.ndarray
    constants: tuple[object, ...] = ()

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def address(self) -> str:
        """The page of the report."""
        repository, number = self.report.split("#")
        return f"https://github.com/{repository}/issues/{number}"


PROGRAMS: list[Program] = []


def reported(report: str, about: str, x: list[float], *constants: object) -> Callable[[Function], Function]:
    """Adds the function to PROGRAMS."""

    def add(function: Function) -> Function:
        PROGRAMS.append(Program(function, report, about, np.array(x), constants))
        return function

    return add


@reported("NVIDIA/warp#1697", "an element of a small local matrix is read and written again", [0.5, 1.5, -0.7, 2.0])
def local_matrix(x):
    m = np.zeros((2, 2))
    for k in range(4):
        m[0, 0] = m[0, 0] + x[k] * x[k]
        m[1, 0] = m[1, 0] + m[0, 0] * x[k]
    return m[1, 0]


@reported("NVIDIA/warp#1294", "elements of an array are read and written in place", [1.0, 2.0, 3.0])
def add_one(x):
    a = x.copy()
    for i in range(a.shape[0]):
        a[i] = a[i] + 1.0
    return np.sum(a)


@reported("NVIDIA/warp#1062", "an array is overwritten: what was in it before has no derivative", [1.0, 2.0, 3.0, 4.0])
def dead_writes(x):
    y = np.zeros(2)
    for i in range(2):
        y[i] = 2.0 * x[i]
    for i in range(2):
        y[i] = 3.0 * x[2 + i]
    return np.sum(y)


@reported("NVIDIA/warp#1350", "an array is overwritten after it was read", [3.0, -2.0])
def overwritten_after_reading(x):
    a = x.copy()
    y = a * a
    a[:] = 100.0
    return np.sum(y)


@reported("NVIDIA/warp#1728", "a copy is written, its source is read again", [1.0, 2.0, 3.0, 4.0])
def copied(x):
    y = x.copy()
    y *= 2.0
    return np.sum(y) + np.sum(x * x)


@reported(
    "NVIDIA/warp#1694", "a variable from before a loop of unknown length is used after it", [3.0, 1.0, 2.0, 4.0], 3
)
def around_a_loop(x, n):
    b = x[0] * x[0]
    total = 0.0
    for k in range(n):
        total += x[k]
    return total * b


@reported(
    "NVIDIA/warp#1293",
    "loops of unknown length inside of each other, and values carried by both: a chain of bodies with joints",
    [0.3, -0.2, 0.7, 0.1, 0.5],
    np.array([-1, 0, 1]),
    np.array([0, 2, 3]),
    np.array([2, 1, 2]),
)
def joints(x, parents, first_joints, joint_counts):
    angle, px, py = np.zeros(3), np.zeros(3), np.zeros(3)
    for body in range(3):
        turned, left, up = 0.0, 0.0, 0.0
        if parents[body] >= 0:
            turned, left, up = angle[parents[body]], px[parents[body]], py[parents[body]]
        for j in range(joint_counts[body]):
            turned = turned + x[first_joints[body] + j]
            left, up = left + np.cos(turned), up + np.sin(turned) * left
        angle[body], px[body], py[body] = turned, left, up
    return px[2] * py[2]


@reported(
    "NVIDIA/warp#1552",
    "`continue` in a search for the largest",
    [1.0, -1.0],
    np.array([[0.0, 1.0], [0.5, 0.0], [-2.0, 0.3]]),
)
def largest(x, weights):
    total = 0.0
    for i in range(2):
        best = -1e20
        for p in range(3):
            for q in range(2):
                if weights[p, q] == 0.0:
                    continue
                value = x[i] * weights[p, q] * (p + q + 2.0)
                if value <= best:
                    continue
                best = value
        total += best
    return total


@reported("taichi-dev/taichi#3003", "two loops, one after the other, inside of a loop", [2.0])
def sibling_loops(x):
    y = 0.0
    for _ in range(2):
        for _ in range(3):
            y += x[0]
        for _ in range(3):
            y += x[0] * y
    return y


@reported("taichi-dev/taichi#8356", "an inner loop adds to an element of an array", [1.0, 2.0, 3.0])
def inner_sums(x):
    a = np.zeros(5)
    for i in range(5):
        for j in range(3):
            a[i] += x[j]
    return np.sum(a)


@reported("taichi-dev/taichi#4412", "an inner loop adds to a local variable", [1.0, 2.0, 3.0])
def local_sums(x):
    f = np.zeros(3)
    for i in range(3):
        p = x[i]
        q = 0.0
        for _ in range(5):
            q += p
        f[i] = q
    return np.sum(f)


@reported(
    "Genesis-Embodied-AI/quadrants#797", "a vector that a loop carries is made of its own components", [0.4, 1.2], 4
)
def carried_vector(x, n):
    v = np.array([x[0], x[1], 1.0])
    for _ in range(n):
        v = np.array([v[1] * v[2], v[0] + 0.5 * v[2], v[0] * v[1]])
    return v[0] + v[1] * v[2]


@reported(
    "Genesis-Embodied-AI/quadrants#590", "each element of an array is made of the one before, in a function", [0.8], 6
)
def prefix(x, n):
    out = np.zeros(n)

    def body():
        for i in range(n):
            if i == 0:
                out[i] = x[0]
            else:
                out[i] = out[i - 1] + x[0]

    body()
    return out[n - 1]


@reported("Oneflow-Inc/oneflow#6200", "a function is applied in place", [0.1, 0.5, 0.3])
def cosine_in_place(x):
    y = x + 1.0
    np.cos(y, out=y)
    return np.sum(y)


@reported(
    "PaddlePaddle/Paddle#33907", "an element is assigned: the other elements keep their derivatives", [1.0, 2.0, 5.0]
)
def assigned_element(x):
    a = x[:2] + 1.0
    a[0] = x[2]
    return np.sum(a * 2.0)


@reported("pytorch/pytorch#67800", "a transposed view is multiplied in place, twice", [0.3, 1.1, -0.4, 0.9])
def transposed_view(x):
    base = np.arange(1.0, 5.0).reshape(2, 2)
    view = base.T
    view *= x.reshape(2, 2)
    view *= 2.0
    return np.sum(base * np.array([[1.0, 2.0], [3.0, 4.0]]))


@reported("pytorch/pytorch#136662", "an array is written through a view, copied, and written again", [0.5, 1.5, 2.5])
def view_of_a_copy(x):
    a = np.ones((2, 3))
    a[:, 0] = x[:2]
    d = a.copy()
    column = d[:, 0]
    before = column.copy()
    column[:] = x[2] * before
    return np.sum(d * a) + np.sum(before * before)


@reported("pytorch/pytorch#180772", "a slice of an array is replaced", [1.0, 2.0, 3.0, 4.0, 5.0])
def replaced_slice(x):
    y = x.copy()
    y[0:2] = x[3:] * x[3:]
    return np.sum(y)


@reported("pytorch/pytorch#36608", "a view of a row is multiplied in place", [1.0, 2.0, 3.0, 4.0])
def row_in_place(x):
    rows = (x * 1.0).reshape(2, 2)
    first = rows[0]
    part = first[:1]
    part *= 2.0
    return np.sum(first * first) + np.sum(rows[1])


@reported("swiftlang/swift#78264", "a loop that ends by its data, and runs at least once", [1.7])
def repeat_until(x):
    result = x[0]
    while True:
        result = result * x[0]
        if result > 10.0:
            break
    return result
