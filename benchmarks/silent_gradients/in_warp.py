"""The programs of `tests/support/silent_gradients.py` as Warp's users write them: kernels on arrays of doubles."""

import numpy as np
import warp as wp

wp.config.quiet = True
D = wp.array(dtype=wp.float64)
D2 = wp.array2d(dtype=wp.float64)
I1 = wp.array(dtype=wp.int32)
mat22 = wp.types.matrix(shape=(2, 2), dtype=wp.float64)
vec3 = wp.types.vector(length=3, dtype=wp.float64)
f64 = wp.float64


@wp.kernel
def total(a: D, out: D):
    wp.atomic_add(out, 0, a[wp.tid()])


@wp.kernel
def local_matrix(x: D, out: D):
    m = mat22()
    for k in range(4):
        m[0, 0] = m[0, 0] + x[k] * x[k]
        m[1, 0] = m[1, 0] + m[0, 0] * x[k]
    out[0] = m[1, 0]


@wp.kernel
def one_more(a: D):
    i = wp.tid()
    a[i] = a[i] + f64(1.0)


def add_one(x: wp.array, out: wp.array) -> None:
    a = wp.zeros(3, dtype=wp.float64, requires_grad=True)
    wp.copy(a, x)
    wp.launch(one_more, dim=3, inputs=[a])
    wp.launch(total, dim=3, inputs=[a, out])


@wp.kernel
def scaled(x: D, first: int, factor: wp.float64, y: D):
    i = wp.tid()
    y[i] = factor * x[first + i]


def dead_writes(x: wp.array, out: wp.array) -> None:
    y = wp.zeros(2, dtype=wp.float64, requires_grad=True)
    wp.launch(scaled, dim=2, inputs=[x, 0, 2.0, y])
    wp.launch(scaled, dim=2, inputs=[x, 2, 3.0, y])
    wp.launch(total, dim=2, inputs=[y, out])


@wp.kernel
def squared(a: D, y: D):
    i = wp.tid()
    y[i] = a[i] * a[i]


@wp.kernel
def fill(a: D):
    a[wp.tid()] = f64(100.0)


def overwritten_after_reading(x: wp.array, out: wp.array) -> None:
    a = wp.zeros(2, dtype=wp.float64, requires_grad=True)
    y = wp.zeros(2, dtype=wp.float64, requires_grad=True)
    wp.copy(a, x)
    wp.launch(squared, dim=2, inputs=[a, y])
    wp.launch(fill, dim=2, inputs=[a])
    wp.launch(total, dim=2, inputs=[y, out])


@wp.kernel
def doubled(a: D):
    i = wp.tid()
    a[i] = a[i] * f64(2.0)


def copied(x: wp.array, out: wp.array) -> None:
    a = wp.zeros(4, dtype=wp.float64, requires_grad=True)
    y = wp.zeros(4, dtype=wp.float64, requires_grad=True)
    wp.copy(a, x)
    wp.launch(doubled, dim=4, inputs=[a])
    wp.launch(total, dim=4, inputs=[a, out])
    wp.launch(squared, dim=4, inputs=[x, y])
    wp.launch(total, dim=4, inputs=[y, out])


@wp.kernel
def loop_between(x: D, n: int, out: D):
    b = x[0] * x[0]
    s = f64(0.0)
    for k in range(n):
        s += x[k]
    out[0] = s * b


def around_a_loop(x: wp.array, out: wp.array, n: int) -> None:
    wp.launch(loop_between, dim=1, inputs=[x, n, out])


@wp.kernel
def chain(x: D, parents: I1, first: I1, counts: I1, angle: D, px: D, py: D, out: D):
    for body in range(counts.shape[0]):
        turned = f64(0.0)
        left = f64(0.0)
        up = f64(0.0)
        if parents[body] >= 0:
            turned = angle[parents[body]]
            left = px[parents[body]]
            up = py[parents[body]]
        for j in range(counts[body]):
            turned = turned + x[first[body] + j]
            before = left
            left = left + wp.cos(turned)
            up = up + wp.sin(turned) * before
        angle[body] = turned
        px[body] = left
        py[body] = up
    out[0] = px[2] * py[2]


