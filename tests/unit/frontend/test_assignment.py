"""Values stored in an array, against NumPy's assignments: results, and refusals with NumPy's texts."""

import numpy as np
import other_numpys
import pytest
from as_numpy import is_alike, refusal, traced_as
from straight_line import evaluate

from mlirad.dialect.ops.check import CheckFailed
from mlirad.errors import CompileError
from mlirad.frontend.values.assignment import assignable

VALUES = [
    *(2, 2.7, -1, True, 300, 2**40, np.float64(2.7), np.float32(-1.5), np.int64(300), np.uint8(7), np.bool_(True)),
    *(np.array(7.5), np.array([1.9, -1.9, 2.5]), np.array([1, 2, 3]), np.array([[1.5, 2.5, 3.5]]), np.ones(1)),
    *(np.array([[1.0], [2.0]]), np.ones((2, 3)), np.ones(4), np.ones((2, 1, 3)), np.zeros((1, 1))),
]
ERRORS = (ValueError, TypeError, OverflowError)


def stored(value, shape, dtype, in_place=None, static=False):
    """The result of `assignable` for a value, static or traced."""
    if static:
        return evaluate(lambda: [assignable(value, shape, dtype, in_place)])[0]
    argument = value if isinstance(value, np.ndarray) else np.asarray(value)[()]
    return evaluate(lambda x: [assignable(traced_as(value, x), shape, dtype, in_place)], argument)[0]


def name(value):
    return str(value).replace("\n", "")


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1", "?"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3)], ids=name)
@pytest.mark.parametrize("value", VALUES, ids=name)
def test_assignments(value, shape, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind == "b" and not shape and np.shape(value) and np.size(value) == 1:
        return  # NumPy takes the array's truth, for bools only; we refuse it as for all others
    # x[0] = value differs from x0[...] = value: an element accepts no array of one element.
    target = np.zeros(shape or (1,), dtype)
    error = None
    try:
        target[... if shape else 0] = value
    except ERRORS as raised:
        error = raised
    wanted = target if shape else target[0]
    for static in (False, True):
        if error is not None:
            ours = refusal(lambda: stored(value, shape, dtype, static=static))
            assert ours is not None and is_alike(ours, error) and ours.message == str(error)
            continue
        if other_numpys.IS_OTHER and refusal(lambda: stored(value, shape, dtype, static=static)) is not None:
            continue
        result = stored(value, shape, dtype, static=static)
        assert result.dtype == dtype and np.shape(result) == shape and np.array_equal(result, wanted)


@pytest.mark.parametrize(
    ("dtype", "ufunc", "other"),
    [
        ("i8", np.add, 0.5),
        ("i8", np.divide, 2),
        ("i8", np.floor_divide, 2),
        ("i8", np.multiply, 2.0),
        ("?", np.add, 1),
        ("f4", np.add, np.arange(3.0)),
        ("i4", np.add, np.arange(3)),
        ("u1", np.add, np.int64(3)),
        ("f8", np.add, np.ones((1, 3))),
        ("f8", np.add, np.ones((2, 3))),
        ("f8", np.add, 1),
        ("i8", np.power, 2),
    ],
    ids=name,
)
def test_assignments_in_place(dtype, ufunc, other):
    target = np.array([3, 1, 2]).astype(dtype)
    result = ufunc(target, other)
    error = None
    try:
        ufunc(target, other, out=target)
    except ERRORS as raised:
        error = raised
    if error is None:
        assert np.array_equal(stored(result, (3,), np.dtype(dtype), ufunc), target)
        return
    ours = refusal(lambda: stored(result, (3,), np.dtype(dtype), ufunc))
    assert ours is not None and is_alike(ours, error) and ours.message == str(error).strip()


def test_the_shape_of_an_operation_in_place_may_not_grow():
    for value, text in (
        (np.ones((1, 4)), "non-broadcastable output operand with shape (4,) doesn't match the broadcast shape (1,4)"),
        (np.ones((2, 4)), "non-broadcastable output operand with shape (4,) doesn't match the broadcast shape (2,4)"),
    ):
        with pytest.raises(ValueError) as theirs:
            np.add(np.ones(4), value, out=np.ones(4))
        assert str(theirs.value).strip() == text
        with pytest.raises(ValueError) as ours:
            stored(value, (4,), np.dtype(float), np.add)
        assert ours.value.message == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(np.nan, "cannot convert float NaN to integer"), (np.inf, "cannot convert float infinity to integer")],
)
def test_nan_and_infinity_are_no_integers(value, text):
    for number in (value, np.float64(value)):
        with pytest.raises(CompileError, match=text):
            stored(number, (), np.dtype(int), static=True)
        with pytest.raises(CheckFailed):
            stored(number, (), np.dtype(int))


def test_lists_are_stored_as_arrays():
    assert evaluate(lambda: [assignable([1.9, -1.9], (2,), np.dtype(int))])[0].tolist() == [1, -1]
    with pytest.raises(ValueError, match="setting an array element with a sequence"):
        evaluate(lambda: [assignable([1.0], (), np.dtype(float))])
