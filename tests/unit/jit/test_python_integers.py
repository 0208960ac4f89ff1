"""Python's ints are checked: what 64 bits do not hold is an OverflowError at the user's line; NumPy's ints wrap."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

import mlirad
from mlirad import pipeline
from mlirad.dialect.ops.check import CheckOp

LOWEST, HIGHEST = -(2**63), 2**63 - 1
EDGES = [LOWEST, LOWEST + 1, -(2**62) - 1, -(2**62), -3, -1, 0, 1, 2, 2**62 - 1, 2**62, HIGHEST - 1, HIGHEST]


def same_or_overflow(kernel: Any, function: Callable[..., int], *args: int) -> None:
    """The kernel gives what the plain function does, or OverflowError where 64 bits do not hold that."""
    expected = function(*args)
    if LOWEST <= expected <= HIGHEST:
        assert kernel(*args) == expected, args
    else:
        with pytest.raises(OverflowError, match=r"does not fit in 64 bits"):
            kernel(*args)


@pytest.mark.parametrize(
    "function", [operator.add, operator.sub, operator.mul, operator.floordiv], ids=lambda f: f.__name__
)
def test_operators_on_two_arguments(function) -> None:
    kernels = {
        operator.add: mlirad.jit(lambda x, y: x + y),
        operator.sub: mlirad.jit(lambda x, y: x - y),
        operator.mul: mlirad.jit(lambda x, y: x * y),
        operator.floordiv: mlirad.jit(lambda x, y: x // y),
    }
    for x in EDGES:
        for y in EDGES:
            if function is not operator.floordiv or y:
                same_or_overflow(kernels[function], function, x, y)


@pytest.mark.parametrize("c", [LOWEST, LOWEST + 1, -(2**32), -7, -2, -1, 0, 1, 2, 3, 7, 2**32, HIGHEST])
def test_operators_on_an_argument_and_a_constant(c) -> None:
    functions = [
        lambda x: x + c,
        lambda x: c + x,
        lambda x: x - c,
        lambda x: c - x,
        lambda x: x * c,
        lambda x: c * x,
        lambda x: x // c,
        lambda x: c // x,
    ]
    near = [] if c == 0 else [q + d for q in (HIGHEST // c, LOWEST // c) for d in (-1, 0, 1)]
    near += [q + d for q in (HIGHEST - c, LOWEST - c, c - HIGHEST, c - LOWEST) for d in (-1, 0, 1)]
    for number, function in enumerate(functions):
        kernel = mlirad.jit(function)
        for x in [*EDGES, *(x for x in near if LOWEST <= x <= HIGHEST)]:
            if (number == 6 and c == 0) or (number == 7 and x == 0):
                continue
            same_or_overflow(kernel, function, x)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: -x,
        lambda x: abs(x),
        lambda x: ~x,
        lambda x: x % -1,
        lambda x: x % 7,
        lambda x: divmod(x, -1)[0],
        lambda x: x**2,
        lambda x: x**3,
        lambda x: x**7,
        lambda x: pow(x, 63),
        lambda x: sum([x, x]),
        lambda x: True + x,
    ],
)
def test_functions_of_one(function) -> None:
    kernel = mlirad.jit(function)
    roots = [s * r + d for k in (2, 3, 7, 63) for r in [round(2 ** (63 / k))] for s in (1, -1) for d in (-1, 0, 1)]
    for x in [*EDGES, *roots]:
        same_or_overflow(kernel, function, x)


def test_the_message_has_the_numbers_and_the_line() -> None:
    def f(n):
        m = n - 5
        return m * n

    with pytest.raises(OverflowError, match=r"the Python integer 4611686018427387899 \* 4611686018427387904") as raised:
        mlirad.jit(f)(2**62)
    text = "\n".join([str(raised.value), *getattr(raised.value, "__notes__", [])])
    assert f"line {f.__code__.co_firstlineno + 2}" in text or f":{f.__code__.co_firstlineno + 2}" in text


def test_a_branch_that_is_not_taken_does_not_raise() -> None:
    def f(n):
        if n < 1000:
            return n
        m = n * n
        return m if m > 0 else n + 2**64

    kernel = mlirad.jit(f)
    assert kernel(-(2**40)) == -(2**40)
    assert kernel(2**20) == 2**40
    with pytest.raises(OverflowError):
        kernel(2**40)


def test_loops() -> None:
    def factorial(n):
        p = 1
        for i in range(1, n + 1):
            p *= i
        return p

    def doubled(n):
        k = 1
        while k < n:
            k += k
        return k

    for n in (0, 1, 20, 21):
        same_or_overflow(mlirad.jit(factorial), factorial, n)
    for n in (1, 2**62, 2**62 + 1):
        same_or_overflow(mlirad.jit(doubled), doubled, n)


def test_a_counter_of_a_while_that_nothing_bounds() -> None:
    def f(x, k):
        while x > 1.0:
            x = x / 2
            k += 1
        return k

    kernel = mlirad.jit(f)
    assert kernel(1024.0, 5) == 15
    assert kernel(1024.0, HIGHEST - 10) == HIGHEST
    with pytest.raises(OverflowError):
        kernel(1024.0, HIGHEST - 9)


def test_counters_that_need_no_check_count_right() -> None:
    def f(x, k, n):
        for i in range(n):
            if x[i] > 0:
                k += 3
            else:
                k -= 1
            for _ in range(4):
                k += 1
        return k

    x = np.array([1.0, -1.0, 2.0, 3.0])
    kernel = mlirad.jit(f)
    for n in range(5):
        assert kernel(x, 7, n) == f(x, 7, n)
    last = f(x, 0, 4)
    assert kernel(x, HIGHEST - last, 4) == HIGHEST
    with pytest.raises(OverflowError):
        kernel(x, HIGHEST - last + 1, 4)


@pytest.mark.parametrize(
    "arguments",
    [
        (1, 10, 3),
        (10, 1, -3),
        (10, 1, 3),
        (1, 10, -3),
        (HIGHEST - 5, HIGHEST, 2),
        (LOWEST + 5, LOWEST, -2),
        (HIGHEST, LOWEST, -(2**62)),
        (LOWEST, HIGHEST, 2**62),
        (5, LOWEST, 1),
    ],
)
def test_ranges(arguments) -> None:
    """The numbers of a range are never checked; its length is."""

    def count(a, b, c):
        k, last = 0, 0
        for i in range(a, b, c):
            k += 1
            last = i
        return k, last

    start, stop, _ = arguments
    if LOWEST <= stop - start <= HIGHEST:
        assert mlirad.jit(count)(*arguments) == count(*arguments)
    else:
        with pytest.raises(OverflowError, match="the length of a range"):
            mlirad.jit(count)(*arguments)


@pytest.mark.parametrize("step", [1, 2, 3, -1, -2])
def test_ranges_of_a_known_step(step) -> None:
    def total(a, b):
        s = 0
        for i in range(a, b, step):
            s = s * 3 + i
        for i in reversed(range(a, b, step)):
            s = s * 3 + i
        return s

    kernel = mlirad.jit(total)
    for a, b in ((0, 7), (7, 0), (3, 3), (-2, 4), (4, -2)):
        assert kernel(a, b) == total(a, b)


def test_enumerate_from_a_number() -> None:
    def f(x, start):
        last = 0
        for i, v in enumerate(x, start):
            last = i + int(v)
        return last

    kernel = mlirad.jit(f)
    assert kernel(np.zeros(3), 4) == 6
    assert kernel(np.zeros(3), HIGHEST - 2) == HIGHEST
    with pytest.raises(OverflowError):
        kernel(np.zeros(3), HIGHEST - 1)


def test_an_unsigned_integer_that_is_too_large() -> None:
    for f in (lambda x: int(x), lambda x: x.item()):
        kernel = mlirad.jit(f)
        assert kernel(np.uint64(2**63 - 1)) == 2**63 - 1
        with pytest.raises(OverflowError):
            kernel(np.uint64(2**63))


def test_numpys_integers_wrap() -> None:
    with np.errstate(all="ignore"):
        highest, lowest = np.int64(HIGHEST), np.int64(LOWEST)
        assert mlirad.jit(lambda x: x + 1)(highest) == LOWEST
        assert mlirad.jit(lambda x: -x)(lowest) == LOWEST
        assert mlirad.jit(lambda x: abs(x))(lowest) == LOWEST
        assert mlirad.jit(lambda x: x * x)(np.int64(2**32)) == 0
        assert mlirad.jit(lambda x: x**2)(np.int64(2**32)) == 0
        assert mlirad.jit(lambda n: np.add(n, 1))(HIGHEST) == LOWEST


def test_derivatives_pass_the_checks_once() -> None:
    def f(x, k):
        s = 0.0
        for i in range(3):
            s += x * (i * k)
        return s * s

    kernel = mlirad.grad(f)
    assert kernel(2.0, 5) == 2 * 15 * 15 * 2.0
    with pytest.raises(OverflowError):
        kernel(2.0, 2**62)


# --- what is left of the checks -----------------------------------------------------------------------------------


def checks_in_loops(module: ModuleOp) -> list[Operation]:
    def is_in_loop(op: Operation | None) -> bool:
        return op is not None and (isinstance(op, scf.ForOp | scf.WhileOp) or is_in_loop(op.parent_op()))

    return [op for op in module.walk() if isinstance(op, CheckOp) and is_in_loop(op)]


def recurrence(x, n):
    y = np.zeros(100)
    for i in range(1, n):
        y[i] = y[i - 1] * 0.5 + x[i]
    return np.sum(y)


def stencil(x, n):
    y = np.zeros(100)
    for i in range(1, n - 1):
        y[i] = x[i - 1] - 2 * x[i] + x[i + 1]
    return np.sum(y * y)


def flattened(x, n):
    s = 0.0
    for i in range(10):
        for j in range(10):
            s += x[i * 10 + j] ** n
    return s


def backwards(x, n):
    s = 0.0
    for i in range(n - 1, -1, -1):
        s = s * 0.9 + x[i] * x[i - 1]
    return s


def between(x, n):
    s = 0.0
    for i in range(n // 3, n - 1):
        s = s * 0.9 + x[i] * x[i + 1]
    return s


def triangular(x, n):
    s = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            s += x[i] * x[j] * (j - i)
    return s


def counted(x, n):
    k, s = 0, 0.0
    for i in range(n):
        if x[i] > 0.5:
            k += 1
            s += x[i] * x[i]
    return s / k


def while_guarded(x, n):
    i, s = 0, 0.0
    while i + 1 < n:
        s += x[i] * x[i + 1]
        i += 1
    return s


def strides(x, n):
    s = 0.0
    for i in range(0, n, 2):
        s += x[i] * x[i + 1]
    return s


def numbered(x, n):
    s = 0.0
    for i, v in enumerate(x):
        s += v * (i + 1) * n
    return s


@pytest.mark.parametrize(
    "function",
    [
        recurrence,
        stencil,
        flattened,
        backwards,
        between,
        triangular,
        counted,
        while_guarded,
        strides,
        numbered,
    ],
    ids=lambda f: f.__name__,
)
def test_no_check_is_left_in_a_loop_that_is_bounded(function) -> None:
    x = np.linspace(0.1, 1.0, 100)
    n = 2 if function is flattened else 60
    for kernel in (mlirad.jit(function), mlirad.grad(function)):
        module = kernel.lower(x, n).module.clone()
        pipeline.optimize(pipeline.differentiate(module))
        assert checks_in_loops(module) == []
    np.testing.assert_allclose(mlirad.jit(function)(x, n), function(x, n), rtol=1e-13)


def test_a_check_that_cannot_be_proved_is_left_once_and_not_in_the_reverse_sweep() -> None:
    def f(x, k):
        s = x
        while s > 1.0:
            s = s * 0.5
            k += 1
        return s * k

    for kernel in (mlirad.jit(f), mlirad.grad(f)):
        module = kernel.lower(40.0, 3).module.clone()
        pipeline.optimize(pipeline.differentiate(module))
        assert len(checks_in_loops(module)) == 1
    assert mlirad.grad(f)(40.0, 3) == 9 / 64
