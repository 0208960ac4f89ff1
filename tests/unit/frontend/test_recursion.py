"""Functions that call themselves, and their effects on arrays, lists and names; compared with Python."""

from __future__ import annotations

import copy
import sys
import threading
from dataclasses import dataclass

import numpy as np
import pytest
from recursive_programs import quicksort

import mlirad
from mlirad.errors import CompileError
from mlirad.testing.interpreted import Interpreted


def same(function, *args):
    """Values and side effects are the same natively, interpreted and in Python."""
    plain, interpreted, native = (copy.deepcopy(args) for _ in range(3))
    expected = function(*plain)
    for values, run in ((interpreted, Interpreted(function, "tensor")), (native, mlirad.jit(function))):
        got = run(*values)
        _equal(got, expected)
        _equal(values, plain)
    return expected


def _equal(got, expected) -> None:
    if isinstance(expected, tuple | list):
        assert type(got) is type(expected)
        assert len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            _equal(a, b)
    elif isinstance(expected, np.ndarray):
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-12)
    else:
        # A number that is Python's on one path and NumPy's on another becomes NumPy's on both.
        assert isinstance(got, type(expected)) or type(expected) in (int, float)
        assert got == pytest.approx(expected, rel=1e-12)


def factorial(n):
    if n <= 1:
        return 1.0
    return n * factorial(n - 1)


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def is_even(n):
    if n == 0:
        return True
    return is_odd(n - 1)


def is_odd(n):
    if n == 0:
        return False
    return is_even(n - 1)


