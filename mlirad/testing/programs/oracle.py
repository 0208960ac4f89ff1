"""The expected behaviour of a program: plain NumPy, and central differences.

Reads: a program. Writes: its source, to a file, so that it can be inspected. Leaves: namespaces, results to compare.
"""

from __future__ import annotations

import ast
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mlirad.testing.programs.program import Program, laid_out

Namespace = dict[str, Any]


def namespace_of(program: Program, directory: Path) -> Namespace:
    """The program's functions, defined in a file of the directory."""
    path = directory / f"{program.bias}_{program.seed}.py"
    path.write_text(program.source)
    return _executed(compile(program.source, str(path), "exec"))


def _read_first(statements: Sequence[ast.stmt]) -> None:
    """Copies the right side of `x[...] = value` for an array x: NumPy may read elements that it has just written."""
    for node in statements:
        if isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Subscript):
            written = ast.Lambda(ast.arguments([], [], None, [], [], None, []), target.value)
            called = ast.Call(ast.Name("_read", ast.Load()), [node.value, written], [])
            for new in (written, called, called.func):
                ast.copy_location(new, node)
            node.value = called
        _read_first((*getattr(node, "body", ()), *getattr(node, "orelse", ())))


def _read(value: Any, written: Callable[[], Any]) -> Any:
    is_copied = isinstance(value, np.ndarray) and isinstance(written(), np.ndarray)
    return value.copy() if is_copied else value


def oracle_of(program: Program) -> Namespace:
    """The same functions in plain NumPy, which read all of a right side before they write."""
    tree = ast.parse(program.source)
    _read_first(tree.body)
    return _executed(compile(tree, f"<oracle of {program.bias} {program.seed}>", "exec"))


def _executed(code: Any) -> Namespace:
    namespace: Namespace = {"_read": _read}
    exec(code, namespace)
    return namespace


def fresh(args: Sequence[Any]) -> list[Any]:
    return [laid_out(arg, arg) for arg in args]


def call(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """The function's result, or the exception that it raises."""
    try:
        with np.errstate(all="ignore"):
            return function(*args)
    except Exception as error:  # noqa: BLE001 - exceptions of programs are compared
        return error


def is_same(a: Any, b: Any, rtol: float = 1e-9) -> bool:
    """Whether two results agree: structure, arrays' dtypes and shapes, values up to rounding.

    A number may be Python's in one result and NumPy's in the other, and then of another kind: a joined value has one
    type.
    """
    if isinstance(a, Exception) or isinstance(b, Exception):
        return type(a) is type(b)
    if isinstance(a, tuple) or isinstance(b, tuple):
        return type(a) is type(b) and len(a) == len(b) and all(is_same(x, y, rtol) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray) != isinstance(b, np.ndarray) or a is None or b is None:
        return a is b
    if isinstance(a, np.random.Generator) and isinstance(b, np.random.Generator):
        return pickle.dumps(a.bit_generator.state) == pickle.dumps(b.bit_generator.state)
    x, y = np.asarray(a), np.asarray(b)
    if x.shape != y.shape or (_is_numpys(a) and _is_numpys(b) and x.dtype != y.dtype):
        return False
    if x.dtype.kind != y.dtype.kind:
        return bool(x == y)
    single = any(each.dtype in (np.float32, np.complex64) for each in (x, y))
    with np.errstate(all="ignore"):
        is_rounded = x.dtype.kind in "fc"
        finite = np.abs(x[np.isfinite(x)]).astype(np.float64) if is_rounded else np.abs(x)
        scale = float(np.max(finite, initial=1.0)) if is_rounded else 0.0
        tolerance = max(rtol, 1e-5 if single else 0.0)
        return np.allclose(x, y, rtol=tolerance, atol=tolerance * scale * 1e-3, equal_nan=True)


def _is_numpys(x: Any) -> bool:
    return isinstance(x, np.ndarray | np.generic)


def slope(function: Callable[[float], float], step: float = 2.0**-12) -> float | None:
    """The derivative at 0, extrapolated from central differences; None near a kink, a jump or a pole."""
    at = {k: function(k * step) for k in (-2, -1, 0, 1, 2)}
    if not all(np.isfinite(value) and abs(value) < 1e5 for value in at.values()):
        return None
    coarse, fine = (at[2] - at[-2]) / (4 * step), (at[1] - at[-1]) / (2 * step)
    bends = [abs(at[k] - 2 * at[0] + at[-k]) / step for k in (1, 2)]
    scale = 1 + abs(at[0]) + abs(fine)
    # The second difference over the step falls with the step if the function is smooth, and does not at a kink.
    if abs(coarse - fine) > 1e-4 * scale or bends[0] > 0.02 * scale or bends[1] > 0.02 * scale:
        return None
    return fine + (fine - coarse) / 3
