"""Compiles a program of the grammar, compares everything that a caller can see with plain Python, then its gradient.

Reads: a program. Writes: its source, to a file. Leaves: a verdict, by kind: same, refused, missing (a function that
is not compiled yet), deviation (a row of docs/deviations.md), or wrong.
"""

from __future__ import annotations

import copy
import math
import re
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mlirad
from mlirad.errors import CompileError
from mlirad.testing.grammar.generate import RUNS, Program, TooLong, run
from mlirad.testing.grammar.joins import is_joined, joined_names, returned_names
from mlirad.testing.programs.oracle import slope

_SINGULAR = re.compile(r"\bstd\(|sqrt|log|/|reciprocal|\*\* ?\(?-?[\d.n]")
"""Functions without a finite derivative somewhere (the second table of docs/deviations.md)."""


@dataclass(frozen=True)
class Verdict:
    kind: str
    why: str = ""


def judge(program: Program, directory: Path) -> list[Verdict]:
    """The verdicts on a program: on its values, and, if they are right, on a derivative."""
    path = directory / f"grammar_{program.seed}.py"
    path.write_text(program.source)
    namespace: dict[str, Any] = {}
    exec(compile(program.source, str(path), "exec"), namespace)
    kernel = mlirad.jit(namespace["f"])
    verdicts = [_value(program, kernel, number) for number in range(RUNS)]
    if all(verdict.kind == "same" for verdict in verdicts):
        verdicts.append(_gradient(program, path))
    return verdicts


def outcome(function: Any, arguments: list[Any]) -> Any:
    """The result of a call, or its exception."""
    try:
        with np.errstate(all="ignore"):
            return function(*arguments)
    except Exception as error:  # noqa: BLE001 - exceptions of programs are compared
        return error


def _value(program: Program, kernel: Any, number: int) -> Verdict:
    expected, given = program.arguments(number), program.arguments(number)
    want, got = outcome(lambda *args: run(program.source, list(args)), expected), outcome(kernel, given)
    if isinstance(want, TooLong):
        return Verdict("skipped", "it runs too long")
    if isinstance(got, CompileError) and not (isinstance(want, Exception) and isinstance(got, type(want))):
        return refusal(got)
    if isinstance(want, ZeroDivisionError) or (isinstance(want, ValueError) and "math domain" in str(want)):
        return Verdict("deviation", type(want).__name__)
    if isinstance(got, ValueError) and not isinstance(want, Exception) and _is_of_lengths(str(got)):
        return Verdict("deviation", "a length of 1 or 0 that only the run knows")
    if isinstance(want, Exception) or isinstance(got, Exception):
        if type(want) is type(got) or (isinstance(want, Exception) and isinstance(got, type(want))):
            return Verdict("same", "exception")
        return Verdict("wrong", f"{_with_place(got)}, not {want!r}")
    single = "float32" in program.source or any(np.asarray(x).dtype == np.float32 for x in _numbers(given))
    why = difference(expected, given, single=single) or difference(want, got, single=single)
    if not why:
        return Verdict("same")
    if not difference(expected, given) and _differ_by_joins(program, want, got):
        return Verdict("deviation", "a number that joins")
    return Verdict("wrong", why)


def _is_of_lengths(message: str) -> bool:
    """Whether run-time lengths decide: 1, where shapes would broadcast, or 0, for a list."""
    found = re.search(
        r"(?:together with shapes|input array from shape) \(([\d,]+)\)(?: into shape)? \(([\d,]+)\)", message
    )
    is_empty = "sum() of no arrays" in message or "a list that a loop fills is empty" in message
    return is_empty or (found is not None and any("1" in shape.split(",") for shape in found.groups()))


def _differ_by_joins(program: Program, want: Any, got: Any) -> bool:
    """Whether only numbers differ that a loop or a branch may have given another class."""
    names, joined = returned_names(program.source), joined_names(program.source)
    if not isinstance(want, tuple) or not isinstance(got, tuple) or not len(want) == len(got) == len(names):
        return False
    return all(
        not difference(x, y) or (name in joined and is_joined(x, y))
        for name, x, y in zip(names, want, got, strict=True)
    )


