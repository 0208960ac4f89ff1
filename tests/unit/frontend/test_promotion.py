"""Dtypes and shapes of every pair of operands, against NumPy's."""

import itertools
import operator

import numpy as np
import pytest
from as_numpy import Known, agrees

from mlirad.errors import DTypeError, ShapeError, StaticOverflowError
from mlirad.frontend import promotion

ARRAYS = [
    *(np.array([3, 1, 2], dtype) for dtype in ("u1", "i1", "i4", "i8", "u8", "f4", "f8")),
    np.array([True, False, True]),
]
SCALARS = [np.array(4.5), np.float32(1.5), np.float64(2.5), np.int32(2), np.int64(3), np.uint8(2), np.bool_(True)]
NUMBERS = [True, 2, 2.5]
OPERANDS = [*ARRAYS, *SCALARS, *NUMBERS]
OPERATORS = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod),
    *(operator.lt, operator.eq),
]


def name(value):
    return f"{type(value).__name__}-{np.asarray(value).dtype}" if not callable(value) else value.__name__


def is_half(function, *operands):
    with np.errstate(all="ignore"):
        try:
            return np.asarray(function(*operands)).dtype == np.float16
        except TypeError:
            return False


@pytest.mark.parametrize("op", OPERATORS, ids=name)
@pytest.mark.parametrize("left", OPERANDS, ids=name)
def test_operators_of_all_pairs(op, left):
    for right in OPERANDS:
        if is_half(op, left, right):
            with pytest.raises(DTypeError, match="float16"):
                agrees(op, left, right)
            continue
        agrees(op, left, right)
        if not isinstance(left, np.ndarray):
            agrees(op, Known(left), right)
            agrees(op, right, Known(left))


@pytest.mark.parametrize(
    "ufunc",
    [
        *(np.add, np.subtract, np.multiply, np.divide, np.floor_divide, np.remainder, np.maximum, np.minimum),
        *(np.less, np.equal, np.logical_and, np.logical_or, np.logical_xor),
        *(np.bitwise_and, np.bitwise_or, np.bitwise_xor),
    ],
    ids=name,
)
def test_ufuncs_of_all_pairs(ufunc):
    floats = {np.dtype("f4"), np.dtype("f8")}
    for left, right in itertools.product(OPERANDS, OPERANDS):
        bits = ufunc in (np.bitwise_and, np.bitwise_or, np.bitwise_xor)
        kinds = {np.asarray(x).dtype for x in (left, right)}
        if is_half(ufunc, left, right) or (bits and not kinds & floats and kinds != {np.dtype(bool)}):
            continue
        agrees(ufunc, left, right)


@pytest.mark.parametrize("x", OPERANDS, ids=name)
def test_unary_operators(x):
    for op in (operator.neg, operator.pos, abs):
        agrees(op, x)
    if isinstance(x, int) or np.asarray(x).dtype.kind not in "iu":  # bits of NumPy's integers are not compiled
        agrees(operator.invert, x)


@pytest.mark.parametrize("number", [300, -1, 256, 255, 0, 2**31, 2**63, 2**70])
@pytest.mark.parametrize("dtype", ["u1", "i1", "i4", "i8", "u8", "f4", "f8"])
def test_python_ints_out_of_range(number, dtype):
    for x in (np.array([3, 100], dtype), np.dtype(dtype).type(3)):
        for op in (operator.add, operator.lt, operator.eq, operator.ge, operator.ne):
            agrees(op, x, Known(number))
            agrees(op, Known(number), x)
            if -(2**63) <= number < 2**63:
                agrees(op, x, number)
                agrees(op, number, x)


@pytest.mark.parametrize("op", [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne])
def test_signed_and_unsigned_are_compared_exactly(op):
    signed = np.array([-1, 0, 5, 2**63 - 1])
    unsigned = np.array([2**64 - 1, 0, 5, 2**63], np.uint64)
    agrees(op, signed, unsigned)
    agrees(op, unsigned, signed)
    agrees(op, unsigned, -1)
    agrees(op, 5, unsigned)
    agrees(op, signed.astype("i1"), unsigned)


SHAPES = [(), (1,), (3,), (2, 1), (1, 3), (2, 3), (4, 1, 3), (0,), (2, 0)]


@pytest.mark.parametrize("left", SHAPES)
@pytest.mark.parametrize("right", SHAPES)
def test_broadcasting(left, right):
    x, y = np.arange(float(np.prod(left))).reshape(left), np.arange(float(np.prod(right))).reshape(right) + 1
    agrees(operator.add, x, y)


def test_broadcasting_is_refused_with_numpys_text():
    with pytest.raises(ValueError) as theirs:
        np.ones(5) + np.ones(3)
    with pytest.raises(ShapeError) as ours:
        promotion.broadcast_shapes((5,), (3,))
    assert ours.value.message == str(theirs.value).rstrip()


def test_a_constant_out_of_range_is_refused_with_numpys_text():
    with pytest.raises(StaticOverflowError, match="Python integer 300 out of bounds for uint8"):
        promotion.convert(300, np.dtype("u1"))


def test_half_precision_is_refused_with_a_hint():
    with pytest.raises(DTypeError, match=r"np\.exp of int8 is float16") as refusal:
        promotion.loop_dtypes(np.exp, [np.dtype("i1")])
    assert refusal.value.hint is not None


def test_axes():
    assert promotion.normalize_axes((-1, 0), 3) == (0, 2)
    assert promotion.normalize_axes(None, 2) == (0, 1)
    with pytest.raises(ShapeError, match="axis 3 is out of bounds for array of dimension 1"):
        promotion.normalize_axes(3, 1)
