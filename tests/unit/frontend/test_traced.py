"""Python's operators on traced values: where Python's rules apply, where NumPy's, and which values must be static."""

import math
import operator
import subprocess
import sys

import numpy as np
import pytest
from as_numpy import Known, agrees, compiled
from straight_line import evaluate

from mlirad.dialect.ops.check import CheckFailed
from mlirad.errors import CompileError, DTypeError, StaticValueError, StaticZeroDivisionError
from mlirad.frontend.values.traced import DATA, NeedStatic, Traced, is_static, origins_of, require_static

INTS = [-7, -3, -1, 0, 1, 2, 5]


@pytest.mark.parametrize("op", [operator.floordiv, operator.mod, operator.truediv, divmod, operator.add, operator.mul])
def test_python_ints_divide_as_python_and_numpys_as_numpy(op):
    for i in INTS:
        for j in INTS:
            agrees(op, i, j)
            agrees(op, np.int64(i), np.int64(j))
            agrees(op, np.int64(i), j)
            agrees(op, i, Known(j))
            agrees(op, Known(i), j)
    agrees(op, np.array(INTS), 2)
    agrees(op, np.array(INTS), np.array(INTS))


def test_python_division_by_zero_raises_and_by_zero_point_zero_does_not():
    with pytest.raises(CheckFailed, match="ZeroDivisionError: integer division or modulo by zero"):
        compiled(operator.floordiv, 7, 0)
    with pytest.raises(CheckFailed, match="ZeroDivisionError: division by zero"):
        compiled(operator.truediv, 7, 0)
    with pytest.raises(StaticZeroDivisionError):
        compiled(operator.mod, 7, Known(0))
    assert compiled(operator.truediv, 7.0, 0.0) == [("number", np.inf)]  # the documented deviation from Python


@pytest.mark.parametrize("x", [-7.5, -0.0, 0.0, 2.25, 7.5, np.inf, np.nan])
@pytest.mark.parametrize("y", [-2.0, 0.3, 2.0, np.inf])
def test_float_division_and_remainder(x, y):
    for op in (operator.floordiv, operator.mod, operator.truediv):
        agrees(op, np.float64(x), np.float64(y))
        agrees(op, np.array([x]), y)


BASES = [-2.0, -0.5, 0.0, 0.5, 3.0]


@pytest.mark.parametrize(
    "exponent", [0, 1, 2, 3, 5, 8, 9, 20, -1, -2, -9, 0.5, 2.0, 3.0, -0.5, 1.5, np.float32(2), np.int32(3)]
)
def test_powers_with_a_known_exponent(exponent):
    for base in (np.array(BASES), np.float64(-1.5), np.array(BASES, "f4"), np.array([3, -2, 1])):
        agrees(operator.pow, base, Known(exponent), rtol=1e-12)
        agrees(np.power, base, Known(exponent), rtol=1e-12)


@pytest.mark.parametrize("exponent", [-2, -1, 0, 1, 2, 7, 30])
def test_powers_of_python_numbers(exponent):
    for base in (3, -2, 1, 2.5, True):
        agrees(operator.pow, base, Known(exponent), rtol=1e-12)


def test_powers_with_a_traced_exponent():
    agrees(operator.pow, np.array([0.5, 2.0, 0.0]), np.array([2.5, -1.0, 0.0]))
    agrees(operator.pow, np.array([1, 2, 3]), 2.5)
    agrees(operator.pow, Known(2.0), np.array([1, 2, 3]))
    agrees(operator.pow, 2.0, 3)
    agrees(np.float_power, np.array([1, 2]), -1)
    agrees(operator.pow, np.array([3, 2]), np.array([0, 5]))


def test_a_half_is_the_square_root():
    special = np.array([-np.inf, -0.0, 4.0])
    agrees(operator.pow, special, Known(0.5))
    agrees(np.power, np.float64(-np.inf), Known(0.5))
    agrees(operator.pow, np.float64(2.0), Known(0.5))
    ((_, root),) = compiled(operator.pow, special, Known(0.5))
    assert np.signbit(root[1])


def test_an_int_to_a_traced_power_must_be_static():
    with pytest.raises(NeedStatic) as need:
        evaluate(lambda i, j: [(Traced(i, weak=True) ** Traced(j, True, False, frozenset({"j"}))).expr], 2, 3)
    assert need.value.origins == {"j"}


def test_powers_are_multiplications_for_small_integers():
    ops = []

    def build(x):
        (Traced(x) ** 3, Traced(x) ** 2.5)
        ops.extend(op.name for op in x.value.owner.ops)
        return [x]

    evaluate(build, np.array([2.0]))
    assert ops == ["nd.mul", "nd.mul", "nd.constant", "nd.full", "nd.pow"]


@pytest.mark.parametrize("op", [operator.and_, operator.or_, operator.xor])
def test_logic_of_bools(op):
    masks = np.array([True, False]), np.array([[True], [False]])
    agrees(op, *masks)
    for x in (True, np.True_, masks[0]):
        for y in (False, np.False_, masks[1]):
            agrees(op, x, y)
            agrees(op, x, Known(y))
            agrees(op, Known(x), y)
    for x, y in ((5, 3), (np.array([5, -6]), 3), (np.uint8(5), masks[0])):
        agrees(op, x, y)


def test_python_ints_are_compared_with_ints_of_any_size():
    for op in (operator.lt, operator.ge, operator.eq, operator.ne):
        for number in (2**70, -(2**70), 2.5, 2**63 - 1):
            agrees(op, 3, Known(number))
            agrees(op, Known(number), 3)


