"""Values that a loop passes from name to name need few passes over its body, and have Python's results."""

from __future__ import annotations

import dataclasses
import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import random_moves

import mlirad
from mlirad.frontend.interpreter.loops import loop_ops
from mlirad.testing.interpreted import Interpreted

START = np.array([0.0, 0.25, 0.5])


def compiled(text: str, name: str) -> Callable[..., Any]:
    """A function f defined by a text, which the compiler finds."""
    text = f"import numpy as np\n{text}"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"START": START}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


def shared(count: int) -> str:
    """Names that initially refer to one array."""
    names = [f"s{k}" for k in range(count)]
    shift = [f"        {names[k]} = {names[k - 1]}" for k in range(count - 1, 0, -1)]
    lines = [f"    {' = '.join(names)} = np.zeros(3)", "    for i in range(n):", *shift]
    lines += [f"        s0 = q + 0.25 * np.sin(s{count - 1})", f"    return np.sum({' + '.join(names)})"]
    return "\n".join(["def f(q, n):", *lines, ""])


def captured(count: int) -> str:
    """Every third name begins as a captured array, and the loop is a `while`."""
    names = [f"s{k}" for k in range(count)]
    lines = [f"    {name} = {'START' if k % 3 == 0 else f'{k} * np.ones(3)'}" for k, name in enumerate(names)]
    lines += ["    while n > 0:", f"        {', '.join(names)} = q + 0.25 * {names[-1]}, {', '.join(names[:-1])}"]
    lines += ["        n -= 1", f"    return np.sum({' - 0.5 * '.join(names)})"]
    return "\n".join(["def f(q, n):", *lines, ""])


def rows(count: int) -> str:
    names = [f"s{k}" for k in range(count)]
    lines = [f"    table = q * np.arange({3.0 * count}).reshape({count}, 3)"]
    lines += [f"    {name} = table[{k}]" for k, name in enumerate(names)]
    lines += ["    for i in range(n):", f"        {', '.join(names)} = q + 0.25 * {names[-1]}, {', '.join(names[:-1])}"]
    return "\n".join(["def f(q, n):", *lines, f"    return np.sum({' - 0.5 * '.join(names)})", ""])


def listed(count: int) -> str:
    lines = ["    zero = np.zeros(3)", f"    s = [{', '.join(['zero'] * count)}]", "    for i in range(n):"]
    lines += [f"        s = [q + 0.25 * s[{count - 1}], *s[:{count - 1}]]"]
    return "\n".join(
        ["def f(q, n):", *lines, f"    return np.sum(s[0]) + np.sum(s[{count - 1}] * s[{count // 2}])", ""]
    )


def keyed(count: int) -> str:
    lines = [
        "    zero = START",
        f"    s = {{{', '.join(f'{k}: zero' for k in range(count))}}}",
        "    for i in range(n):",
    ]
    lines += [f"        new = q + 0.25 * s[{count - 1}]"]
    lines += [f"        s[{k}] = s[{k - 1}]" for k in range(count - 1, 0, -1)]
    lines += ["        s[0] = new"]
    return "\n".join(
        ["def f(q, n):", *lines, f"    return np.sum(s[0]) + np.sum(s[{count - 1}] * s[{count // 2}])", ""]
    )


def types(count: int) -> str:
    """Python numbers that become NumPy numbers, one after the other."""
    names = [f"s{k}" for k in range(count)]
    lines = [f"    {' = '.join(names)} = 0", "    for i in range(n):"]
    lines += [f"        {', '.join(names)} = np.sin(q) + 0.25 * {names[-1]}, {', '.join(names[:-1])}"]
    return "\n".join(["def f(q, n):", *lines, f"    return {' - 0.5 * '.join(names)}", ""])


def nested(count: int) -> str:
    names = [f"s{k}" for k in range(count)]
    lines = [f"    {' = '.join(names)} = START", "    for i in range(n):", "        for k in range(2):"]
    lines += [f"            {', '.join(names)} = q + 0.25 * {names[-1]}, {', '.join(names[:-1])}"]
    return "\n".join(["def f(q, n):", *lines, f"    return np.sum({' - 0.5 * '.join(names)})", ""])


def under_if(count: int) -> str:
    names = [f"s{k}" for k in range(count)]
    shift = [f"            {names[k]} = {names[k - 1]}" for k in range(count - 1, 0, -1)]
    lines = [f"    {name} = {k} * np.ones(3)" for k, name in enumerate(names)]
    lines += ["    for i in range(n):", "        if i % 3 != 1:", *shift]
    lines += [f"            s0 = q + 0.25 * np.sin(s{count - 1})", f"    return np.sum({' - 0.5 * '.join(names)})"]
    return "\n".join(["def f(q, n):", *lines, ""])


