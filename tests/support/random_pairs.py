"""Random pairs of views of one array, and small kernels that write one of them or both.

Reads: seeds. Gives: arguments, made alike each time, and what a call of a kernel has done beside what NumPy does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from mlirad import tree

SHAPES = [(1,), (2,), (6,), (12,), (1, 1), (2, 3), (3, 4), (4, 1), (2, 3, 2), (1, 4, 3), (3, 2, 2), (0, 3), (2, 0)]
# The documented refusals of calls.
REFUSALS = ("pass a copy of one of them", "some of its elements share memory; copy it first")
READ_ONLY = "assignment destination is read-only"


def scales_and_adds(x, y):
    x += 1.0
    y *= 2.0
    x[0] = y[-1].sum()
    return x[1:], y.sum()


def writes_one(x, y):
    before = y.sum()
    x *= 3.0
    return before, y.sum(), y


def writes_other(x, y):
    last = y[::-1]
    last += x.sum()
    return x.copy(), last


def loops(x, y):
    for i in range(len(x)):
        x[i] += y[(2 * i) % len(y)].sum()
        if x[i].sum() > 20.0:
            y[-1] -= 1.0
    return x, y[:1]


def swaps(x, y):
    old = x.copy()
    x[...] = y.sum()
    y -= old.sum()
    return y[1:] if y.sum() > 0.0 else y[:-1], old


def shifts(x, y):
    x[1:] += x[:-1] * 2.0
    y[:] = y[::-1] + 0.5
    return x.T, y[::-1].T


def rows(x, y):
    first, last = x[:1], y[-1:]
    first += last.sum()
    last += first.sum()
    return first, last.sum() * x.sum()


def helps(x, y):
    writes_one(y, x)
    return rows(x, y)


KERNELS = [scales_and_adds, writes_one, writes_other, loops, swaps, shifts, rows, helps]


def random_view(rng: np.random.Generator, array: np.ndarray, steps: int) -> np.ndarray:
    """A view of an array by a few steps, which may have no elements."""
    for _ in range(rng.integers(0, steps + 1)):
        array = STEPS[rng.choice(len(STEPS), p=WEIGHTS)](rng, array)
    return array if array.ndim else array.reshape(1)


def _sliced(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    index = []
    for size in array.shape:
        step = int(rng.choice([1, 1, 1, 2, 3, -1, -2]))
        low, high = sorted(int(each) for each in rng.integers(0, size + 1, 2))
        if low == high and rng.random() < 0.9:
            low, high = 0, size
        cut = slice(low, high, step) if step > 0 else slice(high - 1 if high else 0, low - 1 if low else None, step)
        index.append(cut if rng.random() < 0.7 else slice(None))
    return array[tuple(index)]


def _element(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    if not array.size or array.ndim < 2:
        return array
    axis = int(rng.integers(0, array.ndim))
    return array[(slice(None),) * axis + (int(rng.integers(0, array.shape[axis])),)]


def _transposed(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    return array.transpose(rng.permutation(array.ndim))


def _reshaped(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    shapes = [shape for shape in SHAPES if np.prod(shape) == array.size]
    if not shapes:
        return array
    try:
        return array.reshape(shapes[rng.integers(0, len(shapes))], copy=False)
    except ValueError:
        return array


def _with_axis(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    return np.expand_dims(array, int(rng.integers(0, array.ndim + 1))) if array.ndim < 3 else array


def _unwritable(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


def _repeated(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    """Elements that are one: of a stride of 0, or windows that overlap."""
    if array.ndim != 1 or array.size < 3:
        return array
    (stride,) = array.strides
    if rng.random() < 0.5:
        return as_strided(array, (2, *array.shape), (0, stride))
    return as_strided(array, (array.size - 2, 3), (stride, stride))


def _as_bits(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    return array.view(np.int64)


STEPS = [_sliced, _element, _transposed, _reshaped, _with_axis, _unwritable, _repeated, _as_bits]
WEIGHTS = [0.42, 0.12, 0.14, 0.2, 0.06, 0.02, 0.03, 0.01]


def random_pair(seed: int) -> Callable[[], list[np.ndarray]]:
    """Makes two views of one array: the same way whenever it is called."""

    def make() -> list[np.ndarray]:
        rng = np.random.default_rng(seed)
        shape = SHAPES[rng.integers(0, len(SHAPES))]
        base = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
        if rng.random() < 0.2:
            base = np.asfortranarray(base)
        first = random_view(rng, base, 3)
        kind = rng.random()
        if kind < 0.1:
            pair = [first, first]
        else:
            pair = [first, random_view(rng, first if kind < 0.5 else base, 2)]
        return pair[:: 1 if rng.random() < 0.5 else -1]

    return make


def outcome(function: Callable[..., Any], args: Sequence[np.ndarray]) -> Any:
    """The result of a call, or its error."""
    try:
        with np.errstate(all="ignore"):
            return function(*args)
    except (ValueError, IndexError, TypeError, ZeroDivisionError) as error:
        return error


def refused(error: Any) -> bool:
    """Whether a call has been refused as the documentation says."""
    return isinstance(error, ValueError) and any(text in str(error) for text in REFUSALS)


def require_same(numpys: tuple[Any, Any], own: tuple[Any, Any]) -> None:
    """Values, classes, sharing and writability are the same, and what is one object is one. Each: arguments, result."""
    wanted, found = tree.leaves(numpys), tree.leaves(own)
    for a, b in zip(wanted, found, strict=True):
        assert type(a) is type(b)
        np.testing.assert_array_equal(a, b)
    pairs = [(a, b) for a, b in zip(wanted, found, strict=True) if isinstance(a, np.ndarray)]
    for a, b in pairs:
        assert a.flags.writeable == b.flags.writeable
        for other, own_other in pairs:
            assert np.shares_memory(a, other) == np.shares_memory(b, own_other)
            assert a is not other or b is own_other or _is_twice(own_other, tree.leaves(own[0]))


def _is_twice(array: np.ndarray, arguments: Sequence[Any]) -> bool:
    """Whether two arguments are one array: it is not known which of them is returned."""
    arrays = [each for each in arguments if isinstance(each, np.ndarray)]
    return sum(array.__array_interface__ == each.__array_interface__ for each in arrays) > 1