def _with_place(value: Any) -> str:
    if not isinstance(value, Exception) or not value.__traceback__:
        return repr(value)
    place = traceback.extract_tb(value.__traceback__)[-1]
    return f"{value!r} at {Path(place.filename).name}:{place.lineno}"


def refusal(error: CompileError) -> Verdict:
    """A refusal has a place in the program; functions that NumPy has and the compiler does not are counted apart."""
    reason = re.sub(r"'[^']*'|\([\d, ]*\)|-?\d+(\.\d+)?", "_", error.message.split("\n")[0])[:110]
    if error.location is None:
        return Verdict("wrong", f"no place: {reason}")
    missing = re.match(r"(np\.[\w.]+|math\.\w+|the method \.\w+\(\)|\w+|\S+\(\w+=\)) is not supported", error.message)
    return Verdict("missing" if missing else "refused", missing[1] if missing else reason)


def difference(want: Any, got: Any, place: str = "result", single: bool = False) -> str:
    """The difference between two results, if any. Numbers may be Python's in one and NumPy's in the other.

    single: whether doubles may have been rounded to float32, in which the order of sums changes the last bits.
    """
    if isinstance(want, np.ndarray) or isinstance(got, np.ndarray):
        if not isinstance(want, np.ndarray) or not isinstance(got, np.ndarray):
            return f"{place}: {got!r}, not {want!r}"
        if want.dtype != got.dtype or want.shape != got.shape:
            return f"{place}: {got.dtype} {got.shape}, not {want.dtype} {want.shape}"
        return "" if _close(want, got, single) else f"{place}: {got!r}, not {want!r}"
    if isinstance(want, tuple | list | dict):
        if type(want) is not type(got) or len(want) != len(got):
            return f"{place}: {got!r}, not {want!r}"
        keys = want if isinstance(want, dict) else range(len(want))
        if isinstance(want, dict) and list(want) != list(got):
            return f"{place}: keys {list(got)}, not {list(want)}"
        return next((why for key in keys if (why := difference(want[key], got[key], f"{place}[{key!r}]", single))), "")
    if want is None or got is None:
        return "" if want is got else f"{place}: {got!r}, not {want!r}"
    x, y = np.asarray(want), np.asarray(got)
    if x.dtype != y.dtype or not _close(x, y, single):
        return f"{place}: {got!r}, not {want!r}"
    return ""


def _close(x: np.ndarray, y: np.ndarray, single: bool) -> bool:
    if x.dtype.kind != "f":
        return bool(np.array_equal(x, y))
    tolerance = 2e-5 if single or x.dtype == np.float32 else 1e-9
    scale = float(np.max(np.abs(x[np.isfinite(x)], dtype=np.float64), initial=1.0))
    return bool(np.allclose(x, y, rtol=tolerance, atol=tolerance * scale * 1e-2, equal_nan=True))


# --- gradients --------------------------------------------------------------------------------------------------


