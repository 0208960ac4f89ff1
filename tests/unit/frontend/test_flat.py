"""`x.flat` and np.nditer: reading, writing and looping over the elements of an array in an order of their own."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from random_pairs import require_same

import mlirad
from mlirad.errors import CompileError
from mlirad.testing.interpreted import Interpreted

X = np.array([[0.7, 0.2, 0.9], [0.4, 0.8, 0.1]])


def flat(x, i):
    m = x.flat[:] > 0.5
    read = x.flat[3], x.flat[i], x.flat[1:4], x.flat[m], x.flat[[0, 2]], x.flat[np.array([[0, 1], [2, 3]])], x.flat[...]
    s = 0.0
    for v in x.flat:
        s = s * 0.5 + v
    t = x.T.flat[i] + sum(x.T.flat)
    x.flat[i] = 7.0
    x.T.flat[1:3] += 1
    x.flat[[0, 1, 2]] = [5, 6]
    x.flat[m] = np.arange(2)
    x.flat[-1] = read[2][0]
    x.flat[np.array([[1, 2], [3, 4]])] = x[:1, :2] * 3
    elements = x.T.flat
    rest = next(elements), list(elements)
    y = np.zeros((2, 4))
    y.flat = x
    z = np.zeros(7)
    z.flat = [1, 2, 3]
    z.flat[4:] = []
    return (
        read,
        s,
        t,
        rest,
        y,
        z,
        len(x.flat),
        np.sum(x.flat),
        x[0] + x.flat[:3],
        list(zip(x.flat, x.T.flat, strict=True)),
    )


def walked(x):
    s, t = 0.0, 0.0
    for e in np.nditer(x):
        s = s * 0.5 + e
    for e in np.nditer(x, op_flags=["readwrite"]):
        e[...] = 2 * e + s
    it = np.nditer(x, flags=["multi_index"])
    for e in it:
        i, j = it.multi_index
        t += e * i + j
    it = np.nditer(x, flags=["multi_index"], op_flags=[["readwrite"]])
    while not it.finished:
        it[0] = it[0] * (it.multi_index[1] + 1)
        it.iternext()
    with np.nditer(x.T, ["f_index"], ["readwrite"]) as it:
        for e in it:
            e[...] = e + it.index
    return s, t, [e * 1 for e in np.nditer(x, order="F")], [e * 1 for e in np.nditer(x.T)]


def test_flat_and_nditer() -> None:
    arrays: list[Callable[[], np.ndarray]] = [X.copy, lambda: np.asfortranarray(X), lambda: X.repeat(2, 1)[:, ::-2]]
    kernel = Interpreted(flat, "tensor")
    for make in arrays:
        for i in (4, -2):
            numpys, own = make(), make()
            require_same((flat(numpys, i), numpys), (kernel(own, i), own))
    for make in arrays[:1]:
        numpys, own = make(), make()
        require_same((walked(numpys), numpys), (Interpreted(walked, "tensor")(own), own))
    for wrong in (6, -7):
        with pytest.raises(IndexError, match="out of bounds"):
            kernel(X.copy(), wrong)


def test_derivatives() -> None:
    def loss(x):
        y = x.copy()
        s = 0.0
        for e in np.nditer(y, op_flags=["readwrite"]):
            e[...] = e * s
            s = s + np.cos(e)
        for i in range(y.size):
            y.T.flat[i] = np.sin(s) * y.flat[i]
        y[:, ::2].flat[:] = y[:, :1] * 2
        y.flat = y.flat[::-1]
        return (y * np.arange(6.0).reshape(2, 3)).sum()

    v = np.arange(6.0).reshape(2, 3) - 2
    difference = (loss(X + 1e-6 * v) - loss(X - 1e-6 * v)) / 2e-6
    np.testing.assert_allclose(np.sum(mlirad.grad(loss)(X) * v), difference, rtol=1e-6)
    np.testing.assert_allclose(mlirad.jvp(loss, (X,), (v,))[1], difference, rtol=1e-6)


def test_an_element_of_a_reshaped_slice_is_read_alone() -> None:
    text = mlirad.jit(lambda x, i: x.T.flat[i]).lower(X, 3).as_text("optimized")
    assert "nd.extract" in text
    assert "nd.transpose" not in text


def writes(x):
    for e in np.nditer(x):
        e[...] = 1.0


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (writes, ValueError, "assignment destination is read-only"),
        (lambda x: list(np.nditer(x[:, ::2])), CompileError, 'give it an order: order="C"'),
        (lambda x: list(np.nditer([x, x])), CompileError, "np.nditer of several arrays is not compiled"),
        (lambda x: list(np.nditer(x, ["external_loop"])), CompileError, "this flag of np.nditer is not compiled"),
        (lambda x: [list(f) + list(f) for f in [x.flat]], CompileError, "is used up after its first use"),
    ],
)
def test_refusals(function: Callable[..., Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        mlirad.jit(function)(X.copy())
