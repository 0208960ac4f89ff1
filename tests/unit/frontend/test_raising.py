"""raise and assert: the exception and its text are Python's, including run-time numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.errors import CompileError
from mlirad.raised_exceptions import exception_class, message_of, name_of_exception
from mlirad.testing.interpreted import Interpreted

X = np.array([-1.5, 2.0, 1e300, np.nan])


def first_element(x, n, t):
    if x[0] < 0:
        raise ValueError(f"negative: {x[0]}")
    return x


def two_of_three(x, n, t):
    raise ArithmeticError(f"step {n} of {len(x)}: {t:8.3f} {{so}} {'text'!r:>8}")


def conversions(x, n, t):
    raise TypeError(f"{x[2]!r} {n!s:>5}")


def an_integer_of_numpy(x, n, t):
    raise LookupError(f"{np.uint8(n) + np.uint8(250)!r} {np.float32(t):.9f}")


def booleans(x, n, t):
    raise RuntimeError(f"{n > 2} {x[1] > 0!r}")


def text_and_number(x, n, t):
    raise KeyError(n)


def braces(x, n, t):
    raise ValueError("{0} {x} {{}}")


def of_numpy(x, n, t):
    raise np.linalg.LinAlgError("Singular matrix")


def without_a_cause(x, n, t):
    raise ValueError("no") from None


def a_class_alone(x, n, t):
    raise StopIteration


def asserted(x, n, t):
    assert n < 3, f"n is {n}"
    return x


def asserted_number(x, n, t):
    assert t < 0.0, t
    return x


READY = ValueError("made before")


def made_before(x, n, t):
    raise READY


RAISING = [
    *(first_element, two_of_three, conversions, an_integer_of_numpy, booleans, text_and_number, braces, of_numpy),
    *(without_a_cause, a_class_alone, asserted, asserted_number, made_before),
]


def raised(function: Callable[..., Any], *args: Any) -> Exception:
    with pytest.raises(Exception) as caught:
        function(*args)
    return caught.value


@pytest.mark.parametrize("function", RAISING, ids=lambda f: f.__name__)
def test_the_exception_is_pythons(function: Callable[..., Any]) -> None:
    args = (X, 3, np.pi)
    expected, found = raised(function, *args), raised(mlirad.jit(function), *args)
    text = str(found.args[0])
    assert type(found) is type(expected)
    place, _, message = text.partition("\n")[0].partition(" ")
    own = str(expected.args[0] if expected.args else "")
    assert message == own.partition("\nassert ")[0]  # pytest adds its own findings about an assert
    assert place.split(":")[0].endswith("test_raising.py") and "raise" in text + "raise" * ("assert" in text)
    interpreted = raised(Interpreted(function), *args)
    assert type(interpreted) is type(expected) and message in str(interpreted.args[0])


def test_what_has_no_place_in_a_message_is_written_as_in_the_source() -> None:
    def many(x, n, t):
        raise ValueError(f"{x} {n} {t} {x[1]} {np.fft.fft(x)}")

    text = str(raised(mlirad.jit(many), X, 3, 0.5))
    assert "{x} 3 0.5 {x[1]} {np.fft.fft(x)}" in text


def test_a_message_costs_no_specialisation() -> None:
    @mlirad.jit
    def root(t):
        if t < 0:
            raise ValueError(f"negative: {t}")
        return np.sqrt(t)

    assert [root(float(k)) for k in range(4)] == [np.sqrt(float(k)) for k in range(4)]
    assert root.cache_info().currsize == 1
    assert "negative: -2.5" in str(raised(root, -2.5))


def test_what_is_asserted_is_differentiated() -> None:
    def cube(x):
        assert x < 10, f"too large: {x}"
        return x * x * x

    assert mlirad.grad(cube)(2.0) == 12.0
    assert "too large: 11.0" in str(raised(mlirad.grad(cube), 11.0))


class Own(ValueError):
    pass


def test_refused() -> None:
    def own(x):
        raise Own("x")

    def two(x):
        raise ValueError("x", 2)

    def caused(x):
        raise ValueError("x") from READY

    def bare(x):
        raise

    def text(x):
        y = f"{x[0]}"
        return len(y)

    for function, message in (
        (own, "only exceptions of Python and NumPy can be raised, and Own is none"),
        (two, "an exception must be raised with a single message"),
        (caused, "`raise ... from` this is not compiled"),
        (bare, "a raise without an exception is not compiled"),
        (text, "the length of text with run-time values, and iterating over it, are not compiled"),
    ):
        with pytest.raises(CompileError, match=message):
            mlirad.jit(function)(X)


def test_templates() -> None:
    bits = int(np.float64(0.1).view(np.int64))
    assert message_of("{{{0}}} {1.float:.3f} {1.float64!r} {2} {x}", [-1, bits]) == "{-1} 0.100 np.float64(0.1) {2} {x}"
    assert message_of("{0.uint64} {0.int8} {0.bool_!r}", [-1, 0]) == f"{2**64 - 1} -1 np.True_"


def test_every_exception_that_one_text_makes_has_a_name() -> None:
    import builtins

    kinds = [each for each in vars(builtins).values() if isinstance(each, type) and issubclass(each, Exception)]
    kinds += [np.linalg.LinAlgError, np.exceptions.AxisError]
    for kind in kinds:
        name = name_of_exception(kind)
        if name is None:
            with pytest.raises(TypeError):
                kind("text")
        else:
            assert exception_class(name) is kind
    assert name_of_exception(Own) is None and name_of_exception(KeyboardInterrupt) is None
