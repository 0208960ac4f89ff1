"""Operators on numbers that are Python's on one path and NumPy's on another: computed where both meanings agree.

They agree if both give one dtype (`s * 2.0`, s a float or a float64), or if the Python number is known and NumPy's
result equals Python's exactly (`0.0 * 0.9` in float32).

Reads: Traced values and numbers. Writes: nd ops. Leaves: Traced values. Raises PoisonUsed if the meanings differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NoReturn

import numpy as np

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import apply
from mlirad.dialect.ops.check import check
from mlirad.dialect.ops.compare import cast as cast_expr
from mlirad.errors import CompileError
from mlirad.frontend.values import nep50
from mlirad.frontend.values.nep50 import LARGEST_EXACT, Either, united
from mlirad.frontend.values.poison import PoisonUsed
from mlirad.frontend.values.traced import Number, Traced, python_kind, stand_in
from mlirad.signature import weak_kind

Operand = Traced | Number
_NARROW_FLOATS = (np.dtype(np.float16), np.dtype(np.float32))


def is_undecided(x: Any) -> bool:
    return isinstance(x, Traced) and x.either is not None


def may_be_python(x: Any) -> bool:
    """Whether a value is a Python number on at least one path."""
    return is_undecided(x) or isinstance(stand_in(x), type | nep50.Several)


def applied(
    ufunc: np.ufunc,
    operands: Sequence[Operand],
    by_python: Callable[..., Traced],
    by_numpy: Callable[..., Traced],
) -> Traced:
    """The Python operator of a ufunc, on operands that may all be Python's, but need not be."""
    values = _values(ufunc, operands) or _of_zeros(ufunc, operands)
    dtype = _numpys_dtype(ufunc, operands)
    if dtype is not None and _pythons_dtype(ufunc, operands) == dtype:
        result = by_python(*(_as_pythons(as_held(x)) for x in operands))
    elif values is not None:
        result = by_numpy(*map(as_numpys, operands))
        dtype = result.dtype
    else:
        refuse(operands)
    assert dtype is not None
    return replace(
        result, weak=False, zero_d=False, either=Either(dtype, values, _poison(operands), kinds_made(ufunc, operands))
    )


def kinds_made(ufunc: np.ufunc, operands: Sequence[Operand]) -> tuple[type, ...]:
    """The classes that Python's operator may give for numbers that may be Python's."""
    if ufunc is np.divide:
        return (float,)
    made = [nep50.weak_join(*chosen) for chosen in product(*(nep50.kinds_of(stand_in(x)) for x in operands))]
    is_logical = len(operands) == 2 and ufunc in (np.bitwise_and, np.bitwise_or, np.bitwise_xor)
    return nep50.in_order(int if kind is bool and not is_logical else kind for kind in made)


def refuse(operands: Sequence[Operand]) -> NoReturn:
    raise PoisonUsed(_poison(operands))


def _poison(operands: Sequence[Operand]) -> Any:
    return next(x.either.poison for x in operands if isinstance(x, Traced) and x.either is not None)


def as_held(x: Operand) -> Operand:
    """A Python number of several classes, as one of the class that holds it."""
    return replace(x, several=None) if isinstance(x, Traced) else x


def as_numpys(x: Operand) -> Operand:
    """The number on the path where it is NumPy's."""
    return replace(x, either=None) if isinstance(x, Traced) else x


def _as_pythons(x: Operand) -> Operand:
    """The number on the path where it is Python's."""
    if not isinstance(x, Traced) or x.either is None:
        return x
    number = x.scalar
    if x.dtype != np.uint64:  # int64 does not hold it; only floats are made of it here
        number = cast_expr(number, types.from_dtype(nep50.weak_dtype(x.either.kind)))
    return Traced(number, weak=True, origins=x.origins)


def _numpys_dtype(ufunc: np.ufunc, operands: Sequence[Operand]) -> np.dtype | None:
    """The dtype of the result if at least one operand is NumPy's; None if there are several."""
    found: set[np.dtype] = set()
    for chosen in nep50.meanings([stand_in(x) for x in operands]):
        if any(isinstance(each, np.dtype) for each in chosen):
            try:
                *loop, last = nep50.loop_dtypes(ufunc, chosen)
            except CompileError:
                return None
            found |= {last, *loop}
    return found.pop() if len(found) == 1 else None


def _pythons_dtype(ufunc: np.ufunc, operands: Sequence[Operand]) -> np.dtype | None:
    """The dtype of the result of Python's numbers; None if it depends on their values, or is refused."""
    samples = [nep50.sample(python_kind(x)) if isinstance(x, Traced) else x for x in operands]
    if ufunc is np.power and isinstance(operands[1], Traced) and {python_kind(x) for x in operands} <= {bool, int}:
        return None
    result = _pythons_result(ufunc, samples)
    return None if type(result) not in nep50.WEAK else nep50.weak_dtype(type(result))


def _pythons_result(ufunc: np.ufunc, numbers: Sequence[Any]) -> Any:
    """The result of Python's operator; None if it raises. Floats are divided by zero as in NumPy."""
    try:
        return ufunc(*numbers, dtype=object)
    except ZeroDivisionError:
        is_float = ufunc is np.divide and any(isinstance(number, float) for number in numbers)
        with np.errstate(all="ignore"):
            return float(np.float64(numbers[0]) / np.float64(numbers[1])) if is_float else None
    except (TypeError, ValueError, ArithmeticError):
        return None