def captured_under_if(count: int) -> str:
    """Names that initially refer to one array, all moved at once under a condition, behind an unrelated if."""
    names = [f"s{k}" for k in range(count)]
    lines = [f"    {' = '.join(names)} = START", "    top = 0.0", "    for i in range(n):"]
    lines += ["        if s0[0] > top:", "            top = s0[0]", "        if top < 9.0:"]
    lines += [f"            {', '.join(names)} = q + 0.75 * {names[-1]}, {', '.join(names[:-1])}"]
    lines += [f"    return top + np.sum({' - 0.5 * '.join(names)})"]
    return "\n".join(["def f(q, n):", *lines, ""])


def dict_under_if(count: int) -> str:
    lines = [f"    s = {{{', '.join(f'{k}: {k} * np.ones(3)' for k in range(count))}}}", "    for i in range(n):"]
    lines += [f"        new = q + 0.25 * s[{count - 1}]", "        if new[0] < 2.0:"]
    lines += [f"            s[{k}] = s[{k - 1}]" for k in range(count - 1, 0, -1)]
    lines += ["            s[0] = new", "        else:", "            s[0] = 0.5 * new"]
    return "\n".join(
        ["def f(q, n):", *lines, f"    return np.sum(s[0]) + np.sum(s[{count - 1}] * s[{count // 2}])", ""]
    )


