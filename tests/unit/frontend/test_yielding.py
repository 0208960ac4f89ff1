"""Functions with `yield`, in loops and in functions that consume them, beside Python's own."""

from __future__ import annotations

import importlib.util
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from as_in_python import X, is_as_in_python

import mlirad


def squares(x):
    for v in x:
        yield v * v


def same_array(x):
    y = x.copy()
    for _ in range(3):
        y *= 1.5
        yield y


def newton(x):
    y = x
    while True:
        y = y - (y * y - x) / (2 * y)
        yield y


def walked(node):
    if isinstance(node, tuple):
        yield from walked(node[0])
        yield from walked(node[1])
    else:
        yield node


def nested(x, d):
    if d == 0:
        yield x[0]
        return
    for v in nested(x, d - 1):
        yield v * x[d]
    yield x[d]


class Doubled:
    def __init__(self, x):
        self.x = x

    def __iter__(self):
        for v in self.x:
            yield v * 2


def leaves_in_all_ways(x):
    total = 0.0
    for a in squares(x):
        for k in range(3):
            for b in squares(x[:3]):
                if b > a:
                    break
                for c in squares(x[:2]):
                    if c * k > 5:
                        continue
                    if c * b > 30:
                        return total * c
                    total += a * b * c * k
            else:
                total += 0.5
        if a * total > 1e6:
            return total * a
    return total


def stops_when_it_converges(x):
    old = y = x[4]
    for y in newton(x[4]):
        if abs(y - old) < 1e-13:
            break
        old = y
    return y


def returns_from_both_ends(x):
    for i, w in enumerate(squares(x), 1):
        if w > 12.0:
            return w * i
    else:
        return x[0] * 7


def both_change_an_array(x):
    y = x.copy()

    def running_sums():
        for i in range(4):
            y[i + 1] += y[i]
            yield y[i]

    total = 0.0
    for i, v in enumerate(running_sums()):
        y[i] *= 2
        total += v * y[i + 1]
    return total + y.sum()


def one_array_again_and_again(x):
    return np.sum(sum(same_array(x))) + np.sum(list(same_array(x))) + sum([np.sum(y) for y in same_array(x)])


def consumed_by_functions(x):
    first, *rest = squares(x)
    found = [w for v in x for w in squares(x[:2]) if w < v + 0.5]
    total = max(squares(x)) * min(squares(x)) + first + len(rest) + sum(found) + len(list(squares(x)))
    for a, b in zip(x[:3], squares(x), strict=False):
        total += a * b
    for a, b in zip(squares(x), range(2), strict=False):
        total += a * b
    return total + dict(named(x))["b"] if any(w > 20 for w in squares(x)) else total


def named(x):
    yield "a", x[0]
    yield "b", x[1] * x[2]


def recursions(x):
    total = 0.0
    for leaf in walked(((0, 1), (2, (3, 4)))):
        total = 0.5 * total + x[leaf]
    for v in nested(x, 3):
        total = 0.3 * total + v
    return total


def of_a_class(x):
    doubled = Doubled(x)
    return sum(doubled) + sum(v * w for v, w in zip(doubled, x, strict=False)) + sum(v for v in doubled if v > 3)


def generator_expressions(x):
    y = x.copy()
    total = 0.0
    for k in (k for k in range(len(x)) if k != 2):
        total += x[k] ** k
    for v in (v * y[0] for v in y if v > 1.5):  # each is multiplied by the first element as it is then
        y[0] += 0.25 * v
        if y[0] > 40.0:
            break
        total += v
    return total + y[0]


def windows(items, n):
    window = deque(maxlen=n)
    for v in items:
        window.append(v)
        if len(window) == n:
            yield sum(window) / n


def generators_of_generators(x):
    return np.prod(list(windows(squares(x), 2))) + sum(windows(x, 3))