def joints(x: wp.array, out: wp.array, parents: np.ndarray, first: np.ndarray, counts: np.ndarray) -> None:
    state = [wp.zeros(3, dtype=wp.float64, requires_grad=True) for _ in range(3)]
    indices = [wp.array(a.astype(np.int32), dtype=wp.int32) for a in (parents, first, counts)]
    wp.launch(chain, dim=1, inputs=[x, *indices, *state, out])


@wp.kernel
def search(x: D, weights: D2, out: D):
    i = wp.tid()
    best = f64(-1e20)
    for p in range(3):
        for q in range(2):
            if weights[p, q] == f64(0.0):
                continue
            value = x[i] * weights[p, q] * f64(p + q + 2)
            if value <= best:
                continue
            best = value
    wp.atomic_add(out, 0, best)


def largest(x: wp.array, out: wp.array, weights: np.ndarray) -> None:
    wp.launch(search, dim=2, inputs=[x, wp.array(weights, dtype=wp.float64), out])


@wp.kernel
def sibling_loops(x: D, out: D):
    y = f64(0.0)
    for _i in range(2):
        for _j in range(3):
            y += x[0]
        for _k in range(3):
            y += x[0] * y
    out[0] = y


@wp.kernel
def inner(x: D, a: D):
    i = wp.tid()
    for j in range(3):
        a[i] += x[j]


def inner_sums(x: wp.array, out: wp.array) -> None:
    a = wp.zeros(5, dtype=wp.float64, requires_grad=True)
    wp.launch(inner, dim=5, inputs=[x, a])
    wp.launch(total, dim=5, inputs=[a, out])


@wp.kernel
def local_sum(x: D, f: D):
    i = wp.tid()
    p = x[i]
    q = f64(0.0)
    for _j in range(5):
        q += p
    f[i] = q


def local_sums(x: wp.array, out: wp.array) -> None:
    f = wp.zeros(3, dtype=wp.float64, requires_grad=True)
    wp.launch(local_sum, dim=3, inputs=[x, f])
    wp.launch(total, dim=3, inputs=[f, out])


@wp.kernel
def carry(x: D, n: int, out: D):
    v = vec3(x[0], x[1], f64(1.0))
    for _i in range(n):
        v = vec3(v[1] * v[2], v[0] + f64(0.5) * v[2], v[0] * v[1])
    out[0] = v[0] + v[1] * v[2]


def carried_vector(x: wp.array, out: wp.array, n: int) -> None:
    wp.launch(carry, dim=1, inputs=[x, n, out])


@wp.kernel
def prefixes(x: D, n: int, sums: D, out: D):
    for i in range(n):
        if i == 0:
            sums[i] = x[0]
        else:
            sums[i] = sums[i - 1] + x[0]
    out[0] = sums[n - 1]


def prefix(x: wp.array, out: wp.array, n: int) -> None:
    wp.launch(prefixes, dim=1, inputs=[x, n, wp.zeros(n, dtype=wp.float64, requires_grad=True), out])


@wp.kernel
def plus_one(x: D, y: D):
    i = wp.tid()
    y[i] = x[i] + f64(1.0)


@wp.kernel
def cosine(y: D):
    i = wp.tid()
    y[i] = wp.cos(y[i])


def cosine_in_place(x: wp.array, out: wp.array) -> None:
    y = wp.zeros(3, dtype=wp.float64, requires_grad=True)
    wp.launch(plus_one, dim=3, inputs=[x, y])
    wp.launch(cosine, dim=3, inputs=[y])
    wp.launch(total, dim=3, inputs=[y, out])


@wp.kernel
def repeat_until(x: D, out: D):
    result = x[0]
    while True:
        result = result * x[0]
        if result > f64(10.0):
            break
    out[0] = result


def gradient(name: str, x: np.ndarray, constants: tuple) -> np.ndarray:
    """The gradient of the tape. KeyError if the program is not written for Warp."""
    program = globals()[name]
    argument = wp.array(x, dtype=wp.float64, requires_grad=True)
    out = wp.zeros(1, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        if isinstance(program, wp.Kernel):
            wp.launch(program, dim=1, inputs=[argument, out])
        else:
            program(argument, out, *constants)
    tape.backward(out)
    return argument.grad.numpy()
