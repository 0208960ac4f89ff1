"""Captured arrays as the first values of names that a loop or a branch rebinds: nothing writes the arrays.

Every spelling of the array's origin meets every kind of loop; real writes to the array are still noticed.
"""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.errors import CompileError

# The spelling of the first value, and the code around the function that defines it.
SPELLINGS = {
    "global": "START",
    "attribute": "model.state",
    "item": "config['x0']",
    "nested item": "config['more'][1]",
    "default": "given",
    "closure": "captured",
    "argument": "x",
    "view": "START[::-1]",
    "row": "TABLE[1]",
}
# From a start {s} and a number k, a result `u`; n is the number of iterations.
LOOPS = {
    "for": "u = {s}\nfor _ in range(n):\n    u = u + k * x",
    "known": "u = {s}\nfor _ in range(3):\n    u = 0.5 * u + k",
    "while": "u, i = {s}, 0\nwhile i < n:\n    u = u * 0.75 + k * x\n    i += 1",
    "nested": "u = {s}\nfor _ in range(2):\n    for _ in range(n):\n        u = u + 0.1 * k * u",
    "left": "u = {s}\nfor i in range(n):\n    u = u + k\n    if u[0] > 3.0:\n        break",
    "if": "if k > 0.1:\n    u = {s}\nelse:\n    u = {s} * 2.0\nu = u * k",
    "if in it": "u = {s}\nfor i in range(n):\n    if i % 2 == 0:\n        u = u * k + x",
    "chosen": "u = {s} if k > 0.1 else x\nu = u + k",
    "stencil": "u = {s}\nfor _ in range(n):\n    u = np.concatenate((u[1:] - k * u[:-1], u[:1]))",
    "two": "u = v = {s}\nfor _ in range(n):\n    u, v = v + k * x, u",
    "three": "u = v = w = {s}\nfor _ in range(n):\n    u, v, w = k * w + x, u, v\nu = u + w",
    "list": "a = [{s}, {s}, {s}]\nfor _ in range(n):\n    a = [a[2] * k + x, a[0], a[1]]\nu = a[0] + a[2]",
    "written after": "u = {s}\nfor _ in range(3):\n    u = u + k\nu[0] = k * u[1]",
}
# These write the array that they begin with.
WRITES = {
    "in place": "u = {s}\nfor _ in range(n):\n    u += k",
    "element": "u = {s}\nfor i in range(n):\n    u[i] = k * u[i - 1]",
    "first trip": "u = {s}\nfor _ in range(n):\n    u *= k\n    u = u + 1.0",
    "branch": "u = x if k > 100.0 else {s}\nu[1] = k",
}
FRAME = """\
import numpy as np

START = np.array([1.0, 2.0, 0.5])
TABLE = np.array([[1.0, 2.0, 0.5], [0.25, -1.0, 2.0]])

class Model:
    def __init__(self):
        self.state = np.array([1.0, 2.0, 0.5])

model = Model()
config = {{"x0": np.array([1.0, 2.0, 0.5]), "more": [0, np.array([1.0, 2.0, 0.5])]}}

def made():
    captured = np.array([1.0, 2.0, 0.5])
    def f(k, x, n=4, given=np.array([1.0, 2.0, 0.5])):
{body}
        return np.sum(u * u)
    return f, lambda: [START, TABLE, model.state, config["x0"], config["more"][1], captured, f.__defaults__[1]]

f, arrays = made()
"""
X = np.array([0.5, -0.25, 0.125])


def program(text: str, spelling: str) -> tuple[Callable[..., Any], Callable[[], list[np.ndarray]]]:
    """A function (k, x, n), and a function that returns the captured arrays, in a separate module."""
    body = "\n".join("        " + line for line in text.format(s=SPELLINGS[spelling]).splitlines())
    source = FRAME.format(body=body)
    name = f"<start {abs(hash(source))}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"__name__": name}
    exec(compile(source, name, "exec"), scope)
    return scope["f"], scope["arrays"]


