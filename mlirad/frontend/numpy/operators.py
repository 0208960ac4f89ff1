"""Python's operators: with Python's rules for two Python numbers, else with NumPy's.

Reads: Traced values and numbers, at least one of them traced. Writes: nd ops. Leaves: Traced values.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import Expr, apply, emit
from mlirad.dialect.functions.complex_parts import ConjOp, ImagOp, ModulusOp, RealOp
from mlirad.dialect.ops.check import check
from mlirad.dialect.ops.compare import cast as cast_expr
from mlirad.errors import DTypeError, StaticZeroDivisionError
from mlirad.frontend.numpy import numpy_elementwise, python_comparisons, python_integers
from mlirad.frontend.numpy.declarations import compiles
from mlirad.frontend.numpy.numpy_elementwise import BITWISE, COMPARISONS
from mlirad.frontend.numpy.numpy_power import power
from mlirad.frontend.numpy.numpy_products import matmul
from mlirad.frontend.numpy.undecided_numbers import applied, as_held, kinds_made, may_be_python
from mlirad.frontend.program.caught_exceptions import is_caught
from mlirad.frontend.values import nep50
from mlirad.frontend.values.nep50 import Either
from mlirad.frontend.values.traced import Number, Traced, as_operand, in_type, is_python_number, origins_of, python_kind

_SYMBOLS = {
    np.bitwise_and: "&",
    np.bitwise_or: "|",
    np.bitwise_xor: "^",
    np.left_shift: "<<",
    np.right_shift: ">>",
}

_DIVISIONS = {np.divide: "float division", np.floor_divide: "float floor division", np.remainder: "float modulo"}


def binary(ufunc: np.ufunc, left: Any, right: Any) -> Any:
    """The Python operator of a ufunc (np.add: +), with at least one traced operand."""
    if isinstance(left, list | tuple) and ufunc is np.multiply and isinstance(right, Traced) and not right.is_array:
        raise DTypeError("can't multiply sequence by a number that is not known at compile time")
    left, right = as_operand(left), as_operand(right)
    if ufunc is np.matmul:
        return matmul(left, right)
    if is_python_number(left) and is_python_number(right):
        return _of_python_numbers(ufunc, left, right)
    if may_be_python(left) and may_be_python(right):
        return _of_either(ufunc, left, right)
    return power(left, right) if ufunc is np.power else numpy_elementwise.call(ufunc, left, right)


def unary(ufunc: np.ufunc, x: Traced) -> Any:
    """Python's -x, +x, ~x and abs(x)."""
    if x.either is not None:
        return applied(ufunc, [x], lambda y: unary(ufunc, y), lambda y: numpy_elementwise.call(ufunc, y))
    if not x.weak:
        return numpy_elementwise.call(ufunc, x)
    if x.kind is complex and ufunc is np.absolute:
        return Traced(emit(ModulusOp, x.scalar), weak=True, origins=x.origins)
    number = x.scalar if x.kind is not bool else cast_expr(x.scalar, types.I64)
    if ufunc is np.invert:
        if x.kind in (float, complex):
            raise DTypeError(f"bad operand type for unary ~: '{x.kind.__name__}'")
        return Traced(-1 - number, weak=True, origins=x.origins)
    if ufunc is not np.positive:
        checked = {np.negative: python_integers.negative, np.absolute: python_integers.absolute}
        number = apply(ufunc, number) if x.kind in (float, complex) else checked[ufunc](number)
    return Traced(number, weak=True, origins=x.origins, several=_several(ufunc, x))


def _of_either(ufunc: np.ufunc, left: Traced | Number, right: Traced | Number) -> Traced:
    """Operators on numbers that may all be Python's, and are NumPy's on another path."""
    if ufunc in COMPARISONS:
        result = numpy_elementwise.call(ufunc, left, right)
        either = next(x.either for x in (left, right) if isinstance(x, Traced) and x.either is not None)
        return replace(result, either=Either(np.dtype(bool), None, either.poison, (bool,)))

    def by_numpy(x: Traced | Number, y: Traced | Number) -> Traced:
        return power(x, y) if ufunc is np.power else numpy_elementwise.call(ufunc, x, y)

    return applied(ufunc, [left, right], lambda x, y: _of_python_numbers(ufunc, x, y), by_numpy)


