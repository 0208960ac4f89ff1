"""Random calls of compiled functions: function, arguments, keywords, shapes, axes, dtypes, layouts.

Reads: the table of coverage.json, samples, signatures. Writes: nothing. Gives: the calls of a seed, the same on every
machine with the same table and generator.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import cache
from random import Random
from typing import Any

import numpy as np

from mlirad.frontend.program import coverage
from mlirad.testing.calls import ranks_and_axes
from mlirad.testing.calls.inputs import laid_out, used
from mlirad.testing.calls.keywords import KEYWORDS, optional, with_keyword
from mlirad.testing.calls.packed import Call
from mlirad.testing.calls.public_names import groups
from mlirad.testing.calls.samples import sample_call

_SHAPES = (
    *(((3, 4),) * 4),
    *((1, 1), (1, 4), (3, 1), (0, 4), (3, 0), (5,), (1,), (0,), (), (2, 3, 4), (2, 1, 3), (2, 3, 2, 2), (7, 9)),
)
_LENGTHS = (5, 5, 1, 0, 2, 9, 33)
_SQUARES = (3, 3, 1, 0, 2, 5)
_DTYPES = ["f8", "f8", "f8", "f8", "f4", "f4", "f2", "f2", "i8", "i8", "i4", "i2", "i1", "u1", "u4", "u8", "?"]
_NUMBERS = (
    (0.5, 1.5, -0.25, 2.0, 2, 3, -1, True),
    (np.float64(0.75), np.float64(-1.5), np.float32(0.5), np.int64(2), np.int8(-3), np.bool_(True)),
)
"""Python's or NumPy's: a call has numbers of one kind, because mixed kinds are a row of docs/deviations.md."""
_IN_ANY_ORDER = frozenset({"np.partition", "np.argpartition", "x.argpartition", "np.unique_values"})
"""Functions whose results may be in another order than NumPy's: a row of docs/deviations.md."""
VALUES = ("generic", "wide", "ties", "special")
"""Numbers of arrays: in (0.1, 0.9); of both signs; small multiples of 0.5; with nan, infinities, -0.0 and extremes."""


@cache
def compiled() -> tuple[str, ...]:
    """The functions to draw from, those that this NumPy and this Python have. A name counts once, even if it
    has rows for methods of many ufuncs."""
    there = {name for group in groups().values() for name in group}
    rows = coverage.rows().items()
    return tuple(name for name, row in rows if coverage.is_compiled(row) and row["call"] is not None and name in there)


def drawn_call(rng: Random) -> Call:
    """A call of a compiled function. NumPy may refuse it, or its arguments."""
    name = rng.choice(compiled())
    bodies = _bodies(name)
    if bodies and rng.random() < 0.5:
        text = rng.choice(bodies)
        return _of_signature(f"np.sort({text}, axis=None)" if name in _IN_ANY_ORDER else text, rng)
    text = sample_call(name) or ""
    keywords = [each for each in optional(name) if each in KEYWORDS]
    if keywords and rng.random() < 0.6:
        text = rng.choice([*with_keyword(name, rng.choice(keywords)), text])
    return _of_sample(text, rng)


@cache
def _bodies(name: str) -> tuple[str, ...]:
    """Calls that the signature of a function gives."""
    if name in ranks_and_axes.NOT_DRAWN:
        return ()
    function = ranks_and_axes.functions().get(name)
    try:
        return () if function is None else tuple(itertools.islice(ranks_and_axes.calls(name, function), 4000))
    except KeyError:  # a parameter without values so far: the sample has it
        return ()


