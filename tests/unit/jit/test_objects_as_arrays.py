"""Arguments that represent arrays: `__array_interface__` and `__dlpack__`; the memory is shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.errors import CompileError


class Interfaced:
    def __init__(self, array: np.ndarray):
        self.array = array

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.array.__array_interface__


class Exchanged:
    """As other libraries' arrays are."""

    def __init__(self, array: np.ndarray):
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class OldExchange(Exchanged):
    """Before DLPack could say what may be written: NumPy takes the array as read-only, unless it has `__array__`."""

    def __dlpack__(self, **_: Any) -> Any:
        return self.array.__dlpack__()

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.array


class Elsewhere(Exchanged):
    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError("the array is on another device")


KINDS = (Interfaced, Exchanged, OldExchange)


def weigh(x, p):
    x[1] = 2.0 * x[0]
    return np.sum(x * p["w"][0])


@pytest.mark.parametrize("kind", KINDS)
def test_values_writes_and_gradients(kind: Any) -> None:
    kernel = mlirad.jit(weigh)
    for layout in (np.arange(1.0, 5.0), np.arange(8.0)[::2], np.arange(4.0)[::-1]):
        w, plain = np.full(4, 0.5), layout.copy()
        expected = weigh(plain, {"w": [w]})
        for _ in range(5):  # as calls go that were met before
            own = layout.copy() if layout.flags.c_contiguous else np.repeat(layout, 2)[::2]
            assert kernel(kind(own), {"w": [kind(w)]}) == expected
            assert np.array_equal(own, plain)

    def square(x):
        return np.sum(x * x)

    x = np.arange(3.0)
    assert np.array_equal(mlirad.grad(square)(kind(x)), 2 * x)
    assert mlirad.jvp(square, (kind(x),), (kind(x),))[1] == 2 * np.sum(x * x)
    assert mlirad.jit(square).lower(kind(x)).compile()(kind(x)) == np.sum(x * x)


def test_one_specialisation_for_all() -> None:
    kernel = mlirad.jit(lambda x: x * 2.0)
    x = np.arange(3.0)
    for value in (x, Interfaced(x), Exchanged(x)):
        assert np.array_equal(kernel(value), 2 * x)
    assert kernel.cache_info().currsize == 1


def test_views_of_it_share_its_memory() -> None:
    x = np.arange(5.0)
    tail = mlirad.jit(lambda x: x[2:])(Interfaced(x))
    tail[0] = 9.0
    assert x[2] == 9.0 and np.shares_memory(tail, x)


def test_what_may_not_be_written() -> None:
    x = np.arange(3.0)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        mlirad.jit(weigh)(Interfaced(x), {"w": [x]})


def test_what_cannot_be_passed() -> None:
    with pytest.raises(TypeError, match="Elsewhere cannot be passed as an array: the array is on another"):
        mlirad.jit(lambda x: x)(Elsewhere(np.ones(3)))
    with pytest.raises((TypeError, CompileError)):
        mlirad.jit(lambda x: x + 1)(Interfaced(np.ones(3, np.clongdouble)))


def test_declared_static_it_stays_what_it_is() -> None:
    kernel = mlirad.jit(lambda x, o: x + o.array.shape[0], static_argnums=1)
    assert kernel(1.0, Interfaced(np.ones(3))) == 4.0
