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
    first = make()
    expected = 3 * first * first
    expected[:1] = 24 * first[:1] * first[:1]
    np.testing.assert_allclose(gradient, expected, rtol=1e-14)
    written = make()
    loss(written)
    np.testing.assert_array_equal(x, written)
    assert gradient.flags.writeable
    if x.size:
        _, tangent = mlirad.jvp(loss, (make(),), (np.broadcast_to(1.0, x.shape),))
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
    np.testing.assert_allclose(mlirad.grad(lambda x: (x**3).sum())(x), 3 * x**2)
    for kernel in (mlirad.jit(writes_slices), mlirad.grad(loss)):
        with pytest.raises(ValueError, match=r"argument 0 is written, and some of its elements share memory; copy it"):
            kernel(x)
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
    with pytest.raises(ValueError, match=r"test_layouts.py:\d+:\d+: .*read-only") as caught:
        mlirad.grad(function)(x, 1.0)
    assert text in str(caught.value)
    np.testing.assert_array_equal(mlirad.grad(function)(x, -1.0), mlirad.grad(function)(line(4), -1.0))


def test_what_was_written_before_stays_written() -> None:
    def f(x, y):
        x[0] = 5.0
        y[0] = 6.0

    x, y = line(3), readonly(line(3))
    with pytest.raises(ValueError, match=r"read-only"):
        mlirad.jit(f)(x, y)
    assert x[0] == 5.0


# Dtypes that are not compiled.


@pytest.mark.parametrize("dtype", [">f8", ">i4", "G", "g", "O", "U3", "M8[s]", "f8,f8"])
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


# Views and copies of what is not row-major: see tests/unit/frontend/test_view_or_copy.py for many more.


def writes_a_diagonal(a):
    np.einsum("ii->i", a)[:] = 5.0
    np.einsum("ij->ji", a)[0, 1] = 7.0
    return a.sum()


def writes_a_concatenation(a):
    both = np.concatenate([a, a])
    flat = both.reshape(-1)
    flat[0] = 9.0
    return both.sum()


def writes_a_copy_in_order(a):
    made = np.array(a.T, order="C")
    made.reshape(-1)[0] = 9.0
    return made.sum()


def flattens_a_temporary(a):
    return ((a - 1.0).reshape(-1) * np.arange(a.size)).sum() + (a @ a.T).ravel()[1]


def flattens_in_memory_order(a):
    return a.flatten("K")[1] + a.ravel("A")[2] * 2.0 + a.flatten("F")[3] * 3.0


def reshapes_what_is_differentiated(a):
    flat = a.reshape(-1)
    flat[1] = 7.0 * flat[0]
    return (a * a).sum()


SQUARES: dict[str, Callable[[], np.ndarray]] = {
    "row-major": lambda: line(9).reshape(3, 3) + 1.0,
    "column-major": lambda: np.asfortranarray(line(9).reshape(3, 3) + 1.0),
    "every second": lambda: np.repeat(line(9).reshape(3, 3) + 1.0, 2, axis=1)[:, ::2],
}
WRITERS = [writes_a_diagonal, writes_a_concatenation, writes_a_copy_in_order, flattens_a_temporary]


@pytest.mark.parametrize("name", SQUARES)
@pytest.mark.parametrize("function", [*WRITERS, flattens_in_memory_order, reshapes_what_is_differentiated])
def test_views_and_copies_are_numpys(function: Callable[..., Any], name: str) -> None:
    kernels: list[Callable[..., Any]] = [
        mlirad.jit(function),
        lambda x: mlirad.value_and_grad(function)(x)[0],
        lambda x: mlirad.vjp(function, x)[0],
        lambda x: mlirad.jvp(function, (x,), (x,))[0],
        mlirad.jit(lambda x: mlirad.value_and_grad(function)(x)[0]),
    ]
    for kernel in kernels:
        numpys, own = SQUARES[name](), SQUARES[name]()
        wanted = function(numpys)
        try:
            found = kernel(own)
        except mlirad.CompileError as error:
            assert name == "every second" and function not in (writes_a_diagonal, writes_a_copy_in_order), error
            continue
        np.testing.assert_allclose(found, wanted)
        np.testing.assert_array_equal(own, numpys)
