"""Between a Python call and compiled code: the keys of calls, the values taken, the values given back."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad.signature import key_and_leaves, signature_of
from mlirad.targets.cpu.calls import abi

Point = namedtuple("Point", "x y")


@dataclass
class Layer:
    weights: Any
    bias: Any


def _readonly(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


class Subclass(np.ndarray):
    pass


ARGUMENTS: list[Any] = [
    1, 2, True, 1.5, np.float64(1.5), np.float32(1.5), np.int64(1), np.longlong(1), np.uint8(1), np.True_,
    None, "word", "other", float, np.float64, np.dtype(np.float64), (np.dtype(np.float64), (3,), 1),
    np.zeros(3), np.ones(3), np.zeros(4), np.zeros(3, np.float32), np.zeros(3, np.int64), np.zeros(6)[::2],
    np.zeros(3).view(Subclass), _readonly(np.zeros(3)), np.zeros(()),
    np.zeros((3, 1)), np.zeros((3, 2)), np.zeros((3, 2), order="F"), np.zeros((6, 2))[::2],
    (), [], {}, (1,), [1], (1.0,), (np.zeros(3),), ((), 1), ((1,),), {"a": 1}, {"b": 1}, {"a": 1, "b": 1.0},
    {"b": 1.0, "a": 1}, Point(1, 2.0), Point(1, 2), Layer(1, 2.0), Layer(1, None), [Layer(1, (2.0, [3]))],
]  # fmt: skip

CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    *[((argument,), {}) for argument in ARGUMENTS],
    ((), {}),
    ((1, 2), {}),
    ((1,), {"x": 2}),
    ((1,), {"y": 2}),
    ((), {"x": 1, "y": 2}),
    ((1, ("x", 2)), {}),
    ((1, dict, ("x", int)), {}),
]


def test_keys_are_equal_just_where_signatures_are() -> None:
    made = [(key_and_leaves(*call, ())[0], signature_of(*call)) for call in CALLS]
    for (key, signature), (other_key, other_signature) in combinations(made, 2):
        assert (key == other_key) == (signature == other_signature), (signature, other_signature)
        if key == other_key:
            assert hash(key) == hash(other_key)


@pytest.mark.parametrize("static", [(0,), ("x",), (0, "x")])
def test_keys_of_calls_with_static_arguments(static: tuple[int | str, ...]) -> None:
    calls = [((a,), {"x": x}) for a in (1, 1.0, 2, True, -0.0, 0.0) for x in (1, 2, 1.0, "a")]
    made = [(key_and_leaves(*call, static)[0], signature_of(*call, static)) for call in calls]
    for (key, signature), (other_key, other_signature) in combinations(made, 2):
        assert (key == other_key) == (signature == other_signature), (signature, other_signature)


def test_the_leaves_come_with_the_key() -> None:
    _, leaves = key_and_leaves(([1, (2.0, None)], Layer("a", Point(3, []))), {"k": {"z": 4, "a": 5}, "j": 6}, ())
    assert leaves == [1, 2.0, None, "a", 3, 4, 5, 6]
    _, leaves = key_and_leaves(((1, 2), 3), {"k": (4, 5)}, (0, "k"))
    assert leaves == [(1, 2), 3, (4, 5)]


@pytest.mark.parametrize(
    "array", [np.zeros(3), np.zeros((4, 5))[2:, 1], np.zeros(0), np.array(1.0), np.zeros(9, np.int8)[3:]], ids=str
)
def test_the_address_of_an_array(array: np.ndarray) -> None:
    assert abi._data_address(array) == array.ctypes.data


def test_one_specialisation_for_calls_that_differ_in_values_only() -> None:
    kernel = mlirad.jit(lambda x, pair, scale=2.0: x * scale + pair[0])
    for value in (1.0, 2.0):
        np.testing.assert_array_equal(kernel(np.full(2, value), (value, 7)), np.full(2, 3 * value))
    assert kernel.cache_info()[:2] == (1, 1)
    np.testing.assert_array_equal(kernel(np.ones(2), (1.0, 7), scale=3.0), [4.0, 4.0])
    assert kernel.cache_info()[:2] == (1, 2)


def test_arrays_of_any_layout_are_taken_and_written() -> None:
    @mlirad.jit
    def shift(x, y):
        y[0] = x[1]
        return x + y

    for x in (np.arange(6.0)[::2], np.arange(25, dtype=np.uint8)[1:].view(np.float64)[:3], np.arange(3.0)[::-1]):
        y, expected = np.arange(10.0)[1::3], np.arange(10.0)[1::3]
        result = shift(x, y)
        expected[0] = x[1]
        np.testing.assert_array_equal(y, expected)
        np.testing.assert_array_equal(result, x + expected)


def test_results_have_the_types_that_numpy_gives() -> None:
    @mlirad.jit
    def several(x, n, u):
        return x[0], n, n > 1, u + u, u[0], (x > 0.0), 1.5 * n, None, x

    x, u = np.array([1.0, -1.0], np.float32), np.array([200, 1], np.uint8)
    results = several(x, 3, u)
    expected = several.numpy(x, 3, u)
    assert [type(each) for each in results] == [type(each) for each in expected]
    for result, wanted in zip(results, expected, strict=True):
        assert getattr(result, "dtype", None) == getattr(wanted, "dtype", None)
        np.testing.assert_array_equal(result, wanted)
    assert results[-1] is x


def test_a_call_that_fails_returns_its_context() -> None:
    kernel = mlirad.jit(lambda x, i: x[i])
    kernel(np.ones(3), 1)
    for _ in range(3):
        with pytest.raises(IndexError):
            kernel(np.ones(3), 5)
    assert kernel(np.arange(3.0), -1) == 2.0
