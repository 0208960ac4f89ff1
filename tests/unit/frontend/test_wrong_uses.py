"""What a newcomer writes first: the error says what is wrong and what to write instead. A refusal is no exception of
the program: a `try` may catch only what Python itself would raise."""

# Mistakes are tested.
# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportCallIssue=false
# pyright: reportIndexIssue=false, reportOperatorIssue=false

from __future__ import annotations

import array
import collections
import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.errors import CompileError
from mlirad.frontend.program import libraries
from mlirad.location import SourceLocation

X = np.array([1.0, 2.0, 3.0])


@dataclass
class Weights:
    w: float


def scaled(x, k):
    return x * k


# --- what to write instead --------------------------------------------------------------------------------------


def rows_of_unlike_lengths(x):
    return np.sum(np.array([[1.0, 2.0], [3.0]]) * x)


def array_as_element(x):
    y = np.zeros(3)
    y[0] = x
    return y


def floats_added_to_ints(x):
    y = np.zeros(3, dtype=int)
    y += x
    return y


def zipped_strictly(x):
    return sum(a * b for a, b in zip(x, x[:2], strict=True))


def with_one_cotangent(x):
    rule = mlirad.custom_vjp(scaled)
    rule.defvjp(lambda a, b: (a * b, (a, b)), lambda kept, g: (g * kept[1],))
    return mlirad.grad(lambda v: np.sum(rule(v, v)))(x)


def cotangent_of_a_part():
    _, pullback = mlirad.vjp(lambda x: (x * 2, x), X)
    return pullback(X)


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: mlirad.grad(np.sum(X)), ["float64 is not callable", "grad(f)(x)"]),
        (lambda: mlirad.grad(np.sum, X), ["argnums must be an int", "second call, as in grad(f)(x)"]),
        (lambda: mlirad.grad(np.sum, "a"), ["argnums must be an int", "argnames='a' chooses"]),
        (lambda: mlirad.grad(lambda x: x * 2)(X), ["needs a scalar", "mlirad.jacrev"]),
        (lambda: mlirad.grad(lambda x: (x[0], x))(X), ["several values", "has_aux=True, the first value"]),
        (lambda: mlirad.grad(np.sum)([1.0, 2]), ["a part of argument 0 of", "int64"]),
        (lambda: mlirad.jit(scaled)(X, np.array([None])), ["scaled: argument 1: dtype object"]),
        (lambda: mlirad.jit(scaled)(X, k=np.array(["a"])), ["scaled: k: dtype <U1"]),
        (lambda: mlirad.jit(scaled)(X, (X, X.astype(">f8"))), ["scaled: argument 1: dtype >f8"]),
        (cotangent_of_a_part, ["structure *,", "(*, *)", "a cotangent for each part of the value"]),
        (lambda: mlirad.jvp(np.sin, X, X), ["a tuple with an item for each argument", "not ndarray"]),
        (lambda: mlirad.vmap(scaled, in_axes=(0,))(X, X), ["in_axes of scaled has 1 item for 2 arguments"]),
        (lambda: mlirad.jit(rows_of_unlike_lengths)(2.0), ["inhomogeneous shape", "make all rows equally long"]),
        (lambda: mlirad.jit(array_as_element)(X), ["setting an array element", "y[:] = x"]),
        (lambda: mlirad.jit(floats_added_to_ints)(X), ["Cannot cast ufunc 'add'", "y = y + x"]),
        (lambda: mlirad.jit(lambda x: x << 1)(X), ["left_shift", "x.astype(np.int64)"]),
        (lambda: mlirad.jit(lambda x: (x > 1) & x)(X), ["bitwise_and", "a comparison such as x > 0"]),
        (lambda: mlirad.jit(zipped_strictly)(X), ["zip(strict=True)", "compare their lengths"]),
        (lambda: with_one_cotangent(X), ["a tuple of 1 for 2 arguments", "return (g0, g1)"]),
        (lambda: mlirad.jit(lambda p: p.v)(Weights(1.0)), ["Weights has no field", "'v'"]),
        (lambda: mlirad.jit(lambda x: x.detach())(X), ["no attribute 'detach'", "mlirad.stop_gradient(x)"]),
        (lambda: mlirad.jit(lambda x: x.at[0].set(1.0))(X), ["no attribute 'at'", "y = x.copy()"]),
        (lambda: mlirad.jit(lambda x: x.sum().backward())(X), ["NumPy number", "mlirad.grad(f)(x)"]),
        (lambda: mlirad.jit(lambda x: x.shape[0])([1.0, 2.0]), ["a list has no attribute", "np.array(xs)"]),
        (lambda: mlirad.jit(lambda x: x + np.random.rand())(1.0), ["np.random.rand is not", "pass a generator"]),
        (lambda: mlirad.jit(lambda x: x + random.random())(1.0), ["random.random is not"]),
        (lambda: mlirad.jit(lambda x: collections.Counter([1])[1] * x)(1.0), ["collections.Counter is not"]),
        (lambda: mlirad.jit(lambda x: json.dumps([1]))(1.0), ["json.dumps is not supported", "call it outside"]),
        (lambda: mlirad.jit(lambda x: math.sin(x))(X), ["only 0-dimensional arrays", "np.sin(x)"]),
        (lambda: mlirad.jit(lambda x: mlirad.jit(scaled, parallel=True)(x, x))(X), ["takes only a function", "leave"]),
        (lambda: mlirad.jacobian(scaled)(X), ["scaled(): missing a required argument: 'k'"]),
        (lambda: mlirad.hessian(scaled, sparsity="find")(X, 1.0, 2.0), ["scaled(): too many positional arguments"]),
        (lambda: mlirad.dependence(scaled, X), ["scaled(): missing a required argument: 'k'"]),
        (lambda: mlirad.jit(sum)({1.0, 2.0}), ["iterating over a set", "sorted(...)"]),
        (lambda: mlirad.jit(sum)(v for v in X), ["an iterator (generator)", "make a list of it"]),
    ],
)
def test_the_error_says_what_to_write(call: Callable[[], Any], parts: list[str]) -> None:
    with pytest.raises(Exception) as caught:
        call()
    text = str(caught.value)
    for part in parts:
        assert part in text


