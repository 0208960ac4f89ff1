"""Pytrees and signatures: what a specialisation is made for."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import mlirad
from mlirad import tree
from mlirad.signature import ArrayLeaf, Layout, ScalarLeaf, StaticLeaf, leaf_of, signature_of

Point = namedtuple("Point", "x y")


@dataclass
class Layer:
    weights: Any
    bias: Any


NESTED = {"layers": [Layer(1.0, (2.0, None)), Point(3.0, [])], "rate": 4.0}


def test_flatten_and_unflatten_are_inverse() -> None:
    leaves, structure = tree.flatten(NESTED)
    assert leaves == [1.0, 2.0, None, 3.0, 4.0]
    assert tree.unflatten(structure, leaves) == NESTED
    assert tree.count(structure) == 5


def test_unflatten_wants_the_right_number_of_leaves() -> None:
    _, structure = tree.flatten((1, 2))
    with pytest.raises(ValueError, match="too few"):
        tree.unflatten(structure, [1])
    with pytest.raises(ValueError, match="too many"):
        tree.unflatten(structure, [1, 2, 3])


def test_map_takes_trees_of_one_structure() -> None:
    assert tree.map(lambda x, y: x - y, {"a": 5, "b": (1,)}, {"a": 2, "b": (1,)}) == {"a": 3, "b": (0,)}
    with pytest.raises(ValueError, match="structure"):
        tree.map(lambda x, y: x - y, {"a": 5}, {"b": 5})


def test_trees_in_compiled_functions() -> None:
    def twice(t):
        leaves, structure = tree.flatten(tree.map(lambda a, b: a + b, t, t))
        return leaves, tree.unflatten(structure, leaves)

    nested = {"layers": [Layer(1.0, (2.0,)), Point(3.0, [])], "rate": 4.0}
    assert mlirad.jit(twice)(nested) == twice(nested)
    with pytest.raises(ValueError, match="too many"):
        mlirad.jit(lambda t: tree.unflatten(tree.flatten(t)[1], [1.0, 2.0, 3.0]))((1.0, 2.0))


def test_flatten_up_to_stops_at_the_leaves_of_the_structure() -> None:
    _, structure = tree.flatten((1, {"k": 2}))
    assert tree.flatten_up_to(structure, ([1, 2], {"k": (3,)})) == [[1, 2], (3,)]
    with pytest.raises(ValueError, match="list where the structure has dict"):
        tree.flatten_up_to(structure, (1, [2]))


@pytest.mark.parametrize(
    ("value", "leaf"),
    [
        (1, ScalarLeaf(np.dtype(np.int64), True)),
        (True, ScalarLeaf(np.dtype(np.bool_), True)),
        (1.5, ScalarLeaf(np.dtype(np.float64), True)),
        (np.float32(1), ScalarLeaf(np.dtype(np.float32), False)),
        (np.zeros((2, 3)), ArrayLeaf(np.dtype(np.float64), (2, 3))),
        (np.zeros((2, 3)).T, ArrayLeaf(np.dtype(np.float64), (3, 2), Layout.F)),
        (np.zeros((4, 6))[::2, ::2], ArrayLeaf(np.dtype(np.float64), (2, 3), Layout.STRIDED)),
        (np.zeros(()), ArrayLeaf(np.dtype(np.float64), ())),
        ("mode", StaticLeaf("mode")),
        (None, StaticLeaf(None)),
    ],
)
def test_leaves(value: Any, leaf: Any) -> None:
    assert leaf_of(value) == leaf


@pytest.mark.parametrize(
    "value", [np.zeros(2, np.clongdouble), np.zeros(2, ">f8"), np.zeros(2, np.longdouble), np.array(["a"])]
)
def test_what_cannot_be_compiled_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match=r"not supported|byte-swapped"):
        leaf_of(value)


def test_static_leaves_are_compared_by_type_and_value() -> None:
    different = [StaticLeaf(value) for value in (1, 1.0, True, 0.0, -0.0, "1", float("nan"))]
    assert len(set(different)) == len(different)
    assert StaticLeaf(float("nan")) == StaticLeaf(float("nan"))


def test_static_arguments_are_one_leaf_whatever_they_are() -> None:
    signature = signature_of((np.zeros(2), ("a", "b")), {"mode": "fast"}, static=(1, "mode"))
    assert signature.leaves == (
        ArrayLeaf(np.dtype(np.float64), (2,)),
        StaticLeaf(("a", "b")),
        StaticLeaf("fast"),
    )
    assert signature.argument_of() == [0, 1, "mode"]


def test_an_argument_that_contains_itself_is_refused() -> None:
    ring: list[Any] = [1.0]
    ring.append({"back": ring})
    for call in (mlirad.jit(first), mlirad.grad(first), mlirad.jit(first).lower):
        with pytest.raises(TypeError, match="a list that contains itself"):
            call(ring)
    with pytest.raises(TypeError, match="a dict that contains itself"):
        mlirad.jit(first)(ring[1])
    with pytest.raises(TypeError, match="a list that contains itself"):
        mlirad.vjp(first, ring)
    twice = [2.0]
    assert mlirad.jit(first)([3.0, twice, twice]) == 6.0


def first(parts: Any) -> Any:
    return parts[0] * 2.0