def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def power(x, n):
    if n == 0:
        return 1.0
    half = power(x, n // 2)
    return half * half * x if n % 2 == 1 else half * half


def hanoi(n, a, b, c):
    if n == 0:
        return 0
    return hanoi(n - 1, a, c, b) + 1 + hanoi(n - 1, c, b, a)


def test_scalars() -> None:
    same(factorial, 6)
    same(fibonacci, 12)
    same(is_even, 11)
    same(ackermann, 2, 3)
    same(power, 1.5, 11)
    same(hanoi, 5, 0, 1, 2)


def sum_in_place(x, i):
    """The corner program of traced recursion: doubles x[i] on the way."""
    if i >= len(x):
        return 0.0
    v = x[i]
    x[i] = 2 * v
    return v + sum_in_place(x, i + 1)


def sort(a):
    quicksort(a, 0, len(a) - 1)
    return a


def halves(x, first, last):
    if last - first == 0:
        return 0.0
    if last - first == 1:
        return x[first]
    middle = (first + last) // 2
    return halves(x, first, middle) + halves(x, middle, last)


@pytest.mark.parametrize("size", [0, 1, 2, 33])
def test_arrays_are_written_in_place(size: int) -> None:
    x = np.random.default_rng(1).normal(size=size)
    same(sum_in_place, x, 0)
    same(halves, x, 0, size)
    if size:
        np.testing.assert_array_equal(same(sort, x), np.sort(x))


def test_strided_and_read_only_arguments() -> None:
    x = np.arange(10.0)
    y = x.copy()
    assert mlirad.jit(sum_in_place)(x[::-2], 0) == sum_in_place(y[::-2], 0)
    np.testing.assert_array_equal(x, y)
    x.flags.writeable = False
    assert mlirad.jit(halves)(x, 0, 10) == x.sum()
    with pytest.raises((ValueError, CompileError), match="read-only"):
        mlirad.jit(sum_in_place)(x, 0)


def rows(m, i):
    """A view of another row in each call."""
    if i < len(m):
        row = m[i]
        row += scale(row, 0)
        return row[0] + rows(m, i + 1)
    return 0.0


def scale(v, k):
    return v * 0.5 if k > 3 else scale(v + 1.0, k + 1)


def test_views_and_new_arrays() -> None:
    same(rows, np.arange(12.0).reshape(3, 4), 0)
    same(lambda x, k: scale(x, k), np.arange(5.0), 0)
    same(lambda x, k: scale(x, k), np.arange(5.0, dtype=np.float32), 1)


def swapped(a, b, n):
    if n == 0:
        a[0] += 1.0
        return a
    b[0] *= 2.0
    return swapped(b, a, n - 1)


def test_the_same_array_twice_and_arrays_that_change_places() -> None:
    def twice(a, n):
        return swapped(a, a, n)[0]

    def both(a, b, n):
        c = swapped(a * 1.0, b * 1.0, n)
        return c[0], a[0], b[0]

    same(twice, np.arange(3.0) + 1, 3)
    same(both, np.arange(3.0) + 1, np.arange(3.0) + 5, 3)


def outer(x, n):
    total = 0.0
    seen = [x]

    def down(k):
        nonlocal total
        if k == 0:
            return
        total += x[k % 3] * k
        seen[0][0] += 1.0
        down(k - 1)

    down(n)
    return total, x[0]


def test_closures_that_recurse() -> None:
    same(outer, np.arange(3.0), 5)


def by_function(f, n, acc):
    return acc if n == 0 else by_function(f, n - 1, f(acc))


def test_functions_as_arguments() -> None:
    def main(x, n):
        k = x * 0.5
        return by_function(lambda v: v * 1.1 + k, n, x), by_function(np.sin, n, x)

    same(main, 1.25, 7)


@dataclass
class Point:
    x: float
    y: float


def walk(p, n, *, by=0.5, **more):
    if n == 0:
        return p.x, p.y
    return walk(Point(p.x + by, p.y * more["f"]), n - 1, by=by * 2, f=more["f"])


def changed(items, n):
    if n > 0:
        items[0] = items[0] + n
        items[1] *= 2.0
        changed(items, n - 1)


def test_objects_and_keywords() -> None:
    same(lambda a, n: walk(Point(a, 1.0), n, f=a), 1.5, 4)

    def main(x, n):
        items = [0.0, x * 1.0]
        changed(items, n)
        return items[0], items[1]

    same(main, np.arange(2.0), 3)


def in_loops(x, n):
    total = 0.0
    for i in range(n):
        total += in_loops(x, i) * x[i]
        while total > 10.0:
            total *= 0.5
    return 1.0 + total


def test_recursion_in_loops_and_loops_in_recursion() -> None:
    same(in_loops, np.linspace(0.1, 1.0, 7), 6)

    def main(x, n):
        s = 0.0
        for i in range(n):
            s += power(x[i], i) if i % 2 else factorial(i)
        return s

    same(main, np.linspace(0.5, 1.5, 6), 6)


def polymorphic(x, n, acc):
    """An int at first, and a float from the first recursive call on."""
    return acc if n == 0 else polymorphic(x, n - 1, acc * x)


def depth(n, at=0):
    """A static number that differs between calls."""
    return at if n <= 0 else depth(n - at - 1, at + 1)


def shapes(x):
    return x[0] if len(x) == 1 else shapes(x[: len(x) // 2]) + 2 * shapes(x[len(x) // 2 :])


def test_static_arguments() -> None:
    same(lambda x, n: polymorphic(x, n, 1), 1.1, 4)
    same(depth, 500)
    same(shapes, np.arange(13.0))
    same(lambda x: fibonacci(9) * x, 2.0)


def test_a_size_that_a_recursion_gives_is_specialised_on() -> None:
    def main(x, n):
        return np.zeros(fibonacci(n)) + x

    same(main, 2.0, 6)


GLOBAL = np.arange(4.0)


def reads_global(n):
    return 0.0 if n == 0 else GLOBAL[n % 4] + reads_global(n - 1)


def test_captured_arrays() -> None:
    kernel = mlirad.jit(reads_global)
    assert kernel(6) == reads_global(6)
    GLOBAL[1] = 7.0
    assert kernel(6) == reads_global(6)
    GLOBAL[1] = 1.0


def checked(x, i):
    return 0.0 if i < 0 else x[i] + checked(x, i - 1)


def test_an_error_inside_comes_out_with_its_place() -> None:
    with pytest.raises(IndexError, match=r"test_recursion.py:\d+:\d+: index 5 is out of bounds"):
        mlirad.jit(checked)(np.arange(3.0), 5)

    def raises(n):
        if n == 3:
            raise ValueError("three")
        return n if n == 0 else raises(n - 1)

    with pytest.raises(ValueError, match="three"):
        mlirad.jit(raises)(5)
    assert mlirad.jit(raises)(2) == 0


def endless(n):
    return 0 if n < 0 else endless(n + 1) + 1


def with_memory(x, n):
    """Each frame has its own array."""
    if n == 0:
        return x
    t = np.zeros(4)
    t[0] = with_memory(x, n - 1)
    t[1] = 0.5 * x
    return t.sum()


def test_depth() -> None:
    assert mlirad.jit(with_memory)(1.5, 2000) == 1.5 + 2000 * 0.75
    kernel = mlirad.jit(endless)
    with pytest.raises(RecursionError, match=r"test_recursion.py:\d+:\d+: maximum recursion depth exceeded"):
        kernel(1)
    assert kernel(-1) == 0


def test_depth_in_a_thread_with_a_small_stack() -> None:
    deep, kernel, found = mlirad.jit(with_memory), mlirad.jit(endless), []

    def work() -> None:
        found.append(deep(1.5, sys.getrecursionlimit() // 2))
        try:
            kernel(1)
        except RecursionError:
            found.append("too deep")

    before = threading.stack_size(256 << 10)
    try:
        kernel(-1), deep(1.5, 1)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert found == [1.5 + sys.getrecursionlimit() // 2 * 0.75, "too deep"]


def never(n):
    return never(n + 1)


def other_type(x, n):
    return (x,) if n == 0 else (other_type(x, n - 1), x)


def test_refused() -> None:
    with pytest.raises(CompileError, match="never calls itself and never returns"):
        mlirad.jit(never)(1)
    with pytest.raises(CompileError, match=r"have no common type|one path"):
        mlirad.jit(lambda x, n: other_type(x, n))(1.0, 2)
