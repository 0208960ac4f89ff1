"""Dtypes and shapes of every pair of operands, against NumPy's; the table of powers, stores and joins."""

import ast
import itertools
import operator
from pathlib import Path

import numpy as np
import other_numpys
import pytest
from as_numpy import Known, agrees

from mlirad.errors import ShapeError, StaticOverflowError
from mlirad.frontend.values import nep50, shapes

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


@pytest.mark.parametrize("op", OPERATORS, ids=name)
@pytest.mark.parametrize("left", OPERANDS, ids=name)
def test_operators_of_all_pairs(op, left):
    for right in OPERANDS:
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
        if bits and not kinds & floats and kinds != {np.dtype(bool)}:
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
        shapes.broadcast_shapes((5,), (3,))
    assert ours.value.message == str(theirs.value).rstrip()


def test_a_constant_out_of_range_is_refused_with_numpys_text():
    with pytest.raises(StaticOverflowError, match="Python integer 300 out of bounds for uint8"):
        nep50.convert(300, np.dtype("u1"))


def test_axes():
    assert shapes.normalize_axes((-1, 0), 3) == (0, 2)
    assert shapes.normalize_axes(None, 2) == (0, 1)
    with pytest.raises(ShapeError, match="axis 3 is out of bounds for array of dimension 1"):
        shapes.normalize_axes(3, 1)


# --- the table itself, against NumPy's and Python's numbers --------------------------------------------------------

DTYPES = [np.dtype(name) for name in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8")]
KINDS = [bool, int, float]


def values_of(source):
    """Numbers of a dtype or of a Python kind, including the ends of its range."""
    if source is bool or source == np.dtype(bool):
        numbers = [False, True]
    elif source is int or (isinstance(source, np.dtype) and source.kind in "iu"):
        limits = np.iinfo(np.int64 if source is int else source)
        numbers = [0, 1, 2, 3, -1, -2, 100, 200, 300, -200, 40_000, int(limits.max), int(limits.min)]
        numbers = [x for x in numbers if limits.min <= x <= limits.max]
    else:
        numbers = [0.0, 0.5, -1.0, 2.0, 300.7, -200.5, 1e10, -1e10, 1e300, np.nan]
    with np.errstate(all="ignore"):
        return [source.type(x) for x in numbers] if isinstance(source, np.dtype) else numbers


def told(function, *args, **kwargs):
    """Its result, or the class of its error."""
    try:
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)
    except (ValueError, TypeError, OverflowError) as error:
        return next(kind for kind in (ValueError, TypeError, OverflowError) if isinstance(error, kind))


def operands_of_powers(exponent):
    for base, known in itertools.product([*DTYPES, *KINDS], [-1, 0, 2, 3]):
        is_held = known in values_of(exponent) if exponent is not float else True
        if is_held:
            number = exponent.type(known) if isinstance(exponent, np.dtype) else exponent(known)
            yield base, nep50.sample(base), number, False
            if isinstance(base, np.dtype):
                yield base, np.ones(2, base), number, True


@pytest.mark.parametrize("exponent", [*DTYPES, *KINDS], ids=str)
def test_powers(exponent):
    for base, operand, number, of_array in operands_of_powers(exponent):
        if of_array and not other_numpys.POWERS_PROMOTE:
            continue  # a deviation
        for of_numpy, power in ((False, operator.pow), (True, np.power)):
            is_python = isinstance(base, type) and isinstance(exponent, type) and not of_numpy
            expected = told(power, operand, number)
            # Python's arithmetic on bools is arithmetic on ints, before nep50 is asked.
            asked = [int if is_python and each is bool else each for each in (base, exponent)]
            found = told(nep50.power_dtypes, *asked, number, of_numpy=of_numpy, of_array=of_array)
            if expected is ValueError or expected is OverflowError:  # refused by its value, after the dtype is known
                assert found[-1].kind in "iu" and number < 0
            elif expected is TypeError:
                assert found is TypeError
            else:
                assert found[-1] == np.asarray(expected).dtype, (base, number, of_numpy, of_array)


def in_element(target, number):
    target[0] = number


def by_index_array(target, number):
    target[[0]] = number


@pytest.mark.parametrize("source", [*DTYPES, *KINDS], ids=str)
def test_stores(source):
    """A value that is cast never raises; if a number must fit, some value raises."""
    for dtype, number in itertools.product(DTYPES, values_of(source)):
        limits = np.iinfo(dtype) if dtype.kind in "iu" else None
        whole = 0 if limits is None else told(int, number)
        fits = isinstance(whole, int) and (limits is None or limits.min <= whole <= limits.max)
        for store, value, is_array, casts in (
            (in_element, number, False, False),
            (by_index_array, number, False, True),
            (in_element, np.array(number), True, False),
        ):
            is_cast = nep50.is_cast_in_store(source, dtype, is_array=is_array, casts_scalars=casts)
            outcome = told(store, np.zeros(2, dtype), value)
            if is_cast or fits:
                assert outcome is None, (dtype, value, store)
            else:
                assert outcome in (ValueError, OverflowError), (dtype, value, store)


@pytest.mark.parametrize("left", [*DTYPES, *KINDS], ids=str)
def test_joins(left):
    """A join has NumPy's dtype if one number is NumPy's; it holds both numbers, except ints that no float equals."""
    for right in [*DTYPES, *KINDS]:
        dtype = nep50.joined(left, right)
        assert dtype == nep50.joined(right, left)
        numpys = {x for x in (left, right) if isinstance(x, np.dtype)}
        if dtype is None:
            assert numpys and left != right
            continue
        assert dtype in numpys or not numpys
        for number in (*values_of(left), *values_of(right)):
            with np.errstate(all="ignore"):
                held = told(dtype.type, number)
                same = held not in (OverflowError, ValueError) and (
                    held.item() == number or (number != number and dtype.kind == "f")
                )
            if nep50.holds(dtype, number):
                assert same, (dtype, number)
            elif not isinstance(number, bool) and not (isinstance(number, np.generic) and number.dtype != dtype):
                assert not same or isinstance(number, float), (dtype, number)
    assert nep50.joined(left, left) == (left if isinstance(left, np.dtype) else np.dtype(left))


def test_there_is_no_second_table():
    """No other file of the frontend asks NumPy for result dtypes, or decides which Python number a dtype holds."""
    asked = {"result_type", "promote_types", "can_cast", "resolve_dtypes", "min_scalar_type", "common_type"}
    found = []
    for path in Path(nep50.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            is_asked = isinstance(node, ast.Attribute) and node.attr in asked and path.stem != "nep50"
            keys = (
                [key.value for key in node.keys if isinstance(key, ast.Constant)] if isinstance(node, ast.Dict) else []
            )
            if is_asked or {"b", "f"} <= set(keys) or {"i", "f"} <= set(keys):
                found.append(f"{path.name}:{node.lineno}")
    assert not found