@pytest.mark.parametrize(
    "function",
    [
        leaves_in_all_ways,
        stops_when_it_converges,
        returns_from_both_ends,
        both_change_an_array,
        one_array_again_and_again,
        consumed_by_functions,
        recursions,
        of_a_class,
        generators_of_generators,
        generator_expressions,
    ],
    ids=lambda each: each.__name__,
)
def test_generators(function: Callable[..., Any]) -> None:
    is_as_in_python(function)
    is_as_in_python(function, X[::-1].copy())


def used_twice(x):
    values, v = squares(x), 0.0
    for v in values:
        if v > 5.0:
            break
    return sum(values) + v


def inside_try(x):
    def guarded():
        try:
            yield x[0]
        finally:
            pass

    return sum(guarded())


def taken_twice(x):
    g = squares(x)
    return next(g) + next(g)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (used_twice, "used up after its first use"),
        (inside_try, "yield inside `try` or `with`"),
        (taken_twice, "used up after its first use"),
        (lambda x: squares(x), "cannot return a generator"),
        (lambda x: {k: v for k, v in named(x)}["a"], "write a loop"),  # noqa: C416  # a comprehension is the subject
        (squares, "generator"),
    ],
)
def test_what_is_refused(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(mlirad.CompileError, match=message):
        mlirad.jit(function)(X)


class _Drawn:
    """A generator and a loop over it, drawn at random. Both change the array y."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)

    def pick(self, *choices: str) -> str:
        return str(self.rng.choice(choices))

    def yielding(self, depth: int) -> list[str]:
        k = int(self.rng.integers(5))
        inner = ["    " + line for line in self.yielding(depth - 1)] if depth else ["    yield s"]
        return {
            "yield": [f"yield s + y[{k}]"],
            "change": [f"y[{k}] = y[{k}] * 0.5 + s", f"yield y[{k}]"],
            "if": [f"if y[{k}] > {k}.3:", *inner, "else:", "    s = s * 0.5"],
            "for": [f"for j in range({k % 3}):", "    s = s + 0.25", *inner],
            "while": [f"while s < {k}.5:", "    s = s + 0.75", *inner],
            "return": [f"if s > {k + 4}.1:", "    return"],
            "from": ["yield from drawn(y, s * 0.5, n + 1)"],
        }[self.pick("yield", "change", "if", "for", "while", "return", "from")]

    def consuming(self, depth: int) -> list[str]:
        k = int(self.rng.integers(5))
        inner = ["    " + line for line in self.consuming(depth - 1)] if depth else ["    t = t + v"]
        return {
            "add": [f"t = t * 0.9 + v * y[{k}]"],
            "change": [f"y[{k}] = y[{k}] * 0.75 + v * 0.1"],
            "break": [f"if v * t > {k}.2:", "    break"],
            "continue": [f"if v > {k}.7:", "    continue"],
            "return": [f"if t > {k + 7}.3:", "    return t * y[0] + v"],
            "if": [f"if t < {2 * k}.9:", *inner],
            "for": [f"for i in range({k % 3}):", *inner],
            "loop": ["for v in drawn(y, v * 0.3, 1):" if depth else "for i in range(2):", *inner],
        }[self.pick("add", "change", "break", "continue", "return", "if", "for", "loop")]

    def text(self) -> str:
        yields = [line for _ in range(2) for line in self.yielding(1)]
        body = [line for _ in range(2) for line in self.consuming(1)]
        head = ["def drawn(y, s, n):", "    if n == 2:", "        yield s", "        return"]
        loop = ["def f(x):", "    y, t, v = x.copy(), 0.0, 0.0", "    for v in drawn(y, x[1], 0):"]
        end = ["    else:", "        t = t + 1.5", "    return t + v + y.sum()"]
        return "\n".join(
            [*head, *("    " + line for line in yields), *loop, *("        " + line for line in body), *end, ""]
        )


@pytest.mark.parametrize("seed", range(3))
def test_random_generators(seed: int, tmp_path: Path) -> None:
    place = tmp_path / f"drawn_{seed}.py"
    place.write_text(_Drawn(seed).text())
    spec = importlib.util.spec_from_file_location(place.stem, place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for x in (X * 0.3, X[::-1] * 0.45):
        is_as_in_python(module.f, x)