UNDER_IF = [under_if, captured_under_if, dict_under_if]
CHAINS = [shared, captured, rows, listed, keyed, types, nested, *UNDER_IF]


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts the passes over loop bodies."""
    made: list[int] = []
    one_pass = loop_ops.one_pass

    def counted(context, loop, header):
        made.append(loop.node.lineno)
        return one_pass(context, loop, header)

    monkeypatch.setattr(loop_ops, "one_pass", counted)
    return made


@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: chain.__name__)
def test_passes_do_not_grow_with_a_chain(chain: Callable[[int], str], passes: list[int]) -> None:
    counts = []
    for size in (5, 23):
        passes.clear()
        text = mlirad.jit(compiled(chain(size), f"<{chain.__name__} {size}>")).lower(0.3, 211).as_text("tensor")
        counts.append(len(passes))
        assert text.count("scf.for") + text.count("scf.while") == (2 if chain is nested else 1)
    assert counts[0] == counts[1] <= (6 if chain in (nested, *UNDER_IF) else 3)


@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: chain.__name__)
def test_a_chain_has_the_value_of_python(chain: Callable[[int], str]) -> None:
    f = compiled(chain(6), f"<{chain.__name__} 6>")
    kernel = mlirad.jit(f)
    for trips in (0, 1, 3, 9):
        assert kernel(0.3, trips) == pytest.approx(f(0.3, trips), rel=1e-12)


@pytest.mark.parametrize(
    "chain", [captured, rows, keyed, captured_under_if, dict_under_if], ids=lambda chain: chain.__name__
)
def test_the_derivative_of_a_chain(chain: Callable[[int], str]) -> None:
    f = compiled(chain(4), f"<{chain.__name__} 4>")
    reverse, forward = mlirad.grad(f)(0.3, 5), mlirad.jvp(f, (0.3, 5), (1.0, None))[1]
    step = 1e-6
    slope = (f(0.3 + step, 5) - f(0.3 - step, 5)) / (2 * step)
    assert reverse == pytest.approx(forward, rel=1e-12, abs=1e-12)
    assert forward == pytest.approx(slope, rel=1e-6, abs=1e-8)


def test_the_types_of_a_chain_are_those_of_python() -> None:
    def f(q, n):
        a, b, c, d = 0.0, 0.0, 1, 2
        for _ in range(3):
            a, b, c, d = np.float32(q), a, b, float(c)
        return a, b, c, d

    found, wanted = mlirad.jit(f)(0.5, 3), f(0.5, 3)
    assert [type(each) for each in found] == [type(each) for each in wanted]
    assert found == wanted


@pytest.mark.full
def test_types_that_move_by_arithmetic_in_a_long_tuple() -> None:
    count = 60  # each takes a pass
    items = ", ".join(f"0.5 * s[{k}] + 0.25 * s[{k - 1}]" for k in range(1, count))
    lines = [
        f"s = ({', '.join(['0.0'] * count)})",
        "for i in range(n):",
        f"    s = (np.sin(q + s[{count - 1}]), {items})",
    ]
    f = compiled("\n".join(["def f(q, n):", *(f"    {line}" for line in [*lines, "return s[3] + s[9]"]), ""]), "<long>")
    kernel = mlirad.jit(f)
    assert kernel.lower(0.3, 211).as_text("tensor").count("scf.for") == 1
    assert kernel(0.3, 12) == pytest.approx(f(0.3, 12), rel=1e-12)


def test_arrays_that_are_handed_on_are_written_as_in_python() -> None:
    def f(x, n):
        a = b = c = d = x
        for i in range(n):
            d = c
            c = b
            b = a
            if i % 2 == 0:
                a = a + 0.5
        d[0] += 1.0
        b[1] -= 2.0
        return np.sum(a) + 2 * np.sum(b * b) + 3 * np.sum(c * c * c) + 5 * np.sum(d)

    kernel = mlirad.jit(f)
    for trips in range(6):
        ours, own = np.array([0.1, 0.2, 0.4]), np.array([0.1, 0.2, 0.4])
        assert kernel(ours, trips) == pytest.approx(f(own, trips), rel=1e-12)
        assert np.array_equal(ours, own)


def test_arrays_that_rotate_and_are_written() -> None:
    def f(x, y, n):
        a, b, c, d = x, y, x, x[::-1]
        for i in range(n):
            a, b, c, d = b, c, d, a
            a[0] = a[0] * 0.5 + d[1]
            c = c + 0.25 if i == 2 else c
        return np.sum(a) + 2 * np.sum(b * b) + 3 * np.sum(c * c * c) + 5 * np.sum(d)

    kernel = mlirad.jit(f)
    for trips in range(5):
        ours, own = [[np.array([0.1, 0.2, 0.4]), np.array([1.0, 2.0, 4.0])] for _ in range(2)]
        assert kernel(*ours, trips) == pytest.approx(f(*own, trips), rel=1e-12)
        assert all(np.array_equal(x, y) for x, y in zip(ours, own, strict=True))


def test_a_number_that_is_needed_is_not_carried_because_of_a_move() -> None:
    def f(x, n):
        a = b = c = 0
        axis = 1
        for i in range(n):
            c, b, a = b, a, i
            last = axis
            axis = last
            x = x - 0.1 * np.sum(x, axis=axis, keepdims=True)
        return np.sum(x * c) + b + a

    x = np.arange(6.0).reshape(2, 3)
    assert mlirad.jit(f)(x, 300) == pytest.approx(f(x, 300), rel=1e-10)


@dataclasses.dataclass
class Line:
    new: np.ndarray
    old: np.ndarray
    older: np.ndarray
    oldest: np.ndarray


def test_the_fields_of_a_dataclass_that_begin_as_one_array(passes: list[int]) -> None:
    def f(q, n):
        zero = np.zeros(2)
        line = Line(zero, zero, zero, zero)
        for i in range(n):
            line.oldest = line.older
            line.older = line.old
            line.old = line.new
            line.new = q * i + 0.5 * line.oldest
        line.older[0] += 1.0
        return np.sum(line.new * 2 + line.old * 3 + line.older * 5 + line.oldest * 7)

    kernel = mlirad.jit(f)
    for trips in range(5):
        assert kernel(0.3, trips) == pytest.approx(f(0.3, trips), rel=1e-12)
    assert len(passes) <= 3


def test_arrays_that_are_swapped_if_something_holds_are_written() -> None:
    def f(x, y, n):
        a, b, c = x, y, 0.5 * y
        for i in range(n):
            if a[0] < b[0]:
                a, b, c = b, c, a
            else:
                b, c = c, b
            a[1] = a[1] + 0.5 * c[0]
            b[0] = b[0] * 0.75 + 0.25
        a[2] += 3.0
        return np.sum(a) + 2 * np.sum(b * b) + 3 * np.sum(c * c * c)

    kernel = mlirad.jit(f)
    for trips in range(6):
        ours, own = [[np.array([0.1, 0.2, 0.4]), np.array([1.0, 2.0, 4.0])] for _ in range(2)]
        assert kernel(*ours, trips) == pytest.approx(f(*own, trips), rel=1e-12)
        assert all(np.array_equal(x, y) for x, y in zip(ours, own, strict=True))


def test_numbers_that_an_if_leaves_as_they_are() -> None:
    def f(q, n):
        a = b = c = 0.0
        last = 0.25
        for i in range(n):
            scale = 0.5
            if i % 2 == 0:
                c = b
            b = a
            a = scale * q + np.sin(c)
            last = scale
        return a + 2 * b + 3 * c + 5 * last

    kernel = Interpreted(f, "tensor")
    for trips in range(5):
        assert kernel(0.3, trips) == pytest.approx(f(0.3, trips), rel=1e-12)


def require_as_in_python(seed: int, size: int | None = None) -> None:
    """Values, and writes to arguments and captured arrays."""
    model = random_moves.moves(seed, size)
    kernel = Interpreted(model.function, "tensor")
    start = model.function.__globals__["START"]
    for trips in (0, 1, 2, 5):
        found = []
        for function in (kernel, model.function):
            arrays = [np.array([0.1, 0.2, 0.4]), np.array([1.0, -2.0, 0.5])]
            start[:] = [0.5, -0.25, 1.0]
            found.append([function(*arrays, trips), *arrays, start.copy()])
        for ours, own in zip(*found, strict=True):
            assert np.allclose(ours, own, rtol=1e-9, atol=1e-12, equal_nan=True), (seed, trips, model.text)


def test_random_moves_are_those_of_python() -> None:
    for seed in range(100, 112):
        require_as_in_python(seed, size=3)


@pytest.mark.full
@pytest.mark.parametrize("first", range(200, 600, 20))
def test_four_hundred_random_moves(first: int) -> None:
    for seed in range(first, first + 20):
        require_as_in_python(seed, size=3)


# Nested loops in which a name is another array on some paths: its old array stays visible to the caller, or in a view.
REBOUND = {
    "rows of it are gone over": """
