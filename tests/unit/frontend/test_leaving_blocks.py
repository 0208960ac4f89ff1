"""Loops that are left, or have shortened iterations, around writes to arrays: no iteration copies an array.

If `continue`, `break` or `return` is on one side of an if, that side yields the array unchanged, so the other side can
update it in place. Work is counted at stage `bufferized`, in elements touched.
"""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable
from textwrap import indent

import numpy as np
import pytest
from compare_buffers import parse
from count_work import work_of

import mlirad

WRITES = {
    "element": "A[j, 0] = np.sin(A[j, 0])",
    "row": "A[j] = np.sin(A[j])",
    "added": "A[j] += A[j - 1]",
    "two": "A[j] = np.sin(A[j])\nB[j] = A[j] * 2.0",
    "held": "held['A'][j] = held['A'][j - 1] * 0.5",
}
LEAVES = {"continue": ("continue", "0.5"), "break": ("break", "1e9"), "return": ("return np.sum(A)", "1e9")}
BODIES = {
    "before": "if A[j, 1] > {limit}:\n    {leave}\n{write}",
    "after": "{write}\nif A[j, 1] > {limit}:\n    {leave}\nB[j, 1] = A[j, 0]",
    "in": "if A[j, 1] > {limit}:\n    {write_in}\n    {leave}\nB[j, 1] = A[j, 0]",
    "else": "if A[j, 1] < {limit}:\n    {write_in}\nelse:\n    {leave}",
    "twice": "if A[j, 1] > {limit}:\n    {leave}\n{write}\nif A[j, 2] > {limit}:\n    {leave}\n{write}",
    "nested": "if A[j, 1] > {limit}:\n    if A[j, 2] > 0.0:\n        {leave}\n    B[j, 1] = 2.0\n{write}",
    "inner": (
        "for k in range(2):\n    if A[j, k] > 0.5:\n        continue\n    {write_in}\n"
        "if A[j, 2] > {limit}:\n    {leave}\n{write}"
    ),
}
LOOPS = {
    "for": "for j in range(1, A.shape[0]):\n",
    "while": "j = 0\nwhile j < A.shape[0] - 1:\n    j += 1\n",
}
PROGRAMS = list(itertools.product(LOOPS, BODIES, LEAVES, WRITES))


def program(loop: str, body: str, leave: str, write: str) -> Callable[..., float]:
    statement, limit = LEAVES[leave]
    nested = WRITES[write].replace("\n", "\n    ")
    text = BODIES[body].format(leave=statement, limit=limit, write=WRITES[write], write_in=nested)
    inside = f"B = A * 2.0\nheld = {{'A': A}}\n{LOOPS[loop]}{indent(text, '    ')}\nreturn np.sum(A * B)\n"
    source = f"def f(A):\n{indent(inside, '    ')}"
    name = f"<{loop} {body} {leave} {write}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    namespace = {"np": np}
    exec(compile(source, name, "exec"), namespace)
    return namespace["f"]


def array(n: int) -> np.ndarray:
    return np.random.default_rng(n).uniform(-1.0, 1.0, (n, 3))


def work(function, n: int) -> int:
    """Always on the same rows, since the work of an iteration depends on its row."""
    a = np.tile(array(8), (n // 8, 1))
    return work_of(parse(function.lower(a).as_text("bufferized")), [a])


def require_linear(function) -> None:
    few, many = (work(function, n) / n for n in (8, 32))
    assert many < 1.3 * few, f"a trip's work is {few:.0f} of 8 trips, {many:.0f} of 32"


@pytest.mark.parametrize("chosen", PROGRAMS[::9], ids="-".join)
def test_no_trip_copies_an_array(chosen: tuple[str, str, str, str]) -> None:
    require_linear(mlirad.jit(program(*chosen)))


@pytest.mark.parametrize("chosen", PROGRAMS[4::35], ids="-".join)
def test_values_and_gradients(chosen: tuple[str, str, str, str]) -> None:
    f, a = program(*chosen), array(6)
    mine, theirs = a.copy(), a.copy()
    np.testing.assert_allclose(mlirad.jit(f)(mine), f(theirs), rtol=1e-13)
    np.testing.assert_allclose(mine, theirs, rtol=1e-13)
    direction, step = np.random.default_rng(0).normal(size=a.shape), 1e-6
    wanted = (f(a + step * direction) - f(a - step * direction)) / (2.0 * step)
    assert np.sum(mlirad.grad(f)(a) * direction) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.full
@pytest.mark.parametrize("chosen", PROGRAMS, ids="-".join)
def test_all_programs_and_their_gradients(chosen: tuple[str, str, str, str]) -> None:
    f = program(*chosen)
    require_linear(mlirad.jit(f))
    require_linear(mlirad.grad(f))
    test_values_and_gradients(chosen)
