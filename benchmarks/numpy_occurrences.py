"""Reads: five corpora of programs. Writes: how many of their NumPy calls are compiled. Leaves: 0.

The calls are found in the ast: functions of NumPy under the names that a file imports them by (`autograd.numpy` and
`jax.numpy` are taken for NumPy), and methods that only arrays have. The table of `mlirad coverage` decides whether a
function is compiled; where the table says no, its sample is run again. The installed SciPy and scikit-learn are read:
only functions that use just NumPy and Python's own modules count.

    python benchmarks/numpy_occurrences.py npbench=DIR autograd=DIR/tests gradbench=DIR
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import mlirad
from mlirad.errors import CompileError
from mlirad.frontend.program import coverage
from mlirad.testing.calls.measure import measured

INSTALLED = ("scipy", "sklearn")
_HOMES = {"autograd.numpy": "numpy", "jax.numpy": "numpy", "numpy.core": "numpy"}
_APART = {"np.linalg": "linear algebra", "np.fft": "Fourier transforms", "np.random": "random numbers"}
_COMPLEX = """
angle conj conjugate imag real iscomplex iscomplexobj isreal isrealobj real_if_close complex64 complex128 complex_
complexfloating
"""
_OTHER_OBJECTS = frozenset(name for kind in (str, bytes, list, tuple, dict, set, int, float) for name in dir(kind))
_METHODS = frozenset(name for name in dir(np.ndarray) if not name.startswith("_")) - _OTHER_OBJECTS

SAMPLES: dict[str, Callable[[Any], Any]] = {
    "np.dtype": lambda x: x.astype(np.dtype("float32")),
    "np.errstate": lambda x: _quiet(x),
    "np.finfo": lambda x: x + np.finfo(x.dtype).eps,
    "np.iinfo": lambda x: x + np.iinfo(np.int8).max,
    "np.isscalar": lambda x: x * np.isscalar(x[0]),
    "np.iterable": lambda x: x * np.iterable(x),
    "np.issubdtype": lambda x: x * np.issubdtype(x.dtype, np.floating),
    "np.broadcast_shapes": lambda x: x + len(np.broadcast_shapes(x.shape, (1,))),
    "np.linspace": lambda x: x + np.linspace(0.0, 1.0, x.size),
    "x.tolist": lambda x: x * x.tolist()[0],
    "x.item": lambda x: x[:1].item(),
    "x.copy": lambda x: x.copy(),
    "np.ndarray": lambda x: _filled(np.ndarray(x.shape, np.float32), x),
    "np.linalg.norm": lambda x: np.linalg.norm(x),
    "np.polynomial.polynomial.polyval": lambda x: np.polynomial.polynomial.polyval(x, x[:2]),
}
"""Programs for functions without a sample in the table of `mlirad coverage`, and NumPy's classes of numbers."""


def _filled(array: Any, x: Any) -> Any:
    array[:] = x
    return array


def _quiet(x: Any) -> Any:
    with np.errstate(divide="ignore"):
        return np.log(x)


@cache
def is_compiled(name: str) -> bool:
    """Whether a call of a function is compiled, in float64 or any other class of dtypes."""
    row = coverage.rows().get(name)
    if row is not None and coverage.is_compiled(row):
        return True
    kind = getattr(np, name.removeprefix("np."), None)
    if name in SAMPLES or (isinstance(kind, type) and issubclass(kind, np.number | np.bool_)):
        return _runs(SAMPLES.get(name, lambda x: kind(x[0])))  # pyright: ignore[reportOptionalCall]  # it is a class
    if row is None or row.get("call") is None:
        return False
    return coverage.is_compiled(measured([name])[name])


def _runs(program: Callable[[Any], Any]) -> bool:
    x = np.array([0.5, 1.5, 2.5])
    try:
        got = mlirad.jit(program)(x.copy())
    except CompileError:
        return False
    return bool(np.array_equal(got, program(x)))


# The calls of a program.