def _of_python_numbers(ufunc: np.ufunc, left: Traced | Number, right: Traced | Number) -> Traced:
    """Bools count as ints; ints become only ints and floats; `/` gives a float; x // 0 raises."""
    origins = origins_of(left, right)
    kind: type = nep50.weak_join(python_kind(left), python_kind(right))
    if ufunc in _SYMBOLS and kind in (float, complex):
        raise DTypeError(f"unsupported operand type(s) for {_SYMBOLS[ufunc]}: '{kind.__name__}'")
    if kind is complex:
        return _of_complex(ufunc, left, right)
    if kind is bool and ufunc in BITWISE:
        flags = (in_type(x, nep50.weak_dtype(bool), ()) for x in (left, right))
        return Traced(apply(BITWISE[ufunc], *flags), weak=True, origins=origins)
    if ufunc in COMPARISONS:
        return Traced(python_comparisons.compared(ufunc, as_held(left), as_held(right)), weak=True, origins=origins)
    if ufunc is np.power:
        return replace(power(_plain(as_held(left)), _plain(as_held(right))), several=_several(ufunc, left, right))
    if kind is not float and ufunc in (np.divide, np.floor_divide, np.remainder):
        _check_divisor(ufunc, right)
    elif ufunc in _DIVISIONS and is_caught(ZeroDivisionError):
        message = f"{_DIVISIONS[ufunc]} by zero"
        check(apply(np.not_equal, in_type(right, nep50.weak_dtype(float), ()), 0.0), "ZeroDivisionError", message)
    is_float = kind is float or ufunc is np.divide
    dtype = nep50.weak_dtype(float if is_float else int)
    operands = in_type(left, dtype, ()), in_type(right, dtype, ())
    number = apply(ufunc, *operands) if is_float else python_integers.binary(ufunc, *operands)
    return Traced(number, weak=True, origins=origins, several=_several(ufunc, left, right))


def _of_complex(ufunc: np.ufunc, left: Traced | Number, right: Traced | Number) -> Traced:
    """Operators on Python numbers, at least one complex: computed as in NumPy, but x / 0 and 0 ** -1 raise."""
    if ufunc not in (np.add, np.subtract, np.multiply, np.divide, np.power, np.equal, np.not_equal):
        raise DTypeError(f"{ufunc.__name__} of Python's complex numbers")
    operands = [in_type(x, nep50.weak_dtype(complex), ()) for x in (left, right)]
    if ufunc is np.divide:
        check(apply(np.not_equal, operands[1], 0.0), "ZeroDivisionError", "complex division by zero")
    if ufunc is np.power:
        real, imaginary = emit(RealOp, operands[1]), emit(ImagOp, operands[1])
        is_allowed = ~((real < 0.0) | apply(np.not_equal, imaginary, 0.0))
        message = "0.0 to a negative or complex power"
        check(apply(np.not_equal, operands[0], 0.0) | is_allowed, "ZeroDivisionError", message)
    weak = Traced(operands[0], weak=True), Traced(operands[1], weak=True) if isinstance(right, Traced) else right
    found = power(*weak).expr if ufunc is np.power else apply(ufunc, *operands)
    return Traced(found, weak=True, origins=origins_of(left, right), several=_several(ufunc, left, right))


def _several(ufunc: np.ufunc, *operands: Traced | Number) -> nep50.Several | None:
    """The possible classes of a result of Python numbers, if the operands may have several."""
    found = [x.several for x in operands if isinstance(x, Traced) and x.several is not None]
    kinds = kinds_made(ufunc, operands) if found else ()
    return nep50.Several(kinds, found[0].poison) if len(kinds) > 1 else None


def _plain(x: Traced | Number) -> Traced | Number:
    """A Python bool as the int that arithmetic uses."""
    if not isinstance(x, Traced):
        return int(x) if isinstance(x, bool) else x
    return Traced(cast_expr(x.scalar, types.I64), weak=True, origins=x.origins) if x.kind is bool else x


def _check_divisor(ufunc: np.ufunc, divisor: Traced | Number) -> None:
    message = "division by zero" if ufunc is np.divide else "integer division or modulo by zero"
    if isinstance(divisor, Traced):
        value: Expr = in_type(divisor, nep50.weak_dtype(int), ())
        check(value != 0, "ZeroDivisionError", message)
    elif divisor == 0:
        raise StaticZeroDivisionError(message)


@compiles(method="conj")
def conj(x: Any) -> Any:
    """`x.conj()` for a number or a value."""
    if isinstance(x, Traced) and x.weak and x.kind is complex:
        return replace(x, expr=emit(ConjOp, x.scalar))
    return numpy_elementwise.call(np.conjugate, x) if x.dtype.kind == "c" else unary(np.positive, x)


@compiles(method="conjugate")
def conjugate(x: Any) -> Any:
    return conj(x)
