"""A differentiated function that writes an array which shares memory with another is refused; others are right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad

GLOBAL = np.arange(1.0, 5.0)


def writes(x, y):
    x[0] = 5.0
    return (x * y).sum()


def writes_a_slice(x, y):
    x = x[1:]
    x[:] = 2.0
    return y.sum() * y.sum()


def writes_in_a_loop(x, y):
    for i in range(3):
        if y[i] > 0:
            x[i] = y[i + 1]
    return (x * y).sum()


def count_down(x, n):
    if n > 0:
        x[n] = n * 1.0
        count_down(x, n - 1)


def writes_in_a_recursion(x, y):
    count_down(x, 2)
    return (x * y).sum()


def writes_what_is_new(x, y):
    z = x * 2
    z[0] = 1.0
    for i in range(3):
        z[i] = y[i] * z[i]
    return (z * y).sum()


def writes_beside_a_global(x):
    x[0] = 7.0
    return (x * GLOBAL).sum()


WRITERS = [writes, writes_a_slice, writes_in_a_loop, writes_in_a_recursion]
TRANSFORMS: dict[str, Callable[..., Any]] = {
    "grad": lambda f, *args: mlirad.grad(f, tuple(range(len(args))))(*args),
    "value_and_grad": lambda f, *args: mlirad.value_and_grad(f)(*args),
    "vjp": mlirad.vjp,
    "jvp": lambda f, *args: mlirad.jvp(f, args, args),
    "grad of grad": lambda f, *args: mlirad.grad(lambda *a: mlirad.grad(f, len(a) - 1)(*a).sum())(*args),
    "in a kernel": lambda f, *args: mlirad.jit(lambda *a: mlirad.grad(f)(*a))(*args),
}


def a() -> np.ndarray:
    return np.arange(1.0, 5.0)


def refused(call: Callable[[], Any], *words: str) -> None:
    with pytest.raises(mlirad.DifferentiationError) as caught:
        call()
    message = str(caught.value)
    assert "test_differentiated_aliases.py:" in message and "pass a copy" in message
    assert all(word in message for word in ("is differentiated, and writes its", *words))


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_every_transform_refuses(transform: Callable[..., Any]) -> None:
    x = a()
    refused(lambda: transform(writes, x, x), "argument 0", "argument 1")
    np.testing.assert_array_equal(x, a())
    y = x.copy()
    transform(writes, x, y)
    np.testing.assert_array_equal((x, y), ([5.0, 2.0, 3.0, 4.0], a()))


@pytest.mark.parametrize("function", WRITERS)
def test_a_written_array_is_shared(function: Callable[..., Any]) -> None:
    kernel = mlirad.grad(function, (0, 1))
    x = a()
    for _ in range(2):
        for other in (x, x[::-1]):
            refused(lambda other=other: kernel(x, other), "argument 0", "its argument 1")
            refused(lambda other=other: kernel(other, x), "argument 0", "its argument 1")
        separate = kernel(x.copy(), x.copy())
        for gradient, step in zip(separate, range(2), strict=True):
            check_gradient(function, [x, x.copy()], step, gradient)


def check_gradient(function: Callable[..., Any], args: list[np.ndarray], number: int, gradient: np.ndarray) -> None:
    for i in range(args[number].size):
        values = []
        for h in (1e-6, -1e-6):
            copies = [each.copy() for each in args]
            copies[number][i] += h
            values.append(function(*copies))
        assert gradient[i] == pytest.approx((values[0] - values[1]) / 2e-6, rel=1e-6, abs=1e-7)


def test_overlaps_that_are_no_views_of_one_another() -> None:
    base = np.arange(5.0)
    refused(lambda: mlirad.grad(writes)(base[1:], base[:-1]))
    refused(lambda: mlirad.grad(writes)(base[:-1], base[1:]))
    mlirad.grad(writes)(base[:2], base[2:4])


def test_nothing_shared_is_written() -> None:
    x = a()
    for function in (writes_what_is_new, lambda x, y: (x * y).sum()):
        kernel = mlirad.grad(function, (0, 1))
        np.testing.assert_array_equal(kernel(x, x), kernel(x, x.copy()))
        np.testing.assert_array_equal(kernel(x, x[::-1]), kernel(x, x[::-1].copy()))
    unwritten = mlirad.grad(lambda x, y, z: writes(x, y) + z.sum())
    np.testing.assert_array_equal(unwritten(a(), x, x), [0.0, 2.0, 3.0, 4.0])


def test_arrays_in_containers() -> None:
    def f(p):
        p["a"][0] = 1.0
        return (p["a"] * p["b"][0]).sum()

    x = a()
    refused(lambda: mlirad.grad(f)({"a": x, "b": [x]}), "another array in it")
    mlirad.grad(f)({"a": x, "b": [x.copy()]})


def test_a_global_that_the_function_reads() -> None:
    refused(lambda: mlirad.grad(writes_beside_a_global)(GLOBAL), "'GLOBAL'")
    refused(lambda: mlirad.jit(lambda: mlirad.grad(writes_beside_a_global)(GLOBAL))(), "'GLOBAL'")
    refused(lambda: mlirad.jit(lambda x: mlirad.grad(writes_beside_a_global)(x))(GLOBAL[::-1]), "'GLOBAL'")
    np.testing.assert_array_equal(mlirad.grad(writes_beside_a_global)(a()), [0.0, 2.0, 3.0, 4.0])
    own = a()
    only_passed = mlirad.jit(lambda: mlirad.grad(lambda x: writes(x, x * 2))(own))
    np.testing.assert_array_equal(only_passed(), [10.0, 8.0, 12.0, 16.0])
    np.testing.assert_array_equal(own, [5.0, 2.0, 3.0, 4.0])


def choice(x, c):
    y = x if c > 0 else x * 2
    return mlirad.grad(writes)(x, y)


def in_a_loop(x, n):
    for _ in range(n):
        x = x + mlirad.grad(writes)(x, x)
    return x


def handed_on(x, y):
    return mlirad.grad(lambda u: writes(u, x))(y).sum()


IN_KERNELS: dict[str, Callable[..., Any]] = {
    "itself": lambda x: mlirad.grad(writes)(x, x),
    "slices": lambda x: mlirad.grad(writes)(x[:-1], x[1:]),
    "traced rows": lambda x: mlirad.grad(writes)(x.reshape(2, 2)[int(x[0])], x.reshape(2, 2)[1]),
    "closure": lambda x: mlirad.grad(lambda u: writes(u, x))(x),
    "choice": lambda x: choice(x, x[0]),
    "loop": lambda x: in_a_loop(x, 3),
    "copies of one array": lambda x: mlirad.grad(handed_on)(x, x),
    "recursion": lambda x: mlirad.grad(writes_in_a_recursion)(x, x[:]),
    "reshaped": lambda x: mlirad.grad(writes)(x.reshape(2, 2), x.reshape(2, 2).T),
}


@pytest.mark.parametrize("function", IN_KERNELS.values(), ids=IN_KERNELS)
def test_inside_kernels(function: Callable[..., Any]) -> None:
    refused(lambda: mlirad.jit(function)(a()))


def test_inside_kernels_separate_arrays() -> None:
    x = a()
    halves = mlirad.jit(lambda x: mlirad.grad(writes)(x[:2], x[2:]))
    np.testing.assert_array_equal(halves(x), [0.0, 4.0])
    interleaved = mlirad.jit(lambda x: mlirad.grad(writes)(x[::2], x[1::2]))
    np.testing.assert_array_equal(interleaved(x), [0.0, 4.0])
    copied = mlirad.jit(lambda x: mlirad.grad(writes)(x, x.copy()))
    np.testing.assert_array_equal(copied(a()), [0.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(x, [5.0, 2.0, 3.0, 4.0])


# Recursive functions are compiled once: what they do with arrays that are apart is not what they do with one.


def descends(x, y, n):
    if n <= 0:
        return 0.0
    return mlirad.grad(writes)(x, y).sum() + descends(x, y, n - 1)


def first_apart(x, z, n):
    return descends(x, z, n) + mlirad.grad(lambda u, v: descends(u, v, n))(x, x).sum()


def first_together(x, z, n):
    return mlirad.grad(lambda u, v: descends(u, v, n))(x, x).sum() + descends(x, z, n)


def both_apart(x, z, n):
    return descends(x, z, n) + mlirad.grad(lambda u, v: descends(u, v, n))(x, z).sum()


def plain_both(x, z, n):
    return descends(x, z, n) + descends(x, x, n)


def within_itself(x, y, n):
    if n <= 0:
        return (x * y).sum()
    return mlirad.grad(writes)(x, y).sum() + mlirad.grad(lambda u, v: within_itself(u, v, n - 1))(x, x).sum()


@pytest.mark.parametrize("function", [first_apart, first_together, plain_both, within_itself])
def test_a_recursive_function_is_not_reused_for_shared_arrays(function: Callable[..., Any]) -> None:
    with pytest.raises(mlirad.DifferentiationError, match=r"test_differentiated_aliases.py(.|\n)*pass a copy"):
        mlirad.jit(function)(a(), a(), 2)


def test_a_recursive_function_is_reused_for_separate_arrays() -> None:
    x = a()
    # Two levels of sum(d/dx of x * y with x[0] = 5), that is y[1] + y[2] + y[3]; its derivative by x is 0.
    assert mlirad.jit(both_apart)(x, x.copy(), 2) == 2 * (2.0 + 3.0 + 4.0)
    written = mlirad.jit(lambda x, y, n: mlirad.grad(lambda u: writes_in_a_recursion(u, y))(x)[n])
    assert written(x, x.copy(), 3) == 4.0


# Lists, dicts and dataclasses that are passed twice.


def changes_list(p, q):
    p[0] = p[1] * 2
    return (p[0] * q[0]).sum()


def changes_nested(q):
    return changes_list(q["a"], q["b"])


ITEMS = [np.arange(1.0, 5.0), np.arange(2.0, 6.0)]


def changes_beside_a_global(p):
    return changes_list(p, ITEMS)


PASSED_TWICE: dict[str, Callable[[list], Any]] = {
    "grad": lambda p: mlirad.grad(changes_list)(p, p),
    "value_and_grad": lambda p: mlirad.value_and_grad(changes_list, (0, 1))(p, p),
    "vjp": lambda p: mlirad.vjp(changes_list, p, p),
    "jvp": lambda p: mlirad.jvp(changes_list, (p, p), (p, p)),
    "keyword": lambda p: mlirad.grad(changes_list)(p, q=p),
    "nested": lambda p: mlirad.grad(changes_nested)({"a": p, "b": p}),
    "in a kernel": lambda p: mlirad.jit(lambda p, q: mlirad.grad(changes_list)(p, q))(p, p),
    "grad of grad": lambda p: mlirad.grad(lambda p, q: mlirad.grad(changes_list)(p, q)[1].sum())(p, p),
    "a global": lambda p: mlirad.grad(changes_beside_a_global)(ITEMS),
    "lowered": lambda p: mlirad.grad(changes_list).lower(p, p).compile()(p, p),
}


@pytest.mark.parametrize("call", PASSED_TWICE.values(), ids=PASSED_TWICE)
def test_a_list_that_is_changed_is_passed_twice(call: Callable[[list], Any]) -> None:
    with pytest.raises(ValueError, match=r"a list in argument .* is passed twice, or also captured .* pass a copy"):
        call([a(), a()])


MADE_HERE: dict[str, Callable[..., Any]] = {
    "twice": lambda x: (lambda p: mlirad.grad(changes_list)(p, p))([x, x + 1]),
    "closure": lambda x: (lambda p: mlirad.grad(lambda q: changes_list(q, p))(p))([x, x + 1]),
    "deeper": lambda x: (lambda p: mlirad.grad(lambda q: mlirad.grad(changes_list)(q, p)[1].sum())(p))([x, x + 1]),
    "a global": lambda x: mlirad.grad(changes_beside_a_global)(ITEMS),
}


@pytest.mark.parametrize("function", MADE_HERE.values(), ids=MADE_HERE)
def test_a_list_of_the_kernel_is_passed_twice(function: Callable[..., Any]) -> None:
    with pytest.raises(mlirad.CompileError, match=r"this would change (one of two copies|a list that belongs)"):
        mlirad.jit(function)(a())


def test_lists_that_are_passed_once_may_be_changed() -> None:
    p, q = [a(), 2 * a()], [a(), 3 * a()]
    first, second = mlirad.grad(changes_list, (0, 1))(p, q)
    np.testing.assert_array_equal(first, [np.zeros(4), 2 * q[0]])
    np.testing.assert_array_equal(second, [2 * p[1], np.zeros(4)])
    np.testing.assert_array_equal(p[0], 2 * p[1])
    inner = mlirad.jit(lambda x: mlirad.grad(changes_list)([x, 2 * x], [x, x])[1])
    np.testing.assert_array_equal(inner(a()), 2 * a())
    value, tangent = mlirad.jvp(changes_list, (p, q), (p, q))
    assert tangent == 2 * value  # primals and tangents may be the same lists
    np.testing.assert_array_equal(mlirad.grad(changes_beside_a_global)(list(ITEMS))[1], 2 * ITEMS[0])
    np.testing.assert_array_equal(ITEMS[0], a())


def test_whether_lists_of_the_caller_are_one_is_not_known() -> None:
    p = [1.0]
    with pytest.raises(
        mlirad.CompileError, match=r"whether two lists or dicts of the caller are the same one is not known"
    ):
        mlirad.jit(lambda p, q: 1.0 if p is q else 2.0)(p, p)
    assert mlirad.jit(lambda p: 1.0 if p is p else 2.0)(p) == 1.0
