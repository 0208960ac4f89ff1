"""Every operator and function on operands of every kind and dtype: what NumPy gives, and what the compiler gives.

A check is one expression of two operands x and y. Expressions on the same operands are compiled together.
Where that is refused, or raises, their halves are, down to one expression.
"""

from __future__ import annotations

import importlib.util
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import function_expressions
import numpy as np

from mlirad.errors import CompileError

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
EXACT = (
    *("x + y", "x - y", "x * y", "x / y", "x // y", "x % y", "x & y", "x | y", "x ^ y", "x << y", "x >> y"),
    *("x == y", "x != y", "x < y", "x <= y", "x > y", "x >= y", "x and y", "x or y", "not x"),
    *("np.maximum(x, y)", "np.minimum(x, y)", "np.where(x > y, x, y)", "max(x, y)", "min(x, y)", "np.add(x, y)"),
    *("np.subtract(x, y)", "np.multiply(x, y)", "np.array([x, y])", "x if x > y else y", "np.floor_divide(x, y)"),
    *(
        "np.divide(x, y)",
        "np.less(x, y)",
        "np.full(2, x)",
        "np.clip(x, 1, y)",
        "np.bitwise_xor(x, y)",
        "divmod(x, y)[1]",
    ),
    *("-x", "+x", "~x", "abs(x)", "np.square(x)", "np.sign(x)", "np.negative(x)", "np.absolute(x)"),
    *("float(x)", "int(x)", "bool(x)", "x ** 0", "x ** 2", "x ** np.int64(2)", "x ** np.uint8(2)", "np.power(x, 3)"),
    *(f"np.asarray(x).astype(np.{name})" for name in DTYPES if name != "bool"),
)
ROUNDED = ("np.sqrt(x)", "np.sin(x)", "x ** 0.5", "x ** 2.5", "np.float_power(x, 2)")
EXPRESSIONS = (*EXACT, *ROUNDED)
JOINS = ("x and y", "x or y", "max(x, y)", "min(x, y)", "x if x > y else y")
_ROUNDED = frozenset((*ROUNDED, *function_expressions.EXPRESSIONS))
UNARY = frozenset(e for e in EXPRESSIONS if "y" not in e.replace("array", "").replace("power", ""))


@dataclass(frozen=True)
class Operand:
    """A value of x or y. kind: array, 0-d, scalar, Python (arguments), or literal (with text `text`)."""

    kind: str
    value: Any
    text: str = ""

    @property
    def is_python(self) -> bool:
        return type(self.value) in (bool, int, float)

    def __str__(self) -> str:
        return self.text or f"{self.kind} {getattr(self.value, 'dtype', '')} {self.value!r}"


