"""Arguments of every layout, read and written: what NumPy does, in the caller's own memory, or a clear refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from random_pairs import require_same

import mlirad


def unaligned(offset: int, count: int = 6) -> np.ndarray:
    memory = np.zeros(8 * count + 8, np.uint8)
    array = memory[offset : offset + 8 * count].view(np.float64)
    array[:] = np.arange(count)
    return array


def line(n: int = 12, dtype: Any = np.float64) -> np.ndarray:
    return np.arange(n).astype(dtype)


RECORDS = np.dtype([("flag", "i1"), ("value", "f8"), ("pair", "f4", (2,))])
LAYOUTS: dict[str, Callable[[], np.ndarray]] = {
    "contiguous": line,
    "unaligned": lambda: unaligned(1),
    "unaligned matrix": lambda: unaligned(3).reshape(2, 3).T,
    "unaligned and strided": lambda: unaligned(5)[::-2],
    "every third": lambda: line()[1::3],
    "reversed": lambda: line()[::-1],
    "every third, reversed": lambda: line()[::-3],
    "column-major": lambda: np.asfortranarray(line().reshape(3, 4)),
    "transposed block": lambda: line().reshape(3, 4)[1:, 1:3].T,
    "flipped both ways": lambda: line().reshape(3, 4)[::-1, ::-2],
    "permuted": lambda: line(24).reshape(2, 3, 4).transpose(2, 0, 1)[::-1],
    "a column": lambda: line().reshape(3, 4)[:, 1],
    "an axis of one": lambda: line().reshape(3, 4)[:, 1:2],
    "a stride of 0 along one": lambda: as_strided(line(3), (1, 3), (0, 8)),
    "size 1": lambda: np.array([3.0]),
    "size 1, strided": lambda: line()[5::20],
    "size 1, far strides": lambda: as_strided(line(), (1, 1), (-800, 8000)),
    "f32": lambda: line(8, np.float32)[::2],
    "i16": lambda: line(8, np.int16)[::-2],
    "a field": lambda: np.zeros(4, RECORDS)["value"],
    "a field of pairs": lambda: np.zeros(4, RECORDS)["pair"],
    "no rows": lambda: np.zeros((0, 3)),
    "no columns": lambda: np.zeros((3, 0))[::-1],
    "nothing": lambda: line()[4:4],
}


def writes_elements(x):
    for i in range(len(x)):
        x[i] = x[i] * 2 + i
    return x[::-1], x.sum()


def writes_slices(x):
    x[1:] += x[:-1]
    x *= 2
    return x.T


@pytest.mark.parametrize("make", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("function", [writes_elements, writes_slices])
def test_written_where_it_lies(function: Callable[..., Any], make: Callable[[], np.ndarray]) -> None:
    numpys, own = make(), make()
    around = own if own.base is None else own.base
    require_same((numpys, function(numpys)), (own, mlirad.jit(function)(own)))
    if isinstance(around, np.ndarray) and around.dtype == own.dtype:
        whole = numpys if numpys.base is None else numpys.base
        np.testing.assert_array_equal(around, whole)  # nor is anything beside it written


def loss(x):
    x[:1] = x[:1] * 2.0
    return (x * x * x).sum()


@pytest.mark.parametrize(
    "make", [make for make in LAYOUTS.values() if make().dtype == np.float64], ids=lambda make: str(make().strides)
)
def test_differentiated_where_it_lies(make: Callable[[], np.ndarray]) -> None:
    x = make()
    gradient = mlirad.grad(loss)(x)
    expected = 3 * x * x
    expected[:1] = 24 * x[:1] * x[:1]
    np.testing.assert_allclose(gradient, expected, rtol=1e-14)
    np.testing.assert_array_equal(x, make())
    assert gradient.flags.writeable
    if x.size:
        _, tangent = mlirad.jvp(loss, (x,), (np.broadcast_to(1.0, x.shape),))
        np.testing.assert_allclose(tangent, expected.sum(), rtol=1e-13)


REPEATED: dict[str, Callable[[], np.ndarray]] = {
    "a stride of 0": lambda: as_strided(line(4), (3, 4), (0, 8)),
    "windows": lambda: as_strided(line(6), (4, 3), (8, 8)),
    "a number, repeated": lambda: as_strided(np.ones(1), (5,), (0,)),
}


@pytest.mark.parametrize("make", REPEATED.values(), ids=REPEATED)
def test_elements_that_are_one_are_read_and_not_written(make: Callable[[], np.ndarray]) -> None:
    x = make()
    assert mlirad.jit(lambda x: (x * 2).sum())(x) == (x * 2).sum()
    np.testing.assert_allclose(mlirad.grad(loss)(x), mlirad.grad(loss)(x.copy()))
    with pytest.raises(ValueError, match=r"argument 0 is written, and some of its elements share memory; copy it"):
        mlirad.jit(writes_slices)(x)
    np.testing.assert_array_equal(x, make())


# Read-only arrays.


def readonly(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def doubles(x):
    x *= 2.0


def through_a_helper(x, c):
    if c > 0:
        doubles(x)
    return x.sum()


def through_a_view(x, c):
    row = x[1:].reshape(-1)
    if c > 0:
        row[0] = c
    return x.sum()


def through_a_choice(x, c):
    other = x.copy()
    target = x if c > 0 else other
    target[0] = 7.0
    return other.sum()


def through_out(x, c):
    if c > 0:
        np.add(x, 1.0, out=x)
    return x.sum()


def through_a_mask(x, c):
    if c > 0:
        x[x > 1.0] = 0.0
    return x.sum()


def by_fill(x, c):
    if c > 0:
        x.fill(1.0)
    return x.sum()


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (through_a_helper, "x *= 2.0"),
        (through_a_view, "row[0] = c"),
        (through_a_choice, "target[0] = 7.0"),
        (through_out, "np.add(x, 1.0, out=x)"),
        (through_a_mask, "x[x > 1.0] = 0.0"),
        (by_fill, "x.fill(1.0)"),
    ],
)
def test_the_line_that_writes_a_readonly_array_is_named(function: Callable[..., Any], text: str) -> None:
    x = readonly(line(4))
    kernel = mlirad.jit(function)
    assert kernel(x, -1.0) == function(x, -1.0)  # it is not written on this path
    with pytest.raises(ValueError, match=r"read-only"):
        function(x, 1.0)
    with pytest.raises(ValueError, match=r"test_layouts.py:\d+:\d+: .*read-only") as caught:
        kernel(x, 1.0)
    assert text in str(caught.value)
    np.testing.assert_array_equal(x, line(4))
    assert kernel(line(4), 1.0) == function(line(4), 1.0)
    np.testing.assert_array_equal(mlirad.grad(function)(x, 1.0), mlirad.grad(function)(line(4), 1.0))


def test_what_was_written_before_stays_written() -> None:
    def f(x, y):
        x[0] = 5.0
        y[0] = 6.0

    x, y = line(3), readonly(line(3))
    with pytest.raises(ValueError, match=r"read-only"):
        mlirad.jit(f)(x, y)
    assert x[0] == 5.0


# Dtypes that are not compiled.


@pytest.mark.parametrize("dtype", [">f8", ">i4", "f2", "c16", "g", "O", "U3", "M8[s]", "f8,f8"])
def test_other_dtypes_are_refused(dtype: str) -> None:
    if np.dtype(dtype) == np.dtype(np.float64):
        pytest.skip("float128 is float64 here")
    x = np.zeros(3, dtype)
    with pytest.raises(TypeError, match=r"dtype .* is (byte-swapped|not supported)"):
        mlirad.jit(lambda x: x[0])(x)
    with pytest.raises(TypeError, match=r"test_layouts.py:(.|\n)*dtype .* is (byte-swapped|not supported)"):
        mlirad.jit(lambda: x[0])()


def test_cotangents_and_tangents_of_every_layout() -> None:
    out, pullback = mlirad.vjp(lambda x: x * x, line(6)[::-2])
    np.testing.assert_array_equal(out, [25.0, 9.0, 1.0])
    for cotangent in (line(3)[::-1], readonly(line(3)), np.broadcast_to(2.0, 3), unaligned(1, 3), line(3, ">f8")):
        np.testing.assert_array_equal(pullback(cotangent)[0], [10.0, 6.0, 2.0] * cotangent)
        if cotangent.dtype.isnative:
            _, tangent = mlirad.jvp(lambda x: x * x, (line(6)[::-2],), (cotangent,))
            np.testing.assert_array_equal(tangent, [10.0, 6.0, 2.0] * cotangent)
