"""The programs of `tests/support/silent_gradients.py` as PyTorch's users write them, run eagerly."""

import numpy as np
import torch


def local_matrix(x):
    m = torch.zeros((2, 2), dtype=x.dtype)
    for k in range(4):
        m[0, 0] = m[0, 0] + x[k] * x[k]
        m[1, 0] = m[1, 0] + m[0, 0] * x[k]
    return m[1, 0]


def add_one(x):
    a = x.clone()
    for i in range(a.shape[0]):
        a[i] = a[i] + 1.0
    return a.sum()


def dead_writes(x):
    y = torch.zeros(2, dtype=x.dtype)
    for i in range(2):
        y[i] = 2.0 * x[i]
    for i in range(2):
        y[i] = 3.0 * x[2 + i]
    return y.sum()


def overwritten_after_reading(x):
    a = x.clone()
    y = a * a
    a[:] = 100.0
    return y.sum()


def copied(x):
    y = x.clone()
    y *= 2.0
    return y.sum() + (x * x).sum()


def around_a_loop(x, n):
    b = x[0] * x[0]
    total = 0.0
    for k in range(n):
        total = total + x[k]
    return total * b


def joints(x, parents, first_joints, joint_counts):
    angle, px, py = (torch.zeros(3, dtype=x.dtype) for _ in range(3))
    for body in range(3):
        turned, left, up = 0.0, 0.0, 0.0
        if parents[body] >= 0:
            turned, left, up = angle[parents[body]], px[parents[body]], py[parents[body]]
        for j in range(joint_counts[body]):
            turned = turned + x[first_joints[body] + j]
            left, up = left + torch.cos(turned), up + torch.sin(turned) * left
        angle[body], px[body], py[body] = turned, left, up
    return px[2] * py[2]


def largest(x, weights):
    total = 0.0
    for i in range(2):
        best = torch.tensor(-1e20, dtype=x.dtype)
        for p in range(3):
            for q in range(2):
                if weights[p, q] == 0.0:
                    continue
                value = x[i] * weights[p, q] * (p + q + 2.0)
                if value <= best:
                    continue
                best = value
        total = total + best
    return total


def sibling_loops(x):
    y = torch.zeros((), dtype=x.dtype)
    for _ in range(2):
        for _ in range(3):
            y += x[0]
        for _ in range(3):
            y += x[0] * y
    return y


def inner_sums(x):
    a = torch.zeros(5, dtype=x.dtype)
    for i in range(5):
        for j in range(3):
            a[i] += x[j]
    return a.sum()


def local_sums(x):
    f = torch.zeros(3, dtype=x.dtype)
    for i in range(3):
        p = x[i]
        q = torch.zeros((), dtype=x.dtype)
        for _ in range(5):
            q += p
        f[i] = q
    return f.sum()


def carried_vector(x, n):
    v = torch.stack([x[0], x[1], torch.ones((), dtype=x.dtype)])
    for _ in range(n):
        v = torch.stack([v[1] * v[2], v[0] + 0.5 * v[2], v[0] * v[1]])
    return v[0] + v[1] * v[2]


def prefix(x, n):
    out = torch.zeros(n, dtype=x.dtype)
    for i in range(n):
        if i == 0:
            out[i] = x[0]
        else:
            out[i] = out[i - 1] + x[0]
    return out[n - 1]


def cosine_in_place(x):
    y = x + 1.0
    y.cos_()
    return y.sum()


def assigned_element(x):
    a = x[:2] + 1.0
    a[0] = x[2]
    return (a * 2.0).sum()


def transposed_view(x):
    base = torch.arange(1.0, 5.0, dtype=x.dtype).reshape(2, 2)
    view = base.T
    view *= x.reshape(2, 2)
    view *= 2.0
    return (base * torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=x.dtype)).sum()


def view_of_a_copy(x):
    a = torch.ones((2, 3), dtype=x.dtype)
    a[:, 0] = x[:2]
    d = a.clone()
    column = d[:, 0]
    before = column.clone()
    column[:] = x[2] * before
    return (d * a).sum() + (before * before).sum()


def replaced_slice(x):
    y = x.clone()
    y[0:2] = x[3:] * x[3:]
    return y.sum()


def row_in_place(x):
    rows = (x * 1.0).reshape(2, 2)
    first = rows[0]
    part = first[:1]
    part *= 2.0
    return (first * first).sum() + rows[1].sum()


def repeat_until(x):
    result = x[0]
    while True:
        result = result * x[0]
        if result > 10.0:
            break
    return result


def gradient(name: str, x: np.ndarray, constants: tuple) -> np.ndarray:
    """The gradient of `backward`."""
    argument = torch.tensor(x, requires_grad=True)
    globals()[name](argument, *constants).backward()
    assert argument.grad is not None
    return argument.grad.numpy()