def edges(name: str) -> list[Any]:
    """Values at the edges of a dtype, and beside them."""
    dtype = np.dtype(name)
    if dtype.kind == "b":
        return [False, True, True, False]
    if dtype.kind == "f":
        return [0.0, -0.0, 1.5, -2.5, 3.0, 300.7, -1e10, 1e19, float("inf"), float("nan"), 7.0, 2.0**31]
    info = np.iinfo(dtype)
    return [0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.max // 2, 100]


def arguments() -> list[Operand]:
    found: list[Operand] = []
    for name in DTYPES:
        values = edges(name)
        found.append(Operand("array", np.array(values, name)))
        found += [Operand("0-d", np.array(values[place], name)) for place in (3, -1)]
        found += [Operand("scalar", np.dtype(name).type(values[place])) for place in (2, 5 % len(values))]
    found += [Operand("Python", value) for value in (True, 0, 3, -7, 2**53 + 1, 2**62, 2.5, -0.0, 1e10, 2.0**53)]
    return found


def literals() -> list[Operand]:
    numbers = (True, 0, 3, -1, 200, 2**40, 2.5, -0.5, 1e30)
    found = [Operand("literal", number, f"({number!r})") for number in numbers]
    typed = [(name, edges(name)[place]) for name in DTYPES for place in (2, 3)]
    return found + [
        Operand("literal", np.dtype(name).type(v), f"np.{'bool_' if name == 'bool' else name}({v})")
        for name, v in typed
    ]


def pairs() -> Iterator[tuple[Operand, Operand]]:
    for x in arguments():
        for y in (*arguments(), *literals()):
            shapes = {len(o.value) for o in (x, y) if o.kind == "array"}
            if len(shapes) == 2:
                length = min(shapes)
                x, y = (Operand(o.kind, o.value[:length]) if o.kind == "array" else o for o in (x, y))
            yield x, y


def drawn(draw: random.Random) -> list[str]:
    """Expressions for a pair: all that have two operands, and for one pair in seven also the others."""
    found = [each for each in EXPRESSIONS if each not in UNARY] if draw.random() < 0.85 else list(EXPRESSIONS)
    return found if draw.random() < 0.15 else [each for each in found if each not in JOINS]


@dataclass
class Tally:
    """The results of the checks. wrong: differences that are not a row of the page of deviations."""

    checks: int = 0
    same: int = 0
    raised: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    rows: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def _module(source: str, folder: Path) -> Any:
    path = folder / f"checks_{len(list(folder.iterdir()))}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _functions(x: Operand, y: Operand, groups: Sequence[Sequence[str]], folder: Path) -> list[Callable[..., Any]]:
    """A function for each group of expressions: of x, and of y unless that is a literal."""
    lines = ["import numpy as np", ""]
    for number, group in enumerate(groups):
        lines += [f"def f{number}(x, y):"] if not y.text else [f"def f{number}(x):", f"    y = {y.text}"]
        lines += ["    return (", *(f"        {each}," for each in group), "    )", ""]
    module = _module("\n".join(lines), folder)
    return [getattr(module, f"f{number}") for number in range(len(groups))]


def run(x: Operand, y: Operand, expressions: Sequence[str], call: Callable[..., Any], tally: Tally) -> None:
    """The checks of the expressions on two operands. call: runs a function compiled."""
    args = (x.value,) if y.text else (x.value, y.value)
    if _both_python(x, y, "") and y.value > 64:
        expressions = [each for each in expressions if "<<" not in each]  # a number of so many bits
    with tempfile.TemporaryDirectory() as name, np.errstate(all="ignore"):
        folder = Path(name)
        singles = _functions(x, y, [[each] for each in expressions], folder)
        wanted: dict[str, Any] = {}
        for expression, function in zip(expressions, singles, strict=True):
            try:
                wanted[expression] = function(*args)[0]
            except (ArithmeticError, TypeError, ValueError) as error:
                wanted[expression] = error
        values = [e for e in expressions if not isinstance(wanted[e], Exception)]
        groups = [values] + [[e] for e in expressions if isinstance(wanted[e], Exception)]
        while groups:
            group = groups.pop()
            if not group:
                continue
            try:
                (function,) = _functions(x, y, [group], folder)
                told: Sequence[Any] = call(function, *args)
            except Exception as error:
                if len(group) > 1:
                    groups += [group[: len(group) // 2], group[len(group) // 2 :]]
                    continue
                told = [error]
            for expression, result in zip(group, told, strict=True):
                judge(x, y, expression, wanted[expression], result, tally)


def judge(x: Operand, y: Operand, expression: str, wanted: Any, told: Any, tally: Tally) -> None:
    tally.checks += 1
    row = None
    if isinstance(wanted, Exception):
        kinds = [kind for kind in type(wanted).__mro__ if kind.__module__ == "builtins"]
        if isinstance(told, CompileError) or (isinstance(told, Exception) and _is_named(told, kinds[0])):
            tally.raised += 1
            return
    elif isinstance(told, CompileError):
        tally.refused[f"{expression}: {str(told).splitlines()[0].split(': ', 1)[-1]}"] += 1
        return
    elif not isinstance(told, Exception) and is_same(wanted, told, expression):
        tally.same += 1
        return
    row = next((name for name, matches in ROWS.items() if matches(x, y, expression, wanted, told)), None)
    if row is None:
        tally.wrong.append(f"{expression}   x = {x}, y = {y}: {_text(wanted)}, and not {_text(told)}")
    else:
        tally.rows[row] += 1


def _is_named(told: Exception, kind: type) -> bool:
    return isinstance(told, kind) or getattr(told, "error", None) == kind.__name__


def _text(value: Any) -> str:
    return f"{value!r} {getattr(value, 'dtype', type(value).__name__)}"


def is_same(wanted: Any, told: Any, expression: str) -> bool:
    """Whether values are equal, and of one dtype; a row says whether a result's class is Python's or NumPy's."""
    one, other = np.asarray(wanted), np.asarray(told)
    if (
        one.dtype != other.dtype
        or one.shape != other.shape
        or isinstance(wanted, np.ndarray) != isinstance(told, np.ndarray)
    ):
        return False
    if one.dtype.kind != "f":
        return bool(np.array_equal(one, other))
    if expression in _ROUNDED or "**" in expression or "power" in expression:
        return bool(np.allclose(one, other, rtol=1e-6 if one.dtype == np.float32 else 1e-14, atol=0, equal_nan=True))
    zeros = one == 0
    is_signed_alike = np.array_equal(np.signbit(one[zeros]), np.signbit(other[zeros]))
    return bool(np.array_equal(one, other, equal_nan=True)) and bool(is_signed_alike)


def _both_python(x: Operand, y: Operand, expression: str) -> bool:
    return x.is_python and (y.is_python or expression in UNARY)


Matches = Callable[[Operand, Operand, str, Any, Any], bool]


def _is_joined(x: Operand, y: Operand, expression: str, wanted: Any, told: Any) -> bool:
    return (
        expression in (*JOINS, *function_expressions.JOINED)
        and not isinstance(told, Exception)
        and not isinstance(wanted, Exception)
        and bool(np.array_equal(np.asarray(wanted), np.asarray(told), equal_nan=True))
    )


def _is_division_of_floats(x: Operand, y: Operand, expression: str, wanted: Any, told: Any) -> bool:
    return isinstance(wanted, ZeroDivisionError) and isinstance(told, float) and _both_python(x, y, expression)


def _is_beyond_64_bits(x: Operand, y: Operand, expression: str, wanted: Any, told: Any) -> bool:
    is_large = type(wanted) is int and wanted >= 2**63
    return _is_named_overflow(told) and (is_large or _both_python(x, y, expression))


def _is_complex(x: Operand, y: Operand, expression: str, wanted: Any, told: Any) -> bool:
    return isinstance(wanted, complex) and isinstance(told, float) and bool(np.isnan(told))


def _is_infinite(x: Operand, y: Operand, expression: str, wanted: Any, told: Any) -> bool:
    return isinstance(wanted, OverflowError) and told == np.inf and _both_python(x, y, expression)


def _is_cast_to_uint32(x: Operand, y: Operand, expression: str, wanted: Any, told: Any) -> bool:
    return "uint32" in expression and np.asarray(x.value).dtype.kind == "f"


def _is_of_zeros(x: Operand, y: Operand, expression: str, wanted: Any, told: Any) -> bool:
    if isinstance(told, Exception) or expression not in ("np.minimum(x, y)", "np.maximum(x, y)"):
        return False
    one, other = np.asarray(wanted), np.asarray(told)
    return one.dtype == other.dtype and one.dtype.kind == "f" and bool(np.array_equal(one, other, equal_nan=True))


def _is_large_quotient(x: Operand, y: Operand, expression: str, wanted: Any, told: Any) -> bool:
    return "/ y" in expression and _both_python(x, y, expression) and bool(np.isclose(wanted, told))


ROWS: dict[str, Matches] = {
    "`1.0 / 0.0`": _is_division_of_floats,
    "Python ints beyond": _is_beyond_64_bits,
    "`(-2.0) ** 0.5`": _is_complex,
    "`1e308 ** 2`": _is_infinite,
    "`x.astype(np.uint32)`": _is_cast_to_uint32,
    "a number that is Python's": _is_joined,
    "`np.minimum`, `np.maximum` of 0.0": _is_of_zeros,
    "`a / b` of Python ints": _is_large_quotient,
}


def _is_named_overflow(told: Any) -> bool:
    return isinstance(told, Exception) and _is_named(told, OverflowError)
