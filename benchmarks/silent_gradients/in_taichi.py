"""The programs of `tests/support/silent_gradients.py` as Taichi's users write them: kernels on fields of doubles."""

import numpy as np
import taichi as ti

ti.init(arch=ti.cpu, default_fp=ti.f64, log_level=ti.ERROR)


def field(n: int):
    return ti.field(ti.f64, shape=n, needs_grad=True)


x = field(8)
out = ti.field(ti.f64, shape=(), needs_grad=True)
a = field(8)
b = field(8)
matrix = ti.field(ti.f64, shape=(2, 2), needs_grad=True)
count = ti.field(ti.i32, shape=())


@ti.kernel
def local_matrix():
    for _ in range(1):
        m = ti.Matrix.zero(ti.f64, 2, 2)
        for k in ti.static(range(4)):
            m[0, 0] = m[0, 0] + x[k] * x[k]
            m[1, 0] = m[1, 0] + m[0, 0] * x[k]
        out[None] += m[1, 0]


@ti.kernel
def copy_of_x():
    for i in range(4):
        a[i] = x[i]


@ti.kernel
def one_more():
    for i in range(3):
        a[i] = a[i] + 1.0


@ti.kernel
def total_of_a(n: int):
    for i in range(n):
        out[None] += a[i]


def add_one():
    copy_of_x()
    one_more()
    total_of_a(3)


@ti.kernel
def scaled(first: int, factor: float):
    for i in range(2):
        a[i] = factor * x[first + i]


def dead_writes():
    scaled(0, 2.0)
    scaled(2, 3.0)
    total_of_a(2)


@ti.kernel
def squared():
    for i in range(2):
        b[i] = a[i] * a[i]


@ti.kernel
def fill():
    for i in range(2):
        a[i] = 100.0


@ti.kernel
def total_of_b(n: int):
    for i in range(n):
        out[None] += b[i]


def overwritten_after_reading():
    copy_of_x()
    squared()
    fill()
    total_of_b(2)


@ti.kernel
def around_a_loop(n: int):
    for _ in range(1):
        before = x[0] * x[0]
        s = 0.0
        for k in range(n):
            s += x[k]
        out[None] += s * before


@ti.kernel
def sibling_loops():
    for _i in range(2):
        for _j in range(3):
            out[None] += x[0]
        for _k in range(3):
            out[None] += x[0] * out[None]


@ti.kernel
def inner():
    for i in range(5):
        for j in range(3):
            a[i] += x[j]


def inner_sums():
    inner()
    total_of_a(5)


@ti.kernel
def local_sum():
    for i in range(3):
        p = x[i]
        q = 0.0
        for _ in range(5):
            q += p
        a[i] = q


def local_sums():
    local_sum()
    total_of_a(3)


@ti.kernel
def carried_vector(n: int):
    for _i in range(1):
        v = ti.Vector([x[0], x[1], 1.0])
        for _j in range(n):
            v = ti.Vector([v[1] * v[2], v[0] + 0.5 * v[2], v[0] * v[1]])
        out[None] += v[0] + v[1] * v[2]


@ti.kernel
def prefixes(n: int):
    for i in range(n):
        if i == 0:
            a[i] = x[0]
        else:
            a[i] = a[i - 1] + x[0]


@ti.kernel
def last_of_a(n: int):
    out[None] += a[n - 1]


def prefix(n: int):
    prefixes(n)
    last_of_a(n)


@ti.kernel
def plus_one():
    for i in range(3):
        a[i] = x[i] + 1.0


@ti.kernel
def cosine():
    for i in range(3):
        a[i] = ti.cos(a[i])


def cosine_in_place():
    plus_one()
    cosine()
    total_of_a(3)


@ti.kernel
def repeat_until():
    for _ in range(1):
        result = x[0]
        running = True
        while running:
            result = result * x[0]
            if result > 10.0:
                running = False
        out[None] += result


def gradient(name: str, argument: np.ndarray, constants: tuple) -> np.ndarray:
    """The gradient of the tape. KeyError if the program is not written for Taichi."""
    program = globals()[name]
    for field_ in (x, a, b, out):
        field_.fill(0)
        field_.grad.fill(0)
    x.from_numpy(np.concatenate([argument, np.zeros(8 - len(argument))]))
    with ti.ad.Tape(loss=out):
        program(*constants)
    return x.grad.to_numpy()[: len(argument)]