def _gradient(program: Program, path: Path) -> Verdict:
    """The derivative along a random direction of the sum of all float results, against extrapolated differences.

    The program runs in doubles for them: rounding to float32 would hide them.
    """
    rng = np.random.default_rng([program.seed, 99])
    arguments = [_generic(value, rng) for value in program.arguments(0)]
    argnums = tuple(k for k, value in enumerate(arguments) if _is_double(value))
    if not argnums:
        return Verdict("skipped", "no argument in doubles")
    want = outcome(lambda *args: run(program.source, list(args)), _copied(arguments))
    if isinstance(want, Exception):
        return Verdict("skipped", "it raises at generic arguments")
    terms = _paths(want)
    if not terms:
        return Verdict("skipped", "no float results")
    names = ", ".join(program.parameters)
    total = " + ".join(f"np.sum(r{term} * {0.5 + 0.25 * k})" for k, term in enumerate(terms))
    source = f"{program.source}\n\ndef loss({names}):\n    r = f({names})\n    return {total}\n"
    path.write_text(source)
    namespace: dict[str, Any] = {}
    exec(compile(source, str(path), "exec"), namespace)
    oracle: dict[str, Any] = {}
    exec(source.replace("float32", "float64"), oracle)
    directions = {k: rng.uniform(-1, 1, np.shape(arguments[k])) for k in argnums}

    def along(step: float) -> float:
        moved = [_doubled(value) for value in _copied(arguments)]
        for k, direction in directions.items():
            moved[k] = (
                moved[k] + step * direction if isinstance(moved[k], np.ndarray) else moved[k] + step * float(direction)
            )
        found = outcome(oracle["loss"], moved)
        return math.nan if isinstance(found, Exception) else float(found)

    has_float32 = "float32" in source or any(np.asarray(value).dtype == np.float32 for value in _numbers(arguments))
    if has_float32 and not math.isclose(
        along(0.0), float(outcome(namespace["loss"], _copied(arguments))), rel_tol=1e-6
    ):
        return Verdict("skipped", "its rounding to float32 decides")
    expected = slope(along)
    if expected is None:
        return Verdict("skipped", "a kink, or large numbers")
    got = outcome(mlirad.grad(namespace["loss"], argnums=argnums), _copied(arguments))
    if isinstance(got, CompileError):
        return refusal(got)
    if isinstance(got, Exception):
        return Verdict("wrong", f"gradient: {_with_place(got)}")
    found = sum(float(np.sum(g * directions[k])) for g, k in zip(got, argnums, strict=True))
    if not math.isfinite(found) and _SINGULAR.search(source):
        return Verdict("deviation", "a derivative at 0 of a root, a logarithm or a quotient")
    tolerance = 2e-4 if has_float32 else 2e-5
    close = abs(found - expected) <= tolerance * (1 + abs(expected))
    return Verdict("same", "gradient") if close else Verdict("wrong", f"gradient: {found}, not {expected}")


def _is_double(value: Any) -> bool:
    return type(value) is float or (isinstance(value, np.ndarray) and value.dtype == np.float64)


def _generic(value: Any, rng: np.random.Generator) -> Any:
    """The value moved away from ties; float32 is left alone, because its rounding would hide the differences."""
    if isinstance(value, np.ndarray) and value.dtype == np.float64:
        moved = value.copy(order="K")
        moved += rng.uniform(-0.1, 0.1, value.shape)
        return moved
    return value + float(rng.uniform(-0.1, 0.1)) if type(value) is float else value


def _numbers(value: Any) -> list[Any]:
    """The numbers and arrays in a value."""
    if isinstance(value, tuple | list | dict):
        return [found for item in (value.values() if isinstance(value, dict) else value) for found in _numbers(item)]
    return [value] if isinstance(value, np.ndarray | np.generic | int | float) else []


def _doubled(value: Any) -> Any:
    """The value with doubles for float32."""
    if isinstance(value, tuple | list):
        return type(value)(_doubled(item) for item in value)
    if isinstance(value, dict):
        return {key: _doubled(item) for key, item in value.items()}
    if not isinstance(value, np.ndarray | np.generic) or value.dtype != np.float32:
        return value
    return value.astype(np.float64)


def _copied(arguments: list[Any]) -> list[Any]:
    return [value.copy(order="K") if isinstance(value, np.ndarray) else copy.deepcopy(value) for value in arguments]


def _paths(value: Any, path: str = "") -> list[str]:
    """The source of the doubles in a result."""
    if isinstance(value, tuple | list):
        return [found for k, item in enumerate(value) for found in _paths(item, f"{path}[{k}]")]
    if isinstance(value, dict):
        return [found for key, item in value.items() for found in _paths(item, f"{path}[{key!r}]")]
    return [path] if value is not None and np.asarray(value).dtype == np.float64 else []
