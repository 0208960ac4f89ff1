"""Facts about values: known numbers, and arrays filled with one number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import Block

from mlirad.analysis.constants import constant_int, is_constant, is_number, known_number, never_negative_zero
from mlirad.dialect import nd  # noqa: F401  (defines the ops)
from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, building, constant, full, insert

DTYPES = ("bool", "int8", "uint8", "int16", "uint32", "int64", "uint64", "float32", "float64")


def _type(array: np.ndarray) -> Any:
    return types.of_shape(array.shape, types.from_dtype(array.dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_constant_is_its_number_to_the_bit(dtype: str) -> None:
    kind = np.dtype(dtype)
    ends = [0.0, -0.0, 1.5, np.inf] if kind.kind == "f" else [0, 1] if kind.kind == "b" else _ends(kind)
    for number in ends:
        for shape in [(), (3,), (2, 2)]:
            array = np.full(shape, number, kind)
            with building(Block()):
                value = constant(array[()], _type(array)).value
            known = known_number(value)
            assert known.dtype == kind and known.tobytes() == kind.type(number).tobytes()
            assert is_constant(value) and is_number(value, kind.type(number))
            assert constant_int(value) == (int(number) if kind.kind != "f" and shape == () else None)
            assert never_negative_zero(value) == (kind.kind != "f" or not (number == 0 and np.signbit(number)))


def _ends(kind: np.dtype) -> list[int]:
    info = np.iinfo(kind)
    return [int(info.min), 0, 7, int(info.max)]


def test_an_array_of_two_numbers_is_none() -> None:
    with building(Block()):
        value = constant(np.array([1.0, 2.0]), types.tensor((2,), types.F64)).value
    assert is_constant(value) and known_number(value) is None and not is_number(value, 1.0)


def test_an_array_that_is_filled_has_the_number_it_is_filled_with() -> None:
    block = Block(arg_types=[types.F64, i64])
    x, size = block.args
    with building(block):
        known = full(constant(-0.0, types.F64), (-1,), [Expr(size)]).value
        unknown = full(Expr(x), (4,), []).value
    assert is_number(known, -0.0) and not is_number(known, 0.0) and not never_negative_zero(known)
    assert known_number(unknown) is None and not is_constant(unknown) and not is_constant(x)


def test_an_upstream_constant_is_known_and_as_an_index_too() -> None:
    with building(Block()):
        number = insert(arith.ConstantOp.from_int_and_width(-5, 64)).result
        index = insert(arith.IndexCastOp(number, IndexType())).result
    assert constant_int(number) == constant_int(index) == known_number(number) == -5