def _of_signature(text: str, rng: Random) -> Call:
    shapes = [rng.choice(ranks_and_axes.ARRAYS), rng.choice(ranks_and_axes.ARRAYS)]
    shapes[1] = shapes[0] if rng.random() < 0.6 else shapes[1]
    dtypes = _dtypes(rng)
    inputs: dict[str, Any] = {}
    for name in used(text):
        if name in ("x", "y"):
            inputs[name] = _array(shapes[name == "y"], dtypes[name == "y"], rng)
        elif name == "i":
            shape = rng.choice(((), (2,), (2,), (2, 2), (0,)))
            inputs[name] = np.arange(int(np.prod(shape))).reshape(shape) % 2
        else:
            inputs |= _of_sample(name, rng).inputs
    return Call(text, inputs)


def _of_sample(text: str, rng: Random) -> Call:
    shape, length, square = rng.choice(_SHAPES), rng.choice(_LENGTHS), rng.choice(_SQUARES)
    shapes = {"v": (length,), "w": (length,), "s": (square, square), "t": (2, 3, 2)}
    dtypes, numbers = _dtypes(rng), rng.choice(_NUMBERS)
    inputs: dict[str, Any] = {}
    for name in used(text):
        if name in "abc":
            inputs[name] = rng.choice(numbers)
        elif name == "i":
            inputs[name] = np.array([rng.choice((2, 1, 0, -1)), 0])
        elif name == "n":
            inputs[name] = rng.choice((2, 2, 1, 0, 3))
        elif name == "j":
            inputs[name] = np.array(rng.choices(range(7), k=int(np.prod(shape))), np.int64).reshape(shape)
        elif name == "m":
            inputs[name] = np.array(rng.choices((True, False), k=int(np.prod(shape))), bool).reshape(shape)
        else:
            own = shapes.get(name, shape)
            if name in "yzu" and shape and rng.random() < 0.2:
                own = rng.choice((shape[-1:], (1,) * len(shape), ()))
            inputs[name] = _array(own, dtypes[name in "yw"], rng)
    return Call(text, inputs)


def _dtypes(rng: Random) -> tuple[str, str]:
    first = rng.choice(_DTYPES)
    return first, first if rng.random() < 0.75 else rng.choice(_DTYPES)


def _array(shape: Sequence[int], dtype: str, rng: Random, values: str = VALUES[0]) -> np.ndarray:
    numbers = np.random.default_rng(rng.getrandbits(32))
    size = int(np.prod(shape))
    kind = np.dtype(dtype).kind
    if kind == "b":
        made = numbers.integers(0, 2, size)
    elif kind in "iu":
        limits = np.iinfo(dtype)
        made = numbers.integers(0 if kind == "u" or values == "generic" else -9, 9, size)
        if values == "special" and size:
            made = numbers.choice(np.array([limits.min, limits.max, 0, 1], dtype), size)
    elif values == "generic":
        made = 0.1 + 0.8 * (numbers.permutation(size) + numbers.uniform(0.2, 0.8, size)) / max(size, 1)
    elif values == "wide":
        made = numbers.normal(0.0, 3.0, size)
    elif values == "ties":
        made = numbers.integers(-3, 4, size) * 0.5
    else:
        made = numbers.choice([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.5, 1e30, 1e-30, 0.5], size)
    return np.asarray(made).astype(dtype).reshape(shape)


def other_inputs(call: Call, values: str | None, layouts: Mapping[str, str], rng: Random) -> Call:
    """The same call on arrays with the same shapes and dtypes but other elements, or with its own (None), in these
    layouts."""
    changed: dict[str, Any] = {}
    for name, value in call.inputs.items():
        changed[name] = value
        if isinstance(value, np.ndarray):
            is_index = name in "ijm"
            array = value if is_index or values is None else _array(value.shape, value.dtype.str, rng, values)
            changed[name] = laid_out(array, layouts[name])
    return Call(call.text, changed)


def described(call: Call) -> Mapping[str, str]:
    """The inputs of a call, described for a report."""
    return {
        name: f"{value.dtype}{value.shape}{'' if value.flags.c_contiguous else ' strided'}"
        if isinstance(value, np.ndarray)
        else repr(value)
        for name, value in call.inputs.items()
    }