def slopes(text: str, spelling: str, n: int) -> tuple[float, float, float]:
    """The value in plain Python, and central differences by k and along x in the direction of ones."""

    def value(k: float, shift: float) -> float:
        f, _ = program(text, spelling)
        return float(f(k, X + shift, n))

    step = 1e-6
    by_k = (value(0.4 + step, 0.0) - value(0.4 - step, 0.0)) / (2 * step)
    by_x = (value(0.4, step) - value(0.4, -step)) / (2 * step)
    return value(0.4, 0.0), by_k, by_x


def check(kind: str, spelling: str, n: int) -> None:
    value, by_k, by_x = slopes(LOOPS[kind], spelling, n)
    f, arrays = program(LOOPS[kind], spelling)
    x = X.copy()
    before = [each.copy() for each in (x, *arrays())]
    assert mlirad.jit(f)(0.4, x, n) == pytest.approx(value, rel=1e-12)
    found, (dk, dx) = mlirad.value_and_grad(f, argnums=(0, 1))(0.4, x, n)
    assert found == pytest.approx(value, rel=1e-12)
    assert dk == pytest.approx(by_k, rel=1e-6, abs=1e-8)
    assert np.sum(dx) == pytest.approx(by_x, rel=1e-6, abs=1e-8)
    out, slope = mlirad.jvp(lambda k, y: f(k, y, n), (0.4, x), (1.0, np.zeros(3)))
    assert (out, slope) == pytest.approx((value, by_k), rel=1e-6, abs=1e-8)
    _, pullback = mlirad.vjp(lambda k, y: f(k, y, n), 0.4, x)
    assert pullback(1.0)[0] == pytest.approx(by_k, rel=1e-6, abs=1e-8)
    for each, old in zip((x, *arrays()), before, strict=True):
        np.testing.assert_array_equal(each, old)


PAIRS = [pair for pair in itertools.product(LOOPS, SPELLINGS) if pair[0] != "written after"]


# Each kind of loop with one spelling. `make full`: with all spellings, and with zero, one and many iterations.
@pytest.mark.parametrize(("kind", "spelling"), PAIRS[:: len(SPELLINGS) + 1], ids=str)
def test_a_start_is_not_written(kind: str, spelling: str) -> None:
    check(kind, spelling, 4)


@pytest.mark.full
@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize(("kind", "spelling"), PAIRS, ids=str)
def test_no_start_is_written(kind: str, spelling: str, n: int) -> None:
    check(kind, spelling, n)


def test_what_is_written_after_a_certain_trip_is_not_the_start() -> None:
    check("written after", "global", 4)


@pytest.mark.parametrize("n", [0, 3])
@pytest.mark.parametrize("kind", WRITES)
def test_what_does_write_it_is_noticed(kind: str, n: int) -> None:
    plain, expected = program(WRITES[kind], "global")
    value = plain(0.4, X.copy(), n)
    f, arrays = program(WRITES[kind], "global")
    assert mlirad.jit(f)(0.4, X.copy(), n) == pytest.approx(value, rel=1e-12)
    for each, after in zip(arrays(), expected(), strict=True):
        np.testing.assert_allclose(each, after, rtol=1e-12)
    f, arrays = program(WRITES[kind], "global")
    try:
        mlirad.grad(f)(0.4, X.copy(), n)
    except CompileError as error:
        assert "START" in str(error)
    else:
        for each, after in zip(arrays(), expected(), strict=True):
            np.testing.assert_allclose(each, after, rtol=1e-12)


@pytest.mark.parametrize("n", [0, 3])
def test_an_argument_that_a_loop_begins_with_may_be_what_is_returned(n: int) -> None:
    def f(x, n):
        u = x
        for _ in range(n):
            u = u * 2.0
        return u

    x = X.copy()
    result = mlirad.jit(f)(x, n)
    np.testing.assert_array_equal(result, f(X, n))
    assert np.shares_memory(result, x) == (n == 0)
    assert "mlirad.written" not in mlirad.jit(f).lower(x, n).as_text("tensor")