def calls_in(tree: ast.AST, homes: dict[str, str]) -> Iterator[str]:
    """The called functions, like `np.sum`, and methods, like `x.sum`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (name := _called(node.func, homes)) is not None:
            yield name


def _called(node: ast.expr, homes: dict[str, str]) -> str | None:
    path: list[str] = []
    base = node
    while isinstance(base, ast.Attribute):
        path.insert(0, base.attr)
        base = base.value
    if isinstance(base, ast.Name) and base.id in homes:
        dotted = ".".join([homes[base.id], *path])
        for other, home in _HOMES.items():
            dotted = dotted.replace(other, home, 1) if dotted.startswith(other) else dotted
        return f"np{dotted[5:]}" if dotted.startswith("numpy.") else None
    return f"x.{path[-1]}" if path and path[-1] in _METHODS else None


def imports(tree: ast.AST) -> dict[str, str]:
    """The imported names of a file, with their dotted names."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            home = "." * node.level + (node.module or "")
            found |= {alias.asname or alias.name: f"{home}.{alias.name}" for alias in node.names}
    return found


def of_files(paths: Iterator[Path]) -> Counter[str]:
    found: Counter[str] = Counter()
    for path in paths:
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except SyntaxError:
            continue
        found.update(calls_in(tree, imports(tree)))
    return found


def of_pure_functions(package: str) -> Counter[str]:
    """The calls in functions of an installed package that use only NumPy and Python's own modules."""
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.origin is not None
    found: Counter[str] = Counter()
    for path in sorted(Path(spec.origin).parent.rglob("*.py")):
        if {"tests", "externals", "array_api_compat", "array_api_extra", "_external"} & set(path.parts):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        homes = imports(tree)
        own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and _is_pure(node, homes, own):
                found.update(calls_in(node, homes))
    return found


def _is_pure(node: ast.FunctionDef, homes: dict[str, str], own: set[str]) -> bool:
    """Whether a function uses, of its file's imports and definitions, only NumPy and Python's own modules."""
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    used = {homes[name].partition(".")[0] for name in names & set(homes)}
    return "numpy" in used and not names & (own - {node.name}) and used <= {"numpy", *sys.stdlib_module_names}


# The table.


def group(name: str) -> str:
    """The group of a call: "" for NumPy in general."""
    home, _, short = name.rpartition(".")
    if home in _APART:
        return _APART[home]
    if short in _COMPLEX.split():
        return "complex numbers"
    is_apart = home == "np.testing" or (name in coverage.table()["apart"] and name not in SAMPLES)
    return "no numbers: files, text, settings, tests" if is_apart else ""


def rows(corpora: dict[str, Counter[str]]) -> Iterator[str]:
    yield "| corpus | calls | compiled | share |"
    yield "|---|---:|---:|---:|"
    everything: Counter[str] = Counter()
    for title, calls in corpora.items():
        everything += calls
        yield _row(title, Counter({name: n for name, n in calls.items() if not group(name)}))
    large = Counter({name: n for name, n in everything.items() if not group(name)})
    yield _row("**all five**", large)
    for each in sorted({group(name) for name in everything} - {""}):
        yield _row(f"{each} (apart)", Counter({name: n for name, n in everything.items() if group(name) == each}))
    yield ""
    yield "| not compiled | calls |"
    yield "|---|---:|"
    missing = Counter({name: n for name, n in large.items() if not is_compiled(name)})
    yield from (f"| {name} | {number} |" for name, number in missing.most_common(40))


def _row(title: str, calls: Counter[str]) -> str:
    compiled = sum(number for name, number in calls.items() if is_compiled(name))
    share = f"{100 * compiled / calls.total():.1f} %" if calls.total() else "-"
    return f"| {title} | {calls.total()} | {compiled} | {share} |"


def main() -> None:
    given = dict(each.split("=", 1) for each in sys.argv[1:])
    corpora = {title: of_files(iter(sorted(Path(place).rglob("*.py")))) for title, place in given.items()}
    corpora |= {package: of_pure_functions(package) for package in INSTALLED}
    print("\n".join(rows(corpora)))


if __name__ == "__main__":
    main()