def _values(ufunc: np.ufunc, operands: Sequence[Operand]) -> tuple[Any, ...] | None:
    """Python's results, if its operands are known and NumPy's results for them are the same."""
    known: list[tuple[tuple[Any, Any], ...]] = []
    for x in operands:
        if not isinstance(x, Traced):
            known.append(((x, x),))
        elif x.either is None or x.either.values is None:
            return None
        else:
            known.append(tuple((value, x.dtype.type(value)) for value in x.either.values))
    results: list[Any] = []
    for chosen in product(*known):
        of_python = _pythons_result(ufunc, [python for python, _ in chosen])
        if not _is_held_by(of_python, ufunc, [held for _, held in chosen]):
            return None
        results.append(of_python)
    return united(results)


def _of_zeros(ufunc: np.ufunc, operands: Sequence[Operand]) -> tuple[Any, ...] | None:
    """Python's results of 0.0 times, or divided by, a Python number known only at run time; None: other operands.

    They are zeros and nan in narrower floats too, unless that number is 0 or infinite only there: then OverflowError.
    """
    places = {np.multiply: (0, 1), np.divide: (0,)}.get(ufunc, ())
    for place in places:
        zero, other = operands[place], operands[1 - place]
        if not isinstance(zero, Traced) or zero.either is None or zero.dtype not in _NARROW_FLOATS:
            continue
        if zero.either.values is None or any(zero.either.values) or not isinstance(other, Traced) or not other.weak:
            continue
        if other.kind is float:
            _check_held(zero, other)
        return 0.0, -0.0, math.nan
    return None


def _check_held(zero: Traced, other: Traced) -> None:
    number = other.scalar
    held = cast_expr(cast_expr(number, zero.expr.type), types.F64)
    # Half of a number equals the number if it is 0 or infinite.
    is_changed = apply(np.equal, held * 0.5, held) & apply(np.not_equal, number * 0.5, number)
    message = (
        f"a float that is 0 or infinite in {zero.dtype} meets a 0.0 that is Python's on one path and NumPy's on another"
    )
    check(apply(np.not_equal, zero.scalar, 0.0) | ~is_changed, "OverflowError", message)


def _is_held_by(of_python: Any, ufunc: np.ufunc, held: Sequence[Any]) -> bool:
    """Whether NumPy's arithmetic on the numbers gives exactly Python's result, and its kind."""
    try:
        with np.errstate(all="ignore"):
            of_numpy = ufunc(*held)
    except (TypeError, ValueError, ArithmeticError):
        return False
    if type(of_python) is not weak_kind(of_numpy.dtype):
        return False
    if isinstance(of_python, float) and (math.isnan(of_python) or of_python == 0.0):
        return repr(of_python) == repr(float(of_numpy))
    return of_numpy.item() == of_python


# --- comparisons ------------------------------------------------------------------------------------------------


def settled(ufunc: np.ufunc, x: Operand, y: Operand) -> tuple[Operand, Operand]:
    """The operands of a relation on the path where they are NumPy's. Raises PoisonUsed if Python's relation differs.

    Relations of integers are exact on both sides, and so are relations of numbers that all their floats hold.
    """
    for one, other in ((x, y), (y, x)):
        if isinstance(one, Traced) and one.either is not None:
            is_same = _is_same_with_numpys if not may_be_python(other) else _is_same_with_pythons
            if not is_same(ufunc, one, one.either, other):
                refuse([one])
    return as_numpys(x), as_numpys(y)


def _is_same_with_numpys(ufunc: np.ufunc, x: Traced, either: Either, other: Operand) -> bool:
    dtype = stand_in(other)
    assert isinstance(dtype, np.dtype)
    if either.kind is not float and dtype.kind != "f":
        return True
    weak, strong = (nep50.loop_dtypes(ufunc, [each, dtype])[0] for each in (either.kind, x.dtype))
    return weak == strong or _are_exact(either.values, weak)


def _are_exact(values: Sequence[Any] | None, dtype: np.dtype) -> bool:
    with np.errstate(all="ignore"):
        return values is not None and all(float(dtype.type(value)) == value for value in values)


def _is_same_with_pythons(ufunc: np.ufunc, x: Traced, either: Either, other: Operand) -> bool:
    kind = python_kind(other)
    if either.kind is not float and kind is not float:
        return True
    if isinstance(other, Traced) and other.either is not None and other.dtype != x.dtype:
        return {x.dtype, other.dtype} <= {np.dtype(np.int64), np.dtype(np.float64)} and _require_exact(x, other)
    if x.dtype in _NARROW_FLOATS:
        return _is_same_in_narrow_float(ufunc, x.dtype, either, other)
    if not isinstance(other, Traced):
        return x.dtype.itemsize < 8 or bool(abs(other) < LARGEST_EXACT) or either.kind is kind or _require_exact(x)
    return x.dtype.itemsize < 8 or _require_exact(x, other)


def _is_same_in_narrow_float(ufunc: np.ufunc, dtype: np.dtype, either: Either, other: Operand) -> bool:
    if isinstance(other, Traced):
        return other.either is not None
    if _are_exact([other], either.dtype):
        return True
    number = dtype.type(other)
    return either.values is not None and all(
        bool(ufunc(value, other)) == bool(ufunc(dtype.type(value), number)) for value in either.values
    )


def _require_exact(*operands: Traced) -> bool:
    """Raise OverflowError at run time if an integer is too large to be exact in floats: Python compares it exactly."""
    for x in operands:
        if x.kind is int and x.dtype.itemsize == 8:
            value = x.scalar
            message = "the integer {0}, which is Python's on one path and NumPy's on another, has no exact float"
            check(
                (value <= LARGEST_EXACT) & (value >= -LARGEST_EXACT),
                "OverflowError",
                message,
                cast_expr(value, types.I64),
            )
    return True
