"""`print` in compiled functions: the text is Python's, wherever the print is, and its errors are at the user's line."""

# Formats of all kinds are tested, including wrong ones.
# ruff: noqa: UP031, UP032, F507, F524

from __future__ import annotations

import contextlib
import io
import sys
import threading
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.testing.interpreted import Interpreted

Pair = namedtuple("Pair", "a b")


@dataclass
class Point:
    x: Any
    y: Any = 1
    hidden: Any = field(default=0, repr=False)


class Named:
    def __init__(self, x: Any):
        self.x = x

    def __str__(self) -> str:
        return f"<{self.x:.2f}>"


def printed(function: Callable[..., Any], *args: Any) -> str:
    """The output of a call to both files, with its exception, if any, as the last line."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            function(*args)
        except ArithmeticError as error:
            out.write(str(error))
    return out.getvalue()


def everything(x, n, small):
    s = np.float64(0)
    print("start", x, x.shape, n, n / 2, small, small[0], sep="|")
    for i in range(n):
        s = s + np.sin(x[i])
        print(f"step {i}: s = {s:.3f}", end="; ")
        x[i] = s
    print()
    print(x[::-1], x[::2], x[:0], x.reshape(2, -1), np.array(s), x.dtype, x > 0.5, None, True)
    print([s, 1, "a", (s,), ()], {"k": x, 3: None}, Point(s, x[0]), Pair(n, small[1]), Named(s))
    print("%5.2f and %d%% of %-12s|%r" % (s, n, x[:1], x[0]), "%(a)s" % {"a": s}, "%s" % x)
    print("{:>10} {y!r} {{}} {:e}".format(s, n, y=x[0]), ", ".join([str(s), repr(n), format(s, ".1f")]))
    text = "s is " + str(s) + f" {s!r:>30} {n:05d} {n:x} {x[0] + 1:{6}.{2}f}"
    x[0] = 100  # the text has already been composed
    print(text, file=sys.stderr, flush=True)
    print(float(s), int(s), bool(s > 1), s > 1, np.float32(s), np.uint8(200), np.int8(-3), 10**18 + n, "Ünicode\n\t{}")
    print(small.astype(np.uint8), small.astype(np.float16), small.T, x[1:2, None], np.nan * s, -s * 0, 1e300 * s)
    return s


def test_the_text_is_pythons() -> None:
    """In the call that compiles, in calls without Python, and where NumPy runs the ops one by one."""
    arguments = (np.array([0.1, 0.2, 0.3, 0.4]), 4, np.array([1, 2], np.float32))
    kernel = mlirad.jit(everything)

    def copied() -> tuple[Any, ...]:
        return tuple(x.copy() if isinstance(x, np.ndarray) else x for x in arguments)

    expected = printed(everything, *copied())
    assert expected.count("\n") == 11
    for _ in range(4):
        assert printed(kernel, *copied()) == expected
    assert printed(Interpreted(everything), *copied()) == expected
    with np.printoptions(precision=3, legacy="1.13"):  # whatever NumPy's print options are at the time
        assert printed(kernel, *copied()) == printed(everything, *copied())


def test_pytest_sees_it(capsys: pytest.CaptureFixture[str]) -> None:
    mlirad.jit(lambda x: print(x, "to the file", file=sys.stderr))(1.5)
    assert capsys.readouterr().err == "1.5 to the file\n"


def curve(x):
    s = x[0] * 0
    for i in range(3):
        s = s + np.sin(x[i] * s) + x[i]
        if s > 2:
            print(f"{i}: {s:.6f}")
    print("end")
    return s


def checkpointed(x):
    s = x[0] * 0
    for i in mlirad.checkpointed(range(3), "sqrt"):
        s = s + np.sin(x[i] * s) + x[i]
        if s > 2:
            print(f"{i}: {s:.6f}")
    print("end")
    return s


def test_derivatives_print_once_and_lanes_in_their_order() -> None:
    x, rows = np.array([1.0, 2.0, 3.0]), np.array([[1.0, 0.5, 2.0], [0.0, 0.1, 0.2], [3.0, 1.0, 1.0]])
    once = printed(curve, x)
    assert once.count("\n") == 3
    assert printed(lambda: mlirad.grad(curve)(x)) == once
    assert printed(lambda: mlirad.jvp(curve, (x,), (x,))) == once
    assert printed(lambda: mlirad.grad(checkpointed)(x)) == once
    np.testing.assert_allclose(mlirad.grad(checkpointed)(x), mlirad.grad(curve)(x), rtol=1e-12)
    _, pullback = mlirad.vjp(curve, x)
    assert printed(pullback, 1.0) == ""
    assert printed(lambda: mlirad.vmap(curve)(rows)) == "".join(printed(curve, row) for row in rows)
    assert printed(lambda: mlirad.vmap(lambda v: (print("lane"), v * 2)[1])(rows)) == "lane\n" * 3


def in_order(x, n):
    print("before", x)
    y = 7 // n
    print("after")
    return y


def test_what_stands_before_an_error_is_printed() -> None:
    kernel = mlirad.jit(in_order)
    assert printed(kernel, 1.0, 0).startswith("before 1.0\n") and printed(kernel, 1.0, 2) == "before 1.0\nafter\n"
    assert "integer division" in printed(kernel, 1.0, 0) and "after" not in printed(kernel, 1.0, 0)


class Full:
    def write(self, text: str) -> None:
        raise OSError(28, "No space left on device")


class Calling:
    """A file that calls the kernel that is printing to it."""

    def __init__(self, function: Callable[[], Any]):
        self.function, self.texts = function, list[str]()

    def write(self, text: str) -> None:
        self.texts.append(text)
        if len(self.texts) < 3:
            self.function()


def large_and_small(x):
    y = np.cumsum(x)
    print(y[-1])
    return y


def test_an_error_of_the_file_is_raised_at_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, x = mlirad.jit(large_and_small), np.ones(5)
    for _ in range(3):
        assert printed(kernel, x) == "5.0\n"
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", Full())
            with pytest.raises(OSError, match="No space") as caught:
                kernel(x)
        assert caught.value.errno == 28
        assert "print(y[-1])" in caught.value.__notes__[0] and __file__ in caught.value.__notes__[0]
    file = Calling(lambda: kernel(2 * x))
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", file)
        assert kernel(x).tolist() == [1, 2, 3, 4, 5]
        assert file.texts == ["5.0\n", "10.0\n", "10.0\n"]
        patch.setattr(sys, "stdout", None)  # as in a process without a console
        kernel(x)


def test_threads_print_while_others_compute() -> None:
    kernel, out = mlirad.jit(large_and_small), io.StringIO()
    with contextlib.redirect_stdout(out):
        threads = [threading.Thread(target=lambda: [kernel(np.ones(50_000)) for _ in range(20)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert out.getvalue() == "50000.0\n" * 80


class Plain:
    def __init__(self, x: Any):
        self.x = x


def grows(x):
    found = []
    for v in x:
        if v > 0:
            found.append(v)
    print(found)
    return x


def either(x, n):
    s = 0.0
    for i in range(n):
        s = s + x[i]
    print([s])
    return s


@pytest.mark.parametrize(
    ("function", "args", "what"),
    [
        (lambda x: print(x, file=io.StringIO()), (1.0,), "sys.stdout"),
        (lambda x: print(Plain(x)), (1.0,), "address"),
        (lambda x: print(lambda: x), (1.0,), "cannot be shown as text"),
        (grows, (np.ones(3),), r"np\.array\(xs\)"),
        (either, (np.ones(3), 2), "depending on the path"),
        (lambda x: len(f"{x}"), (1.0,), "length"),
        (lambda x: {f"{x}": 1}, (1.0,), "print it"),
        (lambda x: x if f"{x}" == "1.0" else 2 * x, (1.0,), "print it"),
        (lambda x: print(f"{f'{x}':>10}"), (1.0,), "formatted again"),
    ],
)
def test_what_cannot_be_shown_is_refused_at_the_line(function: Any, args: tuple[Any, ...], what: str) -> None:
    with pytest.raises(mlirad.CompileError, match=what) as caught:
        mlirad.jit(function)(*args)
    assert caught.value.filename == __file__


def wrong_formats(x, n, which):
    if which == 0:
        print(f"{n:.3d}")
    elif which == 1:
        print(f"{x:.3f}")
    elif which == 2:
        print("%d %d" % (n,))
    elif which == 3:
        print("{} {}".format(n))
    else:
        print(f"{n:c}")  # a character that does not exist
    return n


def test_what_python_refuses_is_raised_where_the_program_comes_there() -> None:
    kernel = mlirad.jit(wrong_formats)
    for which in range(5):
        with pytest.raises((TypeError, ValueError, IndexError, OverflowError)) as plain:
            wrong_formats(np.ones(3), -5, which)
        with pytest.raises(type(plain.value)) as compiled:
            kernel(np.ones(3), -5, which)
        said = "\n".join([str(compiled.value), *getattr(compiled.value, "__notes__", ())])
        assert str(plain.value) in said and "print(" in said