def test_jit_inside_a_kernel_is_the_function_itself() -> None:
    doubled = mlirad.jit(lambda x: 2.0 * x)

    def outer(x):
        @mlirad.jit
        def cubed(t):
            return t * t * t

        return (
            np.sum(mlirad.jit(np.sin)(x) * cubed(x)) + mlirad.jit(doubled)(x[0]) + mlirad.jit(lambda t: t + x[1])(1.0)
        )

    assert mlirad.jit(outer)(X) == pytest.approx(outer(X))
    mlirad.check_grads(outer, (X,), order=1)


def test_errors_about_a_function_point_to_its_definition() -> None:
    def counts(x):
        return np.sum(x)

    with pytest.raises(mlirad.DifferentiationError) as caught:
        mlirad.grad(counts)(np.arange(3))
    assert caught.value.lineno == counts.__code__.co_firstlineno and caught.value.col_offset == 4
    assert str(caught.value).splitlines()[1:3] == ["        def counts(x):", "        ^"]


def test_an_error_in_a_function_of_the_user_keeps_its_place() -> None:
    """A function of Python's own may call one of the user: it is blamed for errors in its own code only."""
    call = SourceLocation(__file__, 1)
    of_user, of_library = (CompileError("refused", SourceLocation(file, 1)) for file in (__file__, json.__file__))
    for error in (of_user, of_library):
        libraries.blame(error, json.dumps, call)
    assert (of_user.library, of_user.callers) == (None, [call])
    assert (of_library.library, of_library.callers) == (("json.dumps", call), [])


# --- what a `try` catches ---------------------------------------------------------------------------------------

DEQUE, DEFAULTS = collections.deque([1.0, 2.0]), collections.defaultdict(float, {1: 2.0})
NUMBERS, BYTES, ORDERED = array.array("d", [1.0, 2.0]), bytearray(b"ab"), collections.OrderedDict(a=1.0)
SET, FROZEN = {1.0, 2.0}, frozenset({1.0, 2.0})


class WithItems:
    """Python iterates over it by its items."""

    def __getitem__(self, place):
        if place > 2:
            raise IndexError
        return float(place)


ITEMS = WithItems()

BODIES = {
    "text": "for c in f'{x}': n += 1",
    "length of text": "n = len(f'{x}')",
    "item of a deque": "DEQUE[0] = x; n = 1",
    "item of a dict": "DEFAULTS[3] = x; n = 1",
    "item of an array": "NUMBERS[0] = x; n = 1",
    "item of bytes": "BYTES[0] = 7; n = 1",
    "deletion": "del DEFAULTS[1]; n = 1",
    "numbers": "for v in NUMBERS: n += 1",
    "items": "for v in ITEMS: n += 1",
    "ordered": "for v in ORDERED: n += 1",
    "set": "for v in SET: n += 1",
    "frozen set": "for v in FROZEN: n += 1",
    "length of a deque": "n = len(DEQUE)",
    "set of the program": "for v in {1.0, 2.0}: n += 1",
    "bits": "n = k.bit_count()",
    # Here Python raises too.
    "a number": "for v in x: n += 1",
    "a number of NumPy": "n = len(k)",
    "a known number of NumPy": "for v in np.float64(2.0): n += 1",
    "a function": "for v in scaled: n += 1",
    "item of a tuple": "(1, 2)[0] = 3",
    "item of a range": "r = range(3); r[0] = 3",
    "deletion in text": "t = 'ab'; del t[0]",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_try_catches_only_what_python_raises(body: str, tmp_path: Any) -> None:
    lines = ["def f(x, k):", "    n = 0", "    try:", *(f"        {each.strip()}" for each in body.split(";"))]
    text = "\n".join([*lines, "    except (TypeError, AttributeError):", "        n = -1", "    return n", ""])
    path = tmp_path / "program.py"
    path.write_text(text)
    names: dict[str, Any] = {
        "ORDERED": ORDERED,
        "ITEMS": ITEMS,
        "SET": SET,
        "FROZEN": FROZEN,
        "scaled": scaled,
        "np": np,
    }
    names |= {"DEQUE": DEQUE.copy(), "DEFAULTS": DEFAULTS.copy(), "NUMBERS": NUMBERS[:], "BYTES": BYTES[:]}
    exec(compile(text, str(path), "exec"), names)
    f = names["f"]
    try:
        found = mlirad.jit(f)(1.5, np.int64(5))
    except mlirad.CompileError:
        return
    assert found == f(1.5, np.int64(5))