def test_arithmetic_of_bools():
    b = np.array([True, False])
    for op in (operator.add, operator.mul, operator.sub, operator.truediv):
        agrees(op, b, b)
        agrees(op, np.True_, np.True_)
        agrees(op, True, True)
    agrees(operator.neg, b)
    agrees(operator.neg, True)
    agrees(operator.invert, True)


def test_lists_become_arrays_where_the_other_operand_is_one():
    x = np.array([1.0, 2.0])
    agrees(operator.add, Known([1, 2]), x)
    agrees(operator.mul, x, Known((3, 4)))
    agrees(operator.add, x, Known(np.array([5.0, 6.0])))
    agrees(operator.add, np.float64(1), Known(np.array([5.0, 6.0])))
    agrees(lambda y: np.float64(2) * y, x)
    agrees(lambda y: np.array([1.0, 2.0]) - y, x)


def test_zero_d_arrays_give_scalars():
    s = np.array(3.0)
    agrees(operator.add, s, 1)
    agrees(operator.add, s, s)
    agrees(np.sqrt, s)
    agrees(operator.lt, s, 4)
    agrees(operator.neg, s)


def test_matrix_products():
    m = np.arange(6.0).reshape(2, 3)
    agrees(operator.matmul, m, np.arange(3.0))
    agrees(operator.matmul, np.arange(2.0), m)
    agrees(operator.matmul, m, m)
    agrees(operator.matmul, 1.0, m)


def test_origins_are_united_and_elements_are_data():
    def build(i, x):
        number = Traced(i, weak=True, origins=frozenset({"i"}))
        other = Traced(i, weak=True, origins=frozenset({"j"}))
        assert (number + 1).origins == {"i"}
        assert (-number * other).origins == {"i", "j"}
        assert (number < other).origins == {"i", "j"}
        assert np.sum(Traced(x)).origins == {DATA}
        assert (np.sum(Traced(x)) + number).origins == {"i", DATA}
        assert origins_of([number, (1, other)]) == origins_of({"a": slice(number, 1, other)}) == {"i", "j"}
        return [i]

    evaluate(build, 2, np.array([1, 2]))


def test_what_must_be_static_says_for_what():
    def build(i):
        x = Traced(i, weak=True, origins=frozenset({"n"}))
        assert require_static((1, [2]), "a shape") == (1, [2])
        assert not is_static({"a": [1, (x,)]}) and not is_static(slice(0, x))
        for use in (lambda: range(x), lambda: [1][x], lambda: bool(x), lambda: require_static([x], "a shape")):
            with pytest.raises(NeedStatic) as need:
                use()
            assert need.value.origins == {"n"}
        assert str(need.value) == "a shape must be known at compile time"
        return [i]

    evaluate(build, 3)


def test_lengths():
    def build(x, s, i):
        assert len(Traced(x)) == 2
        for value, text in (
            (Traced(s, zero_d=True), "len() of unsized object"),
            (Traced(i, weak=True), "object of type 'int' has no len()"),
        ):
            with pytest.raises(TypeError) as refusal:
                len(value)
            assert refusal.value.message == text
        return [x]

    evaluate(build, np.ones((2, 3)), np.array(1.0), 4)


@pytest.mark.parametrize("operand", ["a", None, object()])
def test_other_operands_are_refused(operand):
    with pytest.raises(DTypeError):
        compiled(operator.add, 1.0, Known(operand))


def test_refusals_place_themselves_among_pythons_exceptions():
    assert issubclass(StaticValueError, ValueError) and issubclass(StaticValueError, CompileError)
    with pytest.raises(ValueError, match="Integers to negative integer powers are not allowed"):
        compiled(operator.pow, np.array([1, 2]), Known(-1))


@pytest.mark.parametrize("x", [-2.7, 2.7, 0.0, 3, True, np.float32(1.5), np.int8(-3), np.array(2.9)])
def test_casts_to_python_numbers(x):
    from mlirad.frontend.numpy.numpy_calls import implementation

    for cast in (int, float):
        ((kind, value),) = compiled(implementation(cast), x)
        assert kind == "number" and value == cast(x) and isinstance(value.item(), cast)


def test_int_of_what_has_no_integer_part_raises():
    from mlirad.frontend.numpy.numpy_calls import implementation

    with pytest.raises(CheckFailed, match="ValueError: cannot convert float NaN to integer"):
        compiled(implementation(int), math.nan)
    with pytest.raises(CheckFailed, match="OverflowError"):
        compiled(implementation(int), 1e300)
    with pytest.raises(TypeError, match="only 0-dimensional arrays can be converted to Python scalars"):
        compiled(implementation(float), np.ones(1))


FRESH = """
import numpy as np
from mlirad.frontend.values.traced import Traced, as_operand, as_traced

def outcomes():
    x = as_traced(2)
    operators = lambda: x + 1, lambda: 1 - x, lambda: -x
    for function in (*operators, lambda: np.sin(x), lambda: np.shape(x), lambda: as_operand([x])):
        try:
            function()
            yield "compiled"
        except RuntimeError as error:
            yield str(error)

from xdsl.ir import Block
from mlirad.dialect.core.expr import building
with building(Block()):
    before = set(outcomes())
    import mlirad.frontend.build
    print(before, set(outcomes()))
"""


def test_the_entry_of_the_frontend_installs_what_operators_compile_to():
    """Without it an operator is a clear error, never Python's TypeError, which would blame the user's program."""
    done = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True, timeout=120, check=False)
    missing = "the functions that compile operators are not installed: numpy_calls.py has not been imported"
    assert (done.stdout.strip(), done.stderr) == (f"{ {missing} } { {'compiled'} }", "")