def f(x, y):
    for row in y:
        for _ in row:
            for v in x:
                y += 0.5 * v
                y = np.tanh(y)
    return np.sum(y)
""",
    "a view of it stays": """
def f(x, y):
    total, row = 0.0, y[0]
    for k in range(len(x)):
        y = np.sin(y) - 0.5 * y
        for i in range(len(x)):
            for v, row in zip(x, y):
                row[row > 0.5] = v
                y += 0.25 * i
    return np.sum(y) + np.sum(row)
""",
    "some paths only": """
def f(x, y):
    a = x[0]
    while a < 3.0:
        for k in range(len(x)):
            while k > 0.5:
                y = y * np.mean(y)
                k //= 2
            for i in range(3):
                y[1] = 0.25 * a + i
        a += 1.0
    return np.sum(y)
""",
    "the caller's, an older one and a new one": """
def f(x, y):
    old = y
    for v in x:
        for _ in range(len(x)):
            if v > 0.5:
                old, y = y, 0.5 * y + v
            y[0] += 0.125 * np.sum(old)
    return np.sum(y) + np.sum(old)
""",
}


@pytest.mark.parametrize("name", REBOUND)
def test_names_that_become_other_arrays_in_nested_loops(name: str, passes: list[int]) -> None:
    f = compiled(REBOUND[name], f"<{name}>")
    kernel = mlirad.jit(f)
    x, y = np.array([0.75, 0.25, 1.0]), np.linspace(-0.5, 1.0, 12).reshape(4, 3)
    text = kernel.lower(x, y).as_text("tensor")
    assert text.count("scf.for") + text.count("scf.while") >= 2
    assert len(passes) <= 60, passes  # 4 loops or more: thousands, if the passes of nested searches multiply
    for f_y, k_y in ((y.copy(), y.copy()), (y[::-1].copy(), y[::-1].copy())):
        assert kernel(x, k_y) == pytest.approx(f(x, f_y), rel=1e-12)
        np.testing.assert_allclose(k_y, f_y, rtol=1e-12)


@pytest.mark.parametrize("name", REBOUND)
def test_their_derivatives(name: str) -> None:
    f = compiled(REBOUND[name], f"<{name}>")
    x, y = np.array([0.75, 0.25, 1.0]), np.linspace(-0.5, 1.0, 12).reshape(4, 3)

    def by_y(y):
        return f(x, y.copy())

    along = np.cos(np.arange(12.0)).reshape(4, 3)
    forward = mlirad.jvp(by_y, (y,), (along,))[1]
    assert np.sum(mlirad.grad(by_y)(y) * along) == pytest.approx(forward, rel=1e-10, abs=1e-12)
    step = 1e-6
    slope = (by_y(y + step * along) - by_y(y - step * along)) / (2 * step)
    assert forward == pytest.approx(slope, rel=1e-5, abs=1e-7)


def turns(x, y, z, n):
    s, t = 0, 1
    for _ in range(n):
        for _ in range(n):
            if x[0] > 0.5:
                x, y = y, x
            z = x * 2.0
        x, y, z = y, z, x
        s, t = t, s + 1
    return x, y, z, s


def test_numbers_wait_until_arrays_no_longer_move(passes: list[int]) -> None:
    """Trial passes for groups of numbers tell nothing while names still find other arrays in each pass; each one
    searches all inner loops again (138 passes here)."""
    arrays = [np.arange(3.0) + k for k in range(3)]
    kernel = mlirad.jit(turns)
    kernel.lower(*arrays, 3)
    assert len(passes) <= 90
    for got, expected in zip(kernel(*arrays, 3), turns(*arrays, 3), strict=True):
        np.testing.assert_array_equal(got, expected)
